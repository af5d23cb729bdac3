"""Inputs and actions of a controller for the vehicles on E0, and the driver that calls the candidate."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from oragent._base.errors import CandidateError
from oragent._base.protocol import is_finite
from oragent._base.text_format import shorten
from oragent.domains.driving.network import Road
from oragent.domains.driving.rules import TYPES
from oragent.domains.driving.scenario import Departure
from oragent.domains.driving.simulation import VehicleCommand, VehicleState

if TYPE_CHECKING:
    from oragent.harness.guest import Guest

# Function of ``edge_info`` and ``vehicles_info`` that returns the actions.
Controller = Callable[[dict[str, Any], list[dict[str, Any]]], Any]
KEYS = ("veh_id", "acceleration", "lane_changing")
MEMORY_BYTES, MEMORY_DEPTH = 65536, 16
PLAIN = (type(None), bool, int, float, str)


def edge_info(road: Road) -> dict[str, Any]:
    """Describe E0: length in metres, number of lanes, speed limit in m/s."""
    return {"length": road.length, "lanes": road.lanes, "speed_limit": road.speed_limit}


def vehicles_info(
    road: Road, states: Sequence[VehicleState], departures: Mapping[str, Departure]
) -> list[dict[str, Any]]:
    """Describe the vehicles on E0, the foremost first.

    Returns:
        One dict per vehicle with ``veh_id`` and ``veh_type`` (text), ``position`` (metres from the beginning of E0),
        ``speed`` (m/s), ``current_lane`` (0 is the rightmost), ``potential_target_lanes`` (the lanes from which its
        route continues), ``wants_left`` and ``wants_right`` (whether all of those are on that side of its lane). From
        its type: ``length`` (metres), ``max_acceleration`` and ``max_braking`` (m/s², both positive).
    """
    ordered = sorted(states, key=lambda state: (-state.position, state.vehicle))
    return [_vehicle_info(road, state, departures[state.vehicle]) for state in ordered]


def _vehicle_info(road: Road, state: VehicleState, drawn: Departure) -> dict[str, Any]:
    lanes, kind = road.exits[road.plan.routes[drawn.route][1]], TYPES[drawn.kind]
    return {
        "veh_id": state.vehicle,
        "veh_type": kind.name,
        "position": state.position,
        "speed": state.speed,
        "current_lane": state.lane,
        "wants_left": min(lanes) > state.lane,
        "wants_right": max(lanes) < state.lane,
        "potential_target_lanes": list(lanes),
        "length": kind.length,
        "max_acceleration": kind.max_accel,
        "max_braking": kind.max_decel,
    }


def check(
    actions: Any, road: Road, states: Sequence[VehicleState], departures: Mapping[str, Departure]
) -> list[VehicleCommand]:
    """Check that a reply has one feasible action for every vehicle on E0.

    Args:
        actions: Untrusted value. A valid reply to `vehicles_info` is a list with one dict per vehicle, in any order:
            ``veh_id``, ``acceleration`` (a finite number, m/s²) and ``lane_changing`` (1 to the left, 0, -1 to the
            right).
        road: Road, for its lanes and its speed limit.
        states: The vehicles on E0.
        departures: Departure of each vehicle, by name.

    Returns:
        The commands for the next second. Accelerations are clipped to the limits of the type of vehicle, speeds to the
        limit of the road.

    Raises:
        CandidateError: ``invalid``, with the reason and the vehicle.
    """
    if not isinstance(actions, list | tuple):
        raise CandidateError(f"returned a {type(actions).__name__}; expected a list with one dict per vehicle")
    if len(actions) > len(states):
        raise CandidateError(f"returned {len(actions)} actions for {len(states)} vehicles; expected one per vehicle")
    missing_states = {state.vehicle: state for state in states}
    commands: dict[str, VehicleCommand] = {}
    for index, action in enumerate(actions):
        name, acceleration, change = _read_action(action, index)
        if name in commands:
            raise CandidateError(f"two actions for vehicle {name}; expected one per vehicle")
        if name not in missing_states:
            raise CandidateError(f"an action for vehicle {_shorten_repr(name)}, which is not on the road")
        commands[name] = _make_command(missing_states.pop(name), departures[name].kind, road, acceleration, change)
    if missing_states:
        raise CandidateError(
            f"no action for vehicle {next(iter(missing_states))} ({len(missing_states)} of {len(states)} have none)"
        )
    return [commands[state.vehicle] for state in states]


def _read_action(action: Any, index: int) -> tuple[str, Any, Any]:
    if not isinstance(action, dict):
        raise CandidateError(f"action {index} is a {type(action).__name__}; expected a dict with {', '.join(KEYS)}")
    if missing := [key for key in KEYS if key not in action]:
        vehicle = f" of vehicle {_shorten_repr(action['veh_id'])}" if "veh_id" in action else ""
        raise CandidateError(f"action {index}{vehicle} has no {missing[0]!r}; expected {', '.join(KEYS)}")
    name, acceleration, change = (action[key] for key in KEYS)
    if not isinstance(name, str):
        raise CandidateError(f"action {index} names vehicle {_shorten_repr(name)}; expected the text of a veh_id")
    return name, acceleration, change


def _make_command(state: VehicleState, kind: str, road: Road, acceleration: Any, change: Any) -> VehicleCommand:
    if not isinstance(acceleration, int | float) or not is_finite(acceleration):
        raise CandidateError(
            f"acceleration {_shorten_repr(acceleration)} for vehicle {state.vehicle}; expected a finite number"
        )
    if not isinstance(change, int | float) or change not in (-1, 0, 1):
        raise CandidateError(
            f"lane_changing {_shorten_repr(change)} for vehicle {state.vehicle}; expected 1 (left), 0 or -1 (right)"
        )
    if not 0 <= state.lane + change < road.lanes:
        side = "left" if change > 0 else "right"
        raise CandidateError(
            f"vehicle {state.vehicle} cannot change to the {side} of lane {state.lane}; lanes are 0 to {road.lanes - 1}"
        )
    able = TYPES[kind]
    clipped = min(max(acceleration, -able.max_decel), able.max_accel)
    speed = min(max(0.0, state.speed + clipped), road.speed_limit)
    return VehicleCommand(state.vehicle, speed, int(change))


def _shorten_repr(value: object) -> str:
    return shorten(repr(value), 40, "...")


class Driver:
    """Callable that queries the candidate each second.

    All calls of one simulation together may take ``limit_s`` seconds.
    """

    def __init__(self, guest: "Guest", name: str, *, limit_s: float) -> None:
        # The process is renewed, because data kept from one simulation would help the candidate in the next one.
        guest.renew()
        self._guest, self._name, self._limit_s, self._before = guest, name, limit_s, guest.seconds

    def announce(self, second: int) -> None:
        """Set the second that error messages mention."""
        self._guest.where = f"{self._name}, second {second}"

    def __call__(self, edge_info: dict[str, Any], vehicles_info: list[dict[str, Any]]) -> Any:
        """Return the reply of the candidate."""
        if self._guest.seconds - self._before > self._limit_s:
            raise CandidateError(f"took more than {self._limit_s:g} s for the calls of one simulation", "timeout")
        return self._call_candidate(edge_info, vehicles_info)

    def _call_candidate(self, edge_info: dict[str, Any], vehicles_info: list[dict[str, Any]]) -> Any:
        return self._guest(edge_info, vehicles_info)


class RememberingDriver(Driver):
    """Driver that also passes the candidate's previous return value. Each simulation begins with an empty memory."""

    def __init__(self, guest: "Guest", name: str, *, limit_s: float) -> None:
        super().__init__(guest, name, limit_s=limit_s)
        self._memory: dict[Any, Any] = {}

    def _call_candidate(self, edge_info: dict[str, Any], vehicles_info: list[dict[str, Any]]) -> Any:
        answer = self._guest(edge_info, vehicles_info, self._memory)
        if not isinstance(answer, list | tuple) or len(answer) != 2:
            answered = f"a {type(answer).__name__}" + (f" of {len(answer)}" if isinstance(answer, list | tuple) else "")
            raise CandidateError(f"returned {answered}; expected two things: the list of actions and the memory")
        actions, self._memory = answer[0], check_memory(answer[1])
        return actions


def check_memory(memory: Any) -> dict[Any, Any]:
    """Check that a memory is a dict of plain data and not too large.

    Returns:
        The same dict. Keys are text or integers; values are None, bool, numbers, text, lists, tuples and dicts.

    Raises:
        CandidateError: ``invalid``, with the reason, if the memory is not valid.
    """
    if not isinstance(memory, dict):
        raise CandidateError(f"returned a {type(memory).__name__} as memory; expected a dict")
    _check_plain(memory, MEMORY_DEPTH)
    written = len(json.dumps(memory).encode())
    if written > MEMORY_BYTES:
        raise CandidateError(
            f"returned a memory of {written} bytes (written as JSON); expected at most {MEMORY_BYTES}: "
            "forget the vehicles that have left"
        )
    return memory


def _check_plain(value: Any, depth: int) -> None:
    if depth < 0:
        raise CandidateError(f"returned a memory nested more than {MEMORY_DEPTH} deep; expected plain, flat data")
    if isinstance(value, dict):
        if bad := [key for key in value if type(key) not in (str, int)]:
            raise CandidateError(
                f"returned a memory with a {type(bad[0]).__name__} as key; expected text or whole numbers"
            )
        value = list(value.values())
    if isinstance(value, list | tuple):
        for item in value:
            _check_plain(item, depth - 1)
    elif type(value) not in PLAIN:
        expected = "expected None, bool, numbers, text, lists, tuples and dicts of them"
        raise CandidateError(f"returned a memory with a {type(value).__name__} in it; {expected}")

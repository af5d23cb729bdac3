"""What a controller sees and may answer; no simulation is needed for it."""

from pathlib import Path

import pytest

from oragent._base.errors import CandidateError
from oragent.domains.driving import control
from oragent.domains.driving.network import WEAVING, Road
from oragent.domains.driving.scenario import Departure
from oragent.domains.driving.simulation import VehicleState

ROAD = Road(Path("road.net.xml"), 172.8, 3, 13.89, {"E4": (0, 1, 2), "E5": (2,), "E6": (0,)}, (), ())
EXIT = {end: next(index for index, route in enumerate(WEAVING.routes) if route[1] == end) for end in ("E4", "E5", "E6")}
KNOWN = {
    "straight": Departure("straight", 0, EXIT["E4"], "passenger"),
    "left": Departure("left", 0, EXIT["E5"], "truck"),
    "right": Departure("right", 0, EXIT["E6"], "bus"),
}
STATES = [
    VehicleState("straight", 0, 20.0, 10.0),
    VehicleState("left", 1, 50.0, 0.5),
    VehicleState("right", 2, 50.0, 13.0),
]


def act(name: str, acceleration: object = 0.0, change: object = 0) -> dict[str, object]:
    return {"veh_id": name, "acceleration": acceleration, "lane_changing": change}


IDLE = [act(name) for name in KNOWN]


def commands(actions: object) -> dict[str, tuple[float, int]]:
    return {one.vehicle: (one.speed, one.change) for one in control.check(actions, ROAD, STATES, KNOWN)}


def test_a_controller_sees_the_vehicle_in_front_first_and_what_it_needs_of_each() -> None:
    infos = control.vehicles_info(ROAD, STATES, KNOWN)
    assert [info["veh_id"] for info in infos] == ["left", "right", "straight"]
    assert infos[0] == {
        "veh_id": "left",
        "veh_type": "truck",
        "position": 50.0,
        "speed": 0.5,
        "current_lane": 1,
        "wants_left": True,
        "wants_right": False,
        "potential_target_lanes": [2],
        "length": 7.1,
        "max_acceleration": 1.3,
        "max_braking": 4.0,
    }
    assert (infos[1]["wants_left"], infos[1]["wants_right"]) == (False, True)
    assert (infos[2]["wants_left"], infos[2]["wants_right"]) == (False, False)


def test_accelerations_are_clipped_to_what_the_type_can_do_and_speeds_to_the_limit() -> None:
    found = commands([act("straight", 99.0), act("left", -99), act("right", 1e308, -1)])
    assert found == {"straight": (12.6, 0), "left": (0.0, 0), "right": (13.89, -1)}
    assert commands([act("straight", -99.0), *IDLE[1:]])["straight"] == (5.5, 0)


def test_actions_may_come_in_any_order_and_with_whole_floats() -> None:
    assert commands(IDLE[::-1]) == commands(tuple(IDLE))
    assert commands([act("straight", 1, 1.0), *IDLE[1:]])["straight"] == (11.0, 1)


@pytest.mark.parametrize(
    ("actions", "said"),
    [
        (None, "returned a NoneType; expected a list"),
        ({"straight": 1.0}, "returned a dict; expected a list"),
        ([*IDLE, act("v99")], "returned 4 actions for 3 vehicles"),
        ([act("v99")] * 1_000_000, "returned 1000000 actions for 3 vehicles"),
        ([*IDLE[:2], act("v99")], "an action for vehicle 'v99', which is not on the road"),
        ([IDLE[0], IDLE[0], IDLE[1]], "two actions for vehicle straight"),
        (IDLE[:2], r"no action for vehicle right \(1 of 3 have none\)"),
        ([], r"no action for vehicle straight \(3 of 3 have none\)"),
        ([1.0, *IDLE[1:]], "action 0 is a float; expected a dict"),
        ([{"veh_id": "left", "acceleration": 1.0}], "action 0 of vehicle 'left' has no 'lane_changing'"),
        ([{}], "action 0 has no 'veh_id'"),
        ([act(7)], "action 0 names vehicle 7"),  # type: ignore[arg-type]
        ([act("left", float("nan")), *IDLE[::2]], "acceleration nan for vehicle left; expected a finite number"),
        ([act("left", float("-inf")), *IDLE[::2]], "acceleration -inf for vehicle left"),
        ([act("left", 10**400), *IDLE[::2]], r"acceleration 1000.*\.\.\. for vehicle left"),
        ([act("left", "fast"), *IDLE[::2]], "acceleration 'fast' for vehicle left"),
        ([act("left", 0.0, 2), *IDLE[::2]], r"lane_changing 2 for vehicle left; expected 1 \(left\), 0 or -1 \(right\)"),
        ([act("left", 0.0, 0.5), *IDLE[::2]], "lane_changing 0.5 for vehicle left"),
        ([act("left", 0.0, float("nan")), *IDLE[::2]], "lane_changing nan for vehicle left"),
        ([act("left", 0.0, "left"), *IDLE[::2]], "lane_changing 'left' for vehicle left"),
        ([act("right", 0.0, 1), *IDLE[:2]], "vehicle right cannot change to the left of lane 2; lanes are 0 to 2"),
        ([act("straight", 0.0, -1), *IDLE[1:]], "vehicle straight cannot change to the right of lane 0"),
    ],
)  # fmt: skip
def test_whatever_cannot_be_carried_out_is_named_with_its_vehicle(actions: object, said: str) -> None:
    with pytest.raises(CandidateError, match=said) as caught:
        commands(actions)
    assert caught.value.status == "invalid"
    assert len(str(caught.value)) < 200

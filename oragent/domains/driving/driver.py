"""The candidate at the wheel of one simulation, with or without a memory of it."""

import json
from typing import Any, Protocol

from oragent._base.errors import CandidateError

MEMORY_BYTES, MEMORY_DEPTH = 65536, 16
PLAIN = (type(None), bool, int, float, str)


class CandidateDriver(Protocol):
    """What asks a candidate.

    Attributes:
        where: the place that failures name.
        seconds: wall seconds spent in calls.
    """

    where: str
    seconds: float

    def __call__(self, *args: Any) -> Any:
        """Return what the candidate answers."""
        ...

    def renew(self) -> None:
        """Go on with a candidate that remembers nothing."""
        ...


class Driver:
    """Asks the candidate in every second, and keeps an eye on the time that it takes.

    Args:
        guest: of the candidate.
        name: of the simulation.
        limit_s: wall seconds for all calls of the simulation.
    """

    def __init__(self, guest: CandidateDriver, name: str, *, limit_s: float) -> None:
        guest.renew()  # what it kept of one simulation would help it in the next
        self._guest, self._name, self._limit_s, self._before = guest, name, limit_s, guest.seconds

    def announce(self, second: int) -> None:
        """Say in failures which second it is."""
        self._guest.where = f"{self._name}, second {second}"

    def __call__(self, edge_info: dict[str, Any], vehicles_info: list[dict[str, Any]]) -> Any:
        """Return what the candidate answers."""
        if self._guest.seconds - self._before > self._limit_s:
            raise CandidateError(f"took more than {self._limit_s:g} s for the calls of one simulation", "timeout")
        return self._call_candidate(edge_info, vehicles_info)

    def _call_candidate(self, edge_info: dict[str, Any], vehicles_info: list[dict[str, Any]]) -> Any:
        return self._guest(edge_info, vehicles_info)


class RememberingDriver(Driver):
    """Also hands the candidate what it returned in the second before; every simulation begins with an empty memory."""

    def __init__(self, guest: CandidateDriver, name: str, *, limit_s: float) -> None:
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
    """Make sure that a memory is a dict of plain data and not too large.

    Args:
        memory: anything.

    Returns:
        The same; keys are text or whole numbers, values None, bool, numbers, text, lists, tuples and dicts.

    Raises:
        CandidateError: ``invalid``, saying what is wrong.
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

"""The candidate at the wheel: its time, and its memory; the guest is a function here."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oragent._base.errors import CandidateError
from oragent.domains.driving.control import MEMORY_BYTES, Driver, RememberingDriver, check_memory


class Fake:
    """Answers with what it is told, and takes as long."""

    def __init__(self, answer: Any = None, takes: float = 0.0) -> None:
        self.where, self.seconds = "", 0.0
        self.answer, self.takes = answer, takes
        self.asked: list[tuple[Any, ...]] = []
        self.renewed = 0

    def renew(self) -> None:
        self.renewed += 1

    def __call__(self, *args: Any) -> Any:
        self.asked.append(args)
        self.seconds += self.takes
        return self.answer(*args) if callable(self.answer) else self.answer


def test_all_calls_of_one_simulation_have_a_limit_and_the_next_simulation_has_it_anew() -> None:
    guest = Fake([], takes=10.0)
    first = Driver(guest, "light", limit_s=20.0)
    assert guest.renewed == 1
    for _ in range(3):
        first({}, [])
    with pytest.raises(CandidateError, match="20 s") as caught:
        first({}, [])
    assert caught.value.status == "timeout"
    Driver(guest, "heavy", limit_s=20.0)({}, [])


def test_failures_know_simulation_and_second() -> None:
    guest = Fake()
    Driver(guest, "heavy, demand seed 42", limit_s=20.0).announce(7)
    assert guest.where == "heavy, demand seed 42, second 7"


def test_a_memory_comes_back_in_the_next_second_and_begins_empty_in_each_simulation() -> None:
    def count(edge: dict, vehicles: list, memory: dict) -> tuple[list, dict]:
        return [memory.get("calls", 0)], {"calls": memory.get("calls", 0) + 1}

    guest = Fake(count)
    for _ in range(2):
        driver = RememberingDriver(guest, "light", limit_s=20.0)
        assert [driver({}, []) for _ in range(3)] == [[0], [1], [2]]


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (None, "returned a NoneType; expected two things: the list of actions and the memory"),
        ([{"veh_id": "v0"}], "returned a list of 1; expected two things"),
        (([], {}, 1), "returned a tuple of 3; expected two things"),
        (([], None), "returned a NoneType as memory; expected a dict"),
        (([], [1]), "returned a list as memory; expected a dict"),
        (([], {(1, 2): 3}), "a memory with a tuple as key"),
        (([], {None: 3}), "a memory with a NoneType as key"),
        (([], {"a": [{True: 1}]}), "a memory with a bool as key"),
        (([], {"a": {1, 2}}), "a memory with a set in it"),
        (([], {"a": 1j}), "a memory with a complex in it"),
        (([], {"a": "x" * MEMORY_BYTES}), "a memory of 65545 bytes .*; expected at most 65536: forget"),
    ],
)
def test_a_memory_that_is_none_is_refused_in_one_line(answer: Any, said: str) -> None:
    with pytest.raises(CandidateError, match=said) as caught:
        RememberingDriver(Fake(answer), "light", limit_s=20.0)({}, [])
    assert caught.value.status == "invalid"
    assert "\n" not in str(caught.value)


def test_a_memory_that_is_nested_without_end_is_refused() -> None:
    memory: dict[str, Any] = {}
    for _ in range(40):
        memory = {"in": memory}
    with pytest.raises(CandidateError, match="nested"):
        check_memory(memory)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5) | st.integers(0, 99), inner, max_size=4)
    ),
    max_leaves=20,
)


@settings(max_examples=30)
@given(st.dictionaries(st.text(max_size=5), VALUES, max_size=5))
def test_plain_data_is_a_memory(memory: dict[Any, Any]) -> None:
    assert check_memory(memory) is memory

"""What a guest decides with all in sight, or with a memory, is put to guests that know one call alone."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oragent.harness import Guest
from oragent._base.errors import CandidateError
from oragent.harness.audits import (
    _encode_call,
    _encode_exchange,
    _SharedCode,
    audit_decisions,
    draw_sample,
    is_same_answer,
    spot_check,
)
from oragent.harness.claims import CallSample

NUMBERS = list(range(40))
HONEST = "def f(x): return x * x"
COUNTS = "calls = []\ndef f(x):\n    calls.append(x)\n    return len(calls)"
REMEMBERS = "seen = {}\ndef f(x): return seen.setdefault(x, len(seen))"  # the same answer to the same call, once asked
PEEKS = """
import sys
def f(x):
    frame = sys._getframe(0)
    while frame is not None and 'numbers' not in frame.f_locals:
        frame = frame.f_back
    return x if frame is None else max(frame.f_locals['numbers'])
"""


def squares(function, numbers):
    return [function(number) for number in numbers]


def check(witness, steps, *, numbers, answers):
    for step in steps:
        if witness(numbers[step]) != answers[step]:
            raise CandidateError(f"decision {step} differs", "rejected")


@pytest.fixture
def guest_of(tmp_path: Path) -> Iterator[object]:
    guests = []

    def make(body: str) -> Guest:
        path = tmp_path / f"heuristic{len(guests)}.py"
        path.write_text(body)
        guests.append(Guest(path, "f", spare=True))
        return guests[-1]

    yield make
    for guest in guests:
        guest.__exit__()


def looped(guest: Guest) -> None:
    answers = guest.run(squares, NUMBERS)
    guest.where = "instance 4"
    guest.claim(len(NUMBERS), lambda witness, steps: check(witness, steps, numbers=NUMBERS, answers=answers), 10)


def called(guest: Guest) -> None:
    guest.calls = CallSample()
    for number in NUMBERS:
        guest.where = f"instance {number}"
        guest(number)


@pytest.mark.parametrize("use", [looped, called])
@pytest.mark.parametrize("size", [25, None])
def test_a_function_of_its_arguments_passes_any_audit(guest_of, use, size: int | None) -> None:
    guest = guest_of(HONEST)
    use(guest)
    assert audit_decisions(guest, size) == (size or len(NUMBERS))


@pytest.mark.parametrize(("body", "use"), [(COUNTS, called), (REMEMBERS, called), (COUNTS, looped), (PEEKS, looped)])
def test_what_one_call_alone_does_not_give_is_found(guest_of, body: str, use) -> None:
    guest = guest_of(body)
    use(guest)
    with pytest.raises(CandidateError, match=r"instance|decision \d+ differs") as caught:
        audit_decisions(guest, 25)
    assert caught.value.status == "rejected"


def test_a_spot_check_finds_a_loop_that_was_seen(guest_of) -> None:
    guest = guest_of(PEEKS)
    looped(guest)
    with pytest.raises(CandidateError, match=r"decision \d+ differs"):
        spot_check(guest)


def test_no_guest_lives_when_others_are_asked(guest_of, monkeypatch: pytest.MonkeyPatch) -> None:
    guest = guest_of(HONEST)
    looped(guest)
    main, make = guest._main, guest.make_stranger
    alive = []

    def stranger():
        alive.append(guest._main is not None or main._ended is None)
        return make()

    monkeypatch.setattr(guest, "make_stranger", stranger)
    spot_check(guest)
    assert alive == [False]


def test_a_loops_claim_needs_a_spare(tmp_path: Path) -> None:
    (tmp_path / "heuristic.py").write_text(HONEST)
    with Guest(tmp_path / "heuristic.py", "f") as guest, pytest.raises(ValueError, match="spare=True"):
        looped(guest)


@given(st.integers(0, 50), st.one_of(st.none(), st.integers(0, 60)))
def test_a_sample_has_distinct_decisions_in_order(count: int, size: int | None) -> None:
    drawn = draw_sample(count, size)
    assert drawn == sorted(set(drawn))
    assert len(drawn) == (count if size is None else min(count, size))
    assert set(drawn) <= set(range(count))


def test_calls_beyond_the_room_replace_others() -> None:
    calls = CallSample(room=100)
    for number in range(50):
        calls.add(str(number), b"x" * 10, number)
    assert calls.count == 50
    assert len(calls.calls) == 10
    assert len({number for _, _, number in calls.calls}) == 10


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        (1, 1, True),
        (1, 2, False),
        (1, True, False),
        (0.1 + 0.2, 0.3, True),
        (1.0, 1.0001, False),
        (np.ones(3), np.ones(3) + 1e-15, True),
        (np.ones(3), np.ones(3) + 1e-9, False),
        (np.array([np.nan, np.inf]), np.array([np.nan, np.inf]), True),
        (np.ones(3), np.ones(2), False),
        (np.ones(3), np.ones(3, int), False),
        ([1, (2.0, "a")], [1, (2.0, "a")], True),
        ([1, (2.0, "a")], [1, (2.0, "b")], False),
        ({"a": {1, 2}}, {"a": {2, 1}}, True),
        (None, None, True),
    ],
)
def test_answers_are_alike_up_to_rounding(one: object, other: object, alike: bool) -> None:
    assert is_same_answer(one, other) is alike


COMPILES = """
import numba
@numba.njit
def square(x):
    return x * x
def f(x):
    value = square(x)
    return [value, sum(square.stats.cache_hits.values())]
"""
STORES = """
import sys  # the word numba makes guests pass code
def f(x):
    code = sys.modules["oragent.harness.candidate_loading"]._code
    code[f"saw {x}"] = b""
    return x * x
"""
CARRIES = """
import sys  # the word numba makes guests pass code
def f(x):
    code = sys.modules["oragent.harness.candidate_loading"]._code
    known = code.setdefault(f"of instance {x // 4}", x)
    return x if known == x else known * x
"""
FORGES = """
import sys  # the word numba makes guests pass code
class Loaded:
    def __reduce__(self):
        return exec, ("import sys; sys.modules['oragent.harness.candidate_loading']._code['loads'] = 1", {})
def f(x):
    code = sys.modules["oragent.harness.candidate_loading"]._code
    code["loaded"] = Loaded()
    return x * x if "loads" not in code else x
"""


def four_an_instance(guest: Guest) -> None:
    guest.calls = CallSample()
    for number in NUMBERS:
        guest.where = f"instance {number // 4}"
        guest(number)


def test_a_guest_begins_with_the_code_of_another(guest_of) -> None:
    pytest.importorskip("numba")
    guest = guest_of(COMPILES)
    first, second, third = guest.make_stranger(), guest.make_stranger(), guest.make_stranger()
    assert guest.ask_other(first, _encode_call("f", (2,), {})) == [4, 0]
    code = guest.ask_other(first, _encode_exchange(None))
    assert guest.ask_other(second, _encode_exchange(code)) is None
    assert guest.ask_other(second, _encode_call("f", (3,), {})) == [9, 1]
    assert guest.ask_other(third, _encode_call("f", (3,), {})) == [9, 0]
    for process in (first, second, third):
        process.close()


@pytest.mark.parametrize("size", [4, 25, None])
def test_code_is_made_before_the_audit_and_knows_no_decision_of_an_audited_instance(
    guest_of, size: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    guest = guest_of(STORES)
    four_an_instance(guest)
    put, asked = guest.ask_other, dict[int, list[bytes]]()

    def recorded(process, request):
        asked.setdefault(id(process), []).append(request)
        processes.append(process)  # so that no two have one identity
        return put(process, request)

    processes: list[object] = []
    monkeypatch.setattr(guest, "ask_other", recorded)
    audit_decisions(guest, size)
    ordered = list(asked.values())
    makers = [requests for requests in ordered if requests[-1] == _encode_exchange(None)]
    audited = [requests for requests in ordered if requests[-1] != _encode_exchange(None)]
    assert ordered[: len(makers)] == makers
    assert len(audited) == (size or len(NUMBERS))
    assert len({code for code, _ in audited}) == len(makers) <= 2
    arguments = {_encode_call("", (number,), {}): number for number in NUMBERS}
    for code, request in audited:
        seen = {number for number in NUMBERS if f"saw {number}".encode() + b"\x94" in code}
        assert 0 < len(seen) <= 3
        assert arguments[request] // 4 not in {number // 4 for number in seen}


@pytest.mark.parametrize("body", [CARRIES, FORGES, "# numba\n" + COUNTS, "# numba\n" + REMEMBERS])
def test_what_a_candidate_hides_in_its_code_carries_no_decision_to_another(guest_of, body: str) -> None:
    guest = guest_of(body)
    four_an_instance(guest)
    with pytest.raises(CandidateError) as caught:
        audit_decisions(guest, 25)
    assert caught.value.status == "rejected"


def test_code_that_is_too_large_or_no_code_is_not_passed_on(guest_of) -> None:
    guest = guest_of(STORES.replace('b""', "bytes(9 << 20)"))
    four_an_instance(guest)
    assert audit_decisions(guest, 25) == 25
    assert _SharedCode(guest, ["instance 1"]).request_for("instance 1") == b""


def test_an_audit_counts_cpu_seconds_and_not_time_that_passes(guest_of) -> None:
    guest = guest_of("import time\ndef f(x):\n    time.sleep(0.4 if x else 0)\n    return sum(range(3 * 10**5)) * x")
    guest.where, guest.calls = "size 1, instance 0", CallSample()
    assert [guest(0), guest(0)] == [0, 0]
    guest.calls.add(guest.where, _encode_call("", (1,), {}), sum(range(3 * 10**5)))
    before = guest.checking_s
    assert audit_decisions(guest, None) == 3
    assert 0.002 < guest.checking_s - before < 0.4

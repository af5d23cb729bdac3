"""The check that a candidate is a function of its arguments."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from oragent.harness import Guest
from oragent._base.errors import CandidateError
from oragent.harness.answers import is_same_answer
from oragent.harness.purity import MIN_S, SAMPLE, SHARE, CallSample, check_purity

NUMBERS = range(40)
COUNTS = "calls = 0\ndef f(x):\n    global calls\n    calls += 1\n    return x + (calls % 3 == 0)"
REMEMBERS = "before = [0]\ndef f(x):\n    before.append(x)\n    return x + before[-2]"
CACHES = "known = {-1: 0}\ndef f(x):\n    known[x] = known[x - 1] + 1\n    return x"
DRAWS = "import os\ndef f(x): return x + os.urandom(1)[0] % 2"


class Sum:
    """A running sum of the items, which the function sees."""

    def __init__(self, begin: int) -> None:
        self.total = begin

    def arguments(self, item: int) -> tuple[int]:
        self.item = item
        return (self.total + item,)

    def choose(self, answer: object) -> int:
        return int(answer)

    def apply(self, decision: int) -> None:
        self.total += self.item + decision % 2


@pytest.fixture
def guest_of(tmp_path: Path) -> Iterator[Callable[[str], Guest]]:
    guests = []

    def make(body: str) -> Guest:
        path = tmp_path / f"heuristic{len(guests)}.py"
        path.write_text(f"import numpy as np\n{body}\n")
        guests.append(Guest(path, "f", fresh_processes=True, state=Sum))
        guests[-1].sample = CallSample()
        return guests[-1]

    yield make
    for guest in guests:
        guest.__exit__()


@pytest.mark.slow
@pytest.mark.parametrize("body", ["def f(x): return x * x", "def f(x): return x + np.random.random()"])
def test_a_function_passes(guest_of: Callable[[str], Guest], body: str) -> None:
    guest = guest_of(body)
    for number in NUMBERS:
        guest(number)
    assert check_purity(guest, guest.sample) == SAMPLE


@pytest.mark.slow
@pytest.mark.parametrize("body", [COUNTS, REMEMBERS, DRAWS, CACHES], ids=["counts", "remembers", "draws", "caches"])
def test_memory_and_chance_are_rejected(guest_of: Callable[[str], Guest], body: str) -> None:
    guest = guest_of(body)
    for number in NUMBERS:
        guest(number)
    with pytest.raises(CandidateError) as caught:
        check_purity(guest, guest.sample)
    assert caught.value.status == "rejected"


@pytest.mark.slow
def test_the_calls_of_a_reveal_are_repeated(guest_of: Callable[[str], Guest]) -> None:
    guest = guest_of("def f(x): return x % 7")
    guest.reveal([(0,), (5,)], [list(NUMBERS), list(NUMBERS)])
    assert guest.sample.count == SAMPLE
    assert check_purity(guest, guest.sample) == SAMPLE
    guest = guest_of(COUNTS)
    guest.reveal([(0,), (5,)], [list(NUMBERS), list(NUMBERS)])
    with pytest.raises(CandidateError) as caught:
        check_purity(guest, guest.sample)
    assert caught.value.status == "rejected"


@pytest.mark.slow
@pytest.mark.parametrize("decision", ["'x'", "[1, 2]", "np.ones(3)", "None"])
def test_decisions_that_no_answer_makes_are_the_candidate_s_fault(
    guest_of: Callable[[str], Guest], decision: str
) -> None:
    guest = guest_of(
        "import gc\ndef f(x):\n"
        "    states = [one for one in gc.get_objects() if isinstance(one, object) and type(one).__name__ == 'Sum']\n"
        f"    type(states[0]).choose = lambda self, answer: {decision}\n"
        "    type(states[0]).apply = lambda self, answer: None\n"
        "    return x"
    )
    with pytest.raises(CandidateError) as caught:
        guest.reveal([(0,)], [list(NUMBERS)])
        check_purity(guest, guest.sample)
    assert caught.value.status == "rejected"


@pytest.mark.slow
def test_the_check_takes_a_small_share_of_the_cpu_time(guest_of: Callable[[str], Guest]) -> None:
    slow = "import time\ndef f(x):\n    end = time.process_time() + 0.04\n    while time.process_time() < end: pass\n    return x"
    guest = guest_of(slow)
    for number in NUMBERS:
        guest(number)
    # 40 calls of 0.04 s and the scorer: a call more may take what a process needs to start
    count = check_purity(guest, guest.sample)
    allowed = max(MIN_S, SHARE * (time.process_time() + guest.cpu_s))
    assert 1 <= count <= allowed / 0.04
    assert guest.check_s < 2 * allowed


def test_a_sample_keeps_every_call_equally_often() -> None:
    counts = np.zeros(50)
    for _ in range(400):
        sample = CallSample(size=10)
        for number in range(50):
            sample.add(str(number), b"", lambda answer: True)
        counts[[int(call.where) for call in sample.calls]] += 1
    # each is binomial with mean 80 and standard deviation 8
    assert counts.sum() == 4000
    assert counts.min() > 40
    assert counts.max() < 120


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

"""Programs that hardly differ are rejected before anything is paid for them."""

import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oragent._base.protocol import Status
from oragent.programs.similarity import find_nearest, may_be_near, token_distance
from oragent.programs.syntax import Signature
from oragent.search.screening import too_near
from oragent.search.store import Store
from tests.search.test_engine import history, jittery
from tests.search.test_engine import search as run_engine
from tests.search.test_rivals import records

WANTED = Signature("guess", ("x",), "def guess(x):")
BASE = "def guess(x):\n    a = x * 2.0\n    return a + 1.0\n"


def edits(first: str, second: str) -> int:
    """Levenshtein's distance by its definition."""
    if not first or not second:
        return len(first) + len(second)
    if first[0] == second[0]:
        return edits(first[1:], second[1:])
    return 1 + min(edits(first[1:], second), edits(first, second[1:]), edits(first[1:], second[1:]))


@given(st.text("abc", max_size=7), st.text("abc", max_size=7), st.floats(0.05, 1.0))
def test_a_distance_is_exact_and_what_is_near_is_never_taken_for_far(first: str, second: str, limit: float) -> None:
    exact = edits(first, second) / max(len(first), len(second), 1)
    assert token_distance(first, second) == pytest.approx(exact)
    if exact < limit:
        assert may_be_near(Counter(first), Counter(second), limit)


@pytest.mark.slow
def test_long_texts_are_compared_with_as_many_others_as_the_time_allows() -> None:
    rng = random.Random(3)
    tokens = rng.choices("abcdefgh", k=30_000)
    others = [rng.sample(tokens, len(tokens)) for _ in range(100)]  # by their numbers alone they could be the same
    assert find_nearest(tokens, [*others, tokens], 0.1) is None
    assert find_nearest(tokens[:300], [*(other[:300] for other in others), tokens[:300]], 0.1) == 100


def test_names_comments_and_layout_make_no_program_new() -> None:
    same = "def guess(x):\n    # twice\n    twice = (x * 2.0)\n\n    return twice + 1.0\n"
    assert too_near(same, [("3.0", BASE)], 0.01, WANTED) == "3.0"


def test_a_program_is_new_if_enough_of_its_tokens_differ() -> None:
    tuned = BASE.replace("2.0", "2.5")
    other = "def guess(x):\n    return max(x, 3) ** 2 if x > 1 else -x\n"
    assert too_near(tuned, [("3.0", other), ("4.0", BASE)], 0.1, WANTED) == "4.0"
    assert too_near(tuned, [("4.0", BASE)], 0.02, WANTED) is None
    assert too_near(other, [("4.0", BASE)], 0.1, WANTED) is None


async def retune(run) -> None:
    """Change a number only; every seventh time, the whole program."""
    terms = ["abs(x)", "x ** 2", "min(x, 7)", "len(str(x))", "(x > 3)", "-x"]
    body = f"x * {run.rng.integers(1000)}.0" if run.number % 7 else " + ".join(run.rng.choice(terms, size=9))
    await run.evaluate(f"def guess(x):\n    return {body}\n", [run.archive.best.id], "retune")


def test_what_hardly_differs_is_rejected_with_a_reason_and_costs_no_evaluation(begun) -> None:
    folder = begun("strategy.novelty=0.3", "budget.evaluations=5", "strategy.patience=20")
    outcome = run_engine(folder, retune)
    rejected = [one for one in records(folder) if one.candidate.evaluation.status is Status.REJECTED]
    assert outcome.complete
    assert outcome.progress.spent.evaluations == 5
    assert len(rejected) > 10
    assert all("hardly differs from candidate" in one.candidate.evaluation.message for one in rejected)
    assert all(one.placed == "" and one.candidate.evaluation.score is None for one in rejected)
    with Store(folder.database, readonly=True) as store:
        assert sum(used.evaluations for used in store.rounds().values()) == 5


def test_rejections_do_not_depend_on_the_number_of_workers(begun) -> None:
    runs = []
    for workers in (1, 8):
        folder = begun("strategy.novelty=0.3", "budget.evaluations=5", "strategy.patience=20", "seed=2")
        run_engine(folder, retune, run=jittery, workers=workers)
        runs.append((history(folder), [one.candidate.evaluation.message for one in records(folder)]))
    assert runs[0] == runs[1]


def test_by_default_any_difference_is_enough(begun) -> None:
    folder = begun("budget.evaluations=12")
    run_engine(folder, retune)
    assert all(one.candidate.evaluation.status is Status.OK for one in records(folder))

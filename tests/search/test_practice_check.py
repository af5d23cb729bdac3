"""A search without a model ends when its new best programs get worse on practice instances."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from oragent._base.direction import Direction
from oragent.evaluation import Evaluation, Job
from oragent.search.practice_check import PracticeScore, find_disagreement
from oragent.search.round_context import RoundContext
from oragent.search.strategy import Strategy
from tests.search.test_engine import scored
from tests.search.test_purity_checks import records, search

OFFERS = frozenset({"--instances", "practice"})


def notes(values: list[float]):
    return [PracticeScore(f"{at}.0", -float(at), value).to_note(at) for at, value in enumerate(values)]


def test_only_a_row_of_worse_programs_is_a_disagreement() -> None:
    minimize = Direction.MINIMIZE
    assert find_disagreement(notes([5, 4, 6, 6, 3]), minimize, 3) == ""
    reason = find_disagreement(notes([5, 4, 6, 6, 4.5]), minimize, 3)
    assert "candidate 1.0" in reason
    assert "(4 on practice, -1 on val; the last one 4.5 and -4)" in reason
    assert not find_disagreement(notes([5, 4, 6, 6, 4]), minimize, 3)
    assert find_disagreement(notes([5, 4, 6, 6, 6]), minimize, 0) == ""


@given(st.lists(st.floats(-9, 9), max_size=9), st.integers(1, 4))
def test_directions_are_mirror_images(values: list[float], patience: int) -> None:
    first = find_disagreement(notes(values), Direction.MINIMIZE, patience)
    second = find_disagreement(notes([-value for value in values]), Direction.MAXIMIZE, patience)
    assert bool(first) == bool(second)


async def improve(run: RoundContext) -> None:
    """Each round is better than the one before on val."""
    await run.evaluate(f"def guess(x):\n    return {40 + run.number}\n", [], "step")


def fitted(job: Job) -> Evaluation:
    """On practice instances programs get worse from the fourth one on."""
    evaluation = scored(job)
    if job.mode != "practice" or evaluation.score is None:
        return evaluation
    return replace(evaluation, score=evaluation.score if evaluation.score > 56 else 200 - evaluation.score)


def test_a_run_ends_that_only_fits_val_and_is_the_same_with_any_number_of_workers(begun) -> None:
    strategy = Strategy(name="step", round=improve, asks_model=False)
    runs = []
    for workers in (1, 3):
        folder = begun("budget.evaluations=30", "strategy.disagreement=3", "strategy.window=1")
        outcome = search(folder, strategy, fitted, workers=workers, offers=OFFERS)
        assert "practice instances disagree" in outcome.reason
        runs.append([(record.id, record.score) for record in records(folder)])
    assert runs[0] == runs[1]
    assert len(runs[0]) < 12
    folder = begun("budget.evaluations=12", "strategy.disagreement=0", "strategy.window=1")
    assert "disagree" not in search(folder, strategy, fitted, offers=OFFERS).reason
    model = Strategy(name="step", round=improve)
    folder = begun("budget.evaluations=12", "strategy.disagreement=3", "strategy.window=1", "model.name=m")
    assert "disagree" not in search(folder, model, fitted, offers=OFFERS).reason


def test_practice_instances_have_the_size_of_the_run(begun) -> None:
    strategy, jobs = Strategy(name="step", round=improve, asks_model=False), []
    folder = begun("budget.evaluations=4", "strategy.window=1", "problem_size=7")
    search(folder, strategy, lambda job: jobs.append(job) or fitted(job), offers=OFFERS)
    assert {job.problem_size for job in jobs if job.mode == "practice"} == {7}

"""What a check says of an evaluator's hooks."""

from collections.abc import Callable
from pathlib import Path

import pytest

from oragent._base.protocol import Status
from oragent.authoring.bench import Level, ScoringBench, Seed
from oragent.authoring.seed_checks import check_hooks
from oragent.evaluation import Evaluation, Job
from oragent.evaluation.problem import load_problem

OFFERED = "usage: eval.py [--observer FILE]"


def bench(toy: Path, declared: str, offers: str, called: str, watched: float = 2.0) -> ScoringBench:
    (toy / "problem.yaml").write_text((toy / "problem.yaml").read_text() + declared)
    (toy / "eval.py").write_text("from oragent.harness import run  # hooks\n")

    def score(job: Job) -> Evaluation:
        if job.arguments == ("--help",):
            return Evaluation(Status.ERROR, output=offers)
        assert "def observe(hook, data)" in job.observer
        assert job.mode == "train"
        return Evaluation(Status.OK, watched, log=f"own\nWhat the observer printed:\n{called}")

    breed: Callable = lambda problem, rng: None  # noqa: E731 - nothing is bred here
    return ScoringBench(load_problem(toy), toy, 10.0, breed, score)


SEED = Seed(Evaluation(Status.OK, 2.0), Evaluation(Status.OK, 2.0))


@pytest.mark.parametrize(
    ("declared", "offers", "called", "level", "words"),
    [
        (
            "",
            "",
            "",
            Level.OK,
            "none: this evaluator has no --observer: it reports no progress (no hooks for an observer)",
        ),
        ("hooks: {step: x}\n", "", "", Level.FAILURE, "give harness.run(..., hooks=...)"),
        ("", OFFERED, "", Level.WARNING, "says nothing under hooks, so no model knows of it"),
        ("hooks: {step: x}\n", OFFERED, "called step 7\ncalled end 1\n", Level.OK, "step (7 times on train)"),
        ("hooks: {step: x, other: y}\n", OFFERED, "called step 7\n", Level.FAILURE, "other of problem.yaml is never"),
        (
            "hooks: {step: x}\n",
            OFFERED,
            "called step 7\ncalled b 1\n",
            Level.FAILURE,
            "the evaluator calls b, of which",
        ),
    ],
)
def test_hooks_are_those_of_problem_yaml(toy: Path, declared, offers, called, level, words) -> None:
    found = check_hooks(bench(toy, declared, offers, called), SEED)
    assert found.level is level
    assert words in found.detail


def test_watching_must_not_matter(toy: Path) -> None:
    found = check_hooks(bench(toy, "hooks: {step: x}\n", OFFERED, "called step 1\n", watched=3.0), SEED)
    assert found.level is Level.FAILURE
    assert "watched, the seed gets 3.0, and else 2.0; watching must change nothing" in found.detail

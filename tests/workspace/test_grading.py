"""The published rule decides whether an attempt passes; where it fails, the first kind of failure that holds is told."""

import pytest

from oragent.modelling.capture.program import ProgramOutcome
from oragent.modelling.data.model_values import Sense
from oragent.workspace.layout import Mode
from oragent.workspace.runner import is_within_tolerance
from oragent_benchmarks.workspace.grading import AttemptOutcome, Reference, compare_value, grade_attempt
from oragent_benchmarks.workspace.printed import Backing, ProgramAttempt

REFERENCE = Reference("or_space_001_revise", Mode.REVISE, 1, "toy", 200.0)
ORIGINAL = 100.0


def attempt(value: object = 200.0, **changes: object) -> ProgramAttempt:
    return ProgramAttempt(stdout=f"OBJECTIVE_VALUE: {value}\n", status="Optimal", objectives=(200.0,), **changes)  # type: ignore[arg-type]


def test_within_one_per_cent_passes_and_the_boundary_counts() -> None:
    assert grade_attempt(attempt(202.0), REFERENCE).is_passed
    assert not grade_attempt(attempt(202.01), REFERENCE).is_passed
    assert not grade_attempt(attempt(202.0), REFERENCE).strict
    assert grade_attempt(attempt(200.0001), REFERENCE).strict
    assert is_within_tolerance(0.009, 0.0, 0.01)
    assert not is_within_tolerance(0.011, 0.0, 0.01)


@pytest.mark.parametrize(
    ("one", "outcome"),
    [
        (ProgramAttempt(ProgramOutcome.TIME, "OBJECTIVE_VALUE: 200"), AttemptOutcome.TIMEOUT),
        (ProgramAttempt(ProgramOutcome.MEMORY), AttemptOutcome.MEMORY),
        (ProgramAttempt(ProgramOutcome.ERROR, "OBJECTIVE_VALUE: 200", "Traceback"), AttemptOutcome.RUNTIME_ERROR),
        (ProgramAttempt(stdout="done", status="Infeasible", objectives=(200.0,)), AttemptOutcome.NO_OBJECTIVE),
        (ProgramAttempt(stdout="OBJECTIVE_VALUE: nan", objectives=(200.0,)), AttemptOutcome.NO_OBJECTIVE),
        (ProgramAttempt(stdout="OBJECTIVE_VALUE: 200", status="Infeasible"), AttemptOutcome.INFEASIBLE),
        (ProgramAttempt(stdout="OBJECTIVE_VALUE: 200", status="Unbounded"), AttemptOutcome.UNBOUNDED),
        (ProgramAttempt(stdout="OBJECTIVE_VALUE: 200", status="Not Solved"), AttemptOutcome.NOT_PROVEN),
        (attempt(100.0), AttemptOutcome.UNREVISED),
        (attempt(101.0), AttemptOutcome.WRONG_VALUE),
        (attempt(190.0, direction=Sense.MINIMIZE), AttemptOutcome.MISSING_CONSTRAINT),
        (attempt(210.0, direction=Sense.MINIMIZE), AttemptOutcome.WRONG_DATA),
        (attempt(190.0, direction=Sense.MAXIMIZE), AttemptOutcome.WRONG_DATA),
        (attempt(210.0, direction=Sense.MAXIMIZE), AttemptOutcome.MISSING_CONSTRAINT),
        (attempt(), AttemptOutcome.PASSED),
    ],
)
def test_the_first_kind_that_holds_is_the_kind(one: ProgramAttempt, outcome: AttemptOutcome) -> None:
    verdict = grade_attempt(one, REFERENCE, ORIGINAL)
    assert verdict.outcome is outcome
    assert verdict.is_passed == (outcome is AttemptOutcome.PASSED)


def test_kinds_are_tried_in_the_order_in_which_they_are_listed() -> None:
    everything = [
        {"stop": ProgramOutcome.TIME}, {"stop": ProgramOutcome.MEMORY}, {"stop": ProgramOutcome.ERROR}, {"stdout": ""},
        {"status": "Infeasible"}, {"status": "Unbounded"}, {"status": "Not Solved"},
    ]  # fmt: skip
    found = []
    for first in range(len(everything)):
        wrong: dict = {"stdout": "OBJECTIVE_VALUE: 100", "direction": Sense.MINIMIZE}
        for change in reversed(everything[first:]):
            wrong |= change
        found.append(grade_attempt(ProgramAttempt(**wrong), REFERENCE, ORIGINAL).outcome)
    order = list(AttemptOutcome)
    assert found == sorted(found, key=order.index) == order[2:9]


def test_a_revision_without_effect_on_the_optimum_passes_when_left_alone() -> None:
    assert compare_value(200.0, REFERENCE, original=200.0) is AttemptOutcome.PASSED


@pytest.mark.parametrize(
    ("objectives", "backing"),
    [(None, None), ((), Backing.NONE), ((200.0,), Backing.MODEL), ((200.3,), Backing.ROUNDED), ((5.0,), Backing.OTHER)],
)
def test_the_published_rule_marks_a_value_without_a_model_and_lets_it_pass(
    objectives: tuple | None, backing: Backing | None
) -> None:
    verdict = grade_attempt(ProgramAttempt(stdout="OBJECTIVE_VALUE: 200", objectives=objectives), REFERENCE)
    assert verdict.is_passed
    assert verdict.backing is backing

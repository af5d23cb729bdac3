"""The published rule decides whether an attempt passes; where it fails, the first kind of failure that holds is told."""

import pytest

from oragent.evals.workspace.grading import Outcome, compare, grade, release_label
from oragent.evals.workspace.references import Reference
from oragent.workspace.attempts import Attempt, Direction, Stop, passes
from oragent.workspace.layout import Mode
from oragent.workspace.objective import Backing

REFERENCE = Reference("or_space_001_revise", Mode.REVISE, 1, "toy", 200.0)
ORIGINAL = 100.0


def attempt(value: object = 200.0, **changes: object) -> Attempt:
    return Attempt(stdout=f"OBJECTIVE_VALUE: {value}\n", status="Optimal", objectives=(200.0,), **changes)  # type: ignore[arg-type]


def test_within_one_per_cent_passes_and_the_boundary_counts() -> None:
    assert grade(attempt(202.0), REFERENCE).passed
    assert not grade(attempt(202.01), REFERENCE).passed
    assert not grade(attempt(202.0), REFERENCE).strict
    assert grade(attempt(200.0001), REFERENCE).strict
    assert passes(0.009, 0.0, 0.01)
    assert not passes(0.011, 0.0, 0.01)


@pytest.mark.parametrize(
    ("one", "outcome"),
    [
        (Attempt(Stop.TIMEOUT, "OBJECTIVE_VALUE: 200"), Outcome.TIMEOUT),
        (Attempt(Stop.MEMORY), Outcome.MEMORY),
        (Attempt(Stop.ERROR, "OBJECTIVE_VALUE: 200", "Traceback"), Outcome.RUNTIME_ERROR),
        (Attempt(stdout="OBJECTIVE_VALUE: 200", objectives=()), Outcome.NO_MODEL),
        (Attempt(stdout="done", status="Infeasible", objectives=(200.0,)), Outcome.NO_OBJECTIVE),
        (Attempt(stdout="OBJECTIVE_VALUE: nan", objectives=(200.0,)), Outcome.NO_OBJECTIVE),
        (Attempt(stdout="OBJECTIVE_VALUE: 200", status="Infeasible"), Outcome.INFEASIBLE),
        (Attempt(stdout="OBJECTIVE_VALUE: 200", status="Unbounded"), Outcome.UNBOUNDED),
        (Attempt(stdout="OBJECTIVE_VALUE: 200", status="Not Solved"), Outcome.NOT_PROVEN),
        (attempt(100.0), Outcome.UNREVISED),
        (attempt(101.0), Outcome.WRONG_VALUE),
        (attempt(190.0, direction=Direction.MINIMIZE), Outcome.MISSING_CONSTRAINT),
        (attempt(210.0, direction=Direction.MINIMIZE), Outcome.WRONG_DATA),
        (attempt(190.0, direction=Direction.MAXIMIZE), Outcome.WRONG_DATA),
        (attempt(210.0, direction=Direction.MAXIMIZE), Outcome.MISSING_CONSTRAINT),
        (attempt(), Outcome.PASSED),
    ],
)
def test_the_first_kind_that_holds_is_the_kind(one: Attempt, outcome: Outcome) -> None:
    verdict = grade(one, REFERENCE, ORIGINAL, demand_model=True)
    assert verdict.outcome is outcome
    assert verdict.passed == (outcome is Outcome.PASSED)


def test_kinds_are_tried_in_the_order_in_which_they_are_listed() -> None:
    everything = [
        {"stop": Stop.TIMEOUT}, {"stop": Stop.MEMORY}, {"stop": Stop.ERROR}, {"objectives": ()}, {"stdout": ""},
        {"status": "Infeasible"}, {"status": "Unbounded"}, {"status": "Not Solved"},
    ]  # fmt: skip
    found = []
    for first in range(len(everything)):
        wrong: dict = {"stdout": "OBJECTIVE_VALUE: 100", "direction": Direction.MINIMIZE}
        for change in reversed(everything[first:]):
            wrong |= change
        found.append(grade(Attempt(**wrong), REFERENCE, ORIGINAL, demand_model=True).outcome)
    order = list(Outcome)
    assert found == sorted(found, key=order.index) == order[2:10]


def test_a_revision_without_effect_on_the_optimum_passes_when_left_alone() -> None:
    assert compare(200.0, REFERENCE, original=200.0) is Outcome.PASSED


@pytest.mark.parametrize(
    ("objectives", "backing"),
    [(None, None), ((), Backing.NONE), ((200.0,), Backing.MODEL), ((200.3,), Backing.ROUNDED), ((5.0,), Backing.OTHER)],
)
def test_the_published_rule_marks_a_value_without_a_model_and_lets_it_pass(
    objectives: tuple | None, backing: Backing | None
) -> None:
    verdict = grade(Attempt(stdout="OBJECTIVE_VALUE: 200", objectives=objectives), REFERENCE)
    assert verdict.passed
    assert verdict.backing is backing


@pytest.mark.parametrize(
    ("one", "label"),
    [
        (attempt(), ""),
        (attempt(5.0), "WrongValue"),
        (Attempt(), "EmptyOutput"),
        (Attempt(stdout="done"), "WrongValue"),
        (Attempt(Stop.ERROR, stderr="Traceback\nTypeError: x\n"), "TypeError"),
        (Attempt(Stop.ERROR, stderr="NameError: x"), "NameError"),
        (Attempt(Stop.ERROR, stderr="ModuleNotFoundError: No module named 'gurobipy'"), "module_not_found"),
        (Attempt(Stop.ERROR, stderr="ZeroDivisionError"), "RuntimeError"),
        (Attempt(Stop.TIMEOUT), "RuntimeError"),
    ],
)
def test_the_release_s_labels_stand_beside_ours(one: Attempt, label: str) -> None:
    assert release_label(one, grade(one, REFERENCE)) == label

"""On 222 published formulations every answer is found, and of planted errors every status is the right one."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import pytest

from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.model_values import Relation, VariableKind
from oragent.modelling.data.solution import TOLERANCES, SolveStatus
from oragent.modelling.solving.model_solving import breaches, solve
from oragent_benchmarks.formulate.sets import parse_number
from tests.modelling.nl4opt import FOLDER, verified

STRICT = TOLERANCES["strict"]
OPPOSITE = {Relation.AT_MOST: Relation.AT_LEAST, Relation.AT_LEAST: Relation.AT_MOST}

with_data = pytest.mark.skipif(not FOLDER.exists(), reason="the data set is not on this machine")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("$1,000", 1000), ("20%", 0.2), ("fifteen", 15), ("fifteen percent", 0.15), ("third", 1 / 3), ("half", 0.5),
        ("twice", 2), ("three times", 3), ("1.5 times", 1.5), ("2/5", 0.4), ("twenty-five", 25), ("one third", 1 / 3),
    ],
)  # fmt: skip
def test_numbers_are_read_as_people_write_them(text: str, value: float) -> None:
    assert parse_number(text) == pytest.approx(value)


@pytest.mark.slow
@with_data
def test_every_gold_formulation_gives_its_answer() -> None:
    wrong = [milp.name for milp, answer in verified() if not STRICT.accepts(solve(milp, duals=False).objective, answer)]
    assert len(verified()) == 222
    assert wrong == []


def dropped(milp: IndexedModel) -> Iterator[IndexedModel]:
    for row in milp.row_records:
        yield milp.with_records(rows=tuple(one for one in milp.row_records if one is not row))


def flipped(milp: IndexedModel) -> Iterator[IndexedModel]:
    for row in milp.row_records:
        turned = replace(row, relation=OPPOSITE[row.relation])
        yield milp.with_records(rows=tuple(turned if one is row else one for one in milp.row_records))


def relaxed(milp: IndexedModel) -> Iterator[IndexedModel]:
    yield milp.with_records(
        variables=tuple(replace(one, kind=VariableKind.CONTINUOUS) for one in milp.variable_records)
    )


@pytest.mark.slow
@with_data
@pytest.mark.parametrize(
    ("plant", "expected"),
    [
        (dropped, {"same": 290, "violated": 310, "unbounded": 37}),
        (flipped, {"same": 44, "violated": 350, "wrong": 97, "unbounded": 37, "infeasible": 109}),
        (relaxed, {"same": 114, "wrong": 108}),
    ],
)
def test_planted_errors_end_as_counted_elsewhere(plant, expected: dict[str, int]) -> None:
    """Of 183 variants without an optimum 74 are unbounded: PuLP with HiGHS calls all of them infeasible."""
    found: Counter[str] = Counter()
    for gold, answer in verified():
        for milp in plant(gold):
            solution = solve(milp, duals=False)
            if solution.status is not SolveStatus.OPTIMAL:
                found[str(solution.status)] += 1
            elif STRICT.accepts(solution.objective, answer):
                found["same"] += 1
            elif "violated" in expected and breaches(gold, solution.values):
                found["violated"] += 1
            else:
                found["wrong"] += 1
    assert found == expected

"""Invariants of operations on drawn models: spans contain optima, names lead back to their members."""

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given
from hypothesis import strategies as st

from oragent._base.errors import ModellingError
from oragent.modelling.data.arrays import Arrays
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.model_records import Objective, Row, Variable
from oragent.modelling.data.model_values import Relation, Sense
from oragent.modelling.data.names import group_by_names
from oragent.modelling.operations import ModelSession, SolveLimits
from tests.modelling.models import models

CHANGES = [
    "{row} += 1",
    "{row} -= 2",
    "{row} *= 1.5",
    "relax {row} by 1",
    "drop {row}",
    "variables.{column} = 1",
    "upper({column}) -= 1",
    "lower({column}) += 1",
    "objective({column}) += 2",
    "objective({column}) -= 1",
    "forbid {column}",
]


def scipy_optimum(arrays: Arrays) -> float | None:
    """The optimum by SciPy; None where there is none."""
    if (arrays.low > arrays.high).any():
        return None
    constraints = []
    if len(arrays.row_low):
        dense = arrays.matrix.to_dense()
        constraints = [scipy.optimize.LinearConstraint(dense, arrays.row_low, arrays.row_high)]
    result = scipy.optimize.milp(
        arrays.sense.sign * arrays.cost,
        integrality=arrays.integer.astype(int),
        bounds=scipy.optimize.Bounds(arrays.low, arrays.high),
        constraints=constraints,
        options={"mip_rel_gap": 0.0},
    )
    return None if result.x is None else arrays.sense.sign * float(result.fun) + arrays.constant


@pytest.mark.slow
@given(
    models(box=True),
    st.lists(st.tuples(st.sampled_from(CHANGES), st.integers(0, 9)), min_size=1, max_size=5),
    st.sampled_from([SolveLimits(), SolveLimits(nodes=0, gap=0.5), SolveLimits(nodes=0, gap=0.1)]),
)
def test_every_span_of_a_study_contains_the_optimum(
    milp: IndexedModel, drawn: list[tuple[str, int]], limits: SolveLimits
) -> None:
    session = ModelSession(group_by_names(milp), limits)
    model = session.model
    seen = []
    for form, number in drawn:
        row = f"rows.{model.row_names[number % len(model.row_names)]}" if model.row_names else "rows.r"
        line = form.format(row=row, column=model.column_names[number % len(model.column_names)])
        try:
            result = session.ask(f"whatif {line}")
        except ModellingError:
            continue
        before = scipy_optimum(session.study.present.known.arrays)
        after = scipy_optimum(session.study.scenario(session.study.trial).known.arrays)
        seen.append((result, before, after))
        if number % 2:
            session.ask("keep")
    for result, before, after in seen:
        for status, figure, truth in (
            (result.status_before, result.objective.before, before),
            (result.status_after, result.objective.after, after),
        ):
            if truth is None:
                assert status in ("infeasible", "unknown")
                continue
            assert status != "infeasible"
            room = 1e-5 * max(1.0, abs(truth))
            assert figure.low is None or figure.low - room <= truth
            assert figure.high is None or truth <= figure.high + room
        if before is not None and after is not None and result.objective.difference.low is not None:
            room = 1e-5 * max(1.0, abs(before), abs(after))
            difference = result.objective.difference
            assert difference.low - room <= after - before <= difference.high + room


@pytest.mark.slow
@given(st.lists(st.text(min_size=1, max_size=8).filter(lambda text: text.strip()), min_size=1, max_size=6, unique=True))
def test_the_name_of_a_member_leads_back_to_it(names: list[str]) -> None:
    try:
        milp = IndexedModel.from_records(
            tuple(Variable(name) for name in names),
            tuple(Row(name, {names[0]: 1.0}, Relation.AT_MOST, float(place)) for place, name in enumerate(names)),
            Objective({name: float(place) for place, name in enumerate(names)}),
            Sense.MINIMIZE,
        )
    except ModellingError:
        return
    session = ModelSession(group_by_names(milp))
    for place, name in enumerate(session.model.column_names):
        (member,) = session.ask(f"data variables.{name}").members
        assert (member.name, member.coefficient.value) == (name, place)
    for place, name in enumerate(session.model.row_names):
        (member,) = session.ask(f"data rows.{name}").members
        assert (member.name, member.value.value) == (name, place)


@pytest.mark.parametrize("seed", range(3))
def test_a_repair_is_the_least_and_feasible(seed: int) -> None:
    random = np.random.default_rng(seed)
    rows = tuple(
        Row(
            f"r{number}",
            {"x": float(random.integers(1, 4)), "y": 1.0},
            Relation.AT_LEAST,
            float(random.integers(20, 40)),
        )
        for number in range(4)
    )
    milp = IndexedModel.from_records(
        (Variable("x", 0, 3), Variable("y", 0, 2)), rows, Objective({"x": 1.0}), Sense.MINIMIZE
    )
    session = ModelSession(group_by_names(milp))
    repair = session.ask("repair")
    # all variables at their upper bounds leave the least violation, as all coefficients are above 0
    best = sum(max(0.0, row.rhs - row.terms["x"] * 3 - row.terms["y"] * 2) for row in rows)
    assert repair.total.value == pytest.approx(best)
    session.run([change.line for change in repair.changes])
    assert session.ask("solve").status == "optimal"

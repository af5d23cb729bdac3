"""Quadratic terms, logic, curves and soft rows of indexed models: kept, solved, compared, written and read again."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from oragent._base.errors import ModellingError
from oragent.modelling.convert import convert_model, write_source
from oragent.modelling.data.builder import IndexedModelBuilder
from oragent.modelling.data.features import (
    Absolute,
    BinaryProduct,
    Extreme,
    FurtherObjective,
    Indicator,
    ModelFeatures,
    OrderedSet,
    PiecewiseLinear,
    QuadraticRow,
    QuadraticTerm,
    SemiContinuous,
    SoftRow,
)
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.model_records import Objective, Row, Variable
from oragent.modelling.data.model_values import Relation, Sense, VariableKind
from oragent.modelling.data.names import group_by_names
from oragent.modelling.files.model_files import read_indexed, write
from oragent.modelling.files.model_json import from_json, to_json
from oragent.modelling.operations import ModelSession
from oragent.modelling.solving.model_solving import solve

STOCKS = ["coal", "wind", "water"]
COVARIANCE = np.array([[4.0, 1.0, 0.5], [1.0, 9.0, 2.0], [0.5, 2.0, 16.0]])
RETURN = np.array([5.0, 8.0, 12.0])


def portfolio(least: float = 8.0) -> IndexedModel:
    """The least variance of a mix of stocks with a least return."""
    builder = IndexedModelBuilder("portfolio")
    builder.add_set("stock", STOCKS)
    builder.add_parameter("gain", ["stock"], RETURN)
    builder.add_parameter("least", [], [least])
    share = builder.add_variables("share", ["stock"])
    builder.add_rows("whole", [], "=", columns=share, rhs=1.0)
    builder.add_rows("reach", [], ">=", columns=share, values=builder.cells("gain"), rhs=builder.cells("least"))
    builder.set_objective("risk", "minimize")
    model = builder.build()
    terms = tuple(
        QuadraticTerm(first, second, float(COVARIANCE[first, second])) for first in range(3) for second in range(3)
    )
    return replace(model, objectives=(replace(model.objective, quadratic=terms),)).check()


def least_risk(least: float) -> float:
    """The optimum by the linear system of the conditions of Lagrange, for a return that binds."""
    rows = np.array([np.ones(3), RETURN])
    system = np.block([[2 * COVARIANCE, rows.T], [rows, np.zeros((2, 2))]])
    share = np.linalg.solve(system, np.concatenate([np.zeros(3), [1.0, least]]))[:3]
    assert (share > 0).all()
    return float(share @ COVARIANCE @ share)


@pytest.mark.slow
def test_a_portfolio_is_solved_explained_written_and_run_again(tmp_path: Path) -> None:
    session = ModelSession(portfolio())
    assert session.ask("solve").objective.value == pytest.approx(least_risk(8.0), abs=1e-6)
    changed = session.ask("whatif least = 9").objective
    assert changed.difference.value == pytest.approx(least_risk(9.0) - least_risk(8.0), abs=1e-5)
    priced = session.ask("price least by 0.1").members[0]
    assert priced.price_up.value == pytest.approx(least_risk(8.1) - least_risk(8.0), abs=1e-5)
    assert session.ask("why share[wind]").member.value.value > 0
    assert session.ask("describe").features == ("quadratic: 9",)
    for name in ("again.json", "again.lp"):
        convert_model(portfolio(), tmp_path / name)
        again = ModelSession(read_indexed(tmp_path / name))
        assert again.ask("solve").objective.value == pytest.approx(least_risk(8.0), abs=1e-6)
    with pytest.raises(ModellingError):
        session.ask("range reach")
    with pytest.raises(ModellingError):
        write_source(portfolio(), "pulp")


def featured() -> IndexedModel:
    """A small model with every feature that linear rows can replace."""
    names = ["x", "y", "z", "w", "p", "q", "r"]
    variables = [Variable(name, 0, 10) for name in names]
    variables += [Variable(name, 0, 1, VariableKind.INTEGER) for name in ("a", "b", "c")]
    variables[3] = Variable("w", 3, 10)
    return IndexedModel.from_records(
        tuple(variables),
        (
            Row("need", {"x": 1.0, "y": 1.0, "w": 1.0}, Relation.AT_LEAST, 7.0),
            Row("cap", {"x": 1.0, "y": 1.0}, Relation.AT_MOST, 3.0),
        ),
        Objective({"x": 1.0, "y": 2.0, "z": 1.0, "w": 1.5, "p": 1.0, "q": 1.0, "r": -1.0, "c": -2.0}),
        Sense.MINIMIZE,
        features=ModelFeatures(
            indicators=(Indicator("if a", "a", True, {"x": 1.0}, Relation.AT_LEAST, 2.0),),
            ordered_sets=(OrderedSet("one of", 1, {"x": 1.0, "y": 2.0}),),
            semi_continuous=(SemiContinuous("w"),),
            piecewise=(PiecewiseLinear("curve", "x", "z", ((0.0, 0.0), (2.0, 3.0), (10.0, 4.0))),),
            absolutes=(Absolute("size", "p", "y"),),
            extremes=(Extreme("most", "q", ("x", "y"), True),),
            products=(BinaryProduct("both", "c", ("a", "b")),),
            soft_rows=(SoftRow("need", 5.0, None),),
            goals=(FurtherObjective("other", {"r": 1.0}, weight=0.0),),
        ),
    )


def test_every_feature_survives_families_and_json() -> None:
    milp = featured()
    model = group_by_names(milp)
    again = from_json(to_json(model))
    assert again.features == model.features
    assert again.named_features == milp.named_features
    expected = solve(milp).objective
    assert ModelSession(again).ask("solve").objective.value == pytest.approx(expected)


def test_a_change_of_a_model_with_features_equals_a_flat_model_with_it() -> None:
    milp = featured()
    session = ModelSession(group_by_names(milp))
    for line, rows in (("need = 9", ("need", 9.0)), ("cap = 1", ("cap", 1.0))):
        changed = tuple(replace(row, rhs=rows[1]) if row.name == rows[0] else row for row in milp.row_records)
        expected = solve(milp.with_records(rows=changed)).objective
        assert session.ask(f"whatif {line}").objective.after.value == pytest.approx(expected)
    without = milp.with_records(rows=milp.row_records[:1])
    assert session.ask("whatif drop cap").objective.after.value == pytest.approx(solve(without).objective)
    hard = milp.with_records(rows=milp.row_records[1:], features=replace(milp.named_features, soft_rows=()))
    assert session.ask("whatif drop need").objective.after.value == pytest.approx(solve(hard).objective)


@pytest.mark.parametrize("line", ["most x", "conflict"])
def test_a_question_that_needs_linear_rows_is_refused(line: str) -> None:
    with pytest.raises(ModellingError):
        ModelSession(group_by_names(featured())).ask(line)


def test_objectives_that_are_weighed_are_solved_as_their_sum() -> None:
    goal = FurtherObjective("share", {"a": 3.0, "x": 1.0}, Sense.MAXIMIZE, weight=2.0)
    milp = featured().with_records(features=replace(featured().named_features, goals=(goal,)))
    best = ModelSession(group_by_names(milp)).ask("solve")
    flat = solve(milp)
    assert flat.objective is not None
    assert best.objective.value == pytest.approx(flat.objective - 2.0 * flat.goals["share"])


def test_a_limit_on_a_square_is_kept_in_json(tmp_path: Path) -> None:
    disc = QuadraticRow("disc", {}, (QuadraticTerm(0, 0, 1.0), QuadraticTerm(1, 1, 1.0)), Relation.AT_MOST, 2.0)
    model = replace(portfolio(), features=ModelFeatures(quadratic_rows=(disc,))).check()
    write(model, tmp_path / "disc.json")
    assert read_indexed(tmp_path / "disc.json").features == model.features
    with pytest.raises(ModellingError):
        replace(model, features=ModelFeatures(quadratic_rows=(disc, disc))).check()
    beyond = replace(disc, quadratic=(QuadraticTerm(0, 9, 1.0),))
    with pytest.raises(ModellingError):
        replace(model, features=ModelFeatures(quadratic_rows=(beyond,))).check()

"""Quadratic terms, logic, sets, curves and several aims as source: each program finds the best of all points."""

import itertools
import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from oragent.modelling.convert import SOURCES, write_source
from oragent.modelling.convert.feature_source import ABLE, used_features
from oragent.modelling.data.builder import IndexedModelBuilder
from oragent.modelling.data.features import (
    Absolute,
    BinaryProduct,
    Extreme,
    Indicator,
    ModelFeatures,
    OrderedSet,
    PiecewiseLinear,
    QuadraticRow,
    QuadraticTerm,
    SemiContinuous,
)
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.model_values import Relation
from oragent.modelling.operations import ModelSession
from tests.modelling.test_convert import PACKAGES
from tests.modelling.test_convert_truth import DRIVER

X, Y, Z, B, C, OUT, D = range(7)
LOW, HIGH = [-3, -3, 1, 0, 0, -4, 0], [3, 3, 4, 1, 1, 9, 1]
MOST, LEAST, EQUAL = Relation.AT_MOST, Relation.AT_LEAST, Relation.EQUAL
Point = tuple[int, ...]


def is_on_curve(x: int, y: int) -> bool:
    """On the line from (-2, 3) over (0, -1) to (2, 2)."""
    return -2 <= x <= 2 and abs(y - (-1 - 2 * x if x < 0 else -1 + 1.5 * x)) < 1e-9


# A part, its rule at a point, and an objective against which it binds, to be maximised.
PARTS: list[tuple[str, ModelFeatures, Callable[[Point], bool], list[float]]] = [
    (
        "quadratic row below",
        ModelFeatures(quadratic_rows=(QuadraticRow("q", {Z: 1.5}, (QuadraticTerm(X, X, 2.0), QuadraticTerm(Y, Y, 1.0)),
                                                   MOST, 9.5),)),
        lambda p: 2 * p[X] ** 2 + p[Y] ** 2 + 1.5 * p[Z] <= 9.5,
        [2, 1, 1, 0, 0, 0],
    ),
    (
        "quadratic row above",
        ModelFeatures(quadratic_rows=(QuadraticRow("q", {Z: 1.0}, (QuadraticTerm(X, X, -1.0), QuadraticTerm(X, Y, 0.5)),
                                                   LEAST, -1.0),)),
        lambda p: -p[X] ** 2 + 0.5 * p[X] * p[Y] + p[Z] >= -1,
        [-2, 1, -3, 0, 0, 0],
    ),
    (
        "indicator at 1",
        ModelFeatures(indicators=(Indicator("i", B, True, {X: 1.0, Y: -2.0}, MOST, -1.0),)),
        lambda p: not p[B] or p[X] - 2 * p[Y] <= -1,
        [2, -1, 0, 4, 0, 0],
    ),
    (
        "indicator at 0",
        ModelFeatures(indicators=(Indicator("i", B, False, {X: 1.0, Z: 1.0}, EQUAL, 2.0),)),
        lambda p: p[B] or p[X] + p[Z] == 2,
        [1, 0, 2, -6, 0, 0],
    ),
    (
        "indicator above",
        ModelFeatures(indicators=(Indicator("i", C, True, {X: 1.0, Z: 1.0}, LEAST, 3.0),)),
        lambda p: not p[C] or p[X] + p[Z] >= 3,
        [-1, 0, -2, 0, 5, 0],
    ),
    (
        "set of kind 1",
        ModelFeatures(ordered_sets=(OrderedSet("s", 1, {X: 1.0, Y: 2.0, OUT: 3.0}),)),
        lambda p: sum(map(bool, (p[X], p[Y], p[OUT]))) <= 1,
        [3, 2, 0, 0, 0, 0.5],
    ),
    (
        "set of kind 2 by its weights",
        ModelFeatures(ordered_sets=(OrderedSet("s", 2, {X: 3.0, Y: -1.0, OUT: 2.0}),)),
        lambda p: (p[Y] == 0 or p[X] == 0) and sum(map(bool, (p[X], p[Y], p[OUT]))) <= 2,
        [3, 2, 0, 0, 0, 0.1],
    ),
    (
        "semi-continuous",
        ModelFeatures(semi_continuous=(SemiContinuous(Z),)),
        lambda p: True,
        [1, 0, -1, 0, 0, 0],
    ),
    (
        "absolute value",
        ModelFeatures(absolutes=(Absolute("a", X, OUT),)),
        lambda p: p[OUT] == abs(p[X]),
        [-0.5, 0, 0, 0, 0, 2],
    ),
    (
        "largest with a constant",
        ModelFeatures(extremes=(Extreme("e", OUT, (X, Y), True, 1.5 - 0.5),)),
        lambda p: p[OUT] == max(p[X], p[Y], 1),
        [1, 0.5, 0, 0, 0, -3],
    ),
    (
        "smallest without one",
        ModelFeatures(extremes=(Extreme("e", OUT, (X, Y), False),)),
        lambda p: p[OUT] == min(p[X], p[Y]),
        [-1, -0.5, 0, 0, 0, 3],
    ),
    (
        "product",
        ModelFeatures(products=(BinaryProduct("p", C, (B,)),)),
        lambda p: p[C] == p[B],
        [0, 0, 0, -1, 2, 0],
    ),
    (
        "product of two",
        ModelFeatures(products=(BinaryProduct("p", D, (B, C)),)),
        lambda p: p[D] == p[B] * p[C],
        [0, 0, 0, -1, -1, 0, 3],
    ),
    (
        "product of two from above",
        ModelFeatures(products=(BinaryProduct("p", D, (B, C)),)),
        lambda p: p[D] == p[B] * p[C],
        [0, 0, 0, 2, 2, 0, -3],
    ),
    (
        "absolute value of a positive one",
        ModelFeatures(absolutes=(Absolute("a", Z, OUT),)),
        lambda p: p[OUT] == abs(p[Z]),
        [0, 0, -1, 0, 0, 2],
    ),
    (
        "absolute value from below",
        ModelFeatures(absolutes=(Absolute("a", X, OUT),)),
        lambda p: p[OUT] == abs(p[X]),
        [0.5, 0, 0, 0, 0, -2],
    ),
    (
        "largest from above",
        ModelFeatures(extremes=(Extreme("e", OUT, (X, Y), True),)),
        lambda p: p[OUT] == max(p[X], p[Y]),
        [-1, -0.5, 0, 0, 0, 3],
    ),
    (
        "smallest with a constant",
        ModelFeatures(extremes=(Extreme("e", OUT, (X, Z), False, 2.0),)),
        lambda p: p[OUT] == min(p[X], p[Z], 2),
        [1, 0, 0.5, 0, 0, -2],
    ),
    (
        "curve",
        ModelFeatures(piecewise=(PiecewiseLinear("c", X, OUT, ((-2.0, 3.0), (0.0, -1.0), (2.0, 2.0))),)),
        lambda p: is_on_curve(p[X], p[OUT]),
        [-1, 0, 0, 0, 0, 1],
    ),
    (
        "curve from below",
        ModelFeatures(piecewise=(PiecewiseLinear("c", X, OUT, ((-2.0, 3.0), (0.0, -1.0), (2.0, 2.0))),)),
        lambda p: is_on_curve(p[X], p[OUT]),
        [3, 0, 0, 0, 0, -2],
    ),
]  # fmt: skip
QUADRATIC = (QuadraticTerm(X, X, -1.0), QuadraticTerm(X, Y, -0.5), QuadraticTerm(Y, Y, -2.0))


def fill(costs: list[float]) -> list[float]:
    """Costs of all variables; those that are not given are 0."""
    return [*costs, *[0.0] * (len(LOW) - len(costs))]


def build(features: ModelFeatures, costs: list[float], sign: int, quadratic: tuple = ()) -> IndexedModel:
    """Whole variables, one row, and an objective of which the highest value (or lowest of the opposite) is asked."""
    builder = IndexedModelBuilder("parts")
    builder.add_set("place", ["p", "q", "r"])
    first = builder.add_variables("x", ["place"], low=np.array(LOW[:3]), high=np.array(HIGH[:3]), kind="integer")
    binary = builder.add_variables("b", [], high=1, kind="integer")
    second = builder.add_variables("c", [], high=1, kind="integer")
    out = builder.add_variables("out", [], low=LOW[OUT], high=HIGH[OUT], kind="integer")
    third = builder.add_variables("d", [], high=1, kind="integer")
    columns = [*first, *binary, *second, *out, *third]
    builder.add_rows("cap", relation="<=", columns=columns[:3], values=[1.0, 1.0, 1.0], rhs=7.0)
    sense = "maximize" if sign < 0 else "minimize"
    builder.set_objective("worth", sense, columns, [-sign * cost for cost in fill(costs)], constant=2.5)
    model = builder.build()
    goal = replace(
        model.objective, quadratic=tuple(QuadraticTerm(t.first, t.second, -sign * t.value) for t in quadratic)
    )
    return replace(model, features=features, objectives=(goal,))


def list_points(rule: Callable[[Point], bool], is_semi: bool = False) -> list[Point]:
    spans = [range(low, high + 1) for low, high in zip(LOW, HIGH, strict=True)]
    if is_semi:
        spans[Z] = [0, *spans[Z]]
    return [p for p in itertools.product(*spans) if p[X] + p[Y] + p[Z] <= 7 and rule(p)]


def best(points: list[Point], costs: list[float], sign: int, quadratic: tuple = ()) -> float:
    """Best objective of the points."""
    values = [
        sum(cost * value for cost, value in zip(fill(costs), p, strict=True))
        + sum(term.value * p[term.first] * p[term.second] for term in quadratic)
        for p in points
    ]
    return 2.5 - sign * max(values)


def run_all(sources: list[str]) -> list[float]:
    """Last word that each source prints."""
    ended = subprocess.run(
        [sys.executable, "-c", DRIVER], input=json.dumps(sources), capture_output=True, text=True, timeout=120
    )
    assert ended.returncode == 0, ended.stderr
    return [float(line) for line in ended.stdout.splitlines() if line.startswith(" ")]


# PuLP has none of these parts.
@pytest.mark.parametrize("form", [form for form in SOURCES if form != "pulp"])
def test_a_program_with_parts_finds_the_best_of_all_points(form: str) -> None:
    pytest.importorskip(PACKAGES[form])
    if form in ("gurobipy", "pyomo"):
        pytest.importorskip("gurobipy")
    cases = [
        (features, rule, costs, sign, ())
        for _, features, rule, costs in PARTS
        for sign in (-1, 1)
        if used_features(build(features, costs, sign)) <= ABLE[form]
    ]
    if "quadratic" in ABLE[form]:
        cases += [(ModelFeatures(), lambda p: True, [3, -1, 1, 0, 0, 0], sign, QUADRATIC) for sign in (-1, 1)]
    assert cases
    sources = [write_source(build(features, costs, sign, terms), form) for features, _, costs, sign, terms in cases]
    truths = [
        best(list_points(rule, bool(features.semi_continuous)), costs, sign, terms)
        for features, rule, costs, sign, terms in cases
    ]
    assert run_all(sources) == pytest.approx(truths, abs=1e-5)


@pytest.mark.parametrize("sign", [-1, 1])
@pytest.mark.parametrize(("features", "rule", "costs"), [row[1:] for row in PARTS], ids=[row[0] for row in PARTS])
def test_a_part_binds_and_the_solver_finds_the_best_of_all_points(
    features: ModelFeatures, rule: Callable[[Point], bool], costs: list[float], sign: int
) -> None:
    if features.quadratic_rows:
        # SCIP.
        pytest.importorskip("ortools")
    truth = best(list_points(rule, bool(features.semi_continuous)), costs, sign)
    assert truth != pytest.approx(best(list_points(lambda p: True), costs, sign))
    assert ModelSession(build(features, costs, sign)).ask("solve").objective.value == pytest.approx(truth, abs=1e-5)


ORDERS: list[tuple[str, list[tuple[list[tuple[int, float]], float]]]] = [
    ("worth then waste", [([(0, 1.0)], 0.0), ([(1, 1.0)], 0.0)]),
    ("waste then worth", [([(1, 1.0)], 0.0), ([(0, 1.0)], 0.0)]),
    ("worth within 2 then waste", [([(0, 1.0)], 2.0), ([(1, 1.0)], 0.0)]),
    ("waste within 3 then worth then size", [([(1, 1.0)], 3.0), ([(0, 1.0)], 0.0), ([(2, 1.0)], 0.0)]),
    ("worth + 2 * waste", [([(0, 1.0), (1, 2.0)], 0.0)]),
    ("size then worth + 3 * waste", [([(2, 1.0)], 0.0), ([(0, 1.0), (1, 3.0)], 0.0)]),
]
# Costs, sense and constant of each aim.
AIMS = [([3, 2, 1, 0, 0, 0], -1, 2.5), ([2, 2, 3, 1, 0, 0], 1, -1.0), ([1, -1, 1, 0, 1, 1], -1, 0.5)]


def test_aims_in_order_have_their_optima_in_the_written_program() -> None:
    pytest.importorskip("gurobipy")
    sources, truths = [], []
    for line, stages in ORDERS:
        session = ModelSession(build(ModelFeatures(), [3, 2, 1, 0, 0, 0], -1))
        session.ask("objective waste: minimize 2 * x[p] + 2 * x[q] + 3 * x[r] + b - 1")
        session.ask("objective size: maximize x[p] - x[q] + x[r] + c + out + 0.5")
        session.ask(f"objective {line}")
        # The last words are the values of the aims, one program for each.
        source = write_source(session.model, "gurobipy")
        points = list_points(lambda p: True)
        values = {
            at: np.array([np.dot(fill(costs), p) + constant for p in points])
            for at, (costs, _, constant) in enumerate(AIMS)
        }
        chosen = np.ones(len(points), dtype=bool)
        for parts, allowance in stages:
            worth = sum(AIMS[at][1] * weight * values[at] for at, weight in parts)
            chosen &= worth <= worth[chosen].min() + allowance + 1e-9
        for at, (costs, _, constant) in enumerate(AIMS):
            members = {part for stage, _ in stages for part, _ in stage}
            if at in members and len(stages[-1][0]) == 1:
                terms = " + ".join(f"{cost} * m.getVars()[{column}].X" for column, cost in enumerate(costs))
                sources.append(f"{source}\nprint({terms} + {constant})\n")
                truths.append(set(values[at][chosen].round(9)))
    results = run_all(sources)
    for result, truth in zip(results, truths, strict=True):
        assert any(result == pytest.approx(value, abs=1e-5) for value in truth), (result, truth)
        assert len(truth) < 4

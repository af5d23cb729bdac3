"""Sources that are written, run with their own library: signs of data, constants, directions, integer bounds."""

import itertools
import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
import scipy.optimize

from oragent.modelling.convert import SOURCES, write_source
from oragent.modelling.data.builder import IndexedModelBuilder
from oragent.modelling.data.features import Indicator, ModelFeatures
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.model_values import Relation
from tests.modelling.shops import Shop
from tests.modelling.test_convert import PACKAGES

PRICE, USE, TOP = [3.0, 5.0, 4.0], [2.0, 3.0, 1.0], [2.5, 3.0, 1.0]
LIMIT, BONUS, CONSTANT = 8.5, 6.25, 12.5
# Sources run one after another in a process of the library, which prints the last word of each.
DRIVER = """
import contextlib, io, json, sys
for source in json.load(sys.stdin):
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        exec(compile(source, "source", "exec"), {"__name__": "__main__"})
    print("\\n", float(text.getvalue().split()[-1]))
"""


@dataclass(frozen=True)
class Case:
    """Factors of data cells in the objective, in the row and of the single variable, and directions that make them bind."""

    sense: str
    cost: float
    use: float
    relation: str
    rhs: float
    bonus: float
    indicator: bool = False


CASES = [
    # The row limits what the objective wants; without its minus it would not.
    Case("maximize", 1.0, -1.0, ">=", -LIMIT, 1.0),
    Case("maximize", 1.0, 1.0, "<=", LIMIT, 1.0),
    Case("minimize", -1.0, -2.0, ">=", -2 * LIMIT, -1.0),
    # The row asks for what the objective does not want.
    Case("minimize", 1.0, -1.0, "<=", -LIMIT, 1.0),
    Case("maximize", -1.0, 0.5, ">=", 0.5 * LIMIT, -2.0),
    Case("minimize", 3.0, 1.0, "=", 7.0, -1.0),
    Case("maximize", 1.0, -1.0, ">=", -LIMIT, 1.0, indicator=True),
    Case("minimize", 1.0, -1.0, "<=", -LIMIT, -1.0, indicator=True),
]


def build(case: Case) -> IndexedModel:
    """Whole numbers of three products, whose price and use are data, and a binary with a scalar bonus."""
    builder = IndexedModelBuilder("signs")
    builder.add_set("product", ["a", "b", "c"])
    for name, values in (("price", PRICE), ("use", USE), ("top", TOP)):
        builder.add_parameter(name, ["product"], values)
    builder.add_parameter("bonus", [], [BONUS])
    x = builder.add_variables("x", ["product"], high=builder.cells("top"), kind="integer")
    y = builder.add_variables("y", high=1, kind="integer")

    def times(name: str, factor: float):
        cells = builder.cells(name)
        return replace(cells, factors=factor * cells.factors)

    builder.add_rows("row", relation=case.relation, columns=x, values=times("use", case.use), rhs=case.rhs)
    if not case.indicator:
        builder.add_rows("switch", relation="<=", columns=[*x, *y], values=[1.0, 1.0, 1.0, 3.0], rhs=6.0)
    builder.set_objective("total", case.sense, x, times("price", case.cost), constant=CONSTANT)
    builder.set_objective("total", case.sense, y, times("bonus", case.bonus))
    model = builder.build()
    if not case.indicator:
        return model
    indicator = Indicator("switch", int(y[0]), True, {int(column): 1.0 for column in x}, Relation.AT_MOST, 3.0)
    return replace(model, features=ModelFeatures(indicators=(indicator,)))


def enumerate_best(case: Case) -> float:
    """Best value over all points."""
    holds: dict[str, Callable[[float, float], bool]] = {
        "<=": lambda left, right: left <= right,
        ">=": lambda left, right: left >= right,
        "=": lambda left, right: left == right,
    }
    values = []
    for x in itertools.product(*(range(int(top) + 1) for top in TOP)):
        for y in (0, 1):
            is_switched = not y or sum(x) <= 3 if case.indicator else sum(x) + 3 * y <= 6
            if is_switched and holds[case.relation](case.use * float(np.dot(USE, x)), case.rhs):
                values.append(CONSTANT + case.cost * float(np.dot(PRICE, x)) + case.bonus * BONUS * y)
    return max(values) if case.sense == "maximize" else min(values)


def can_write(case: Case, form: str) -> bool:
    return form == "gurobipy" or not case.indicator


def drawn_shop(seed: int) -> Shop:
    """A shop with small whole figures, half of them 1 or -1, and a point."""
    random = np.random.default_rng(seed)
    high = np.array([2.5, 3.0, 2.0, 1.0, 1.0])
    matrix = random.choice([-2.0, -1.0, -1.0, 0.0, 1.0, 1.0, 2.5], (4, 5))
    relations = np.array([-1, -1, 1, 0])
    return Shop(
        sign=int(random.choice([-1, 1])),
        cost=random.choice([-3.0, -1.0, -1.0, 1.0, 1.0, 2.0], 5),
        low=np.zeros(5),
        high=high,
        matrix=matrix,
        relations=relations,
        rhs=matrix @ np.floor(random.uniform(0, high + 1)).clip(0, high) - 0.5 * np.abs(relations) * relations,
        integer=np.array([False, False, True, True, True]),
        constant=float(random.choice([-2.5, 0.0, 4.0])),
        waste=np.ones(5),
    )


SHOPS = [drawn_shop(seed) for seed in range(8)]
# Signs of many variables without index sets, whose sums take several lines.
SIGNS = np.array([1.0, -1.0, -1.0, 2.0, -2.0, -1.0, 1.0, -3.0, -1.0, 1.0])


def build_line(sense: str) -> IndexedModel:
    """Ten variables from -1 to 2, whose signed sum is at least -4, and whose costs are the signs in reverse."""
    builder = IndexedModelBuilder("line")
    columns = [int(builder.add_variables(f"quantity_of_article_{at}", low=-1, high=2)[0]) for at in range(len(SIGNS))]
    builder.add_rows("row", relation=">=", columns=columns, values=SIGNS, rhs=-4.0)
    builder.set_objective("total", sense, columns, SIGNS[::-1], constant=-1.0)
    return builder.build()


def best_of_line(sense: str) -> float:
    """The same by SciPy."""
    sign = 1 if sense == "minimize" else -1
    result = scipy.optimize.linprog(sign * SIGNS[::-1], -SIGNS[None, :], [4.0], bounds=[(-1, 2)] * len(SIGNS))
    return sign * float(result.fun) - 1.0


@pytest.mark.parametrize("form", SOURCES)
def test_a_written_source_has_the_best_value_of_all_points(form: str, tmp_path: Path) -> None:
    pytest.importorskip(PACKAGES[form])
    truths = [(build(case), enumerate_best(case)) for case in CASES if can_write(case, form)]
    truths += [(shop.model().with_first_stage(), shop.optimum()) for shop in SHOPS]
    truths += [(build_line(sense), best_of_line(sense)) for sense in ("minimize", "maximize")]
    sources = json.dumps([write_source(model, form) for model, _ in truths])
    ended = subprocess.run(
        [sys.executable, "-c", DRIVER], cwd=tmp_path, input=sources, capture_output=True, text=True, timeout=120
    )
    assert ended.returncode == 0, ended.stderr
    lines = [line.split() for line in ended.stdout.splitlines() if line.startswith(" ")]
    values = [float(line[0]) for line in lines if len(line) == 1]
    assert values == pytest.approx([truth for _, truth in truths])


def test_without_the_sign_of_one_figure_the_best_value_is_another() -> None:
    for case in CASES:
        changed = [replace(case, cost=-case.cost), replace(case, bonus=-case.bonus)]
        assert all(enumerate_best(other) != enumerate_best(case) for other in changed)


def with_offsets(sign: float) -> IndexedModel:
    """Rows, bounds, coefficients and costs that are data plus numbers, and data that no figure uses."""
    builder = IndexedModelBuilder("offsets")
    builder.add_set("product", ["a", "b", "c"])
    for name, values in (("price", PRICE), ("use", USE), ("top", TOP), ("demand", [1.0, 0.5, 2.0]), ("dead", USE)):
        builder.add_parameter(name, ["product"], values)
    x = builder.add_variables("x", ["product"], high=builder.cells("top"))
    rows = np.arange(3)
    builder.add_rows("need", ["product"], ">=", rows=rows, columns=x, values=np.ones(3), rhs=builder.cells("demand"))
    builder.add_rows("room", relation="<=", columns=x, values=builder.cells("use"), rhs=12.0)
    builder.set_objective("total", "minimize" if sign > 0 else "maximize", x, builder.cells("price"))
    model = builder.build()

    def plus(vector, offset):
        return replace(vector, base=vector.base + offset)

    goal = replace(model.objective, cost=plus(model.objective.cost, np.array([0.25, -0.5, 0.25])))
    return replace(
        model,
        rhs=plus(model.rhs, np.array([-0.25, 0.75, -1.5, 0.0])),
        high=plus(model.high, 1.5),
        entries=plus(model.entries, np.array([0, 0, 0, 0.5, 0.5, -0.5])),
        objectives=(goal,),
    )


@pytest.mark.parametrize("form", SOURCES)
def test_data_plus_numbers_stay_data_and_tables_without_use_are_left_out(form: str) -> None:
    pytest.importorskip(PACKAGES[form])
    sources = [write_source(with_offsets(sign), form) for sign in (1, -1)]
    for source in sources:
        assert "dead" not in source
        for name in ("demand", "top", "use", "price"):
            assert source.count(name) >= 2
    truths = []
    for sign in (1, -1):
        result = scipy.optimize.linprog(
            sign * np.array([3.25, 4.5, 4.25]),
            A_ub=[[2.5, 3.5, 0.5]],
            b_ub=[12.0],
            bounds=[(0.75, 4.0), (1.25, 4.5), (0.5, 2.5)],
        )
        truths.append(sign * result.fun)
    ended = subprocess.run(
        [sys.executable, "-c", DRIVER], input=json.dumps(sources), capture_output=True, text=True, timeout=120
    )
    assert ended.returncode == 0, ended.stderr
    values = [float(line) for line in ended.stdout.splitlines() if line.startswith(" ")]
    assert values == pytest.approx(truths)

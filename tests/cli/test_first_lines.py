"""Verdict, figure, direction and exit code of first lines, against truths that are computed without oragent's solvers."""

import itertools
import json
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint, milp
from typer.testing import CliRunner

from oragent.cli.app import app
from oragent.modelling.data.builder import IndexedModelBuilder
from oragent.modelling.files.model_files import write

INF = float("inf")
NUMBER = r"-?[\d,]*\.?\d+(?:e[-+]?\d+)?"


@dataclass(frozen=True)
class Case:
    """A linear model ``low <= rows x <= high`` with a constant in its objective, and how it ends."""

    name: str
    sense: str
    cost: tuple[float, ...]
    constant: float
    rows: tuple[tuple[tuple[float, ...], str, float], ...]
    upper: tuple[float, ...]
    integer: bool
    status: str

    def write(self) -> str:
        """The model in the LP format."""

        def terms(values: tuple[float, ...]) -> str:
            return " ".join(f"{'-' if value < 0 else '+'} {abs(value)} x{at}" for at, value in enumerate(values))

        sign = "-" if self.constant < 0 else "+"
        lines = [f"{self.sense}", f" profit: {terms(self.cost)} {sign} {abs(self.constant)}", "subject to"]
        lines += [f" r{at}: {terms(values)} {sign} {rhs}" for at, (values, sign, rhs) in enumerate(self.rows)]
        lines += ["bounds", *(f" x{at} <= {high}" for at, high in enumerate(self.upper) if high < INF)]
        lines += ["general", " " + " ".join(f"x{at}" for at in range(len(self.cost)))] if self.integer else []
        return "\n".join([*lines, "end", ""])

    def solve(self) -> float | None:
        """The best value by SciPy, or None without one."""
        sign = -1.0 if self.sense == "maximize" else 1.0
        sides = {"<=": lambda rhs: (-INF, rhs), ">=": lambda rhs: (rhs, INF), "=": lambda rhs: (rhs, rhs)}
        constraints = [LinearConstraint(np.array(values), *sides[kind](rhs)) for values, kind, rhs in self.rows]
        kinds = np.ones(len(self.cost)) if self.integer else None
        result = milp(
            sign * np.array(self.cost), integrality=kinds, bounds=Bounds(0, self.upper), constraints=constraints
        )
        return None if result.x is None else sign * float(result.fun) + self.constant


ROW = (2.0, 3.0)
CASES = [
    Case("largest", "maximize", (3.0, 5.0), 12.5, ((ROW, "<=", 8.5),), (2.5, 3.0), True, "optimal"),
    Case("smallest", "minimize", (3.0, 5.0), 12.5, ((ROW, ">=", 8.5),), (2.5, 3.0), True, "optimal"),
    Case("largest is negative", "maximize", (-3.0, -5.0), 1.5, ((ROW, ">=", 8.5),), (2.5, 3.0), False, "optimal"),
    Case("smallest is negative", "minimize", (-3.0, 5.0), -0.5, ((ROW, "=", 6.0),), (2.5, 3.0), False, "optimal"),
    Case("zero", "maximize", (1.0, 1.0), -4.0, ((ROW, "<=", 8.0),), (4.0, 0.0), False, "optimal"),
    Case("contradictory", "maximize", (3.0, 5.0), 12.5, ((ROW, ">=", 80.0),), (2.5, 3.0), True, "infeasible"),
    Case("between integers", "minimize", (1.0, 1.0), 0.0, (((2.0, 2.0), "=", 5.0),), (9.0, 9.0), True, "infeasible"),
    Case("endless above", "maximize", (3.0, 5.0), 0.0, (((2.0, -3.0), "<=", 8.5),), (INF, INF), False, "unbounded"),
    Case("endless below", "minimize", (-3.0, 0.0), 2.0, (((2.0, -3.0), "<=", 8.5),), (INF, INF), False, "unbounded"),
]


def invoke(*words: str) -> tuple[int, list[str]]:
    """Exit code and lines of a command."""
    result = CliRunner().invoke(app, list(words), env={"COLUMNS": "120"})
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.stdout.splitlines()


def figure_of(lines: list[str], name: str) -> float | None:
    """The number of the first line that begins with a name."""
    for line in lines:
        if match := re.match(rf"\s*{name}:?\s+({NUMBER})", line):
            return float(match[1].replace(",", ""))
    return None


def interval_of(lines: list[str]) -> tuple[float, float]:
    """The interval in which the best value lies, as lines of ``solve`` or of ``model`` say."""
    for line in lines:
        if match := re.match(rf"\s*objective: between ({NUMBER}) and ({NUMBER})", line):
            return float(match[1].replace(",", "")), float(match[2].replace(",", ""))
    low, high = sorted(value for name in ("objective", "bound") if (value := figure_of(lines, name)) is not None)
    return low, high


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_model_that_is_solved_to_the_end(case: Case, tmp_path: Path) -> None:
    truth = case.solve()
    assert (truth is None) is (case.status != "optimal")
    path = tmp_path / "model.lp"
    path.write_text(case.write())
    code, lines = invoke("solve", str(path))
    assert code == (0 if case.status == "optimal" else 3)
    assert lines[0].split() == ["status", case.status]
    if truth is None:
        assert figure_of(lines, "objective") is None
    else:
        assert figure_of(lines, "objective") == pytest.approx(truth)
        assert f"({case.sense} profit)" in lines[1]
    code, lines = invoke("model", str(path), "solve")
    assert code == (0 if case.status == "optimal" else 3)
    assert lines[0].rstrip(")").endswith(case.status)
    assert figure_of(lines, "objective") == (None if truth is None else pytest.approx(truth, rel=1e-5))


def knapsack(sense: str) -> Case:
    """Thirty binaries in five rows, which take more than one node."""
    rng = np.random.default_rng(3)
    weights, values = rng.integers(20, 99, (5, 30)), rng.integers(20, 99, 30)
    share, kind = (3, "<=") if sense == "maximize" else (2, ">=")
    rows = tuple((tuple(map(float, row)), kind, float(row.sum() // share)) for row in weights)
    return Case("knapsack", sense, tuple(map(float, values)), 7.0, rows, (1.0,) * 30, True, "feasible")


@pytest.mark.parametrize("sense", ["maximize", "minimize"])
@pytest.mark.parametrize("product", ["solve", "model"])
def test_within_a_gap_the_truth_lies_in_the_interval(sense: str, product: str, tmp_path: Path) -> None:
    case = knapsack(sense)
    truth = case.solve()
    path = tmp_path / "model.lp"
    path.write_text(case.write())
    code, lines = invoke(product, str(path), *(["solve"] if product == "model" else []), "--gap", "0.3")
    assert code == 0
    assert "optimal" not in lines[0]
    assert "feasible" in lines[0]
    low, high = interval_of(lines)
    assert low < high
    assert low - 1e-6 <= truth <= high + 1e-6
    # The point is the worse end: no solution is better than the bound.
    if product == "solve":
        assert figure_of(lines, "objective") == pytest.approx(low if sense == "maximize" else high)


@pytest.mark.parametrize("product", ["solve", "model"])
def test_out_of_time_there_is_no_figure_and_no_verdict(product: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    # Equalities of large numbers: no point within a few iterations.
    rows = tuple((tuple(map(float, rng.integers(1000, 9999, 40))), "=", 99_999.0) for _ in range(4))
    case = Case("equal", "minimize", (1.0,) * 40, 0.0, rows, (1.0,) * 40, True, "limit")
    path = tmp_path / "model.lp"
    path.write_text(case.write())
    words = ["solve"] if product == "model" else []
    code, lines = invoke(product, str(path), *words, "--nodes", "0", "--iterations", "1", "--time", "20")
    assert code == 3
    for verdict in ("optimal", "feasible", "infeasible", "unbounded"):
        assert verdict not in re.split(r"\W+", lines[0])
    assert figure_of(lines, "objective") is None


@pytest.mark.parametrize("order", ["profit then co2", "co2 then profit", "profit within 3 then co2"])
def test_several_aims_have_a_figure_each(order: str, tmp_path: Path) -> None:
    builder = IndexedModelBuilder("two")
    builder.add_set("site", "abc")
    columns = builder.add_variables("x", ["site"], high=5, kind="integer")
    builder.add_rows("most", relation="<=", columns=columns, rhs=7)
    builder.add_rows("least", relation=">=", columns=columns, rhs=4)
    builder.set_objective("profit", "maximize", columns, [5.0, 4.0, 3.0], unit="EUR")
    builder.set_objective("co2", "minimize", columns, [3.0, 1.0, 2.0], unit="kg")
    path = tmp_path / "model.json"
    write(builder.build(), path)
    points = [np.array(x) for x in itertools.product(range(6), repeat=3) if 4 <= sum(x) <= 7]
    profit, co2 = {tuple(x): float(x @ [5, 4, 3]) for x in points}, {tuple(x): float(x @ [3, 1, 2]) for x in points}
    most = max(profit.values())
    best = {
        "profit then co2": min(profit, key=lambda x: (-profit[x], co2[x])),
        "co2 then profit": min(profit, key=lambda x: (co2[x], -profit[x])),
        "profit within 3 then co2": min(
            (x for x in profit if profit[x] >= most - 3), key=lambda x: (co2[x], -profit[x])
        ),
    }[order]
    code, lines = invoke("model", str(path), f"objective {order}", "solve", "--json")
    assert code == 0
    solved = json.loads(lines[-1])["result"]["results"][-1]
    figures = {aim["name"]: (aim["value"]["value"], aim["value"]["unit"]) for aim in solved["objectives"]}
    assert solved["status"] == "optimal"
    assert figures == {"profit": (profit[best], "EUR"), "co2": (co2[best], "kg")}
    # The first figure is that of the plan, also where the most important objective gives up some of its optimum.
    first = order.split()[0]
    assert (solved["objective"]["value"], solved["objective"]["unit"]) == figures[first]

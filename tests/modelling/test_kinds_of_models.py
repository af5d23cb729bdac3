"""A quadratic portfolio, lot sizing with a gap and two objectives: solved, explained, exported and run again."""

import itertools
import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from oragent.cli.app import app

RETURNS, FLOOR = np.array([0.08, 0.12, 0.15, 0.05]), 0.1
RISK = np.array(
    [[0.04, 0.006, 0.01, 0.0], [0.006, 0.09, 0.02, 0.001], [0.01, 0.02, 0.16, 0.0], [0.0, 0.001, 0.0, 0.01]]
)
PERIODS, SETUP, HOLD, MOST = 8, 40.0, 1.5, 60
DEMAND = [20, 35, 10, 40, 5, 30, 25, 15]


def run(*words: str) -> str:
    ended = CliRunner().invoke(app, list(words))
    assert ended.exit_code == 0, (ended.output, ended.exception)
    return ended.output


def solved_again(model: Path, tmp_path: Path, *endings: str) -> list[float]:
    """The objective of the model, and of its conversions."""
    objectives = []
    for path in (model, *(tmp_path / f"again.{ending}" for ending in endings)):
        if path != model:
            run("convert", str(model), "--out", str(path))
        run("solve", str(path), "--out", str(tmp_path / "solution.json"))
        objectives.append(json.loads((tmp_path / "solution.json").read_text())["objective"])
    return objectives


def portfolio() -> str:
    pairs = " ".join(
        f"{'+' if 2 * RISK[i, j] >= 0 else '-'} {float(abs(2 * RISK[i, j]))!r} s{i} * s{j}"
        for i in range(4)
        for j in range(4)
    )
    expected = " + ".join(f"{RETURNS[i]} s{i}" for i in range(4))
    budget = " + ".join(f"s{i}" for i in range(4))
    return f"Minimize\n risk: [ {pairs} ] / 2\nSubject To\n budget: {budget} = 1\n floor: {expected} >= {FLOOR}\nEnd\n"


def least_risk() -> float:
    """The least risk by the conditions of Karush, Kuhn and Tucker over all sets of assets that are not zero."""
    best = np.inf
    for size in (1, 2, 3, 4):
        for chosen in map(list, itertools.combinations(range(4), size)):
            for rows in (np.ones((1, size)), np.vstack([np.ones(size), RETURNS[chosen]])):
                count = len(rows)
                system = np.block([[2 * RISK[np.ix_(chosen, chosen)], rows.T], [rows, np.zeros((count, count))]])
                sides = np.concatenate([np.zeros(size), [1.0, FLOOR][:count]])
                shares = np.linalg.lstsq(system, sides, rcond=None)[0][:size]
                is_allowed = (shares >= -1e-9).all() and abs(shares.sum() - 1) < 1e-9
                if is_allowed and RETURNS[chosen] @ shares >= FLOOR - 1e-9:
                    best = min(best, float(shares @ RISK[np.ix_(chosen, chosen)] @ shares))
    return best


@pytest.mark.slow
def test_a_quadratic_portfolio(tmp_path: Path) -> None:
    model = tmp_path / "portfolio.lp"
    model.write_text(portfolio(), encoding="utf-8")
    text = run("solve", str(model), "--explain")
    assert "optimal" in text
    assert solved_again(model, tmp_path, "json", "mps") == pytest.approx([least_risk()] * 3, rel=1e-5)


def lot_sizing() -> str:
    lines, binaries = [], []
    for t in range(PERIODS):
        before = f" + stock[{t - 1}]" if t else ""
        lines += [f" balance[{t}]: make[{t}]{before} - stock[{t}] = {DEMAND[t]}"]
        lines += [f" limit[{t}]: make[{t}] - {MOST} setup[{t}] <= 0"]
        binaries.append(f"setup[{t}]")
    cost = " + ".join(f"{SETUP} setup[{t}] + {HOLD} stock[{t}]" for t in range(PERIODS))
    rows = "\n".join(lines)
    return f"Minimize\n cost: {cost}\nSubject To\n{rows}\nBinaries\n {' '.join(binaries)}\nEnd\n"


def least_cost() -> float:
    """The least cost over all choices of periods with production, each filled as late as possible."""
    best = np.inf
    for setups in itertools.product((0, 1), repeat=PERIODS):
        needed, stocks = 0.0, []
        for t in reversed(range(PERIODS)):
            needed += DEMAND[t]
            needed -= min(needed, MOST * setups[t])
            stocks.append(needed)
        if needed == 0:
            best = min(best, SETUP * sum(setups) + HOLD * sum(stocks[:-1]))
    return best


@pytest.mark.slow
def test_lot_sizing_with_a_gap_of_one_percent(tmp_path: Path) -> None:
    model = tmp_path / "lots.lp"
    model.write_text(lot_sizing(), encoding="utf-8")
    best = least_cost()
    run("solve", str(model), "--gap", "0.01", "--explain", "--out", str(tmp_path / "plan.json"))
    plan = json.loads((tmp_path / "plan.json").read_text())
    assert plan["bound"] <= best + 1e-6
    assert best - 1e-6 <= plan["objective"] <= 1.01 * best + 1e-6
    assert solved_again(model, tmp_path, "json", "mps") == pytest.approx([best] * 3)


TWO = """Minimize multi-objectives
 cost: Priority=0 Weight=1 AbsTol=0 RelTol=0
  3 truck + 5 rail
 co2: Priority=1 Weight=1 AbsTol=0 RelTol=0.1
  8 truck + 2 rail
Subject To
 need: truck + rail >= 10
Bounds
 rail <= 7
End
"""


@pytest.mark.slow
def test_two_objectives(tmp_path: Path) -> None:
    model = tmp_path / "two.lp"
    model.write_text(TWO, encoding="utf-8")
    text = run("solve", str(model), "--explain")
    # CO2 is at least 8 * 3 + 2 * 7 = 38; ten percent more, 41.8, leave 3 + 3.8 / 6 by truck.
    truck = 3 + 3.8 / 6
    assert "co2" in text
    assert solved_again(model, tmp_path, "json", "mps") == pytest.approx([3 * truck + 5 * (10 - truck)] * 3)
    front = json.loads(run("model", str(model), "frontier cost co2 3", "--json"))
    assert front

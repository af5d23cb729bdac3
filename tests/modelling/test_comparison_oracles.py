"""Operations that compare or repair: sweeps, files of values, inverses, differences of models, conflicts, repairs.

Each answer on small drawn models is that of an enumeration or of SciPy.
"""

import json
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
import scipy.optimize
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from oragent._base.errors import ModellingError
from oragent.modelling.files.model_files import write
from oragent.modelling.operations import ModelSession, SolveLimits
from tests.modelling.enumeration import Plain
from tests.modelling.shops import (
    BATCH,
    COLUMNS,
    MAKE,
    NEED,
    ROOM,
    ROWS,
    SENSES,
    TIE,
    Shop,
    array,
    bounds,
    close,
    fixed_shop,
    plus,
    shops,
)

INF = np.inf
# Stands for no bound in SciPy, so that its search for whole numbers ends.
FAR = 1000.0

# Target of a sweep, and the same change of the numbers.
SWEPT: list[tuple[str, Callable[[Plain, float], Plain]]] = [
    ("room[p]", lambda shop, figure: shop.changed("rhs", 0, figure)),
    ("need", lambda shop, figure: shop.changed("rhs", NEED, figure)),
    ("tie", lambda shop, figure: shop.changed("rhs", TIE, figure)),
    ("stock", lambda shop, figure: shop.changed("rhs", ROOM, figure)),
    ("margin[b]", lambda shop, figure: shop.changed("cost", 1, figure)),
    ("profit(batch)", lambda shop, figure: shop.changed("cost", BATCH, figure)),
    ("need(make)", lambda shop, figure: shop.changed("matrix", (2, MAKE), figure)),
    ("batch", lambda shop, figure: bounds(BATCH, figure, figure)(shop)),
]


@settings(max_examples=10)
@given(shops(), st.sampled_from(SWEPT), st.sampled_from(["", "need -= 1", "batch <= 1"]))
def test_a_sweep_has_the_optimum_of_each_figure(shop: Shop, swept: tuple, before: str) -> None:
    target, change = swept
    session = shop.session()
    present: Plain = shop
    if before:
        session.ask(before)
        present = {"need -= 1": array("rhs", NEED, plus(-1)), "batch <= 1": bounds(BATCH, None, 1)}[before](shop)
    base = present.optimum()
    figures = [0.0, 1.0, 2.0, 3.0] if target == "batch" else [-2.0, 0.0, 1.0, 3.0]
    result = session.ask(f"sweep {target} = {', '.join(map(str, figures))}")
    assert [point.figure for point in result.points] == figures
    for point in result.points:
        after = change(present, point.figure)
        truth = after.optimum()
        assert point.status == after.status()
        assert close(point.objective.value, truth)
        assert close(point.difference.value, None if truth is None or base is None else truth - base)
    assert close(session.ask("solve").objective.value, base)


# Values of a point, each a fraction of the way from below the lower bound to above the upper one.
points = st.lists(st.sampled_from([-1.0, 0.0, 0.5, 1.0, 2.0, 5.0]), min_size=5, max_size=5)


def violations(shop: Plain, point: np.ndarray) -> dict[tuple[str, str, str], tuple[float, float]]:
    """The value and the limit of each part that a point violates, by part, name and relation."""
    broken: dict[tuple[str, str, str], tuple[float, float]] = {}
    for name, line, relation, rhs in zip(shop.rows, shop.matrix, shop.relations, shop.rhs, strict=False):
        excess = float(line @ point - rhs)
        if excess * -relation > 0 or (relation == 0 and excess):
            broken["row", name, {-1: "<=", 0: "=", 1: ">="}[int(relation)]] = (float(line @ point), float(rhs))
    for name, value, low, high, whole in zip(shop.columns, point, shop.low, shop.high, shop.integer, strict=True):
        if value < low:
            broken["bound", name, ">="] = (value, low)
        if value > high:
            broken["bound", name, "<="] = (value, high)
        if whole and value != np.floor(value):
            broken["integrality", name, "="] = (value, float(round(value)))
    return broken


def write_values(folder: Path, ending: str, point: np.ndarray, objective: float) -> Path:
    """Write a point as a file of one kind. JSON also states an objective."""
    path = folder / f"point.{ending}"
    values = dict(zip(COLUMNS, point.tolist(), strict=True))
    if ending == "json":
        path.write_text(json.dumps({"values": values, "objective": objective}))
    elif ending == "csv":
        path.write_text("variable,value\n" + "".join(f'"{name}",{value}\n' for name, value in values.items()))
    else:
        path.write_text("".join(f"{name} {value}\n" for name, value in values.items()))
    return path


@settings(max_examples=25)
@given(shops(), points, st.sampled_from(["json", "csv", "sol"]), st.sampled_from([0.0, 1e-9, 0.01, -1.0]))
def test_verified_values_have_the_objective_and_the_violations_of_the_numbers(
    shop: Shop, values: list[float], ending: str, error: float
) -> None:
    point = np.array(values)
    with tempfile.TemporaryDirectory() as folder:
        path = write_values(Path(folder), ending, point, shop.worth(point) + error)
        session = shop.session()
        result = session.ask(f'verify "{path}"')
    broken = violations(shop, point)
    assert {(entry.part, entry.name, entry.relation): (entry.value, entry.limit) for entry in result.breaches} == broken
    assert result.feasible == (not broken)
    assert result.objective.value == pytest.approx(shop.worth(point))
    assert result.difference.value == pytest.approx(shop.worth(point) - shop.optimum(), abs=2e-5)
    assert result.claim_holds == (None if ending != "json" else abs(error) < 1e-6)
    if ending == "json":
        assert result.claimed.value == shop.worth(point) + error
    assert {entry.name: entry.value.value for entry in result.objectives} == {
        "profit": pytest.approx(shop.worth(point)),
        "waste": pytest.approx(shop.waste @ point),
    }


@settings(max_examples=10)
@given(shops(), st.integers(0, 10**6))
def test_the_optimum_is_verified_as_one_and_helps_no_bound(shop: Shop, pick: int) -> None:
    optima = shop.optima()
    point = optima[pick % len(optima)]
    with tempfile.TemporaryDirectory() as folder:
        path = write_values(Path(folder), "json", point, shop.worth(point))
        result = shop.session().ask(f'verify "{path}"')
    assert result.feasible
    assert result.claim_holds
    assert result.difference.value == pytest.approx(0, abs=2e-5)


# Two models with the same optima for all costs and data, and changes after which a model has others.
SAME = [
    "row spare: sum make + batch <= 100",
    "row spare: sum make + batch >= -1",
    "upper(open) = 1",
    "row copy: sum open <= 2",
]
OTHER: list[tuple[str, Callable[[Plain], Plain]]] = [
    ("drop tie", lambda shop: shop.without_rows(TIE)),
    ("need += 1", array("rhs", NEED, plus(1))),
    ("need -= 1", array("rhs", NEED, plus(-1))),
    ("upper(make) -= 1", array("high", MAKE, plus(-1))),
    ("upper(make) += 1", array("high", MAKE, plus(1))),
    ("profit(batch) += 1", array("cost", BATCH, plus(1))),
    ("profit(batch) -= 1", array("cost", BATCH, plus(-1))),
    ("row few: sum make + batch <= 1", lambda shop: shop.with_row([1, 1, 1, 0, 0], -1, 1)),
]


def change_to_file(shop: Shop, line: str, folder: str) -> Path:
    """Write the model after a change."""
    other = shop.session()
    other.ask(line)
    path = Path(folder) / "other.json"
    write(other.model, path)
    return path


@settings(max_examples=10)
@given(shops(), st.sampled_from(SAME))
def test_a_model_with_rows_that_cut_off_nothing_has_the_same_optima(shop: Shop, line: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = change_to_file(shop, line, folder)
        result = shop.session().ask(f'verify "{path}" 3')
    assert result.same_optima == "yes"
    assert result.same_structure == line.startswith("upper")
    assert [trial.agree for trial in result.trials] == ["yes"] * len(result.trials)
    # The goods' margins are data, so that costs or data can be perturbed if one of them is not zero.
    assert len(result.trials) == 4
    assert close(result.trials[0].optimum.value, shop.optimum())


@settings(max_examples=20)
@given(shops(), st.sampled_from(OTHER))
def test_a_model_with_another_optimum_is_not_the_same(shop: Shop, changed: tuple) -> None:
    line, change = changed
    after = change(shop)
    assume((after.low <= after.high).all())
    truth = after.optimum()
    with tempfile.TemporaryDirectory() as folder:
        path = change_to_file(shop, line, folder)
        result = shop.session().ask(f'verify "{path}" 0')
    (trial,) = result.trials
    assert result.warnings == ()
    is_same = truth is not None and abs(truth - shop.optimum()) < 1e-6
    assert result.same_structure is False
    assert (trial.status, trial.other_status) == ("optimal", after.status())
    assert close(trial.optimum.value, shop.optimum())
    assert close(trial.other_optimum.value, truth)
    assert result.same_optima == trial.agree == ("yes" if is_same else "no")


def least_change(shop: Plain, target: np.ndarray) -> float:
    """The least total change of costs after which no point is better than a target, by a linear programme."""
    steps = shop.sign * (shop.points() - target)
    result = scipy.optimize.linprog(
        np.ones(2 * len(shop.cost)),
        A_ub=-np.hstack([steps, -steps]),
        b_ub=steps @ shop.cost,
        bounds=[(0, None)] * (2 * len(shop.cost)),
    )
    return float(result.fun)


@settings(max_examples=20)
@given(shops(), st.integers(0, 10**6), st.sampled_from(["", "objective waste", "objective waste then profit"]))
def test_the_inverse_is_the_least_change_of_costs_that_makes_a_point_optimal(shop: Shop, pick: int, goal: str) -> None:
    every = shop.points()
    point = every[pick % len(every)]
    present = shop.best_with(shop.waste, 1) if goal else shop
    session = shop.session()
    if goal:
        session.ask(goal)
    with tempfile.TemporaryDirectory() as folder:
        path = write_values(Path(folder), "json", point, 0.0)
        result = session.ask(f'inverse "{path}"')
    assert result.change.value == pytest.approx(least_change(present, point), abs=1e-5)
    costs = dict(zip(COLUMNS, present.cost.tolist(), strict=True))
    assert all(costs[name] == pytest.approx(before) for name, before, _ in result.coefficients)
    assert sum(abs(new - costs[name]) for name, _, new in result.coefficients) == pytest.approx(
        result.change.value, abs=1e-6
    )
    costs |= {name: new for name, _, new in result.coefficients}
    changed = present.best_with([costs[name] for name in COLUMNS], present.sign, present.constant)
    assert changed.worth(point) == pytest.approx(changed.optimum(), abs=1e-4)


@settings(max_examples=10)
@given(shops(), points)
def test_a_point_that_breaks_the_model_has_no_inverse(shop: Shop, values: list[float]) -> None:
    point = np.array(values)
    assume(violations(shop, point))
    with tempfile.TemporaryDirectory() as folder:
        path = write_values(Path(folder), "json", point, 0.0)
        with pytest.raises(ModellingError):
            shop.session().ask(f'inverse "{path}"')


Entries = dict[tuple[str, str, str], int]
# Line of a change, the entries it makes by kind, name and change with their members, and the change of the numbers.
DIFFERENCES: list[tuple[str, Entries, Callable[[Plain], Plain]]] = [
    (
        "stock[p] += 1",
        {("data", "stock", "changed"): 1, ("right-hand sides", "room", "changed"): 1},
        array("rhs", 0, plus(1)),
    ),
    (
        "stock -= 1",
        {("data", "stock", "changed"): 2, ("right-hand sides", "room", "changed"): 2},
        array("rhs", ROOM, plus(-1)),
    ),
    (
        "margin[a] += 1",
        {("data", "margin", "changed"): 1, ("costs", "make", "changed"): 1},
        array("cost", 0, plus(1)),
    ),
    ("need += 2", {("right-hand sides", "need", "changed"): 1}, array("rhs", NEED, plus(2))),
    ("tie -= 1", {("right-hand sides", "tie", "changed"): 1}, array("rhs", TIE, plus(-1))),
    ("upper(make) += 1", {("upper bounds", "make", "changed"): 2}, array("high", MAKE, plus(1))),
    ("lower(make[b]) -= 1", {("lower bounds", "make", "changed"): 1}, array("low", 1, plus(-1))),
    ("profit(batch) -= 1", {("costs", "batch", "changed"): 1}, array("cost", BATCH, plus(-1))),
    ("profit(open[b]) += 3", {("costs", "open", "changed"): 1}, array("cost", 4, plus(3))),
    ("need(batch) += 1", {("coefficients", "need", "changed"): 1}, array("matrix", (2, 2), plus(1))),
    ("room(make[a]) -= 5", {("coefficients", "room", "changed"): 2}, array("matrix", (ROOM, 0), plus(-5))),
    ("drop room[q]", {("rows", "room", "removed"): 1}, lambda shop: shop.without_rows([1])),
    ("drop tie", {("rows", "tie", "removed"): 1}, lambda shop: shop.without_rows(TIE)),
    (
        "row few: sum make by good <= 1",
        {("rows", "few", "added"): 2},
        lambda shop: shop.with_row([1, 0, 0, 0, 0], -1, 1).with_row([0, 1, 0, 0, 0], -1, 1),
    ),
]
WITH_EFFECT = ("data", "right-hand sides", "upper bounds", "lower bounds", "costs")


@settings(max_examples=15)
@given(shops(), st.lists(st.sampled_from(DIFFERENCES), min_size=1, max_size=3, unique_by=lambda entry: entry[0]))
def test_a_difference_of_models_has_its_members_and_its_effect_alone(shop: Shop, drawn: list) -> None:
    families = [name for _, entries, _ in drawn for (_, name, _) in entries]
    assume(len(set(families)) == len(families))
    other, after = shop.session(), shop
    for line, _, change in sorted(drawn, key=lambda entry: entry[0].startswith(("drop", "row "))):
        other.ask(line)
        if not line.startswith("drop"):
            after = change(after)
    dropped = [line.removeprefix("drop ") for line, _, _ in drawn if line.startswith("drop")]
    after = after.without_rows([ROWS.index(name) for name in dropped])
    assume((after.low <= after.high).all())
    with tempfile.TemporaryDirectory() as folder:
        write(other.model, Path(folder) / "other.json")
        result = shop.session().ask(f'diff "{folder}/other.json"')
    base, truth = shop.optimum(), after.optimum()
    assert close(result.objective.before.value, base)
    assert close(result.objective.after.value, truth)
    assert close(result.objective.difference.value, None if truth is None else truth - base)
    found = {(entry.of, entry.name, entry.change): entry for entry in result.entries}
    expected = {key: (count, change) for _, entries, change in drawn for key, count in entries.items()}
    assert {key: entry.members for key, entry in found.items()} == {key: count for key, (count, _) in expected.items()}
    for key, (_, change) in expected.items():
        if key[0] in WITH_EFFECT:
            alone = change(shop).optimum()
            assert close(found[key].effect.value, None if alone is None else alone - base)
        else:
            assert found[key].effect is None


def test_the_largest_differences_come_first_with_the_figures_of_both_models(tmp_path: Path) -> None:
    shop = fixed_shop(1)
    other = shop.session()
    other.run(["stock[p] += 1", "stock[q] -= 3", "margin[a] += 2", "need(make[b]) += 4", "need(batch) -= 1"])
    write(other.model, tmp_path / "other.json")
    stock = shop.rhs[ROOM]
    result = shop.session().ask(f'diff "{tmp_path}/other.json"')
    pairs = {(entry.of, entry.name): entry.largest for entry in result.entries}
    assert pairs["data", "stock"] == (("stock[q]", stock[1], stock[1] - 3), ("stock[p]", stock[0], stock[0] + 1))
    assert pairs["data", "margin"] == (("margin[a]", shop.cost[0], shop.cost[0] + 2),)
    line = shop.matrix[2]
    assert pairs["coefficients", "need"] == (
        ("need, make[b]", line[1], line[1] + 4),
        ("need, batch", line[2], line[2] - 1),
    )


@dataclass(frozen=True)
class Contradiction:
    """A shop, a line after which it has no point, and the numbers with that row."""

    shop: Shop
    line: str
    numbers: Plain

    def session(self) -> ModelSession:
        """A session with the row."""
        session = self.shop.session()
        session.ask(self.line)
        return session


@st.composite
def contradictions(draw: st.DrawFn) -> Contradiction:
    """A shop that is asked for more than the most, or less than the least, of an expression."""
    shop = draw(shops())
    factors = [draw(st.integers(-1, 2)) for _ in range(3)]
    terms = [factors[0], *factors[:2], factors[2], factors[2]]
    sign = draw(st.sampled_from([-1, 1]))
    best = shop.best_with(terms, sign).optimum()
    assume(any(factors))
    limit, relation = (np.floor(best) - 1, "<=") if sign > 0 else (np.ceil(best) + 1, ">=")
    sums = f"{factors[0]} * sum make + {factors[1]} * batch + {factors[2]} * sum open"
    numbers = replace(shop.with_row(terms, -sign, limit), rows=(*ROWS, "deal"))
    return Contradiction(shop, f"row deal: {sums} {relation} {limit:g}", numbers)


def is_feasible(shop: Plain, rows: set[str], lows: set[str], highs: set[str]) -> bool:
    """Whether some rows and bounds have a point, by SciPy."""
    stays = [place for place, name in enumerate(shop.rows[: len(shop.rhs)]) if name in rows]
    low = np.array([low if name in lows else -FAR for name, low in zip(shop.columns, shop.low, strict=True)])
    high = np.array([high if name in highs else FAR for name, high in zip(shop.columns, shop.high, strict=True)])
    relations, rhs = shop.relations[stays], shop.rhs[stays]
    limits = np.where(relations == -1, -INF, rhs), np.where(relations == 1, INF, rhs)
    result = scipy.optimize.milp(
        np.zeros(len(shop.cost)),
        integrality=shop.integer.astype(int),
        bounds=scipy.optimize.Bounds(low, high),
        constraints=[scipy.optimize.LinearConstraint(shop.matrix[stays], *limits)] if stays else [],
        # The presolve of the HiGHS in SciPy 1.17 calls some feasible models infeasible.
        options={"presolve": False},
    )
    assert result.status in (0, 2)
    return result.status == 0


@settings(max_examples=15)
@given(contradictions())
def test_a_conflict_has_no_point_and_without_any_of_its_parts_one(case: Contradiction) -> None:
    numbers = case.numbers
    assert not len(numbers.points())
    result = case.session().ask("conflict")
    parts = [(entry.part, name) for entry in result.families for name in entry.names]
    kinds = ("rows", "lower bounds", "upper bounds")
    chosen = {kind: {name for part, name in parts if part == kind} for kind in kinds}
    assert sum(map(len, chosen.values())) == len(parts) == sum(entry.members for entry in result.families)
    assert not is_feasible(numbers, *chosen.values())
    # Without bounds the search for whole numbers may have no end, and then the set says that it is not reduced.
    for kind, name in parts if result.irreducible else ():
        fewer = {**chosen, kind: chosen[kind] - {name}}
        assert is_feasible(numbers, *fewer.values())
    # The drawn rows have a point without the new one, so it is always a part, and comes first as the one change.
    assert (result.families[0].family, result.families[0].changed) == ("deal", True)
    assert [entry.changed for entry in result.families[1:]] == [False] * (len(result.families) - 1)
    sizes = {"make": 2, "batch": 1, "open": 2, "room": 2, "need": 1, "tie": 1, "deal": 1}
    assert all(entry.size == sizes[entry.family] for entry in result.families)
    if result.aggregate is not None:
        check_shortage(numbers, result.aggregate)


def check_shortage(shop: Plain, aggregate: object) -> None:
    """Compute the sum of the rows of a conflict again."""
    total, needed, possible = np.zeros(len(shop.cost)), 0.0, 0.0
    for name, factor in aggregate.multipliers:
        place = shop.rows.index(name)
        assert shop.relations[place] in (0, np.sign(factor))
        total += factor * shop.matrix[place]
        if factor > 0:
            needed += factor * shop.rhs[place]
        else:
            possible -= factor * shop.rhs[place]
    total[np.abs(total) < 1e-9] = 0
    possible += float(np.where(total > 0, total * shop.high, total * shop.low).sum())
    assert (aggregate.needed, aggregate.possible) == pytest.approx((needed, possible), abs=1e-6)
    assert aggregate.shortage == pytest.approx(needed - possible, abs=1e-6)
    assert aggregate.shortage > 0


def least_violation(shop: Plain, rows: set[str]) -> float | None:
    """The least total violation of some rows, if all others hold, by SciPy; None if they cannot."""
    count = len(shop.rhs)
    gives = np.array([name in rows for name in shop.rows[:count]])
    spans = [np.where(gives & (shop.relations != side), INF, 0.0) for side in (1, -1)]
    limits = np.where(shop.relations == -1, -INF, shop.rhs), np.where(shop.relations == 1, INF, shop.rhs)
    result = scipy.optimize.milp(
        np.concatenate([np.zeros(len(shop.cost)), np.ones(2 * count)]),
        integrality=np.concatenate([shop.integer.astype(int), np.zeros(2 * count)]),
        bounds=scipy.optimize.Bounds(
            np.concatenate([shop.low, np.zeros(2 * count)]), np.concatenate([shop.high, spans[0], spans[1]])
        ),
        constraints=scipy.optimize.LinearConstraint(np.hstack([shop.matrix, -np.eye(count), np.eye(count)]), *limits),
        options={"presolve": False},
    )
    return float(result.fun) if result.status == 0 else None


NAMED = [
    ("", {*ROWS, "deal"}),
    ("deal", {"deal"}),
    ("room need", {"room[p]", "room[q]", "need"}),
    ("stock tie", {"room[p]", "room[q]", "tie"}),
    ("room[q]", {"room[q]"}),
]


@settings(max_examples=15)
@given(contradictions(), st.sampled_from(NAMED))
def test_a_repair_is_the_least_change_of_the_named_rows_and_makes_the_model_feasible(
    case: Contradiction, named: tuple[str, set[str]]
) -> None:
    numbers, session = case.numbers, case.session()
    truth = least_violation(numbers, named[1])
    if truth is None:
        with pytest.raises(ModellingError):
            session.ask(f"repair {named[0]}")
        return
    result = session.ask(f"repair {named[0]}")
    assert result.proven
    assert result.total.value == pytest.approx(truth, abs=1e-5)
    assert {change.row for change in result.changes} <= named[1]
    rhs = dict(zip((*ROWS, "deal"), numbers.rhs.tolist(), strict=True))
    assert all(change.before == rhs[change.row] for change in result.changes)
    assert sum(abs(change.after - change.before) for change in result.changes) == pytest.approx(truth, abs=1e-5)
    session.run([change.line for change in result.changes])
    assert session.ask("solve").status == "optimal"


@pytest.mark.parametrize("sign", [1, -1])
def test_a_limit_on_nodes_leaves_intervals_that_contain_the_optimum(sign: int) -> None:
    shop = fixed_shop(sign)
    for limits in (SolveLimits(nodes=0), SolveLimits(gap=0.5), SolveLimits(gap=0.5, nodes=0)):
        session = ModelSession(shop.model(), limits)
        for line, change in (("need += 1", array("rhs", NEED, plus(1))), ("room[p] -= 1", array("rhs", 0, plus(-1)))):
            result = session.ask(f"whatif {line}")
            for figure, truth in (
                (result.objective.before, shop.optimum()),
                (result.objective.after, change(shop).optimum()),
            ):
                assert figure.low is None or figure.low <= truth + 1e-6
                assert figure.high is None or truth - 1e-6 <= figure.high
                assert figure.value is None or shop.sign * (figure.value - truth) >= -1e-6


def test_the_senses_are_those_of_the_numbers() -> None:
    assert {sign: fixed_shop(sign).session().ask("solve").objective.value for sign in SENSES} == pytest.approx(
        {sign: fixed_shop(sign).optimum() for sign in SENSES}
    )

"""Fields of results beside the optimum: units, labels, changed figures, moved values, binding rows, limits."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oragent._base.errors import ModellingError
from oragent.modelling.data.indexed import SourceCell
from oragent.modelling.data.model_values import Sense
from oragent.modelling.data.solution import SolveStatus
from oragent.modelling.files.model_files import write
from oragent.modelling.operations import ModelSession, SolveLimits, parse_line
from oragent.modelling.operations.command import read_scenarios, write_scenarios
from oragent.modelling.operations.explanation import explain
from oragent.modelling.operations.outcomes import (
    Outcome,
    OutcomePool,
    ScenarioModel,
    bounds_hold,
    close_gap,
    compare_optima,
    compare_outcomes,
    is_tighter,
)
from oragent.modelling.operations.results import Figure, ResultPart
from tests.modelling import indexed_models as models
from tests.modelling import truths
from tests.modelling.enumeration import Plain
from tests.modelling.shops import BATCH, COLUMNS, MAKE, OPEN, ROWS, Shop, fixed_shop, shops
from tests.modelling.test_operation_oracles import CHANGES

INF = np.inf
# Units of the figures of each line, by the name of their field.
UNITS: list[tuple[str, dict[str, set[str]]]] = [
    ("solve", {"objective": {"EUR"}, "total": {"t", ""}}),
    ("data stock", {"value": {"t"}}),
    ("data margin", {"value": {"EUR"}}),
    ("data make", {"low": {"t"}, "high": {"t"}, "coefficient": {"EUR"}}),
    ("data room", {"value": {""}}),
    ("value make", {"value": {"t"}, "coefficient": {"EUR"}, "contribution": {"EUR"}}),
    ("value room", {"value": {""}, "high": {""}, "slack": {""}}),
    ("slack need", {"value": {""}, "low": {""}, "slack": {""}}),
    ("total make by good", {"total": {"t"}, "contribution": {"EUR"}}),
    ("total stock", {"total": {"t"}}),
    ("top 1 make by value", {"value": {"t"}, "coefficient": {"EUR"}, "contribution": {"EUR"}}),
    ("price room", {"value": {""}, "price_up": {"EUR"}, "price_down": {"EUR"}}),
    ("price stock", {"value": {"t"}, "price_up": {"EUR"}, "price_down": {"EUR"}}),
    (
        "why make[a]",
        {"value": {"t", ""}, "low": {"t", ""}, "high": {"t"}, "coefficient": {"EUR"}, "difference": {"EUR"}},
    ),
    ("why room[p]", {"value": {""}, "high": {""}, "price_up": {"EUR"}, "price_down": {"EUR"}}),
    ("whatif need -= 1", {"before": {"EUR", "kg"}, "after": {"EUR", "kg"}, "difference": {"EUR", "kg"}}),
    ("sweep need = 1, 9", {"objective": {"EUR"}, "difference": {"EUR"}}),
    ("most sum make", {"figure": {"t"}, "objective": {"EUR"}, "optimum": {"EUR"}}),
    ("least sum make - batch within 1", {"figure": {""}, "objective": {"EUR"}, "optimum": {"EUR"}}),
    ("alternatives 1", {"objective": {"EUR"}, "difference": {"EUR"}}),
    ("frontier profit waste 3", {"first": {"EUR"}, "second": {"kg"}}),
    ("range make", {"value": {"EUR"}}),
    ("range need", {"value": {""}, "price": {"EUR"}}),
]


def figures(part: object, name: str = "") -> list[tuple[str, Figure]]:
    """Each figure of a result, with the name of its field."""
    if isinstance(part, Figure):
        return [(name, part)]
    if not isinstance(part, ResultPart | tuple):
        return []
    fields = [(name, entry) for entry in part] if isinstance(part, tuple) else list(part)
    return [pair for field, entry in fields if field != "request" for pair in figures(entry, field)]


@pytest.mark.parametrize(("line", "expected"), UNITS, ids=[line for line, _ in UNITS])
def test_each_figure_has_the_unit_of_what_it_measures(line: str, expected: dict[str, set[str]]) -> None:
    found: dict[str, set[str]] = {}
    for name, figure in figures(fixed_shop(1, gains=False).session().ask(line)):
        found.setdefault(name, set()).add(figure.unit)
    assert {name: found.get(name, set()) for name in expected} == expected


SOLVING = [
    "solve",
    "value make",
    "total make",
    "binding",
    "slack room",
    "price need",
    "why make[a]",
    "why need",
    "range make",
    "sweep need = 1",
    "most sum make",
    "alternatives 1",
    "frontier profit waste 3",
    "top 1 make by cost",
    "top 1 room by price",
]
STATIC = ["describe", "data stock", "total stock", "top 1 stock", "data make"]


@pytest.mark.parametrize("line", [*SOLVING, *STATIC])
def test_each_result_names_its_scenario_and_how_it_was_solved(line: str) -> None:
    limits = SolveLimits(nodes=1000, iterations=10**6, seed=3, threads=2)
    session = ModelSession(fixed_shop(-1).model(), limits)
    assert session.ask(line).scenario == "base"
    session.ask("need -= 1")
    assert session.ask(line).scenario == "base + 1"
    session.ask("keep less")
    result = session.ask(line)
    assert result.scenario == "less"
    assert result.confirmed == result.ended_by == ""
    if line in SOLVING:
        assert result.solver.lower().startswith("highs")
        assert result.limits == limits
    if line in SOLVING and not line.startswith("frontier"):
        assert result.status == "optimal"
    assert (result.id, result.line) == ("r5", session.ask(line).line)


def test_limits_reach_the_back_end() -> None:
    limits = SolveLimits(nodes=7, iterations=8, gap=0.25, seed=9, seconds=10.5, threads=3)
    options = limits.options()
    fields = ("nodes", "iterations", "gap", "seed", "seconds", "threads")
    assert {name: getattr(options, name) for name in fields} == {name: getattr(limits, name) for name in fields}


def changed_figures(before: Plain, after: Plain, names: dict[str, str]) -> tuple[set[tuple], int]:
    """Names, old and new figures that differ between two models of the same shape, and the coefficients among them."""
    changed: set[tuple] = set()
    for field, form in names.items():
        old, new = getattr(before, field), getattr(after, field)
        labels = before.rows if field == "rhs" else before.columns
        pairs = zip(labels, old.tolist(), new.tolist(), strict=False)
        changed |= {(form.format(name), first, second) for name, first, second in pairs if first != second}
    entries = int((before.matrix != after.matrix).sum()) if before.matrix.shape == after.matrix.shape else 0
    return changed, entries


@settings(max_examples=15)
@given(
    shops(), st.sampled_from([entry for entry in CHANGES if not entry[0].startswith(("objective", "stock", "margin"))])
)
def test_a_change_lists_the_figures_that_it_changes(shop: Shop, entry: tuple) -> None:
    line, change = entry
    after = change(shop)
    session = shop.session()
    if (after.low > after.high).any():
        with pytest.raises(ModellingError):
            session.ask(line)
        return
    result = session.ask(line)
    forms = {"low": "lower({})", "high": "upper({})", "cost": "profit({})", "rhs": "{}"}
    if after.matrix.shape != shop.matrix.shape:
        del forms["rhs"]
    changed, entries = changed_figures(shop, after, forms)
    assert set(result.changed) == changed
    added = abs(len(after.rhs) - len(shop.rhs))
    assert result.count == len(changed) + entries + added
    assert result.changes == (session.ask("keep x").changes[0],)


@pytest.mark.parametrize(
    ("line", "changed"),
    [
        ("stock -= 1", {("stock[p]", 4.0, 3.0), ("stock[q]", 5.0, 4.0)}),
        ("stock[q] = 0", {("stock[q]", 5.0, 0.0)}),
        ("margin[a] *= 2", {("margin[a]", -3.0, -6.0)}),
        ("free make", set()),
        ("upper(make[a]) = inf", {("upper(make[a])", 4.0, None)}),
        ("lower(make[a]) = -inf", {("lower(make[a])", 0.0, None)}),
    ],
)
def test_a_change_of_data_lists_its_cells(line: str, changed: set[tuple]) -> None:
    result = fixed_shop(1).session().ask(line)
    assert (set(result.changed), result.count) == (changed, len(changed))


def binding(shop: Plain, point: np.ndarray) -> set[str]:
    """Rows without slack at a point."""
    slack = np.abs(shop.matrix @ point - shop.rhs)
    return {name for name, size in zip(shop.rows, slack, strict=False) if size < 1e-6}


@settings(max_examples=15)
@given(shops(), st.sampled_from([entry for entry in CHANGES if len(entry[1](fixed_shop(1)).rhs) == 4]))
def test_moved_values_and_binding_rows_are_those_of_both_points(shop: Shop, entry: tuple) -> None:
    line, change = entry
    after = change(shop)
    if (after.low > after.high).any() or after.optimum() is None:
        return
    session = shop.session()
    result = session.ask(f"whatif {line}")
    first = session.study.point(session.study.present)
    session.ask("keep")
    second = session.study.point(session.study.present)
    steps = second - first
    groups = {"make": MAKE, "batch": BATCH, "open": OPEN}
    sizes = {name: float(np.abs(steps[places]).sum()) for name, places in groups.items()}
    assert {entry.family for entry in result.moved} == {name for name, size in sizes.items() if size > 1e-6}
    assert [entry.family for entry in result.moved] == sorted(
        (entry.family for entry in result.moved), key=lambda name: -sizes[name]
    )
    for entry in result.moved:
        places = groups[entry.family]
        assert entry.total_before.value == pytest.approx(first[places].sum())
        assert entry.total_after.value == pytest.approx(second[places].sum())
        assert entry.members == (np.abs(steps[places]) > 1e-6).sum()
        expected = {(COLUMNS[at], first[at], second[at]) for at in places if abs(steps[at]) > 1e-6}
        assert set(entry.largest) == expected
        moves = [abs(new - old) for _, old, new in entry.largest]
        assert moves == sorted(moves, reverse=True)
    old, new = binding(shop, first), binding(after, second)
    assert {member.name for member in result.newly_binding} == new - old
    assert {member.name for member in result.no_longer_binding} == old - new


@settings(max_examples=10)
@given(shops())
def test_rows_have_their_limits_and_their_slack(shop: Shop) -> None:
    session = shop.session()
    point = session.study.point(session.study.present)
    left = shop.matrix @ point
    for name, relation, rhs, value in zip(ROWS, shop.relations, shop.rhs, left, strict=True):
        (member,) = session.ask(f"slack {name}").members
        assert member.value.value == pytest.approx(value, abs=1e-6)
        assert (member.low is None, member.high is None) == (relation == -1, relation == 1)
        assert {figure.value for figure in (member.low, member.high) if figure is not None} == {rhs}
        assert member.slack.value == pytest.approx(abs(rhs - value), abs=1e-6)
    result = session.ask("binding")
    assert {member.name for member in result.members} == binding(shop, point)
    assert result.size == 4
    assert session.ask("binding room").size == 2
    for count in (2, -2):
        ranked = session.ask(f"top {count} room by value").members
        ordered = sorted(left[:2], reverse=count > 0)
        assert [member.value.value for member in ranked] == pytest.approx(ordered, abs=1e-6)
        assert [left[ROWS.index(member.name)] for member in ranked] == pytest.approx(ordered, abs=1e-6)


@pytest.mark.parametrize("sign", [1, -1])
def test_why_gives_the_figures_of_the_member_and_of_its_range(sign: int) -> None:
    shop = fixed_shop(sign, gains=False)
    linear = ModelSession(replace(shop.model(), integer=np.zeros(5, dtype=bool)))
    point = linear.study.point(linear.study.present)
    for at, name in enumerate(COLUMNS):
        result = linear.ask(f"why {name}")
        member = result.member
        got = [member.value, member.coefficient, member.contribution, member.low, member.high]
        assert [figure.value for figure in got] == pytest.approx(
            [point[at], shop.cost[at], shop.cost[at] * point[at], shop.low[at], shop.high[at]]
        )
    ranged = 0
    for name in ROWS:
        result = linear.ask(f"why {name}")
        entries = linear.ask(f"range {name}").entries
        if len(entries) == 1:
            assert (result.holds_from, result.holds_to) == (entries[0].low, entries[0].high)
            ranged += entries[0].low is not None
    assert ranged


def test_the_gap_is_that_of_the_point_and_the_bound() -> None:
    exact = ModelSession(models.lots()).ask("solve")
    assert exact.gap == 0.0
    result = ModelSession(models.lots(), SolveLimits(gap=0.3, nodes=1)).ask("solve")
    figure = result.objective
    assert (result.status, figure.value) == ("feasible", figure.high)
    assert result.gap == pytest.approx((figure.high - figure.low) / figure.high)
    assert result.gap > 0
    assert result.ended_by
    assert result.warnings


# The lot sizing as a maximisation, and lines with their changes of the truth.
GAIN = "objective gain: maximize 3 - sum unit_cost * make - sum hold_cost * store - sum setup_cost * setup"
MIRRORED = [
    ("hours *= 0.97", lambda data: truths.scaled(data, "hours", 0.97)),
    ("hours *= 1.2", lambda data: truths.scaled(data, "hours", 1.2)),
    ("setup_cost *= 1.3", lambda data: truths.scaled(data, "setup_cost", 1.3)),
    ("setup_cost *= 0.7", lambda data: truths.scaled(data, "setup_cost", 0.7)),
    ("demand[*, wk2] *= 0.9", lambda data: truths.scaled(data, "demand", 0.9, lambda p, w: w == "wk2")),
]


@pytest.mark.parametrize(("line", "change"), MIRRORED, ids=[line for line, _ in MIRRORED])
def test_intervals_of_a_maximisation_contain_the_truth_and_know_the_sign(line: str, change) -> None:
    data = models.lots_data()
    base, after = (3 - truths.lots(entry).solve() for entry in (data, change(data)))
    for limits in (SolveLimits(gap=0.3, nodes=1), SolveLimits(gap=0.5, nodes=0)):
        session = ModelSession(models.lots(), limits)
        session.ask(GAIN)
        result = session.ask(f"whatif {line}")
        for figure, truth in (
            (result.objective.before, base),
            (result.objective.after, after),
            (result.objective.difference, after - base),
        ):
            assert figure.low - 1e-6 <= truth <= figure.high + 1e-6
        assert result.objective.before.value == result.objective.before.low
        difference = result.objective.difference
        assert result.decided == (difference.low >= 0 or difference.high <= 0)
        assert bool(result.continue_with) != result.decided
        # A model that only allows less, or only costs more, cannot gain; and the other way around.
        if line in ("hours *= 0.97", "setup_cost *= 1.3"):
            assert difference.high <= 0
        if line in ("hours *= 1.2", "setup_cost *= 0.7"):
            assert difference.low >= 0


def arrays_of(shop: Plain):
    return shop.model().to_arrays()


PAIRS = [
    ("same", lambda shop: shop, True),
    ("less room", lambda shop: shop.changed("rhs", 0, 4.0), True),
    ("more room", lambda shop: shop.changed("rhs", 0, 6.0), False),
    ("more needed", lambda shop: shop.changed("rhs", 2, 4.0), True),
    ("less needed", lambda shop: shop.changed("rhs", 2, 2.0), False),
    ("lower upper bound", lambda shop: shop.changed("high", 0, 1.0), True),
    ("higher upper bound", lambda shop: shop.changed("high", 0, 5.0), False),
    ("higher lower bound", lambda shop: shop.changed("low", 1, 1.0), True),
    ("lower lower bound", lambda shop: shop.changed("low", 1, -1.0), False),
    ("one row more", lambda shop: replace(shop.with_row([1, 1, 0, 0, 0], -1, 2), rows=(*ROWS, "new")), True),
    ("one row less", lambda shop: shop.without_rows([3]), False),
    ("other coefficients", lambda shop: shop.changed("matrix", (0, 0), 1.0), False),
    ("whole", lambda shop: replace(shop, integer=np.ones(5, dtype=bool)), True),
    ("no whole", lambda shop: replace(shop, integer=np.zeros(5, dtype=bool)), False),
]


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(("name", "change", "tighter"), PAIRS, ids=[entry[0] for entry in PAIRS])
def test_a_bound_holds_for_a_model_that_is_tighter(name: str, change, tighter: bool, sign: int) -> None:
    shop = fixed_shop(sign, gains=False)
    names = Plain.__dataclass_fields__
    before, after = (Plain(**{name: getattr(part, name) for name in names}) for part in (shop, change(shop)))
    assert is_tighter(arrays_of(before), arrays_of(after)) == tighter
    assert bounds_hold(arrays_of(before), arrays_of(after)) == tighter


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(
    ("low", "high", "step", "harmless"),
    [
        (0.0, 4.0, 1.0, True),
        (0.0, 4.0, -1.0, False),
        (-4.0, 0.0, -1.0, True),
        (-4.0, 0.0, 1.0, False),
        (-1.0, 1.0, 1.0, False),
        (-1.0, 1.0, -1.0, False),
    ],
)
def test_a_bound_holds_for_costs_that_are_nowhere_better(
    low: float, high: float, step: float, harmless: bool, sign: int
) -> None:
    def model(cost: float, constant: float) -> Plain:
        return Plain(
            sign=sign,
            cost=np.array([cost]),
            low=np.array([low]),
            high=np.array([high]),
            matrix=np.zeros((1, 1)),
            relations=np.array([-1]),
            rhs=np.array([1.0]),
            integer=np.array([False]),
            constant=constant,
        )

    first = arrays_of(model(2.0, 0.0))
    assert bounds_hold(first, arrays_of(model(2.0 + sign * step, 0.0))) == harmless
    assert bounds_hold(first, arrays_of(model(2.0, float(sign))))
    assert not bounds_hold(first, arrays_of(model(2.0, -float(sign))))
    assert not bounds_hold(first, replace(first, sense=Sense.MAXIMIZE if sign > 0 else Sense.MINIMIZE))


OPTIMAL, BEST, UNKNOWN = SolveStatus.OPTIMAL, SolveStatus.FEASIBLE, SolveStatus.UNKNOWN
NONE, FREE = SolveStatus.INFEASIBLE, SolveStatus.UNBOUNDED


def outcome(status: SolveStatus, objective: float | None = None, bound: float | None = None) -> Outcome:
    return Outcome(status, None, objective, bound, "solver")


@pytest.mark.parametrize(
    ("first", "second", "agree"),
    [
        (outcome(OPTIMAL, 5.0), outcome(OPTIMAL, 5.0), True),
        (outcome(OPTIMAL, 5.0), outcome(OPTIMAL, 5.1), None),
        (outcome(OPTIMAL, -5000.0), outcome(OPTIMAL, -5000.004), True),
        (outcome(OPTIMAL, -5000.004), outcome(OPTIMAL, -5000.0), True),
        (outcome(OPTIMAL, -5000.0), outcome(OPTIMAL, -5000.1), None),
        (outcome(BEST, 9.0, 4.0), outcome(OPTIMAL, 5.0), False),
        (outcome(BEST, 9.0, 6.0), outcome(OPTIMAL, 5.0), None),
        (outcome(BEST, 4.0, 3.0), outcome(OPTIMAL, 5.0), None),
        (outcome(BEST, 9.0, 4.0), outcome(BEST, 7.0, 6.0), False),
        (outcome(NONE), outcome(NONE), True),
        (outcome(FREE), outcome(FREE), True),
        (outcome(NONE), outcome(FREE), None),
        (outcome(NONE), outcome(OPTIMAL, 5.0), None),
        (outcome(BEST, 9.0, 4.0), outcome(FREE), None),
        (outcome(UNKNOWN), outcome(OPTIMAL, 5.0), False),
        (outcome(NONE), outcome(UNKNOWN), False),
    ],
)
def test_two_solvers_agree_disagree_or_leave_it_open(first: Outcome, second: Outcome, agree: bool | None) -> None:
    if agree is None:
        with pytest.raises(ModellingError):
            compare_outcomes(first, second)
    else:
        assert compare_outcomes(first, second).startswith("undecided") != agree


@pytest.mark.parametrize(
    ("objective", "bound", "status"),
    [(5.0, 5.0, OPTIMAL), (5.0, 4.9, BEST), (-5.0, -5.1, BEST), (-1e9, -1e9 - 1e-3, OPTIMAL), (5.0, None, BEST)],
)
def test_a_point_that_meets_its_bound_is_optimal(objective: float, bound: float | None, status: SolveStatus) -> None:
    assert close_gap(outcome(BEST, objective, bound)).status is status


def test_a_confirmed_solve_says_so() -> None:
    pytest.importorskip("ortools")
    limits = SolveLimits(confirm="scip")
    session = ModelSession(fixed_shop(-1).model(), limits)
    assert not session.ask("solve").confirmed.startswith("undecided")


@pytest.mark.parametrize(
    ("first", "second", "agree"),
    [
        (outcome(OPTIMAL, 5.0), outcome(OPTIMAL, 5.0), "yes"),
        (outcome(OPTIMAL, 5.0), outcome(OPTIMAL, 5.1), "no"),
        (outcome(OPTIMAL, 1e6), outcome(OPTIMAL, 1e6 + 1), "yes"),
        (outcome(OPTIMAL, 1e6), outcome(OPTIMAL, 1e6 + 1.9), "yes"),
        (outcome(OPTIMAL, 1e6), outcome(OPTIMAL, 1e6 + 2.1), "no"),
        (outcome(OPTIMAL, -1e6), outcome(OPTIMAL, -1e6 - 1), "yes"),
        (outcome(OPTIMAL, -1e6), outcome(OPTIMAL, -1e6 - 10), "no"),
        (outcome(OPTIMAL, 1e-9), outcome(OPTIMAL, -1e-9), "yes"),
        (outcome(BEST, 9.0, 4.0), outcome(OPTIMAL, 5.0), "open"),
        (outcome(BEST, 9.0, 6.0), outcome(OPTIMAL, 5.0), "no"),
        (outcome(NONE), outcome(NONE), "yes"),
        (outcome(FREE), outcome(FREE), "yes"),
        (outcome(FREE), outcome(NONE), "no"),
        (outcome(NONE), outcome(OPTIMAL, 5.0), "no"),
        (outcome(UNKNOWN), outcome(OPTIMAL, 5.0), "open"),
    ],
)
def test_optima_of_two_models_agree_up_to_the_tolerance_of_solvers(first: Outcome, second: Outcome, agree: str) -> None:
    assert compare_optima(first, second) == compare_optima(second, first) == agree


@pytest.mark.parametrize("gains", [True, False])
@pytest.mark.parametrize("sign", [1, -1])
def test_an_explanation_has_the_binding_rows(sign: int, gains: bool) -> None:
    shop = fixed_shop(sign, gains)
    session = shop.session()
    point = session.study.point(session.study.present)
    explanation = explain(session.model)
    assert {member.name for member in explanation.binding} == binding(shop, point)
    assert not explanation.conflict
    session.ask("need = 30")
    explanation = explain(session.model)
    assert not explanation.binding
    assert "need" in {name for entry in explanation.conflict for name in entry.names}


@pytest.mark.parametrize("data", ['{"a": ["need += 1"], "b": 3}', '{"a": ["need += 1", 3]}', '["need += 1"]', "{"])
def test_a_file_of_scenarios_that_is_partly_wrong_is_refused(data: str, tmp_path: Path) -> None:
    path = tmp_path / "shop.json"
    write_scenarios(path, {"more": ["need += 1"]})
    assert read_scenarios(path) == {"more": ["need += 1"]}
    (file,) = tmp_path.iterdir()
    file.write_text(data)
    with pytest.raises(ModellingError):
        read_scenarios(path)


@pytest.mark.parametrize("sign", [1, -1])
def test_a_bound_a_point_and_a_contradiction_serve_related_models_without_a_solve(sign: int) -> None:
    shop = fixed_shop(sign, gains=False)
    plain = Plain(**{name: getattr(shop, name) for name in Plain.__dataclass_fields__})
    tighter, looser = plain.changed("rhs", 2, 4.0), plain.changed("rhs", 2, 2.0)
    pool = OutcomePool()
    base = ScenarioModel(arrays_of(plain))
    pool.solve(base, SolveLimits())
    known = [ScenarioModel(arrays_of(model)) for model in (tighter, looser)]
    for model in known:
        pool.refresh(model)
    # No point of the base needs as much; the optimum of the base is a bound.
    assert (known[0].outcome.objective, known[0].outcome.bound) == (None, pytest.approx(plain.optimum()))
    assert (known[1].outcome.objective, known[1].outcome.bound) == (pytest.approx(plain.optimum()), None)
    impossible = ScenarioModel(arrays_of(plain.changed("rhs", 2, 30.0)))
    assert pool.solve(impossible, SolveLimits()).status is NONE
    for need, status in ((31.0, NONE), (29.0, UNKNOWN)):
        model = ScenarioModel(arrays_of(plain.changed("rhs", 2, need)))
        pool.refresh(model)
        assert model.outcome.status is status
        assert model.outcome.solver


def test_small_figures_differ_as_large_ones_do(tmp_path: Path) -> None:
    shop = fixed_shop(1)
    session = shop.session()
    session.run(["stock[p] = 1e-9", "margin[a] = 1e9"])
    write(session.model, tmp_path / "small.json")
    session.run(["stock[p] = 2e-9", "margin[a] = 1000000001"])
    entries = session.ask(f'diff "{tmp_path}/small.json"').entries
    largest = {(entry.of, entry.name): entry.largest for entry in entries}
    assert largest["data", "stock"] == (("stock[p]", 2e-9, 1e-9),)
    assert largest["data", "margin"] == (("margin[a]", 1e9 + 1, 1e9),)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(("within", "share"), [("50 %", 0.5), ("5 %", 0.05), ("0 %", 0.0)])
def test_a_share_of_the_optimum_is_counted_from_its_size(sign: int, within: str, share: float) -> None:
    shop = fixed_shop(sign, gains=False)
    plain = Plain(**{name: getattr(shop, name) for name in Plain.__dataclass_fields__})
    free = replace(plain, integer=np.zeros(5, dtype=bool))
    session = ModelSession(replace(shop.model(), integer=np.zeros(5, dtype=bool)))
    best = free.optimum()
    for word, direction in (("most", -1), ("least", 1)):
        result = session.ask(f"{word} make[a] within {within}")
        near = free.with_row(free.cost, -sign, best + sign * share * abs(best) - free.constant)
        assert result.figure.value == pytest.approx(near.best_with([1, 0, 0, 0, 0], direction).optimum(), abs=1e-6)
    with pytest.raises(ModellingError):
        session.ask(f"most make[a] within -{within}") if share else session.ask("most make[a] within -1")


def test_requests_end_at_their_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    session = fixed_shop(1).session()
    for line in (
        "alternatives 101",
        "frontier profit waste 101",
        "alternatives 0",
        "frontier profit waste 1",
        "undo 0",
    ):
        with pytest.raises(ModellingError):
            session.ask(line)
    assert session.ask("alternatives 100").complete
    assert len(session.ask("frontier profit waste 100").points) >= 2
    assert len(session.ask("frontier profit waste 2").points) == 2
    monkeypatch.setattr("oragent.modelling.operations.asking.MAX_FIGURES", 2)
    assert len(session.ask("sweep need = 1, 2").points) == 2
    with pytest.raises(ModellingError):
        session.ask("sweep need = 1, 2, 3")


def test_the_rows_that_were_changed_last_lead_a_conflict() -> None:
    session = fixed_shop(1, gains=False).session()
    session.run(["room[p] -= 1", "room[q] += 1", "need = 30"])
    result = session.ask("conflict")
    assert (result.families[0].family, result.families[0].changed) == ("need", True)
    order = [entry.family for entry in result.families]
    # What was never changed comes after what was.
    changed = [entry.changed for entry in result.families]
    assert changed == sorted(changed, reverse=True)
    session = fixed_shop(1, gains=False).session()
    session.run(["need = 30", "upper(make) -= 1"])
    result = session.ask("conflict")
    assert {"need", "make"} <= set(order) | {entry.family for entry in result.families}
    assert result.families[0].family == "make"


def test_exceptions_and_ranges_are_separate_indices() -> None:
    session = ModelSession(models.transport())
    others = session.ask("total demand[* except Paris, wk2..wk3]").total.value
    data = models.transport_data()["demand"]
    assert others == sum(value for (c, w), value in data.items() if c != "Paris" and w in ("wk2", "wk3"))
    two = session.ask("total demand[* except Paris, Nice, wk2]").total.value
    assert two == sum(value for (c, w), value in data.items() if c not in ("Paris", "Nice") and w == "wk2")
    braces = session.ask("total demand[* except {Paris, Nice}, *]").total.value
    assert braces == sum(value for (c, _), value in data.items() if c not in ("Paris", "Nice"))
    last = session.ask("total demand[Paris, * except wk1, wk5]").total.value
    assert last == sum(value for (c, w), value in data.items() if c == "Paris" and w not in ("wk1", "wk5"))


@pytest.mark.parametrize("sign", [1, -1])
def test_bounds_with_prices_have_the_range_in_which_the_reduced_cost_holds(sign: int) -> None:
    # x is at 4 and y at 0; each unit of a bound changes the objective by its cost.
    shop = Plain(
        sign=sign,
        cost=sign * np.array([-3.0, 2.0]),
        low=np.zeros(2),
        high=np.array([4.0, 5.0]),
        matrix=np.array([[1.0, 1.0]]),
        relations=np.array([-1]),
        rhs=np.array([6.0]),
        integer=np.zeros(2, dtype=bool),
    )
    explanation = explain(shop.model())
    ranges = {entry.name: entry for entry in explanation.ranges if entry.of == "bound"}
    assert {name: entry.price.value for name, entry in ranges.items()} == {
        "alpha": pytest.approx(-3.0 * sign),
        "beta": pytest.approx(2.0 * sign),
    }
    assert {entry.uniqueness for entry in ranges.values()} == {"unique"}
    assert {name: (entry.value.value, entry.low, entry.high) for name, entry in ranges.items()} == {
        "alpha": (4.0, 0.0, 6.0),
        "beta": (0.0, None, 2.0),
    }


def test_a_file_with_a_part_of_the_values_says_how_many_are_missing(tmp_path: Path) -> None:
    (tmp_path / "part.csv").write_text("variable,value\nbatch,1\nmake[a],0\n")
    result = ModelSession(fixed_shop(1).model(), folder=tmp_path).ask('verify "part.csv"')
    assert any("3 of 5" in warning for warning in result.warnings)
    write(fixed_shop(1).model(), tmp_path / "same.json")
    result = ModelSession(fixed_shop(1).model(), folder=tmp_path).ask('verify "same.json" 2')
    assert (result.source, result.same_structure, len(result.trials)) == ("model", True, 3)
    assert result.limits == SolveLimits()
    assert result.warnings == ()


def test_a_session_of_a_file_finds_other_files_beside_it(tmp_path: Path) -> None:
    for name, line in (("model", ""), ("other", "need += 1")):
        session = fixed_shop(1).session()
        session.run([line] if line else [])
        write(session.model, tmp_path / f"{name}.json")
    entries = ModelSession.open(tmp_path / "model.json").ask('diff "other.json"').entries
    assert [(entry.of, entry.name, entry.largest) for entry in entries] == [
        ("right-hand sides", "need", (("need", 1.0, 2.0),))
    ]


def test_data_show_the_cell_from_which_they_were_read() -> None:
    model = fixed_shop(1).model()
    stock = replace(model.parameters[0], source=SourceCell("shop.csv", "rooms", 7, 3))
    session = ModelSession(replace(model, parameters=(stock, *model.parameters[1:])))
    sources = [member.source for member in session.ask("data stock").members]
    assert all({"shop.csv", "rooms", "7", "3"} <= set(source.split()) for source in sources)
    assert [member.source for member in session.ask("data margin").members] == ["", ""]


@pytest.mark.parametrize("goal", ["", "objective waste then profit"])
def test_costs_of_the_first_of_several_objectives_are_said_to_be_its_own(goal: str, tmp_path: Path) -> None:
    session = fixed_shop(1).session()
    session.run([goal] if goal else [])
    point = session.study.point(session.study.present)
    (tmp_path / "point.sol").write_text(
        "".join(f"{name} {value}\n" for name, value in zip(COLUMNS, point, strict=True))
    )
    result = session.ask(f'inverse "{tmp_path}/point.sol"')
    assert result.change.value == pytest.approx(0, abs=1e-6)
    assert bool(result.warnings) == bool(goal)


def test_trials_of_a_comparison_end_at_their_limit() -> None:
    assert parse_line('verify "model.json" 1000').trials == 1000
    with pytest.raises(ModellingError):
        parse_line('verify "model.json" 1001')

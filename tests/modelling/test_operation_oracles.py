"""Operations on small drawn models: each answer is that of an enumeration of all points."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from oragent._base.errors import ModellingError
from oragent.modelling.data.features import ModelFeatures, SoftRow
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.model_records import Objective, Row, Variable
from oragent.modelling.data.model_values import Relation, Sense, VariableKind
from oragent.modelling.data.names import group_by_names
from oragent.modelling.operations import ModelSession
from oragent.modelling.solving.model_solving import solve
from tests.modelling.enumeration import RELATIONS, Plain
from tests.modelling.shops import (
    BATCH,
    COLUMNS,
    MAKE,
    NEED,
    OPEN,
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
    shares,
    shops,
    times,
)

ALL, GOODS = [1, 1, 1, 1, 1], [1, 1, 0, 0, 0]
# Line of a change, and the same change of the numbers. Each change has one beside it to the other side.
CHANGES: list[tuple[str, Callable[[Plain], Plain]]] = [
    ("room[p] += 1", array("rhs", 0, plus(1))),
    ("room[p] -= 1", array("rhs", 0, plus(-1))),
    ("room *= 2", array("rhs", ROOM, times(2))),
    ("room *= 50 %", array("rhs", ROOM, times(0.5))),
    ("need += 1", array("rhs", NEED, plus(1))),
    ("need -= 1", array("rhs", NEED, plus(-1))),
    ("tie += 1", array("rhs", TIE, plus(1))),
    ("tie -= 1", array("rhs", TIE, plus(-1))),
    ("tie = 2", array("rhs", TIE, 2)),
    ("room[q] <= 3", array("rhs", 1, 3)),
    ("need >= 2", array("rhs", NEED, 2)),
    ("need >= -2", array("rhs", NEED, -2)),
    ("relax room by 1", array("rhs", ROOM, plus(1))),
    ("relax need by 1", array("rhs", NEED, plus(-1))),
    ("relax room[q] by 50 %", array("rhs", 1, shares(50))),
    ("relax need by 50 %", array("rhs", NEED, shares(-50))),
    ("drop room[p]", lambda shop: shop.without_rows([0])),
    ("drop room", lambda shop: shop.without_rows(ROOM)),
    ("drop need", lambda shop: shop.without_rows(NEED)),
    ("drop tie", lambda shop: shop.without_rows(TIE)),
    ("stock[p] += 2", array("rhs", 0, plus(2))),
    ("stock -= 1", array("rhs", ROOM, plus(-1))),
    ("stock += 50 %", array("rhs", ROOM, times(1.5))),
    ("stock -= 50 %", array("rhs", ROOM, times(0.5))),
    ("stock[q] = 200 %", array("rhs", 1, times(2))),
    ("margin[b] += 1", array("cost", 1, plus(1))),
    ("margin[b] -= 1", array("cost", 1, plus(-1))),
    ("margin *= -1", array("cost", MAKE, times(-1))),
    ("profit(batch) += 2", array("cost", BATCH, plus(2))),
    ("profit(batch) -= 2", array("cost", BATCH, plus(-2))),
    ("profit(open) = 0", array("cost", OPEN, 0)),
    ("profit(make[a]) *= 3", array("cost", 0, times(3))),
    ("room(make[a]) = 1", array("matrix", (ROOM, 0), 1)),
    ("room(make) += 1", array("matrix", np.ix_(ROOM, MAKE), plus(1))),
    ("need(batch) -= 1", array("matrix", (2, 2), plus(-1))),
    ("make[a] = 1", bounds([0], 1, 1)),
    ("make = 0", bounds(MAKE, 0, 0)),
    ("make[b] <= 1", bounds([1], None, 1)),
    ("make[b] >= 1", bounds([1], 1, None)),
    ("batch >= 1", bounds(BATCH, 1, None)),
    ("batch <= 0", bounds(BATCH, None, 0)),
    ("batch = 1", bounds(BATCH, 1, 1)),
    ("open[a] = 1", bounds([3], 1, 1)),
    ("forbid open", bounds(OPEN, 0, 0)),
    ("forbid make[*  except a]", bounds([1], 0, 0)),
    ("upper(make) += 1", array("high", MAKE, plus(1))),
    ("upper(make) -= 1", array("high", MAKE, plus(-1))),
    ("lower(make[a]) -= 1", array("low", 0, plus(-1))),
    ("lower(make) = 0.5", array("low", MAKE, 0.5)),
    ("row few: sum make + batch <= 2", lambda shop: shop.with_row([1, 1, 1, 0, 0], -1, 2)),
    ("row many: sum make + batch >= 3", lambda shop: shop.with_row([1, 1, 1, 0, 0], 1, 3)),
    ("row same: make[a] = make[b] + 1", lambda shop: shop.with_row([1, -1, 0, 0, 0], 0, 1)),
    ("row cap: 2 * make[a] - 3 <= batch", lambda shop: shop.with_row([2, 0, -1, 0, 0], -1, 3)),
    (
        "row each: sum make by good <= 1",
        lambda shop: shop.with_row([1, 0, 0, 0, 0], -1, 1).with_row([0, 1, 0, 0, 0], -1, 1),
    ),
    (
        "row worth: sum margin * make >= 1",
        lambda shop: shop.with_row(shop.cost * GOODS, 1, 1),
    ),
    ("objective total: maximize sum make + batch - 1", lambda shop: shop.best_with([1, 1, 1, 0, 0], -1, -1)),
    ("objective total: minimize sum make + batch + 1", lambda shop: shop.best_with([1, 1, 1, 0, 0], 1, 1)),
    ("objective waste", lambda shop: shop.best_with(shop.waste, 1)),
    (
        "objective profit + 2 * waste",
        lambda shop: shop.best_with(shop.cost + 2 * shop.sign * shop.waste, shop.sign, shop.constant),
    ),
]


@pytest.mark.parametrize("sign", [1, -1])
def test_each_change_of_a_model_that_binds_has_the_effect_of_the_same_change_of_the_numbers(sign: int) -> None:
    with_effect = set()
    for shop in (fixed_shop(sign), fixed_shop(sign, gains=False)):
        session, base = shop.session(), shop.optimum()
        for line, change in CHANGES:
            after = change(shop)
            if (after.low > after.high).any():
                continue
            truth = after.optimum()
            result = session.ask(f"whatif {line}")
            assert (line, result.status_after) == (line, "infeasible" if truth is None else "optimal")
            assert (line, result.objective.after.value) == (line, truth if truth is None else pytest.approx(truth))
            if truth is None or abs(truth - base) > 1e-3:
                with_effect.add(line)
    # A change that moves no optimum shows nothing.
    assert len(with_effect) >= len(CHANGES) - 2


@settings(max_examples=10)
@given(shops(), st.lists(st.sampled_from(CHANGES), min_size=6, max_size=6, unique_by=lambda entry: entry[0]))
def test_each_change_has_the_effect_of_the_same_change_of_the_numbers(shop: Shop, changes: list) -> None:
    session = shop.session()
    base = shop.optimum()
    assert close(session.ask("solve").objective.value, base)
    for line, change in changes:
        after = change(shop)
        if (after.low > after.high).any():
            with pytest.raises(ModellingError):
                session.ask(f"whatif {line}")
            continue
        result = session.ask(f"whatif {line}")
        truth = after.optimum()
        assert result.status_before == "optimal"
        assert result.status_after == after.status()
        assert result.decided or not result.objective.difference.is_exact
        assert close(result.objective.before.value, base)
        assert result.objective.sense == SENSES[after.sign]
        if result.status_after == "optimal":
            assert close(result.objective.after.value, truth)
            assert close(result.objective.difference.value, truth - base)
        elif result.status_after == "infeasible":
            assert result.conflict
            assert truth is None
        # The trial in force, one step back, and one more kept by name.
        if session.ask("keep").changes and result.status_after == "optimal":
            assert close(session.ask("solve").objective.value, truth)
        assert len(session.ask("undo").changes) == 0
        assert close(session.ask("solve").objective.value, base)


@settings(max_examples=10)
@given(shops(), st.lists(st.sampled_from(CHANGES[:34]), min_size=2, max_size=3))
def test_changes_one_after_the_other_are_undone_named_and_compared(shop: Shop, changes: list) -> None:
    session = shop.session()
    truths = [shop.optimum()]
    current: Plain = shop
    for number, (line, change) in enumerate(changes):
        if "room" in line and any(name in entry for entry, _ in changes[:number] for name in ("drop", "room(")):
            return
        # A right-hand side that was set refers to no stock any more.
        if "stock" in line and any("room" in entry for entry, _ in changes[:number]):
            return
        # Nor does a cost that was set refer to a margin.
        if "margin" in line and any("profit(make" in entry for entry, _ in changes[:number]):
            return
        current = change(current)
        if len(current.rhs) < 4 or (current.low > current.high).any():
            return
        session.ask(line)
        session.ask(f"keep step{number}")
        truths.append(current.optimum() if current.status() == "optimal" else None)
    for number, truth in enumerate(truths[1:]):
        result = session.ask(f"compare base step{number}")
        assert close(result.objective.after.value, truth)
        assert close(result.objective.before.value, truths[0])
        if truth is not None:
            back = session.ask(f"compare step{number} base").objective.difference.value
            assert close(back, truths[0] - truth)
            assert close(result.objective.difference.value, truth - truths[0])
    for truth in reversed(truths[:-1]):
        session.ask("undo")
        assert close(session.ask("solve").objective.value, truth)
    session.ask("scenario step0")
    assert close(session.ask("solve").objective.value, truths[1])


@settings(max_examples=10)
@given(shops())
def test_free_restores_the_bounds_of_the_model(shop: Shop) -> None:
    session = shop.session()
    session.run(["make <= 0.5", "batch = 1"])
    session.ask("free make[a]")
    freed = bounds([1], None, 0.5)(bounds(BATCH, 1, 1)(shop))
    assert close(session.ask("solve").objective.value, freed.optimum())
    session.run(["free make", "free batch"])
    assert close(session.ask("solve").objective.value, shop.optimum())


@settings(max_examples=10)
@given(shops())
def test_the_largest_members_come_first_and_the_smallest_for_a_negative_count(shop: Shop) -> None:
    session = shop.session()
    point = session.study.point(session.study.present)
    base = shop.optimum()
    orders = {
        "value": point[MAKE],
        "cost": (shop.cost * point)[MAKE],
        "coefficient": shop.cost[MAKE],
        "margin": shop.cost[MAKE],
    }
    fields = {"cost": "contribution", "coefficient": "coefficient"}
    for by, figures in orders.items():
        for count, best in ((1, max(figures)), (-1, min(figures))):
            (member,) = session.ask(f"top {count} make by {by}").members
            assert getattr(member, fields.get(by, "value")).value == pytest.approx(best, abs=2e-5)
    for count, best in ((1, max(shop.rhs[ROOM])), (-1, min(shop.rhs[ROOM]))):
        assert session.ask(f"top {count} stock").members[0].value.value == best
        assert len(session.ask(f"top {2 * count} stock").members) == 2
    effects = [shop.moved(rhs=(place, 1.0)).optimum() for place in ROOM]
    sizes = [abs(effect - base) for effect in effects if effect is not None]
    for count, best in ((1, max(sizes, default=None)), (-1, min(sizes, default=None))):
        members = session.ask(f"top {count} room by price").members
        assert [abs(member.price_up.value) for member in members] == (
            [] if best is None else [pytest.approx(best, abs=2e-5)]
        )
        assert len(session.ask(f"top {2 * count} room by price").members) == len(sizes)


@settings(max_examples=10)
@given(shops(), st.sampled_from([1.0, 0.5, 2.0]))
def test_prices_are_differences_of_optima_for_whole_numbers_too(shop: Shop, step: float) -> None:
    session = shop.session()
    base = shop.optimum()
    cases = [("room", "rhs", ROOM), ("need", "rhs", NEED), ("tie", "rhs", TIE), ("stock", "rhs", ROOM)]
    for name, of, places in [*cases, ("margin", "cost", MAKE)]:
        members = session.ask(f"price {name} by {step}").members
        assert len(members) == len(places)
        for member, place in zip(members, places, strict=True):
            assert member.value.value == getattr(shop, of)[place]
            for figure, sign in ((member.price_up, 1), (member.price_down, -1)):
                truth = shop.moved(**{of: (place, sign * step)}).optimum()
                assert close(figure.value, None if truth is None else truth - base)
    for row, place in zip(("room[q]", "need"), (1, 2), strict=True):
        why = session.ask(f"why {row}")
        point = session.study.point(session.study.present)
        slack = abs(shop.matrix[place] @ point - shop.rhs[place])
        assert why.at == ("binding" if slack < 1e-6 else "slack")
        assert why.member.slack.value == pytest.approx(slack, abs=2e-5)
        up = shop.moved(rhs=(place, 1.0)).optimum()
        assert close(why.member.price_up.value, None if up is None else up - base)


@settings(max_examples=10)
@given(shops(), st.sampled_from([1.0, 0.5, 2.0]))
def test_the_price_of_a_variable_is_that_of_its_bounds(shop: Shop, step: float) -> None:
    session = shop.session()
    base = shop.optimum()
    for name, places in (("make", MAKE), ("batch", BATCH), ("open[b]", OPEN[1:])):
        members = session.ask(f"price {name} by {step}").members
        expected = [(f"{side}({COLUMNS[place]})", side, place) for place in places for side in ("lower", "upper")]
        assert [member.name for member in members] == [entry[0] for entry in expected]
        for member, (_, side, place) in zip(members, expected, strict=True):
            of = "low" if side == "lower" else "high"
            assert member.value.value == getattr(shop, of)[place]
            for figure, sign in ((member.price_up, 1), (member.price_down, -1)):
                truth = shop.moved(**{of: (place, sign * step)}).optimum()
                assert close(figure.value, None if truth is None else truth - base)


def test_only_finite_bounds_have_prices_and_rows_come_before_variables_of_their_name() -> None:
    session = fixed_shop(1).session()
    session.run(["upper(make[a]) = inf"])
    assert [member.name for member in session.ask("price make").members] == [
        "lower(make[a])",
        "lower(make[b])",
        "upper(make[b])",
    ]
    session.run(["lower(make[a]) = -inf"])
    with pytest.raises(ModellingError):
        session.ask("price make[a]")
    session.ask("row make: sum open <= 2")
    assert [member.name for member in session.ask("price make").members] == ["make"]
    assert len(session.ask("price variables.make[b]").members) == 2


@settings(max_examples=10)
@given(shops(), st.integers(3, 5))
def test_no_point_is_better_in_both_objectives_than_one_of_the_frontier(shop: Shop, count: int) -> None:
    session = shop.session()
    entries = session.ask(f"frontier profit waste {count}").points
    wasted = shop.best_with(shop.waste, 1)
    assert close(entries[0].first.value, shop.optimum())
    assert close(entries[0].second.value, shop.within(1e-7).best_with(shop.waste, 1).optimum())
    assert close(entries[-1].second.value, wasted.optimum())
    assert len(entries) <= count
    for entry in entries:
        assert entry.proven
        limited = shop.with_row(shop.waste, -1, entry.second.value + 1e-6)
        assert limited.optimum() == pytest.approx(entry.first.value, abs=1e-4)


@settings(max_examples=10)
@given(shops(), st.sampled_from([("", 0.0), (" within 1", 1.0), (" within 50 %", None)]))
def test_objectives_one_after_the_other_are_best_in_their_order(shop: Shop, within: tuple[str, float | None]) -> None:
    session = shop.session()
    for first, second in (("profit", "waste"), ("waste", "profit")):
        ranked = {"profit": shop, "waste": shop.best_with(shop.waste, 1)}
        best = ranked[first].optimum()
        allowance = 0.5 * abs(best) if within[1] is None else within[1]
        session.ask(f"objective {first}{within[0]} then {second}")
        result = session.ask("solve")
        assert close(result.stages[0].optimum.value, best)
        assert [stage.name for stage in result.stages] == [first, second]
        near = ranked[first].within(allowance)
        truth = near.best_with(ranked[second].cost, ranked[second].sign, ranked[second].constant).optimum()
        assert result.stages[1].optimum.value == pytest.approx(truth, abs=2e-5)
        values = {part.name: part.value.value for part in result.objectives}
        assert values[second] == pytest.approx(truth, abs=2e-5)
        assert close(result.objective.value, values[first])
        assert ranked[first].sign * (values[first] - best) <= allowance + 1e-5
        change = session.ask("whatif tie += 1").stages
        moved = shop.moved(rhs=(3, 1.0))
        if moved.optimum() is not None and change:
            again = moved if first == "profit" else moved.best_with(shop.waste, 1)
            assert close(change[0].after.value, again.optimum())
        session.ask("undo")


@settings(max_examples=10)
@given(shops(), st.sampled_from([(" within 2", 2.0), (" within 0.5", 0.5), ("", 0.0)]))
def test_a_weighted_sum_comes_before_a_later_objective_within_its_allowance(
    shop: Shop, within: tuple[str, float]
) -> None:
    session = shop.session()
    session.ask("objective effort: minimize sum make + 3 * batch - 2")
    session.ask(f"objective 2 * profit + waste{within[0]} then effort")
    result = session.ask("solve")
    total = shop.best_with(2 * shop.cost + shop.sign * shop.waste, shop.sign, 2 * shop.constant)
    assert close(result.stages[0].optimum.value, total.optimum())
    assert result.stages[0].within_amount == within[1]
    effort = total.within(within[1]).best_with([1, 1, 3, 0, 0], 1, -2.0).optimum()
    assert result.stages[1].optimum.value == pytest.approx(effort, abs=2e-5)


@settings(max_examples=10)
@given(shops())
def test_what_is_read_is_what_the_numbers_say(shop: Shop) -> None:
    session = shop.session()
    point = session.study.point(session.study.present)
    assert close(shop.worth(point), shop.optimum())
    gains = shop.cost * point
    described = session.ask("describe")
    assert (described.columns, described.row_count, described.integers, described.nonzeros) == (5, 4, 3, 20)
    terms = {goal.name: (goal.terms, goal.stage, goal.sense) for goal in described.objectives}
    assert terms == {
        "profit": (int(np.count_nonzero(shop.cost)), 1, SENSES[shop.sign]),
        "waste": (int(np.count_nonzero(shop.waste)), 0, "minimize"),
    }
    for name, place in zip(COLUMNS, range(5), strict=True):
        (data,) = session.ask(f"data {name}").members
        assert (data.low.value, data.high.value, data.coefficient.value) == (
            shop.low[place],
            shop.high[place],
            shop.cost[place],
        )
        members = session.ask(f"value {name}").members
        assert [member.value.value for member in members] == pytest.approx([point[place]] if point[place] else [])
        assert [member.contribution.value for member in members] == pytest.approx(
            [gains[place]] if point[place] else []
        )
    for name, place in zip(ROWS, range(4), strict=True):
        (data,) = session.ask(f"data {name}").members
        assert (data.value.value, data.relation) == (shop.rhs[place], str(RELATIONS[int(shop.relations[place])]))
        (row,) = session.ask(f"value {name}").members
        assert row.value.value == pytest.approx(shop.matrix[place] @ point, abs=2e-5)
    assert [member.value.value for member in session.ask("data stock").members] == shop.rhs[ROOM].tolist()
    total = session.ask("total make by good")
    assert total.total.value == pytest.approx(point[MAKE].sum())
    assert total.contribution.value == pytest.approx(gains[MAKE].sum())
    groups = sorted(zip(point[MAKE], "ab", strict=True), key=lambda pair: -pair[0])
    assert [group.total.value for group in total.groups] == pytest.approx([value for value, _ in groups])
    assert {group.label: round(group.total.value, 6) for group in total.groups} == {
        label: round(value, 6) for value, label in groups
    }
    assert session.ask("total stock").total.value == shop.rhs[ROOM].sum()
    families = {group.label: (group.total.value, group.members) for group in session.ask("solve").families}
    for name, places in (("make", MAKE), ("batch", BATCH), ("open", OPEN)):
        expected = (pytest.approx(point[places].sum()), int((np.abs(point[places]) > 1e-6).sum()))
        assert families[name] == expected


@settings(max_examples=10)
@given(shops())
def test_why_and_whynot_force_a_variable_by_one_unit(shop: Shop) -> None:
    session = shop.session()
    base = shop.optimum()
    point = session.study.point(session.study.present)
    for place, name in enumerate(COLUMNS):
        why = session.ask(f"why {name}")
        value, low, high = point[place], shop.low[place], shop.high[place]
        forced: Plain | None = None
        if value - low < 1e-6:
            assert why.at == "lower bound"
            forced = shop.changed("low", place, min(low + 1, high))
        elif high - value < 1e-6:
            assert why.at == "upper bound"
            forced = shop.changed("high", place, max(high - 1, low))
        else:
            assert why.at == "between"
            forced = shop.changed("high", place, max(value - 1, low)) if value >= 1 else None
        truth = None if forced is None else forced.optimum()
        assert close(None if why.difference is None else why.difference.value, None if truth is None else truth - base)
        assert {row.name for row in why.rows} == {
            row
            for row, line, rhs in zip(ROWS, shop.matrix, shop.rhs, strict=True)
            if line[place] and abs(line @ point - rhs) < 1e-6
        }
    for line, change in (("make[a] >= 1", bounds([0], 1, None)), ("make[a] <= 0.5", bounds([0], None, 0.5))):
        result = session.ask(f"whynot {line}")
        truth = change(shop).optimum()
        assert close(result.objective.difference.value, None if truth is None else truth - base)


@settings(max_examples=10)
@given(shops(), st.sampled_from(["", " within 1", " within 0", " within 20 %"]))
def test_the_most_and_the_least_of_an_expression_near_the_optimum(shop: Shop, within: str) -> None:
    session = shop.session()
    allowance = {" within 1": 1.0, " within 0": 0.0, " within 20 %": 0.2 * abs(shop.optimum())}.get(within)
    near = shop if allowance is None else shop.within(allowance)
    for expression, terms, constant in (
        ("make[a] - make[b]", [1, -1, 0, 0, 0], 0.0),
        ("sum make + 2 batch - 1", [1, 1, 2, 0, 0], -1.0),
        ("sum margin * make", shop.cost * GOODS, 0.0),
    ):
        for word, sign in (("most", -1), ("least", 1)):
            result = session.ask(f"{word} {expression}{within}")
            truth = near.best_with(terms, sign, constant).optimum()
            assert result.figure.value == pytest.approx(truth, abs=2e-5)
            if allowance is not None:
                assert close(result.optimum.value, shop.optimum())
                assert shop.sign * (result.objective.value - shop.optimum()) <= allowance + 1e-5


@settings(max_examples=10)
@given(shops())
def test_alternatives_are_the_next_best_values_of_the_whole_numbers_or_other_optima(shop: Shop) -> None:
    assume(shop.high[2] > 1)
    session = shop.session()
    base = shop.optimum()
    every = []
    for first in (0, 1):
        for second in (0, 1):
            truth = shop.changed("low", OPEN, [first, second]).changed("high", OPEN, [first, second]).optimum()
            every += [] if truth is None else [truth]
    result = session.ask("alternatives 3")
    ranked = sorted(every, key=lambda value: shop.sign * value)[1:]
    assert [solution.objective.value for solution in result.solutions] == pytest.approx(ranked, abs=2e-5)
    assert [solution.difference.value for solution in result.solutions] == pytest.approx(
        [value - base for value in ranked], abs=1e-6
    )


def test_a_family_with_one_whole_variable_takes_no_fraction() -> None:
    variables = [Variable("x[a]", 0, 2, VariableKind.INTEGER), Variable("x[b]", 0, 2)]
    row = Row("cap", {"x[a]": 1, "x[b]": 1}, Relation.AT_MOST, 3)
    session = ModelSession(
        group_by_names(IndexedModel.from_records(variables, [row], Objective({"x[a]": 1, "x[b]": 2}), Sense.MAXIMIZE))
    )
    with pytest.raises(ModellingError):
        session.ask("whatif x = 0.5")
    assert session.ask("whatif x = 1").objective.after.value == pytest.approx(3)
    assert session.ask("whatif x[b] = 0.5").objective.after.value == pytest.approx(3)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(("price", "amount"), [(0.25, 10.0), (2.0, 4.0)])
def test_a_soft_row_costs_its_price_in_both_senses(sign: int, price: float, amount: float) -> None:
    soft = ModelFeatures(soft_rows=(SoftRow("cap", above=price),))
    sense = Sense.MINIMIZE if sign > 0 else Sense.MAXIMIZE
    cap = Row("cap", {"x": 1}, Relation.AT_MOST, 4)
    milp = IndexedModel.from_records(
        [Variable("x", 0, 10)], [cap], Objective({"x": -float(sign)}), sense, features=soft
    )
    solution = solve(milp)
    assert solution.values["x"] == pytest.approx(amount)
    assert -sign * solution.objective == pytest.approx(amount - price * (amount - 4))

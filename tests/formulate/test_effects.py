"""Effects of limits, other optimal plans and shortages, against brute force and re-solving."""

import itertools
from dataclasses import replace
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oragent.formulate import effects as effects_module
from oragent.formulate.effects import EACH_S, TOTAL_S, find_alternative, measure_effects, plan_with_shortages
from oragent.modelling.data.features import FurtherObjective, ModelFeatures, QuadraticTerm
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.model_records import Objective, Row, Variable
from oragent.modelling.data.model_values import Relation, Sense, VariableKind
from oragent.modelling.data.solution import Solution, SolveStatus
from oragent.modelling.solving.model_solving import solve

INTEGER = VariableKind.INTEGER


@given(
    st.lists(st.integers(1, 4), min_size=3, max_size=3), st.lists(st.integers(1, 4), min_size=3, max_size=3),
    st.integers(3, 9), st.sampled_from([2, float("inf")]),
)  # fmt: skip
def test_another_optimal_plan_is_found_exactly_if_there_is_one(
    worth: list[int], size: list[int], room: int, high: float
) -> None:
    names = ["a", "b", "c"]
    milp = IndexedModel.from_records(
        tuple(Variable(name, 0, high, INTEGER) for name in names),
        (Row("room", dict(zip(names, size, strict=True)), Relation.AT_MOST, room),),
        Objective(dict(zip(names, worth, strict=True))),
        Sense.MAXIMIZE,
    )
    points = [
        point for point in itertools.product(range(int(min(high, room)) + 1), repeat=3)
        if sum(x * y for x, y in zip(point, size, strict=True)) <= room
    ]  # fmt: skip
    values = [sum(x * y for x, y in zip(point, worth, strict=True)) for point in points]
    optima = [point for point, value in zip(points, values, strict=True) if value == max(values)]
    solution = solve(milp)
    found = find_alternative(milp, solution, names)
    assert bool(found) == (len(optima) > 1)
    if found:
        other = tuple(round(found.get(name, solution.values[name])) for name in names)
        assert other in optima


@given(
    st.lists(st.integers(1, 4), min_size=2, max_size=2), st.lists(st.integers(2, 7), min_size=2, max_size=2),
    st.integers(6, 30), st.sampled_from([2, 9]), st.booleans(),
)  # fmt: skip
def test_a_limit_of_whole_pieces_has_an_effect_exactly_if_a_new_solve_shows_it(
    worth: list[int], size: list[int], limit: int, high: int, is_cover: bool
) -> None:
    def best(share: float) -> int | None:
        allowed = limit * (1 - share if is_cover else 1 + share)
        points = (
            (a * worth[0] + b * worth[1], a * size[0] + b * size[1]) for a in range(high + 1) for b in range(high + 1)
        )
        values = [value for value, used in points if (used >= allowed - 1e-9 if is_cover else used <= allowed + 1e-9)]
        return (min if is_cover else max)(values, default=None)

    milp = IndexedModel.from_records(
        (Variable("a", 0, high, INTEGER), Variable("b", 0, high, INTEGER)),
        (
            Row("time", dict(zip("ab", size, strict=True)), Relation.AT_LEAST if is_cover else Relation.AT_MOST, limit),
            Row("far", {"a": 1, "b": 1}, Relation.AT_MOST, 99),
        ),
        Objective(dict(zip("ab", worth, strict=True))),
        Sense.MINIMIZE if is_cover else Sense.MAXIMIZE,
    )
    before = best(0.0)
    if before is None:
        assert measure_effects(milp, solve(milp)) == ()
        return
    expected = {1: best(0.01) - before, 10: best(0.1) - before}
    found = [(effect.name, dict(effect.changes)) for effect in measure_effects(milp, solve(milp))]
    assert found == ([("time", pytest.approx(expected))] if any(expected.values()) else [])


@pytest.mark.parametrize("kind", [INTEGER, VariableKind.CONTINUOUS])
def test_a_limit_binds_whole_jobs_beside_parts_that_are_not_worth_it(kind: VariableKind) -> None:
    # 9 hours are left, which a job does not need.
    milp = IndexedModel.from_records(
        (Variable("job", 0, 99, INTEGER), Variable("part", 0, 9, kind)),
        (
            Row("hours", {"job": 10, "part": 10}, Relation.AT_MOST, 99),
            Row("parts", {"part": 1}, Relation.AT_MOST, 5),
        ),
        Objective({"job": 5, "part": -1}),
        Sense.MAXIMIZE,
    )
    (effect,) = measure_effects(milp, solve(milp))
    assert (effect.name, dict(effect.changes)) == ("hours", {1: pytest.approx(0), 10: pytest.approx(5)})


def test_limits_that_leave_nothing_come_before_those_that_leave_less_than_a_piece(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(effects_module, "MAX_GROUPS", 1)
    milp = IndexedModel.from_records(
        (Variable("a", 0, 99, INTEGER), Variable("b", 0, 99, INTEGER)),
        (Row("rest", {"a": 2}, Relation.AT_MOST, 19), Row("nothing", {"b": 2}, Relation.AT_MOST, 20)),
        Objective({"a": 3, "b": 1}),
        Sense.MAXIMIZE,
    )
    assert [effect.name for effect in measure_effects(milp, solve(milp))] == ["nothing"]


def test_the_effect_of_an_integer_limit_is_that_of_a_new_solve() -> None:
    milp = IndexedModel.from_records(
        (Variable("x", kind=INTEGER), Variable("y", kind=INTEGER)),
        (
            Row("hours_a", {"x": 3, "y": 5}, Relation.AT_MOST, 100, "100 hours"),
            Row("hours_b", {"x": 2, "y": 1}, Relation.AT_MOST, 40, "40 hours"),
        ),
        Objective({"x": 5, "y": 4}),
        Sense.MAXIMIZE,
    )
    solution = solve(milp)
    for effect in measure_effects(milp, solution):
        for percent, change in effect.changes.items():
            best = max(
                5 * x + 4 * y
                for x in range(60)
                for y in range(60)
                if 3 * x + 5 * y <= 100 * (1 + percent / 100 * (effect.name == "hours_a"))
                and 2 * x + y <= 40 * (1 + percent / 100 * (effect.name == "hours_b"))
            )
            assert change == pytest.approx(best - (solution.objective or 0))


def test_an_infeasible_roster_says_how_many_are_missing_and_gives_the_best_plan() -> None:
    people = ["Ada", "Bo", "Cy", "Di"]
    works = tuple(Variable(f"works[{name}]", 0, 1, INTEGER) for name in people)
    need = Row("Thursday", {one.name: 1 for one in works}, Relation.AT_LEAST, 5, "Thursday needs five")
    milp = IndexedModel.from_records(works, (need,), Objective({one.name: 1 for one in works}), Sense.MINIMIZE)
    assert solve(milp).status is SolveStatus.INFEASIBLE
    plan = plan_with_shortages(milp)
    assert plan is not None
    assert [(one.sentence, one.wanted, one.possible) for one in plan.shortages] == [("Thursday needs five", 5, 4)]
    assert plan.solution is not None
    assert sum(plan.solution.values.values()) == 4


def test_a_plan_within_the_tolerance_of_the_objective_is_not_another_optimum() -> None:
    both = (Row("enough", {"x": 1.0, "y": 1.0}, Relation.AT_LEAST, 100.0),)
    for dearer, count in ((6e-4, 0), (0.0, 2)):
        costs = Objective({"x": 1.0, "y": 1.0 + dearer})
        milp = IndexedModel.from_records((Variable("x"), Variable("y")), both, costs, Sense.MINIMIZE)
        assert len(find_alternative(milp, solve(milp), {"x", "y"})) == count


def test_rows_that_a_choice_switches_off_have_no_effect_to_tell() -> None:
    """Two jobs of 3 and 4 hours on one machine: the order is a choice, and its constant is not a limit of anybody."""
    first, second, before, end = (Variable("a"), Variable("b"), Variable("a_first", 0, 1, INTEGER), Variable("end"))
    rows = (
        Row("a_then_b", {"a": 1.0, "b": -1.0, "a_first": 20.0}, Relation.AT_MOST, 17.0),
        Row("b_then_a", {"b": 1.0, "a": -1.0, "a_first": -20.0}, Relation.AT_MOST, -4.0),
        Row("end_a", {"end": 1.0, "a": -1.0}, Relation.AT_LEAST, 3.0, "a takes 3 hours"),
        Row("end_b", {"end": 1.0, "b": -1.0}, Relation.AT_LEAST, 4.0, "b takes 4 hours"),
    )
    milp = IndexedModel.from_records((first, second, before, end), rows, Objective({"end": 1.0}), Sense.MINIMIZE)
    solution = solve(milp)
    assert solution.objective == 7
    assert {effect.name for effect in measure_effects(milp, solution)} <= {"end_a", "end_b"}


def test_an_effect_is_that_on_the_most_important_aim_that_changes() -> None:
    """The first aim changes at 10 percent alone, and the second one at 1 percent already."""
    limits = (1.0, 1.01, 1.1)
    goal = FurtherObjective("count", {"x": 1, "y": 1}, Sense.MAXIMIZE, priority=1)
    milp = IndexedModel.from_records(
        (Variable("x", 0, 9, INTEGER), Variable("y", 0, 9)),
        (
            Row("hours", {"x": 2, "y": 2.0}, Relation.AT_MOST, 10),
            Row("space", {"x": 1, "y": 3.0}, Relation.AT_MOST, 9),
        ),
        Objective({"y": 5}),
        Sense.MINIMIZE,
        features=ModelFeatures(goals=(goal,)),
    )

    def best(name: str, factor: float) -> tuple[float, float]:
        hours, space = (10 * factor, 9) if name == "hours" else (10, 9 * factor)
        plans = [
            (x, min((hours - 2 * x) / 2, (space - x) / 3, 9.0)) for x in range(10) if 2 * x <= hours and x <= space
        ]
        return min((-x - y, 5 * y) for x, y in plans)

    solution = solve(milp)
    effects = measure_effects(milp, solution)
    assert effects
    for effect in effects:
        before = best(effect.name, 1.0)
        for percent, change in effect.changes.items():
            after = best(effect.name, limits[1] if percent == 1 else limits[2])
            steps = (before[0] - after[0], after[1] - before[1])
            aim = next(number for number, step in enumerate(steps) if abs(step) > 1e-9)
            assert (effect.aim, change) == (aim, pytest.approx(steps[aim], abs=1e-4))
    assert [effect.aim for effect in effects] == sorted(effect.aim for effect in effects)


def test_another_plan_with_the_same_values_of_all_aims_is_found() -> None:
    def model(cost: float) -> IndexedModel:
        goal = FurtherObjective("count", {"a": 1, "b": 1, "c": 1}, Sense.MAXIMIZE, priority=1)
        variables = tuple(Variable(name, 0, 1, INTEGER) for name in "abc")
        rows = (Row("two", {"a": 1, "b": 1, "c": 1}, Relation.AT_MOST, 2),)
        costs = Objective({"a": 1, "b": cost, "c": 3})
        return IndexedModel.from_records(variables, rows, costs, Sense.MINIMIZE, features=ModelFeatures(goals=(goal,)))

    # With equal costs of b and c, two plans cost 4; otherwise one plan is cheapest.
    for cost, is_unique in ((3.0, False), (2.0, True)):
        milp = model(cost)
        found = find_alternative(milp, solve(milp), "abc")
        assert bool(found) is not is_unique


@pytest.mark.parametrize("sense", Sense)
@pytest.mark.parametrize(
    ("base", "change", "shown"),
    [
        # A ten-millionth of the objective, or of 1 for small ones, is no effect.
        (1e6, 0.05, False), (1e6, 0.2, True), (-1e6, 0.05, False), (0.1, 0.5e-7, False), (0.1, 1.5e-7, True),
    ],
)  # fmt: skip
def test_an_effect_counts_beyond_the_tolerance(sense: Sense, base: float, change: float, shown: bool) -> None:
    """A limit of 4 becomes 0.4 wider, which is worth the change."""
    price = sense.sign * -change / 0.4
    milp = IndexedModel.from_records(
        (Variable("x"),), (Row("limit", {"x": 1.0}, Relation.AT_MOST, 4.0),), Objective({"x": price}, base - 4 * price), sense
    )  # fmt: skip
    effects = measure_effects(milp, solve(milp, duals=False))
    assert [effect.changes[10] for effect in effects] == (
        [pytest.approx(sense.sign * -change, rel=1e-3)] if shown else []
    )


@pytest.mark.parametrize(("relation", "sign"), [(Relation.AT_MOST, 1.0), (Relation.AT_LEAST, -1.0)])
@pytest.mark.parametrize("rhs", [8.0, -8.0])
def test_a_limit_is_loosened_by_a_share_of_its_size(relation: Relation, sign: float, rhs: float) -> None:
    """An upper limit grows and a lower one falls, also below 0; the change has the sign of the improvement."""
    sense = Sense.MAXIMIZE if relation is Relation.AT_MOST else Sense.MINIMIZE
    milp = IndexedModel.from_records(
        (Variable("x", -99),), (Row("limit", {"x": 1.0}, relation, rhs),), Objective({"x": 1.0}), sense
    )
    (effect,) = measure_effects(milp, solve(milp, duals=False))
    assert effect.changes == {1: pytest.approx(sign * 0.08), 10: pytest.approx(sign * 0.8)}
    assert (effect.relation, effect.limits, effect.size) == (str(relation), (rhs,), pytest.approx(0.8))


def test_effects_are_those_of_twelve_groups_by_size_and_within_the_time() -> None:
    names = [f"{a}{b}" for a in "ab" for b in "abcdefg"]
    rows = tuple(Row(name, {name: 1.0}, Relation.AT_MOST, 4.0 + at) for at, name in enumerate(names))
    milp = IndexedModel.from_records(
        tuple(map(Variable, names)), rows, Objective(dict.fromkeys(names, 1.0)), Sense.MAXIMIZE
    )
    solution = solve(milp, duals=False)
    effects = measure_effects(milp, solution)
    assert [effect.name for effect in effects] == names[11::-1]
    assert measure_effects(milp, solution, 0.0) == ()


def test_equalities_and_limits_that_do_not_bind_have_no_effect() -> None:
    rows = (
        Row("equal", {"x": 1.0, "y": 1.0}, Relation.EQUAL, 4.0), Row("loose", {"x": 1.0}, Relation.AT_MOST, 99.0),
        Row("none", {"y": 1.0}, Relation.AT_LEAST, 0.0), Row("limit", {"x": 1.0}, Relation.AT_MOST, 3.0),
    )  # fmt: skip
    milp = IndexedModel.from_records(
        (Variable("x"), Variable("y")), rows, Objective({"x": 2.0, "y": 1.0}), Sense.MAXIMIZE
    )
    assert [effect.name for effect in measure_effects(milp, solve(milp, duals=False))] == ["limit"]


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.booleans(), st.integers(0, 9)), min_size=1, max_size=3),
    st.sampled_from(Sense),
)
def test_the_least_shortage_is_that_of_enumeration(limits: list[tuple], sense: Sense) -> None:
    rows = tuple(
        Row(
            f"r{at}",
            {"x": float(a), "y": float(b)},
            Relation.AT_LEAST if low else Relation.AT_MOST,
            float(rhs),
            f"s{at}",
        )
        for at, (a, b, low, rhs) in enumerate(limits)
    )
    milp = IndexedModel.from_records(
        tuple(Variable(name, 0, 3, INTEGER) for name in "xy"), rows, Objective({"x": 1.0, "y": 2.0}), sense
    )
    totals = {}
    for x, y in itertools.product(range(4), repeat=2):
        over = [(rhs - a * x - b * y) * (1 if low else -1) for a, b, low, rhs in limits]
        totals[x, y] = sum(max(0, each) for each in over)
    least = min(totals.values())
    plan = plan_with_shortages(milp)
    if not least:
        assert plan is None
        return
    assert plan is not None
    assert plan.is_least
    assert sum(abs(each.wanted - each.possible) for each in plan.shortages) == pytest.approx(least)
    for each in plan.shortages:
        assert (each.possible < each.wanted) is (each.relation == ">=")
        assert each.sentence == each.name.replace("r", "s")
    assert plan.solution is not None
    point = (round(plan.solution.values["x"]), round(plan.solution.values["y"]))
    assert totals[point] == least


def test_decisions_of_another_plan_are_those_of_the_program() -> None:
    """The other optimum moves y and z; only decisions are shown, and a small move among large ones is noise."""
    rows = (
        Row("sum", {"x": 1.0, "y": 1.0}, Relation.EQUAL, 4.0),
        Row("copy", {"y": 1.0, "z": -1.0}, Relation.EQUAL, 0.0),
    )
    milp = IndexedModel.from_records(tuple(Variable(name, 0, 9) for name in "xyz"), rows, Objective({}), Sense.MINIMIZE)
    solution = solve(milp, duals=False)
    found = find_alternative(milp, solution, {"x", "y"})
    assert set(found) == {"x", "y"}
    assert found["x"] + found["y"] == pytest.approx(4)
    assert found["x"] != pytest.approx(solution.values["x"])
    assert find_alternative(milp, replace(solution, status=SolveStatus.FEASIBLE), {"x", "y"}) == {}
    for width, count in ((9.0, 0), (10.0, 0), (11.0, 1)):
        # 1 % of the largest decision, which is 1000.
        for big in (1000.0, -1000.0):
            noisy = IndexedModel.from_records(
                (Variable("big", big, big), Variable("x", 0, width)), (), Objective({}), Sense.MINIMIZE
            )
            solution = replace(solve(noisy, duals=False), values={"big": big, "x": 0.0})
            assert len(find_alternative(noisy, solution, {"big", "x"})) == count


def test_a_share_of_the_limit_without_an_effect_has_the_effect_0() -> None:
    """Whole products of two hours: 1 percent of 10 hours is not enough for another one, and 20 percent is."""
    milp = IndexedModel.from_records(
        (Variable("x", kind=INTEGER),), (Row("hours", {"x": 1.0}, Relation.AT_MOST, 10.0),), Objective({"x": 3.0}), Sense.MAXIMIZE
    )  # fmt: skip
    solution = solve(milp, duals=False)
    (effect,) = measure_effects(milp, solution)
    assert effect.changes == {1: 0.0, 10: 3.0}
    assert measure_effects(milp, replace(solution, status=SolveStatus.FEASIBLE)) == ()
    assert measure_effects(milp, replace(solution, status=SolveStatus.UNKNOWN, objective=None)) == ()


def test_each_solve_has_a_part_of_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds: list[float] = []

    def solve_in(milp: IndexedModel, limit_s: float, **options: object) -> object:
        seconds.append(limit_s)
        return solve(milp, duals=False)

    monkeypatch.setattr(effects_module, "solve_model", solve_in)
    rows = (Row("hours", {"x": 1.0}, Relation.AT_MOST, 10.0),)
    milp = IndexedModel.from_records((Variable("x"),), rows, Objective({"x": 3.0}), Sense.MAXIMIZE)
    measure_effects(milp, solve(milp, duals=False))
    assert seconds == [EACH_S] * 2
    measure_effects(milp, solve(milp, duals=False), EACH_S / 2)
    assert all(0 < each < EACH_S / 2 for each in seconds[2:])
    seconds.clear()
    plan_with_shortages(milp.with_records(rows=(*rows, Row("orders", {"x": 1.0}, Relation.AT_LEAST, 12.0))))
    find_alternative(milp, solve(milp, duals=False), {"x"})
    assert seconds == [TOTAL_S, EACH_S, EACH_S]


def test_a_search_for_shortages_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    limits: list[object] = []

    def find(arrays: object, **options: object) -> SimpleNamespace:
        limits.append(options)
        return SimpleNamespace(needed={}, total=None)

    monkeypatch.setattr(effects_module, "find_nearest", find)
    milp = IndexedModel.from_records((Variable("x"),), (), Objective({"x": 3.0}), Sense.MAXIMIZE)
    assert plan_with_shortages(milp) is None
    assert limits == [{"limit_s": TOTAL_S}]


def test_bounds_that_exclude_each_other_and_products_have_no_plan_with_shortages() -> None:
    row = Row("orders", {"x": 1.0}, Relation.AT_LEAST, 12.0)
    milp = IndexedModel.from_records(
        (Variable("x", 0, 9), Variable("y", 0.2, 0.8, INTEGER)), (row,), Objective({"x": 1.0}), Sense.MINIMIZE
    )
    assert plan_with_shortages(milp) is None
    milp = milp.with_records(variables=(Variable("x", 0, 9), Variable("y")))
    plan = plan_with_shortages(milp)
    assert plan is not None
    assert [(each.name, each.relation, each.wanted, each.possible) for each in plan.shortages] == [
        ("orders", ">=", 12.0, 9.0)
    ]
    squares = milp.with_records(features=ModelFeatures(quadratic=(QuadraticTerm("x", "x", 1.0),)))
    assert plan_with_shortages(squares) is None
    assert find_alternative(squares, replace(solve(squares), status=SolveStatus.OPTIMAL), {"x"}) == {}


@pytest.mark.parametrize("at", [1.0, 3.0])
def test_another_plan_lies_on_either_side(at: float) -> None:
    """Plans from x = 1 to x = 3 have the same worth; both decisions lie between their bounds."""
    rows = (
        Row("sum", {"x": 1.0, "y": 1.0}, Relation.AT_MOST, 4.0), Row("few", {"x": 1.0}, Relation.AT_MOST, 3.0),
        Row("some", {"x": 1.0}, Relation.AT_LEAST, 1.0), Row("optimum 0", {"y": 1.0}, Relation.AT_LEAST, -9.0),
    )  # fmt: skip
    milp = IndexedModel.from_records(
        (Variable("x", 0, 9), Variable("y", 0, 9)), rows, Objective({"x": 1.0, "y": 1.0}), Sense.MAXIMIZE
    )
    solution = replace(solve(milp, duals=False), values={"x": at, "y": 4.0 - at})
    assert find_alternative(milp, solution, {"x", "y"}) == {"x": pytest.approx(4.0 - at), "y": pytest.approx(at)}
    assert find_alternative(milp, solution, set()) == {}
    assert find_alternative(milp, solution, {"none"}) == {}


@pytest.mark.parametrize(
    ("terms", "rhs", "meaning", "shown"),
    [
        # The larger of two switches counts, whatever its sign and that of the limit.
        ({"x": 1.0, "open": 1.0, "shut": 4.0}, 4.0, "", False), ({"x": 1.0, "open": 1.0, "shut": 2.0}, 4.0, "", True),
        ({"x": 1.0, "open": -5.0}, 4.0, "", False), ({"x": -1.0, "open": 3.0}, -4.0, "", True), ({"x": -1.0, "open": 4.0}, -4.0, "", False),
        # A sentence of the problem is a limit of it, and so is one of switches alone or of none.
        ({"x": 1.0, "open": 4.0}, 4.0, "at most 4", True), ({"open": 1.0, "shut": 1.0}, 1.0, "", True), ({"x": 1.0}, 4.0, "", True),
    ],
)  # fmt: skip
def test_the_constant_of_a_switch_is_no_limit(terms: dict[str, float], rhs: float, meaning: str, shown: bool) -> None:
    """Each model has the row at its limit; a second limit after it has an effect in any case."""
    relation = Relation.AT_MOST
    rows = (Row("row", terms, relation, rhs, meaning), Row("last", {"z": 1.0}, relation, 5.0))
    variables = (Variable("x"), Variable("open", 0, 1, INTEGER), Variable("shut", 0, 1, INTEGER), Variable("z"))
    worth = {name: value if name == "x" else 0.1 * value for name, value in terms.items()}
    milp = IndexedModel.from_records(variables, rows, Objective({**worth, "z": 1.0}), Sense.MAXIMIZE)
    solution = solve(milp, duals=False)
    point = dict(solution.values)
    assert sum(value * point[name] for name, value in terms.items()) == pytest.approx(rhs)
    groups = effects_module._group_rows(milp, solution)
    assert [name for name, _ in groups] == (["row"] if shown else []) + ["last"]


@pytest.mark.parametrize(
    ("base", "step", "aim"),
    [
        (1e6, 0.05, 1),
        (-1e6, 0.05, 1),
        (-1e6, -0.05, 1),
        (1e6, 0.2, 0),
        (-1e6, 0.2, 0),
        (-1e6, -0.2, 0),
        (0.5, 0.9e-7, 1),
        (0.5, 1.5e-7, 0),
        (-0.5, 0.9e-7, 1),
    ],
)
def test_the_most_important_aim_changes_beyond_its_tolerance(
    monkeypatch: pytest.MonkeyPatch, base: float, step: float, aim: int
) -> None:
    """The first aim changes by a step, and the second one by 1."""
    goal = FurtherObjective("first", {"x": 1.0}, Sense.MAXIMIZE, base, priority=1)
    row = Row("limit", {"x": 1.0, "z": 1.0}, Relation.AT_MOST, 4.0)
    milp = IndexedModel.from_records(
        tuple(Variable(name, -9, 9) for name in "xyz"), (row,), Objective({"y": 1.0}), Sense.MAXIMIZE, features=ModelFeatures(goals=(goal,))
    )  # fmt: skip
    before = Solution(
        SolveStatus.OPTIMAL,
        objective=2.0,
        values={"x": 0.0, "y": 2.0, "z": 4.0},
        activities={"limit": 4.0},
        slacks={"limit": 0.0},
    )
    after = Solution(SolveStatus.OPTIMAL, objective=3.0, values={"x": step, "y": 3.0, "z": 4.0})
    monkeypatch.setattr(effects_module, "solve_model", lambda milp, seconds: after)
    (effect,) = measure_effects(milp, before)
    assert effect.aim == aim
    assert effect.changes == dict.fromkeys((1, 10), pytest.approx(step if aim == 0 else 1.0, rel=1e-3))
    # What was not proven in time has no effect.
    rough = replace(after, status=SolveStatus.FEASIBLE)
    monkeypatch.setattr(effects_module, "solve_model", lambda milp, seconds: rough)
    assert measure_effects(milp, before) == ()


def test_limits_of_one_sentence_have_the_name_of_the_first_of_them() -> None:
    named = (("oven_1", "12 hours"), ("mill_1", "12 hours"), ("flour_a", ""), ("flour_b", ""), ("water", "9 litres"))
    rows = tuple(Row(name, {name: 1.0}, Relation.AT_MOST, 3.0, meaning) for name, meaning in named)
    milp = IndexedModel.from_records(
        tuple(Variable(name) for name, _ in named), rows, Objective(dict.fromkeys((name for name, _ in named), 1.0)), Sense.MAXIMIZE
    )  # fmt: skip
    effects = {
        effect.name: (effect.rows, effect.sentence) for effect in measure_effects(milp, solve(milp, duals=False))
    }
    assert effects == {"oven": (2, "12 hours"), "flour": (2, ""), "water": (1, "9 litres")}

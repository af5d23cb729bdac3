"""An answer is explained in the words of the problem: what binds, what a unit more is worth, what would change it."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from oragent.formulate import explain as explaining
from oragent.formulate.checks import CheckStatus
from oragent.formulate.explain import (
    MAX_LABEL_LENGTH,
    add_sentences,
    break_down,
    constraint_sentences,
    data_labels,
    group_decisions,
    plan_schedule,
    row_sentences,
    shown_families,
)
from oragent.formulate.problem import DEFAULT
from oragent.formulate.prompting import PoolEntry
from oragent.formulate.running import FormulationRunner
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.intervals import PlanInterval, TimeExpression
from oragent.modelling.data.model_records import Objective, Row, Variable
from oragent.modelling.data.model_values import Relation, Sense, VariableKind
from oragent.modelling.data.names import group_by_names
from oragent.modelling.data.solution import Solution, SolveStatus
from oragent.modelling.operations.explanation import explain
from oragent.modelling.solving.inverse_costs import inverse_costs
from oragent.modelling.solving.model_solving import point_vector, solve
from oragent.report.pages.value_tables import DecisionFamily, DecisionKind
from tests.formulate.results import BAKERY, ROWS, checks_of, result_of

STEEL = {
    "products": ["bands", "coils", "plate"], "rate": [200, 140, 160], "profit": [25, 30, 29],
    "least": [1000, 500, 750], "most": [6000, 4000, 3500], "hours": 40,
}  # fmt: skip
PROGRAM = """
import pulp
def solve(data):
    problem = pulp.LpProblem("steel", pulp.LpMaximize)
    tons = [pulp.LpVariable(n, data["least"][i], data["most"][i]) for i, n in enumerate(data["products"])]
    problem += pulp.lpSum(data["profit"][i] * tons[i] for i in range(3))
    problem += pulp.lpSum(tons[i] * {share} for i in range(3)) <= data["hours"], "hours_a_week"
    problem.solve()
    return {{"status": pulp.LpStatus[problem.status], "optimized_vars": {{"tons": tons}}}}
"""


@pytest.mark.slow
def test_the_published_steel_mill_is_solved_from_its_data_and_explained(runner: FormulationRunner) -> None:
    ran = runner.run_program(PROGRAM.format(share='(1 / data["rate"][i])'), DEFAULT, STEEL)
    assert ran.objective == pytest.approx(194828.5714, abs=5e-5)
    assert ran.values == {"tons": [6000.0, 500.0, pytest.approx(1028.5714, abs=5e-5)]}
    assert ran.milp is not None
    (hours,) = [entry for entry in explain(group_by_names(ran.milp)).ranges if entry.of == "right-hand side"]
    assert hours.name == "hours_a_week"
    assert (hours.low, hours.high) == (pytest.approx(38.2589, abs=1e-4), pytest.approx(55.4464, abs=1e-4))
    assert hours.price is not None
    assert hours.price.value == pytest.approx(4640)


@pytest.mark.slow
def test_the_error_of_the_published_repair_names_its_line(runner: FormulationRunner) -> None:
    ran = runner.run_program(PROGRAM.format(share='tons[i] ** -1 * data["rate"][i]'), DEFAULT, STEEL)
    assert "TypeError" in ran.message
    assert "line 7, in solve" in ran.traceback or "line 7, in <genexpr>" in ran.traceback


def test_what_would_make_another_solution_optimal_is_the_least_change_of_costs(runner: FormulationRunner) -> None:
    ran = runner.run_program(PROGRAM.format(share='(1 / data["rate"][i])'), DEFAULT, STEEL)
    assert ran.milp is not None
    point = point_vector(ran.milp, {"bands": 6000, "coils": 743.75, "plate": 750})
    costs = inverse_costs(ran.milp.to_staged_arrays(), point)
    assert costs is not None
    new = dict(zip(ran.milp.flat_variable_names, costs.tolist(), strict=True))
    # No more an hour than coils earn; the others stay.
    assert new == {**ran.milp.objective_record.terms, "plate": pytest.approx(30 * 140 / 160)}


def test_rows_get_the_sentences_that_the_formalization_gives(runner: FormulationRunner) -> None:
    said = {"CONSTRAINTS": ["Hours a week: \\sum t_i / r_i \\le 40 -- the mill runs 40 hours a week", "odd", 5]}
    known = constraint_sentences([PoolEntry("formalization", "", said), PoolEntry("compiler", "text")])
    ran = runner.run_program(PROGRAM.format(share='(1 / data["rate"][i])'), DEFAULT, STEEL)
    assert ran.milp is not None
    assert add_sentences(ran.milp, known).row_records[0].meaning == "the mill runs 40 hours a week"


TUPLES = """
import pulp
def solve(data):
    problem = pulp.LpProblem("m", pulp.LpMinimize)
    ship = {(p, s, w): pulp.LpVariable(f"ship[{p},{s},{w}]", 1) for p in data["plants"] for s in data["shops"]
            for w in range(1, 3)}
    serves = {(p, s): pulp.LpVariable(f"serves[{p},{s}]", 1) for p in data["plants"] for s in data["shops"]}
    problem += pulp.lpSum(ship.values()) + pulp.lpSum(serves.values())
    problem.solve()
    return {"optimized_vars": {"ship": ship, "serves": serves}}
"""


def test_keys_that_are_tuples_of_labels_are_indices(runner: FormulationRunner) -> None:
    data = {"plants": ["Köln", "Lyon"], "shops": ["Shop 01", "Shop 02"]}
    ran = runner.run_program(TUPLES, DEFAULT, data)
    assert ran.milp is not None
    assert ran.solution is not None
    found = SimpleNamespace(columns=ran.columns, data=data, pool=(), intervals=(), is_schedule=False)
    by_name = {family.name: family for family in group_decisions(found, ran.milp, ran.solution)}
    assert ("Lyon", "Shop 01", "2") in by_name["ship"].entries
    assert ("Köln", "Shop 01") in by_name["serves"].entries


def formalization(**facts: object) -> PoolEntry:
    return PoolEntry("formalization", "", dict(facts))


@pytest.mark.parametrize(
    ("listed", "sentences"),
    [
        (["oven: 2 y <= 12 -- The oven has 12 hours"], {"oven": "The oven has 12 hours"}),
        (["The oven: a -- b -- the last one"], {"theoven": "the last one"}),
        # No sentence, no LaTeX before it, no text behind the mark, no list.
        (["oven: 2 y <= 12"], {}), (["-- alone"], {}), (["oven: 2 y -- "], {}), (["oven: 2 y --  "], {}), ("oven: a -- b", {}),
        (["a: 1 -- one", "b: 2 -- two", "a: 3 -- three"], {"a": "three", "b": "two"}),
    ],
)  # fmt: skip
def test_the_sentence_of_a_constraint_is_what_stands_last(listed: object, sentences: dict[str, str]) -> None:
    pool = [PoolEntry("program", "text"), formalization(CONSTRAINTS=listed), formalization(UNIT="EUR")]
    assert constraint_sentences(pool) == sentences


def test_a_row_has_its_own_sentence_then_that_of_the_checker_then_that_of_the_program() -> None:
    pool = (formalization(CONSTRAINTS=["dough: x <= 4 -- program", "O-ven: 2 y -- program"]),)
    result = result_of(BAKERY, pool=pool)
    assert row_sentences(result) == {"dough": "program", "oven": "program"}
    checked = result_of(BAKERY, pool=pool, checks={**checks_of(CheckStatus.PASSED), "sentences": {"dough": "checker"}})
    assert row_sentences(checked) == {"dough": "checker", "oven": "program"}
    rows = (*ROWS, Row("Dough 2", {"y": 1.0}, Relation.AT_MOST, 99.0))
    named = add_sentences(BAKERY.with_records(rows=rows), {"dough": "a", "dough2": "b", "Dough 2": ""})
    assert [row.meaning for row in named.row_records] == [ROWS[0].meaning, ROWS[1].meaning, "a", "b"]


def grouped(
    names: list[str],
    columns: object = None,
    kind: VariableKind = VariableKind.CONTINUOUS,
    high: float = 9.0,
    **fields: object,
) -> dict[str, DecisionFamily]:
    """Families of a plan in which each variable is 1."""
    variables = tuple(Variable(name, 0, high, kind) for name in names)
    milp = IndexedModel.from_records(variables, (), Objective(dict.fromkeys(names, 1.0)), Sense.MINIMIZE)
    solution = Solution(SolveStatus.OPTIMAL, objective=float(len(names)), values=dict.fromkeys(names, 1.0))
    result = result_of(milp, columns=columns, **fields)
    families = shown_families(result, solution)
    assert {family.name for family in families} == {family.name for family in group_decisions(result, milp, solution)}
    return {family.name: family for family in families}


def test_of_returned_variables_only_those_are_decisions_in_the_order_of_the_data() -> None:
    names = ["x[b]", "x[a]", "aux"]
    columns = {"x": {"b": "x[b]", "a": "x[a]"}}
    families = grouped(names, columns, data={"kinds": ["a", "b"]})
    assert {name: list(family.entries) for name, family in families.items()} == {"x": [("a",), ("b",)]}
    assert set(grouped(names)) == {"x", "aux"}
    result = result_of(BAKERY)
    assert shown_families(result, None) == ()
    assert break_down(result, None) == ((), ())
    assert plan_schedule(result, None) is None
    missing = replace(result, milp=None)
    solution = Solution(SolveStatus.OPTIMAL, objective=0.0, values={"x": 0.0, "y": 0.0})
    assert (shown_families(missing, solution), break_down(missing, solution), plan_schedule(missing, solution)) == (
        (), ((), ()), None
    )  # fmt: skip


@pytest.mark.parametrize(
    ("columns", "name"),
    [
        # The keys are read in place of a name without indices; a name with a prefix says more than its key.
        ({"ship": {"Lyon": "v1"}}, "ship[Lyon]"), ({"ship": {"Lyon": "ship_v1"}}, "ship[Lyon]"),
        ({"ship": "a ship"}, "a ship"), ({"ship": "aship"}, "aship"), ({"a-b": {"Lyon": "a_b"}}, "a-b[Lyon]"),
        ({"ship": ["v1"]}, "ship[0]"), ({"ship,Lyon": {"x": "ship"}}, "ship,Lyon[x]"),
        # A comma in a label is no separator.
        ({"ship": {"Nord, Ost": "v1"}}, "ship['Nord, Ost']"), ({"ship": {"Lyon,Nice": "v1"}}, "ship[Lyon,Nice]"),
    ],
)  # fmt: skip
def test_variables_are_named_by_the_keys_under_which_they_were_returned(columns: object, name: str) -> None:
    names = [path[-1] for path in explaining._iterate_paths(columns)]
    assert list(grouped(names, columns, data={"towns": ["Lyon", "Nice"]})) == [name]


WHOLE = VariableKind.INTEGER


@pytest.mark.parametrize(
    ("name", "facts", "fields", "kind", "unit"),
    [
        ("make", [], {}, DecisionKind.AMOUNT, ""), ("make", ["make: loaves, kg, continuous"], {}, DecisionKind.AMOUNT, "kg"),
        ("make", ["make: loaves, kg, choice"], {}, DecisionKind.CHOICE, "kg"), ("make", ["make: when, h, Time"], {}, DecisionKind.TIME, "h"),
        # A time by its name alone, beside words that say nothing.
        ("start", [], {}, DecisionKind.TIME, ""), ("start_time", [], {}, DecisionKind.TIME, ""), ("job_end", [], {}, DecisionKind.TIME, ""),
        ("oven_start", [], {}, DecisionKind.AMOUNT, ""), ("makespan", [], {}, DecisionKind.TIME, ""), ("time", [], {}, DecisionKind.AMOUNT, ""),
        ("make", ["make: x, minutes since 08:00, integer"], {}, DecisionKind.TIME, "minutes since 08:00"),
        # Whole numbers without a unit count things in a schedule.
        ("make", [], {"is_schedule": True}, DecisionKind.CHOICE, ""), ("make", ["make: x, kg, integer"], {"is_schedule": True}, DecisionKind.AMOUNT, "kg"),
        ("make", [], {"kind": WHOLE, "high": 1.0, "is_schedule": True}, DecisionKind.YES_NO, ""), ("start", [], {"kind": WHOLE, "high": 1.0}, DecisionKind.YES_NO, ""),
        ("make", [], {"kind": WHOLE, "high": 2.0}, DecisionKind.AMOUNT, ""), ("make", [], {"high": 1.0}, DecisionKind.AMOUNT, ""),
    ],
)  # fmt: skip
def test_the_kind_of_a_decision_is_stated_or_follows_from_its_bounds_its_name_and_its_unit(
    name: str, facts: list[str], fields: dict, kind: DecisionKind, unit: str
) -> None:
    family = grouped(
        [f"{name}[a]", f"{name}[b]"], pool=(formalization(VARIABLES=[*facts, "other: x, m, choice"]),), **fields
    )[name]
    assert (family.kind, family.unit) == (kind, unit)
    assert (family.scale is not None) is ("since" in unit)


def test_a_family_is_yes_or_no_if_each_of_its_members_is() -> None:
    variables = (Variable("x[a]", 0, 1, WHOLE), Variable("x[b]", 0, 2, WHOLE))
    milp = IndexedModel.from_records(variables, (), Objective({"x[a]": 1.0}, unit="EUR"), Sense.MINIMIZE)
    (family,) = group_decisions(result_of(milp), milp, Solution(SolveStatus.OPTIMAL, values={"x[a]": 0.0, "x[b]": 0.0}))
    assert family.kind is DecisionKind.AMOUNT
    # The unit of the model counts before that of the formalization.
    milp = IndexedModel.from_records((Variable("x", unit="t"),), (), Objective({"x": 1.0}), Sense.MINIMIZE)
    result = result_of(milp, pool=(formalization(VARIABLES=["x: loaves, kg, continuous"]),))
    (family,) = group_decisions(result, milp, Solution(SolveStatus.OPTIMAL, values={"x": 0.0}))
    assert family.unit == "t"


@pytest.mark.parametrize("side", ["start", "end"])
def test_what_begins_or_ends_an_interval_is_a_time_and_no_part_of_a_sum(side: str) -> None:
    sides = {"start": TimeExpression({"x": 1.0}), "end": TimeExpression({"x": 1.0}, 2.0)} if side == "start" else {
        "start": TimeExpression({}, 0.0), "end": TimeExpression({"x": 1.0})
    }  # fmt: skip
    interval = PlanInterval("bake", sides["start"], sides["end"], "oven", {}, False)
    result = result_of(BAKERY, intervals=(interval,))
    solution = solve(BAKERY)
    kinds = {family.name: family.kind for family in shown_families(result, solution)}
    assert kinds == {"x": DecisionKind.TIME, "y": DecisionKind.AMOUNT}
    schedule = plan_schedule(result, solution)
    assert schedule is not None
    times = [(round(bar.start, 6), round(bar.end, 6)) for bar in schedule.bars]
    assert times == [(3.0, 5.0) if side == "start" else (0.0, 3.0)]
    # Without a time, the objective has two parts, and limits are used.
    parts, uses = break_down(result_of(BAKERY), solution)
    assert {part.name: round(part.value, 6) for part in parts} == {"x": 9.0, "y": 30.0}
    assert uses
    assert break_down(result, solution)[0] == ()
    assert break_down(result_of(BAKERY, status="infeasible"), solution)[0] == ()


def test_labels_are_short_texts_of_the_data_and_inner_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    longest = "l" * MAX_LABEL_LENGTH
    data = {"towns": ["a", longest, longest + "l", "17", "", "b1"], "by": {"key": 3}}
    columns = {
        "ship": {"inner": {"Lyon": "v1"}, "a,b1": {"x": "v2"}, "a,9": "v3", "a,Rome": {"y": "v4"}, "5": {"z": "v5"}}
    }
    expected = ["a", longest, "b1", "key", "inner", "Lyon", "x", "a,Rome", "y", "z"]
    assert list(data_labels(result_of(BAKERY, data=data, columns=columns))) == expected
    # With a limit, those of the data come first.
    for limit in (2, 5):
        monkeypatch.setattr(explaining, "MAX_LABELS", limit)
        assert list(data_labels(result_of(BAKERY, data=data, columns=columns))) == expected[:limit]

"""Details of results: which rows bind newly, changes between scenarios, shown parts, limits on their number, notes."""

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from oragent._base.errors import ModellingError
from oragent.modelling.data.arrays import Arrays, Sparse
from oragent.modelling.data.builder import IndexedModelBuilder
from oragent.modelling.data.features import ModelFeatures, QuadraticTerm
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.model_records import Objective, Row, Variable
from oragent.modelling.data.model_values import Relation, Sense, VariableKind
from oragent.modelling.data.names import group_by_names
from oragent.modelling.data.solution import SolveStatus
from oragent.modelling.files.model_files import write
from oragent.modelling.operations import ModelSession, SolveLimits, conflicting, state
from oragent.modelling.operations.outcomes import (
    Outcome,
    OutcomePool,
    ScenarioModel,
    bounds_hold,
    compare_outcomes,
    difference_span,
    is_tighter,
    with_row,
)
from oragent.modelling.operations.points import parse_csv, parse_json, parse_output, read_solution
from oragent.modelling.operations.results import Figure
from oragent.modelling.operations.slices import find_label, fold, nearest_names, same_figures
from oragent.modelling.operations.stages import limit_objective
from oragent.modelling.operations.state import figure_difference, is_decided
from tests.modelling import indexed_models as models
from tests.modelling.shops import COLUMNS, fixed_shop

INF = np.inf
OPTIMAL, BEST, OPEN = SolveStatus.OPTIMAL, SolveStatus.FEASIBLE, SolveStatus.UNKNOWN
NONE, FREE = SolveStatus.INFEASIBLE, SolveStatus.UNBOUNDED


def shop(sign: int = 1, gains: bool = True) -> ModelSession:
    return fixed_shop(sign, gains).session()


def refused(session: ModelSession, line: str) -> str:
    with pytest.raises(ModellingError) as problem:
        session.ask(line)
    assert "\n" not in str(problem.value)
    return str(problem.value)


def test_a_new_row_that_binds_binds_newly_and_a_dropped_one_is_not_listed() -> None:
    session = shop()
    bound = {member.name for member in session.ask("binding").members}
    few = session.ask("whatif row few: sum make + batch <= 1")
    assert "few" in {member.name for member in few.newly_binding}
    assert {member.name for member in few.no_longer_binding} <= bound
    assert "wide" not in {member.name for member in session.ask("whatif row wide: sum make <= 99").newly_binding}
    dropped = session.ask("whatif drop tie")
    assert "tie" in bound
    assert "tie" not in {member.name for member in (*dropped.newly_binding, *dropped.no_longer_binding)}


def test_changes_that_lead_from_one_scenario_to_another() -> None:
    session = shop()
    session.run(["need += 1", "keep one", "tie += 1", "keep two", "scenario base", "make[a] <= 3", "keep other"])
    changes = {
        ("base", "two"): ("need += 1", "tie += 1"),
        ("one", "two"): ("tie += 1",),
        ("two", "one"): ("need += 1",),
        ("two", "two"): (),
        ("one", "other"): ("make[a] <= 3",),
        ("one", "base"): (),
    }
    for (first, second), expected in changes.items():
        result = session.ask(f"compare {first} {second}")
        assert (result.changes, result.scenario) == (expected, first)
    assert session.ask("undo").scenario == "base"
    assert session.ask("scenario two").scenario == "two"
    assert session.ask("need += 1").scenario == "base + 3"
    assert session.ask("whatif tie += 1").scenario == "base + 3"


@pytest.mark.parametrize(
    ("line", "count"),
    [("whatif need += 1", 0), ("whatif objective waste", 1), ("whatif objective profit: minimize sum make", 1)],
)
def test_a_comparison_of_different_objectives_says_so(line: str, count: int) -> None:
    assert len(shop(-1).ask(line).warnings) == count


@pytest.mark.parametrize("sign", [1, -1])
def test_a_conflict_belongs_to_an_infeasible_trial_alone(sign: int) -> None:
    session = shop(sign)
    right, wrong = session.ask("whatif need += 1"), session.ask("whatif need = 99")
    assert (right.conflict, right.status_before, right.status_after) == ((), "optimal", "optimal")
    assert wrong.conflict
    assert (wrong.decided, wrong.continue_with, wrong.moved) == (True, "", ())
    assert wrong.objective.difference == Figure(unit="EUR")
    assert (wrong.newly_binding, wrong.no_longer_binding, wrong.objectives) == ((), (), ())
    session.ask("need = 99")
    back = session.ask("whatif need = 1")
    assert (back.conflict, back.decided, back.status_before) == ((), True, "infeasible")


def test_an_unproven_point_has_no_accuracy_and_a_gap() -> None:
    limits = SolveLimits(gap=0.3, nodes=1)
    result = ModelSession(models.lots(), limits).ask("solve")
    assert (result.status, result.accuracy) == ("feasible", "")
    assert shop().ask("solve").accuracy
    session = shop()
    session.ask("need = 99")
    result = session.ask("solve")
    assert (result.status, result.accuracy, result.gap, result.families, result.objectives) == (
        "infeasible", "", None, (), (),
    )  # fmt: skip


@pytest.mark.parametrize("sign", [1, -1])
def test_figures_of_an_interval_are_subtracted_end_by_end(sign: int) -> None:
    first, second = Figure(value=5, low=4, high=7, unit="a"), Figure(value=2, low=1, high=3, unit="b")
    assert figure_difference(first, second) == Figure(value=-3, low=-6, high=-1, unit="b")
    assert figure_difference(first, Figure(value=2, low=1, unit="b")) == Figure(value=-3, low=-6, unit="b")
    assert figure_difference(Figure(value=5, high=7), second) == Figure(value=-3, low=-6, unit="b")
    assert figure_difference(Figure(), second).value is None
    for low, high, decided in (
        (0, 1, True),
        (-1, 0, True),
        (-1, 1, False),
        (None, 1, False),
        (-1, None, False),
        (2, None, True),
        (None, -2, True),
    ):
        assert is_decided(Figure(low=low, high=high)) is decided


def test_objectives_of_a_trial_have_their_differences() -> None:
    session = shop()
    result = session.ask("whatif need += 2")
    before, after = (
        {part.name: part.value.value for part in asked.objectives}
        for asked in (session.ask("solve"), session.run(["need += 2", "solve"])[1])
    )
    assert {part.name for part in result.objectives} == {"profit", "waste"}
    for part in result.objectives:
        first, second = before[part.name], after[part.name]
        assert (part.before.value, part.after.value) == (first, second)
        step = pytest.approx(second - first)
        assert (part.difference.value, part.difference.low, part.difference.high) == (step, step, step)


def test_an_objective_is_one_figure() -> None:
    session = shop()
    for line in (
        "objective o: minimize sum make by good",
        "most sum make by good",
        "most 3",
        "objective o: minimize stock[p]",
    ):
        refused(session, line)
    session.ask("row each: sum make by good <= 1")
    assert refused(session, "row each: sum make <= 1")
    assert refused(session, "row data: stock[p] <= 1")
    # A sum by a set of one label is one row, but an objective by it is refused too.
    builder = IndexedModelBuilder("one")
    builder.add_set("s", ["a"])
    columns = builder.add_variables("x", ["s"], high=3.0)
    builder.set_objective("o", "maximize", columns)
    refused(ModelSession(builder.build()), "objective p: minimize sum x by s")
    assert ModelSession(builder.build()).ask("whatif objective p: minimize sum x + 2").objective.after.value == 2


def test_an_unbounded_expression_has_no_figure_and_a_missing_limit_is_named() -> None:
    session = shop()
    session.run(["objective waste", "upper(make) = inf", "drop room"])
    result = session.ask("most sum make")
    assert (result.status, result.figure.value, result.figure.unit) == ("unbounded", None, "t")
    assert session.ask("least sum make").figure.value is not None
    session.ask("need = 99")
    session.ask("forbid make")
    refused(session, "most sum make")
    for line in (
        "frontier profit profit",
        "frontier profit none",
        "frontier profit waste",
        "price need",
        "range need",
        "why need",
    ):
        refused(session, line)


def test_alternatives_end_with_the_last_one_and_say_whether_all_were_found() -> None:
    session = shop()
    every = session.ask("alternatives 9")
    assert every.complete
    for count in range(1, len(every.solutions) + 1):
        fewer = session.ask(f"alternatives {count}")
        assert (fewer.complete, fewer.solutions) == (False, every.solutions[:count])
    # A linear model with one optimum has no other one.
    linear = ModelSession(replace(fixed_shop(1, gains=False).model(), integer=np.zeros(5, dtype=bool)))
    point = linear.study.point(linear.study.present)
    for solution in linear.ask("alternatives 5").solutions:
        assert solution.difference.value == pytest.approx(0, abs=1e-6)
        assert solution.moved
    assert len(point) == 5


def test_a_whole_variable_that_is_not_binary_has_other_optima() -> None:
    variables = [Variable("x", 0, 3, VariableKind.INTEGER), Variable("y", 0, 3, VariableKind.INTEGER)]
    row = Row("sum", {"x": 1, "y": 1}, Relation.AT_MOST, 3)
    flat = IndexedModel.from_records(variables, [row], Objective({"x": 1, "y": 1}), Sense.MAXIMIZE)
    session = ModelSession(group_by_names(flat))
    solutions = session.ask("alternatives 3").solutions
    assert solutions
    assert all(solution.objective.value == 3 and solution.moved for solution in solutions)
    alone = IndexedModel.from_records(variables, [row], Objective({"x": 2, "y": 1}), Sense.MAXIMIZE)
    assert ModelSession(group_by_names(alone)).ask("alternatives 3").solutions == ()


def test_differences_are_ordered_by_size_in_both_directions(tmp_path: Path) -> None:
    session = shop()
    session.run(["need(make[a]) -= 9", "need(make[b]) += 4", "need(batch) -= 1", "need(open[a]) += 2"])
    write(session.model, tmp_path / "other.json")
    entries = shop().ask(f'diff "{tmp_path}/other.json"').entries
    (largest,) = [entry.largest for entry in entries if entry.of == "coefficients"]
    assert [name for name, _, _ in largest] == ["need, make[a]", "need, make[b]", "need, open[a]", "need, batch"]
    session = shop()
    session.run(["stock[p] -= 9", "stock[q] += 4", "upper(make[b]) = inf", "upper(make[a]) += 1"])
    write(session.model, tmp_path / "other.json")
    largest = {(entry.of, entry.name): entry.largest for entry in shop().ask(f'diff "{tmp_path}/other.json"').entries}
    assert [name for name, _, _ in largest["data", "stock"]] == ["stock[p]", "stock[q]"]
    assert largest["upper bounds", "make"] == (("make[b]", 4.0, None), ("make[a]", 4.0, 5.0))


def test_relations_objectives_constants_and_sets_that_differ(tmp_path: Path) -> None:
    base = fixed_shop(1)
    for other, expected in (
        (replace(base, relations=np.array([-1, -1, -1, 0])), [("relations", "need", "changed", 1)]),
        (replace(base, relations=np.array([-1, -1, 1, 1])), [("relations", "tie", "changed", 1)]),
        (replace(base, constant=2.0), [("objective", "constant", "changed", 1)]),
        (
            replace(base, sign=-1),
            [("objective", "minimize profit", "removed", 1), ("objective", "maximize profit", "added", 1)],
        ),
        (base, []),
    ):
        write(other.model(), tmp_path / "other.json")
        entries = base.session().ask(f'diff "{tmp_path}/other.json"').entries
        assert [(entry.of, entry.name, entry.change, entry.members) for entry in entries] == expected
        figures = [entry.largest for entry in entries if entry.name == "constant"]
        assert figures == ([(("profit", 1.0, 2.0),)] if other.constant == 2.0 else [])
    session = base.session()
    session.ask("objective waste then profit")
    write(session.model, tmp_path / "other.json")
    entries = base.session().ask(f'diff "{tmp_path}/other.json"').entries
    assert ("objective", "minimize waste", "added") in [(entry.of, entry.name, entry.change) for entry in entries]
    both = base.session()
    both.ask("objective profit then waste")
    (entry,) = [
        entry
        for entry in both.ask(f'diff "{tmp_path}/other.json"').entries
        if entry.of == "objective" and entry.name != "constant"
    ]
    assert (entry.name, entry.change, entry.members) == ("minimize waste then minimize profit", "changed", 2)


def sets_model(labels: list[str], name: str = "town", **more: object) -> IndexedModel:
    builder = IndexedModelBuilder("sets")
    builder.add_set(name, labels)
    columns = builder.add_variables("x", [name], high=3.0, **more)
    builder.set_objective("o", "maximize", columns)
    return builder.build()


def test_labels_of_sets_that_differ(tmp_path: Path) -> None:
    write(sets_model(["a", "c"], "Town"), tmp_path / "other.json")
    entries = ModelSession(sets_model(["a", "b"])).ask(f'diff "{tmp_path}/other.json"').entries
    expected = [("set", "Town", "removed", ("b",)), ("set", "Town", "added", ("c",))]
    found = [(entry.of, entry.name, entry.change, tuple(name for name, _, _ in entry.largest)) for entry in entries]
    assert found[:2] == expected
    assert [entry.members for entry in entries] == [1, 1, 1, 1]
    assert found[2:] == [("variables", "x", "removed", ()), ("variables", "x", "added", ())]


def test_changes_that_no_model_allows_are_refused_and_change_nothing() -> None:
    session = shop()
    before = session.ask("solve").objective
    for line in (
        "make += 1", "make = 1 %", "make = inf", "batch = 0.5", "stock <= 3", "make <= inf", "make >= 1e16", "room >= 3",
        "need <= 3", "tie <= 0", "relax tie by 1", "relax need by -1", "relax need by inf", "relax stock by 1",
        "stock = inf", "stock = 1e16", "need = inf", "stock *= inf", "none(make) = 1", "room(open[b]) = inf",
        "lower(make) = 99", "upper(make) = -1", "lower(make) = inf", "upper(make) = -inf", "make >= 99",
        "objective profit + profit", "objective profit then profit", "objective none", "drop make", "forbid room", "free need",
        "row need: make[a] <= 1", "price make by 0", "price make by -1", "price make by inf", "top 1 room by cost",
        "top 1 stock by margin", "top 1 room by margin", "total room", "total make by kind", "undo 1", "keep", "keep base", "keep Base",
        "scenario none", "compare base none", "value none", "value make[c]", "value make[a, b]", "value make[b..a]", "why make",
    ):  # fmt: skip
        refused(session, line)
    assert session.ask("solve").objective == before
    assert session.study.changes == ()
    session.ask("upper(make) = inf")
    assert session.ask("data make[a]").members[0].high.value is None


def test_coefficients_can_be_set_only_where_there_are_some() -> None:
    variables = [Variable("x", 0, 4), Variable("y", 0, 4)]
    row = Row("cap", {"x": 1}, Relation.AT_MOST, 3)
    flat = IndexedModel.from_records(variables, [row], Objective({"x": 1, "y": 1}), Sense.MAXIMIZE)
    session = ModelSession(group_by_names(flat))
    refused(session, "cap(y) = 1")
    assert session.ask("whatif cap(x) = 2").objective.after.value == pytest.approx(5.5)
    session.ask("row objective: x <= 1")
    refused(session, "objective(x) = 2")


def test_a_whole_family_is_left_only_with_its_members() -> None:
    session = shop()
    session.ask("drop room[p]")
    described = {family.name: family.members for family in session.ask("describe").families if family.kind == "rows"}
    assert described == {"room": 1, "need": 1, "tie": 1}
    session.ask("drop rows")
    result = session.ask("describe")
    assert (result.row_count, result.nonzeros, [f.name for f in result.families if f.kind == "rows"]) == (0, 0, [])
    session.ask("row new: sum make <= 1")
    assert session.ask("describe").row_count == 1
    assert session.ask("data new").members[0].value.value == 1


def test_ranks_of_objectives_in_use_and_of_the_others() -> None:
    session = shop()
    session.ask("objective effort: minimize sum make")
    session.ask("objective 2 * waste + profit within 5 % then effort within 3")
    stages = {
        goal.name: (goal.stage, goal.weight, goal.within, goal.within_amount)
        for goal in session.ask("describe").objectives
    }
    assert stages == {"waste": (1, 2.0, 5.0, 0.0), "profit": (1, 1.0, 5.0, 0.0), "effort": (2, 1.0, 0.0, 3.0)}
    session.ask("objective waste")
    stages = {goal.name: (goal.stage, goal.weight) for goal in session.ask("describe").objectives}
    assert stages == {"waste": (1, 1.0), "profit": (0, 0.0), "effort": (0, 0.0)}


def test_descriptions_of_families_and_sets() -> None:
    session = shop()
    every = session.ask("describe")
    assert {family.name: family.form for family in every.families} == {
        "stock": "data", "margin": "data", "make": "continuous", "batch": "integer", "open": "binary",
        "room": "<=", "need": ">=", "tie": "=",
    }  # fmt: skip
    assert {each.name: (each.size, each.labels, each.ordered, each.time) for each in every.sets} == {
        "good": (2, ("a", "b"), False, False),
        "kind": (2, ("p", "q"), True, False),
    }
    assert every.scenarios == ("base",)
    by_set = session.ask("describe KIND")
    assert ([family.name for family in by_set.families], [each.name for each in by_set.sets]) == (
        ["stock", "room"],
        ["kind"],
    )
    one = session.ask("describe make")
    assert ([family.name for family in one.families], [each.name for each in one.sets]) == (["make"], ["good"])
    session.run(["upper(batch) = 1", "keep small"])
    again = session.ask("describe")
    assert {family.name: family.form for family in again.families}["batch"] == "binary"
    assert again.scenarios == ("base", "small")
    for line in ("lower(batch) = -1", "undo", "upper(batch) = 2"):
        session.ask(line)
        assert (session.ask("describe batch").families[0].form == "integer") is (line != "undo")
    whole = replace(fixed_shop(1).model(), integer=np.array([True, False, True, True, True]))
    assert ModelSession(whole).ask("describe make").families[0].form == "mixed"


def test_labels_and_names_are_matched_without_case_and_accents() -> None:
    session = ModelSession(models.transport())
    for name in ("Nîmes", "nimes", "NÎMES", "nîmes"):
        assert session.ask(f"total demand[{name}, *]").total == session.ask('total demand["Nîmes", *]').total
    assert fold(" ÉpInal ") == "epinal"
    for line in ("total demand[Nimess, *]", "total dema[Paris, *]", "total demand[Paris]", "total demand[Paris, wk3..wk1]",
                 "total demand[Paris..Nice, *]"):  # fmt: skip
        refused(session, line)
    assert len(session.ask("data demand[Paris, wk2..wk2]").members) == 1
    places = ModelSession(sets_model(["É", "e", "Paris"])).model.sets[0]
    assert [find_label(places, label) for label in ("É", "e", "paris")] == [0, 1, 2]
    with pytest.raises(ModellingError) as problem:
        find_label(places, "E")
    assert problem.value.label == "E"
    with pytest.raises(ModellingError) as problem:
        find_label(places, "Pariss")
    assert "Paris" in str(problem.value)


def test_names_near_to_an_unknown_one() -> None:
    assert "'Paris'" in nearest_names("pariss", ["Nice", "Paris"])
    far = nearest_names("zzz", [f"label{at}" for at in range(7)])
    assert far.count("label") == 5
    assert "2 more" in far
    assert "more" not in nearest_names("zzz", [f"label{at}" for at in range(5)])
    assert nearest_names("zzz", [])


def test_data_and_rows_of_one_name_mean_the_same_only_as_right_hand_sides() -> None:
    def build(factor: float = 1.0, base: float = 0.0, sets: tuple = ("s",), is_cost: bool = False) -> IndexedModel:
        builder = IndexedModelBuilder("same")
        builder.add_set("s", ["a", "b"])
        builder.add_set("t", ["a", "b"])
        builder.add_parameter("need", ["s"], [1.0, 2.0])
        columns = builder.add_variables("x", ["s"], high=9.0)
        cells = builder.cells("need")
        rhs = replace(cells, factors=factor * cells.factors, base=cells.base + base)
        builder.add_rows("need", sets, ">=", rows=[0, 1], columns=columns, rhs=rhs)
        builder.set_objective("o", "minimize", columns, cells if is_cost else 1.0)
        return builder.build()

    for model, is_same in (
        (build(), True),
        (build(factor=2.0), False),
        (build(base=1.0), False),
        (build(sets=("t",)), False),
        (build(is_cost=True), False),
    ):
        families = [model.parameters[0], model.rows[0]]
        assert same_figures(model, families) is is_same
        assert same_figures(model, families[::-1]) is False
        assert same_figures(model, families[:1]) is False
        session = ModelSession(model)
        if is_same:
            assert session.ask("whatif need += 1").objective.difference.value == pytest.approx(2)
        else:
            refused(session, "whatif need += 1")
        assert session.ask("whatif rows.need += 1").objective.difference.value is not None


POINT = {"make[a]": 1.0, "make[b]": 2.0}


def test_values_in_files_and_printed_lines(tmp_path: Path) -> None:
    model = fixed_shop(1).model()
    for text in ("name,value\nmake[a],1\nMAKE(b),2\n", "make[a],1\n\nmake['b'],2\n", '"make[ a ]",1\n"make[b]",2,3\n'):
        assert parse_csv(model, text).values == POINT
    for text in ("", "name,value\n", "name,value\nmake[a]\n", "name\nmake[a],x\n", "make[a],1\nmake[b]\n"):
        with pytest.raises(ModellingError):
            parse_csv(model, text)
    for data, objective in (
        (POINT, None),
        ({"values": POINT, "objective": 3}, 3.0),
        ({"values": POINT, "objective": True}, None),
        ({**POINT, "objective": 3.5, "status": "optimal"}, 3.5),
        ({"make": {"a": 1, "b": 2}}, None),
    ):
        claim = parse_json(model, json.dumps(data))
        assert (claim.values, claim.objective, claim.unknown) == (POINT, objective, ())
    for data in (
        [],
        3,
        {},
        {"values": 3},
        {"values": {}},
        {"make[a]": "1"},
        {"make[a]": True},
        {"make": {"a": None}},
        {"status": "optimal"},
    ):
        with pytest.raises(ModellingError):
            parse_json(model, json.dumps(data))
    deep: dict = {"a": 1}
    for _ in range(9):
        deep = {"make": deep}
    with pytest.raises(ModellingError):
        parse_json(model, json.dumps(deep))
    assert parse_json(model, json.dumps({"make[a]": 1, "other": 2})).unknown == ("other",)
    for name, text in (
        ("p.csv", "make[a],1\nother,2\n"),
        ("p.sol", "make[a] 1\nother 2\n"),
        ("p.json", '{"other": 2}'),
    ):
        (tmp_path / name).write_text(text)
        with pytest.raises(ModellingError):
            read_solution(model, tmp_path / name)
    (tmp_path / "q.SOL").write_text("make[a] 1\nmake[b] 2\n")
    assert read_solution(model, tmp_path / "q.SOL").values == POINT


@pytest.mark.parametrize(
    ("text", "values", "objective"),
    [
        ("make[a] = 1\nmake[b]: 2\n", POINT, None),
        ("log\nobjective: 3\n make[a]  =  1e0\nmake[b] = 2.\nother = 5\n", POINT, 3.0),
        ("Objective value = 3\nmake[a] = 1\nmake[b] = 2", POINT, 3.0),
        ("profit = 3\nmake[a] = 1\nmake[b] = 2", POINT, 3.0),
        ("make[a] = 9\n" + json.dumps({"values": POINT, "objective": 4}), POINT, 4.0),
        ("text\n{\n" + '"make[a]": 1,\n"make[b]": 2}\n', POINT, None),
        ("{broken\nmake[a] = 1\nmake[b] = 2", POINT, None),
        ("nothing\n", None, None),
        ("other = 3\n", None, None),
        ('{"other": 3}', None, None),
    ],
)
def test_values_in_the_output_of_a_program(text: str, values: dict | None, objective: float | None) -> None:
    claim = parse_output(fixed_shop(1).model(), text)
    if values is None:
        assert claim is None
    else:
        assert (claim.values, claim.objective) == (values, objective)


def line_model(
    cost: float = 1.0, low: float = 0.0, high: float = 4.0, sense: Sense = Sense.MINIMIZE, constant: float = 0.0
) -> Arrays:
    return Arrays(
        sense,
        np.array([cost]),
        constant,
        np.array([low]),
        np.array([high]),
        np.array([False]),
        Sparse.from_dense(np.array([[1.0]])),
        np.array([1.0]),
        np.array([INF]),
    )


def known(arrays: Arrays, status: SolveStatus, objective: float | None, bound: float | None) -> ScenarioModel:
    model = ScenarioModel(arrays)
    model.outcome = Outcome(status, None if objective is None else np.array([objective]), objective, bound, "solver")
    return model


@pytest.mark.parametrize("sense", Sense)
def test_the_difference_of_two_intervals_knows_that_a_tighter_model_is_nowhere_better(sense: Sense) -> None:
    loose, tight, other = (
        line_model(sense=sense),
        line_model(low=2.0, sense=sense),
        line_model(2.0 if sense is Sense.MINIMIZE else 0.5, -1.0, 9.0, sense),
    )
    best, bound = (5.0, 3.0) if sense is Sense.MINIMIZE else (3.0, 5.0)
    first, second = known(loose, BEST, best, bound), known(tight, BEST, best, bound)
    assert difference_span(first, second) == ((0, 2) if sense is Sense.MINIMIZE else (-2, 0))
    assert difference_span(second, first) == ((-2, 0) if sense is Sense.MINIMIZE else (0, 2))
    assert difference_span(first, known(other, BEST, best, bound)) == (-2, 2)
    assert difference_span(first, known(other, BEST, best, None)) == (-INF, INF)
    assert difference_span(first, known(other, OPTIMAL, 5.0, None)) == (0, 2)


def test_spans_of_outcomes() -> None:
    for status, objective, bound, span in (
        (OPTIMAL, 5.0, None, (5, 5)), (OPTIMAL, 5.0, 4.0, (5, 5)), (BEST, 5.0, 4.0, (4, 5)), (BEST, 5.0, 6.0, (5, 6)),
        (BEST, 5.0, None, (-INF, INF)), (OPEN, None, 4.0, (-INF, INF)),
    ):  # fmt: skip
        assert Outcome(status, None, objective, bound).span() == span


def test_a_pool_keeps_the_best_point_and_the_best_bound_of_both_outcomes() -> None:
    for sense, sign in ((Sense.MINIMIZE, 1), (Sense.MAXIMIZE, -1)):
        for first, second, expected in (
            ((BEST, 5, 2), (BEST, 6, 3), (BEST, 5, 3)),
            ((BEST, 6, 3), (BEST, 5, 2), (BEST, 5, 3)),
            ((BEST, 5, None), (OPEN, None, 3), (BEST, 5, 3)),
            ((BEST, 0, -3), (BEST, 0.5, -2), (BEST, 0, -2)),
            ((BEST, 0.5, -2), (BEST, 0, -3), (BEST, 0, -2)),
            ((BEST, 5, 2), (OPEN, None, 5 + 1e-9), (OPTIMAL, 5, 5)),
            ((BEST, 5, 2), (OPTIMAL, 4, 4), (OPTIMAL, 4, 4)),
            ((OPEN, None, 2), (OPEN, None, 3), (OPEN, None, 3)),
            ((BEST, 5, 2), (NONE, None, None), (NONE, None, None)),
            ((FREE, None, None), (OPEN, None, None), (FREE, None, None)),
            ((OPEN, None, None), (OPEN, None, None), (OPEN, None, None)),
        ):
            pool, model = OutcomePool(), ScenarioModel(line_model(sense=sense))
            for status, value, bound in (first, second):
                point = None if value is None else np.array([sign * float(value)])
                numbers = [None if figure is None else sign * float(figure) for figure in (value, bound)]
                pool.learn(model, Outcome(status, point, *numbers, "solver", "time"))
            outcome = model.outcome
            numbers = [None if figure is None else sign * float(figure) for figure in expected[1:]]
            assert [outcome.status, outcome.objective, outcome.bound] == [expected[0], *numbers]
            assert outcome.ended_by == ("" if expected[0] is OPTIMAL and second[0] is not OPTIMAL else "time")


def test_a_point_of_one_model_is_one_of_another_only_if_it_is_feasible_and_better() -> None:
    pool = OutcomePool()
    for value in (3.0, 2.0, 0.5):
        pool.add_point(np.array([value]))
    pool.add_point(np.array([2.0]))
    pool.add_point(np.array([1.0, 1.0]))
    for arrays, expected in (
        (line_model(), 2.0),
        (line_model(low=2.5), 3.0),
        (line_model(low=3.5), None),
        (line_model(sense=Sense.MAXIMIZE), 3.0),
    ):
        model = ScenarioModel(arrays)
        pool.refresh(model)
        assert (model.outcome.objective, model.outcome.status) == (expected, OPEN if expected is None else BEST)


def test_models_of_other_shapes_are_not_tighter() -> None:
    base = line_model()
    wider = with_row(base, np.array([1.0]), 2.0, 3.0)
    assert wider.matrix.to_dense().tolist() == [[1.0], [1.0]]
    assert (wider.row_low.tolist(), wider.row_high.tolist()) == ([1.0, 2.0], [INF, 3.0])
    assert with_row(base, np.array([0.0]), 2.0, 3.0) is base
    assert is_tighter(base, wider)
    assert not is_tighter(wider, base)
    for other in (
        replace(base, matrix=Sparse.from_dense(np.array([[2.0]]))),
        replace(base, low=np.array([-1.0])),
        replace(base, high=np.array([5.0])),
        replace(base, row_low=np.array([0.0])),
    ):
        assert not is_tighter(base, other)
        assert not bounds_hold(base, other)
    assert bounds_hold(base, replace(base, constant=1.0))


def test_the_agreement_of_two_solvers_in_words() -> None:
    with pytest.raises(ModellingError):
        compare_outcomes(Outcome(OPTIMAL, None, 5.0, None, "one"), Outcome(NONE, solver="two"))
    same = compare_outcomes(Outcome(OPTIMAL, None, 5.0, None, "one"), Outcome(OPTIMAL, None, 5.0, None, "two"))
    assert {"one", "two", "5"} <= set(same.replace(",", " ").split())
    assert "infeasible" in compare_outcomes(Outcome(NONE, solver="one"), Outcome(NONE, solver="two"))


def test_each_verified_file_says_what_it_is(tmp_path: Path) -> None:
    session = ModelSession(fixed_shop(1).model(), folder=tmp_path)
    point = session.study.point(session.study.present)
    values = dict(zip(COLUMNS, point.tolist(), strict=True))
    worth = session.ask("solve").objective.value
    for claimed, holds in ((worth, True), (worth + 1e-7, True), (worth + 1.0, False)):
        (tmp_path / "p.json").write_text(json.dumps({"values": values, "objective": claimed}))
        result = session.ask('verify "p.json"')
        assert (result.feasible, result.claim_holds, result.source) == (True, holds, "values of a file")
        assert (result.same_structure, result.same_optima, result.trials, result.warnings) == (None, "", (), ())
    (tmp_path / "p.json").write_text(json.dumps({"variables": [], "values": values}))
    assert session.ask('verify "p.json"').claimed is None
    session.ask("need = 99")
    result = session.ask('verify "p.json"')
    assert (result.feasible, result.difference) == (False, Figure(unit="EUR"))
    assert [breach.name for breach in result.breaches] == ["need"]


def test_a_study_keeps_few_models_and_computes_the_others_again(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = ["need += 1", "tie += 1", "make[a] <= 3", "batch >= 1"]
    truths = []
    for count in range(5):
        alone = shop()
        alone.run(lines[:count])
        truths.append(alone.ask("solve").objective.value)
    for constants, most in (({"KEPT_MODELS": 3}, 3), ({"KEPT_MODELS": 1}, 2), ({"KEPT_NONZEROS": 60}, 3)):
        with monkeypatch.context() as patch:
            for name, value in constants.items():
                patch.setattr(state, name, value)
            session = shop()
            for line, truth in zip(lines, truths[1:], strict=True):
                session.ask(line)
                assert session.ask("solve").objective.value == pytest.approx(truth)
                assert len(session.study._models) <= most
            assert len(session.study._models) == most
            assert session.study.scenario(session.study.changes) is session.study.present
            for truth in truths[3::-1]:
                session.ask("undo")
                assert session.ask("solve").objective.value == pytest.approx(truth)


def test_a_conflict_that_is_not_reduced_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    session = shop()
    session.ask("need = 99")
    found = session.ask("conflict")
    assert (found.irreducible, found.warnings) == (True, ())
    find = conflicting.find_conflict
    monkeypatch.setattr(
        conflicting, "find_conflict", lambda *args, **named: replace(find(*args, **named), irreducible=False)
    )
    again = session.ask("conflict")
    assert (again.irreducible, len(again.warnings)) == (False, 1)
    refused(shop(), "conflict")


@pytest.mark.parametrize("word", ["most", "least"])
def test_an_extreme_near_an_optimum_that_is_not_proven_has_two_ends(word: str) -> None:
    session = ModelSession(models.lots(), SolveLimits(gap=0.3, nodes=1))
    assert session.ask("solve").status == "feasible"
    figure = session.ask(f"{word} sum setup within 500").figure
    assert None not in (figure.low, figure.high)
    exact = ModelSession(models.lots()).ask(f"{word} sum setup within 500").figure.value
    assert figure.low - 1e-6 <= exact <= figure.high + 1e-6


@pytest.mark.parametrize(("first", "second"), [("waste", "profit"), ("profit", "waste")])
def test_values_are_those_of_the_last_objective(first: str, second: str) -> None:
    numbers = fixed_shop(1, gains=False)
    session = numbers.session()
    session.ask(f"objective {first} within 2 then {second}")
    optimum = session.ask("solve").stages[1].optimum.value
    point = session.study.point(session.study.present)
    worth = {"profit": numbers.worth(point), "waste": float(numbers.waste @ point)}
    assert worth[second] == pytest.approx(optimum)
    values = {member.name: member.value.value for member in session.ask("value variables").members}
    assert values == {
        name: pytest.approx(value) for name, value in zip(COLUMNS, point, strict=True) if abs(value) > 1e-9
    }


def test_why_says_what_cannot_be_forced() -> None:
    session = shop(gains=False)
    assert session.ask("why make[a]").warnings == ()
    session.ask("make[a] = 1")
    fixed = session.ask("why make[a]")
    assert (fixed.forced, fixed.difference, len(fixed.warnings)) == ("", None, 1)
    session = shop(gains=False)
    session.ask("row all: make[a] >= 2")
    forced = session.ask("why make[a]")
    assert (forced.forced, forced.difference, len(forced.warnings)) == ("make[a] <= 1", None, 1)


def test_only_rows_whose_duals_are_not_unique_are_solved_again() -> None:
    def binding(rhs: float) -> dict[str, tuple[str, bool]]:
        rows = [Row("cap", {"x": 1}, Relation.AT_MOST, 2), Row("both", {"x": 1, "y": 1}, Relation.AT_MOST, rhs)]
        goal = Objective({"x": 2, "y": 1})
        flat = IndexedModel.from_records([Variable("x"), Variable("y")], rows, goal, Sense.MAXIMIZE)
        members = ModelSession(group_by_names(flat)).ask("binding").members
        return {member.name: (member.uniqueness, member.price_up is not None) for member in members}

    assert binding(3.0) == {"cap": ("unique", False), "both": ("unique", False)}
    assert binding(2.0) == {"cap": ("not unique", True), "both": ("not unique", True)}


def test_an_exception_between_other_indices_is_split_by_their_number() -> None:
    session = ModelSession(models.transport())
    for short, long in (
        ("* except Lyon, Paris, *", "* except {Lyon}, Paris, *"),
        ("*, * except Paris, wk2", "*, * except {Paris}, wk2"),
        ("* except Lyon, Sued, Paris, wk1..wk2", "* except {Lyon, Sued}, Paris, wk1..wk2"),
    ):
        found = [session.ask(f"data ship[{indices}]").members for indices in (short, long)]
        assert found[0] == found[1]
        assert found[0]


@pytest.mark.parametrize(
    ("first", "step", "expected"),
    [
        (1e6, 0.9e-3, 0.0),
        (1e6, 1.1e-3, 1.1e-3),
        (-1e6, -0.9e-3, 0.0),
        (0.0, 0.9e-9, 0.0),
        (0.0, 1.1e-9, 1.1e-9),
        (0.0, -2.0, -2.0),
    ],
)
def test_a_difference_of_optima_below_their_last_digits_is_none(first: float, step: float, expected: float) -> None:
    model = fixed_shop(1).model()
    before, after = (
        state.ModelScenario((), model, known(line_model(), OPTIMAL, value, value)) for value in (first, first + step)
    )
    assert state.difference(before, after).value == pytest.approx(expected, rel=1e-3, abs=1e-15)


@pytest.mark.parametrize("limit", [0.5, 1000.0, -1000.0])
@pytest.mark.parametrize("sense", Sense)
def test_a_limit_on_an_objective_leaves_room_for_its_last_digits(sense: Sense, limit: float) -> None:
    by = line_model(2.0, sense=sense, constant=3.0)
    limited = limit_objective(line_model(), by, limit)
    assert limited.matrix.to_dense().tolist() == [[1.0], [2.0]]
    room = 1e-9 * max(1.0, abs(limit))
    low, high = limited.row_low[-1] + 3.0, limited.row_high[-1] + 3.0
    if sense is Sense.MINIMIZE:
        assert (low, high - limit) == (-INF, pytest.approx(room, rel=1e-3))
    else:
        assert (limit - low, high) == (pytest.approx(room, rel=1e-3), INF)
    squares = ModelFeatures(quadratic=(QuadraticTerm(0, 0, 1.0),))
    (row,) = limit_objective(line_model(), replace(by, features=squares), limit).features.quadratic_rows
    assert (dict(row.terms), row.quadratic) == ({0: 2.0}, squares.quadratic)
    assert row.relation is (Relation.AT_MOST if sense is Sense.MINIMIZE else Relation.AT_LEAST)
    assert sense.sign * (row.rhs - limit + 3.0) == pytest.approx(room, rel=1e-3)


def test_a_name_of_a_file_without_indices_is_told_as_its_member() -> None:
    model = models.transport()
    session = ModelSession(model)
    for family in model.families():
        if family.sets:
            member = model.member_name(family, len(family.positions) - 1)
            flat = "_".join([family.name, *re.findall(r"[^\[\], ]+", member)[1:]])
            with pytest.raises(ModellingError) as problem:
                session.ask(f"describe {flat}")
            assert member in str(problem.value)

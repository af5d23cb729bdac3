"""A model survives PuLP, MPS, LP and JSON: same optimum, same names, same sense, same constant."""

import json
import math
import warnings
from dataclasses import replace

import pulp
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oragent._base.errors import ModellingError
from oragent.modelling.convert.pulp_models import from_pulp, from_pulp_dict
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.model_records import Objective, Row, Variable
from oragent.modelling.data.model_values import Relation, Sense, VariableKind
from oragent.modelling.files.model_json import from_json, model_dict, model_from_dict, to_json
from oragent.modelling.files.safe_names import SafeNaming
from oragent.modelling.files.solution_json import solution_dict, solution_from_dict
from oragent.modelling.files.text_forms import from_text, to_text
from oragent.modelling.solving.model_solving import solve
from tests.modelling.models import facts, models, pharmacy, steel
from tests.modelling.pulp_forms import to_pulp

names = st.lists(st.text(min_size=1, max_size=12).filter(str.strip), min_size=8, max_size=8, unique=True)


def through_mps(milp: IndexedModel) -> IndexedModel:
    return from_text(to_text(milp, "mps"), "mps")


def through_lp(milp: IndexedModel) -> IndexedModel:
    return from_text(to_text(milp, "lp"), "lp")


FORMS = [through_mps, through_lp, lambda milp: from_json(to_json(milp)), lambda milp: to_pulp(milp).to_model()]


@pytest.mark.slow
@given(models(), names, st.sampled_from(FORMS))
def test_every_form_gives_the_same_optimum_under_the_same_names(milp: IndexedModel, new: list[str], through) -> None:
    variables = {one.name: new[place] for place, one in enumerate(milp.variable_records)}
    rows = {row.name: new[4 + place] for place, row in enumerate(milp.row_records)}
    milp = milp.rename(variables, rows)
    again = through(milp)
    assert {one.name: (one.low, one.high, one.kind) for one in again.variable_records} == {
        one.name: (one.low, one.high, one.kind) for one in milp.variable_records
    }
    assert {row.name for row in again.row_records} == set(milp.flat_row_names)
    assert (again.sense, again.objective_record.constant) == (milp.sense, milp.objective_record.constant)
    expected, found = solve(milp, duals=False), solve(again, duals=False)
    assert found.status is expected.status
    assert found.objective == pytest.approx(expected.objective, abs=1e-6)


@pytest.mark.slow
@given(models(), st.text(max_size=9))
def test_json_reads_back_equal(milp: IndexedModel, meaning: str) -> None:
    milp = replace(milp, meaning=meaning)
    assert facts(model_from_dict(model_dict(milp))) == facts(milp)
    assert facts(from_json(to_json(milp).encode())) == facts(milp)


@pytest.mark.parametrize("through", FORMS)
def test_known_models_keep_everything_that_a_form_can_hold(through) -> None:
    for milp in (steel(bounds_as_rows=True), pharmacy()):
        again = through(milp)
        assert {row.name: (row.terms, row.relation, row.rhs) for row in again.row_records} == {
            row.name: (pytest.approx(row.terms), row.relation, row.rhs) for row in milp.row_records
        }
        assert [one.name for one in again.variable_records] == milp.flat_variable_names
        assert again.name == milp.name


def written_by_pulp() -> pulp.LpProblem:
    problem = pulp.LpProblem("made_by_pulp", pulp.LpMaximize)
    x = problem.add_variable("x", 0, 4, cat="Integer")
    y = problem.add_variable("y", None, 3)
    z = problem.add_variable("z", cat="Binary")
    free = problem.add_variable("count", 0, None, cat="Integer")
    problem += 2 * x + 3 * y - z - free + 7.5, "profit"
    problem += x + y <= 5, "cap"
    problem += x - y + 2 >= z + 1
    problem += x + free >= 1
    return problem


def test_a_problem_of_pulp_keeps_its_constant() -> None:
    milp = from_pulp(written_by_pulp())
    assert milp.objective_record.constant == 7.5
    assert milp.flat_row_names == ["cap", "_C1", "_C2"]
    assert solve(milp).objective == 20.5
    without = from_pulp_dict(json.loads(json.dumps(written_by_pulp().toDict())), 108.5)
    assert solve(without).objective == 121.5


@pytest.mark.parametrize("form", ["mps", "lp"])
def test_a_file_of_pulp_stays_a_maximisation(form: str, tmp_path) -> None:
    """Its constant is not in the file, so that 20.5 comes back as 13."""
    path = tmp_path / f"model.{form}"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        (written_by_pulp().writeMPS if form == "mps" else written_by_pulp().writeLP)(str(path))
    milp = from_text(path.read_text(), form)
    assert milp.sense is Sense.MAXIMIZE
    assert solve(milp).objective == 13


def test_a_sense_section_wins_over_a_comment() -> None:
    mps = "*SENSE:Maximize\nNAME\nOBJSENSE\n    MIN\nROWS\n N  obj\n L  c\nCOLUMNS\n    x  obj  1  c  1\nRHS\n    R  c  4\nENDATA\n"
    assert from_text(mps, "mps").sense is Sense.MINIMIZE
    assert from_text(mps.replace("OBJSENSE\n    MIN\n", ""), "mps").sense is Sense.MAXIMIZE


def test_a_ranged_row_becomes_two() -> None:
    lp = "max\n obj: x + 2\nst\n band: 1 <= x + y <= 4\n -2 <= x - y <= 1.5e0\nbounds\n 0 <= y <= 9\nend\n"
    mps = (
        "NAME\nOBJSENSE MAX\nROWS\n N  o\n L  band\n G  other\nCOLUMNS\n    x  o  1  band  1\n    x  other  1\n"
        "    y  band  1  other  -1\nRHS\n    R  o  -2  band  4\n    R  other  -2\nRANGES\n    S  band  3  other  3.5\nENDATA\n"
    )
    for milp in (from_text(lp, "lp"), from_text(mps, "mps")):
        assert [(row.relation, row.rhs) for row in milp.row_records] == [
            (Relation.AT_LEAST, 1), (Relation.AT_MOST, 4), (Relation.AT_LEAST, -2), (Relation.AT_MOST, 1.5),
        ]  # fmt: skip
        assert solve(milp).objective == 4.75
    assert milp.row_records[0].name == "band least"


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("hello world", "lp"),
        ("hello world", "mps"),
        ('\\ oragent variable x "\\ud83\n', "lp"),
        ('\\ oragent variable x "\\q"\nmax\n obj: x\nst\n c: x <= 1\nend\n', "lp"),
        ("max\n obj: 2 [ x^2 ] / 2\nst\n c: x <= 5\nend\n", "lp"),
        ("max multi-objectives\n a: Priority=1e999 Weight=1\n x\nst\n x <= 5\nend\n", "lp"),
        ("max multi-objectives\n a: Priority=1 Weight=1\n x <= 3\nst\n x <= 5\nend\n", "lp"),
    ],
)
def test_what_is_no_linear_model_is_refused(text: str, form: str) -> None:
    with pytest.raises(ModellingError) as refused:
        from_text(text, form)
    assert "\n" not in str(refused.value)


def test_many_rows_of_one_name_get_short_names_of_their_own() -> None:
    rows = "".join(f" c: x >= {at}\n" for at in range(300))
    names = from_text(f"min\n x\nst\n{rows}end\n", "lp").flat_row_names
    assert len(set(names)) == 300
    assert max(map(len, names)) < 10


def test_an_objective_may_follow_its_rank_on_one_line() -> None:
    text = "max multi-objectives\n a: Priority=1 Weight=1 2 x + y\nst\n c: x + y <= 5\nend\n"
    assert dict(from_text(text, "lp").objective_record.terms) == {"x": 2, "y": 1}


GOAL = {"name": "sleep", "terms": {"sleeping pills": 1}, "sense": "maximize"}
GOOD = {
    "sense": "minimize",
    "objective": {"terms": {"painkillers": 3, "sleeping pills": 5}},
    "variables": [{"name": "painkillers", "kind": "integer"}, {"name": "sleeping pills", "kind": "integer"}],
    "rows": [{"name": "morphine", "terms": {"painkillers": 10, "sleeping pills": 6}, "relation": "<=", "rhs": 3000.0}],
}


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "not JSON, line 1"),
        ("{", "not JSON, line 1"),
        (b"\xff\xfe\x00", "not a text in UTF-8"),
        ("[" * 100_000, "nested too deep|not JSON"),
        ("[]", "the model is a list"),
        ("{}", "the model has no 'objective'"),
        (json.dumps(GOOD | {"row": []}), "unknown key 'row': did you mean 'rows'?"),
        (json.dumps(GOOD | {"rows": {}}), "rows are a dict: expected a list"),
        (json.dumps(GOOD | {"variables": [3]}), "variable 1 is a int"),
        (json.dumps(GOOD | {"variables": [{"name": "x", "lower": 1}]}), "unknown key 'lower': did you mean 'low'?"),
        (json.dumps(GOOD | {"sense": "max"}), "sense is 'max': expected one of"),
        (json.dumps(GOOD | {"features": {"goals": [GOAL, GOAL]}}), "two objectives have the name 'sleep'"),
        ('{"sense": NaN}', "NaN is not a number of JSON"),
        ('{"sense": 1, "sense": 2}', "the key 'sense' occurs twice"),
        ('{"sense": ' + "9" * 5000 + "}", "expected finite numbers"),
        (json.dumps(GOOD).replace("3000.0", "1e999"), "right-hand side is inf"),
    ],
)
def test_json_that_is_no_model_is_refused_in_one_line(text: str, complaint: str) -> None:
    with pytest.raises(ModellingError, match=complaint.replace("?", r"\?")) as refused:
        from_json(text)
    assert "\n" not in str(refused.value)


def test_json_has_nulls_for_what_has_no_end() -> None:
    free = IndexedModel.from_records(
        [Variable("x", -float("inf"), kind=VariableKind.INTEGER)], [], Objective(), Sense.MINIMIZE
    )
    assert model_dict(free)["columns"]["low"] == {"base": [None]}
    shorter = {"sense": "minimize", "objective": {}, "variables": [{"name": "x", "low": None, "kind": "integer"}]}
    assert facts(model_from_dict(shorter)) == facts(free)
    assert model_from_dict({**shorter, "variables": [{"name": "x"}]}).variable_records == (Variable("x"),)
    named = model_from_dict({**shorter, "name": "plan", "meaning": "what it is for"})
    assert (named.name, named.meaning) == ("plan", "what it is for")


def test_a_solution_is_plain_data() -> None:
    data = json.loads(json.dumps(solution_dict(solve(steel())), allow_nan=False))
    assert data["status"] == "optimal"
    assert data["sensitivity"]["duals"] == {"hours": pytest.approx(4640)}
    assert data["sensitivity"]["cost_ranges"]["bands"]["high"] is None


@pytest.mark.parametrize("data", [None, [], {}, {"variables": [{}]}, {"variables": 3}, "text"])
def test_what_pulp_did_not_write_is_refused(data: object) -> None:
    with pytest.raises(ModellingError):
        from_pulp_dict(data)


def test_special_ordered_sets_are_refused() -> None:
    with pytest.raises(ModellingError):
        from_pulp_dict(written_by_pulp().toDict() | {"sos1": [1]})


def test_a_problem_without_objective_or_rows_is_one() -> None:
    problem = pulp.LpProblem("empty")
    with pytest.raises(ModellingError):
        from_pulp_dict(problem.toDict() | {"variables": []})
    x = problem.add_variable("x", 1, 2)
    problem += x >= 1.5
    milp = from_pulp(problem)
    assert milp.flat_variable_names == ["x"]
    assert milp.objective_record == Objective()


@pytest.mark.parametrize("through", FORMS)
def test_a_variable_without_any_term_is_not_lost(through) -> None:
    """HiGHS writes none of them into LP files, puts those after an integer among the integers of MPS files; PuLP forgets them."""
    kinds = (
        Variable("n", kind=VariableKind.INTEGER),
        Variable("idle"),
        Variable("free", -float("inf")),
        Variable("two words", 1, 4),
    )
    for count in (2, 3, 4):
        milp = IndexedModel.from_records(kinds[:count], (), Objective({"n": 0.0}), Sense.MINIMIZE)
        assert set(through(milp).variable_records) == set(milp.variable_records)
        used = milp.with_records(rows=(Row("r", {"n": 2}, Relation.AT_MOST, 7),), objective=Objective({"n": 1}))
        assert set(through(used).variable_records) == set(milp.variable_records)
    assert set(through(milp.with_records(variables=kinds[1:2], objective=Objective())).variable_records) == {kinds[1]}


def test_the_name_of_the_objective_survives_each_form() -> None:
    text = "\\ plan\nMaximise\n  \\ of a week\n  total_profit: 3 x\n + 2 y\nSubject To\n cap: x + y <= 4\nEnd\n"
    milp = from_text(text, "lp")
    assert milp.objective_record.name == "total_profit"
    for form in ("lp", "mps"):
        assert from_text(to_text(milp, form), form).objective_record.name == "total_profit"
        odd = milp.with_records(objective=replace(milp.objective_record, name="weekly cost (EUR)"))
        assert facts(from_text(to_text(odd, form), form)) == facts(odd)
    assert facts(from_json(to_json(milp))) == facts(milp)
    assert '"name": "total_profit"' in to_json(milp)
    mps = "NAME t\nROWS\n N  COST_TOTAL\n L  c1\nCOLUMNS\n x COST_TOTAL 1 c1 1\nRHS\n RHS c1 4\nENDATA\n"
    assert from_text(mps, "mps").objective_record.name == "COST_TOTAL"
    assert from_text("Minimize\n cost: x\nst\n c: x >= 1\nEnd\n", "lp").objective_record.name == "cost"
    for plain in ("Minimize\n obj: x\nst\n c: x >= 1\nEnd\n", "Minimize\n x\nst\n c: x >= 1\nEnd\n"):
        assert from_text(plain, "lp").objective_record.name == ""


@pytest.mark.parametrize("form", ["lp", "mps"])
@pytest.mark.parametrize("name", ["pwl", "PWLObj", "semis", "General", "sos1", "pwl_1"])
def test_a_whole_variable_with_the_name_of_a_section_stays_whole(name: str, form: str) -> None:
    whole = (Variable(name, high=9, kind=VariableKind.INTEGER), Variable("y", high=5))
    row = Row("limit", {name: 2.0, "y": 1.0}, Relation.AT_MOST, 7.0)
    model = IndexedModel.from_records(whole, [row], Objective({name: 1.0}), Sense.MAXIMIZE)
    again = from_text(to_text(model, form), form)
    assert again.variable(name).is_integer
    assert solve(again).objective == pytest.approx(3)


def test_a_line_with_a_variable_named_pwl_begins_no_section() -> None:
    text = "max\n obj: pwl + y\nst\n c: 2 pwl + y <= 7\nbounds\n y <= 0\ngen\n pwl\nend\n"
    assert solve(from_text(text, "lp")).objective == pytest.approx(3)


def column_of(name: str | None, low: float | None = 0, high: float | None = None, cat: str = "Continuous") -> dict:
    return {"name": name, "lowBound": low, "upBound": high, "cat": cat}


def test_the_dict_of_a_problem_has_its_bounds_kinds_names_and_terms() -> None:
    def terms(**values: float) -> list[dict]:
        return [{"name": name, "value": value} for name, value in values.items()]

    data = {
        "variables": [
            column_of("x", None, 4), column_of("y", -3, 5, "Binary"), column_of("z", 0.5, 0.75, "Binary"),
            column_of("w", 2, None, "Integer"), column_of("__dummy", 0, 0),
        ],
        "objective": {"name": None, "coefficients": [*terms(x=1, y=2, __dummy=5), *terms(x=3)]},
        "constraints": [
            {"name": None, "constant": -4, "sense": -1, "coefficients": terms(x=1, __dummy=2)},
            {"name": "_C1", "constant": 6, "sense": 1, "coefficients": [*terms(w=1), *terms(w=2)]},
            {"name": "", "constant": 0, "sense": 0, "coefficients": []},
        ],
        "parameters": {"name": None, "sense": -1},
    }  # fmt: skip
    model = from_pulp_dict(data, 7.5)
    assert [(v.name, v.low, v.high, v.is_integer) for v in model.variable_records] == [
        ("x", -math.inf, 4, False), ("y", 0, 1, True), ("z", 0.5, 0.75, True), ("w", 2, math.inf, True),
    ]  # fmt: skip
    assert (dict(model.objective_record.terms), model.objective_record.constant) == ({"x": 4, "y": 2}, 7.5)
    assert (model.name, str(model.sense)) == ("", "maximize")
    assert [(row.name, dict(row.terms), str(row.relation), row.rhs) for row in model.row_records] == [
        ("_C2", {"x": 1}, "<=", 4), ("_C1", {"w": 3}, ">=", -6), ("_C3", {}, "=", 0),
    ]  # fmt: skip
    assert not math.copysign(1, model.row_records[2].rhs) < 0
    # A variable of this name with other bounds, or alone, is one of the problem.
    for variables, names in (
        ([column_of("x"), column_of("__dummy", 0, 1)], ["x", "__dummy"]), ([column_of("__dummy", 0, 0)], ["__dummy"]),
        ([column_of("x"), column_of("__dummy", -1, 0)], ["x", "__dummy"]),
    ):  # fmt: skip
        changed = data | {"variables": variables, "constraints": [], "objective": {"coefficients": terms(__dummy=2)}}
        model = from_pulp_dict(changed)
        assert [variable.name for variable in model.variable_records] == names
        assert dict(model.objective_record.terms) == {"__dummy": 2}


def test_substitutes_of_names_are_numbered_and_free() -> None:
    names = ["a b", "x2", "end", "e1", "fine", "X3", "c,d"]
    model = IndexedModel.from_records(
        [Variable(name) for name in names],
        [Row(name, {}, Relation.AT_MOST, 1.0) for name in ("my row", "R1", "bin")],
        Objective(name="all of it"),
        Sense.MINIMIZE,
    )
    naming = SafeNaming.for_model(model)
    assert naming.variables == {"a b": "x1", "end": "x4", "e1": "x5", "c,d": "x6"}
    assert naming.rows == {"my row": "r2", "bin": "r3", "all of it": "r4"}


@pytest.mark.parametrize("form", ["mps", "lp"])
def test_a_written_file_has_all_digits(form: str) -> None:
    figures = [1 / 3, 0.1, 2 / 7e5, 1e14 / 3, 123456789.123456789]
    variables = [Variable(f"x{at}", -value, value) for at, value in enumerate(figures)]
    row = Row("r", {f"x{at}": value for at, value in enumerate(figures)}, Relation.AT_MOST, 2 / 3)
    model = IndexedModel.from_records(variables, [row], Objective(dict(row.terms)), Sense.MINIMIZE)
    text = to_text(model, form)
    again = from_text(text, form)
    assert facts(again) == facts(model)
    assert " 0.1 " in text.replace("\n", " ")


@pytest.mark.parametrize("milp", [steel(), pharmacy()])
def test_a_solution_is_read_back_as_it_was(milp: IndexedModel) -> None:
    solution = replace(solve(milp), note="a note", limit="time", linearised=("a part",), goals={"g": 2.0})
    again = solution_from_dict(json.loads(json.dumps(solution_dict(solution))))
    assert again == solution
    assert isinstance(again.sensitivity.several_duals, tuple)
    unchecked = replace(solution.sensitivity, several_duals=None, several_reduced_costs=None)
    again = solution_from_dict(solution_dict(replace(solution, sensitivity=unchecked)))
    assert again.sensitivity == unchecked


@pytest.mark.parametrize(
    "change", [{"status": "done"}, {"sensitivity": 3}, {"sensitivity": {}}, {"more": 1}, {"linearised": 3}]
)
def test_other_data_are_no_solution(change: dict) -> None:
    data = solution_dict(solve(steel()))
    assert solution_from_dict(data | {"linearised": ["a"]}).linearised == ("a",)
    with pytest.raises(ModellingError):
        solution_from_dict(data | change)

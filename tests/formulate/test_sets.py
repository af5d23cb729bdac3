"""Sets of problems with their answers; what cannot be used is named by its line and left out."""

import json
from pathlib import Path

import pytest

from oragent._base.errors import ConfigError, OragentError, ProblemError
from oragent.formulate.formulation import FormulationResult
from oragent.formulate.problem import Form
from oragent.formulate.running import FormulationRunner
from oragent.modelling.data.solution import TOLERANCES, SolveVerdict
from oragent.modelling.solving.model_solving import WARM_UP, solve
from oragent_benchmarks.formulate.benchmark import PUBLISHED
from oragent_benchmarks.formulate.labelled import Label, grade_result, read_figure
from oragent_benchmarks.formulate.sets import MARK, build_scaffold, parse_number, read_set
from tests.formulate.data import DATA, with_data

STRICT = TOLERANCES["strict"]


def test_families_have_exact_models_and_names_of_their_own() -> None:
    found = read_set("families=4")
    assert len({case.problem.name for case in found.cases}) == len(found.cases) == 32
    for case in found.cases[::5]:
        assert case.gold is not None
        assert STRICT.accepts(solve(case.gold, duals=False).objective, case.label.objective or 0.0)


@with_data
@pytest.mark.parametrize(
    ("spec", "cases", "supported", "left_out"),
    [
        ("nl4opt={}/nl4opt/nl4opt_verified.json", 222, 222, 0),
        ("nl4opt={}/nl4opt/nl4opt_test_gold.json", 287, 287, 2),
        ("complexor={}/complexor/complexor_ormind37.jsonl", 37, 37, 0),
        ("complexor={}/complexor/complexor_coe18.jsonl", 18, 18, 0),
        ("optibench={}/optibench/OptiBench.json", 605, 422, 0),
        ("optibench={}/optibench/NL4OPT-E.json", 289, 289, 0),
        ("{}/optimind/optimind_cleaned_classified_mamo_complex.csv", 210, 210, 0),
        ("{}/optimind/optimind_cleaned_classified_optmath.csv", 128, 128, 2),
    ],
)
def test_public_sets_have_as_many_problems_as_counted_elsewhere(spec, cases, supported, left_out) -> None:
    found = read_set(spec.format(DATA))
    assert (len(found.cases), len(found.supported), len(found.left_out)) == (cases, supported, left_out)
    assert len({case.problem.name for case in found.cases}) == cases


@with_data
def test_eleven_references_of_complexor_are_infeasible() -> None:
    found = read_set(f"complexor={DATA}/complexor/complexor_ormind37.jsonl")
    assert sum(case.label.status == "infeasible" for case in found.cases) == 11


STEEL = """
    tons = [pulp.LpVariable(f"t{i}", MinimumSale[i], MaximumSale[i]) for i in range(ProductNum)]
    variables["tons"] = tons
    problem += pulp.lpSum(ProfitPerTon[i] * tons[i] for i in range(ProductNum))
    problem += pulp.lpSum(tons[i] / ProductionRate[i] for i in range(ProductNum)) <= AvailableHours, "hours"
"""


@with_data
def test_a_scaffold_of_complexor_needs_its_mark_filled_and_no_more(runner: FormulationRunner) -> None:
    cases = {case.problem.name: case for case in read_set(f"complexor={DATA}/complexor/complexor_ormind37.jsonl").cases}
    steel = cases["steel3"]
    source = steel.problem.interface.source.replace(f"    {MARK}\n", STEEL)
    assert "MinimumSale = data['MinimumSale']  # shape (ProductNum)" in source
    assert "pulp.LpMaximize)" in source
    ran = runner.run_program(source, steel.problem.interface, steel.problem.data)
    assert ran.values == {"tons": [6000.0, 500.0, pytest.approx(1028.5714, abs=5e-5)]}
    assert STRICT.accepts(ran.objective, steel.label.objective or 0.0)
    for case in cases.values():
        assert case.problem.interface.form is Form.SCAFFOLD
        assert "leave all else" in case.problem.interface.attention


def test_a_scaffold_unpacks_names_alone_and_says_where_a_sense_is_not_told() -> None:
    data = {"n": 3, "pulp": 1, "class": 1, "two words": 2, "x; import os": 3}
    source = build_scaffold(
        data, [{"symbol": "n", "shape": ["a\nimport os"]}], ["Minimise this, maximize that", ""]
    ).source
    assert "    n = data['n']  # shape (a import os)\n    problem" in source
    assert "# or pulp.LpMaximize" in source
    assert "LpMaximize)\n" in build_scaffold({}, None, ["", "the aim is to maximise profit"]).source
    compile(source, "scaffold", "exec")


@with_data
@pytest.mark.slow
def test_every_gold_formulation_of_the_verified_set_gives_its_answer() -> None:
    found = read_set(f"nl4opt={DATA}/nl4opt/nl4opt_verified.json")
    assert all(case.gold for case in found.cases)
    right = [STRICT.accepts(solve(case.gold, duals=False).objective, case.label.objective) for case in found.cases]
    assert right.count(True) == 222


def put(path: Path, content: str) -> Path:
    path.write_text(content)
    return path


def test_records_that_cannot_be_used_are_left_out_with_their_lines(tmp_path: Path) -> None:
    table = put(
        tmp_path / "t.csv", '\ufeffquestion,answer\n"two\nlines",3\n,4\nwhat,[18.0]\nwhy,soon\nhow,Infeasible\n'
    )
    found = read_set(str(table))
    assert [case.label for case in found.cases] == [Label(3.0), Label(18.0), Label(status="infeasible")]
    assert [text.partition(":")[0] for text in found.left_out] == ["line 4", "line 6"]


def test_problems_of_ones_own_have_data_files_and_any_verdict(tmp_path: Path) -> None:
    (tmp_path / "p1").mkdir()
    put(tmp_path / "p1" / "demand.csv", "month,demand\nJan,3\nFeb,4\n")
    put(tmp_path / "p1" / "limits.json", '{"cap": 5}')
    put(tmp_path / "p1" / "notes.md", "not data")
    put(tmp_path / "one.csv", "item,cost\nrye,2\n")
    records = [
        {"question": "a", "answer": 3, "data": "p1", "id": "month"},
        {"question": "b", "answer": "contradicted", "data": {"n": 2}},
        {"question": "c", "answer": "Infeasible", "verdict": "checked", "data": "one.csv"},
        {"question": "d", "verdict": "no answer"},
        {"question": "e", "answer": 1, "verdict": "perhaps"},
        {"question": "f", "answer": 1, "data": "../outside.csv"},
        {"question": "g", "answer": "soon", "verdict": "checked"},
    ]
    found = read_set(str(put(tmp_path / "own.jsonl", "\n".join(map(json.dumps, records)) + "\n")))
    assert [case.problem.name for case in found.cases] == ["month", "0002", "0003", "0004"]
    labels = [Label(3.0), Label(verdict="contradicted"), Label(status="infeasible", verdict="checked")]
    assert [case.label for case in found.cases] == [*labels, Label(verdict="no answer")]
    rows = [{"month": "Jan", "demand": 3}, {"month": "Feb", "demand": 4}]
    assert dict(found.cases[0].problem.data) == {"demand": rows, "cap": 5}
    assert [dict(case.problem.data) for case in found.cases[1:3]] == [{"n": 2}, {"one": [{"item": "rye", "cost": 2}]}]
    assert [text.partition(":")[0] for text in found.left_out] == ["line 5", "line 6", "line 7"]
    table = put(tmp_path / "own.csv", "question,verdict,data\nx,disputed,one.csv\n")
    (case,) = read_set(str(table)).cases
    assert (case.label, dict(case.problem.data)) == (Label(verdict="disputed"), {"one": [{"item": "rye", "cost": 2}]})
    with pytest.raises(ProblemError, match="'z'"):
        read_set(str(put(tmp_path / "twice.jsonl", '{"id": "z", "question": "q", "answer": 1}\n' * 2)))


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("t.jsonl", '{"question": "q", "answer": 1}\n[]', "line 2"),
        ("t.csv", "a,b\n1,2\n", "expected the columns question and answer"),
        ("t.csv", "question,answer\n,\n", "no usable problem (line 2"),
        ("nl4opt=x.json", "[1]", "expected a list of records"),
        ("nl4opt=x.json", "{", "line 1: not JSON"),
        ("complexor=x.jsonl", '{"id": 1}\n{', "line 2: not JSON"),
        ("complexor=x.jsonl", '{"id": 1}\n', "no usable problem"),
        ("optibench=x.json", '[{"question": "q"}]', "no results"),
        ("optibench=none.json", "", "empty"),
    ],
)
def test_files_that_are_no_set_are_refused_in_one_line(tmp_path: Path, name: str, content: str, told: str) -> None:
    form, _, file = name.rpartition("=")
    path = put(tmp_path / (file or name), content)
    with pytest.raises(ProblemError) as caught:
        read_set(f"{form}={path}" if form else str(path))
    assert told in str(caught.value)


@pytest.mark.parametrize("spec", ["unknown", "nl4op=x.json", "families=x", "families=999"])
def test_unknown_sets_are_refused(spec: str) -> None:
    with pytest.raises(ConfigError):
        read_set(spec)


@pytest.mark.parametrize(
    ("text", "value"),
    [("[18.0]", 18.0), ("1,234.5", 1234.5), ("$5", 5.0), (["Infeasible"], "infeasible"), ("soon", None), (True, None),
     ("", None), (float("nan"), None), ("-3e2", -300.0)],
)  # fmt: skip
def test_answers_are_read_as_files_have_them(text, value) -> None:
    assert read_figure(text) == value


@pytest.mark.parametrize(("text", "value"), [("$1,000", 1000), ("twenty-five percent", 0.25), ("one third", 1 / 3)])
def test_numbers_are_read_as_people_write_them(text: str, value: float) -> None:
    assert parse_number(text) == pytest.approx(value)


def found(status: str, objective: float | None = None, values=None) -> FormulationResult:
    milp = WARM_UP if status in ("optimal", "feasible", "infeasible", "unbounded", "unknown") else None
    solution = None if milp is None else {"objective": objective}
    return FormulationResult(status, True, milp, solution, values, "", "", None, "", (), 0, (), {})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("answer", "label", "accept", "verdict"),
    [
        (found("optimal", 10.0), Label(10.0), True, SolveVerdict.ACCEPT),
        (found("optimal", 10.0), Label(10.0, verdict="unchecked"), True, SolveVerdict.ACCEPT),
        (found("optimal", 10.0), Label(10.0, verdict="checked"), True, SolveVerdict.WRONG_ANSWER),
        (found("optimal", 10.1), Label(10.0, verdict="unchecked"), True, SolveVerdict.WRONG_ANSWER),
        (found("optimal", 10.0), Label(verdict="unchecked"), True, SolveVerdict.ACCEPT),
        (found("runtime_error"), Label(verdict="no answer"), True, SolveVerdict.ACCEPT),
        (found("optimal", 10.1), Label(10.0), True, SolveVerdict.WRONG_ANSWER),
        (found("optimal", 10.0), Label(status="infeasible"), True, SolveVerdict.WRONG_ANSWER),
        (found("infeasible"), Label(status="infeasible"), True, SolveVerdict.ACCEPT),
        (found("infeasible"), Label(status="infeasible"), False, SolveVerdict.MODEL_FAILURE),
        (found("infeasible"), Label(10.0), True, SolveVerdict.MODEL_FAILURE),
        (found("unbounded"), Label(status="infeasible"), True, SolveVerdict.MODEL_FAILURE),
        (found("unknown"), Label(10.0), True, SolveVerdict.MODEL_FAILURE),
        (found("timeout"), Label(10.0), True, SolveVerdict.TIMEOUT),
        (found("unsolved"), Label(10.0), True, SolveVerdict.UNSOLVED),  # whatever it claims
        (found("optimal", 655.0, {"a": 136, "b": [45]}), Label(values={"profit": 655, "black": 136, "green": 45}), True,
         SolveVerdict.ACCEPT),
        (found("optimal", 655.0, {"a": 136}), Label(values={"profit": 655, "green": 45}), True, SolveVerdict.WRONG_ANSWER),
    ],
)  # fmt: skip
def test_answers_are_graded_by_objective_or_by_all_values(
    answer, label: Label, accept: bool, verdict: SolveVerdict
) -> None:
    assert grade_result(answer, label, STRICT, accept) is verdict


def test_published_rates_leave_room_for_wrong_answers() -> None:
    rows = [rates for table in PUBLISHED.values() for rates in table.values()]
    assert all(sum(rate or 0.0 for rate in rates) <= 100.0 for rates in rows)
    assert len(PUBLISHED["nl4opt"]) == len(PUBLISHED["complexor"]) == 19
    assert PUBLISHED["nl4opt"]["ormind"] == (68.8, 0.4, 2.0)


def test_labels_are_of_the_grader_alone(tmp_path: Path) -> None:
    """What a method sees of a record is its question; the answer is in no part of the problem."""
    record = {"id": "a", "description": "Pick \\param{n}.", "input": {"n": 3}, "output": [987654.0]}
    (case,) = read_set(f"complexor={put(tmp_path / 'c.jsonl', json.dumps(record))}").cases
    assert case.label.objective == 987654.0
    assert "987654" not in repr(case.problem)
    assert "Pick n." in case.problem.text
    with pytest.raises(OragentError):
        read_set(str(tmp_path))


def test_a_folder_for_each_problem_is_read_with_its_tables(tmp_path: Path) -> None:
    """Layout of MIPLIB-NL: text, parameters and described files; the reference model is not shown."""
    for name, record in {
        "crew": {
            "abstract_problem": "Hire pilots.",
            "parameters": {"pilots": 60},
            "files": {"task": {"path": "data/task.csv", "description": "hours by month"}},
            "optimal_value": 1201500.0,
        },
        "lost": {"abstract_problem": "x", "files": {"t": {"path": "data/none.csv"}}, "optimal_value": 1},
        "out": {"abstract_problem": "x", "files": {"t": {"path": "../crew/data/task.csv"}}, "optimal_value": 1},
        "mute": {"abstract_problem": "x", "optimal_value": None},
    }.items():
        (tmp_path / name / "data").mkdir(parents=True)
        put(tmp_path / name / "instance.json", json.dumps(record))
    put(tmp_path / "crew" / "data" / "task.csv", "month,hours\nJan,8000\nFeb,9000\n")
    put(tmp_path / "crew" / "model.md", "cost 1201500")
    for place in (tmp_path, tmp_path / "crew", tmp_path / "crew" / "instance.json"):
        found = read_set(f"miplib-nl={place}")
        (case,) = found.cases
        assert case.problem.data == {
            "pilots": 60,
            "task": [{"month": "Jan", "hours": 8000}, {"month": "Feb", "hours": 9000}],
        }
        assert "hours by month" in case.problem.text
        assert case.label.objective == 1201500.0
        assert "1201500" not in repr(case.problem)
    assert [line.partition(":")[0] for line in read_set(f"miplib-nl={tmp_path}").left_out] == ["lost", "mute", "out"]
    with pytest.raises(ProblemError, match=r"instance\.json"):
        read_set(f"miplib-nl={tmp_path / 'mute' / 'data'}")

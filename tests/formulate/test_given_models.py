"""Models of others: read, solved, compared with a given point, and verified, in one process."""

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oragent._base.budget import Spent
from oragent._base.errors import ConfigError, ModellingError
from oragent.formulate import api, verify
from oragent.formulate.checks import Checked, CheckFinding, CheckStatus, Reason
from oragent.formulate.folder import FormulationRequest, read_request
from oragent.formulate.formulation import FormulationResult
from oragent.formulate.options import choose_options
from oragent.formulate.problem import ProblemText
from oragent.formulate.running import ExecutionResult, FormulationRunner
from oragent.formulate.verdicts import Verdict
from oragent.formulate.verify import GivenModel, _check_point, place_point, read_given, verify_case, verify_given
from oragent.llm.callable import Scripted
from oragent.modelling.data.features import Indicator, ModelFeatures
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.model_records import Objective, Row, Variable
from oragent.modelling.data.model_values import Relation, Sense, VariableKind
from oragent.modelling.data.solution import Solution, SolveStatus
from oragent.modelling.files.model_files import write
from oragent.modelling.solving.model_solving import solve
from tests.formulate import pharmacy
from tests.formulate.test_verify import SCRIPT, pharmacy_milp

PILLS = {"painkillers": 50.0, "sleeping_pills": 117.0}
PROBLEM = ProblemText("pharmacy", pharmacy.TEXT)


def request(problem: ProblemText = PROBLEM, **options: Any) -> FormulationRequest:
    return FormulationRequest(problem, choose_options("default", **options))


def test_a_given_model_is_a_model_or_a_program() -> None:
    for fields in ({}, {"milp": pharmacy_milp(), "source": "def solve(data): ..."}):
        with pytest.raises(ConfigError):
            GivenModel(**fields)


def test_a_model_is_read_with_its_columns_and_a_program_with_its_text(tmp_path: Path) -> None:
    names = ("ship[a,b]", "ship[a,c]", "open")
    milp = IndexedModel.from_records(tuple(map(Variable, names)), (), Objective({"open": 1.0}), Sense.MINIMIZE)
    write(milp, tmp_path / "m.json")
    (tmp_path / "s.json").write_text(json.dumps({"open": 2.0}))
    found = read_given(tmp_path / "m.json", tmp_path / "s.json")
    assert found.milp is not None
    assert found.milp.flat_variable_names == list(names)
    assert found.columns == {"ship": {"a": {"b": names[0], "c": names[1]}}, "open": "open"}
    assert (found.source, found.point, found.notes) == ("", {"open": 2.0}, ())
    assert read_given(tmp_path / "m.json").point is None
    (tmp_path / "f.py").write_text("def solve(data):\n    pass\n")
    program = read_given(tmp_path / "f.py", tmp_path / "s.json")
    assert (program.milp, program.source) == (None, "def solve(data):\n    pass\n")
    assert program.point == {"open": 2.0}
    (tmp_path / "script.py").write_text(SCRIPT.format(least=50))
    script = read_given(tmp_path / "script.py")
    assert script.milp is not None
    # How it was captured is said.
    assert "pulp" in " ".join(script.notes)


def line(objective: float, sense: Sense = Sense.MINIMIZE, constant: float = 0.0) -> IndexedModel:
    """A model whose objective is x, of any size."""
    variable = Variable("x", -1e9, 1e9)
    return IndexedModel.from_records((variable,), (), Objective({"x": objective}, constant), sense)


@pytest.mark.parametrize(
    ("best", "value", "is_best"),
    [
        (1e6, 1e6 + 0.5, True), (1e6, 1e6 + 2.0, False), (-1e6, -1e6 + 0.5, True), (-1e6, -1e6 + 2.0, False),
        (0.1, 0.1 + 0.9e-6, True), (0.1, 0.1 + 1.1e-6, False), (0.0, 1e-6, True), (0.0, 1.9e-6, False),
        # Also a point that is better than the optimum of the model.
        (10.0, 5.0, False), (10.0, -10.0, False),
    ],
)  # fmt: skip
def test_a_point_is_optimal_within_a_millionth_of_the_optimum(best: float, value: float, is_best: bool) -> None:
    solved = Solution(SolveStatus.OPTIMAL, objective=best, bound=best)
    placed = place_point(line(1.0), {"x": value}, solved)
    assert placed.status is (SolveStatus.OPTIMAL if is_best else SolveStatus.FEASIBLE)
    assert (placed.objective, placed.bound, placed.values, placed.solver) == (value, best, {"x": value}, verify.GIVEN)
    assert placed.gap == pytest.approx(abs(value - best) / max(1.0, abs(value)))
    unsolved = place_point(line(1.0), {"x": value}, Solution(SolveStatus.UNKNOWN))
    assert (unsolved.status, unsolved.gap, unsolved.bound) == (SolveStatus.FEASIBLE, None, None)


@given(
    st.lists(
        st.tuples(
            st.lists(st.integers(-3, 3), min_size=2, max_size=2), st.sampled_from(list(Relation)), st.integers(-9, 9)
        ),
        min_size=1,
        max_size=4,
    ),
    st.lists(st.integers(-4, 4), min_size=2, max_size=2),
)
def test_activities_and_slacks_of_a_point_are_those_of_its_rows(rules: list, point: list[int]) -> None:
    rows = tuple(
        Row(f"r{at}", dict(zip("xy", terms, strict=True)), relation, rhs)
        for at, (terms, relation, rhs) in enumerate(rules)
    )
    variables = (Variable("x", -9, 9), Variable("y", -9, 9))
    milp = IndexedModel.from_records(variables, rows, Objective({"x": 2.0, "y": -1.0}, 0.5), Sense.MAXIMIZE)
    placed = place_point(milp, dict(zip("xy", map(float, point), strict=True)), Solution(SolveStatus.UNKNOWN))
    assert placed.objective == 2 * point[0] - point[1] + 0.5
    for row, (terms, relation, rhs) in zip(rows, rules, strict=True):
        activity = float(np.dot(terms, point))
        slack = {Relation.AT_MOST: rhs - activity, Relation.AT_LEAST: activity - rhs, Relation.EQUAL: 0.0}[relation]
        assert placed.activities[row.name] == activity
        assert placed.slacks[row.name] == max(0.0, slack)


def test_a_point_with_a_part_of_a_unit_left_has_that_slack() -> None:
    row = Row("r", {"x": 1.0}, Relation.AT_MOST, 1.0)
    milp = line(1.0).with_records(rows=(row,))
    assert place_point(milp, {"x": 0.75}, Solution(SolveStatus.UNKNOWN)).slacks == {"r": 0.25}


FINDING = CheckFinding(Reason.VIOLATED, "share", "4 <= 3 does not hold")


@pytest.mark.parametrize(
    ("point", "reasons"),
    [
        (PILLS, []), ({**PILLS, "sleeping_pills": 120.0}, [Reason.OBJECTIVE]),
        # A missed optimum is not named beside a broken row.
        ({"painkillers": 40.0, "sleeping_pills": 117.0}, [Reason.VIOLATED]),
    ],
)  # fmt: skip
@pytest.mark.parametrize("checked", [None, Checked(CheckStatus.PASSED), Checked(CheckStatus.FAILED, (FINDING,))])
def test_findings_about_a_point_come_before_those_of_the_checker(
    point: dict[str, float], reasons: list[Reason], checked: Checked | None
) -> None:
    milp = pharmacy_milp()
    placed = place_point(milp, point, solve(milp, duals=False))
    result = _check_point(milp, placed, checked)
    before = [] if checked is None else [finding.reason for finding in checked.findings]
    assert [finding.reason for finding in result.findings] == reasons + before
    assert result.state is (
        CheckStatus.FAILED if reasons else CheckStatus.UNCHECKED if checked is None else checked.state
    )
    if checked is None and not reasons:
        assert result.note
    if reasons == [Reason.OBJECTIVE]:
        text = result.findings[0].text
        # Its value, and the optimum of the model if that is known.
        assert "750" in text
        assert "735" in text
        unknown = _check_point(milp, replace(placed, bound=None), checked).findings[0].text
        assert "735" not in unknown
        # Nothing is missed where no optimum is known.
        assert _check_point(milp, replace(placed, gap=None), Checked(CheckStatus.PASSED)).findings == ()


def verified(
    runner: FormulationRunner, model: GivenModel, checker: str = pharmacy.CHECKER, **options: Any
) -> FormulationResult:
    case = SimpleNamespace(used=Spent())
    problem = options.pop("problem", PROBLEM)
    return asyncio.run(verify_case(case, request(problem, **options), model, runner, checker))  # type: ignore[arg-type]


def test_a_verified_model_has_its_solution_and_its_origin(runner: FormulationRunner) -> None:
    result = verified(runner, GivenModel(pharmacy_milp()), gap=0.02)
    assert result.judgement.verdict is Verdict.CHECKED
    assert (result.objective, result.values) == (735.0, PILLS)
    assert result.columns == {name: name for name in PILLS}
    assert result.solution is not None
    assert result.solution["values"] == PILLS
    (entry,) = result.pool
    assert (entry.module, entry.author, bool(entry.text)) == (verify.GIVEN, "oragent", True)
    assert [(record["number"], record["origin"]) for record in result.attempts] == [(0, verify.GIVEN)]
    assert result.checks is not None
    # Each rule is compared on its own.
    assert {rule["outcome"] for rule in result.checks["rules"]} == {"holds"}
    columns = {"pills": dict(zip("ps", PILLS, strict=True))}
    checker = "def checks(values, data):\n    yield 'few', values['pills']['p'], '<=', 60, ''\n"
    noted = verified(runner, GivenModel(pharmacy_milp(), columns, notes=("a", "b")), checker)
    assert [entry.text for entry in noted.pool] == ["a; b"]
    assert noted.values == {"pills": {"p": 50.0, "s": 117.0}}


def test_a_program_is_run_on_the_data_and_may_have_a_point(runner: FormulationRunner) -> None:
    program = pharmacy.RIGHT.replace("3000", "data['most']").replace(">= 50", ">= data['least'][0]")
    problem = replace(PROBLEM, data={"most": 3000, "least": [50]})
    result = verified(runner, GivenModel(source=program), problem=problem, metamorphic=True)
    assert (result.judgement.verdict, result.objective, result.program) == (Verdict.CHECKED, 735.0, program)
    assert result.metamorphic
    assert not verified(runner, GivenModel(source=program), problem=problem).metamorphic
    # Without data there is nothing to change, and neither is there in a model.
    assert not verified(runner, GivenModel(source=pharmacy.RIGHT), metamorphic=True).metamorphic
    assert not verified(runner, GivenModel(pharmacy_milp()), problem=problem, metamorphic=True).metamorphic
    point = {**PILLS, "sleeping_pills": 120.0}
    placed = verified(runner, GivenModel(source=program, point=point), problem=problem)
    assert (placed.judgement.verdict, placed.values, placed.objective) == (Verdict.CONTRADICTED, point, 750.0)
    broken = verified(
        runner,
        GivenModel(source="def solve(data):\n    return 1 / 0\n", point=PILLS),
        problem=problem,
        metamorphic=True,
    )
    assert (broken.judgement.verdict, broken.milp, broken.metamorphic) == (Verdict.NO_ANSWER, None, ())


@pytest.mark.parametrize(
    ("kind", "is_linear", "is_logical"),
    [(VariableKind.INTEGER, False, True), (VariableKind.INTEGER, True, False), (VariableKind.CONTINUOUS, False, False)],
)
def test_logic_over_integers_is_solved_as_a_schedule(
    monkeypatch: pytest.MonkeyPatch, kind: VariableKind, is_linear: bool, is_logical: bool
) -> None:
    met: list[tuple[tuple, dict]] = []

    def solve_model(*words: Any, **named: Any) -> Solution:
        met.append((words[1:], named))
        return Solution(SolveStatus.UNKNOWN)

    monkeypatch.setattr(verify, "solve_model", solve_model)
    switch = Indicator("i", "on", True, {"x": 1.0}, Relation.AT_MOST, 3.0)
    variables = (Variable("x", 0, 9, kind), Variable("on", 0, 1, VariableKind.INTEGER))
    features = ModelFeatures() if is_linear else ModelFeatures(indicators=(switch,))
    milp = IndexedModel.from_records(variables, (), Objective({"x": 1.0}), Sense.MAXIMIZE, features=features)
    bounds = SimpleNamespace(program_s=7.0, gap=0.25, solver="highs", threads=3)
    ran = verify._run_given(GivenModel(milp), PROBLEM, SimpleNamespace(bounds=bounds))  # type: ignore[arg-type]
    assert isinstance(ran, ExecutionResult)
    assert met == [((7.0, 0.25, "highs", 3), {"is_schedule": is_logical})]


def test_a_verification_is_recorded_and_replayed(tmp_path: Path) -> None:
    model = Scripted(pharmacy.reply)
    folder, outcome = verify_given(request(), GivenModel(pharmacy_milp()), tmp_path, model=model)
    assert outcome.result is not None
    assert (model.calls, outcome.result.judgement.verdict) == (1, Verdict.CHECKED)
    assert folder.parent == tmp_path / "pharmacy"
    assert read_request(folder).origin == "verify"
    again, second = verify_given(request(), GivenModel(pharmacy_milp(p=2.3, s=4.3)), tmp_path / "again", replay=folder)
    assert second.result is not None
    assert (second.result.checker, second.result.judgement.verdict) == (outcome.result.checker, Verdict.CONTRADICTED)
    assert again != folder


@pytest.mark.parametrize(
    ("model", "error"),
    [(GivenModel(pharmacy_milp()), ConfigError), (GivenModel(pharmacy_milp(), point={"pills": 3.0}), ModellingError)],
)
def test_a_verification_that_cannot_begin_leaves_no_folder(tmp_path: Path, model: GivenModel, error: type) -> None:
    checker = pharmacy.CHECKER if error is ModellingError else ""
    with pytest.raises(error):
        verify_given(request(), model, tmp_path, checker=checker)
    assert not list(tmp_path.iterdir())


def test_the_author_of_a_checker_is_told_the_names_of_the_values_only() -> None:
    milp = pharmacy_milp()
    prompt = verify.prompt_author(request(), GivenModel(milp))
    assert pharmacy.TEXT in prompt
    assert all(f"values['{name}']" in prompt for name in PILLS)
    assert "morphine'" not in prompt
    # The solver of the options solves the model.
    with pytest.raises((ConfigError, ModellingError)):
        verify.prompt_author(request(solver="glop"), GivenModel(milp))
    with pytest.raises(ConfigError):
        verify.prompt_author(request(), GivenModel(source="def solve(data):\n    return 1 / 0\n"))


def test_python_verifies_a_file_by_a_checker_or_a_model(tmp_path: Path) -> None:
    right, point = tmp_path / "right.json", tmp_path / "point.json"
    write(pharmacy_milp(), right)
    point.write_text(json.dumps({**PILLS, "sleeping_pills": 120.0}))
    out = tmp_path / "out"
    result = api.verify(pharmacy.TEXT, right, checker=pharmacy.CHECKER, folder=out, name="pills", time_s=30.0)
    assert result.judgement.verdict is Verdict.CHECKED
    (folder,) = (out / "pills").iterdir()
    stored = read_request(folder)
    assert (stored.options.time_s, stored.options.metamorphic, stored.problem.text) == (30.0, True, pharmacy.TEXT)
    by_model = api.verify(pharmacy.TEXT, str(right), language_model=Scripted(pharmacy.reply), solution=point)
    assert by_model.judgement.verdict is Verdict.CONTRADICTED
    assert by_model.objective == 750.0
    # Nothing is left where no folder was named.
    assert {path.name for path in tmp_path.iterdir()} == {"right.json", "point.json", "out"}
    for fields in ({}, {"checker": pharmacy.CHECKER, "colour": "red"}, {"checker": pharmacy.CHECKER, "data": [1]}):
        with pytest.raises(ConfigError):
            api.verify(pharmacy.TEXT, right, **fields)

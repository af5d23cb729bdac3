"""The folder of a formulation: what is written is what the result has, what is read is what was written."""

import asyncio
import csv
import json
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from oragent._base.budget import Budget, Spent
from oragent._base.errors import BudgetExhausted, ConfigError, ModellingError, StoreError
from oragent.formulate.appeals import Citation, Dispute
from oragent.formulate.checks import Checked, CheckStatus, Reason
from oragent.formulate.folder import (
    ABOUT_CHARACTERS,
    FormulationEnd,
    FormulationRequest,
    create_folder,
    finalize,
    price_result,
    read_request,
    run_formulation,
    run_in_folder,
    summarize_result,
)
from oragent.formulate.formulation import FormulationResult
from oragent.formulate.options import choose_options
from oragent.formulate.problem import Form, ProblemText, ProgramInterface
from oragent.formulate.prompting import PoolEntry
from oragent.formulate.rules import RuleComparison, RuleOutcome
from oragent.formulate.running import Bounds, FormulationRunner
from oragent.ledger.case import LedgerCase
from oragent.llm.callable import Scripted
from oragent.llm.model import Message, Reply, Request
from oragent.llm.model_settings import ModelSettings, RuntimeSettings
from oragent.modelling.data.features import FurtherObjective, ModelFeatures, QuadraticTerm
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.intervals import PlanInterval, TimeExpression
from oragent.modelling.data.model_records import Objective, Row
from oragent.modelling.data.model_values import Relation, Sense
from oragent.modelling.data.solution import Solution, SolveStatus
from oragent.modelling.files.model_files import read
from oragent.modelling.files.solution_json import solution_dict
from oragent.modelling.solving.model_solving import solve
from tests.formulate.results import BAKERY, FINDING, STORY, checks_of, result_of

PROBLEM = ProblemText("bakery", STORY)
REQUEST = FormulationRequest(PROBLEM, choose_options("default"))
TWO_AIMS = BAKERY.with_records(
    objective=Objective({"y": 1.0}),
    sense=Sense.MINIMIZE,
    features=ModelFeatures(goals=(FurtherObjective("people", {"x": 1.0}, Sense.MAXIMIZE, priority=1),)),
)
FACTS = {"OBJECTIVE": "maximize: people; minimize: loaves", "UNIT": "heads; kg"}
TOO_MUCH = BAKERY.with_records(rows=(*BAKERY.row_records, Row("orders", {"x": 1.0}, Relation.AT_LEAST, 9.0)))


def test_a_request_is_read_as_it_was_written(tmp_path: Path) -> None:
    interface = ProgramInterface("plan", ("data", "most"), "def plan(data, most): ...", Form.SCAFFOLD)
    problem = ProblemText(
        "Käse, 2", "We make\ncheese.", {"Müller": [1, 2.5, None]}, interface, "a background", ("a note",), {"milk": {"Menge": "kg"}}
    )  # fmt: skip
    options = choose_options(
        "paper", without=frozenset({"formalization", "compiler"}), extra=("terminology",), edits={"compiler": "text"}, gap=0.25, time_s=7.0
    )  # fmt: skip
    runtime = RuntimeSettings(ModelSettings("m", base_url="http://localhost/v1"), budget=Budget(money=2.0))
    request = FormulationRequest(problem, options, runtime, "ormind", "verify")
    folder = create_folder(tmp_path, request)
    assert read_request(folder) == request
    assert folder.parent.parent == tmp_path
    # A file for people.
    assert (folder / "data.json").read_text() == '{\n "Müller": [\n  1,\n  2.5,\n  null\n ]\n}\n'
    assert (folder / "interface.py").read_text().strip() == interface.source
    # The same options have the same text, whatever the order in a set.
    parts = ["counterfactual", "formalization", "semantic_encoder", "syntax_analysis"]
    other = create_folder(tmp_path, replace(request, options=replace(options, without=frozenset(parts))))
    assert other != folder
    assert json.loads((other / "formulate.json").read_text())["options"]["without"] == parts


def spoil(folder: Path, how: str) -> None:
    file = folder / "formulate.json"
    plain = json.loads(file.read_text())
    if how == "missing":
        file.unlink()
    elif how == "link":
        (folder / "link").symlink_to(folder / "problem.md")
    elif how == "no data":
        (folder / "data.json").write_text("{")
    else:
        plain[how] = {"format": 99, "options": {"without": [], "extra": [], "colour": 3}, "notes": 5}[how]
        file.write_text(json.dumps(plain))


@pytest.mark.parametrize("how", ["missing", "link", "no data", "format", "options", "notes"])
def test_a_folder_that_was_edited_is_refused(tmp_path: Path, how: str) -> None:
    folder = create_folder(tmp_path, REQUEST)
    spoil(folder, how)
    with pytest.raises(StoreError) as caught:
        read_request(folder)
    assert "\n" not in str(caught.value)


def test_a_folder_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError):
        create_folder(tmp_path / "file", REQUEST)
    folder = create_folder(tmp_path, REQUEST)
    (folder / "program.py").mkdir()
    with pytest.raises(StoreError):
        finalize(folder, result_of(BAKERY))


def test_files_of_a_finished_formulation_have_the_parts_of_its_result(tmp_path: Path) -> None:
    checks = checks_of(CheckStatus.FAILED, FINDING)
    pool = (PoolEntry("program", "a text", tokens=3), PoolEntry("review", "", ["odd"]))
    result = result_of(
        BAKERY, checks=checks, pool=pool, program="the program", checker="the checker", kept=1, attempts=({"number": 0}, {"number": 1})
    )  # fmt: skip
    folder = create_folder(tmp_path, REQUEST)
    outcome = finalize(folder, result)
    assert (folder / "program.py").read_text() == "the program"
    assert (folder / "checker.py").read_text() == "the checker"
    stored = json.loads((folder / "checks.json").read_text())
    assert (stored["kept"], stored["attempts"]) == (1, [{"number": 0}, {"number": 1}])
    assert stored["checks"]["findings"][0]["name"] == FINDING.name
    lines = [json.loads(line) for line in (folder / "pool.jsonl").read_text().splitlines()]
    assert [line["module"] for line in lines] == ["program", "review"]
    assert outcome.solution is not None
    assert json.loads((folder / "solution.json").read_text()) == json.loads(json.dumps(solution_dict(outcome.solution)))
    assert json.loads((folder / "result.json").read_text()) == json.loads(
        json.dumps(summarize_result(outcome), default=str)
    )


def test_a_formulation_without_a_model_has_no_files_of_one(tmp_path: Path) -> None:
    folder = create_folder(tmp_path, REQUEST)
    result = replace(result_of(BAKERY), milp=None, solution=None, status="timeout", message="too long")
    outcome = finalize(folder, result)
    assert (outcome.solution, outcome.shown, outcome.effects, outcome.incomplete) == (None, None, (), None)
    assert json.loads((folder / "solution.json").read_text()) == {"status": "timeout", "note": "too long"}
    assert not {file.name for file in folder.iterdir()} & {"milp.json", "milp.mps", "milp.lp", "plan.csv"}
    summary = json.loads((folder / "result.json").read_text())
    missing = {name: summary[name] for name in ("class", "objective", "unit", "sense", "bound", "gap", "schedule")}
    assert missing == {
        "class": "", "objective": None, "unit": "", "sense": None, "bound": None, "gap": None, "schedule": []
    }  # fmt: skip
    assert (summary["comparison"], summary["objective_parts"], summary["limits"]) == (None, {}, [])
    assert (summary["verdict"], summary["exit_code"], summary["reasons"]) == ("no answer", 3, ["too long"])


def test_a_model_with_products_is_written_where_its_format_has_them(tmp_path: Path) -> None:
    area = ModelFeatures(quadratic=(QuadraticTerm("x", "x", -1.0), QuadraticTerm("y", "y", -1.0)))
    milp = BAKERY.with_records(features=area)
    folder = create_folder(tmp_path, REQUEST)
    outcome = finalize(folder, result_of(milp))
    assert read(folder / "milp.json").named_features == area
    assert outcome.solution is not None
    # The maximum of 3 x - x^2 + 5 y - y^2 is free of all limits; such models have no duals.
    assert outcome.solution.objective == pytest.approx(1.5**2 + 2.5**2, abs=1e-4)
    assert not outcome.solution.duals


def test_a_linear_model_that_cannot_be_written_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(milp: IndexedModel, path: Path) -> None:
        if path.suffix == ".lp":
            raise ModellingError("no")

    monkeypatch.setattr("oragent.formulate.folder.write", refuse)
    with pytest.raises(StoreError):
        finalize(create_folder(tmp_path, REQUEST), result_of(BAKERY))


def test_a_summary_has_every_part_of_its_outcome() -> None:
    rules = (RuleComparison("r", RuleOutcome.MISSING, float("inf"), "s"),)
    dispute = Dispute(str(Reason.VIOLATED), "oven", "why", Citation("a", 1), Citation("b", None))
    interval = PlanInterval("bake", TimeExpression({"x": 1.0}), TimeExpression({"x": 1.0}, 2.0), "oven", {}, False)
    solution = replace(solve(BAKERY, duals=False), status=SolveStatus.FEASIBLE, bound=45.0, gap=0.15)
    result = result_of(
        BAKERY, answer=False, message="not proven", solution=solution_dict(solution), is_schedule=False, framework="pulp 3",
        checks=asdict(Checked(CheckStatus.PASSED, (), 3, 3, compared=True, compared_aims=1, rules=rules)), disputes=(dispute,), withdrawn=(replace(dispute, name="flour"),),
        unmodelled=(("queues", "no figures"),), spent=Spent(model_calls=7, tokens=11, money=0.5), unpriced=2,
        readings=({"sentence": "s"},), intervals=(interval,), pool=(PoolEntry("formalization", "", {"OBJECTIVE": "maximize: profit", "UNIT": "EUR"}),),
    )  # fmt: skip
    summary = summarize_result(price_result(result))
    expected = {
        "verdict": "no answer", "exit_code": 3, "reasons": ["not proven"], "status": "optimal", "class": "linear",
        "framework": "pulp 3", "objective": pytest.approx(39), "unit": "EUR", "sense": "maximize", "bound": 45.0, "gap": 0.15,
        "values": {"x": pytest.approx(3), "y": pytest.approx(6)}, "readings": [{"sentence": "s"}], "unmodelled": [["queues", "no figures"]],
        "disputes": [asdict(dispute)], "withdrawn": [asdict(replace(dispute, name="flour"))],
        "calls": 7, "tokens": 11, "money": 0.5, "unpriced": 2, "effects": [], "shortages": [], "alternative": {},
        # A time is no part of a sum.
        "objective_parts": {},
    }  # fmt: skip
    assert {name: summary[name] for name in expected} == expected
    (aim,) = summary["aims"]
    assert (aim["name"], aim["unit"], aim["value"]) == ("profit", "EUR", pytest.approx(39))
    # JSON has no infinite number.
    assert [(rule["name"], rule["amount"], rule["sentence"]) for rule in summary["rules"]] == [("r", None, "s")]
    assert summary["comparison"]["compared"] is True
    assert not summary["comparison"].keys() & {"sentences", "rules", "aims"}
    assert [(bar["lane"], bar["start"], bar["end"]) for bar in summary["schedule"]] == [
        ("oven", pytest.approx(3), pytest.approx(5))
    ]
    rows = [row for table in summary["limits"] for row in table["rows"]]
    assert [(round(row["used"], 6), row["limit"]) for row in rows] == [(21.0, 21.0)]


def test_effects_another_plan_and_shortages_are_those_of_the_model() -> None:
    priced = price_result(result_of(BAKERY))
    summary = summarize_result(priced)
    for effect in summary["effects"]:
        (row,) = [row for row in BAKERY.row_records if effect["sentence"] == row.meaning]
        for percent, change in effect["changes"].items():
            wider = replace(row, rhs=row.rhs * (1 + percent / 100))
            rows = tuple(wider if record.name == row.name else record for record in BAKERY.row_records)
            assert change == pytest.approx((solve(BAKERY.with_records(rows=rows)).objective or 0) - 39)
    assert len(summary["effects"]) == 2
    assert summary["objective_parts"] == {"y": pytest.approx(30), "x": pytest.approx(9)}
    row = Row("sum", {"x": 1.0, "y": 1.0}, Relation.AT_MOST, 4.0)
    level = BAKERY.with_records(rows=(row,), objective=Objective({"x": 1.0, "y": 1.0}))
    solution = solve(level, duals=False)
    other = summarize_result(price_result(result_of(level)))["alternative"]
    assert sum(other.values()) == pytest.approx(4)
    assert other != pytest.approx(dict(solution.values))
    infeasible = price_result(result_of(TOO_MUCH))
    assert infeasible.incomplete is not None
    assert infeasible.shown is infeasible.incomplete.solution
    (shortage,) = summarize_result(infeasible)["shortages"]
    # A dough for 4 at most, of which 9 are ordered.
    assert abs(shortage["wanted"] - shortage["possible"]) == pytest.approx(5)
    assert priced.shown is priced.solution
    assert FormulationEnd(None, Solution(SolveStatus.UNKNOWN)).shown is None


@pytest.mark.parametrize(
    ("milp", "fields", "unit"),
    [
        (BAKERY, {"pool": (PoolEntry("formalization", "", {"OBJECTIVE": "maximize: profit", "UNIT": "EUR"}),)}, ""),
        (TWO_AIMS, {"pool": (PoolEntry("formalization", "", FACTS),)}, "kg"),
        (TWO_AIMS.with_records(objective=Objective({"y": 1.0}, unit="loaves")), {"pool": (PoolEntry("formalization", "", FACTS),)}, "loaves"),
        # The aims are those of the checker, and the model has their sum.
        (BAKERY, {"pool": (PoolEntry("formalization", "", FACTS),),
                  "checks": {"aims": [{"name": name, "sense": "maximize", "value": 1.0} for name in "xy"], "findings": [], "state": "passed", "compared": True, "note": ""}}, ""),
    ],
)  # fmt: skip
def test_the_last_of_several_aims_has_its_unit_in_the_model(
    tmp_path: Path, milp: IndexedModel, fields: dict[str, Any], unit: str
) -> None:
    folder = create_folder(tmp_path, replace(REQUEST, problem=replace(PROBLEM, text="a  b\n" * ABOUT_CHARACTERS)))
    finalize(folder, result_of(milp, **fields))
    stored = read(folder / "milp.json")
    assert stored.objective_record.unit == unit
    assert stored.meaning == ("a b " * ABOUT_CHARACTERS)[:ABOUT_CHARACTERS]
    with (folder / "plan.csv").open() as file:
        plan = {row["decision"]: float(row["value"]) for row in csv.DictReader(file)}
    assert plan == {name: value for name, value in solve(milp).values.items() if value}
    own = result_of(replace(milp, meaning="a model of bread"), **fields)
    finalize(folder, own)
    assert read(folder / "milp.json").meaning == "a model of bread"


Work = Callable[[LedgerCase, FormulationRunner], Any]


def run(folder: Path, work: Work, model: Any = None, **options: Any) -> FormulationEnd:
    return run_in_folder(lambda: create_folder(folder, REQUEST), REQUEST, work, model=model, **options)


def test_calls_without_a_price_are_counted_and_seconds_are_not(tmp_path: Path) -> None:
    async def model(request: Request) -> Reply:
        money = {"free": 0.0, "priced": 0.25}.get(request.role)
        return Reply("yes", tokens_in=3, tokens_out=4, money=money, seconds=1.5, model="m")

    async def work(case: LedgerCase, runner: FormulationRunner) -> FormulationResult:
        for role in ("free", "priced", "unknown", "unpriced"):
            await case.ask(role, [Message("user", role)])
        await asyncio.sleep(0.01)
        assert runner.bounds == Bounds(20.0)
        return result_of(BAKERY)

    outcome = run(tmp_path, work, model)
    assert outcome.result is not None
    assert outcome.result.spent == Spent(0, 4, 28, 0.25)
    assert outcome.result.unpriced == 2
    (folder,) = (tmp_path / "bakery").iterdir()
    assert json.loads((folder / "result.json").read_text())["calls"] == 4
    # The replies are taken from the folder, and another prompt has none.
    again = run(tmp_path / "again", work, replay=folder, is_asking=False)
    assert again.result is not None
    assert again.result.spent.model_calls == 4


def test_an_end_without_a_result_says_why(tmp_path: Path) -> None:
    async def work(case: LedgerCase, runner: FormulationRunner) -> FormulationResult:
        raise BudgetExhausted("the budget is used up")

    outcome = run(tmp_path, work, Scripted(["yes"]))
    assert outcome.result is None
    assert "the budget is used up" in outcome.reason


@pytest.mark.parametrize(
    ("options", "bounds", "expected"),
    [
        ({"time_s": 7.0, "gap": 0.25, "threads": 3, "solver": "highs"}, None, Bounds(7.0, gap=0.25, solver="highs", threads=3)),
        ({"time_s": 7.0}, Bounds(2.0, 512), Bounds(2.0, 512)),
    ],
)  # fmt: skip
def test_programs_have_the_limits_of_the_options(
    tmp_path: Path, options: dict[str, Any], bounds: Bounds | None, expected: Bounds
) -> None:
    met: list[Bounds] = []

    async def work(case: LedgerCase, runner: FormulationRunner) -> FormulationResult:
        met.append(runner.bounds)
        return result_of(BAKERY)

    request = replace(REQUEST, options=choose_options("default", **options))
    run_in_folder(create_folder(tmp_path, request), request, work, is_asking=False, bounds=bounds)
    assert met == [expected]


def test_a_formulation_without_a_model_or_a_replay_does_not_begin(tmp_path: Path) -> None:
    for fields in ({}, {"replay": tmp_path, "fresh": True}):
        with pytest.raises(ConfigError):
            run_formulation(lambda: create_folder(tmp_path, REQUEST), REQUEST, **fields)
    assert not list(tmp_path.iterdir())

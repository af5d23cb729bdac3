"""A formulation's folder: begun, broken off, gone on with, replayed, shown."""

import io
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from typer.testing import CliRunner

from oragent._base.budget import Budget
from oragent._base.errors import ConfigError, ModelError, ProblemError, StoreError, UntrustedError
from oragent._base.files import file_stem
from oragent.cli.app import app
from oragent.formulate import command
from oragent.formulate.api import formulate
from oragent.formulate.checks import CheckStatus
from oragent.formulate.command import formulate_file, resume, rewrite_page, show_formulation, verify_files
from oragent.formulate.folder import (
    FormulationEnd,
    FormulationRequest,
    create_folder,
    finalize,
    price_result,
    read_request,
)
from oragent.formulate.formulation import FormulationResult
from oragent.formulate.options import FormulateCommand, VerifyCommand, choose_options
from oragent.formulate.pages import mark_sentences
from oragent.formulate.problem import ProblemText
from oragent.ledger import Study
from oragent.llm.callable import Scripted
from oragent.llm.model import Request
from oragent.llm.model_settings import ModelSettings, RuntimeSettings, RuntimeWords
from oragent.modelling.data.solution import SolveStatus
from oragent.modelling.files.model_files import read, write
from oragent.modelling.solving.model_solving import solve
from oragent.report.pages.value_tables import PULP
from tests.formulate import pharmacy, transport
from tests.formulate.results import BAKERY, FINDING, STORY, checks_of, result_of

RECORDED = Path(__file__).parent / "recorded" / "pharmacy"
FILES = {
    "problem.md", "data.json", "interface.py", "formulate.json", "run.db", "pool.jsonl", "program.py", "checker.py",
    "checks.json", "solution.json", "milp.json", "milp.mps", "milp.lp", "report.html", "result.json", "plan.csv",
    "plan.xlsx",
}  # fmt: skip


class Failing(Scripted):
    """A server that is down from some call on."""

    def __init__(self, most: int) -> None:
        def reply(request: Request, number: int) -> str:
            if number >= most:
                raise ModelError("the server is down")
            return pharmacy.reply(request, number)

        super().__init__(reply)


class Tags(HTMLParser):
    """Sees whether every element that is opened is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.wrong = False

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        self.wrong |= not self.open or self.open.pop() != tag


def balanced(page: str) -> bool:
    tags = Tags()
    tags.feed(page)
    return not tags.open and not tags.wrong


@pytest.fixture
def wanted(tmp_path: Path) -> FormulateCommand:
    (tmp_path / "pharmacy.md").write_text(pharmacy.TEXT)
    return FormulateCommand(
        tmp_path / "pharmacy.md", tmp_path / "out", options={"metamorphic": True, "method": "ormind"}
    )


def said(work) -> tuple[int, str]:
    console = Console(file=io.StringIO(), width=160)
    return work(console), console.file.getvalue()


def folder_of(wanted: FormulateCommand) -> Path:
    *_, newest = sorted((wanted.outputs / "pharmacy").iterdir())
    return newest


@pytest.mark.slow
def test_a_formulation_prints_what_came_of_it_and_leaves_its_files(wanted: FormulateCommand) -> None:
    code, text = said(lambda console: formulate_file(wanted, console, Scripted(pharmacy.reply)))
    assert code == 0
    for words in ("optimal", "735", "sleeping_pills    117", "0 >= 35 does not hold", "6 calls", "report:", "passed"):
        assert words in text
    folder = folder_of(wanted)
    assert {path.name for path in folder.iterdir()} >= FILES
    for form in ("json", "mps", "lp"):
        assert solve(read(folder / f"milp.{form}")).objective == 735.0
    assert json.loads((folder / "solution.json").read_text())["objective"] == 735.0
    first, *_ = (folder / "pool.jsonl").read_text().splitlines()
    assert json.loads(first)["module"] == "semantic_encoder"
    page = (folder / "report.html").read_text()
    assert "<mark>at least 70% of\nthe pills should be sleeping pills</mark>" in page
    assert "<mark>at least 50 painkiller pills</mark>" in page  # its row has another name than the check
    assert "10 % less: -75" in page
    assert "<script" not in page
    assert "http-equiv" in page
    assert "Not tried: the program does not read its data." in page
    assert balanced(page)


@pytest.mark.slow
def test_the_sentence_of_a_row_stands_across_the_table_below_its_figures(wanted: FormulateCommand) -> None:
    said(lambda console: formulate_file(wanted, console, Scripted(pharmacy.reply)))
    page = (folder_of(wanted) / "report.html").read_text()
    table = page[page.index("<h2>Rows") : page.index("<h2>Model")]
    columns = table[: table.index("</thead>")].count("<th")
    below = f'</tr><tr class="sentence"><td colspan="{columns - 1}"><div>at least 50 painkiller pills'  # <thead too
    assert below in table


@pytest.mark.slow
@pytest.mark.parametrize("program", [transport.PROGRAM, transport.FLAT])
def test_hundreds_of_decisions_stand_first_as_tables_before_everything_else(tmp_path: Path, program) -> None:
    (tmp_path / "sugar.md").write_text(transport.TEXT)
    (tmp_path / "data.json").write_text(json.dumps(transport.data(8, 45)))
    wanted = FormulateCommand(
        tmp_path / "sugar.md", tmp_path / "out", (tmp_path / "data.json",), options={"method": "ormind"}
    )
    console = Console(file=io.StringIO(), width=80)
    formulate_file(wanted, console, Scripted(transport.replies(program)))
    text = console.file.getvalue()
    assert text.index("ship (t)") < text.index("checks")
    header, *rows = (tmp_path / "out").glob("sugar/*/plan.csv").__next__().read_text().splitlines()
    assert header.startswith("decision,wor")
    assert "index" not in header
    assert all(float(row.split(",")[-2]) != 0 for row in rows)
    (folder,) = (tmp_path / "out" / "sugar").iterdir()
    page = (folder / "report.html").read_text()
    assert page.index("Decisions") < page.index("<h2>Problem")
    solution = json.loads((folder / "solution.json").read_text())
    used = {name for name, value in solution["values"].items() if value and name.startswith("run_")}
    assert used
    for name in ("Hütte Süd (alt)", "Werk Nord, Ost"):
        assert (f"run_{name.translate(PULP)}" in used) == (f"<th>{name}</th><td" in page)
    assert "<th>Lager Bad Öhr</th><td" in page


HARD = """
import pulp, random

def solve(data):  # market split (Cornuejols & Dawande 1999): nobody proves an optimum of it within seconds
    random.seed(1)
    problem = pulp.LpProblem("split", pulp.LpMinimize)
    x = [pulp.LpVariable(f"x{place}", cat="Binary") for place in range(50)]
    off = [pulp.LpVariable(f"off{place}", 0) for place in range(6)]
    for place in range(6):
        row = [random.randint(1, 99) for _ in x]
        left = pulp.lpSum(value * one for value, one in zip(row, x)) - sum(row) // 2
        problem += left <= off[place], f"over{place}"
        problem += left >= -off[place], f"under{place}"
    problem += 1000 + pulp.lpSum(off)
    problem.solve()
    return {"objective_value": pulp.value(problem.objective), "optimized_vars": {"off": off}}
"""


@pytest.mark.slow
@pytest.mark.parametrize(("gap", "code"), [(0.5, 5), (0.0001, 3)])
def test_a_point_within_the_gap_is_an_answer_and_another_is_shown_with_its_bound(tmp_path, gap, code) -> None:
    (tmp_path / "split.md").write_text("Split it.")
    options = {
        "gap": gap, "time_s": 2.0, "without": frozenset({"counterfactual"}), "metamorphic": False, "method": "ormind",
    }  # fmt: skip
    wanted = FormulateCommand(tmp_path / "split.md", tmp_path / "out", options=options)
    model = Scripted(transport.replies(HARD))
    ended, text = said(lambda console: formulate_file(wanted, console, model))
    assert (ended, model.calls) == (code, 4)  # no repair is paid for
    assert ("unchecked: 1," in text) == (code == 5)
    assert ("no answer: 1," in text) == (code == 3)
    assert "the best objective is at least" in text
    assert ("wider gap with --gap" in text) == (code == 3)
    (folder,) = (tmp_path / "out" / "split").iterdir()
    assert "the best objective is at least" in (folder / "report.html").read_text()
    shown = json.loads((folder / "solution.json").read_text())
    with Study(folder, {}, Budget(evaluations=None)) as study:
        (finished,) = study.finished_cases()
    checked = finished.result["solution"]
    assert shown["values"] == checked["values"]  # the very point that was checked, not one of a second search


@pytest.mark.slow
def test_settling_keeps_the_point_that_was_checked(tmp_path: Path, wanted: FormulateCommand) -> None:
    said(lambda console: formulate_file(wanted, console, Scripted(pharmacy.reply)))
    folder = folder_of(wanted)
    with Study(folder, {}, Budget(evaluations=None)) as study:
        (finished,) = study.finished_cases()
    plain = dict(finished.result)
    plain["solution"] = {**plain["solution"], "status": "feasible", "objective": 760.0, "bound": 735.0, "gap": 25 / 760,
                         "values": {"painkillers": 50.0, "sleeping_pills": 122.0}}  # fmt: skip
    solution = finalize(folder, FormulationResult.from_plain(plain)).solution
    assert solution is not None
    assert (solution.status, solution.values) == (SolveStatus.FEASIBLE, {"painkillers": 50.0, "sleeping_pills": 122.0})
    assert solution.sensitivity is not None


@pytest.mark.slow
def test_what_was_broken_off_goes_on_and_asks_nothing_twice(wanted: FormulateCommand) -> None:
    code, text = said(lambda console: formulate_file(wanted, console, Failing(3)))
    assert code == 3
    assert "unfinished: the server is down" in text
    folder = folder_of(wanted)
    with pytest.raises(StoreError):
        said(lambda console: show_formulation(folder, console))
    again = Scripted(pharmacy.reply)
    code, text = said(lambda console: resume(folder, console, again))
    assert (code, again.calls) == (0, 3)
    assert "735" in text


def test_without_a_key_or_with_a_wrong_replay_nothing_is_left(
    wanted: FormulateCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    words = ["formulate", str(wanted.problem), "--outputs", str(wanted.outputs)]
    asked = CliRunner().invoke(app, [*words, "--model", "gpt-4.1-mini"])
    assert isinstance(asked.exception, ModelError)
    assert "OPENAI_API_KEY is not set" in str(asked.exception)
    replayed = CliRunner().invoke(app, [*words, "--replay", str(wanted.outputs / "nowhere")])
    assert isinstance(replayed.exception, StoreError)
    with pytest.raises(ModelError, match="OPENAI_API_KEY"):
        formulate(pharmacy.TEXT, model="gpt-4.1-mini", folder=wanted.outputs)
    assert not wanted.outputs.exists()


@pytest.mark.slow
def test_a_finished_one_is_replayed_and_shown_without_a_model(wanted: FormulateCommand) -> None:
    said(lambda console: formulate_file(wanted, console, Scripted(pharmacy.reply)))
    first = folder_of(wanted)
    result = CliRunner().invoke(app, ["formulate", "--replay", str(first), "--outputs", str(wanted.outputs / "again")])
    assert result.exit_code == 0, result.output
    (other,) = (wanted.outputs / "again" / "pharmacy").iterdir()
    assert read_request(other) == read_request(first)
    for name in ("program.py", "milp.json", "checks.json"):
        assert (other / name).read_text() == (first / name).read_text()
    code, text = said(lambda console: show_formulation(first, console))
    assert code == 0
    assert "735" in text
    (first / "report.html").unlink()
    assert rewrite_page(first).is_file()


@pytest.mark.slow
def test_a_formulation_with_a_link_is_refused(wanted: FormulateCommand, tmp_path: Path) -> None:
    said(lambda console: formulate_file(wanted, console, Scripted(pharmacy.reply)))
    first, private = folder_of(wanted), tmp_path / "private.txt"
    private.write_text("the key is 1234")
    (first / "problem.md").unlink()
    (first / "problem.md").symlink_to(private)
    for action in (["resume", str(first)], ["formulate", "--replay", str(first)], ["report", str(first)]):
        done = CliRunner().invoke(app, action)
        assert isinstance(done.exception, StoreError)
        assert "problem.md is a link" in str(done.exception)
        assert "1234" not in done.output


@pytest.mark.slow
def test_the_recorded_pharmacy_is_replayed_and_its_settings_can_be_changed(tmp_path: Path) -> None:
    """Replies of ours, kept in the repository, come to the published figures whatever became of our prompts since."""

    def replayed(*changes: str, code: int = 0) -> str:
        arguments = ["formulate", "--replay", str(RECORDED), "--outputs", str(tmp_path), *changes]
        result = CliRunner().invoke(app, arguments)
        assert result.exit_code == code, result.output
        return " ".join(result.output.split())

    text = replayed()
    for words in (
        "program 1: optimal, objective 150 at painkillers = 50, sleeping_pills = 0", "0 >= 35 does not hold",
        "program 2: optimal, objective 735 at painkillers = 50, sleeping_pills = 117", "passed: 7 of 7 hold",
        "changed data: not tested: the program does not read its data",
    ):  # fmt: skip
        assert words in text
    # as published, the revision is not checked again
    assert "checks unchecked" in replayed("--preset", "paper", code=5)
    assert "program 2" not in replayed("--without", "counterfactual", code=5)


@pytest.mark.slow
def test_after_an_edit_of_a_replay_later_modules_alone_are_asked_again(
    wanted: FormulateCommand, tmp_path: Path
) -> None:
    edit = tmp_path / "edit.json"
    edit.write_text(pharmacy.MODEL.replace("share:", "a share:"))
    model = Scripted(pharmacy.reply)
    own = FormulateCommand(None, wanted.outputs, replay=RECORDED, edit=("formalization", edit))
    code, text = said(lambda console: formulate_file(own, console, model))
    assert (code, model.calls) == (0, 4)  # not the encoder, which stands before it
    assert "735" in text
    code, text = said(lambda console: formulate_file(own, console))
    assert code == 3
    assert "the recorded run has no reply to this prompt" in text


@pytest.mark.slow
def test_an_edit_takes_a_modules_place(wanted: FormulateCommand, tmp_path: Path) -> None:
    edit = tmp_path / "edit.md"
    edit.write_text(f"```python\n{pharmacy.RIGHT}\n```")
    own = FormulateCommand(
        wanted.problem, wanted.outputs, edit=("supervisor_forward", edit), options={"method": "ormind"}
    )
    model = Scripted(pharmacy.reply)
    code, text = said(lambda console: formulate_file(own, console, model))
    assert (code, model.calls) == (0, 4)
    assert "program 2" not in text


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], "name a file with a problem in words"),
        (["p.md"], "needs a language model"),
        (["p.md", "--model", "m", "--without", "x"], "module that can be left out"),
        (["p.md", "--model", "m", "--preset", "papr"], "did you mean 'paper'"),
        (["p.md", "--model", "m", "--tolerance", "exact"], "tolerance"),
        (["p.md", "--model", "m", "--method", "ormint"], "did you mean 'ormind'"),
        (["p.md", "--model", "m", "--from", "compiler"], "belong together"),
        (
            ["p.md", "--model", "m", "--from", "compiler", "--edit", "none.txt"],
            "expected a file with the output of a module",
        ),
        (["p.md", "--model", "oracle"], "use it in 'oragent bench formulate'"),
        (["p.md", "--model", "m", "--gap", "3"], "a gap from 0 to below 1"),
        (["--replay", str(RECORDED), "--data", "new.csv"], "oragent rerun"),
        (["--resume", "none"], "no formulation at none"),
    ],
)
def test_wrong_command_lines_are_told_in_one_line(tmp_path, monkeypatch, arguments: list[str], told: str) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.md").write_text("What?")
    result = CliRunner().invoke(app, ["formulate", *arguments])
    assert isinstance(result.exception, ConfigError | StoreError | ProblemError)
    assert told in str(result.exception)


def test_foreign_text_is_escaped_on_the_page() -> None:
    found = mark_sentences(
        "Buy <script>alert(1)</script> at least\nfive apples now.", ["at least five apples", "at least five"]
    )
    assert found == "Buy &lt;script&gt;alert(1)&lt;/script&gt; <mark>at least\nfive apples</mark> now."


def stubborn(request: Request, number: int) -> str:
    """Replies of a model that keeps its misread row, whatever it is told."""
    if request.role == "supervisor_backward":
        return f"```python\n{pharmacy.WRONG}\n```"
    return pharmacy.reply(request, number)


def test_a_plan_whose_checks_failed_is_contradicted_everywhere(wanted: FormulateCommand) -> None:
    code, text = said(lambda console: formulate_file(wanted, console, Scripted(stubborn)))
    assert code == 4
    folder = folder_of(wanted)
    first = text.splitlines()[1]
    assert first.startswith("contradicted: ")
    assert "optimal" not in first
    result = json.loads((folder / "result.json").read_text())
    assert (result["verdict"], result["exit_code"]) == ("contradicted", 4)
    assert any("share" in reason for reason in result["reasons"])
    page = (folder / "report.html").read_text()
    tile = page[page.index("<dt>verdict") : page.index("<dt>objective")]
    assert "contradicted" in tile
    assert "optimal" not in tile
    assert said(lambda console: show_formulation(folder, console))[0] == 4


class Ended:
    """Stands for a run that ends with a result, and records its arguments."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, result: FormulationResult | None = None) -> None:
        self.end = FormulationEnd(None, reason="the budget is spent") if result is None else price_result(result)
        self.requests: list[FormulationRequest] = []
        self.options: dict[str, Any] = {}
        self.folder = Path()
        monkeypatch.setattr(command, "run_formulation", self)

    def __call__(self, folder: Any, request: FormulationRequest, **options: Any) -> FormulationEnd:
        self.folder = folder() if callable(folder) else folder
        self.requests.append(request)
        self.options = options
        return self.end


def dough(tmp_path: Path, text: str = STORY, **fields: Any) -> FormulateCommand:
    (tmp_path / "dough.md").write_text(text)
    return FormulateCommand(tmp_path / "dough.md", tmp_path / "out", **fields)


SITUATIONS: dict[str, tuple[Any, str, float | None, int]] = {
    "optimal": (lambda: result_of(BAKERY, checks=checks_of(CheckStatus.PASSED)), "checked", 39.0, 0),
    "unchecked": (lambda: result_of(BAKERY), "unchecked", 39.0, 5),
    "contradicted": (lambda: result_of(BAKERY, checks=checks_of(CheckStatus.FAILED, FINDING)), "contradicted", 39.0, 4),
    "no proof": (lambda: result_of(BAKERY, answer=False), "no answer", 39.0, 3),
    "out of time": (
        lambda: replace(result_of(BAKERY), milp=None, solution=None, status="timeout"),
        "no answer",
        None,
        3,
    ),
}


@pytest.mark.parametrize("situation", SITUATIONS)
def test_the_first_line_the_file_and_the_exit_code_have_one_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, situation: str
) -> None:
    build, verdict, objective, code = SITUATIONS[situation]
    ended = Ended(monkeypatch, build())
    published: dict[str, Any] = {}
    monkeypatch.setattr(command, "publish_result", published.update)
    exit_code, text = said(lambda console: formulate_file(dough(tmp_path), console, Scripted(pharmacy.reply)))
    place, first, *rest = text.splitlines()
    assert place == f"formulation: {ended.folder}"
    assert exit_code == code
    assert first.startswith(f"{verdict}: ")
    if objective is not None:
        assert "39" in first
    assert (published["verdict"], published["objective"], published["exit_code"]) == (verdict, objective, code)
    assert published["folder"] == ended.folder
    assert rest[-1] == f"report: {ended.folder / 'report.html'}"
    assert any("plan.csv" in line for line in rest) is (situation != "out of time")
    assert (ended.folder / "report.html").is_file()
    assert (tmp_path / "out" / "dough") in ended.folder.parents


def test_a_formulation_that_is_broken_off_names_the_way_to_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = Ended(monkeypatch)
    code, text = said(lambda console: formulate_file(dough(tmp_path), console, Scripted(pharmacy.reply)))
    assert code == 3
    assert "the budget is spent" in text
    assert f"--resume {ended.folder}" in text
    assert not (ended.folder / "report.html").exists()
    with pytest.raises(StoreError):
        rewrite_page(ended.folder)
    with pytest.raises(StoreError):
        show_formulation(tmp_path, Console(file=io.StringIO()))


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, {"metamorphic": True, "method": "two_calls", "relative": 1e-6, "absolute": 0.0}),
        (
            {"options": {"metamorphic": False, "gap": None, "time_s": 5.0}},
            {"metamorphic": False, "gap": 0.0, "time_s": 5.0},
        ),
        ({"preset": "paper"}, {"method": "ormind", "metamorphic": True, "absolute": 0.01}),
        ({"tolerance": "ormind"}, {"relative": 1e-3, "absolute": 0.2}),
        ({"preset": "paper", "tolerance": "orspace"}, {"method": "ormind", "relative": 0.01, "absolute": 0.0}),
    ],
)
def test_options_of_the_command_line_are_those_of_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fields: dict[str, Any], expected: dict[str, object]
) -> None:
    ended = Ended(monkeypatch, result_of(BAKERY))
    said(lambda console: formulate_file(dough(tmp_path, **fields), console, Scripted(pharmacy.reply)))
    (request,) = ended.requests
    assert {name: getattr(request.options, name) for name in expected} == expected
    assert request.tolerance == (fields.get("tolerance") or "strict")
    assert request.problem.text == STORY
    # What is written is what is read again.
    assert read_request(ended.folder) == request


def test_a_folder_is_named_after_the_file_of_the_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ended = Ended(monkeypatch, result_of(BAKERY))
    (tmp_path / "My plan: 1.md").write_text(STORY)
    wanted = FormulateCommand(tmp_path / "My plan: 1.md", tmp_path / "out")
    said(lambda console: formulate_file(wanted, console, Scripted(pharmacy.reply)))
    assert ended.requests[0].problem.name == file_stem("My plan: 1", "problem")
    assert ended.requests[0].problem.name in ended.folder.parts


def test_an_edit_is_the_output_of_its_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ended = Ended(monkeypatch, result_of(BAKERY))
    (tmp_path / "edit.md").write_text("a program")
    own = dough(tmp_path, edit=("compiler", tmp_path / "edit.md"))
    said(lambda console: formulate_file(own, console, Scripted(pharmacy.reply)))
    assert dict(ended.requests[0].options.edits) == {"compiler": "a program"}
    with pytest.raises(ConfigError):
        formulate_file(dough(tmp_path, edit=("baker", tmp_path / "edit.md")), Console(), Scripted(pharmacy.reply))


def named(**words: object) -> RuntimeWords:
    return RuntimeWords(shortcuts={"model.name": "some-model", **words})


@pytest.mark.parametrize("own_model", [False, True])
def test_the_expected_cost_is_confirmed_before_a_named_model_is_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own_model: bool
) -> None:
    ended = Ended(monkeypatch, result_of(BAKERY))
    asked: list[tuple[int, float]] = []

    def confirm(estimate: Any, limit: float) -> None:
        assert not ended.requests
        asked.append((len(estimate.roles), limit))

    wanted = dough(tmp_path, runtime=named(**{"budget.confirm": 0.25}), confirm=confirm)
    said(lambda console: formulate_file(wanted, console, Scripted(pharmacy.reply) if own_model else None))
    # Two roles of two calls; a model that was given is not priced.
    assert asked == ([] if own_model else [(2, 0.25)])
    assert (ended.folder / "estimate.json").is_file() is not own_model
    assert ended.options["fresh"] is True


def test_a_replay_takes_what_the_folder_has_unless_it_is_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = read_request(RECORDED)
    ended = Ended(monkeypatch, result_of(BAKERY))

    def replay(**fields: Any) -> FormulationRequest:
        said(lambda console: formulate_file(FormulateCommand(None, tmp_path, replay=RECORDED, **fields), console))
        return ended.requests[-1]

    same = replay()
    assert (same.problem, same.options, same.tolerance) == (before.problem, before.options, before.tolerance)
    assert same.runtime.model == before.runtime.model
    assert (ended.options["fresh"], ended.options["replay"]) == (False, RECORDED)
    assert replay(options={"gap": 0.25, "method": None}).options == replace(before.options, gap=0.25)
    assert replay(preset="paper").options.published
    changed = replay(tolerance="ormind")
    assert (changed.tolerance, changed.options.relative) == ("ormind", 1e-3)
    assert replay(runtime=named()).runtime.model_name == "some-model"
    assert ended.options["fresh"] is True
    with pytest.raises(ConfigError):
        replay(data=(tmp_path / "new.csv",))
    with pytest.raises(ConfigError):
        replay(options={"method": "none"})


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"interactive": True, "replay": RECORDED}, ConfigError),
        ({"interactive": True, "options": {"method": "ormind"}}, ConfigError),
        ({"replay": Path("/none")}, StoreError),
        ({"runtime": RuntimeWords(shortcuts={"model.name": "oracle"})}, ConfigError),
        ({"tolerance": "exact"}, ConfigError),
        ({"preset": "papr"}, ConfigError),
        ({"options": {"method": "ormint"}}, ConfigError),
    ],
)
def test_what_cannot_be_run_is_refused_before_a_folder_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fields: dict[str, Any], error: type[Exception]
) -> None:
    ended = Ended(monkeypatch, result_of(BAKERY))
    with pytest.raises(error):
        formulate_file(dough(tmp_path, **fields), Console(file=io.StringIO()), Scripted(pharmacy.reply))
    assert not ended.requests
    assert not (tmp_path / "out").exists()


FACTS = {"OBJECTIVE": "maximize: earn", "VARIABLES": ["x: loaves"], "NOT_MODELLED": [], "READINGS": ["a -- b"]}


@pytest.mark.parametrize(("answer", "stored"), [(" per week " + "y" * 2000, 1000), ("  ", 0), (None, 0)])
def test_a_clarification_is_asked_once_stored_and_given_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: str | None, stored: int
) -> None:
    ended = Ended(monkeypatch, result_of(BAKERY))

    def read_line(prompt: str) -> str:
        if answer is None:
            raise EOFError
        return answer

    wanted = dough(tmp_path, interactive=True)
    console = Console(file=io.StringIO(), width=160)
    formulate_file(wanted, console, Scripted(pharmacy.reply), read_line)
    reply = ended.options["ask_person"](FACTS)
    lines = console.file.getvalue().splitlines()
    assert {"objective: maximize: earn", "variables: x: loaves", "readings: a -- b"} <= set(lines)
    assert not any(line.startswith("not modelled") for line in lines)
    assert len(reply) == stored
    again = command.stored_clarification(ended.folder)
    assert (again is not None) is bool(stored)
    if again is not None:
        assert again({}) == reply
        assert reply.startswith("per week y")
    assert command.stored_clarification(None) is None
    plain = dough(tmp_path)
    formulate_file(plain, console, Scripted(pharmacy.reply))
    assert ended.options["ask_person"] is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The oven has 2.300 seconds.", ("2.300", "2300", "2.3")),
        ("The oven has 2.300 seconds and 1.5 kg.", None),
        ("The oven has 2300 seconds.", None),
    ],
)
def test_a_figure_with_two_readings_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, words: tuple[str, ...] | None
) -> None:
    Ended(monkeypatch, result_of(BAKERY))
    _, output = said(lambda console: formulate_file(dough(tmp_path, text), console, Scripted(pharmacy.reply)))
    assert ("two ways" in output) is (words is not None)
    assert all(word in output for word in words or ())


def test_a_finished_formulation_is_shown_and_resumed_without_a_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The stored result is that of the replay, with its verdict; resuming neither asks nor runs."""
    options = {"metamorphic": False}
    wanted = FormulateCommand(None, tmp_path, replay=RECORDED, options=options)
    code, text = said(lambda console: formulate_file(wanted, console))
    assert code == 0
    (folder,) = (tmp_path / "pharmacy").iterdir()
    ended = Ended(monkeypatch, result_of(BAKERY))
    for work in (lambda console: resume(folder, console), lambda console: show_formulation(folder, console)):
        again, shown = said(work)
        assert again == 0
        assert [line for line in shown.splitlines() if line.startswith("checked: ")] == [text.splitlines()[1]]
    assert not ended.requests
    (folder / "report.html").unlink()
    assert "oragent report" in said(lambda console: show_formulation(folder, console))[1]
    assert rewrite_page(folder) == folder / "report.html"
    # A model of one's own goes on from the folder.
    assert said(lambda console: resume(folder, console, Scripted(pharmacy.reply)))[0] == 5
    assert ended.folder == folder


@pytest.mark.parametrize("way", ["trust", "own model", "named before", "named now"])
def test_a_folder_with_the_address_of_another_person_is_continued_if_it_is_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    ended = Ended(monkeypatch, result_of(BAKERY))
    settings = RuntimeSettings(ModelSettings("m", base_url="http://other.example/v1", api_key_env=None))
    folder = create_folder(
        tmp_path / "out", FormulationRequest(ProblemText("dough", STORY), choose_options("default"), settings)
    )
    console = Console(file=io.StringIO(), width=160)
    with pytest.raises(UntrustedError):
        resume(folder, console)
    assert not ended.requests
    model = Scripted(pharmacy.reply) if way == "own model" else None
    words = RuntimeWords(("model.base_url=http://other.example/v1",)) if way == "named now" else RuntimeWords()
    if way == "named before":
        resume(folder, console, trust=True)
    assert resume(folder, console, model, words, way == "trust") == 5
    assert ended.folder == folder
    assert ended.options["model"] is model
    assert ended.requests[-1].runtime.model_name == "m"
    # With a model of one's own, the address of the folder is not needed, and not trusted later.
    if way == "own model":
        with pytest.raises(UntrustedError):
            resume(folder, console)
    # Other words replace the settings of the folder.
    resume(folder, console, runtime=named(), trust=True)
    assert ended.requests[-1].runtime.model_name == "some-model"


@pytest.mark.parametrize("origin", ["formulate", "verify", "rerun"])
def test_only_an_unfinished_formulation_is_continued(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, origin: str
) -> None:
    ended = Ended(monkeypatch, result_of(BAKERY))
    request = FormulationRequest(ProblemText("dough", STORY), choose_options("default"), origin=origin)
    folder = create_folder(tmp_path, request)
    (folder / command.CLARIFICATION).write_text(f" {'y' * 2000} ")
    console = Console(file=io.StringIO(), width=160)
    if origin == "formulate":
        assert resume(folder, console, Scripted(pharmacy.reply)) == 5
        assert ended.options["ask_person"]({}) == "y" * command.SHOWN
    else:
        with pytest.raises(StoreError):
            resume(folder, console, Scripted(pharmacy.reply))


@pytest.mark.parametrize("is_file", [True, False])
def test_a_verification_has_the_files_or_the_texts_of_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_file: bool
) -> None:
    met: list[tuple[Any, ...]] = []

    def verify(request: FormulationRequest, given: Any, outputs: Path, **named: Any) -> tuple[Path, FormulationEnd]:
        met.append((request, given, outputs, named))
        folder = create_folder(outputs, request)
        return folder, price_result(result_of(BAKERY, checks=checks_of(CheckStatus.FAILED, FINDING)))

    monkeypatch.setattr(command, "verify_given", verify)
    write(BAKERY, tmp_path / "model.json")
    for name, text in (
        ("dough.md", STORY),
        ("checker.py", "the checker"),
        ("s.json", '{"x": 1.0}'),
        ("d.csv", "rye,kg\na,2.300\nb,1.250\n"),
    ):
        (tmp_path / name).write_text(text)
    words = VerifyCommand(
        tmp_path / "dough.md" if is_file else STORY, tmp_path / "model.json", tmp_path / "out", (tmp_path / "d.csv",), tmp_path / "s.json",
        tmp_path / "checker.py" if is_file else "the checker", tmp_path / "replay", {"time_s": 7.0}, named(),
    )  # fmt: skip
    model = Scripted(pharmacy.reply)
    code, output = said(lambda console: verify_files(words, console, model))
    ((request, given, outputs, options),) = met
    assert code == 4
    assert (request.problem.text, request.problem.name) == (STORY, "dough" if is_file else "baker-makes-x-y-oven")
    assert request.problem.data == {"d": [{"rye": "a", "kg": 2.3}, {"rye": "b", "kg": 1.25}]}
    assert (request.options.metamorphic, request.options.time_s, request.runtime.model_name) == (
        True,
        7.0,
        "some-model",
    )
    assert (given.milp.row_records, given.point) == (BAKERY.row_records, {"x": 1.0})
    assert outputs == tmp_path / "out"
    assert options == {"checker": "the checker", "model": model, "replay": tmp_path / "replay"}
    # What was read from the table is said first.
    first, second, *_ = output.splitlines()
    assert "2.300" in first
    assert second.startswith("verification: ")
    code, _ = said(lambda console: verify_files(replace(words, checker=None, solution=None), console))
    assert (met[-1][1].point, met[-1][3]["checker"], met[-1][3]["model"]) == (None, "", None)


def test_at_most_five_unclear_figures_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Ended(monkeypatch, result_of(BAKERY))
    figures = [f"{at}.300" for at in range(1, 8)]
    _, output = said(
        lambda console: formulate_file(
            dough(tmp_path, f"Use {' or '.join(figures)}."), console, Scripted(pharmacy.reply)
        )
    )
    notice = output.partition("read in two ways")[0]
    assert [figure in notice for figure in figures] == [True] * 5 + [False] * 2
    assert re.findall(r"[\d.]+\d", output.partition("read in two ways")[2].partition("\n")[0]) == ["1300", "1.3"]

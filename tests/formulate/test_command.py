"""A formulation's folder: begun, broken off, gone on with, replayed, shown."""

import io
import json
from html.parser import HTMLParser
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

from oragent._base.budget import Budget
from oragent._base.errors import ConfigError, ModelError, ProblemError, StoreError
from oragent.cli.app import app
from oragent.formulate.api import formulate
from oragent.formulate.command import formulate_file, resume, rewrite_page, show_formulation
from oragent.formulate.folder import finalize, read_request
from oragent.formulate.formulation import FormulationResult
from oragent.formulate.options import FormulateCommand
from oragent.formulate.pages import mark_sentences
from oragent.ledger import Study
from oragent.llm.callable import Scripted
from oragent.llm.model import Request
from oragent.modelling.data.solution import SolveStatus
from oragent.modelling.files.model_files import read
from oragent.modelling.solving.flat_solving import solve
from oragent.report.pages.value_tables import PULP
from tests.formulate import pharmacy, transport

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
    with pytest.raises(StoreError, match="not finished"):
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

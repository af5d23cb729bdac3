"""No character of a stranger's drives the terminal, whichever command prints it and however."""

import ast
import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Group
from rich.markup import escape
from rich.padding import Padding
from rich.panel import Panel
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from oragent._base.terminal import Terminal
from oragent._base.text_format import escape_text
from oragent.cli import app as cli
from tests.sources import PACKAGE as ROOT
from tests.sources import SOURCES, source
from tests.unseen import unseen

NASTY = "\x1b]0;title\x07\x1b[2J\x9b31m\u202eabc\u200b\x00\ud800\x08\x7f"


def printed(*what: object, **options: object) -> str:
    out = io.StringIO()
    console = Terminal(file=out, width=60, color_system=None, force_terminal=False)
    console.print(*what, **options)
    return out.getvalue()


def table(text: str) -> Table:
    made = Table(text, caption=escape(text), title=Text(text))
    made.add_row(Text(text))
    made.add_row(escape(text))
    return made


@pytest.mark.parametrize(
    "make",
    [
        str,
        escape,
        Text,
        lambda text: Text.assemble((text, "bold"), text),
        lambda text: Syntax(text, "python", word_wrap=True),
        lambda text: Padding(escape(text), (0, 0, 0, 5)),
        lambda text: Panel(Text(text), title=escape(text)),
        lambda text: Group(Text(text), table(text)),
        table,
    ],
)
def test_nothing_that_is_printed_drives_the_terminal(make) -> None:
    said = printed(make(NASTY.replace("[", "(")))
    assert not unseen(said)
    assert "\\u001b" in said


@given(st.text())
def test_whatever_the_text(text: str) -> None:
    assert not unseen(printed(Text(text)))
    assert not unseen(printed(escape(text), highlight=False, soft_wrap=True))


def test_styles_of_our_own_are_still_there() -> None:
    out = io.StringIO()
    Terminal(file=out, force_terminal=True, color_system="standard", width=60).print(
        "[bold]best[/] \x1b c", highlight=False
    )
    assert out.getvalue() == "\x1b[1mbest\x1b[0m \\u001b c\n"


def test_an_error_is_plain(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "problems" / "other").mkdir(parents=True)
    monkeypatch.setattr("sys.argv", ["oragent", "solve", "\x1b[31mtoy.json"])
    with pytest.raises(SystemExit):
        cli.main()
    said = capsys.readouterr()
    assert not unseen(said.out + said.err)
    assert "toy" in said.err


# Who writes to a terminal but through ours, and why that may be.
OTHERS = {
    "formulate/evaluator.py": "prints its answer as JSON, in the sandbox",
    "_base/terminal.py": "it is ours",
    "domains/driving/scoring.py": "an evaluator's own, which says where its pictures are",
    "harness/ending.py": "the block of a failure, which is JSON in ASCII, and a log made plain",
    "harness/main.py": "prints figures and the guest's log, both plain",
    "harness/instances.py": "prints sizes and figures, all numbers",
    "harness/neural.py": "prints the line of a failure, which is JSON in ASCII",
    "harness/process.py": "flushes",
    "harness/case_tasks.py": "an evaluator's own, which ends in a log",
    "harness/foreign.py": "flushes, and sends what an evaluator prints to standard error",
    "harness/program_tasks.py": "an evaluator's own, which ends in a log",
    "harness/program_streams.py": "a guest's own, whose streams lead to the scorer",
    "sandbox/sandbox.py": "a note on standard error, made plain",
    "sandbox/isolation/environment.py": "flushes",
    "sandbox/server.py": "a server's own, whose last line the engine shows plain",
    "search/launch.py": "words of ours, above a progress bar",
    "harness/guest_main.py": "a guest's own, which ends in a log",
    "_base/file_reading.py": "a child's own, which its parent reads",
    "cli/display.py": "asks whether there is a terminal",
    "report/live/server.py": "asks whether there is a terminal",
    "evals/bench/driver.py": "a progress bar, and lines made plain",
    "sandbox/warm_script.py": "a command's own, which ends in a log",
    "programs/parser_worker.py": "a child's own, which its parent reads",
    "__main__.py": "one line of ours after Ctrl-C",
    "_base/table_files.py": "a child's own, which its parent reads",
    "api/mcp/server.py": "a log of the server, which its client keeps",
    "cli/convert.py": "lines that the reader of models made plain",
    "cli/json_output.py": "JSON, which programs read",
    "modelling/opening.py": "lines that it made plain",
    "workspace/model_commands.py": "the name of the user's own folder",
    "cli/spending.py": "asks whether there is a terminal",
    "sandbox/confined_command.py": "the name of the user's own program",
    "modelling/capture/recorders/from_highs.py": "flushes",
}
WRITING = {"print", "Console", "tqdm", "sys.stdout.write", "sys.stderr.write", "typer.echo", "sys.stdout.buffer"}


def writes(path: Path) -> bool:
    read = source(path)
    return bool((read.calls.keys() & WRITING) | (read.attributes & {"sys.stdout", "sys.stderr"}))


def test_only_ours_writes_to_a_terminal() -> None:
    assert {str(path.relative_to(ROOT)) for path in SOURCES if writes(path)} - OTHERS.keys() == set()


def test_a_progress_bar_shows_origins_plain() -> None:
    for file in ("evals/bench/driver.py",):
        for node in ast.walk(ast.parse((ROOT / file).read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("_bar.write", "_bar.set_postfix_str")):
                parts = [ast.unparse(part.value) for part in ast.walk(node) if isinstance(part, ast.FormattedValue)]
                foreign = [part for part in parts if "origin" in part or "remark" in part or "text" in part]
                shown = ast.unparse(node)
                assert not foreign or "plain(" in shown or "one_line(" in shown


@given(st.text())
def test_plain_shows_all_that_cannot_be_seen(text: str) -> None:
    assert not unseen(escape_text(text))


@pytest.mark.parametrize(
    ("char", "shown"),
    [
        ("\u061c", r"\u061c"),  # a mark of direction
        ("\u00ad", r"\u00ad"),  # a hyphen that is not there
        ("\ud7fc", r"\ud7fc"),  # not assigned
        ("\ue000", r"\ue000"),  # whatever a font makes of it
        ("\U000e0041", r"\U000e0041"),  # a tag: text that only a model reads
    ],
)
def test_plain_escapes(char: str, shown: str) -> None:
    assert escape_text(f"a{char}b") == f"a{shown}b"


def test_plain_keeps_what_can_be_seen() -> None:
    text = "tab\tline\nümläut 漢字 🙂 \u00a0"
    assert escape_text(text) == text

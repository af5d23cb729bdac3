"""What is printed fits a terminal of 80 columns and reads well; a page that is closed leaves no traceback."""

import asyncio
import io
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from oragent.converse.agents.rules import RulesAgent
from oragent.converse.command import go_on, wrap_line
from oragent.converse.problems.formulated import FormulatedProblem
from oragent.converse.session import ConversationRequest, ConversationSession, begin
from oragent.converse.solving import StateSolver
from oragent.converse.tools import Toolbox
from oragent.converse.web import Room, make_application
from oragent.evals.bench.board import rich_table
from oragent.evals.bench.tables import TextTable
from oragent.evals.converse.tables import stack_columns, stack_tests
from oragent.milp.files import write
from tests.converse.mill import MILL
from tests.extras import need

SAID = "help\nshow\nwhy\nt_news 350\nwhat is this\ndemand_kraft >= 520\nset steam 1500\nlowest steam\nquit\n"


def test_no_line_of_a_conversation_by_rules_is_longer_than_80(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(MILL, tmp_path / "mill.json")
    monkeypatch.setattr("sys.stdin", io.StringIO(SAID))
    out = io.StringIO()
    folder = begin(tmp_path / "out", ConversationRequest(str(tmp_path / "mill.json")))
    assert go_on(folder, Console(file=out, width=80)) == 0
    lines = [line for line in out.getvalue().splitlines() if str(tmp_path) not in line]
    assert len(lines) > 60
    assert [line for line in lines if len(line) > 80] == []
    assert "lowest OBJECTIVE         the least that it can be under what is in force;" in out.getvalue()


def test_a_wrapped_line_goes_on_below_its_second_column() -> None:
    assert wrap_line("  why      what clashes and what each of the requests costs", 40).splitlines() == [
        "  why      what clashes and what each of",
        "           the requests costs",
    ]
    assert wrap_line("x" * 100, 40) == "x" * 100  # a name is never cut


def test_a_question_with_two_readings_is_not_called_unknown() -> None:
    agent = RulesAgent(Toolbox(StateSolver(FormulatedProblem(MILL)), extended=True))
    text = asyncio.run(agent.answer("what if t_news is 350?")).text
    assert text.startswith("which do you mean? 'fix t_news 350' (exactly 350)")
    assert text.endswith("nothing was changed")
    assert "not understood" not in text


def test_tables_of_an_evaluation_fit_80_columns() -> None:
    names = ("default", "one-shot", "aware", "conversation")
    wide = TextTable(
        ("style", *(head for name in names for head in (name, "published"))),
        (("vague", *("0.98 / 100.0", ".93 / 65.1") * 4),),
    )
    tests = TextTable(
        ("claim", "pairs", "scores", "p of score", "successes", "p of success"),
        (("conversation > one-shot", "161", "1.000 against 0.624", "0.0003", "100.0 % against 11.8 %", "< 0.0001"),),
    )
    stacked = stack_columns(wide, 1, "paradigm")
    assert stacked.heads == ("style", "paradigm", "score / success", "published")
    assert [row[1] for row in stacked.rows] == list(names)
    for table in (stacked, stack_tests(tests)):
        out = io.StringIO()
        Console(file=out, width=80).print(rich_table(table))
        for row in table.rows:
            assert any(all(cell in line for cell in row) for line in out.getvalue().splitlines()), row


def test_a_post_that_is_aborted_ends_quietly(tmp_path: Path) -> None:
    need("starlette")
    write(MILL, tmp_path / "mill.json")
    room = Room(ConversationSession(begin(tmp_path / "out", ConversationRequest(str(tmp_path / "mill.json")))))
    sent: list[dict[str, Any]] = []
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "POST", "path": "/say",
        "raw_path": b"/say", "query_string": b"token=secret", "root_path": "", "scheme": "http",
        "headers": [(b"host", b"127.0.0.1:80")], "server": ("127.0.0.1", 80), "client": ("127.0.0.1", 1),
    }  # fmt: skip

    async def run() -> None:
        async def receive() -> dict[str, Any]:
            return {"type": "http.disconnect"}

        async def send(message: dict[str, Any]) -> None:
            sent.append(message)

        await make_application(room, "secret")(scope, receive, send)

    asyncio.run(run())
    assert room.heard.empty()

"""What is printed fits a terminal of 80 columns and reads well; a page that is closed leaves no traceback."""

import asyncio
import io
import re
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
from oragent.evals.bench.driver import rich_table
from oragent.evals.bench.tables import TextTable
from oragent.evals.converse.tables import stack_columns, stack_tests
from oragent.milp.files import write
from oragent.milp.model import Milp, Objective, Relation, Row, Sense, Variable, VariableKind
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


def test_an_answer_shows_what_changed_and_show_the_whole(tmp_path: Path) -> None:
    """The opening shows the plan; further answers show the objective before and after, and the values that differ."""
    write(MILL, tmp_path / "mill.json")
    folder = begin(tmp_path / "out", ConversationRequest(str(tmp_path / "mill.json")))
    session, lines = (
        ConversationSession(folder),
        iter(["set Demand_news 360", "lowest steam", "show", "t_KRAFT.B <= 50"]),
    )

    async def listen(view: object) -> str | None:
        return next(lines, None)

    asyncio.run(session.hold(listen, lambda turn, known: None))
    changed, probed, shown, bounded = (turn.answer for turn in session.turns)
    assert changed.splitlines() == [
        "Demand_news >= 320 → >= 360",
        "before: objective 362,400; after: objective 391,250; changed: t_KRAFT.A 220 → 400, t_KRAFT.B 280 → 100, t_news "
        "320 → 360, shifts_PM2 10 → 11, buy-pulp 204 → 249",
        "'show' prints the whole solution",
    ]
    assert bounded.startswith("infeasible: t_KRAFT.B <= 50 is impossible; the least possible is 100")
    assert probed.splitlines()[0].startswith("the lowest possible steam is 1,5")
    assert probed.splitlines()[-1].startswith("nothing was changed; 'steam <= 1,5")
    assert "|" not in probed
    assert shown.startswith("| Variable | Value |")
    assert [len(turn.presented) for turn in session.turns] == [1, 1, 1, 0]
    assert session.problem.values(session.turns[0].presented[0])["buy-pulp"] == 249  # type: ignore[attr-defined]


def test_many_changes_are_a_line_for_each_first_word() -> None:
    names = [f"ship_{number}" for number in range(9)] + ["open_A", "open_B"]
    variables = tuple(Variable(name, 0, 1, VariableKind.INTEGER) for name in names)
    row = Row("most", dict.fromkeys(names, 1.0), Relation.AT_MOST, 11)
    milp = Milp(variables, (row,), Objective(dict.fromkeys(names, 1.0)), Sense.MAXIMIZE)
    agent = RulesAgent(Toolbox(StateSolver(FormulatedProblem(milp)), extended=True), is_brief=True)
    assert asyncio.run(agent.answer("set most 0")).text.splitlines() == [
        "most <= 11 → <= 0",
        "before: objective 11; after: objective 0",
        "changed: 11 values",
        "- ship_0 1 → 0, ship_1 1 → 0, ship_2 1 → 0, ship_3 1 → 0, ship_4 1 → 0, ship_5 1 → 0 and 3 more",
        "- open_A 1 → 0, open_B 1 → 0",
        "'show' prints the whole solution",
    ]


def test_a_change_of_a_value_is_not_broken_between_lines() -> None:
    text = "changed: " + ", ".join(f"stock_{number} 12.25 → 3.5" for number in range(9))
    for width in range(40, 90):
        for line in wrap_line(text, width).splitlines():
            assert line.count("→") == len(re.findall(r"stock_\d 12.25 → 3.5", line))

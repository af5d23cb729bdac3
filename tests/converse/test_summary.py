"""The page of a person's conversation begins with what was asked, what is in force, and the plan now."""

import asyncio
import re
from pathlib import Path

from oragent.converse.session import ConversationRequest, ConversationSession, begin, write_page
from oragent.converse.transcript import ConversationSummary, summarize_conversation
from oragent.milp.files import write
from tests.converse.mill import MILL


def hold(folder: Path, *lines: str) -> ConversationSession:
    """Hold a conversation about the mill, whose demand of 360 costs 391,250 and of 320 costs 362,400."""
    folder.mkdir(exist_ok=True)
    write(MILL, folder / "mill.json")
    session = ConversationSession(begin(folder / "out", ConversationRequest(str(folder / "mill.json"))))
    left = iter(lines)

    async def listen(view: object) -> str | None:
        return next(left, None)

    asyncio.run(session.hold(listen, lambda turn, known: None))
    return session


def summary_of(session: ConversationSession) -> ConversationSummary:
    return summarize_conversation(session.problem, session.solver, session.turns)


def test_a_summary_is_of_what_is_in_force_and_not_of_what_was_only_tried(tmp_path: Path) -> None:
    session = hold(tmp_path, "set Demand_news 360", "which rows bind?", "lowest steam", "try set Demand_news 10")
    summary = summary_of(session)
    assert (summary.opening, summary.now) == ("objective 362,400", "objective 391,250")
    assert [(row.number, row.effect) for row in summary.rows] == [(1, "objective 391,250"), (2, ""), (3, ""), (4, "")]
    assert summary.changes == (
        "changed: t_KRAFT.A 220 → 400, t_KRAFT.B 280 → 100, t_news 320 → 360, shifts_PM2 10 → 11, buy-pulp 204 → 249",
    )
    page = write_page(session).read_text()
    assert page.index("Summary") < page.index("Conversation</h2>")
    top = page[page.index('id="summary"') : page.index("Conversation</h2>")]
    for text in ("objective 391,250", "objective 362,400", "Demand_news &gt;= 360 (changed)", "buy-pulp 204 → 249"):
        assert text in top, text
    assert re.findall(r'href="#turn(\d+)"', top) == ["1", "2", "3", "4"]
    plan = top[top.index("<details>") :]
    assert "<td>t_news</td><td>360</td>" in plan
    assert "<th>Meaning</th>" not in plan  # no variable has one


def test_a_summary_says_that_there_is_no_plan_or_no_change(tmp_path: Path) -> None:
    session = hold(tmp_path / "a", "t_KRAFT.B <= 50", "set Demand_news 500")
    summary = summary_of(session)
    assert (summary.now, summary.plan, summary.changes) == ("infeasible", "", ())
    assert "There is no solution under what is in force." in write_page(session).read_text()
    session = hold(tmp_path / "b", "set Demand_news 360", "undo")
    assert (summary_of(session).now, summary_of(session).changes) == ("objective 362,400", ())
    assert [row.effect for row in summary_of(session).rows] == ["objective 391,250", "objective 362,400"]
    session = hold(tmp_path / "c")
    assert "Nothing is asked for or changed." in write_page(session).read_text()

"""Sessions of agents with a folder: what is left of the work, and when it ends."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from oragent._base.budget import Budget
from oragent.ledger import Study
from oragent.llm.callable import Scripted
from oragent.llm.model import Message, Request, ToolCall
from oragent.workspace.agent_sessions import (
    NUDGE,
    TEMPERATURE,
    AgentWork,
    PersonAsked,
    _collect_work,
    fill_prompt,
    work_in_session,
)
from oragent.workspace.tools import ASK_PERSON, ToolSession
from tests.workspace.release import put


def open_session(folder: Path, *writable: str) -> ToolSession:
    put(folder, {"docs/a.md": "# Bakery\nLoaves of rye.\n"})
    return ToolSession(folder, None, writable)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("files", "submitted", "path"),
    [
        ({"src/a.py": "", "src/b.py": ""}, {"path": "src/b.py"}, "src/b.py"), ({"src/a.py": "", "src/b.py": ""}, None, "src/a.py"),
        ({"src/a.py": "", "src/optimization_model.py": ""}, None, "src/optimization_model.py"),
        # What the agent may not write is not its program, and neither is a file of another kind.
        ({"original/a.py": "", "src/a.txt": ""}, None, ""), ({}, None, ""), ({"src/a.py": ""}, {"path": ""}, "src/a.py"),
    ],
)  # fmt: skip
def test_the_program_of_an_agent_is_the_submitted_one_or_the_likeliest(
    tmp_path: Path, files: dict[str, str], submitted: dict[str, str] | None, path: str
) -> None:
    session = open_session(tmp_path, "data/*", "src/*")
    put(tmp_path, files)
    session.submitted, session.calls = submitted, 4
    work = _collect_work(session, "words")
    assert (work.path, work.answer, work.calls, work.broken) == (path, "", 4, ())
    assert ("submitted" in work.end) is (submitted is not None)
    assert ("4" in work.end) is (submitted is None)


@pytest.mark.parametrize(
    ("submitted", "last", "answer", "broken"),
    [
        ({"answer": "Rye."}, "words", "Rye.", 0), (None, "<think>so</think>Rye.", "Rye.", 0), ({"answer": ""}, "Rye.", "Rye.", 0),
        ({"answer": 'Rye [docs/a.md:2 "Loaves of rye"], oats [docs/a.md:1 "Oats"].'}, "", None, 1),
    ],
)  # fmt: skip
def test_an_answer_is_the_submitted_one_or_the_last_words_with_its_broken_citations(
    tmp_path: Path, submitted: dict[str, str] | None, last: str, answer: str | None, broken: int
) -> None:
    session = open_session(tmp_path)
    session.submitted = submitted
    work = _collect_work(session, last)
    assert (work.path, work.answer.strip()) == ("", answer or (submitted or {})["answer"])
    assert len(work.broken) == broken
    assert all("Oats" in text for text in work.broken)


def work_with(
    folder: Path, session: ToolSession, *messages: Message
) -> tuple[AgentWork | None, list[Request], Exception | None]:
    """Return the work of a model that says these messages, its requests, and what was raised."""
    requests: list[Request] = []

    def reply(request: Request, number: int) -> Message:
        requests.append(request)
        return messages[min(number, len(messages) - 1)]

    ended: list[Any] = [None, None]
    with Study(folder, {"": Scripted(reply)}, Budget(evaluations=None)) as study:

        async def work(case: Any) -> None:
            try:
                ended[0] = await work_in_session(case, "explainer", "a system prompt", "a request", session)
            except PersonAsked as asked:
                ended[1] = asked

        asyncio.run(study.run_cases(["one"], work))
    return ended[0], requests, ended[1]


def call(name: str, **arguments: object) -> Message:
    return Message("assistant", "so far", (ToolCall("1", name, arguments),))


def test_a_session_begins_with_its_prompts_and_ends_with_a_submission(tmp_path: Path) -> None:
    session = open_session(tmp_path / "home")
    messages = call("read_file", path="docs/a.md"), call("submit", answer="Rye."), call("list_files")
    work, requests, _ = work_with(tmp_path / "study", session, *messages)
    assert work == AgentWork(answer="Rye.", calls=2, end="submitted")
    assert [message.content for message in requests[0].messages] == ["a system prompt", "a request"]
    assert [message.role for message in requests[0].messages] == ["system", "user"]
    assert (len(requests), requests[0].role, requests[0].temperature) == (2, "explainer", TEMPERATURE)
    assert {tool.name for tool in requests[0].tools} == {tool.name for tool in session.tools}
    assert "Loaves of rye." in requests[1].messages[-1].content


def test_an_agent_that_only_talks_leaves_its_last_words(tmp_path: Path) -> None:
    work, requests, _ = work_with(
        tmp_path / "study", open_session(tmp_path / "home"), Message("assistant", "Rye, I say.")
    )
    assert work is not None
    assert (work.answer, work.calls, len(requests)) == ("Rye, I say.", 0, 3)
    # Each time but the first it is told to use a tool.
    assert [message.content for message in requests[-1].messages if message.role == "user"] == [
        "a request",
        NUDGE,
        NUDGE,
    ]


def test_an_agent_that_runs_out_of_calls_leaves_its_last_words(tmp_path: Path) -> None:
    for words, left in (("Rye, so far.", "Rye, so far."), ("", "")):
        session = open_session(tmp_path / "home")
        session.max_calls = 1
        messages = [Message("assistant", text, (ToolCall("1", "list_files", {}),)) for text in (words, "")]
        work, requests, _ = work_with(tmp_path / f"study {left}", session, *messages)
        assert work is not None
        assert (work.answer, work.calls, len(requests)) == (left, 2, 2)


def test_a_question_to_the_person_ends_the_session(tmp_path: Path) -> None:
    session = open_session(tmp_path / "home")
    session.tools = [*session.tools, ASK_PERSON]
    work, requests, asked = work_with(tmp_path / "study", session, call("ask_person", question="Which rye?"))
    assert work is None
    assert (str(asked), len(requests)) == ("Which rye?", 1)


def test_values_of_a_prompt_are_not_filled_again(tmp_path: Path) -> None:
    (tmp_path / "own.txt").write_text("$first and $second")
    assert fill_prompt("own", tmp_path, first="$second", second=5) == "$second and 5"

"""Sessions in which a language model works in a workspace with tools."""

import fnmatch
from dataclasses import dataclass
from pathlib import Path
from string import Template

from oragent._base.errors import OragentError
from oragent.ledger.case import LedgerCase
from oragent.llm.dialogue import ToolRounds, work_with_tools
from oragent.llm.model import Message
from oragent.programs.blocks import drop_thoughts
from oragent.workspace.citations import check_citations
from oragent.workspace.tools import ToolSession

PROMPTS = Path(__file__).parent / "prompts"
TEMPERATURE = 0.0
# Maximum number of replies without a tool call that are answered.
NUDGES = 2
NAME = "optimization_model.py"
BEGIN = "Begin: call list_files, then read the documents."
NUDGE = "No tool was called. Call one now, such as list_files or read_file, and end with submit."


class PersonAsked(OragentError):
    """Raised when the agent asks the person; the message is the question."""


@dataclass(frozen=True)
class AgentWork:
    """Result of an agent's work."""

    # Path of its program. Empty if it left no program.
    path: str = ""
    # Answer of the agent. Empty if it gave no answer.
    answer: str = ""
    # Number of tool calls.
    calls: int = 0
    # Citations of the answer that do not hold, in one line each.
    broken: tuple[str, ...] = ()
    # Reason why the work ended, in one line.
    end: str = ""


def fill_prompt(name: str, folder: Path = PROMPTS, **values: object) -> str:
    """Fill the placeholders of a template of ``prompts/``; inserted texts are not expanded again."""
    text = (folder / f"{name}.txt").read_text(encoding="utf-8")
    return Template(text).substitute({key: str(value) for key, value in values.items()})


async def work_in_session(
    case: LedgerCase, role: str, system_prompt: str, request: str, session: ToolSession
) -> AgentWork:
    """Let a model work with tools until it submits, gives up, or has no calls left.

    Raises:
        PersonAsked: The model asks the person. Call again with the answer to continue.
    """
    messages = [Message("system", system_prompt), Message("user", request)]
    await work_with_tools(
        lambda sent, tools: case.ask(role, sent, TEMPERATURE, tools),
        messages,
        session.tools,
        session.call_tool,
        ToolRounds(nudges=NUDGES, nudge=NUDGE),
        has_ended=lambda: session.has_ended,
    )
    if session.question:
        raise PersonAsked(session.question)
    replies = [message.content for message in messages if message.role == "assistant" and message.content]
    return _collect_work(session, replies[-1] if replies else "")


def _collect_work(session: ToolSession, last: str) -> AgentWork:
    submission = session.submitted or {}
    end = "submitted" if session.submitted is not None else f"ended after {session.calls} calls without submit"
    if session.writable:
        return AgentWork(submission.get("path") or _find_program(session), calls=session.calls, end=end)
    answer = submission.get("answer") or drop_thoughts(last)
    broken = tuple(str(citation) for citation in check_citations(answer, session.list_files()))
    return AgentWork(answer=answer, calls=session.calls, broken=broken, end=end)


def _find_program(session: ToolSession) -> str:
    """Return the path of a program that was written but not submitted; empty if the agent wrote none."""
    programs = [
        path
        for path in session.list_files()
        if path.endswith(".py") and any(fnmatch.fnmatch(path, pattern) for pattern in session.writable)
    ]
    return next((path for path in programs if path.endswith(NAME)), programs[0] if programs else "")

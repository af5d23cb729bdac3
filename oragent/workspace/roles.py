"""Let a language model work in a workspace with tools."""

import asyncio
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from string import Template

from oragent.ledger.case import LedgerCase
from oragent.llm.model import Message
from oragent.programs.blocks import drop_thoughts
from oragent.workspace.citations import check
from oragent.workspace.runner import LIMITS
from oragent.workspace.tools import TOOLS, ToolSession

PROMPTS = Path(__file__).parent / "prompts"
TEMPERATURE = 0.0
NUDGES = 2  # replies without a tool call that are answered
NAME = "optimization_model.py"
BEGIN = "Begin: call list_files, then read the documents."
NUDGE = "No tool was called. Call one now, such as list_files or read_file, and end with submit."


class Track(StrEnum):
    """With what a program has to solve its model."""

    PULP = "pulp-highs"
    HIGHSPY = "highspy"


TRACKS = {
    Track.PULP: "Use PuLP (import pulp). Any solver may be named: HiGHS runs in its place, on one thread, for at most "
                "120 s. There is no network, and no other process can be started.",
    Track.HIGHSPY: "Use highspy (import highspy) directly, on one thread, for at most 120 s. There is no network, and "
                   "no other process can be started.",
}  # fmt: skip


@dataclass(frozen=True)
class AgentWork:
    """What an agent leaves.

    Attributes:
        path: Path of its program; empty where there is none.
        answer: Its answer; empty where there is none.
        planted: Error that was put into it, as ``kind: name``; empty for none.
        calls: Calls of tools.
        broken: Citations of the answer that do not hold, one line each.
        end: How it came to an end, one line.
    """

    path: str = ""
    answer: str = ""
    planted: str = ""
    calls: int = 0
    broken: tuple[str, ...] = ()
    end: str = ""


def track_text(track: Track = Track.PULP, seconds: float = LIMITS.cpu_s) -> str:
    """Return what a model is told of the solver and of a program's CPU seconds."""
    return TRACKS[track].replace("120 s", f"{seconds:g} s")


def fill(name: str, **values: object) -> str:
    """A template of ``prompts/`` with its places filled; what is filled in is never a template."""
    text = (PROMPTS / f"{name}.txt").read_text(encoding="utf-8")
    return Template(text).substitute({key: str(value) for key, value in values.items()})


async def worked(case: LedgerCase, role: str, told: str, request: str, desk: ToolSession) -> AgentWork:
    """Let a model work with tools until it submits, gives up, or has no call left.

    Args:
        case: Case that asks and pays.
        role: Role in which it is asked.
        told: System message.
        request: First message.
        desk: Desk at which it works.
    """
    messages = [Message("system", told), Message("user", request)]
    nudges, last = 0, ""
    while desk.submitted is None and desk.calls <= desk.most and nudges <= NUDGES:
        reply = await case.ask(role, messages, TEMPERATURE, TOOLS)
        messages.append(Message("assistant", reply.text, reply.tool_calls))
        last = reply.text or last
        if not reply.tool_calls:
            nudges += 1
            messages.append(Message("user", NUDGE))
            continue
        for call in reply.tool_calls:
            result = await asyncio.to_thread(desk.call, call)
            messages.append(Message("tool", result, tool_call_id=call.id))
    return _left(desk, last)


def _left(desk: ToolSession, last: str) -> AgentWork:
    """What is there at the end, submitted or not."""
    given = desk.submitted or {}
    end = "submitted" if desk.submitted is not None else f"ended after {desk.calls} calls without submit"
    if desk.writable:
        return AgentWork(given.get("path") or _newest(desk), calls=desk.calls, end=end)
    said = given.get("answer") or drop_thoughts(last)
    broken = tuple(str(one) for one in check(said, desk.files()))
    return AgentWork(answer=said, calls=desk.calls, broken=broken, end=end)


def _newest(desk: ToolSession) -> str:
    """The program that was left without being submitted; empty where there is none."""
    found = [path for path in desk.files()
             if path.endswith(".py") and any(path.startswith(f"{one}/") for one in desk.writable)]  # fmt: skip
    return next((path for path in found if path.endswith(NAME)), found[0] if found else "")

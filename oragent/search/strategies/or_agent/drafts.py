"""Several programs in one reply: each part has a title, a reason, and a program, edits, a probe or values to sweep."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from oragent._base.errors import CandidateError, ConfigError, ReplyError
from oragent.programs.blocks import drop_thoughts
from oragent.search.experiments import read_axes
from oragent.search.round_context import RoundContext
from oragent.search.strategies.asking import read_program

HEAD = re.compile(r"[^\w\n]*(PROGRAM|PROBE)\b[ \t]*\d{0,3}[^\w\n]*:[ \t]*(.*)", re.IGNORECASE)
LINE = re.compile(r"[^\w\n]*(IDEA|SWEEP|LESSON)\b[^\w\n]*:[ \t]*(.*)", re.IGNORECASE)
FENCE = re.compile(r"\s*(?:```|~~~)")
AXIS = re.compile(r"[A-Za-z_]\w{0,60}=[-+\w.,]{1,200}")
SPACES = re.compile(r"\s*([=,]|\.\.)\s*")
MOST_TITLE, MOST_IDEA, MOST_LESSON = 100, 600, 300  # characters


@dataclass(frozen=True)
class ProgramDraft:
    """Part of a reply.

    Attributes:
        title: Title of the program, a few words.
        idea: What the program does, in words.
        source: Text of the program; empty where the part cannot be used.
        text: Text of the part.
        problem: Reason why the part cannot be used; empty where it can.
        axes: Numbers with values to try before the program is scored, as ``read_axes`` reads them.
        is_probe: True if the program is run for what it prints alone.
    """

    title: str
    idea: str
    source: str
    text: str
    problem: str = ""
    axes: tuple[str, ...] = ()
    is_probe: bool = False


def read_drafts(run: RoundContext, text: str, base: str | None, limit: int) -> list[ProgramDraft]:
    """Read the parts of a reply; a reply without headings is one part.

    Args:
        run: Round that asked.
        text: Text of the reply.
        base: Program that edits apply to; None: edits are refused.
        limit: Greatest number of parts that are read.

    Raises:
        ReplyError: no part can be used.
    """
    drafts = [_read_part(run, head, lines, base) for head, lines in _split_parts(drop_thoughts(text))[:limit]]
    if not any(draft.source for draft in drafts):
        raise ReplyError(drafts[0].problem if drafts else "the reply holds no program")
    return drafts


def read_lesson(text: str) -> str:
    """Return the lesson that a reply begins with; empty without one."""
    for line in drop_thoughts(text).split("\n"):
        if HEAD.fullmatch(line):
            break
        if (match := LINE.fullmatch(line)) and match[1].upper() == "LESSON":
            return " ".join(match[2].split())[:MOST_LESSON]
    return ""


def _split_parts(text: str) -> list[tuple[tuple[str, str], list[str]]]:
    """Split a reply at its headings outside of fenced blocks; what comes before the first one is dropped."""
    parts: list[tuple[tuple[str, str], list[str]]] = []
    before: list[str] = []
    is_fenced = False
    for line in text.split("\n"):
        is_fenced ^= bool(FENCE.match(line))
        if not is_fenced and (match := HEAD.fullmatch(line)):
            parts.append(((match[1].upper(), match[2].strip(" *`#")), []))
        else:
            (parts[-1][1] if parts else before).append(line)
    return parts or [(("PROGRAM", ""), before)]


def _read_part(run: RoundContext, head: tuple[str, str], lines: Sequence[str], base: str | None) -> ProgramDraft:
    kind, title = head
    said: dict[str, str] = {}
    for line in lines:
        if match := LINE.fullmatch(line):
            said.setdefault(match[1].upper(), " ".join(match[2].split()))
    text = "\n".join(line for line in lines if not LINE.fullmatch(line)).strip()
    title, idea = title[:MOST_TITLE], said.get("IDEA", "")[:MOST_IDEA]
    try:
        source = read_program(run, text, base)
    except ReplyError as problem:
        return ProgramDraft(title, idea, "", text, str(problem), is_probe=kind == "PROBE")
    return ProgramDraft(title, idea, source, text, "", _read_axes(said.get("SWEEP", ""), source), kind == "PROBE")


def _read_axes(text: str, source: str) -> tuple[str, ...]:
    """The numbers of a SWEEP line that the program has; no reason to give up a program if there are none."""
    words = tuple(AXIS.findall(SPACES.sub(r"\1", text)))
    try:
        read_axes(words, source)
    except (CandidateError, ConfigError):
        return ()
    return words

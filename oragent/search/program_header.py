"""Comments at the head of ``best.py``: score, limits, time, parents and idea of the program."""

import json
import textwrap
from collections.abc import Sequence

from oragent._base.text_format import escape_text
from oragent.evaluation.problem import LimitSettings, Problem
from oragent.search.candidate import Elite
from oragent.search.prompting.prompt_templates import CALLS, TOTAL
from oragent.search.prompting.search_summary import TITLE, program_mark
from oragent.search.store import RoundNote
from oragent.search.strategies.or_agent.tree import ACCOUNT

WIDTH = 110
# Largest number of characters of the idea.
MAX_IDEA = 1200
# Mark after the comment sign of header lines, which are not part of the program.
MARK = "|"


def describe_program(
    problem: Problem, limits: LimitSettings, elite: Elite, parents: Sequence[str], notes: Sequence[RoundNote]
) -> list[str]:
    """Describe a program: limits and time used, ids of its parents without fingerprints, its idea from the notes."""
    heuristic_s = problem.heuristic_s(limits)
    bound = "" if heuristic_s is None else f", {heuristic_s:g} of them for all calls of the function"
    lines = [f"limits: {problem.make_limits(limits).cpu_s:g} CPU seconds an evaluation{bound}"]
    seconds, calls = elite.metrics.get(TOTAL), elite.metrics.get(CALLS)
    if isinstance(seconds, int | float):
        lines.append(f"used: {seconds:.4g} CPU seconds of the function" + (f" in {calls:,} calls" if calls else ""))
    named = [parent for parent in parents if "." in parent]
    if named:
        lines += [f"parents: {', '.join(named)}"]
    lines += [f"idea: {idea}"] if (idea := _find_idea(elite.source, notes)) else []
    return lines


def format_comments(lines: Sequence[str], sign: str) -> str:
    """Write lines as comments that differ from the comments of the program.

    The text may come from a model. It stays within comments, declares no parameter, and is not in the first two lines,
    where Python looks for a declared encoding.
    """
    safe = (" ".join(escape_text(line).split()).replace("\\", "/") for line in lines)
    wrapped = (part for line in safe for part in textwrap.wrap(line, WIDTH, subsequent_indent="  "))
    return "".join(f"{sign}{MARK} {part}\n" for part in wrapped)


def drop_head(text: str) -> str:
    """Return a program without the header that a run wrote."""
    return split_head(text)[1]


def split_head(text: str) -> tuple[list[str], str]:
    """Split a program into the lines of its header, without the first line and the comment signs, and the rest."""
    first, _, rest = text.partition("\n")
    sign = next((sign for sign in ("#", "//") if first.startswith(f"{sign} ")), "")
    if not sign:
        return [], text
    lines = []
    while rest.startswith(mark := f"{sign}{MARK} "):
        line, _, rest = rest.partition("\n")
        lines.append(line.removeprefix(mark))
    return lines, rest


def _find_idea(source: str, notes: Sequence[RoundNote]) -> str:
    prefix = f"{program_mark(source)} "
    for kind in (ACCOUNT, TITLE):
        for note in reversed(notes):
            if note.kind == kind and note.text.startswith(prefix):
                text = note.text.removeprefix(prefix)
                return (str(json.loads(text).get("idea", "")) if kind == ACCOUNT else text)[:MAX_IDEA]
    return ""

"""How a program came about: what changed between its ancestors, and what each change brought."""

import difflib
from itertools import pairwise
from typing import NamedTuple

from oragent.search.candidate import Elite
from oragent.search.prompting.standing import title_of, titles
from oragent.search.round_context import RoundContext

MOST = 6  # steps that are told, the latest
LONGEST = 160  # characters of a step
COMPARED = 400  # lines of each program


class _Step(NamedTuple):
    source: str
    score: float


def history(run: RoundContext, one: Elite) -> str:
    """The line of descent of a program, a step a line, the oldest first; empty without one, or where it is not wanted.

    Args:
        run: Round that asks; its strategy looks back on every candidate.
        one: Program to tell of.
    """
    line = _line(run, one) if run.settings.strategy.history else []
    if len(line) < 2:
        return ""
    named = titles(run)
    steps = []
    for before, after in list(pairwise(line))[-MOST:]:
        what = title_of(after.source, named) or _changed(before.source, after.source)
        steps.append(f"- {before.score:.6g} -> {after.score:.6g}: {what[:LONGEST]}")
    older = f" (its latest {MOST} steps)" if len(line) - 1 > MOST else ""
    return "\n".join([f"How it came about{older}:", *steps])


def _line(run: RoundContext, one: Elite) -> list[_Step]:
    """The scored ancestors of a program and itself, the oldest first; by the last parent, which is the one changed."""
    known = {record.id: record.candidate for record in run.history}
    known |= {mine.fingerprint: mine for mine in run.known}
    line: list[_Step] = []
    met: set[str] = set()
    name = one.id
    while name in known and name not in met:
        met.add(name)
        found = known[name]
        if (score := found.score) is not None and not (line and line[-1].source == found.source):
            line.append(_Step(found.source, score))
        name = found.parents[-1] if found.parents else ""
    return line[::-1]


def _changed(before: str, after: str) -> str:
    """The lines that came, on one line; where none did, those that went."""
    old, new = (text.strip().split("\n")[:COMPARED] for text in (before, after))
    lines = [
        line for line in difflib.unified_diff(old, new, lineterm="", n=0) if not line.startswith(("---", "+++", "@"))
    ]
    came = [line[1:].strip() for line in lines if line.startswith("+")]
    went = [f"without {line[1:].strip()}" for line in lines if line.startswith("-")]
    return "; ".join(came[:3] or went[:3]) or "another text"

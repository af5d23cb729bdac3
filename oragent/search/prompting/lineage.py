"""How a program came about: what changed between its ancestors, and what each change brought."""

import difflib
from itertools import pairwise
from typing import NamedTuple

from oragent.search.candidate import Elite
from oragent.search.prompting.standing import program_titles, title_of
from oragent.search.round_context import RoundContext

MOST = 6  # steps that are told, the latest
LONGEST = 160  # characters of a step
COMPARED = 400  # lines of each program


class _Step(NamedTuple):
    source: str
    score: float


def describe_lineage(run: RoundContext, elite: Elite) -> str:
    """The line of descent of a program, a step a line, the oldest first; empty without one, or where it is not wanted.

    Args:
        run: Round that asks; its strategy looks back on every candidate.
        elite: Program to tell of.
    """
    steps_taken = _scored_ancestors(run, elite) if run.settings.strategy.history else []
    if len(steps_taken) < 2:
        return ""
    named = program_titles(run, run.moment)
    steps = []
    for parent, after in list(pairwise(steps_taken))[-MOST:]:
        what = title_of(after.source, named) or _describe_change(parent.source, after.source)
        steps.append(f"- {parent.score:.6g} -> {after.score:.6g}: {what[:LONGEST]}")
    older = f" (its latest {MOST} steps)" if len(steps_taken) - 1 > MOST else ""
    return "\n".join([f"How it came about{older}:", *steps])


def _scored_ancestors(run: RoundContext, elite: Elite) -> list[_Step]:
    """The scored ancestors of a program and itself, the oldest first; by the last parent, which is the one changed."""
    candidates = {record.id: record.candidate for record in run.history}
    candidates |= {mine.fingerprint: mine for mine in run.solutions}
    ancestors: list[_Step] = []
    met: set[str] = set()
    name = elite.id
    while name in candidates and name not in met:
        met.add(name)
        ancestor = candidates[name]
        if (score := ancestor.score) is not None and not (ancestors and ancestors[-1].source == ancestor.source):
            ancestors.append(_Step(ancestor.source, score))
        name = ancestor.parents[-1] if ancestor.parents else ""
    return ancestors[::-1]


def _describe_change(parent: str, after: str) -> str:
    """The lines that came, on one line; where none did, those that went."""
    old, new = (text.strip().split("\n")[:COMPARED] for text in (parent, after))
    lines = [
        text for text in difflib.unified_diff(old, new, lineterm="", n=0) if not text.startswith(("---", "+++", "@"))
    ]
    came = [text[1:].strip() for text in lines if text.startswith("+")]
    went = [f"without {text[1:].strip()}" for text in lines if text.startswith("-")]
    return "; ".join(came[:3] or went[:3]) or "another text"

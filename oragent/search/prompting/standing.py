"""Where a search stands, as prompts tell it: its best programs, what sets them apart, and what is left to spend."""

import hashlib
import sys
from collections.abc import Sequence

from oragent.search.candidate import Elite
from oragent.search.round_context import RoundContext

TITLE = "title"  # kind of the notes that name programs: a mark of the text, then the title
ROWS = 6  # programs in the table
LONGEST = 90  # characters of a title there


def describe_standing(run: RoundContext, parent: Elite | None = None) -> str:
    """The best score and whose it is, a table of the best programs, and what is left of the budget.

    Args:
        run: Round that asks.
        parent: Program that the prompt is about, whose place among the best is told.

    Returns:
        Some lines; nothing where ``strategy.standing`` is off.
    """
    if not run.settings.strategy.standing:
        return ""
    best = _best_elites(run)
    if not best:
        return budget_left(run)
    named = program_titles(run)
    better = run.problem.about.direction.comparative
    remark = _parent_remark(best[0], parent)
    lines = [f"Where the search stands: the best score is {best[0].score:.6g} ({better} is better){remark}."]
    if parent is not None and parent.source != best[0].source:
        lines[0] += f" The program below has {parent.score:.6g}."
    lines += (
        ["The best programs so far:", *(_elite_row(run, elite, named) for elite in best[:ROWS])]
        if len(best) > 1
        else []
    )
    if spare := budget_left(run):
        lines.append(spare)
    return "\n".join(lines)


def budget_left(run: RoundContext) -> str:
    """Describe what is left of the budget, in total and for this step; empty where nothing bounds it."""
    whole, step = run.settings.budget.room(run.spent), run.case.allowance - run.used
    parts = []
    for name, noun in (("evaluations", "evaluations"), ("model_calls", "model calls")):
        total, mine = getattr(whole, name), getattr(step, name)
        if total < sys.maxsize // 2:
            parts.append(f"{total} {noun} (this step may use {min(total, mine)})")
    return f"Left of the budget: {' and '.join(parts)}." if parts else ""


def set_title(run: RoundContext, source: str, title: str) -> None:
    """Name a program for later prompts."""
    words = " ".join(title.split())
    if words:
        run.note(TITLE, f"{program_mark(source)} {words[:LONGEST]}")


def program_titles(run: RoundContext) -> dict[str, str]:
    """The names of programs that were committed before the round began, or named in it, by marks of their texts."""
    noted = [note.text for note in (*run.memory, *run.written, *run.notes) if note.kind == TITLE]
    pairs = (text.partition(" ") for text in noted)
    return {mark: title for mark, _, title in pairs}


def title_of(source: str, named: dict[str, str]) -> str:
    """The name of a program; empty where it has none."""
    return named.get(program_mark(source), "")


def _best_elites(run: RoundContext) -> list[Elite]:
    """The elites that the round sees, and what it has found itself, best first, each score once."""
    mine = [Elite.of(elite) for elite in run.solutions if elite.score is not None]
    elites = sorted([*run.archive.elites(), *mine], key=lambda elite: -run.archive.fitness(elite.score))
    scores: dict[float, Elite] = {}
    for elite in elites:
        scores.setdefault(elite.score, elite)
    return list(scores.values())


def _parent_remark(best: Elite, parent: Elite | None) -> str:
    return ", that of the program below" if parent is not None and parent.source == best.source else ""


def _elite_row(run: RoundContext, elite: Elite, named: dict[str, str]) -> str:
    plain = "the seed heuristic" if elite.source == run.problem.seed else f"`{_last_line(elite.source)}`"
    apart = [title_of(elite.source, named) or plain]
    declared = run.problem.about.features if run.settings.strategy.features else ()
    features: Sequence[str] = [feature.name for feature in declared]
    apart += [f"{name} {value}" for name, value in zip(features, elite.features or (), strict=False)]
    return f"- {elite.score:.6g}: {'; '.join(apart)}"


def _last_line(source: str) -> str:
    """What a program without a name is told by."""
    return source.strip().rsplit("\n", 1)[-1].strip()[:LONGEST]


def program_mark(source: str) -> str:
    """Return the key of a program in notes: a hash of its text."""
    return hashlib.sha256(source.strip().encode(errors="replace")).hexdigest()[:16]

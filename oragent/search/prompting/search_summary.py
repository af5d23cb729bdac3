"""State of a search for prompts: its best programs, their differences, and the remaining budget."""

import difflib
import hashlib
import math
import sys
from collections.abc import Sequence

from oragent._base.protocol import Status
from oragent.programs.blocks import fence_text, language_tag
from oragent.programs.helper_functions import omit_functions
from oragent.search.candidate import Candidate, Elite
from oragent.search.journal import Moment
from oragent.search.prompting import prompt_templates
from oragent.search.round_context import RoundContext

# Kind of notes that hold the mark of a program's text, then its title.
TITLE = "title"
# Number of programs in the table.
ROWS = 6
# Maximum number of characters of a title in the table.
MAX_TITLE_CHARACTERS = 120
# Kind of notes that hold the lesson of an experiment. Other rounds can read it at once.
LESSON = "lesson"
# Maximum number of latest programs outside the table that are listed.
TRIED = 12
# Maximum number of latest failed programs and of lessons.
FAILURES, LESSONS = 4, 4
# Maximum number of characters about a failure.
MAX_FAILURE = 240
# Changes are shown instead of a program if they have less than this share of its characters.
SHORTER = 0.7
# Context lines around a change.
CONTEXT = 1
# Maximum number of lines of each compared program.
COMPARED = 1500


def shorter_of_text_and_changes(source: str, shown: str) -> tuple[str, str]:
    """Return ``diff`` and the changes relative to a shown program if these are much shorter.

    Otherwise return "" and the text, without functions that the shown program has too.
    """
    text = source.strip()
    old, new = shown.strip().split("\n"), text.split("\n")
    if max(len(old), len(new)) > COMPARED:
        return "", omit_functions(text, shown)
    lines = list(difflib.unified_diff(old, new, lineterm="", n=CONTEXT))[2:]
    changes = "\n".join(line if not line.startswith("@@") else "@@" for line in lines)
    if changes and len(changes) < SHORTER * len(text):
        return ("diff", changes)
    return ("", omit_functions(text, shown))


def summarise_search(run: RoundContext, parent: Elite | None = None) -> str:
    """Describe the best score and its program, a table of the best programs, and the remaining budget.

    With ``strategy.live``, the state is that at the moment of the call, with failures and lessons of all branches. It
    includes the rank of ``parent``. Empty if ``strategy.standing`` is off.
    """
    if not run.settings.strategy.standing:
        return ""
    moment = run.moment
    best = best_elites(run)
    if not best:
        return budget_left(run, moment)
    named = program_titles(run, moment)
    better = run.problem.about.direction.comparative
    remark = ", that of the program below" if parent is not None and parent.source == best[0].source else ""
    lines = [f"Where the search stands: the best score is {best[0].score:.6g} ({better} is better){remark}."]
    if parent is not None and parent.source != best[0].source:
        lines[0] += f" The program below has {parent.score:.6g}."
    if len(best) > 1:
        lines += ["The best programs so far:", *(_elite_row(run, elite, named) for elite in best[:ROWS])]
    if run.settings.strategy.live:
        lines += _failure_lines(run, moment, named)
        lines += _lesson_lines(run, moment)
    if spare := budget_left(run, moment):
        lines.append(spare)
    return "\n".join(lines)


def _failure_lines(run: RoundContext, moment: Moment, named: dict[str, str]) -> list[str]:
    committed = [record.candidate for record in run.history if not record.candidate.is_probe]
    under_way = [finding.candidate for finding in moment.findings]
    tried = [one for one in [*committed, *run.solutions, *under_way] if one.evaluation.status is not Status.REJECTED]
    latest = list({one.fingerprint: one for one in tried if one.evaluation.status.failed}.values())[-FAILURES:]
    if latest:
        return ["The latest programs that failed:", *(_failure_line(one, named) for one in latest)]
    return []


def describe_tried(run: RoundContext) -> str:
    """List the latest scored programs that are not among the best, one per line; empty if there are none."""
    moment = run.moment
    named = program_titles(run, moment)
    shown = {elite.source for elite in best_elites(run)[:ROWS]}
    scored = [record.candidate for record in run.history if not record.candidate.is_probe]
    scored += [*run.solutions, *(finding.candidate for finding in moment.findings)]
    latest = {one.fingerprint: one for one in scored if one.score is not None and one.source not in shown}
    titled = [(one, title) for one in latest.values() if (title := title_of(one.source, named))]
    lines = [
        f"- {one.score:.6g}: {title}{prompt_templates.seconds_of(one.evaluation.metrics)}"
        for one, title in titled[-TRIED:]
    ]
    if lines:
        return "\n".join(["Tried without becoming one of these, the latest last:", *lines])
    return ""


def _failure_line(candidate: Candidate, named: dict[str, str]) -> str:
    title, evaluation = title_of(candidate.source, named), candidate.evaluation
    message = " ".join(evaluation.message.split())[:MAX_FAILURE]
    times = prompt_templates.describe_places(evaluation.metrics)
    return f"- {title or 'a program'}: {evaluation.status}: {message}{times}"


def _lesson_lines(run: RoundContext, moment: Moment) -> list[str]:
    notes = [note.text for note in (*run.memory, *moment.notes) if note.kind == LESSON]
    lessons = list(dict.fromkeys(notes))[-LESSONS:]
    if lessons:
        return ["The latest lessons:", *(f"- {text}" for text in lessons)]
    return []


def describe_champion(run: RoundContext, shown: Sequence[Elite]) -> str:
    """Show the best program at the moment of the call, or only its changes if these are shorter.

    Empty if the prompt already shows the program, or if ``strategy.live`` is off. Otherwise the text begins with a
    blank line. The last program of ``shown`` is the one to change.
    """
    if not run.settings.strategy.live:
        return ""
    best = next(iter(best_elites(run)), None)
    if best is None or any(elite.source == best.source for elite in shown):
        return ""
    label = f"The best program so far, score {best.score:.6g}"
    kind, text = "", best.source.strip()
    if shown and prompt_templates.shows_changes(run, shown[-1].source):
        kind, text = shorter_of_text_and_changes(best.source, shown[-1].source)
    if kind:
        return f"\n\n{label}, as changes of the last program above:\n{fence_text(text, 'diff')}"
    return f"\n\n{label}:\n{fence_text(text, language_tag(best.source))}"


def budget_left(run: RoundContext, moment: Moment) -> str:
    """Describe the remaining evaluations, calls and minutes, in total and for this step; empty if all are unlimited."""
    whole, step = run.settings.budget.remaining(moment.spent), run.case.allowance - run.used
    parts = []
    for name, noun in (("evaluations", "evaluations"), ("model_calls", "model calls")):
        total, mine = getattr(whole, name), getattr(step, name)
        if total < sys.maxsize // 2:
            parts.append(f"{total} {noun}" + (f" (this step may use {mine})" if mine < total else ""))
    if (seconds := clock_s_left(run)) is not None:
        parts.append(f"about {seconds / 60:.0f} minutes of the clock, which also runs while you write")
    if parts:
        return f"Left of the budget: {', '.join(parts[:-1])}{' and ' if parts[:-1] else ''}{parts[-1]}."
    return ""


def clock_s_left(run: RoundContext) -> float | None:
    """Return the seconds of the clock that were left at the last commit; None if they are unlimited.

    The time of a commit is recorded, so a resumed run writes the same prompt.
    """
    bound_s = run.settings.budget.seconds
    if bound_s is None:
        return None
    return max(bound_s - max((record.elapsed_s for record in run.history), default=0.0), 0.0)


def clock_cpu_s_left(run: RoundContext) -> float:
    """Return the CPU seconds that a program gets until the end of the clock, as busy as the machine is."""
    clock_s = clock_s_left(run)
    return math.inf if clock_s is None else clock_s * run.context.core_share


def set_title(run: RoundContext, source: str, title: str) -> None:
    """Store the title of a program for later prompts."""
    words = " ".join(title.split())
    if words:
        run.note(TITLE, f"{program_mark(source)} {words[:MAX_TITLE_CHARACTERS]}")


def program_titles(run: RoundContext, moment: Moment) -> dict[str, str]:
    """Return the titles of programs at the moment of the call, by marks of their texts."""
    noted = [note.text for note in (*run.memory, *moment.notes, *run.written, *run.notes) if note.kind == TITLE]
    pairs = (text.partition(" ") for text in noted)
    return {mark: title for mark, _, title in pairs}


def title_of(source: str, named: dict[str, str]) -> str:
    """Return the title of a program; empty if it has none."""
    return named.get(program_mark(source), "")


def best_elites(run: RoundContext) -> list[Elite]:
    """Return the elites of the archive and new programs of this and other rounds, best first, one per score."""
    mine = [Elite.of(elite) for elite in run.solutions if elite.score is not None]
    others = [elite for finding in run.moment.findings if (elite := finding.elite) is not None]
    elites = sorted([*run.archive.elites(), *mine, *others], key=lambda elite: -run.archive.fitness(elite.score))
    scores: dict[float, Elite] = {}
    for elite in elites:
        scores.setdefault(elite.score, elite)
    return list(scores.values())


def _elite_row(run: RoundContext, elite: Elite, named: dict[str, str]) -> str:
    last_line = elite.source.strip().rsplit("\n", 1)[-1].strip()[:MAX_TITLE_CHARACTERS]
    plain = "the seed heuristic" if elite.source == run.problem.seed else f"`{last_line}`"
    apart = [title_of(elite.source, named) or plain]
    declared = run.problem.about.features if run.settings.strategy.features else ()
    features: Sequence[str] = [feature.name for feature in declared]
    apart += [f"{name} {value}" for name, value in zip(features, elite.features or (), strict=False)]
    return f"- {elite.score:.6g}: {'; '.join(apart)}{prompt_templates.seconds_of(elite.metrics)}"


def program_mark(source: str) -> str:
    """Return the key of a program in notes: a hash of its text."""
    return hashlib.sha256(source.strip().encode(errors="replace")).hexdigest()[:16]

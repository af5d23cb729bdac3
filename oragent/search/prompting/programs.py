"""Programs in prompts: label, score and figures, idea, text, and ancestors."""

import difflib
from collections.abc import Sequence
from enum import StrEnum
from itertools import pairwise
from typing import Any, NamedTuple

from oragent._base.racing import displayed_metrics
from oragent._base.text_format import shorten
from oragent.programs.blocks import fence_text, language_tag
from oragent.search.candidate import Elite
from oragent.search.config import Show
from oragent.search.prompting import prompt_templates
from oragent.search.prompting.search_summary import program_titles, shorter_of_text_and_changes, title_of
from oragent.search.round_context import RoundContext

# Maximum number of characters of a metric that is not a number.
MAX_METRIC_CHARACTERS = 160
# Metrics that are shown with the time.
TIMED = (
    prompt_templates.CALLS,
    prompt_templates.INSTANCES,
    prompt_templates.PLANNED,
    prompt_templates.IN_STEP,
    prompt_templates.DECIDED,
    prompt_templates.DECISIONS,
)


# Maximum number of ancestors that are shown, the latest ones.
MAX_ANCESTORS = 6
# Maximum number of characters of an ancestor's line.
MAX_STEP_CHARACTERS = 160
# Maximum number of lines of each compared program.
COMPARED_STEPS = 400


class Told(StrEnum):
    """Selection of figures of a program for a prompt."""

    ALL = "all"
    SCORE = "score"
    NONE = "none"


def shown_figures(run: RoundContext, paper: Told) -> Told:
    """Return the figures that a published strategy shows: all, or those of its ``paper`` if ``strategy.show=paper``."""
    if as_published(run):
        return paper
    return Told.ALL


def as_published(run: RoundContext) -> bool:
    """Return True if prompts of a published strategy follow its paper as closely as possible."""
    return run.settings.strategy.show is Show.PAPER


def show_program(
    label: str,
    elite: Elite,
    *,
    idea: str = "",
    bins: Sequence[str] = (),
    detail: Told = Told.ALL,
    against: str = "",
) -> str:
    """Show a program under a label, with the thought behind it and the figures of ``detail``.

    ``bins`` are the names of the features whose bins are shown.
    ``against`` is the last program of the prompt; if the changes relative to it are shorter, they are shown instead.
    """
    thinking = f"Idea: {idea}\n" if idea else ""
    behind = {
        Told.ALL: f", {list_figures(elite, bins=bins)}",
        Told.SCORE: f", score {format_figure(elite.score)}",
        Told.NONE: "",
    }
    if against:
        kind, text = shorter_of_text_and_changes(elite.source, against)
    else:
        kind, text = ("", elite.source.strip())
    remark = ", as changes of the last program" if kind else ""
    return f"{label}{behind[detail]}{remark}:\n{thinking}{fence_text(text, kind or language_tag(elite.source))}"


def list_figures(elite: Elite, *, bins: Sequence[str] = (), beside: Elite | None = None) -> str:
    """List score, metrics and bins on one line, each followed by the other program's value in brackets."""
    earlier = dict(_figure_rows(beside, bins)) if beside else {}
    past = {name: f" (before: {value})" for name, value in earlier.items()}
    return ", ".join(f"{name} {value}{past.get(name, '')}" for name, value in _figure_rows(elite, bins))


def format_figure(value: Any) -> str:
    """Format a figure with six significant digits.

    Lists and tables are cut after whole entries; a cut text ends with a mark.
    """
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, dict) and value:
        return f"{{{_join_whole([f'{key}: {format_figure(part)}' for key, part in value.items()])}}}"
    if isinstance(value, list | tuple) and value:
        return f"[{_join_whole([format_figure(part) for part in value])}]"
    return shorten(str(value), MAX_METRIC_CHARACTERS)


def _join_whole(parts: Sequence[str]) -> str:
    shown = [parts[0]]
    for part in parts[1:]:
        if sum(map(len, shown)) + 2 * len(shown) + len(part) > MAX_METRIC_CHARACTERS:
            return f"{', '.join(shown)}, and {len(parts) - len(shown)} more"
        shown.append(part)
    return ", ".join(shown)


def _figure_rows(elite: Elite, bins: Sequence[str]) -> list[tuple[str, str]]:
    # Prompts must be reproducible, but times vary. Only the time of the heuristic is shown, in coarse steps.
    time = prompt_templates.describe_times(elite.metrics)
    timeless = [
        (name, format_figure(value))
        for name, value in displayed_metrics(elite.metrics).items()
        if not name.endswith("seconds") and name not in TIMED
    ]
    # Long values come last.
    timeless.sort(key=lambda row: len(row[1]) > MAX_METRIC_CHARACTERS // 2)
    cell = [
        (f"{name} bin" if isinstance(value, int) else name, format_figure(value))
        for name, value in zip(bins, elite.features or (), strict=False)
    ]
    return [("score", f"{elite.score:.6g}"), *timeless, *([("CPU time of the function", time)] if time else []), *cell]


class _Step(NamedTuple):
    source: str
    score: float


def describe_lineage(run: RoundContext, elite: Elite) -> str:
    """Describe the ancestors of a program, one per line, oldest first; may be empty."""
    steps_taken = _scored_ancestors(run, elite) if run.settings.strategy.history else []
    if len(steps_taken) < 2:
        return ""
    named = program_titles(run, run.moment)
    steps = []
    for parent, after in list(pairwise(steps_taken))[-MAX_ANCESTORS:]:
        what = title_of(after.source, named) or _describe_change(parent.source, after.source)
        steps.append(f"- {parent.score:.6g} -> {after.score:.6g}: {what[:MAX_STEP_CHARACTERS]}")
    older = f" (its latest {MAX_ANCESTORS} steps)" if len(steps_taken) - 1 > MAX_ANCESTORS else ""
    return "\n".join([f"How it came about{older}:", *steps])


def _scored_ancestors(run: RoundContext, elite: Elite) -> list[_Step]:
    """Return the scored ancestors of a program and the program itself, oldest first.

    The last parent counts, which is the changed one.
    """
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
    old, new = (text.strip().split("\n")[:COMPARED_STEPS] for text in (parent, after))
    lines = [
        text for text in difflib.unified_diff(old, new, lineterm="", n=0) if not text.startswith(("---", "+++", "@"))
    ]
    came = [text[1:].strip() for text in lines if text.startswith("+")]
    went = [f"without {text[1:].strip()}" for text in lines if text.startswith("-")]
    return "; ".join(came[:3] or went[:3]) or "another text"

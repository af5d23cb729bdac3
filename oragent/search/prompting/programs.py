"""A program as a model is shown it: its label, score and figures, the idea behind it, its text."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Any

from oragent._base.racing import shown
from oragent.programs.blocks import fence, tag
from oragent.search.candidate import Elite
from oragent.search.config import Show
from oragent.search.prompting import times
from oragent.search.round_context import RoundContext


class Told(StrEnum):
    """Which figures of a program a prompt tells."""

    ALL = "all"
    SCORE = "score"
    NONE = "none"


def told(run: RoundContext, paper: Told) -> Told:
    """Which figures a published strategy tells: all, or those of its ``paper`` where ``strategy.show`` says so."""
    return paper if as_published(run) else Told.ALL


def as_published(run: RoundContext) -> bool:
    """Whether the prompts of a published strategy are to be those of its paper, as far as they can."""
    return run.settings.strategy.show is Show.PAPER


def show(
    label: str,
    one: Elite,
    *,
    idea: str = "",
    bins: Sequence[str] = (),
    beside: Elite | None = None,
    told: Told = Told.ALL,
) -> str:
    """Show a program.

    Args:
        label: Name that the prompt gives the program.
        one: Program to be shown.
        idea: Thought behind the program; empty where none is known.
        bins: Names of the features whose bins are told; without names none are.
        beside: Other program, whose figures stand in brackets behind the first one's.
        told: Figures that are told.
    """
    thinking = f"Idea: {idea}\n" if idea else ""
    behind = {
        Told.ALL: f", {figures(one, bins=bins, beside=beside)}",
        Told.SCORE: f", score {said(one.score)}",
        Told.NONE: "",
    }
    return f"{label}{behind[told]}:\n{thinking}{fence(one.source.strip(), tag(one.source))}"


def figures(one: Elite, *, bins: Sequence[str] = (), beside: Elite | None = None) -> str:
    """Score, metrics and bins on one line; those of another program in brackets behind each."""
    other = dict(_rows(beside, bins)) if beside else {}
    past = {name: f" (before: {value})" for name, value in other.items()}
    return ", ".join(f"{name} {value}{past.get(name, '')}" for name, value in _rows(one, bins))


def said(value: Any) -> str:
    """A figure with six digits that count; anything else as it is, at most 80 characters."""
    return f"{value:.6g}" if isinstance(value, float) else str(value)[:80]


def _rows(one: Elite, bins: Sequence[str]) -> list[tuple[str, str]]:
    # Times differ from run to run, and a prompt must not: but for the heuristic's own, in coarse steps.
    time = times.told(one.metrics)
    timeless = [(name, said(value)) for name, value in shown(one.metrics).items() if not name.endswith("seconds")]
    cell = [
        (f"{name} bin" if isinstance(value, int) else name, said(value))
        for name, value in zip(bins, one.features or (), strict=False)
    ]
    return [("score", f"{one.score:.6g}"), *timeless, *([("CPU time of the function", time)] if time else []), *cell]

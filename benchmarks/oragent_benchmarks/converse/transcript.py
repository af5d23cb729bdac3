"""HTML transcripts of conversations: messages, tool calls, states, and scores of proposals."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any

from jinja2 import Template

from oragent.report.pages.html import make_environment
from oragent.report.pages.text import clip_text
from oragent_benchmarks.converse.conversation import ConversationResult, Turn
from oragent_benchmarks.converse.decision import DecisionProblem, format_figure
from oragent_benchmarks.converse.problems.reply_formats import read_tables, remove_escapes

HERE = Path(__file__).parent


@dataclass(frozen=True)
class AnswerBlock:
    """Part of an answer, a paragraph or a table."""

    # Text of a paragraph; empty for a table.
    text: str
    header: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()


def split_blocks(text: str) -> list[AnswerBlock]:
    """Split an answer into paragraphs and tables. Other Markdown stays as it is."""
    lines = clip_text(text, 400)[0].split("\n")
    groups = groupby(lines, key=lambda text_line: text_line.startswith("|"))
    return [block for is_table, group in groups for block in _parse_block([*group], is_table)]


@cache
def _load_template() -> Template:
    # Compiled once, because a study writes hundreds of pages.
    return make_environment(HERE).get_template("transcript.html")


def _parse_block(lines: Sequence[str], table: bool) -> list[AnswerBlock]:
    text = "\n".join(lines).strip()
    if not table:
        if text:
            return [AnswerBlock(remove_escapes(text))]
        return []
    return [_drop_empty_columns(table.header, table.rows) for table in read_tables(text)] or [AnswerBlock(text)]


def _drop_empty_columns(header: tuple[str, ...], rows: tuple[tuple[str, ...], ...]) -> AnswerBlock:
    """Return a table without columns that are empty in every row. A table without rows stays as it is."""
    filled = [at for at in range(len(header)) if not rows or any(row[at : at + 1] not in ((), ("",)) for row in rows)]
    return AnswerBlock(
        "", tuple(header[at] for at in filled), tuple(tuple(row[at] for at in filled if at < len(row)) for row in rows)
    )


def transcript_page(
    problem: DecisionProblem,
    title: str,
    agent: str,
    outcome: ConversationResult,
    facts: Mapping[str, str],
    knew: str,
    findings: Sequence[Mapping[str, Any]],
) -> str:
    """Return the page of an evaluated conversation."""
    return _load_template().render(
        title=title,
        agent=agent,
        turns=[_render_turn(turn) for turn in outcome.turns],
        outcome=outcome,
        facts=facts,
        knew=knew,
        findings=findings,
        back="../report.html",
        curve=utility_curve(outcome),
    )


def _render_turn(turn: Turn) -> dict[str, Any]:
    best = max(turn.values, default=None)
    return {"turn": turn, "blocks": split_blocks(turn.answer), "in_force": _list_in_force(turn), "value": best}


def _list_in_force(turn: Turn) -> list[str]:
    """List the restrictions that hold after a turn, in words."""
    restrictions = [] if turn.state is None else turn.state["restrictions"]
    return list(map(describe_plain_restriction, restrictions))


@dataclass(frozen=True)
class Curve:
    """Curve of utility over turns, in a drawing of ``width`` by ``height``.

    Attributes:
        best: Points of the line of the best value so far, in SVG form.
        shown: Position, turn and value of the best decision of each turn.
        top, foot: Vertical positions of the greatest utility and of 0.
        left: Horizontal position of turn 0, the default decision.
    """

    width: int
    height: int
    best: str
    shown: tuple[tuple[float, float, int, float], ...]
    top: float
    foot: float
    maximum: float
    left: float


def utility_curve(outcome: ConversationResult) -> Curve | None:
    """Return the curve of utility over turns, or None if no turn showed a decision."""
    values = [(number, max(turn.values)) for number, turn in enumerate(outcome.turns, 1) if turn.values]
    if not values or not outcome.maximum:
        return None
    width, height, margin, top, foot = 640, 150, 40.0, 14.0, 126.0
    step = (width - margin - 20.0) / max(len(outcome.turns), 1)

    def draw_height(value: float) -> float:
        return round(foot - (foot - top) * value / outcome.maximum, 1)

    best, points = 0.0, []
    shown = tuple((round(margin + number * step, 1), draw_height(value), number, value) for number, value in values)
    for x, _, _, value in shown:
        points.append(f"{x:g},{draw_height(best):g}")
        best = max(best, value)
        points.append(f"{x:g},{draw_height(best):g}")
    path = " ".join([f"{margin:g},{foot:g}", *points, f"{width - 20},{draw_height(best):g}"])
    return Curve(width, height, path, shown, top, foot, outcome.maximum, margin)


def describe_plain_restriction(restriction: Mapping[str, Any], preposition: str = "at ") -> str:
    """Describe a restriction, given as plain data, in words."""
    if restriction["kind"] == "bound":
        return f"{restriction['subject']} {restriction['relation']} {format_figure(restriction['value'])}"
    negation = "not " if restriction["kind"] == "forbid" else ""
    return f"{restriction['subject']} {negation}{preposition}{restriction['option']}"

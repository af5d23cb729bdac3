"""Conversations as pages: what was said and what it came to, tool calls, states, what each proposal was worth."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jinja2 import Template

from oragent.converse.conversation import ConversationResult, Turn, changes_of, state_of
from oragent.converse.decision import DecisionProblem, Editable, Goal, Solved, format_figure
from oragent.converse.model_changes import describe_changes, objectives_in_words
from oragent.converse.problems.reply_formats import read_tables, remove_escapes
from oragent.converse.solving import StateSolver, find_frontier, problem_in_force
from oragent.report.pages.charts import BEST, FAILED, KEPT, MUTED, Drawing, new_figure, render_figure
from oragent.report.pages.html import make_environment
from oragent.report.pages.text import clip_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HERE = Path(__file__).parent
MOST_LABELLED = 12


@dataclass(frozen=True)
class MessageRow:
    """A message in the summary."""

    number: int
    said: str
    # objectives after it, or why there is no plan; empty where it changed nothing
    effect: str


@dataclass(frozen=True)
class ConversationSummary:
    """What a conversation came to."""

    rows: tuple[MessageRow, ...]
    # objectives of the plan that it opened with
    opening: str
    # objectives of the best plan of what is in force, or why there is none
    now: str
    # what differs between both plans, one line each; empty for nothing
    changes: tuple[str, ...]
    # the plan now, as Markdown; empty where there is none
    plan: str
    decision: str


def summarize_conversation(problem: DecisionProblem, solver: StateSolver, turns: Sequence[Turn]) -> ConversationSummary:
    """Summarize a conversation; what no state says, as with agents that keep none, is read from what was presented."""
    opening = objectives_in_words(problem, problem.first)
    rows: list[MessageRow] = []
    in_force, solved, now = problem, problem.first, opening
    for number, turn in enumerate(turns, 1):
        before, shown = now, turn.state is None and turn.presented
        if turn.state is not None:
            state = state_of(turn.state)
            in_force, solved = problem_in_force(problem, state), solver(state)
        elif shown:
            solved = Solved(problem.first.status, turn.presented[-1])
        now = objectives_in_words(in_force, solved)
        if number > 1:
            earlier = turns[number - 2].state
        else:
            earlier = None
        is_changed = now != before or (turn.state is not None and not _is_same(turn.state, earlier))
        rows.append(MessageRow(number, turn.said, now if is_changed else ""))
    changes, plan = "", ""
    if solved.decision:
        changes = describe_changes(in_force, problem.default, solved.decision, isinstance(problem, Editable))
        plan = in_force.render(solved.decision)
    return ConversationSummary(
        tuple(rows), opening, now, tuple(changes.splitlines()), plan, problem.vocabulary.decision
    )


def _is_same(state: object, earlier: object) -> bool:
    """Return True if two states as plain data hold the same; None is the beginning."""
    if isinstance(state, dict) and earlier is None:
        return not state.get("restrictions") and not state.get("changes")
    return state == earlier


@dataclass(frozen=True)
class AnswerBlock:
    """A piece of an answer: a paragraph, or a table."""

    # text of a paragraph; empty for a table
    text: str
    header: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()


def split_blocks(text: str) -> list[AnswerBlock]:
    """An answer as paragraphs and tables; all else of Markdown stays as it was written."""
    lines = clip_text(text, 400)[0].split("\n")
    groups = groupby(lines, key=lambda text_line: text_line.startswith("|"))
    return [block for is_table, group in groups for block in _parse_block([*group], is_table)]


@cache
def _load_template() -> Template:
    # compiled once, for pages by the hundred
    return make_environment(HERE).get_template("transcript.html")


def _parse_block(lines: Sequence[str], table: bool) -> list[AnswerBlock]:
    text = "\n".join(lines).strip()
    if not table:
        if text:
            return [AnswerBlock(remove_escapes(text))]
        return []
    return [_drop_empty_columns(table.header, table.rows) for table in read_tables(text)] or [AnswerBlock(text)]


def _drop_empty_columns(header: tuple[str, ...], rows: tuple[tuple[str, ...], ...]) -> AnswerBlock:
    """A table without the columns that are empty in every row; one without rows stays as it is."""
    filled = [at for at in range(len(header)) if not rows or any(row[at : at + 1] not in ((), ("",)) for row in rows)]
    return AnswerBlock(
        "", tuple(header[at] for at in filled), tuple(tuple(row[at] for at in filled if at < len(row)) for row in rows)
    )


def session_page(problem: DecisionProblem, agent: str, turns: Sequence[Turn], summary: ConversationSummary) -> str:
    """The page of a person's conversation, with a summary on top."""
    return _load_template().render(
        title=problem.name,
        agent=agent,
        turns=[_render_turn(turn) for turn in turns],
        outcome=None,
        facts={},
        knew="",
        figures=_draw_figures(problem, turns),
        findings=(),
        back="",
        curve=None,
        summary=summary,
        plan=split_blocks(summary.plan),
        changes=[remove_escapes(line) for line in summary.changes],
        in_force=_list_in_force(turns[-1]) if turns else [],
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
    """The page of an evaluated conversation."""
    return _load_template().render(
        title=title,
        agent=agent,
        turns=[_render_turn(turn) for turn in outcome.turns],
        outcome=outcome,
        facts=facts,
        knew=knew,
        figures=(),
        findings=findings,
        back="../report.html",
        curve=utility_curve(outcome),
        summary=None,
    )


def _render_turn(turn: Turn) -> dict[str, Any]:
    best = max(turn.values, default=None)
    return {"turn": turn, "blocks": split_blocks(turn.answer), "in_force": _list_in_force(turn), "value": best}


def _list_in_force(turn: Turn) -> list[str]:
    """What is in force after a turn, in words."""
    if turn.state is None:
        restrictions = []
    else:
        restrictions = turn.state["restrictions"]
    return [
        *map(describe_plain_restriction, restrictions),
        *(f"{change.name} {change.value_text} (changed)" for change in changes_of(turn.state)),
    ]


@dataclass(frozen=True)
class Curve:
    """Utility over the turns, in the units of a drawing of ``width`` by ``height``.

    Attributes:
        best: Points of the line of the best so far, as SVG has them.
        shown: Place, turn and value of the best decision that each turn showed.
        top, foot: Heights of the greatest utility, and of 0.
        left: Where turn 0, the default, would stand.
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
    """Utility over the turns; None where no turn showed a decision."""
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
    """A restriction as plain data in words."""
    if restriction["kind"] == "bound":
        return f"{restriction['subject']} {restriction['relation']} {format_figure(restriction['value'])}"
    if restriction["kind"] == "forbid":
        negation = "not "
    else:
        negation = ""
    return f"{restriction['subject']} {negation}{preposition}{restriction['option']}"


def _draw_figures(problem: DecisionProblem, turns: Sequence[Turn]) -> list[Drawing]:
    walk = [problem.default, *(decision for turn in turns for decision in turn.presented)]
    # A page without its figure is of more use than none.
    if problem.goals < 2 or find_spec("matplotlib") is None:
        return []
    points = [problem.features(decision)[:2] for decision in walk]
    return [
        render_figure(
            "pareto",
            "Proposals in order, on the way from the default; dots: what cannot be improved.",
            lambda: _draw_pareto(problem, points),
        )
    ]


def pareto_picture(problem: DecisionProblem, turns: Sequence[Turn]) -> str:
    """The picture in which the proposals walk, an SVG document; an empty one where there is one objective only."""
    drawn = _draw_figures(problem, turns)
    if drawn:
        return drawn[0].svg
    return '<svg xmlns="http://www.w3.org/2000/svg"/>'


def _draw_pareto(problem: DecisionProblem, points: Sequence[tuple[float, ...]]) -> "Figure":
    drawn = new_figure(5.6, 3.2)
    axes = drawn.subplots()
    optimal_points = find_frontier(problem)  # type: ignore[arg-type]  # a Protocol does not say that it can be hashed
    if optimal_points:
        axes.plot(*zip(*optimal_points, strict=True), "o", color=MUTED, markersize=5, label="cannot be improved")
    xs, ys = [point[0] for point in points], [point[1] for point in points]
    axes.plot(xs, ys, "-", color=KEPT, linewidth=1.2)
    axes.plot(xs[:1], ys[:1], "s", color=FAILED, markersize=6, label="default")
    axes.plot(xs[1:], ys[1:], "o", color=BEST, markersize=5, label="proposals")
    for number, (x, y) in enumerate(zip(xs, ys, strict=True)):
        if 0 < number <= MOST_LABELLED:
            axes.annotate(str(number), (x, y), textcoords="offset points", xytext=(4, 4), fontsize=7)
    first, second = problem.expressions[:2]
    axes.set(xlabel=_axis_label(first), ylabel=_axis_label(second))
    axes.legend(frameon=False, fontsize=7)
    return drawn


def _axis_label(goal: Goal) -> str:
    if goal.unit:
        return f"{goal.word}, {goal.unit}"
    return goal.word

"""HTML page of a formulation; all text is escaped."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from markupsafe import Markup, escape

from oragent._base.text_format import escape_text
from oragent.formulate.breakdown import chart_families
from oragent.formulate.charts import COLOURS, draw_chart
from oragent.formulate.explain import (
    add_sentences,
    break_down,
    plan_schedule,
    row_sentences,
    shown_families,
)
from oragent.formulate.folder import FormulationEnd, FormulationRequest
from oragent.formulate.formulation import FormulationResult
from oragent.formulate.gantt import draw_gantt
from oragent.formulate.printing import describe_aims, describe_reading, describe_values, explain_outcome, headline
from oragent.formulate.requirements import has_same_optimum
from oragent.formulate.rules import RuleOutcome, read_rules
from oragent.modelling.convert.mathematics import to_mathml
from oragent.modelling.data.display import figure, signed
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.model_records import Row
from oragent.modelling.data.model_values import Relation
from oragent.modelling.data.solution import Solution, ValueRange
from oragent.report.pages.html import make_environment, replace_page
from oragent.report.pages.text import DiffLine, clip_text, diff_lines
from oragent.report.pages.value_tables import layout_families

# Maximum numbers of rows of the model, and of lines of a comparison.
MAX_ROWS, MAX_CHANGED = 400, 200
# Maximum number of variables and rows for which the page shows the mathematical model.
MAX_MATHS = 200
# Minimum number of characters of a sentence that is searched for in the problem.
MIN_SENTENCE_CHARACTERS = 8


def write_page(folder: Path, request: FormulationRequest, outcome: FormulationEnd) -> Path:
    """Write ``report.html`` into the folder.

    Raises:
        StoreError: The page cannot be written.
    """
    return replace_page(folder, render_page(request, outcome))


def render_page(request: FormulationRequest, outcome: FormulationEnd) -> str:
    """Render the page as HTML."""
    result, solution = outcome.result, outcome.solution
    assert result is not None
    sentence_of = row_sentences(result)
    milp = None if result.milp is None else add_sentences(result.milp, sentence_of)
    small = milp is not None and milp.is_purely_linear and milp.shape[1] + milp.shape[0] <= MAX_MATHS
    text, omitted = clip_text(request.problem.text, 2000)
    shown = outcome.shown
    families = shown_families(result, shown)
    parts, uses = break_down(result, shown)
    schedule = plan_schedule(result, shown)
    return (
        make_environment(Path(__file__).parent)
        .get_template("page.html")
        .render(
            title=request.problem.name,
            figure=figure,
            found=result,
            options=request.options,
            solution=solution,
            objective=None if result.objective is None else describe_values(result.model_values),
            unit=result.aims[0].unit if result.aims else "",
            readings=[(reading, describe_reading(reading)) for reading in result.readings],
            same=[reading for reading in result.readings if has_same_optimum(reading, result.model_values)],
            aims=list(zip(result.aims, describe_aims(result.aims), strict=True)),
            decisions=layout_families(families),
            parts=parts,
            uses=uses,
            rules=[rule for rule in read_rules(result.checks) if rule.outcome is not RuleOutcome.HOLDS],
            held=sum(rule.outcome is RuleOutcome.HOLDS for rule in read_rules(result.checks)),
            gantt=None if schedule is None else draw_gantt(schedule),
            charts=[(chart, draw_chart(chart)) for chart in chart_families(families)],
            verdict=result.judgement,
            headline=headline(outcome),
            incomplete=outcome.incomplete,
            effects=explain_outcome(outcome),
            most=MAX_ROWS,
            colours=COLOURS,
            problem=mark_sentences(text, list(sentence_of.values())),
            left=omitted,
            notes=request.problem.notes,
            mathematics=Markup(to_mathml(milp)) if small and milp is not None else None,
            program=clip_text(result.program)[0],
            rows=list(islice(_row_lines(milp, solution), MAX_ROWS)) if milp and solution else [],
            changes=list(_attempt_changes(result)),
            tried=any(item["holds"] is not None for item in result.metamorphic),
            pool=[(item, clip_text(item.text, 60)[0], item.time - result.pool[0].time) for item in result.pool],
        )
    )


def mark_sentences(text: str, sentences: Sequence[str]) -> Markup:
    """Mark in a text the first occurrence of each sentence from which a row comes."""
    spans: list[tuple[int, int]] = []
    for sentence in sorted(set(sentences), key=len, reverse=True):
        words = sentence.strip(" .\"'").split()
        if len(" ".join(words)) < MIN_SENTENCE_CHARACTERS or len(words) > 200:
            continue
        hit = re.search(r"\s+".join(map(re.escape, words)), text, re.IGNORECASE)
        if hit and all(hit.end() <= start or hit.start() >= end for start, end in spans):
            spans.append(hit.span())
    parts, position = [], 0
    for start, end in sorted(spans):
        marked = Markup("<mark>{}</mark>").format(escape_text(text[start:end]))
        parts += [escape(escape_text(text[position:start])), marked]
        position = end
    return Markup("").join([*parts, escape(escape_text(text[position:]))])


def _attempt_changes(result: FormulationResult) -> Iterator[tuple[Mapping[str, Any], list[DiffLine]]]:
    """Yield each attempt with its difference from the one before."""
    previous = ""
    for attempt in result.attempts:
        yield attempt, diff_lines(previous, attempt["source"])[:MAX_CHANGED] if previous else []
        previous = attempt["source"] or previous


def _row_lines(milp: IndexedModel, solution: Solution) -> Iterator[dict[str, str]]:
    """Yield the rows of the model with all figures as text."""
    for row in milp.row_records:
        has, dual = row.name in solution.activities, _dual_text(milp, solution, row)
        yield {
            "name": row.name,
            "activity": figure(solution.activities[row.name]) if has else "–",
            "relation": str(row.relation),
            "rhs": figure(row.rhs),
            "slack": figure(solution.slacks[row.name]) if has else "–",
            "dual": dual,
            "range": "–" if dual == "–" else _range_text(solution.ranges.get(row.name)),
            "sentence": row.meaning,
        }


def _dual_text(milp: IndexedModel, solution: Solution, row: Row) -> str:
    """Return the dual of an inequality of a linear programme as text. Equalities and integer models have none."""
    if milp.has_integers or row.relation is Relation.EQUAL or row.name not in solution.duals:
        return "–"
    if row.name in ((solution.sensitivity and solution.sensitivity.several_duals) or ()):
        return "not unique"
    return signed(solution.duals[row.name], figure)


def _range_text(interval: ValueRange | None) -> str:
    if interval is None:
        return "–"
    if math.isinf(interval.low) and math.isinf(interval.high):
        return "any"
    return f"{figure(interval.low)} to {figure(interval.high)}"

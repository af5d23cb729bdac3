"""Output of a formulation in the terminal: first the verdict, then decisions, open questions, effects and attempts."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import Console

from oragent._base.terminal import print_line
from oragent._base.text_format import escape_text, one_line
from oragent.formulate.aims import Aim, staged_objectives
from oragent.formulate.breakdown import ADDED_NEVER
from oragent.formulate.checks import CheckStatus
from oragent.formulate.effects import LimitEffect, Shortage
from oragent.formulate.explain import break_down, plan_schedule, shown_families
from oragent.formulate.folder import FormulationEnd
from oragent.formulate.formulation import FormulationResult
from oragent.formulate.gantt import describe_schedule
from oragent.formulate.requirements import has_same_optimum
from oragent.formulate.rerun import Rerun
from oragent.formulate.rules import RuleOutcome, read_rules
from oragent.formulate.verdicts import Verdict
from oragent.modelling.data.display import figure, signed
from oragent.modelling.data.model_values import Sense
from oragent.modelling.data.solution import Solution, SolveStatus
from oragent.modelling.solving.model_solving import ray
from oragent.report.pages.text import fitted_lines, format_money
from oragent.report.pages.value_tables import layout_families, print_tables

VERDICT_STYLES = {
    Verdict.CHECKED: "bold green",
    Verdict.UNCHECKED: "bold yellow",
    Verdict.DISPUTED: "bold yellow",
}
# Maximum number of lines of all tables of decisions; plan.csv has all values.
MAX_TABLE_LINES = 60
# Maximum number of further lines for times and choices, which are complete.
MAX_COMPLETE_LINES = 400
MAX_REASON_LINES, MAX_QUESTION_LINES, MAX_ATTEMPT_LINES = 12, 12, 10
MAX_EFFECTS, MAX_SCHEDULE_LINES, MAX_RULE_LINES = 6, 40, 24
# Maximum number of lines about the objective and limits, and of limits of a table.
MAX_BREAKDOWN_LINES, MAX_LIMITS = 8, 14
# Maximum number of decisions of another optimal plan.
MAX_ALTERNATIVE = 4
# Maximum number of values that differ between two plans.
MAX_CHANGES = 20
# Maximum number of values that are printed with the objective.
MAX_VALUES = 6


def print_outcome(outcome: FormulationEnd, console: Console) -> None:
    """Print a result with the verdict in the first line."""
    result, width = outcome.result, console.width
    assert result is not None
    style = VERDICT_STYLES.get(result.judgement.verdict, "bold red")
    print_line(console, headline(outcome), style)
    lines = fitted_lines([f"- {reason}" for reason in result.judgement.reasons], width, MAX_REASON_LINES)
    lines += _decision_lines(outcome, width)
    schedule = plan_schedule(result, outcome.shown)
    if schedule is not None:
        lines += fitted_lines([escape_text(line) for line in describe_schedule(schedule)], width, MAX_SCHEDULE_LINES)
    lines += fitted_lines(_breakdown_lines(outcome), width, MAX_BREAKDOWN_LINES)
    lines += fitted_lines([f"- {text}" for text in explain_outcome(outcome)], width, MAX_QUESTION_LINES)
    lines += fitted_lines(_question_lines(result), width, MAX_QUESTION_LINES)
    if len(result.attempts) > 1 or result.milp is None:
        lines += fitted_lines(_attempt_lines(result), width, MAX_ATTEMPT_LINES)
    lines += fitted_lines(list(_rule_lines(result)), width, MAX_RULE_LINES)
    lines += fitted_lines(list(_check_lines(result)), width, 4)
    for text in lines:
        print_line(console, text)


def headline(outcome: FormulationEnd) -> str:
    """Return the verdict in one sentence. A contradicted plan is not called optimal."""
    result, solution = outcome.result, outcome.solution
    assert result is not None
    verdict = result.judgement.verdict
    if result.milp is None or solution is None:
        return f"{verdict}: {escape_text(result.status)}"
    if solution.objective is None:
        shortages = outcome.incomplete.shortages if outcome.incomplete is not None else ()
        lack = f"; {describe_shortage(shortages[0])}" if shortages else ""
        more = f", and {len(shortages) - 1} more" if len(shortages) > 1 else ""
        return f"{verdict}: {describe_status(result, solution)}{lack}{more}"
    aims = ", ".join(describe_aims(result.aims))
    if verdict is Verdict.CONTRADICTED:
        if len(result.aims) > 1:
            return f"{verdict}: do not use this plan. Its aims are {aims}"
        return f"{verdict}: do not use this plan. Its objective is {aims} ({result.milp.sense})"
    status = describe_status(result, solution)
    if verdict is Verdict.DISPUTED:
        status += "; program and checker read the text differently"
    return f"{verdict}: {aims}{';' if len(result.aims) > 1 else ','} {status}"


def describe_aims(aims: Sequence[Aim]) -> list[str]:
    """Return the value of each aim with its unit, and of several aims also the sense, and those not compared."""
    units = [aim.unit for aim in aims]
    texts = []
    for aim in aims:
        value = "-" if aim.value is None else figure(aim.value)
        amount = f"{value} {escape_text(one_line(aim.unit, 40))}".rstrip()
        if len(aims) > 1:
            # The unit says which aim is meant if no other aim has it.
            name = "" if aim.unit and units.count(aim.unit) == 1 else f"{escape_text(one_line(aim.name, 60))}: "
            notes = [str(aim.sense)]
            if aim.slack:
                notes.append(f"may be {figure(aim.slack)} from the best")
            if not aim.is_compared:
                notes.append("not compared")
            amount = f"{name}{amount} ({', '.join(notes)})"
        texts.append(amount)
    return texts


def describe_status(result: FormulationResult, solution: Solution) -> str:
    """Return the status with the gap, if there is one."""
    assert result.milp is not None
    milp, count = result.milp, len(staged_objectives(result.milp))
    if len(result.aims) > 1:
        order = f"by weights ({milp.sense} {figure(solution.objective or 0.0)})" if count == 1 else "in this order"
        if solution.status is SolveStatus.FEASIBLE and solution.gap is not None and math.isfinite(solution.gap):
            return f"feasible within {solution.gap:.2%} of the best {order}"
        return f"{solution.status} {order}"
    if solution.status is SolveStatus.OPTIMAL:
        return f"optimal ({milp.sense})"
    if solution.status is SolveStatus.FEASIBLE and solution.gap is not None and solution.bound is not None:
        limit = "at least" if milp.sense is Sense.MINIMIZE else "at most"
        reach = f"the best objective is {limit} {figure(solution.bound)}"
        return f"feasible within {solution.gap:.2%} of the best ({milp.sense}; {reach})"
    return f"{solution.status} ({milp.sense})"


def explain_outcome(outcome: FormulationEnd) -> list[str]:
    """Return effects of limits, shortages, or the direction in which an unbounded model improves."""
    result, solution = outcome.result, outcome.solution
    if result is None or result.milp is None or solution is None:
        return []
    if solution.status is SolveStatus.UNBOUNDED:
        steps = (ray(result.milp) or {}).items()
        return [f"the objective improves without end while {name} changes by {signed(step)}" for name, step in steps]
    # A limit changes a weighted sum, and not an aim of it.
    aims = () if result.is_weighted else result.aims
    texts = [describe_effect(effect, aims) for effect in outcome.effects[:MAX_EFFECTS]]
    if outcome.alternative:
        texts.append(describe_alternative(outcome.alternative, solution))
    if outcome.incomplete is not None:
        least = "The least total shortage" if outcome.incomplete.is_least else "A shortage, perhaps not the least"
        texts.append(f"{least} that makes a plan possible:")
        texts += [describe_shortage(shortage) for shortage in outcome.incomplete.shortages]
    return texts


def describe_effect(effect: LimitEffect, aims: Sequence[Aim]) -> str:
    """Describe the effect of a limit on an aim in one sentence."""
    aim = aims[effect.aim] if effect.aim < len(aims) else None
    unit = escape_text(one_line(aim.unit, 40)) if aim is not None else ""
    if aim is not None and not unit and len(aims) > 1:
        unit = escape_text(one_line(aim.name, 60))
    which = escape_text(one_line(effect.sentence or effect.name, 160))
    amounts = sorted(set(effect.limits))
    size = figure(amounts[0]) if len(amounts) == 1 else f"{figure(amounts[0])} to {figure(amounts[-1])}"
    count = f", {effect.rows} limits" if effect.rows > 1 else ""
    more = "more" if effect.relation == "<=" else "less"
    changes = ", ".join(
        f"{percent} % {more}: {signed(change, figure)}{f' {unit}' if unit else ''}"
        for percent, change in effect.changes.items()
    )
    return f"“{which}” ({effect.relation} {size}{count}): {changes}"


def describe_shortage(shortage: Shortage) -> str:
    """Describe a shortage in one sentence."""
    which = escape_text(one_line(shortage.sentence or shortage.name, 160))
    name = f" [{escape_text(one_line(shortage.name, 60))}]" if shortage.sentence else ""
    lacking = figure(abs(shortage.wanted - shortage.possible))
    return (
        f"“{which}”{name}: {shortage.relation} {figure(shortage.wanted)} is asked, {figure(shortage.possible)} is "
        f"possible, a difference of {lacking}"
    )


def describe_alternative(alternative: Mapping[str, float], solution: Solution) -> str:
    """Describe another optimal plan by the decisions that differ."""
    shown = list(alternative.items())[:MAX_ALTERNATIVE]
    changes = ", ".join(
        f"{escape_text(one_line(name, 60))} {figure(value)} instead of {figure(solution.values[name])}"
        for name, value in shown
    )
    more = f", and {len(alternative) - len(shown)} more" if len(alternative) > len(shown) else ""
    return f"Another plan has the same objective: {changes}{more}"


def _decision_lines(outcome: FormulationEnd, width: int) -> list[str]:
    assert outcome.result is not None
    families = shown_families(outcome.result, outcome.shown)
    if not families:
        return []
    title = ["best incomplete plan:"] if outcome.incomplete is not None else []
    complete = sum(len(family.entries) for family in families if family.kind in ADDED_NEVER)
    lines = MAX_TABLE_LINES + min(complete, MAX_COMPLETE_LINES)
    return [*title, *print_tables(layout_families(families), width, lines)]


def _breakdown_lines(outcome: FormulationEnd) -> list[str]:
    """Return the objective by kind, and the use of limits; tables that are too long are left to the page."""
    assert outcome.result is not None
    parts, uses = break_down(outcome.result, outcome.shown)
    lines = []
    if parts:
        lines.append(f"objective by kind: {', '.join(f'{_short(part.name)} {figure(part.value)}' for part in parts)}")
    for table in uses:
        if len(table.rows) + table.omitted <= MAX_LIMITS:
            used = (f"{_short(row.label)} {figure(row.used)} of {figure(row.limit)}" for row in table.rows)
            lines.append(f"used of {_short(table.name)}: {', '.join(used)}")
    return [escape_text(line) for line in lines]


def _short(text: str) -> str:
    return one_line(text, 40)


def _question_lines(result: FormulationResult) -> list[str]:
    """Return open questions: sentences with two readings, and requirements left out."""
    lines = []
    for reading in result.readings:
        sentence, used, alternative = (one_line(reading[name], 120) for name in ("sentence", "used", "other"))
        second = describe_reading(reading)
        lines.append(f"two readings of: {sentence}")
        values = result.model_values
        if result.objective is None:
            lines.append(f"  {used} (used here); or {alternative}")
        elif has_same_optimum(reading, values):
            lines.append(f"  {used}; {alternative}: both {second}{describe_differences(reading)}")
        else:
            lines.append(f"  {used}: {describe_values(values)}; {alternative}: {second}{describe_differences(reading)}")
    for sentence, why in result.unmodelled:
        lines.append(f"not in the model: {one_line(sentence, 120)}{f' ({one_line(why, 80)})' if why else ''}")
    lines += [f"odd, says the model: {one_line(remark, 200)}" for remark in result.remarks]
    return [escape_text(line) for line in lines]


def describe_values(values: Sequence[float | None]) -> str:
    """Return the values of several aims, the most important first."""
    return ", then ".join("none" if value is None else figure(value) for value in values)


def describe_reading(reading: Mapping[str, Any]) -> str:
    """Return the values of the aims of a reading; its status without them."""
    if reading["objective"] is None:
        return str(reading["status"])
    return describe_values(reading.get("aims") or [reading["objective"]])


def describe_differences(reading: Mapping[str, Any]) -> str:
    """Describe how many decisions of the other reading differ."""
    changed = reading.get("changed")
    if changed is None:
        return ""
    if changed:
        return "; 1 decision differs" if len(changed) == 1 else f"; {len(changed)} decisions differ"
    return "; the same decisions"


def _attempt_lines(result: FormulationResult) -> list[str]:
    lines = []
    for attempt in result.attempts:
        lines.append(f"program {attempt['number'] + 1}: {_attempt_text(attempt)}")
        lines += [f"  {one_line(finding['text'], 600)}" for finding in (attempt["checks"] or {}).get("findings", [])]
    return [escape_text(line) for line in lines]


def _rule_lines(result: FormulationResult) -> Iterator[str]:
    """Yield the rules that one side lacks or that were not compared, and the number of those that hold."""
    rules = read_rules(result.checks)
    for rule in rules:
        if rule.outcome is not RuleOutcome.HOLDS:
            sentence = f" ({one_line(rule.sentence, 120)})" if rule.sentence else ""
            yield escape_text(f"rule {one_line(rule.name, 60)}{sentence}: {rule.text}")
    if rules:
        held = sum(rule.outcome is RuleOutcome.HOLDS for rule in rules)
        yield f"rules     {held} of {len(rules)} hold"


def _check_lines(result: FormulationResult) -> Iterator[str]:
    yield escape_text(f"checks    {_checks_text(result)}")
    tried = [trial for trial in result.metamorphic if trial["holds"] is not None]
    if tried:
        passed = sum(trial["holds"] for trial in tried)
        yield f"changed data: {passed} of {len(tried)} tests pass"
    elif result.metamorphic:
        yield escape_text(f"changed data: not tested: {one_line(result.metamorphic[0]['note'], 200)}")
    spent = result.spent
    yield f"spent     {spent.model_calls} calls, {spent.tokens:,} tokens, {format_money(spent.money, result.unpriced)}"


def _attempt_text(attempt: Mapping[str, Any]) -> str:
    end = attempt["verdict"] or attempt["status"]
    if attempt["objective"] is None:
        objective = ""
    else:
        objective = f", objective {describe_values(attempt.get('aims') or [attempt['objective']])}"
    leaves = _flatten_values(attempt["values"])
    values = ", ".join(f"{name} = {value}" for name, value in leaves) if len(leaves) <= MAX_VALUES else ""
    message = one_line(attempt["message"], 200)
    point = f" at {values}" if values and objective else ""
    return f"{end}{objective}{point}{f': {message}' if message else ''}"


def _checks_text(result: FormulationResult) -> str:
    if result.checks is None:
        return "unchecked"
    note = f" ({one_line(result.checks['note'], 200)})" if result.checks["note"] else ""
    sure = "; the model of the checks has the same optimum" if result.checks["confirmed"] else ""
    met, count = result.checks["met"], result.checks["count"]
    # The point is correct, but the model is not.
    if result.checks["state"] == CheckStatus.FAILED and met == count:
        reasons = dict.fromkeys(str(finding["reason"]) for finding in result.checks["findings"])
        return f"failed: {', '.join(reasons)}; the solution meets all {count} entries{note}"
    held = f": {met} of {count} hold" if count else ""
    return f"{result.checks['state']}{held}{sure}{note}"


def _flatten_values(values: Any, name: str = "") -> list[tuple[str, str]]:
    if isinstance(values, dict):
        return [
            leaf
            for key, item in values.items()
            for leaf in _flatten_values(item, f"{name}[{key}]" if name else str(key))
        ]
    if isinstance(values, list):
        return [leaf for index, item in enumerate(values) for leaf in _flatten_values(item, f"{name}[{index}]")]
    text = figure(values) if isinstance(values, int | float) and not isinstance(values, bool) else str(values)
    return [(name, text)]


def rerun_lines(rerun: Rerun) -> list[str]:
    """Return old and new objective, and the values that differ, side by side."""
    new = rerun.outcome.result
    assert new is not None
    before, after = (describe_values(result.model_values) or "none" for result in (rerun.old, new))
    lines = [f"objective: {before} before, {after} now"]
    for name, pair in list(rerun.changes.items())[:MAX_CHANGES]:
        old_text, new_text = ("-" if value is None else figure(value) for value in pair)
        lines.append(f"  {escape_text(one_line(name, 60))}: {old_text} before, {new_text} now")
    if len(rerun.changes) > MAX_CHANGES:
        lines.append(f"  and {len(rerun.changes) - MAX_CHANGES:,} more: changes.csv")
    return lines

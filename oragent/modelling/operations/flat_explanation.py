"""Explain a solution, or why there is no solution, in sentences without a language model."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import partial

from oragent._base.errors import ModellingError
from oragent.modelling.data.display import figure, number, plain, quoted, rounded, signed
from oragent.modelling.data.flat_model import INFINITY, Milp, Relation, Row, Sense, Variable
from oragent.modelling.data.solution import Sensitivity, Solution, SolveStatus, ValueRange
from oragent.modelling.operations.flat_conflicts import InfeasibleSubset, ModelPart, Nearest, Side, conflict, nearest
from oragent.modelling.operations.inverse_objectives import Marginal, Slope, marginal
from oragent.modelling.solving.back_ends.protocol import SolverOptions
from oragent.modelling.solving.flat_solving import ray

# Maximum number of terms of a row in a sentence.
TERMS = 6
# Maximum number of rows in a conflict for which the repair of a single row is computed.
ALONE = 20


class Topic(StrEnum):
    """Topic of a sentence."""

    STATUS = "status"
    BINDING = "binding rows"
    BOUND = "variables at a bound"
    SLACK = "rows with room"
    CONFLICT = "what cannot hold together"
    NEAREST = "right-hand sides that would do"
    RAY = "what grows without end"


@dataclass(frozen=True)
class ModelRemark:
    """One sentence."""

    topic: Topic
    # Name of the row or variable in the model; empty for the whole model.
    subject: str
    # Sentence with escaped names; not markup.
    text: str


# Maximum number of rows at a degenerate optimum for which one-sided slopes are computed.
KINKS = 10
WORDS = {Relation.AT_MOST: "at most", Relation.AT_LEAST: "at least", Relation.EQUAL: "exactly"}


def explain(
    milp: Milp,
    solution: Solution,
    limit_s: float = 60.0,
    *,
    solver: str = "highs",
    options: SolverOptions | None = None,
) -> tuple[ModelRemark, ...]:
    """Explain binding rows with their duals, slack, and why there is no optimum.

    Args:
        milp: The model.
        solution: Result of solving the model.
        limit_s: Seconds for explaining infeasibility.
        solver: Name of the back end for explaining infeasibility.
        options: Limits of one solve for explaining infeasibility.

    Returns:
        Sentences by topic. Binding rows with the largest duals come first.
    """
    headline = ModelRemark(Topic.STATUS, "", _status_text(milp, solution))
    if solution.status is SolveStatus.INFEASIBLE:
        return (headline, *explain_infeasible(milp, limit_s, solver, options))
    if solution.status is SolveStatus.UNBOUNDED:
        return (headline, *explain_unbounded(milp))
    if not solution.status.has_point:
        return (headline,)
    return (headline, *_row_remarks(milp, solution), *_bound_remarks(milp, solution))


def _status_text(milp: Milp, solution: Solution) -> str:
    if solution.status is SolveStatus.OPTIMAL:
        assert solution.objective is not None
        return f"Optimal: {figure(solution.objective)}{_unit_text(milp)}. No feasible point is better."
    if solution.status is SolveStatus.FEASIBLE:
        assert solution.objective is not None
        assert solution.bound is not None
        words = "smaller" if milp.sense is Sense.MINIMIZE else "larger"
        is_bounded = abs(solution.bound) < INFINITY
        reach = f"none can be {words} than {figure(solution.bound)}" if is_bounded else "no bound is known"
        return f"Feasible, not proven to be the best: {figure(solution.objective)}{_unit_text(milp)}; {reach}."
    return {
        SolveStatus.INFEASIBLE: "Infeasible: no point meets all rows and bounds.",
        SolveStatus.UNBOUNDED: "Unbounded: the objective improves without end.",
        SolveStatus.UNKNOWN: f"Unknown: {plain(solution.note, 200)}.",
    }[solution.status]


def _row_remarks(milp: Milp, solution: Solution) -> Iterator[ModelRemark]:
    binding = [row for row in milp.rows if solution.is_tight(row)]
    prices = solution.relaxation or solution.sensitivity
    binding.sort(key=lambda row: -abs(prices.duals[row.name]) if prices else 0.0)
    for index, row in enumerate(binding):
        text = f"{quoted(row.name)} binds ({WORDS[row.relation]} {figure(row.rhs)})"
        yield ModelRemark(Topic.BINDING, row.name, f"{text}{_worth_text(milp, solution, row, index < KINKS)}.")
    tight = {row.name for row in binding}
    for row in milp.rows:
        if row.name not in tight:
            room, activity = figure(solution.slacks[row.name]), figure(solution.activities[row.name])
            limit = f"{WORDS[row.relation]} {figure(row.rhs)}"
            text = f"{quoted(row.name)} has room: {activity}, {limit}, {room} to spare."
            yield ModelRemark(Topic.SLACK, row.name, text)


def _worth_text(milp: Milp, solution: Solution, row: Row, exact: bool) -> str:
    """Describe the effect of one more unit: both slopes for linear programmes, both sources for integer models."""
    if not milp.has_integers:
        if solution.sensitivity is None:
            return ""
        slopes = marginal(milp, solution, row.name) if exact else None
        return _slopes_text(milp, solution.sensitivity, row, slopes)
    parts = [
        f"with {source.source.removeprefix('the model with ')}, each unit more would change the objective by "
        f"{_change_text(milp, source.duals[row.name])}{_range_text(source.rhs_ranges[row.name])}"
        for source in (solution.sensitivity, solution.relaxation)
        if source is not None and source.duals[row.name]
    ]
    if parts:
        return f"; {'; '.join(parts)}"
    return "; by its duals, a little more or less of it changes nothing"


def _slopes_text(milp: Milp, prices: Sensitivity, row: Row, slopes: Marginal | None) -> str:
    if slopes is None or slopes.is_smooth:
        if slopes:
            low, high = (slopes.less, slopes.more)
        else:
            low, high = (None, None)
        rate = prices.duals[row.name]
        interval = ValueRange(low.until, high.until) if low and high else prices.rhs_ranges[row.name]
        return f": each unit more changes the objective by {_change_text(milp, rate)}{_range_text(interval)}"
    more = _slope_text(milp, slopes.more, 1.0, "more", "up to")
    return f": {more}; {_slope_text(milp, slopes.less, -1.0, 'less', 'down to')}"


def _slope_text(milp: Milp, slope: Slope | None, sign: float, word: str, reach: str) -> str:
    if slope is None:
        return f"with a little {word} of it there may be no optimum"
    until = f", {reach} {figure(slope.until)}" if abs(slope.until) < INFINITY else ""
    return f"each unit {word} changes the objective by {_change_text(milp, sign * slope.rate)}{until}"


def _bound_remarks(milp: Milp, solution: Solution) -> Iterator[ModelRemark]:
    """Describe variables at a bound; for integer models, those that are at the same bound in the relaxation."""
    prices = solution.relaxation or solution.sensitivity
    if prices is None:
        return
    at_bound = [
        variable
        for variable in milp.variables
        if prices.reduced_costs[variable.name] and variable.name in prices.bound_ranges
    ]
    for variable in sorted(at_bound, key=lambda variable: -abs(prices.reduced_costs[variable.name])):
        value, cost = solution.values[variable.name], prices.reduced_costs[variable.name]
        if value not in (variable.low, variable.high) or variable.low == variable.high:
            continue
        would = "With the integers relaxed, each" if milp.has_integers else "Each"
        change = f"{_change_text(milp, cost)}{_range_text(prices.bound_ranges[variable.name])}"
        text = f"{_value_text(variable, value)}. {would} unit more of it would change the objective by {change}."
        yield ModelRemark(Topic.BOUND, variable.name, text + _entry_text(milp, variable, prices))


def _value_text(variable: Variable, value: float) -> str:
    unit = f" {plain(variable.unit, 20)}" if variable.unit else ""
    if value == variable.low == 0.0:
        return f"{quoted(variable.name)} is not used"
    side = "least" if value == variable.low else "largest"
    return f"{quoted(variable.name)} stands at its {side} value, {figure(value)}{unit}"


def _entry_text(milp: Milp, variable: Variable, prices: Sensitivity) -> str:
    """Describe the objective coefficient at which a variable would leave its bound."""
    now = milp.objective.terms.get(variable.name, 0.0)
    interval = prices.cost_ranges[variable.name]
    ends = [end for end in (interval.low, interval.high) if abs(end) < INFINITY]
    if len(ends) != 1:
        return ""
    return f" It would move if its coefficient in the objective went from {figure(now)} beyond {figure(ends[0])}."


def _change_text(milp: Milp, amount: float) -> str:
    if abs(amount) < 1e-9:
        return "nothing"
    better = milp.sense.sign * amount < 0
    return f"{signed(amount, figure)}{_unit_text(milp)} ({'better' if better else 'worse'})"


def _range_text(interval: ValueRange) -> str:
    low, high = interval.low, interval.high
    if low == -INFINITY and high == INFINITY:
        return ""
    if low == -INFINITY:
        return f", up to {figure(high)}"
    if high == INFINITY:
        return f", from {figure(low)} on"
    return f", from {figure(low)} to {figure(high)}"


def _unit_text(milp: Milp) -> str:
    if milp.objective.unit:
        return f" {plain(milp.objective.unit, 40)}"
    return ""


def explain_infeasible(
    milp: Milp, limit_s: float, solver: str = "highs", options: SolverOptions | None = None
) -> Iterator[ModelRemark]:
    """Describe the conflicting rows and bounds, and the right-hand sides that make the model feasible.

    The limit in seconds applies to the conflict and to each computation after it.
    """
    try:
        subset = conflict(milp, limit_s, solver=solver, options=options)
    except ModellingError as problem:
        yield ModelRemark(Topic.CONFLICT, "", f"Which parts cannot hold together was not found: {problem}.")
        return
    sure = "without any one of them the rest can" if subset.irreducible else "one of them may be too many"
    cannot = "This cannot hold" if len(subset.parts) == 1 else f"These {len(subset.parts)} cannot hold together"
    whole = ", with whole numbers where they are asked for" if milp.has_integers else ""
    yield ModelRemark(Topic.CONFLICT, "", f"{cannot}{whole}; {sure}.")
    for part in subset.parts:
        yield ModelRemark(Topic.CONFLICT, part.name, _part_text(milp, part))
    find_nearest = partial(nearest, milp, limit_s=limit_s, solver=solver, options=options)
    yield from _repair_remarks(milp, subset, find_nearest)


def explain_unbounded(milp: Milp) -> Iterator[ModelRemark]:
    """Describe the variables that grow without bound, and how the objective improves."""
    direction = ray(milp)
    if direction is None:
        return
    gain = sum(milp.objective.terms.get(name, 0.0) * step for name, step in direction.items())
    steps = ", ".join(f"{quoted(name)} {signed(step)}" for name, step in direction.items())
    text = f"For ever in these proportions: {steps}; each time the objective changes by {signed(gain)}."
    yield ModelRemark(Topic.RAY, "", text)
    for name in direction:
        text = f"No row or bound stops {quoted(name)} on that way: is a limit on it missing?"
        yield ModelRemark(Topic.RAY, name, text)


def _part_text(milp: Milp, part: ModelPart) -> str:
    if part.side is Side.FEATURE:
        return f"{plain(part.name)}."
    if part.side is not Side.ROW:
        variable = milp.variable(part.name)
        least, at_most = f"at least {number(variable.low)}", f"at most {number(variable.high)}"
        return f"{quoted(part.name)} is {least if part.side is Side.LOW else at_most}."
    row = milp.row(part.name)
    few = list(row.terms.items())[:TERMS]
    terms = " ".join(f"{'-' if value < 0 else '+'} {number(abs(value))} {quoted(name)}" for name, value in few)
    more = f" and {len(row.terms) - TERMS} terms more" if len(row.terms) > TERMS else ""
    return f"{quoted(part.name)}: {terms.removeprefix('+ ') or '0'}{more} {row.relation} {number(row.rhs)}."


def _repair_remarks(
    milp: Milp, subset: InfeasibleSubset, find_nearest: Callable[..., Nearest]
) -> Iterator[ModelRemark]:
    near = find_nearest()
    if near.status is SolveStatus.INFEASIBLE:
        rest = "bounds and parts" if milp.features else "bounds"
        text = f"No change of right-hand sides would do: the {rest} leave no point."
        yield ModelRemark(Topic.NEAREST, "", text)
        return
    if near.total is not None:
        proven = "The least total change" if near.status is SolveStatus.OPTIMAL else "A change, perhaps not the least,"
        total = f"{proven} of right-hand sides that would do: {rounded(near.total)} in all."
        yield ModelRemark(Topic.NEAREST, "", total)
        for name, value in near.needed.items():
            needed = f"{quoted(name)} would have to be {milp.row(name).relation} {rounded(value)}"
            yield ModelRemark(Topic.NEAREST, name, f"{needed}, not {number(milp.row(name).rhs)}.")
    if len(subset.rows) < 2:
        return
    for name in subset.rows[:ALONE]:
        alone = find_nearest(rows=[name])
        if name in alone.needed:
            text = f"Alone, {quoted(name)} would have to be {milp.row(name).relation} {rounded(alone.needed[name])}."
        elif alone.status is SolveStatus.INFEASIBLE:
            text = f"Alone, no right-hand side of {quoted(name)} would do."
        else:
            continue
        yield ModelRemark(Topic.NEAREST, name, text)

"""What a solution means, in sentences, without any language model."""

from collections.abc import Iterator

from oragent.milp.marginals import Marginal, Slope, marginal
from oragent.milp.model import Milp, Relation, Row, Sense, Variable
from oragent.milp.plain import number, plain, quoted, rounded, signed
from oragent.milp.remark import ModelRemark, Topic
from oragent.milp.solution import Sensitivity, Solution, SolveStatus, ValueRange
from oragent.milp.wellformed import INFINITY
from oragent.milp.why_not import infeasible, unbounded

BINDS = 1e-6  # slack, over the larger of 1 and the right-hand side's size, up to which a row binds
KINKS = 10  # rows of a degenerate optimum that are solved again for their slopes to either side
WORDS = {Relation.AT_MOST: "at most", Relation.AT_LEAST: "at least", Relation.EQUAL: "exactly"}


def explain(milp: Milp, solution: Solution, limit_s: float = 60.0) -> tuple[ModelRemark, ...]:
    """Say which rows bind and what one unit more is worth, what has room, or why there is no optimum.

    Args:
        milp: The model.
        solution: What solving it came to.
        limit_s: Seconds for finding out why a model is infeasible.

    Returns:
        Sentences by topic; binding rows with the largest duals first.
    """
    headline = ModelRemark(Topic.STATUS, "", _headline(milp, solution))
    if solution.status is SolveStatus.INFEASIBLE:
        return (headline, *infeasible(milp, limit_s))
    if solution.status is SolveStatus.UNBOUNDED:
        return (headline, *unbounded(milp))
    if not solution.status.has_point:
        return (headline,)
    return (headline, *_rows(milp, solution), *_bounds(milp, solution))


def _headline(milp: Milp, solution: Solution) -> str:
    if solution.status is SolveStatus.OPTIMAL:
        assert solution.objective is not None
        return f"Optimal: {rounded(solution.objective)}{_unit(milp)}. No feasible point is better."
    if solution.status is SolveStatus.FEASIBLE:
        assert solution.objective is not None
        assert solution.bound is not None
        words = "smaller" if milp.sense is Sense.MINIMIZE else "larger"
        reach = (
            f"none can be {words} than {rounded(solution.bound)}"
            if abs(solution.bound) < INFINITY
            else "no bound is known"
        )
        return f"Feasible, not proven to be the best: {rounded(solution.objective)}{_unit(milp)}; {reach}."
    return {
        SolveStatus.INFEASIBLE: "Infeasible: no point meets all rows and bounds.",
        SolveStatus.UNBOUNDED: "Unbounded: the objective improves without end.",
        SolveStatus.UNKNOWN: f"Unknown: {plain(solution.note, 200)}.",
    }[solution.status]


def _rows(milp: Milp, solution: Solution) -> Iterator[ModelRemark]:
    binding = [row for row in milp.rows if solution.slacks[row.name] <= BINDS * max(1.0, abs(row.rhs))]
    prices = solution.relaxation or solution.sensitivity
    binding.sort(key=lambda row: -abs(prices.duals[row.name]) if prices else 0.0)
    for place, row in enumerate(binding):
        yield ModelRemark(Topic.BINDING, row.name, f"{_binds(row)}{_worth(milp, solution, row, place < KINKS)}.")
    tight = {row.name for row in binding}
    for row in milp.rows:
        if row.name not in tight:
            yield ModelRemark(Topic.SLACK, row.name, _slack(row, solution))


def _binds(row: Row) -> str:
    return f"{quoted(row.name)} binds ({WORDS[row.relation]} {number(row.rhs)})"


def _worth(milp: Milp, solution: Solution, row: Row, exact: bool) -> str:
    """What a unit more is worth: of linear programmes to both sides, of integer ones by the two sources named."""
    if not milp.has_integers:
        if solution.sensitivity is None:
            return ""
        slopes = marginal(milp, solution, row.name) if exact else None
        return _slopes(milp, solution.sensitivity, row, slopes)
    parts = [
        f"with {source.source.removeprefix('the model with ')}, each unit more would change the objective by "
        f"{_change(milp, source.duals[row.name])}{_between(source.rhs_ranges[row.name])}"
        for source in (solution.sensitivity, solution.relaxation)
        if source is not None and source.duals[row.name]
    ]
    return f"; {'; '.join(parts)}" if parts else "; by its duals, a little more or less of it changes nothing"


def _slopes(milp: Milp, prices: Sensitivity, row: Row, slopes: Marginal | None) -> str:
    if slopes is None or slopes.is_smooth:
        low, high = (slopes.less, slopes.more) if slopes else (None, None)
        rate = prices.duals[row.name]
        interval = ValueRange(low.until, high.until) if low and high else prices.rhs_ranges[row.name]
        return f": each unit more changes the objective by {_change(milp, rate)}{_between(interval)}"
    more, less = _side(milp, slopes.more, 1.0, "more", "up to"), _side(milp, slopes.less, -1.0, "less", "down to")
    return f": {more}; {less}"


def _side(milp: Milp, slope: Slope | None, sign: float, word: str, reach: str) -> str:
    if slope is None:
        return f"with a little {word} of it there may be no optimum"
    until = f", {reach} {rounded(slope.until)}" if abs(slope.until) < INFINITY else ""
    return f"each unit {word} changes the objective by {_change(milp, sign * slope.rate)}{until}"


def _slack(row: Row, solution: Solution) -> str:
    room, activity = solution.slacks[row.name], solution.activities[row.name]
    limit = f"{WORDS[row.relation]} {number(row.rhs)}"
    return f"{quoted(row.name)} has room: {rounded(activity)}, {limit}, {rounded(room)} to spare."


def _bounds(milp: Milp, solution: Solution) -> Iterator[ModelRemark]:
    """Variables at a bound; of integer models by the relaxation, where they stand at the same bound in it."""
    prices = solution.relaxation or solution.sensitivity
    if prices is None:
        return
    at_bound = [one for one in milp.variables if prices.reduced_costs[one.name] and one.name in prices.bound_ranges]
    for variable in sorted(at_bound, key=lambda one: -abs(prices.reduced_costs[one.name])):
        value, cost = solution.values[variable.name], prices.reduced_costs[variable.name]
        if value not in (variable.low, variable.high) or variable.low == variable.high:
            continue
        would = "With the integers relaxed, each" if milp.has_integers else "Each"
        yield ModelRemark(
            Topic.BOUND,
            variable.name,
            f"{_stands(variable, value)}. {would} unit more of it would change the objective by {_change(milp, cost)}"
            f"{_between(prices.bound_ranges[variable.name])}.{_until_used(milp, variable, prices)}",
        )


def _stands(variable: Variable, value: float) -> str:
    unit = f" {plain(variable.unit, 20)}" if variable.unit else ""
    if value == variable.low == 0.0:
        return f"{quoted(variable.name)} is not used"
    side = "least" if value == variable.low else "largest"
    return f"{quoted(variable.name)} stands at its {side} value, {number(value)}{unit}"


def _until_used(milp: Milp, variable: Variable, prices: Sensitivity) -> str:
    """The objective coefficient at which a variable would leave its bound."""
    now = milp.objective.terms.get(variable.name, 0.0)
    interval = prices.cost_ranges[variable.name]
    ends = [end for end in (interval.low, interval.high) if abs(end) < INFINITY]
    if len(ends) != 1:
        return ""
    return f" It would move if its coefficient in the objective went from {number(now)} beyond {rounded(ends[0])}."


def _change(milp: Milp, amount: float) -> str:
    if abs(amount) < 1e-9:
        return "nothing"
    better = milp.sense.sign * amount < 0
    return f"{signed(amount)}{_unit(milp)} ({'better' if better else 'worse'})"


def _between(interval: ValueRange) -> str:
    low, high = interval.low, interval.high
    if low == -INFINITY and high == INFINITY:
        return ""
    if low == -INFINITY:
        return f", up to {rounded(high)}"
    if high == INFINITY:
        return f", from {rounded(low)} on"
    return f", from {rounded(low)} to {rounded(high)}"


def _unit(milp: Milp) -> str:
    return f" {plain(milp.objective.unit, 40)}" if milp.objective.unit else ""

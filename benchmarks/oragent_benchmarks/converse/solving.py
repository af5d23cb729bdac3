"""Solve states with a cache, explain infeasible states, and compute trade-offs."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.model_records import Objective, Row
from oragent.modelling.data.model_values import Relation, Sense
from oragent.modelling.data.solution import SolveStatus
from oragent.modelling.solving.model_solving import solve
from oragent_benchmarks.converse.decision import (
    DecisionProblem,
    Extremes,
    Goal,
    Solved,
)
from oragent_benchmarks.converse.state import Restriction, RestrictionKind, RestrictionState

# Relative loss of the first objective that the second objective may cause.
KEPT = 1e-7
# Maximum number of rows in a list of the current model.
MAX_LISTED = 30
# Maximum number of cached solutions; the oldest are removed first.
MAX_KEPT = 20_000


def begin(problem: DecisionProblem) -> RestrictionState:
    """Return the initial state of a conversation: every objective has weight 1, and there are no restrictions."""
    others = len(problem.expressions) - problem.goals
    return RestrictionState((1.0,) * problem.goals + (0.0,) * others)


def build_model(problem: DecisionProblem, state: RestrictionState) -> IndexedModel:
    """Build the model of a state: base model, rows of each restriction, weighted objective."""
    rows = [row for restriction in state.restrictions for row in _restriction_rows(problem, restriction)]
    weighted = [(weight, goal) for weight, goal in zip(state.weights, problem.expressions, strict=True) if weight]
    model = problem.base.with_records(
        rows=(*problem.base.row_records, *rows), objective=_weighted_cost(weighted), sense=Sense.MINIMIZE
    )
    return replace(model, name=problem.name)


def by_milp(problem: DecisionProblem, state: RestrictionState, limit_s: float | None = None) -> Solved:
    """Solve a state with HiGHS; objectives of weight 0 are optimised second, so that they have no slack."""
    first = build_model(problem, state)
    solution = solve(first, limit_s, duals=False)
    if not solution.status.has_point:
        return Solved(solution.status)
    assert solution.objective is not None
    values, gap = solution.values, solution.gap or 0.0
    unweighted = [
        (1.0, goal)
        for goal, weight in zip(problem.expressions[: problem.goals], state.weights, strict=False)
        if not weight
    ]
    if unweighted and solution.status is SolveStatus.OPTIMAL:
        room = KEPT * max(1.0, abs(solution.objective))
        second = _keep_objective(first, solution.objective, room).with_records(objective=_weighted_cost(unweighted))
        again = solve(second, limit_s, duals=False)
        if again.status.has_point:
            values = again.values
    return Solved(solution.status, problem.decision(values), 0.0 if solution.status is SolveStatus.OPTIMAL else gap)


def _keep_objective(milp: IndexedModel, optimum: float, room: float) -> IndexedModel:
    """Return the model with a row that keeps its objective at an optimum, or within a tolerance of it."""
    if not milp.objective_record.terms:
        return milp
    is_least = milp.sense is Sense.MINIMIZE
    row = Row(
        "first objective",
        milp.objective_record.terms,
        Relation.AT_MOST if is_least else Relation.AT_LEAST,
        optimum - milp.objective_record.constant + (room if is_least else -room),
    )
    return milp.with_records(rows=(*milp.row_records, row))


def find_extreme(
    problem: DecisionProblem, state: RestrictionState, position: int, sense: Sense, limit_s: float | None = None
) -> Solved:
    """Find the smallest or largest value of an expression, and the best decision of the state with that value."""
    goal, in_force_model = problem.expressions[position], build_model(problem, state)
    milp = in_force_model.with_records(objective=Objective(goal.terms, goal.constant), sense=sense)
    solution = solve(milp, limit_s, duals=False)
    if not solution.status.has_point:
        return Solved(solution.status)
    values = solution.values
    weighted = [index for index, weight in enumerate(state.weights) if weight]
    if solution.status is SolveStatus.OPTIMAL and weighted not in ([], [position]):
        assert solution.objective is not None
        for room in (0.0, KEPT * max(1.0, abs(solution.objective))):
            constraint = _keep_objective(milp, solution.objective, room)
            second = solve(
                constraint.with_records(objective=in_force_model.objective_record, sense=in_force_model.sense),
                limit_s,
                duals=False,
            )
            if second.status.has_point:
                values = second.values
                break
    return Solved(solution.status, problem.decision(values), solution.gap or 0.0)


def _weighted_cost(weighted: Iterable[tuple[float, Goal]]) -> Objective:
    terms: dict[str, float] = {}
    constant = 0.0
    for weight, goal in weighted:
        sign = weight * goal.sense.sign
        constant += sign * goal.constant
        for name, value in goal.terms.items():
            terms[name] = terms.get(name, 0.0) + sign * value
    return Objective(terms, constant)


def _restriction_rows(problem: DecisionProblem, restriction: Restriction) -> tuple[Row, ...]:
    if restriction.kind is not RestrictionKind.BOUND:
        return problem.rows(restriction.subject, restriction.option, restriction.kind is RestrictionKind.FORBID)
    goal = next(goal for goal in problem.expressions if goal.name == restriction.subject)
    relation = Relation.AT_MOST if restriction.upper else Relation.AT_LEAST
    return (Row(restriction.name, goal.terms, relation, restriction.limit / goal.scale - goal.constant),)


@dataclass
class StateSolver:
    """Solves the states of one problem with a cache; several conversations may share it."""

    problem: DecisionProblem
    _known: dict[RestrictionState, Solved] = field(default_factory=dict, repr=False)

    def __call__(self, state: RestrictionState) -> Solved:
        """Solve a state."""
        bare = replace(state, before=None)
        if bare not in self._known:
            while len(self._known) >= MAX_KEPT:
                self._known.pop(next(iter(self._known)), None)
            self._known[bare] = self.problem.solve(bare)
        return self._known[bare]

    def least(self, state: RestrictionState, position: int) -> Solved:
        """Return the best value of one expression in a state, without its own bound."""
        name = self.problem.expressions[position].name
        alone = tuple(float(index == position) for index in range(len(state.weights)))
        restrictions = tuple(
            restriction
            for restriction in state.restrictions
            if not (restriction.kind is RestrictionKind.BOUND and restriction.subject == name)
        )
        return self(replace(state, weights=alone, restrictions=restrictions))

    def extreme(self, state: RestrictionState, position: int, sense: Sense) -> Solved | None:
        """Return the smallest or largest value of one expression in a state; None if it cannot be computed."""
        problem = self.problem
        if problem.expressions[position].sense is sense:
            return self(replace(state, weights=tuple(float(index == position) for index in range(len(state.weights)))))
        if isinstance(problem, Extremes):
            return problem.extreme(state, position, sense)
        return None

    def feasible(self, state: RestrictionState, restrictions: Iterable[Restriction]) -> bool | None:
        """Return whether a decision satisfies the restrictions; None if this was not decided."""
        free = (0.0,) * len(state.weights)
        solved = self(replace(state, weights=free, restrictions=tuple(restrictions)))
        if solved.status is SolveStatus.UNKNOWN:
            return None
        return solved.status.has_point


@dataclass(frozen=True)
class Clash:
    """Explanation of an infeasible state.

    Attributes:
        parts: Irreducible set of restrictions that cannot hold together.
        nearest: Value that each bound of the set would need, with the other restrictions; None if no value is feasible.
        instead: Value that the first bound would need with another option of a fixed item, by item and
            option; infeasible options are omitted.
    """

    parts: tuple[Restriction, ...]
    nearest: Mapping[Restriction, float | None] = field(default_factory=dict)
    instead: Mapping[tuple[str, str], float] = field(default_factory=dict)


def clash(solver: StateSolver, state: RestrictionState) -> Clash | None:
    """Explain why a state is infeasible, by removing restrictions in turn; return None if it is feasible.

    The set is irreducible: every restriction in it was shown to be needed (deletion filter, Chinneck &
    Dravnieks 1991, doi:10.1287/ijoc.3.2.157).
    """
    if solver.feasible(state, state.restrictions) is not False:
        return None
    needed = list(state.restrictions)
    for restriction in state.restrictions:
        fewer = [remaining for remaining in needed if remaining != restriction]
        if solver.feasible(state, fewer) is False:
            needed = fewer
    bounds = [restriction for restriction in needed if restriction.kind is RestrictionKind.BOUND]
    nearest = {restriction: _nearest_value(solver, state.without(restriction), restriction) for restriction in bounds}
    instead = dict(_other_options(solver, state, needed, bounds[0])) if bounds else {}
    return Clash(tuple(needed), nearest, instead)


def _nearest_value(solver: StateSolver, state: RestrictionState, bound: Restriction) -> float | None:
    """Return the minimum of an expression with an upper bound, or the maximum of one with a lower bound."""
    position = [goal.name for goal in solver.problem.expressions].index(bound.subject)
    solved = solver.extreme(state, position, Sense.MINIMIZE if bound.upper else Sense.MAXIMIZE)
    if solved is None or solved.status is not SolveStatus.OPTIMAL or not solved.decision:
        return None
    return solver.problem.features(solved.decision)[position]


def _other_options(
    solver: StateSolver, state: RestrictionState, parts: list[Restriction], bound: Restriction
) -> Iterable[tuple[tuple[str, str], float]]:
    for part in parts:
        if part.kind is RestrictionKind.FIX:
            for option in solver.problem.options(part.subject):
                if option != part.option:
                    moved = state.without(bound).without(part).adding(replace(part, option=option))
                    value = _nearest_value(solver, moved, bound)
                    if value is not None:
                        yield (part.subject, option), value


def in_force(problem: DecisionProblem, state: RestrictionState) -> str:
    """Return the current model in the form of tool results."""
    lines = [f"Objective: {_describe_direction(problem, state)}", "Constraints in force:"]
    lines += [f"- {name} (cannot be removed)" for name in problem.protected[:MAX_LISTED]]
    more = len(problem.protected) - MAX_LISTED
    if more > 0:
        lines += [f"- and {more} more rows of the model"]
    lines += [
        f"- {restriction.name}: {describe_restriction(problem, restriction)}" for restriction in state.restrictions
    ]
    return "\n".join(lines)


def _describe_direction(problem: DecisionProblem, state: RestrictionState) -> str:
    """Return the direction: maximise if larger values are better for every objective with a weight."""
    weighed = [(weight, goal) for weight, goal in zip(state.weights, problem.expressions, strict=True) if weight]
    up = bool(weighed) and all(goal.sense is Sense.MAXIMIZE for _, goal in weighed)
    text = ""
    for weight, goal in weighed:
        minus = not up and goal.sense is Sense.MAXIMIZE
        unit = goal.model_unit or goal.unit
        sign = "-" if minus else "+"
        if text:
            text += f" {sign} "
        elif minus:
            text = sign
        text += f"{weight:g} x {goal.name}{f' ({unit})' if unit else ''}"
    return f"{'maximise' if up else 'minimise'} {text or 'nothing'}"


def describe_restriction(problem: DecisionProblem, restriction: Restriction) -> str:
    """Describe a restriction; bounds are in units of the model."""
    if restriction.kind is not RestrictionKind.BOUND:
        preposition = "not at" if restriction.kind is RestrictionKind.FORBID else "at"
        return f"{restriction.subject} {preposition} {restriction.option}"
    goal = next(goal for goal in problem.expressions if goal.name == restriction.subject)
    return f"{goal.name} {restriction.relation} {restriction.value / goal.scale:.10g} {goal.model_unit or goal.unit}"

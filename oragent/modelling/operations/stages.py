"""Objectives that are optimised one after the other, each among the optima of those before it."""

from dataclasses import dataclass, replace

import numpy as np

from oragent._base.errors import ModellingError
from oragent.modelling.data.arrays import Arrays, Vector
from oragent.modelling.data.features import QuadraticRow
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.model_values import Relation, Sense
from oragent.modelling.data.objectives import IndexedObjective, effective_weights
from oragent.modelling.data.solution import SolveStatus
from oragent.modelling.data.tolerances import scale_of
from oragent.modelling.operations.outcomes import Outcome, OutcomePool, ScenarioModel, SolveLimits, with_row
from oragent.modelling.operations.results import Figure, ObjectiveValue, StageOptimum

# Relative tolerance for a fixed objective, so that its point stays feasible despite rounding.
ROOM = 1e-9
SOFT = "the model has soft rows, whose prices belong to its objective: drop them to ask for another objective"


@dataclass(frozen=True, eq=False)
class StageOutcome:
    """Knowledge about the optimum of one stage."""

    objective: IndexedObjective
    # Status under the limits of earlier stages; not proven if one of these is not.
    status: SolveStatus
    # Optimum under the limits of earlier stages.
    optimum: Figure
    # ``(n,)`` best known point, or None.
    point: Vector | None


def solve_stages(
    pool: OutcomePool,
    model: IndexedModel,
    first: ScenarioModel,
    limits: SolveLimits,
    solved: dict[tuple[float, ...], ScenarioModel],
) -> tuple[StageOutcome, ...]:
    """Solve the stages of a model in order, until one has no point.

    If an optimum is not proven, the objective is fixed at the best known point, which relaxes the next stage. The bound
    of that stage still holds, but its best point proves nothing. After two such stages nothing is proven.

    Args:
        pool: Points and models of the study.
        model: The model.
        first: Its arrays with the first objective.
        limits: Limits of each solve.
        solved: Later stages solved before, by the limits on the objectives. New ones are added.
    """
    outcome = pool.solve(first, limits)
    goal = model.stages[0]
    stages = [StageOutcome(goal, outcome.status, _optimum(goal, outcome), outcome.point)]
    held: list[tuple[Arrays, float]] = []
    # Number of stages since the last one that is proven together with all before it; 0 if all are proven.
    unproven = 0
    solved_stage = first
    for after in model.stages[1:]:
        best = solved_stage.outcome.objective
        if best is None:
            return tuple(stages)
        if unproven or solved_stage.outcome.status is not SolveStatus.OPTIMAL:
            unproven += 2 if goal.slack > 1 else 1
        held.append((solved_stage.arrays, best + solved_stage.arrays.sense.sign * goal.allowance(best)))
        arrays = model.to_arrays(after)
        for by, limit in held:
            arrays = limit_objective(arrays, by, limit)
        goal, solved_stage = after, solved.setdefault(tuple(limit for _, limit in held), ScenarioModel(arrays))
        outcome = pool.solve(solved_stage, limits)
        status, optimum = outcome.status, _optimum(goal, outcome)
        if unproven:
            status = SolveStatus.UNKNOWN if outcome.point is None else SolveStatus.FEASIBLE
            # The end of the interval that comes from the point.
            open_end = "high" if arrays.sense is Sense.MINIMIZE else "low"
            open_ends = [open_end] if unproven == 1 else ["low", "high"]
            optimum = optimum.model_copy(update=dict.fromkeys(open_ends))
        stages.append(StageOutcome(goal, status, optimum, outcome.point))
    return tuple(stages)


def _optimum(goal: IndexedObjective, outcome: Outcome) -> Figure:
    return Figure.between(outcome.objective, *outcome.span(), unit=goal.unit)


def stage_optima(stages: tuple[StageOutcome, ...]) -> tuple[StageOptimum, ...]:
    """Return the optima of several stages; empty for a single one."""
    if len(stages) == 1:
        return ()
    return tuple(
        StageOptimum(
            name=stage.objective.name,
            sense=str(stage.objective.sense),
            status=str(stage.status),
            optimum=stage.optimum,
            within=100 * stage.objective.slack,
            within_amount=stage.objective.slack_amount,
        )
        for stage in stages
    )


def objective_values(model: IndexedModel, point: Vector | None) -> tuple[ObjectiveValue, ...]:
    """Return the values of all objectives at a point; empty for a model with a single objective."""
    if len(model.objectives) == 1 or point is None:
        return ()
    return tuple(
        ObjectiveValue(
            name=goal.name,
            sense=str(goal.sense),
            stage=stage,
            weight=weight,
            value=Figure.exact(model.to_arrays(goal).objective_at(point), goal.unit),
        )
        for goal, stage, weight in ranked_objectives(model)
    )


def ranked_objectives(model: IndexedModel) -> list[tuple[IndexedObjective, int, float]]:
    """Return each objective with its stage from 1 on and its weight, both 0 for objectives that are not optimised."""
    pairs = list(zip(model.objectives, effective_weights(model.objectives), strict=True))
    order = sorted({goal.priority for goal, weight in pairs if weight}, reverse=True)
    return [(goal, order.index(goal.priority) + 1 if weight else 0, weight) for goal, weight in pairs]


def limit_objective(arrays: Arrays, by: Arrays, limit: float) -> Arrays:
    """Return a model in which another objective is at least as good as a given value."""
    room = ROOM * scale_of(limit)
    if by.features.soft_rows:
        raise ModellingError(SOFT)
    if by.features.quadratic:
        return _with_quadratic_limit(arrays, by, limit + by.sense.sign * room)
    if by.sense is Sense.MINIMIZE:
        return with_row(arrays, by.cost, -np.inf, limit - by.constant + room)
    return with_row(arrays, by.cost, limit - by.constant - room, np.inf)


def _with_quadratic_limit(arrays: Arrays, by: Arrays, limit: float) -> Arrays:
    terms = {column: float(by.cost[column]) for column in np.flatnonzero(by.cost).tolist()}
    relation = Relation.AT_MOST if by.sense is Sense.MINIMIZE else Relation.AT_LEAST
    rows = arrays.features.quadratic_rows
    name = f"limit {len(rows) + 1} of an objective"
    row = QuadraticRow(name, terms, by.features.quadratic, relation, limit - by.constant)
    return replace(arrays, features=replace(arrays.features, quadratic_rows=(*rows, row)))

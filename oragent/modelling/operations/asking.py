"""Operations that solve: optimum, trials, prices, sweeps, extremes, alternatives, frontiers, comparisons."""

from dataclasses import replace
from importlib import import_module

import numpy as np

from oragent._base.errors import ModellingError
from oragent.modelling.data.arrays import FEASIBLE, Arrays, Vector
from oragent.modelling.data.display import number, quoted
from oragent.modelling.data.features import QuadraticTerm
from oragent.modelling.data.model_values import Sense
from oragent.modelling.data.solution import SolveStatus
from oragent.modelling.data.tolerances import scale_of, scales_of
from oragent.modelling.operations import requests as ops
from oragent.modelling.operations.expressions import evaluate_expression
from oragent.modelling.operations.outcomes import Outcome, ScenarioModel, with_row
from oragent.modelling.operations.results import (
    AlternativePlan,
    AlternativesResult,
    CompareResult,
    ConflictFamily,
    ExtremeResult,
    Figure,
    FrontierEntry,
    FrontierResult,
    GroupTotal,
    MemberFigures,
    Moved,
    PriceResult,
    SolveResult,
    SweepFigures,
    SweepPoint,
)
from oragent.modelling.operations.rows import SHOWN_ROWS, binding_rows, price_members, row_members
from oragent.modelling.operations.slices import ALL_KINDS, find_objective, find_slice, fold
from oragent.modelling.operations.stages import SOFT, limit_objective, objective_values, stage_optima
from oragent.modelling.operations.state import (
    SAME,
    Changes,
    ModelScenario,
    ModelStudy,
    continue_options,
    difference,
    is_decided,
    lines_of,
    moved,
    objective_change,
    part_changes,
    solved,
    stage_changes,
)
from oragent.modelling.solving.certificate import is_proven_exactly
from oragent.modelling.solving.optimal_face import is_same, optimal_points

# Maximum number of figures in one sweep.
MAX_FIGURES = 200
# Two points differ if their relative distance exceeds this.
APART = 1e-4
# Maximum number of members that the search for other optima tries one by one.
MAX_DIRECTIONS = 50


def solve(study: ModelStudy, request: ops.SolveRequest) -> SolveResult:
    """Solve the present scenario. The group of a family has its total and the number of nonzero members."""
    scenario = study.present
    outcome = study.solve(scenario)
    stages = study.stages(scenario)
    point = study.last_point(scenario)
    goal, objective = scenario.model.objective, study.optimum(scenario)
    if len(stages) > 1 and point is not None and (goal.slack or goal.slack_amount):
        # Later objectives may have used what this one may give up.
        objective = Figure.exact(scenario.model.to_arrays(goal).objective_at(point), goal.unit)
    return solved(
        study,
        scenario,
        SolveResult(
            objective=objective,
            accuracy=_accuracy(scenario),
            gap=_gap(outcome),
            stages=stage_optima(stages),
            objectives=objective_values(scenario.model, point),
            families=_used_families(scenario, point),
            warnings=study.warn(scenario),
        ),
    )


def _accuracy(scenario: ModelScenario) -> str:
    outcome = scenario.known.outcome
    if outcome.status is not SolveStatus.OPTIMAL or outcome.point is None:
        return ""
    arrays = scenario.known.arrays
    is_exact = is_proven_exactly(arrays, outcome.point, outcome.row_duals, outcome.bound)
    return "exact" if is_exact else f"within {FEASIBLE:g}"


def _gap(outcome: Outcome) -> float | None:
    if outcome.objective is None or outcome.bound is None:
        return None
    if outcome.status is SolveStatus.OPTIMAL:
        return 0.0
    return abs(outcome.objective - outcome.bound) / scale_of(outcome.objective)


def _used_families(scenario: ModelScenario, point: Vector | None) -> tuple[GroupTotal, ...]:
    if point is None:
        return ()
    return tuple(
        GroupTotal(
            label=family.name,
            total=Figure.exact(float(point[family.positions].sum()), family.unit),
            members=int((np.abs(point[family.positions]) > SAME).sum()),
        )
        for family in scenario.model.variables
    )


def whatif(study: ModelStudy, request: ops.WhatIfRequest) -> CompareResult:
    """Solve with changes and compare. ``keep`` then makes the changes permanent."""
    return _try(study, tuple(request.changes))


def whynot(study: ModelStudy, request: ops.WhyNotRequest) -> CompareResult:
    """Solve with a change that the solution does not fulfil, and compare."""
    return _try(study, (request.change,))


def _try(study: ModelStudy, changes: Changes) -> CompareResult:
    after = study.scenario((*study.changes, *changes))
    study.trial = after.changes
    return _compare(study, study.present, after)


def compare(study: ModelStudy, request: ops.CompareScenariosRequest) -> CompareResult:
    """Compare two kept scenarios, one of which may be ``base``."""
    before, after = (study.scenario(study.named(name)) for name in (request.first, request.second))
    return _compare(study, before, after)


def _compare(study: ModelStudy, before: ModelScenario, after: ModelScenario) -> CompareResult:
    # Of several optima, one near the plan before is found.
    study.solve(after, study.basis_near(before, after))
    change = objective_change(study, before, after)
    first, second = before.known.outcome, after.known.outcome
    old, new = study.last_point(before), study.last_point(after)
    warnings = list(dict.fromkeys((*study.warn(before), *study.warn(after))))
    before_goal, goal = before.model.objective, after.model.objective
    if (before_goal.name, before_goal.sense) != (goal.name, goal.sense):
        warnings.append("the two have different objectives, so the difference means nothing")
    decided = is_decided(change.difference) or SolveStatus.INFEASIBLE in (first.status, second.status)
    conflict: tuple[ConflictFamily, ...] = ()
    if second.status is SolveStatus.INFEASIBLE:
        # Few changes make a model infeasible.
        conflicting = import_module("oragent.modelling.operations.conflicting")
        conflict = conflicting.conflict_of_trial(after, study.limits)
    moves: tuple[Moved, ...] = ()
    if old is not None and new is not None:
        moves = moved(after.model, old, new)
    newly, no_longer = _changed_rows(study, before, old, after, new)
    start = after.changes[: len(before.changes)] == before.changes
    result = CompareResult(
        objective=change,
        status_before=str(first.status),
        status_after=str(second.status),
        decided=decided,
        continue_with="" if decided or old is None or new is None else continue_options(study.limits),
        stages=stage_changes(study, before, after),
        objectives=part_changes(before.model, old, after.model, new),
        moved=moves,
        newly_binding=newly,
        no_longer_binding=no_longer,
        changes=lines_of(after.changes[len(before.changes) :] if start else after.changes),
        conflict=conflict,
        warnings=tuple(warnings),
    )
    return solved(study, after, result).model_copy(update={"scenario": study.label(before.changes)})


def _changed_rows(
    study: ModelStudy, before: ModelScenario, first: Vector | None, after: ModelScenario, second: Vector | None
) -> tuple[tuple[MemberFigures, ...], tuple[MemberFigures, ...]]:
    """Return rows that bind only at the second point, and rows of both models that bind only at the first."""
    if first is None or second is None:
        return (), ()
    binds = binding_rows(after, second)
    # Position of each row in the model before, or -1.
    earlier = np.arange(len(binds))
    if before.model.rows is not after.model.rows:
        positions = {name: position for position, name in enumerate(before.model.row_names)}
        earlier = np.array([positions.get(name, -1) for name in after.model.row_names], np.int64)
    bound = np.append(binding_rows(before, first), False)[earlier]

    def figures(chosen: np.ndarray) -> tuple[MemberFigures, ...]:
        pairs = [
            (family, place)
            for family in after.model.rows
            for place in np.flatnonzero(chosen[family.positions])[:SHOWN_ROWS].tolist()
        ]
        return row_members(study, after, pairs[:SHOWN_ROWS], second)

    return figures(binds & ~bound), figures(bound & ~binds)


def price(study: ModelStudy, request: ops.PriceRequest) -> PriceResult:
    """Solve again with each figure one step larger and one step smaller; for variables, with their bounds."""
    model = study.present.model
    # A name of rows or data that variables have too means the rows or data.
    priced = {fold(family.name) for family in (*model.rows, *model.parameters)}
    kinds = ["rows", "parameters"] if fold(request.reference.name) in priced else list(ALL_KINDS)
    chosen = find_slice(model, request.reference, kinds if request.reference.kind is None else ALL_KINDS)
    # A price is a difference of optima, so an optimum must exist.
    study.point(study.present)
    members = price_members(study, chosen, request.step)
    return solved(study, study.present, PriceResult(step=request.step, members=members))


def sweep(study: ModelStudy, request: ops.SweepRequest) -> SweepFigures:
    """Solve for several figures. The state does not change."""
    if len(request.numbers) > MAX_FIGURES:
        raise ModellingError(f"{len(request.numbers)} figures; expected at most {MAX_FIGURES}")
    present = study.present
    scenarios = []
    for figure in request.numbers:
        change = ops.AssignChange(target=request.target, operator="=", number=figure)
        scenarios.append((figure, study.scenario((*study.changes, change))))
    for _, after in scenarios:
        study.solve(after, study.basis_near(present, after))
    points = []
    for figure, after in scenarios:
        study.pool.refresh(present.known)
        study.pool.refresh(after.known)
        status, optimum = str(after.known.outcome.status), study.optimum(after)
        points.append(
            SweepPoint(figure=figure, status=status, objective=optimum, difference=difference(present, after))
        )
    return solved(study, present, SweepFigures(points=tuple(points), warnings=study.warn(present)))


def _solve_arrays(study: ModelStudy, arrays: Arrays) -> Outcome:
    return study.pool.solve(ScenarioModel(arrays), study.limits)


def extreme(study: ModelStudy, request: ops.ExtremeRequest) -> ExtremeResult:
    """Find the most or the least of an expression while the objective stays within a distance of its optimum."""
    scenario = study.present
    model, arrays = scenario.model, scenario.known.arrays
    terms = evaluate_expression(model, request.expression)
    if terms.sets or not terms.has_variables:
        raise ModellingError("most and least take one figure of variables: write sums without 'by'")
    coefficients, constant = terms.as_cost(model.shape[1])
    cost = coefficients.evaluate(model.cells)
    sense = Sense.MAXIMIZE if request.direction == "most" else Sense.MINIMIZE
    goal = _with_objective(arrays, cost, constant, sense)
    limits = _objective_limits(study, scenario, request)
    allowed = [goal if limit is None else limit_objective(goal, arrays, limit) for limit in limits]
    known = ScenarioModel(allowed[0])
    outcome = study.pool.solve(known, study.limits)
    if outcome.point is None and outcome.status is not SolveStatus.UNBOUNDED:
        raise ModellingError(f"the {request.direction} is not known ({outcome.status}): allow a longer solve")
    low, high = outcome.span()
    if limits[1] != limits[0]:
        # If the optimum is not proven, the distance counts from any figure up to its bound.
        tight = Outcome(SolveStatus.UNKNOWN) if limits[1] is None else _solve_arrays(study, allowed[1])
        ends = tight.span()
        low, high = (ends[0], high) if request.direction == "most" else (low, ends[1])
    units = {family.unit for family in model.variables if cost[family.positions].any()}
    at_point = Figure(unit=model.objective.unit)
    if outcome.point is not None:
        at_point = Figure.exact(arrays.worth_at(outcome.point), model.objective.unit)
    result = ExtremeResult(
        figure=Figure.between(outcome.objective, low, high, unit=units.pop() if len(units) == 1 else ""),
        objective=at_point,
        optimum=study.optimum(scenario),
        warnings=study.warn(scenario),
    )
    return solved(study, replace(scenario, known=known), result)


def _objective_limits(
    study: ModelStudy, scenario: ModelScenario, request: ops.ExtremeRequest
) -> tuple[float | None, float | None]:
    """Return the worst allowed objective, counted from the best known point and from the bound of the optimum."""
    if request.within is None:
        return None, None
    study.point(scenario)
    outcome, sign = scenario.known.outcome, scenario.known.arrays.sense.sign
    share = request.within / 100 if request.percent else request.within
    if not share >= 0:
        raise ModellingError(f"within {number(request.within)}: expected a number from 0 on")

    def limit(optimum: float) -> float:
        return optimum + sign * (abs(optimum) * share if request.percent else share)

    assert outcome.objective is not None
    from_point = limit(outcome.objective)
    if outcome.status is SolveStatus.OPTIMAL:
        return from_point, from_point
    return from_point, None if outcome.bound is None else limit(outcome.bound)


def alternatives(study: ModelStudy, request: ops.AlternativesRequest) -> AlternativesResult:
    """Find the best solutions that differ in binary variables, or without such variables, other optima.

    For models without binary variables, the search may not find all optima.
    """
    scenario = study.present
    first = study.point(scenario)
    arrays = scenario.known.arrays
    binary = arrays.integer & (arrays.low >= 0) & (arrays.high <= 1)
    points, complete, proven = [first], False, True
    current = arrays
    while len(points) < request.count + 1:
        if binary.any():
            current = _without_point(current, binary, points[-1])
            outcome = _solve_arrays(study, current)
            point = outcome.point
            complete = point is None and outcome.status is SolveStatus.INFEASIBLE
            proven = proven and outcome.status is not SolveStatus.FEASIBLE
        else:
            point = _other_optimum(study, scenario.known, points)
        if point is None:
            break
        points.append(point)
    unit = scenario.model.objective.unit
    best = arrays.worth_at(first)
    solutions = []
    for point in points[1:]:
        worth = arrays.worth_at(point)
        solutions.append(
            AlternativePlan(
                objective=Figure.exact(worth, unit),
                difference=Figure.exact(worth - best, unit),
                moved=moved(scenario.model, first, point),
            )
        )
    return solved(
        study,
        scenario,
        AlternativesResult(
            solutions=tuple(solutions),
            complete=complete,
            warnings=study.warn(scenario) + (() if proven else ("better ones may exist: a limit ended a solve",)),
        ),
    )


def _without_point(arrays: Arrays, binary: np.ndarray, point: Vector) -> Arrays:
    """Return the model without the points that have these values of all binary variables."""
    ones = binary & (point > 0.5)
    signs = np.where(ones, -1.0, np.where(binary, 1.0, 0.0))
    return with_row(arrays, signs, 1.0 - float(ones.sum()), np.inf)


def _other_optimum(study: ModelStudy, known: ScenarioModel, points: list[Vector]) -> Vector | None:
    """Return an optimum that differs from all points: some members are as small, others as large as possible."""
    arrays, outcome = known.arrays, known.outcome
    if arrays.integer.any():
        face = limit_objective(arrays, arrays, arrays.worth_at(points[0]))
    elif outcome.row_duals is None or outcome.status is not SolveStatus.OPTIMAL:
        return None
    else:
        face = optimal_points(arrays, outcome.row_duals)
    mean = np.mean(points, axis=0)
    is_used = mean > SAME
    unused = np.flatnonzero(~is_used & (face.low < face.high))[:MAX_DIRECTIONS]
    directions = [
        (is_used, Sense.MINIMIZE),
        (~is_used, Sense.MAXIMIZE),
        *((np.arange(len(mean)) == column, Sense.MAXIMIZE) for column in unused),
    ]
    for chosen, sense in directions:
        optimum = _solve_arrays(study, _with_objective(face, chosen.astype(float), face.constant, sense))
        if optimum.point is None or arrays.largest_violation(optimum.point) > FEASIBLE:
            continue
        if all((np.abs(optimum.point - point) > APART * scales_of(point)).any() for point in points):
            return optimum.point
    return None


def frontier(study: ModelStudy, request: ops.FrontierRequest) -> FrontierResult:
    """Trade one objective for another. The first is optimised under limits of the second, then the second."""
    scenario = study.present
    first, second = (find_objective(scenario.model, name) for name in (request.first, request.second))
    if first is second:
        raise ModellingError(f"frontier of {quoted(first.name)} with itself: name two objectives")
    first_row, second_row = scenario.model.to_arrays(first), scenario.model.to_arrays(second)
    first_end = _lexicographic(study, first_row, second_row)
    second_end = _lexicographic(study, second_row, first_row)
    worst, best = (second_row.worth_at(point) for point, _, _ in (first_end, second_end))
    middle = [
        _lexicographic(study, limit_objective(first_row, second_row, float(limit)), second_row)
        for limit in np.linspace(worst, best, request.count)[1:-1]
    ]
    entries: list[FrontierEntry] = []
    for point, proven, _ in (first_end, *middle, second_end):
        figures = [
            Figure.exact(arrays.worth_at(point), goal.unit)
            for arrays, goal in ((first_row, first), (second_row, second))
        ]
        entry = FrontierEntry(first=figures[0], second=figures[1], proven=proven)
        if all(not _is_same(entry, other) for other in entries):
            entries.append(entry)
    return FrontierResult(
        scenario=study.label(study.changes),
        solver=first_end[2],
        limits=study.limits,
        first=first.name,
        second=second.name,
        points=tuple(entries),
    )


def _is_same(first: FrontierEntry, second: FrontierEntry) -> bool:
    pairs = ((first.first, second.first), (first.second, second.second))
    return all(is_same(one.value or 0.0, other.value or 0.0) for one, other in pairs)


def _with_objective(
    arrays: Arrays, cost: Vector, constant: float, sense: Sense, quadratic: tuple[QuadraticTerm[int], ...] = ()
) -> Arrays:
    """Return the model with another objective."""
    if arrays.features.soft_rows:
        raise ModellingError(SOFT)
    features = replace(arrays.features, quadratic=quadratic)
    return replace(arrays, cost=cost, constant=constant, sense=sense, features=features)


def _lexicographic(study: ModelStudy, first: Arrays, second: Arrays) -> tuple[Vector, bool, str]:
    """Return the point that is best in one objective, then in another, whether both are proven, and the solver."""
    outcome = _solve_arrays(study, first)
    if outcome.point is None or outcome.objective is None:
        raise ModellingError(f"no frontier: one of its solves is {outcome.status}; solve each objective alone first")
    base = _with_objective(first, second.cost, second.constant, second.sense, second.features.quadratic)
    again = _solve_arrays(study, limit_objective(base, first, outcome.objective))
    proven = outcome.status is SolveStatus.OPTIMAL and again.status is SolveStatus.OPTIMAL
    if again.point is None:
        return outcome.point, False, outcome.solver
    return again.point, proven, outcome.solver

"""Effects of changed limits on the objective, other optimal plans, and shortages of infeasible models.

Duals hold only for infinitesimal changes, and not for integer models. Therefore each group of binding limits is relaxed
by 1 and by 10 percent, and the model is solved again. A limit of whole numbers also binds if no further one fits.
"""

import itertools
import re
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from oragent.formulate.aims import staged_objectives
from oragent.formulate.model_class import solve_model
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.model_records import Objective, Row, Variable
from oragent.modelling.data.model_values import Relation, Sense
from oragent.modelling.data.solution import Solution, SolveStatus
from oragent.modelling.solving.infeasibility import find_nearest

PERCENTS = (1, 10)
MAX_GROUPS = 12
# Seconds of all solves together, and of one solve.
TOTAL_S, EACH_S = 20.0, 4.0
# Tolerance for equal objectives, relative to max(1, |objective|).
SAME = 1e-7
# Tolerance for different values, relative to max(1, |value|).
DIFFERENT = 1e-4
# Change of a decision of another plan, relative to the largest decision.
CLEAR = 1e-2
# Range of the weights of decisions in the search for another plan, and the seed by which they are drawn.
WEIGHTS, SEED = (1.0, 2.0), 0
# Matches the name of a row up to its first index.
FAMILY = re.compile(r"[^\W\d_]+(?:_[^\W\d_]+)*?(?=[\[(_ \d]|$)|.+")


@dataclass(frozen=True)
class LimitEffect:
    """Effect of one group of limits on the objective.

    Attributes:
        name: Name of the row, or common prefix of the rows.
        sentence: Sentence of the problem; may be empty.
        rows: Number of rows.
        limits: Original right-hand sides.
        relation: ``<=`` or ``>=``.
        changes: Change of an aim by percent of relaxation; percentages that were not solved are missing.
        aim: Position of the aim, which is the most important one that changes; 0 is the most important aim of all.
    """

    name: str
    sentence: str
    rows: int
    limits: tuple[float, ...]
    relation: str
    changes: Mapping[int, float]
    aim: int = 0

    @property
    def size(self) -> float:
        """Largest absolute change of the aim."""
        return max(map(abs, self.changes.values()))


@dataclass(frozen=True)
class Shortage:
    """A row that an infeasible model cannot satisfy: required and possible right-hand side."""

    name: str
    sentence: str
    relation: str
    wanted: float
    possible: float


@dataclass(frozen=True)
class IncompletePlan:
    """The plan of an infeasible model with the least total shortage.

    Attributes:
        solution: Best solution with that shortage; None if it was not found in time.
        is_least: Whether the total is proven to be the least.
    """

    shortages: tuple[Shortage, ...]
    solution: Solution | None
    is_least: bool


def measure_effects(milp: IndexedModel, solution: Solution, total_s: float = TOTAL_S) -> tuple[LimitEffect, ...]:
    """Relax each group of binding limits and solve again.

    Args:
        milp: The model; the meaning of a row is its sentence in the problem.
        solution: Proven optimum; other solutions have no effects.
        total_s: Wall-clock seconds; groups that are not solved in time are omitted.

    Returns:
        Effects by aim and decreasing size. Groups without an effect are omitted.
    """
    if solution.status is not SolveStatus.OPTIMAL:
        return ()
    deadline = time.monotonic() + total_s
    objectives = staged_objectives(milp)
    before = [objective.at(solution.values) for objective in objectives]
    effects = []
    for (name, relation), rows in list(_group_rows(milp, solution).items())[:MAX_GROUPS]:
        # Changes of each aim by percent, for which more important aims stay the same.
        changes: dict[int, dict[int, float]] = {}
        for percent in PERCENTS:
            seconds = min(EACH_S, deadline - time.monotonic())
            if seconds <= 0:
                break
            solved = solve_model(_loosen(milp, rows, percent / 100), seconds)
            if solved.status is SolveStatus.OPTIMAL:
                steps = [objective.at(solved.values) - old for objective, old in zip(objectives, before, strict=True)]
                changed = (aim for aim, step in enumerate(steps) if abs(step) > SAME * max(1.0, abs(before[aim])))
                aim = next(changed, len(steps) - 1)
                changes.setdefault(aim, {})[percent] = steps[aim]
        limits = tuple(row.rhs for row in rows)
        for aim, steps_of_aim in changes.items():
            effect = LimitEffect(name, rows[0].meaning, len(rows), limits, str(relation), steps_of_aim, aim)
            if effect.size > SAME * max(1.0, abs(before[aim])):
                effects.append(effect)
    return tuple(sorted(effects, key=lambda effect: (effect.aim, -effect.size)))


def plan_with_shortages(milp: IndexedModel) -> IncompletePlan | None:
    """Find the least total shortage of an infeasible model, and the best plan with it.

    Returns:
        None if the bounds alone are infeasible, no plan was found in time, or the model is not linear.
    """
    single = _without_goals(milp)
    if not single.is_purely_linear:
        return None
    near = find_nearest(single.to_staged_arrays(), limit_s=TOTAL_S)
    if not near.needed:
        return None
    shortages = tuple(
        Shortage(row.name, row.meaning, str(row.relation), row.rhs, near.needed[place])
        for place, row in enumerate(milp.row_records)
        if place in near.needed
    )
    rows = tuple(replace(row, rhs=near.needed.get(place, row.rhs)) for place, row in enumerate(milp.row_records))
    solved = solve_model(milp.with_records(rows=rows), TOTAL_S)
    return IncompletePlan(shortages, solved if solved.status.has_point else None, near.status is SolveStatus.OPTIMAL)


def find_alternative(milp: IndexedModel, solution: Solution, names: Collection[str]) -> Mapping[str, float]:
    """Find another optimal plan.

    The objective is fixed at its optimum, and the distance of the decisions from the plan is maximised. A decision at a
    bound can only move away from it. Decisions between bounds get generic weights, once with each sign.

    Args:
        milp: The model.
        solution: Proven optimum of a linear model; for others there is no search.
        names: Variables that are decisions; other variables are ignored.

    Returns:
        Values of the other plan by variable, for decisions that differ; empty if no plan was found.
    """
    single = _without_goals(milp)
    decisions = [variable for variable in milp.variable_records if variable.name in names]
    if solution.status is not SolveStatus.OPTIMAL or not single.is_purely_linear or not decisions:
        return {}
    rows = (*milp.row_records, *_optimum_rows(milp, solution))
    rng = np.random.default_rng(SEED)
    weights = {variable.name: float(rng.uniform(*WEIGHTS)) for variable in decisions}
    # Smaller changes may come from the tolerance of the objective.
    least = CLEAR * max(abs(solution.values[name]) for name in weights)
    for direction in (1.0, -1.0):
        terms = {
            variable.name: weights[variable.name] * _side(variable, solution.values[variable.name], direction)
            for variable in decisions
        }
        alternative = solve_model(
            single.with_records(rows=rows, objective=Objective(terms), sense=Sense.MAXIMIZE), EACH_S
        )
        if not alternative.status.has_point:
            continue
        changed = {key: value for key, value in alternative.values.items() if key in weights}
        changed = {key: value for key, value in changed.items() if _differs(value, solution.values[key])}
        if any(abs(value - solution.values[key]) > least for key, value in changed.items()):
            return changed
    return {}


def _without_goals(milp: IndexedModel) -> IndexedModel:
    return milp.with_records(features=replace(milp.named_features, goals=()))


def _optimum_rows(milp: IndexedModel, solution: Solution) -> list[Row]:
    """Return rows that hold each aim at its value."""
    taken = set(milp.flat_row_names)
    rows = []
    for objective in staged_objectives(milp):
        value = objective.at(solution.values)
        name = next(name for name in (f"optimum {number}" for number in itertools.count()) if name not in taken)
        taken.add(name)
        rows.append(objective.hold(name, value, SAME * max(1.0, abs(value))))
    return rows


def _side(variable: Variable, value: float, direction: float) -> float:
    """Return 1 for a decision that can only increase, -1 for one that can only decrease, else the direction."""
    if not _differs(value, variable.low):
        return 1.0
    if not _differs(value, variable.high):
        return -1.0
    return direction


def _differs(value: float, reference: float) -> bool:
    # The reference may be infinite.
    return abs(value - reference) > DIFFERENT * max(1.0, abs(value))


def _group_rows(milp: IndexedModel, solution: Solution) -> dict[tuple[str, Relation], list[Row]]:
    """Group binding inequalities by sentence, or by the common prefix of their names."""
    groups: dict[tuple[str, Relation], list[Row]] = {}
    variables = {variable.name: variable for variable in milp.variable_records}
    binaries = {name for name, variable in variables.items() if variable.is_within_binary}
    limits = [row for row in milp.row_records if row.relation is not Relation.EQUAL and row.rhs]
    # The number of groups is limited, so those with a limit that leaves nothing come first.
    for row in sorted(limits, key=lambda row: not solution.is_tight(row)):
        if not solution.is_tight(row) and _has_room(row, solution, variables):
            continue
        if not row.meaning and _is_switched(row, binaries):
            continue
        key = row.meaning or _family_name(row)
        groups.setdefault((key, row.relation), []).append(row)
    return {
        ((rows[0].name if len(rows) == 1 else _family_name(rows[0])), relation): rows
        for (_, relation), rows in groups.items()
    }


def _has_room(row: Row, solution: Solution, variables: Mapping[str, Variable]) -> bool:
    """Return True if a further whole unit of a variable fits into what is left of a limit, or if it has none."""
    sign = 1.0 if row.relation is Relation.AT_MOST else -1.0
    steps = []
    for name, value in row.terms.items():
        variable, at = variables[name], solution.values[name]
        can_move = at < variable.high if sign * value > 0 else at > variable.low
        if can_move and variable.is_integer:
            steps.append(abs(value))
    # The tolerance is that of the slack.
    return not steps or min(steps) <= solution.slacks[row.name] + SAME * max(1.0, abs(row.rhs))


def _is_switched(row: Row, binaries: Collection[str]) -> bool:
    """Return True for a row that a binary variable switches off, whose right-hand side is a constant of the model."""
    switches = [abs(value) for name, value in row.terms.items() if name in binaries]
    return 0 < len(switches) < len(row.terms) and max(switches) >= abs(row.rhs)


def _family_name(row: Row) -> str:
    name = FAMILY.match(row.name)
    return name[0] if name else row.name


def _loosen(milp: IndexedModel, rows: Sequence[Row], share: float) -> IndexedModel:
    names = {row.name for row in rows}
    loosened = []
    for row in milp.row_records:
        step = share * abs(row.rhs) if row.name in names else 0.0
        loosened.append(replace(row, rhs=row.rhs + step if row.relation is Relation.AT_MOST else row.rhs - step))
    return milp.with_records(rows=tuple(loosened))

"""Requests to set, scale, relax or drop a part of a person's own model, and what a change makes of the solution."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from math import isfinite

from oragent._base.errors import ConfigError
from oragent.converse.decision import DecisionProblem, Goal, Solved, figure, unknown
from oragent.converse.optional_protocols import Editable
from oragent.converse.solving import StateSolver, problem_in_force
from oragent.converse.state import Restriction, RestrictionState
from oragent.milp.changes import ChangedPart, ModelChange, current_part, limits_in_words
from oragent.milp.solution import SolveStatus
from oragent.milp.wellformed import INFINITY
from oragent.report.pages.text import one_line

LONGEST = 60  # characters of a name in a message
MOST_CHANGES = 20  # changed values in one line


class Verb(StrEnum):
    """What is done to a part of the model."""

    SET = "set"
    SCALE = "scale"
    RELAX = "relax"
    DROP = "drop"


@dataclass(frozen=True)
class ChangeRequest:
    """A request to change a part of the model.

    Attributes:
        verb: What is done.
        part: Name of a row, a variable or an objective.
        variable: Variable whose coefficient in ``part`` is meant; empty where its limits are meant.
        relation: ``<=``, ``>=`` or ``=`` of the new limit; empty: the one that the part has.
        value: New value, factor, or amount by which a limit gives way; 0 for ``drop``.
        percent: Whether the amount of ``relax`` is in percent of the limit.
    """

    verb: Verb
    part: str
    variable: str = ""
    relation: str = ""
    value: float = 0.0
    percent: bool = False


def with_change(
    problem: DecisionProblem, state: RestrictionState, request: ChangeRequest
) -> tuple[RestrictionState, str]:
    """Return the state with a change, and the change in words, such as ``carpentry <= 40 -> <= 50``.

    Raises:
        ConfigError: The problem cannot be changed, a name is unknown or has two readings, or the value cannot be had.
    """
    if not isinstance(problem, Editable):
        raise ConfigError(f"the model of {problem.name} cannot be changed: its data are those of the published problem")
    target = _target(problem, request)
    original = _original(problem, target)
    before = next((change for change in state.changes if change.target == target.target), original)
    change = _changed_coefficient(before, request) if target.is_coefficient else _changed_limits(before, request)
    if target.part is ChangedPart.VARIABLE:
        variable = problem.original.variable(target.subject)
        if variable.is_binary and not (change.low >= 0 and change.high <= 1):
            raise ConfigError(
                f"{_short(target.subject)} is a decision between 0 and 1; its bounds must stay within 0 and 1"
            )
    return state.changing(change, original), change_in_words(before, change)


def change_in_words(before: ModelChange, after: ModelChange) -> str:
    """A change as one line: the part, its old and its new value."""
    if before == after:
        return f"{_short(before.name)} is {before.words} already"
    return f"{_short(before.name)} {before.words} → {after.words}"


def _target(problem: Editable, request: ChangeRequest) -> ModelChange:
    """The part of the model that a request means, without a new value."""
    milp, objectives = problem.original, [goal.name for goal in _goals(problem)]
    rows, variables = [row.name for row in milp.rows], [variable.name for variable in milp.variables]
    if request.variable:
        variable = named(request.variable, variables, "variable")
        subject = named(request.part, [*objectives, *rows], "row or objective")
        part = ChangedPart.COST if subject in objectives else ChangedPart.COEFFICIENT
        return ModelChange(part, subject, variable, 0.0, 0.0)
    subject = named(request.part, [*rows, *variables, *objectives], "row, variable or objective")
    if subject in rows and subject in variables:
        raise ConfigError(f"{_short(subject)} is a row and a variable; expected a name that only one has")
    if subject in objectives:
        raise ConfigError(f"{_short(subject)} is an objective, name the coefficient too, such as: "
                          f"{request.verb} {_short(subject)} {_short(variables[0])} 5")  # fmt: skip
    return ModelChange(ChangedPart.ROW if subject in rows else ChangedPart.VARIABLE, subject)


def _goals(problem: object) -> tuple[Goal, ...]:
    goals: tuple[Goal, ...] = problem.expressions[: problem.goals]  # type: ignore[attr-defined]
    return goals


def named(text: str, names: list[str], what: str) -> str:
    """The one name that a text means, whatever its capitals, quotes, spaces and underscores.

    Raises:
        ConfigError: It means none, or several.
    """
    said = text.strip().strip("'\"`")
    if said in names:
        return said
    near = list(dict.fromkeys(name for name in names if _plain(name) == _plain(said)))
    if len(near) > 1:
        raise ConfigError(
            f"{_short(said)!r} can mean {' or '.join(map(_short, near))}; expected one of them as written"
        )
    if not near:
        raise unknown(said, names, what)
    return near[0]


def _plain(name: str) -> str:
    return " ".join(name.casefold().replace("_", " ").split())


def _original(problem: Editable, target: ModelChange) -> ModelChange:
    """The part as the model came with it; of a coefficient of an objective, as the objective has it."""
    if target.part is not ChangedPart.COST:
        return current_part(problem.original, (), target)
    unchanged = problem.changed(())
    value = next(goal for goal in _goals(unchanged) if goal.name == target.subject).terms.get(target.variable, 0.0)
    return replace(target, low=value, high=value)


def _changed_coefficient(before: ModelChange, request: ChangeRequest) -> ModelChange:
    if request.relation:
        raise ConfigError(f"a coefficient has no limit; expected such as: set {_short(before.subject)} "
                          f"{_short(before.variable)} {figure(request.value)}")  # fmt: skip
    if request.verb is Verb.RELAX:
        raise ConfigError(f"a coefficient cannot be relaxed; expected set, scale or drop of {_short(before.name)}")
    value = {Verb.SET: request.value, Verb.SCALE: before.low * request.value, Verb.DROP: 0.0}[request.verb]
    return replace(before, low=value, high=value)


def _changed_limits(before: ModelChange, request: ChangeRequest) -> ModelChange:
    name, value = _short(before.subject), request.value
    if request.verb is Verb.DROP:
        if before.part is ChangedPart.VARIABLE:
            if not isfinite(before.high):
                raise ConfigError(f"the variable {name} has no largest value to drop; it is {before.words}")
            return replace(before, high=INFINITY)
        return replace(before, low=-INFINITY, high=INFINITY)
    if request.verb is Verb.SET:
        return _set_limits(before, request)
    low, high = before.low, before.high
    if not isfinite(low) and not isfinite(high):
        raise ConfigError(f"{name} has no limit; expected such as: set {name} <= 50")
    by_share = request.verb is Verb.SCALE or request.percent
    if by_share and not any(limit for limit in (low, high) if isfinite(limit)):
        raise ConfigError(
            f"the limit of {name} is 0, which no factor changes; name a coefficient, such as 'scale {name} VARIABLE "
            f"1.1', or give a number: 'set {name} NUMBER'"
        )
    if request.verb is Verb.SCALE:
        low, high = (limit * value if isfinite(limit) else limit for limit in (low, high))
        return replace(before, low=min(low, high), high=max(low, high)) if value >= 0 else _no_factor(name, value)
    if value < 0:
        raise ConfigError(f"relax needs an amount above 0, not {figure(value)}; 'set {name} NUMBER' makes it tighter")
    if before.part is ChangedPart.VARIABLE and isfinite(high):
        return replace(before, high=high + _amount(high, request))  # its least value is mostly 0 and means it
    return replace(before, low=low - _amount(low, request), high=high + _amount(high, request))


def _no_factor(name: str, value: float) -> ModelChange:
    raise ConfigError(f"the limit of {name} cannot be scaled by {figure(value)}; expected a factor of 0 or more")


def _amount(limit: float, request: ChangeRequest) -> float:
    if not isfinite(limit):
        return 0.0
    return abs(limit) * request.value / 100 if request.percent else request.value


def _set_limits(before: ModelChange, request: ChangeRequest) -> ModelChange:
    name, value, relation = _short(before.subject), request.value, request.relation
    if before.part is ChangedPart.VARIABLE:
        if relation == "=":
            return replace(before, low=value, high=value)
        if not relation:
            raise ConfigError(f"{name} is a variable: 'set {name} <= {figure(value)}' sets its largest value, "
                              f"'fix {name} {figure(value)}' fixes it")  # fmt: skip
        low, high = (before.low, value) if relation == "<=" else (value, before.high)
        if low > high:
            raise ConfigError(f"{name} is {before.words}; {relation} {figure(value)} would leave no value")
        return replace(before, low=low, high=high)
    if not relation:
        if isfinite(before.low) and isfinite(before.high) and before.low != before.high:
            raise ConfigError(f"{name} is {before.words}; expected a relation: set {name} <= {figure(value)}")
        if not isfinite(before.low) and not isfinite(before.high):
            raise ConfigError(f"{name} has no limit now; expected a relation: set {name} <= {figure(value)}")
    low = value if relation in (">=", "=") or (not relation and isfinite(before.low)) else -INFINITY
    high = value if relation in ("<=", "=") or (not relation and isfinite(before.high)) else INFINITY
    return replace(before, low=low, high=high)


def own_limit(problem: DecisionProblem, name: str, upper: bool) -> float | None:
    """The model's own limit of an expression on one side, natural units; None where it has none."""
    limits = problem.limits(name) if isinstance(problem, Editable) else None
    limit = None if limits is None else limits[1] if upper else limits[0]
    return limit if limit is not None and isfinite(limit) else None


def loose_bound(problem: DecisionProblem, bound: Restriction) -> str:
    """What to say of a bound that the model's own limit makes superfluous; empty where it is none."""
    limit = own_limit(problem, bound.subject, bound.upper)
    if limit is None or (bound.limit < limit if bound.upper else bound.limit > limit):
        return ""
    assert isinstance(problem, Editable)
    row = any(row.name == bound.subject for row in problem.original.rows)
    low, high = problem.limits(bound.subject) or (limit, limit)
    name, limits = _short(bound.subject), limits_in_words(low, high, figure)
    what = "row" if row else "variable"
    if bound.value == limit:
        return f"the model's own {what} {name} is {limits} already; this bound changes nothing"
    relation = "" if row and "to" not in limits else f"{'<=' if bound.upper else '>='} "
    return (f"the model's own {what} {name} is {limits}; your bound {figure(bound.value)} changes nothing; "
            f"did you mean 'set {name} {relation}{figure(bound.value)}'?")  # fmt: skip


def compared(solver: StateSolver, before: RestrictionState, after: RestrictionState) -> str:
    """What a change does: the objectives before and after, and which decisions differ."""
    old, new = solver(before), solver(after)
    problem = problem_in_force(solver.problem, after)
    was = objectives_in_words(problem_in_force(solver.problem, before), old)
    line = f"before: {was}; after: {objectives_in_words(problem, new)}"
    if not (old.decision and new.decision):
        return line
    changes = list(decision_changes(problem, old.decision, new.decision))
    more = f" and {len(changes) - MOST_CHANGES} more" if len(changes) > MOST_CHANGES else ""
    return f"{line}; changed: {', '.join(changes[:MOST_CHANGES])}{more}" if changes else f"{line}; no decision changed"


def objectives_in_words(problem: DecisionProblem, found: Solved) -> str:
    """The objectives of a decision in one line, or why there is none."""
    if not found.decision:
        return str(found.status)
    values = problem.features(found.decision)
    parts = [f"{goal.word} {figure(value)}"
             for goal, value in zip(problem.expressions[: problem.goals], values, strict=False)]  # fmt: skip
    gap = [] if found.status is SolveStatus.OPTIMAL else [f"gap {100 * found.gap:.2g} %"]
    return ", ".join([*parts, *gap])


def decision_changes(problem: DecisionProblem, before: str, after: str) -> Iterator[str]:
    """Items whose option differs between two decisions, each as ``ITEM OLD -> NEW``."""
    old, new = problem.chosen(before), problem.chosen(after)
    brief = problem.vocabulary.brief
    for item, option in new.items():
        if old[item] != option:
            yield f"{problem.short(item)} {brief(old[item])} → {brief(option)}"


def _short(name: str) -> str:
    return one_line(name, LONGEST)

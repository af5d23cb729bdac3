"""Requests to set, scale, relax or drop a part of a person's own model, and what a change makes of the solution."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from math import isfinite

from oragent._base.errors import ConfigError
from oragent._base.text_format import join_some, one_line
from oragent.converse.decision import DecisionProblem, Editable, Goal, Solved, format_figure, unknown_name_error
from oragent.converse.solving import StateSolver, problem_in_force
from oragent.converse.state import Restriction, RestrictionState
from oragent.milp.changes import ChangedPart, ModelChange, current_part, limits_in_words
from oragent.milp.model import INFINITY
from oragent.milp.solution import SolveStatus

# characters of a name in a message
LONGEST = 60
# changed values in one line
MOST_CHANGES = 20
# changed values of one first word, and first words
MOST_ON_A_LINE, MOST_GROUPS = 6, 10
FIRST_WORD = re.compile(r"(?:[^\W\d_]+)?")


class Verb(StrEnum):
    """What is done to a part of the model."""

    SET = "set"
    SCALE = "scale"
    RELAX = "relax"
    DROP = "drop"


@dataclass(frozen=True)
class ChangeRequest:
    """A request to change a part of the model."""

    verb: Verb
    # name of a row, a variable or an objective
    part: str
    # variable whose coefficient in ``part`` is meant; empty where its limits are meant
    variable: str = ""
    # ``<=``, ``>=`` or ``=`` of the new limit; empty: the one that the part has
    relation: str = ""
    # new value, factor, or amount by which a limit gives way; 0 for ``drop``
    value: float = 0.0
    # whether the amount of ``relax`` is in percent of the limit
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
    target = _find_target(problem, request)
    original = _original_part(problem, target)
    earlier = next((change for change in state.changes if change.target == target.target), original)
    if target.is_coefficient:
        change = _changed_coefficient(earlier, request)
    else:
        change = _changed_limits(earlier, request)
    if target.part is ChangedPart.VARIABLE:
        variable = problem.original.variable(target.subject)
        if variable.is_binary and not (change.low >= 0 and change.high <= 1):
            raise ConfigError(
                f"{_shorten_name(target.subject)} is a decision between 0 and 1; its bounds must stay within 0 and 1"
            )
    return state.changing(change, original), change_in_words(earlier, change)


def change_in_words(earlier: ModelChange, after: ModelChange) -> str:
    """A change as one line: the part, its old and its new value."""
    if earlier == after:
        return f"{_shorten_name(earlier.name)} is {earlier.value_text} already"
    return f"{_shorten_name(earlier.name)} {earlier.value_text} → {after.value_text}"


def _find_target(problem: Editable, request: ChangeRequest) -> ModelChange:
    """The part of the model that a request means, without a new value."""
    milp, objectives = problem.original, objective_names(problem)
    rows, variables = [row.name for row in milp.rows], [variable.name for variable in milp.variables]
    if request.variable:
        variable = match_name(request.variable, variables, "variable")
        subject = match_name(request.part, [*objectives, *rows], "row or objective")
        subject = objectives.get(subject, subject)
        if subject in objectives:
            part = ChangedPart.COST
        else:
            part = ChangedPart.COEFFICIENT
        return ModelChange(part, subject, variable, 0.0, 0.0)
    subject = match_name(request.part, [*rows, *variables, *objectives], "row, variable or objective")
    if subject in rows and subject in variables:
        raise ConfigError(f"{_shorten_name(subject)} is a row and a variable; expected a name that only one has")
    if subject in objectives and subject not in variables:
        raise ConfigError(
            f"{_shorten_name(subject)} is an objective, name the coefficient too, such as: "
            f"{request.verb} {_shorten_name(subject)} {_shorten_name(variables[0])} 5"
        )
    return ModelChange(ChangedPart.ROW if subject in rows else ChangedPart.VARIABLE, subject)


def objective_names(problem: Editable) -> dict[str, str]:
    """Name of each objective, by itself and by the word that its file has for it."""
    goals = _objectives_of(problem)
    return {goal.word: goal.name for goal in goals} | {goal.name: goal.name for goal in goals}


def _objectives_of(problem: object) -> tuple[Goal, ...]:
    goals: tuple[Goal, ...] = problem.expressions[: problem.goals]  # type: ignore[attr-defined]
    return goals


def match_name(text: str, names: list[str], what: str) -> str:
    """The one name that a text means, whatever its capitals, quotes, spaces and underscores.

    Raises:
        ConfigError: It means none, or several.
    """
    wanted_name = text.strip().strip("'\"`")
    if wanted_name in names:
        return wanted_name
    near = list(dict.fromkeys(name for name in names if _normalize_name(name) == _normalize_name(wanted_name)))
    if len(near) > 1:
        raise ConfigError(
            f"{_shorten_name(wanted_name)!r} can mean {' or '.join(map(_shorten_name, near))}; "
            "expected one of them as written"
        )
    if not near:
        raise unknown_name_error(wanted_name, names, what)
    return near[0]


def _normalize_name(name: str) -> str:
    return " ".join(name.casefold().replace("_", " ").split())


def _original_part(problem: Editable, target: ModelChange) -> ModelChange:
    """The part as the model came with it; of a coefficient of an objective, as the objective has it."""
    if target.part is not ChangedPart.COST:
        return current_part(problem.original, (), target)
    unchanged = problem.changed(())
    value = next(goal for goal in _objectives_of(unchanged) if goal.name == target.subject).terms.get(
        target.variable, 0.0
    )
    return replace(target, low=value, high=value)


def _changed_coefficient(earlier: ModelChange, request: ChangeRequest) -> ModelChange:
    if request.relation:
        raise ConfigError(
            f"a coefficient has no limit; expected such as: set {_shorten_name(earlier.subject)} "
            f"{_shorten_name(earlier.variable)} {format_figure(request.value)}"
        )
    if request.verb is Verb.RELAX:
        raise ConfigError(
            f"a coefficient cannot be relaxed; expected set, scale or drop of {_shorten_name(earlier.name)}"
        )
    value = {Verb.SET: request.value, Verb.SCALE: earlier.low * request.value, Verb.DROP: 0.0}[request.verb]
    return replace(earlier, low=value, high=value)


def _changed_limits(earlier: ModelChange, request: ChangeRequest) -> ModelChange:
    name, value = _shorten_name(earlier.subject), request.value
    if request.verb is Verb.DROP:
        if earlier.part is ChangedPart.VARIABLE:
            if not isfinite(earlier.high):
                raise ConfigError(f"the variable {name} has no largest value to drop; it is {earlier.value_text}")
            return replace(earlier, high=INFINITY)
        return replace(earlier, low=-INFINITY, high=INFINITY)
    if request.verb is Verb.SET:
        return _set_limits(earlier, request)
    low, high = earlier.low, earlier.high
    if not isfinite(low) and not isfinite(high):
        raise ConfigError(f"{name} has no limit; expected such as: set {name} <= 50")
    by_share = request.verb is Verb.SCALE or request.percent
    if by_share and not any(limit for limit in (low, high) if isfinite(limit)):
        raise ConfigError(
            f"the limit of {name} is 0, which no factor changes; name a coefficient, such as 'scale {name} VARIABLE "
            f"1.1', or give a number: 'set {name} NUMBER'"
        )
    if request.verb is Verb.SCALE:
        if value < 0:
            raise ConfigError(
                f"the limit of {name} cannot be scaled by {format_figure(value)}; expected a factor of 0 or more"
            )
        low, high = (limit * value if isfinite(limit) else limit for limit in (low, high))
        return replace(earlier, low=min(low, high), high=max(low, high))
    if value < 0:
        raise ConfigError(
            f"relax needs an amount above 0, not {format_figure(value)}; 'set {name} NUMBER' makes it tighter"
        )
    if earlier.part is ChangedPart.VARIABLE and isfinite(high):
        # its least value is mostly 0 and means it
        return replace(earlier, high=high + _relax_amount(high, request))
    return replace(earlier, low=low - _relax_amount(low, request), high=high + _relax_amount(high, request))


def _relax_amount(limit: float, request: ChangeRequest) -> float:
    if not isfinite(limit):
        return 0.0
    if request.percent:
        return abs(limit) * request.value / 100
    return request.value


def _set_limits(earlier: ModelChange, request: ChangeRequest) -> ModelChange:
    name, value, relation = _shorten_name(earlier.subject), request.value, request.relation
    if earlier.part is ChangedPart.VARIABLE:
        if relation == "=":
            return replace(earlier, low=value, high=value)
        if not relation:
            raise ConfigError(
                f"{name} is a variable: 'set {name} <= {format_figure(value)}' sets its largest value, "
                f"'fix {name} {format_figure(value)}' fixes it"
            )
        if relation == "<=":
            low, high = (earlier.low, value)
        else:
            low, high = (value, earlier.high)
        if low > high:
            raise ConfigError(f"{name} is {earlier.value_text}; {relation} {format_figure(value)} would leave no value")
        return replace(earlier, low=low, high=high)
    if not relation:
        if isfinite(earlier.low) and isfinite(earlier.high) and earlier.low != earlier.high:
            raise ConfigError(
                f"{name} is {earlier.value_text}; expected a relation: set {name} <= {format_figure(value)}"
            )
        if not isfinite(earlier.low) and not isfinite(earlier.high):
            raise ConfigError(f"{name} has no limit now; expected a relation: set {name} <= {format_figure(value)}")
    if relation in (">=", "=") or (not relation and isfinite(earlier.low)):
        low = value
    else:
        low = -INFINITY
    if relation in ("<=", "=") or (not relation and isfinite(earlier.high)):
        high = value
    else:
        high = INFINITY
    return replace(earlier, low=low, high=high)


def own_limit(problem: DecisionProblem, name: str, upper: bool) -> float | None:
    """The model's own limit of an expression on one side, natural units; None where it has none."""
    if isinstance(problem, Editable):
        limits = problem.limits(name)
    else:
        limits = None
    if limits is None:
        limit = None
    elif upper:
        limit = limits[1]
    else:
        limit = limits[0]
    if limit is not None and isfinite(limit):
        return limit
    return None


def loose_bound(problem: DecisionProblem, bound: Restriction) -> str:
    """Return a note on a bound that the model's own limit makes superfluous; empty if it is not."""
    limit = own_limit(problem, bound.subject, bound.upper)
    if limit is None or (bound.limit < limit if bound.upper else bound.limit > limit):
        return ""
    assert isinstance(problem, Editable)
    row = any(row.name == bound.subject for row in problem.original.rows)
    low, high = problem.limits(bound.subject) or (limit, limit)
    name, limits = _shorten_name(bound.subject), limits_in_words(low, high, format_figure)
    if row:
        what = "row"
    else:
        what = "variable"
    if bound.value == limit:
        return f"the model's own {what} {name} is {limits} already; this bound changes nothing"
    if row and "to" not in limits:
        relation = ""
    else:
        relation = f"{'<=' if bound.upper else '>='} "
    return (
        f"the model's own {what} {name} is {limits}; your bound {format_figure(bound.value)} changes nothing; "
        f"did you mean 'set {name} {relation}{format_figure(bound.value)}'?"
    )


def compare_states(
    solver: StateSolver, earlier: RestrictionState, after: RestrictionState, is_grouped: bool = False
) -> str:
    """Describe the effect of a change: the objectives before and after, and the decisions that differ."""
    old, new = solver(earlier), solver(after)
    problem = problem_in_force(solver.problem, after)
    was = objectives_in_words(problem_in_force(solver.problem, earlier), old)
    summary = f"before: {was}; after: {objectives_in_words(problem, new)}"
    if not (old.decision and new.decision):
        return summary
    changes = describe_changes(problem, old.decision, new.decision, is_grouped) or "no decision changed"
    return f"{summary}{separate_changes(changes)}{changes}"


def separate_changes(changes: str) -> str:
    """What stands before changes in words: those of several lines begin on a line of their own."""
    if "\n" in changes:
        return "\n"
    return "; "


def describe_changes(problem: DecisionProblem, earlier: str, after: str, is_grouped: bool = False) -> str:
    """What differs between two decisions, on one line or, if grouped, a line for each first word; empty for nothing."""
    changes = list(decision_changes(problem, earlier, after))
    if not is_grouped or len(changes) <= MOST_ON_A_LINE:
        if changes:
            return f"changed: {join_some(changes, MOST_CHANGES)}"
        return ""
    groups: dict[str, list[str]] = {}
    for change in changes:
        groups.setdefault(FIRST_WORD.match(change)[0], []).append(change)  # type: ignore[index]  # it may be empty
    lines = [f"- {join_some(group, MOST_ON_A_LINE)}" for group in list(groups.values())[:MOST_GROUPS]]
    rest = [change for group in list(groups.values())[MOST_GROUPS:] for change in group]
    return "\n".join([f"changed: {len(changes)} values", *lines, *([f"- and {len(rest)} more"] if rest else [])])


def objectives_in_words(problem: DecisionProblem, solved: Solved) -> str:
    """The objectives of a decision in one line, those of a person's own model with units; or why there is none."""
    if not solved.decision:
        return str(solved.status)
    values = problem.features(solved.decision)
    has_units = isinstance(problem, Editable)
    parts = [
        f"{goal.word} {format_figure(value)}{f' {one_line(goal.unit, 40)}' if has_units and goal.unit else ''}"
        for goal, value in zip(problem.expressions[: problem.goals], values, strict=False)
    ]
    if solved.status is SolveStatus.OPTIMAL:
        gap = []
    else:
        gap = [f"gap {100 * solved.gap:.2g} %"]
    return ", ".join([*parts, *gap])


def decision_changes(problem: DecisionProblem, earlier: str, after: str) -> Iterator[str]:
    """Items whose option differs between two decisions, each as ``ITEM OLD -> NEW``.

    Decisions between 0 and 1 come first, items that become 0 last among their kind.
    """
    old, new = problem.chosen(earlier), problem.chosen(after)
    brief = problem.vocabulary.brief
    moved = [item for item, option in new.items() if old[item] != option]
    for item in sorted(moved, key=lambda item: (problem.options(item) != ("0", "1"), new[item] == "0")):
        yield f"{problem.short(item)} {brief(old[item])} → {brief(new[item])}"


def _shorten_name(name: str) -> str:
    return one_line(name, LONGEST)

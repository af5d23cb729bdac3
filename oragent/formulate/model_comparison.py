"""Compare a program's model with the rows of a checker: which of the two is too strict?

A solution that meets every check is not enough: the model may forbid better ones. So the checker's rows are solved
with the program's objective. A point that breaks no check and is better contradicts the program. So does any point if
the program is infeasible, and a row that stops the ray of an unbounded program.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Self

from oragent._base.errors import MilpError
from oragent.milp.conflicts import conflict
from oragent.milp.decisions import NOISE
from oragent.milp.model import INFINITY, Milp, Objective, Relation, Row, Sense, Variable, VariableKind, scale_row
from oragent.milp.plain import number, plain, quoted
from oragent.milp.solution import Solution, SolveStatus
from oragent.milp.solving import breaches, ray, solve

# by how much an objective must be better, relative to the larger of 1 and its size
BETTER = 1e-6
RELATIONS = {
    "<=": Relation.AT_MOST,
    "<": Relation.AT_MOST,
    ">=": Relation.AT_LEAST,
    ">": Relation.AT_LEAST,
    "=": Relation.EQUAL,
    "==": Relation.EQUAL,
}
SENSES = {"minimize": Sense.MINIMIZE, "maximize": Sense.MAXIMIZE}
MOST_NAMED = 12
NO_POINT = "no point meets the checks together, and the program has one"


class Ruling(StrEnum):
    """Result of comparing the checker's rows with the program's model."""

    # the same optimum, or both infeasible, or both unbounded
    AGREES = "agrees"
    # the program forbids a point that breaks no check
    FORBIDS = "forbids"
    # the program allows a point that the checks forbid
    ALLOWS = "allows"
    # the same points, and another objective
    OBJECTIVE = "objective"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class CheckRow:
    """A check as a linear row."""

    name: str
    # left side less right side, coefficient by column
    terms: Mapping[str, float]
    # ``<=``, ``>=``, ``=``, ``integer``, ``minimize`` or ``maximize``
    relation: str
    # right-hand side of the terms
    rhs: float
    # of the text that it comes from
    sentence: str = ""

    @classmethod
    def from_entry(cls, item: Sequence[Any]) -> Self:
        """An entry of ``model_capture.check_symbols``."""
        name, left_side, relation, right_side, sentence = item
        terms = dict(left_side["terms"])
        for column, value in right_side["terms"].items():
            terms[column] = terms.get(column, 0.0) - value
        return cls(name, terms, relation, float(right_side["constant"]) - float(left_side["constant"]), sentence)


@dataclass(frozen=True)
class ModelComparison:
    """Comparison of a program's model with a checker's rows.

    Attributes:
        ruling: Which of the two is too strict, if any.
        reason: One sentence for the revision of the program.
        names: Rows, bounds and variables in the sentence.
        values: Point that proves it, by column; empty without one.
        objective: Objective of that point; None without one.
        proven: Whether the checker's rows were solved to their end.
    """

    ruling: Ruling
    reason: str = ""
    names: tuple[str, ...] = ()
    values: Mapping[str, float] = field(default_factory=dict)
    objective: float | None = None
    proven: bool = False


def checker_milp(milp: Milp, entries: Sequence[CheckRow], columns: Collection[str]) -> Milp:
    """Build a model of the checker's rows and objective over the program's columns that were returned.

    Where the checker has no objective, that of the program is used. A value is at least 0 unless the program lets it
    be less; only what the checks call an integer is one.

    Raises:
        MilpError: No objective is known over these columns, or a check is not one.
    """
    whole = {next(iter(entry.terms)) for entry in entries if entry.relation == "integer" and len(entry.terms) == 1}
    variables = tuple(
        Variable(
            variable.name,
            min(0.0, variable.low),
            INFINITY,
            VariableKind.INTEGER if variable.name in whole else VariableKind.CONTINUOUS,
        )
        for variable in milp.variables
        if variable.name in columns
    )
    rows: list[Row] = []
    taken: set[str] = set()
    for index, entry in enumerate(entry for entry in entries if entry.relation in RELATIONS):
        if entry.name and entry.name not in taken:
            name = entry.name
        else:
            name = f"{entry.name} ({index + 1})"
        taken.add(name)
        rows.append(Row(name, entry.terms, RELATIONS[entry.relation], entry.rhs, entry.sentence))
    return Milp(variables, tuple(rows), *_choose_objective(milp, entries, columns), "checks")


def find_counterexample(
    milp: Milp, solution: Solution, entries: Sequence[CheckRow], columns: Collection[str], limit_s: float
) -> ModelComparison:
    """Hold a program's model, which was solved, against a checker's rows.

    Raises:
        MilpError: The rows make no model.
    """
    checks = checker_milp(milp, entries, columns)
    answer = solve(checks, limit_s, duals=False)
    if answer.status in (SolveStatus.UNKNOWN, SolveStatus.FEASIBLE) or solution.status is SolveStatus.UNKNOWN:
        return ModelComparison(Ruling.UNDECIDED)
    if solution.status is SolveStatus.UNBOUNDED:
        return replace(_against_unbounded(milp, checks, answer), proven=True)
    if solution.status is SolveStatus.INFEASIBLE:
        return replace(_against_infeasible(milp, checks, answer, limit_s), proven=True)
    return replace(_against_optimum(milp, solution, checks, answer), proven=True)


def _choose_objective(milp: Milp, entries: Sequence[CheckRow], columns: Collection[str]) -> tuple[Objective, Sense]:
    for entry in entries:
        if entry.relation in SENSES:
            return Objective(entry.terms, -entry.rhs), SENSES[entry.relation]
    if set(milp.objective.terms) <= set(columns):
        return milp.objective, milp.sense
    raise MilpError("the objective has columns that were not returned, and the checker tells none")


def _against_optimum(milp: Milp, solution: Solution, checks: Milp, answer: Solution) -> ModelComparison:
    assert solution.objective is not None
    if answer.status is SolveStatus.UNBOUNDED:
        direction = ray(checks) or {}
        stops = [row.name for row in milp.rows if _stops_direction(row, direction)]
        reason = "by the checks the objective improves without end, and the program stops it" + _name_list(stops)
        return ModelComparison(Ruling.FORBIDS, reason, tuple(stops))
    if answer.status is SolveStatus.INFEASIBLE or answer.objective is None:
        names = _conflict_names(checks)
        return ModelComparison(Ruling.ALLOWS, NO_POINT + _name_list(names), names)
    point = {name: value for name, value in solution.values.items() if name in answer.values}
    terms = checks.objective.terms
    objective = checks.objective.constant + sum(value * point.get(name, 0.0) for name, value in terms.items())
    gain = checks.sense.sign * (objective - answer.objective)
    slack = BETTER * max(1.0, abs(answer.objective))
    sign = milp.sense.sign
    if solution.bound is None:
        reach = -sign * INFINITY
    else:
        reach = solution.bound
    if solution.status is SolveStatus.FEASIBLE and gain > 0 and sign * reach <= sign * answer.objective + slack:
        # the program may allow a better point that was not found
        return ModelComparison(Ruling.UNDECIDED)
    if abs(gain) <= slack:
        if other := _different_costs(milp, checks):
            return ModelComparison(Ruling.OBJECTIVE, other[1], other[0], answer.values, answer.objective)
        return ModelComparison(Ruling.AGREES, values=answer.values, objective=answer.objective)
    if gain > 0:
        why = f"breaks no check and is better ({number(answer.objective)} against {number(objective)})"
        return _report_forbidden(milp, checks, answer, why)
    names = tuple(breach.name for breach in breaches(checks, point))
    return ModelComparison(Ruling.ALLOWS, "the program's solution breaks checks" + _name_list(names), names, point)


def _against_infeasible(milp: Milp, checks: Milp, answer: Solution, limit_s: float) -> ModelComparison:
    if answer.status is SolveStatus.INFEASIBLE:
        return ModelComparison(Ruling.AGREES, "the checks have no point either")
    if answer.status is SolveStatus.UNBOUNDED:
        answer = solve(replace(checks, objective=Objective()), limit_s, duals=False)
    return _report_forbidden(milp, checks, answer, "breaks no check, and the program has no point at all")


def _against_unbounded(milp: Milp, checks: Milp, answer: Solution) -> ModelComparison:
    if answer.status is SolveStatus.UNBOUNDED:
        return ModelComparison(Ruling.AGREES, "by the checks the objective improves without end too")
    if answer.status is SolveStatus.INFEASIBLE:
        names = _conflict_names(checks)
        return ModelComparison(Ruling.ALLOWS, NO_POINT + _name_list(names), names)
    direction = ray(milp) or {}
    names = tuple(row.name for row in checks.rows if _stops_direction(row, direction))
    run = ", ".join(f"{quoted(name)} by {number(step)}" for name, step in list(direction.items())[:MOST_NAMED])
    reason = f"the program's objective improves without end ({run}); the checks stop that{_name_list(names)}"
    return ModelComparison(Ruling.ALLOWS, reason, names)


def _different_costs(milp: Milp, checks: Milp) -> tuple[tuple[str, ...], str] | None:
    """Return columns whose objective coefficients differ, and a sentence on them; None where none can be named.

    Objectives over other columns may be equal through the rows; only objectives over the same columns are compared.
    """
    ours, theirs = ({name: value for name, value in model.objective.terms.items() if value} for model in (milp, checks))
    if ours.keys() != theirs.keys() or milp.sense is not checks.sense:
        return None
    names = tuple(name for name, value in ours.items() if abs(value - theirs[name]) > BETTER * abs(theirs[name]))
    parts = [f"{quoted(name)} has {number(ours[name])}, by the checks {number(theirs[name])}" for name in names]
    if names:
        return (names, f"in the program's objective {'; '.join(parts[:MOST_NAMED])}")
    return None


def _report_forbidden(milp: Milp, checks: Milp, answer: Solution, why: str) -> ModelComparison:
    """Return a point that the program forbids, and the rows that forbid it; or the objective that passes it over."""
    if len(answer.values) == len(milp.variables):
        broken = breaches(milp, answer.values)
        names = tuple(dict.fromkeys(breach.name for breach in broken))
        how = "; ".join(breach.sentence for breach in broken[:MOST_NAMED])
    else:
        names = _conflict_names(_fix_values(milp, answer.values))
        how = ", ".join(map(quoted, names[:MOST_NAMED]))
    point = _describe_point(answer.values)
    if not names and (other := _different_costs(milp, checks)):
        reason = f"the point {point} {why}; {other[1]}"
        return ModelComparison(Ruling.OBJECTIVE, reason, other[0], answer.values, answer.objective)
    reason = f"the point {point} {why}; the program forbids it: {how or 'its objective differs'}"
    return ModelComparison(Ruling.FORBIDS, reason, names, answer.values, answer.objective)


def _describe_point(values: Mapping[str, float]) -> str:
    """Values that are not 0, in the order of the model, and how many others there are."""
    used = [f"{plain(name)} = {number(value)}" for name, value in values.items() if abs(value) > NOISE]
    hidden, zeros = len(used) - MOST_NAMED, len(values) - len(used)
    if not used:
        return "with every value at 0"
    if hidden > 0:
        more = [f"{hidden} more not at 0"]
    else:
        more = []
    if zeros:
        more += [f"{zeros} other{'s' if zeros > 1 else ''} at 0"]
    else:
        more += []
    return ", ".join(used[:MOST_NAMED]) + (f" (and {', '.join(more)})" if more else "")


def _fix_values(milp: Milp, values: Mapping[str, float]) -> Milp:
    variables = list(milp.variables)
    for place, variable in enumerate(variables):
        if variable.name in values:
            variables[place] = replace(variable, low=values[variable.name], high=values[variable.name])
    return replace(milp, variables=tuple(variables))


def _conflict_names(milp: Milp) -> tuple[str, ...]:
    try:
        return tuple(part.name for part in conflict(milp, 10.0).parts)
    except MilpError:
        return ()


def _stops_direction(row: Row, direction: Mapping[str, float]) -> bool:
    """Return True if a row limits a step in a direction."""
    step = sum(value * direction.get(name, 0.0) for name, value in row.terms.items())
    size = sum(abs(value * direction.get(name, 0.0)) for name, value in row.terms.items())
    if abs(step) <= 1e-9 * max(1.0, size):
        return False
    return {Relation.AT_MOST: step > 0, Relation.AT_LEAST: step < 0, Relation.EQUAL: True}[row.relation]


def _name_list(names: Sequence[str]) -> str:
    if names:
        return f" by {', '.join(map(quoted, names[:MOST_NAMED]))}"
    return ""


def match_sentences(milp: Milp, checks: Sequence[CheckRow]) -> dict[str, str]:
    """Return the sentence of the equal check, up to a factor, by the name of the row."""
    sentence_of = {
        form: check.sentence
        for check in reversed(checks)
        if check.sentence
        and check.relation in RELATIONS
        and (form := scale_row(check.terms, RELATIONS[check.relation], check.rhs, 9)) is not None
    }
    forms = {row.name: scale_row(row.terms, row.relation, row.rhs, 9) for row in milp.rows}
    return {name: sentence_of[form] for name, form in forms.items() if form in sentence_of}

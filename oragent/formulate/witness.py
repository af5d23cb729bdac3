"""Hold a program's model against the rows of a checker: does it forbid too much, or allow too much?

That a solution meets every check is not enough: a model may forbid the better ones. So the checker's own rows are
solved under the program's objective. A point that breaks no check and is better, or any point where the program proved
that there is none, is a witness against the program; where the program is unbounded, the rows that its ray breaks are.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from typing import Any, Self

from oragent._base.errors import MilpError
from oragent.milp.conflicts import conflict
from oragent.milp.model import Milp, Objective, Relation, Row, Sense, Variable, VariableKind
from oragent.milp.plain import number, plain, quoted
from oragent.milp.points import breaches
from oragent.milp.rays import ray
from oragent.milp.solution import Solution, SolveStatus
from oragent.milp.solving import solve
from oragent.milp.wellformed import INFINITY

BETTER = 1e-6  # by how much an objective must be better, relative to the larger of 1 and its size
RELATIONS = {"<=": Relation.AT_MOST, "<": Relation.AT_MOST, ">=": Relation.AT_LEAST, ">": Relation.AT_LEAST,
             "=": Relation.EQUAL, "==": Relation.EQUAL}  # fmt: skip
SENSES = {"minimize": Sense.MINIMIZE, "maximize": Sense.MAXIMIZE}
MOST_NAMED = 12


class Ruling(StrEnum):
    """What the checker's rows say of the program's model."""

    AGREES = "agrees"  # the same optimum, or both infeasible, or both unbounded
    FORBIDS = "forbids"  # the program forbids a point that breaks no check
    ALLOWS = "allows"  # the program allows what the checks forbid
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class CheckRow:
    """A check as a linear row.

    Attributes:
        name: Of the check.
        terms: Left side less right side, coefficient by column.
        relation: ``<=``, ``>=``, ``=``, ``integer``, ``minimize`` or ``maximize``.
        rhs: What the terms are held against.
        sentence: Of the text that it comes from.
    """

    name: str
    terms: Mapping[str, float]
    relation: str
    rhs: float
    sentence: str = ""

    @classmethod
    def of(cls, item: Sequence[Any]) -> Self:
        """An entry of ``beside.check_symbols``."""
        name, left, relation, right, sentence = item
        terms = dict(left["terms"])
        for column, value in right["terms"].items():
            terms[column] = terms.get(column, 0.0) - value
        return cls(name, terms, relation, float(right["constant"]) - float(left["constant"]), sentence)


@dataclass(frozen=True)
class Witness:
    """What was found.

    Attributes:
        ruling: Which of the two is too strict, if any.
        reason: One sentence for whoever mends the program.
        names: Rows, bounds and variables that the sentence is about.
        values: The point that shows it, by column; empty where there is none.
        objective: Of that point; None without one.
        proven: Whether the checker's rows were solved to their end.
    """

    ruling: Ruling
    reason: str = ""
    names: tuple[str, ...] = ()
    values: Mapping[str, float] = field(default_factory=dict)
    objective: float | None = None
    proven: bool = False


def wire(witness: Witness) -> dict[str, Any]:
    """A witness as JSON has it."""
    return asdict(witness)


def of_rows(milp: Milp, entries: Sequence[CheckRow], columns: Collection[str]) -> Milp:
    """The checker's rows as a model, over the program's columns that were returned, under the program's objective.

    A value is at least 0 unless the program lets it be less; only what the checks say is an integer.

    Raises:
        MilpError: No objective is known over these columns, or a check is not one.
    """
    whole = {next(iter(one.terms)) for one in entries if one.relation == "integer" and len(one.terms) == 1}
    variables = tuple(
        Variable(
            one.name,
            min(0.0, one.low),
            INFINITY,
            VariableKind.INTEGER if one.name in whole else VariableKind.CONTINUOUS,
        )
        for one in milp.variables
        if one.name in columns
    )
    rows: list[Row] = []
    for place, one in enumerate(entry for entry in entries if entry.relation in RELATIONS):
        name = one.name if one.name and one.name not in {row.name for row in rows} else f"{one.name} ({place + 1})"
        rows.append(Row(name, one.terms, RELATIONS[one.relation], one.rhs, one.sentence))
    return Milp(variables, tuple(rows), *_objective(milp, entries, columns), "checks")


def counterexample(
    milp: Milp, solution: Solution, entries: Sequence[CheckRow], columns: Collection[str], limit_s: float
) -> Witness:
    """Hold a program's model, which was solved, against a checker's rows.

    Raises:
        MilpError: The rows make no model.
    """
    checks = of_rows(milp, entries, columns)
    answer = solve(checks, limit_s, duals=False)
    if answer.status in (SolveStatus.UNKNOWN, SolveStatus.FEASIBLE) or solution.status is SolveStatus.UNKNOWN:
        return Witness(Ruling.UNDECIDED)
    if solution.status is SolveStatus.UNBOUNDED:
        return replace(_against_unbounded(milp, checks, answer), proven=True)
    if solution.status is SolveStatus.INFEASIBLE:
        return replace(_against_infeasible(milp, checks, answer, limit_s), proven=True)
    return replace(_against_optimum(milp, solution, checks, answer), proven=True)


def _objective(milp: Milp, entries: Sequence[CheckRow], columns: Collection[str]) -> tuple[Objective, Sense]:
    if set(milp.objective.terms) <= set(columns):
        return milp.objective, milp.sense
    for one in entries:
        if one.relation in SENSES:
            return Objective(one.terms, -one.rhs), SENSES[one.relation]
    raise MilpError("the objective has columns that were not returned, and the checker tells none")


def _against_optimum(milp: Milp, solution: Solution, checks: Milp, answer: Solution) -> Witness:
    assert solution.objective is not None
    if answer.status is SolveStatus.UNBOUNDED:
        direction = ray(checks) or {}
        stops = [row.name for row in milp.rows if _stops(row, direction)]
        return Witness(
            Ruling.FORBIDS,
            "by the checks the objective improves without end, and the program stops it" + _by(stops),
            tuple(stops),
        )
    if answer.status is SolveStatus.INFEASIBLE or answer.objective is None:
        names = _conflict(checks)
        return Witness(Ruling.ALLOWS, "no point meets the checks together, and the program has one" + _by(names), names)
    gain = checks.sense.sign * (solution.objective - answer.objective)
    if abs(gain) <= BETTER * max(1.0, abs(answer.objective)):
        return Witness(Ruling.AGREES, values=answer.values, objective=answer.objective)
    if gain > 0:
        return _forbidden(
            milp, answer, f"breaks no check and is better ({number(answer.objective)} against "
            f"{number(solution.objective)})"
        )  # fmt: skip
    point = {name: value for name, value in solution.values.items() if name in answer.values}
    names = tuple(breach.name for breach in breaches(checks, point))
    return Witness(Ruling.ALLOWS, "the program's solution breaks checks" + _by(names), names, point)


def _against_infeasible(milp: Milp, checks: Milp, answer: Solution, limit_s: float) -> Witness:
    if answer.status is SolveStatus.INFEASIBLE:
        return Witness(Ruling.AGREES, "the checks have no point either")
    if answer.status is SolveStatus.UNBOUNDED:
        answer = solve(replace(checks, objective=Objective()), limit_s, duals=False)
    return _forbidden(milp, answer, "breaks no check, and the program has no point at all")


def _against_unbounded(milp: Milp, checks: Milp, answer: Solution) -> Witness:
    if answer.status is SolveStatus.UNBOUNDED:
        return Witness(Ruling.AGREES, "by the checks the objective improves without end too")
    if answer.status is SolveStatus.INFEASIBLE:
        names = _conflict(checks)
        return Witness(Ruling.ALLOWS, "no point meets the checks together, and the program has one" + _by(names), names)
    direction = ray(milp) or {}
    names = tuple(row.name for row in checks.rows if _stops(row, direction))
    run = ", ".join(f"{quoted(name)} by {number(step)}" for name, step in list(direction.items())[:MOST_NAMED])
    return Witness(
        Ruling.ALLOWS, f"the program's objective improves without end ({run}); the checks stop that{_by(names)}", names
    )


def _forbidden(milp: Milp, answer: Solution, why: str) -> Witness:
    """A point that the program forbids, and what of the program forbids it."""
    if len(answer.values) == len(milp.variables):
        broken = breaches(milp, answer.values)
        names = tuple(dict.fromkeys(breach.name for breach in broken))
        how = "; ".join(breach.sentence for breach in broken[:MOST_NAMED])
    else:
        names = _conflict(_fixed(milp, answer.values))
        how = ", ".join(map(quoted, names[:MOST_NAMED]))
    point = ", ".join(f"{plain(name)} = {number(value)}" for name, value in list(answer.values.items())[:MOST_NAMED])
    reason = f"the point {point} {why}; the program forbids it: {how or 'its objective differs'}"
    return Witness(Ruling.FORBIDS, reason, names, answer.values, answer.objective)


def _fixed(milp: Milp, values: Mapping[str, float]) -> Milp:
    variables = tuple(
        replace(one, low=values[one.name], high=values[one.name]) if one.name in values else one
        for one in milp.variables
    )
    return replace(milp, variables=variables)


def _conflict(milp: Milp) -> tuple[str, ...]:
    try:
        return tuple(part.name for part in conflict(milp, 10.0).parts)
    except MilpError:
        return ()


def _stops(row: Row, direction: Mapping[str, float]) -> bool:
    """Whether a row ends, sooner or later, a walk in a direction."""
    step = sum(value * direction.get(name, 0.0) for name, value in row.terms.items())
    size = sum(abs(value * direction.get(name, 0.0)) for name, value in row.terms.items())
    if abs(step) <= 1e-9 * max(1.0, size):
        return False
    return {Relation.AT_MOST: step > 0, Relation.AT_LEAST: step < 0, Relation.EQUAL: True}[row.relation]


def _by(names: Sequence[str]) -> str:
    return f" by {', '.join(map(quoted, names[:MOST_NAMED]))}" if names else ""

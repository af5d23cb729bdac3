"""Compare a program's model with the rows of a checker, and report which of them is too strict.

A solution that satisfies every check may still not be optimal, because the model may forbid better ones. Therefore the
checker's rows are solved with the program's objective. The program is contradicted by a better point that satisfies all
checks, by any such point if the program is infeasible, and by a row that bounds the direction of an unbounded program.
"""

import itertools
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Self

from oragent._base.errors import ModellingError
from oragent.formulate.aims import StatedAim, match_aims, staged_objectives
from oragent.formulate.model_class import ANY, LARGEST, NO_OVERLAP, PIECES, ProductTerms, solve_model
from oragent.formulate.native_scheduling import solve_with_cp_sat
from oragent.formulate.symbols import interpolate
from oragent.modelling.data.display import number, plain, quoted
from oragent.modelling.data.features import FurtherObjective, Indicator, ModelFeatures, QuadraticRow
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.intervals import PlanInterval, TimeExpression
from oragent.modelling.data.model_records import Objective, Row, Variable, scale_row
from oragent.modelling.data.model_values import INFINITY, Relation, Sense, VariableKind
from oragent.modelling.data.solution import Solution, SolveStatus
from oragent.modelling.solving.infeasibility import find_conflict, part_names
from oragent.modelling.solving.model_solving import breaches, ray
from oragent.report.pages.value_tables import NOISE

# Minimum improvement of an objective, relative to max(1, |objective|).
BETTER = 1e-6
# Minimum improvement for models with products, choices or several objectives, which solvers solve less accurately.
BETTER_NONLINEAR = 1e-4
# Name of the binary variables of alternative cases.
SWITCH = "choice of checks"
RELATIONS = {
    "<=": Relation.AT_MOST,
    "<": Relation.AT_MOST,
    ">=": Relation.AT_LEAST,
    ">": Relation.AT_LEAST,
    "=": Relation.EQUAL,
    "==": Relation.EQUAL,
}
SENSES = {"minimize": Sense.MINIMIZE, "maximize": Sense.MAXIMIZE}
MAX_NAMED = 12
# Digits to which rows are compared after scaling, and seconds for rows that exclude each other.
DIGITS, CONFLICT_S = 9, 10.0
ZERO = {"terms": {}, "constant": 0.0, "products": []}
NO_POINT = "no point meets the checks together, and the program has one"


class Ruling(StrEnum):
    """Result of comparing the checker's rows with the program's model."""

    # Equal optimum, or both infeasible, or both unbounded.
    AGREES = "agrees"
    # The program forbids a point that satisfies all checks.
    FORBIDS = "forbids"
    # The program allows a point that the checks forbid.
    ALLOWS = "allows"
    # The feasible points agree, but the objectives differ.
    OBJECTIVE = "objective"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class CheckRow:
    """A check as a row of degree at most 2, or as alternative cases of which one must hold."""

    name: str
    # Coefficients of the left side minus the right side, by column.
    terms: Mapping[str, float]
    # ``<=``, ``>=``, ``=``, ``integer``, ``minimize``, ``maximize`` or ``any``
    relation: str
    # Right-hand side of the terms.
    rhs: float
    # Sentence of the problem.
    sentence: str = ""
    # Coefficients by two columns.
    products: Mapping[tuple[str, str], float] = field(default_factory=dict)
    # For ``any``: the rows of each case. For ``largest`` and ``no overlap``: a row for each value, which is its terms
    # minus the right-hand side.
    cases: tuple[tuple["CheckRow", ...], ...] = ()
    # For ``pieces``: points of the function of the only case.
    points: tuple[tuple[float, float], ...] = ()
    # For aims: amount, and share of the optimum, that less important aims may take.
    room: float = 0.0
    room_share: float = 0.0

    @classmethod
    def from_entry(cls, item: Sequence[Any]) -> Self:
        """Build a row from an entry of ``symbols.check_symbols``."""
        name, left_side, relation, right_side, sentence = item
        if relation == ANY:
            cases = tuple(tuple(cls.from_entry([name, *row, sentence]) for row in rows) for rows in left_side)
            return cls(name, {}, relation, 0.0, sentence, cases=cases)
        if relation in (LARGEST, NO_OVERLAP, PIECES):
            points = tuple((float(x), float(y)) for x, y in left_side.pop()) if relation == PIECES else ()
            groups = left_side if relation == NO_OVERLAP else [[part] for part in left_side]
            cases = tuple(tuple(cls.from_entry([name, part, "", ZERO, ""]) for part in group) for group in groups)
            return cls(name, {}, relation, 0.0, sentence, cases=cases, points=points)
        if relation in SENSES:
            aim = cls.from_entry([name, left_side, "=", ZERO, sentence])
            return replace(aim, relation=relation, room=right_side["amount"], room_share=right_side["share"])
        terms = dict(left_side["terms"])
        for column, value in right_side["terms"].items():
            terms[column] = terms.get(column, 0.0) - value
        products: dict[tuple[str, str], float] = {}
        for sign, side in ((1.0, left_side), (-1.0, right_side)):
            for first, second, value in side["products"]:
                products[first, second] = products.get((first, second), 0.0) + sign * value
        rhs = float(right_side["constant"]) - float(left_side["constant"])
        return cls(name, terms, relation, rhs, sentence, products)

    def value_at(self, point: Mapping[str, float]) -> float:
        """Return the left side minus the right side at a point; missing values are 0."""
        linear = sum(size * point.get(name, 0.0) for name, size in self.terms.items())
        products = (size * point.get(a, 0.0) * point.get(b, 0.0) for (a, b), size in self.products.items())
        return linear + sum(products) - self.rhs

    @property
    def expression(self) -> ProductTerms:
        """Terms and products."""
        return ProductTerms(self.terms, self.products)


@dataclass(frozen=True)
class ModelComparison:
    """Comparison of a program's model with a checker's rows.

    Attributes:
        ruling: Which of the two is too strict, if any.
        reason: One sentence for the revision of the program.
        names: Rows, bounds and variables in the sentence.
        values: Point that proves the ruling, by column; empty without one.
        objective: Objective of that point; None without one.
        proven: Whether the checker's model was solved to a proven result.
        within: If undecided: relative amount by which a point of the checks can be better; None if unknown.
        aims: Aims of the checker, with the corresponding objectives of the program.
        compared_aims: Number of the most important aims of the program that were compared; None if unknown.
    """

    ruling: Ruling
    reason: str = ""
    names: tuple[str, ...] = ()
    values: Mapping[str, float] = field(default_factory=dict)
    objective: float | None = None
    proven: bool = False
    within: float | None = None
    aims: tuple[StatedAim, ...] = ()
    compared_aims: int | None = None


@dataclass(frozen=True)
class _ObjectiveGap:
    """Values of one objective at the program's point and at the best point of the checks."""

    value: float
    best: float
    sense: Sense
    # Largest difference of equal values.
    tolerance: float
    # Amount that the program lets less important aims take, and that the text may not allow.
    slack: float

    @property
    def gain(self) -> float:
        """Improvement of the best point."""
        return self.sense.sign * (self.value - self.best)


def state_aims(milp: IndexedModel, solution: Solution, entries: Sequence[CheckRow]) -> tuple[StatedAim, ...]:
    """Return the aims of a checker with the corresponding objectives of a program."""
    point = add_derived(solution.values, entries) if solution.status.has_point else None
    stated = []
    for entry in entries:
        if entry.relation in SENSES:
            value = None if point is None else entry.value_at(point)
            terms = None if any(entry.products.values()) else entry.terms
            stated.append(StatedAim(entry.name, SENSES[entry.relation], value, terms))
    return match_aims(staged_objectives(milp), point, stated)


def add_derived(point: Mapping[str, float], entries: Sequence[CheckRow]) -> dict[str, float]:
    """Return a point with the values of the columns that stand for maxima and piecewise linear functions."""
    values = dict(point)
    for entry in entries:
        if entry.relation == LARGEST:
            values[entry.name] = max(part.value_at(values) for (part,) in entry.cases)
        elif entry.relation == PIECES:
            values[entry.name] = interpolate(entry.cases[0][0].value_at(values), list(entry.points))
    return values


def checker_milp(
    milp: IndexedModel, entries: Sequence[CheckRow], columns: Collection[str], aims: Sequence[StatedAim] = ()
) -> IndexedModel:
    """Build a model of the checker's rows and objectives over the returned columns of the program.

    Without an objective of the checker, the program's is used if it is the only one and over these columns. Values are
    at least 0 unless the program or a check of this value allows negative ones; only columns that the checks declare as
    integer are integer.

    Raises:
        ModellingError: An entry is not a check.
    """
    whole = {next(iter(entry.terms)) for entry in entries if entry.relation == "integer" and len(entry.terms) == 1}
    lows = _stated_lows(entries)
    variables = tuple(
        Variable(
            variable.name,
            min(0.0, variable.low, lows.get(variable.name, variable.low)),
            INFINITY,
            VariableKind.INTEGER if variable.name in whole else VariableKind.CONTINUOUS,
        )
        for variable in milp.variable_records
        if variable.name in columns
    )
    builder = ChecksBuilder()
    for entry in entries:
        builder.add(entry)
    builder.derived += [
        Variable(entry.name, -INFINITY, INFINITY) for entry in entries if entry.relation in (LARGEST, PIECES)
    ]
    objective, sense, features = _choose_objective(milp, entries, columns, aims)
    features = replace(features, quadratic_rows=tuple(builder.quadratic_rows), indicators=tuple(builder.indicators))
    columns_of_checks = (*variables, *builder.derived, *builder.switches)
    return IndexedModel.from_records(
        columns_of_checks, tuple(builder.rows), objective, sense, "checks", features=features
    )


def _stated_lows(entries: Sequence[CheckRow]) -> dict[str, float]:
    """Return the smallest value that checks of a single column allow it, by column."""
    lows: dict[str, float] = {}
    for entry in entries:
        used = [(name, value) for name, value in entry.terms.items() if value]
        if entry.relation not in RELATIONS or len(used) != 1 or any(entry.products.values()):
            continue
        ((name, value),) = used
        relation = RELATIONS[entry.relation]
        if relation is Relation.EQUAL or (relation is Relation.AT_LEAST) == (value > 0):
            low = entry.rhs / value
            lows[name] = max(low, lows.get(name, low))
    return lows


@dataclass
class ChecksBuilder:
    """Rows of the model of checks; each row of an ``any`` has a binary variable that activates it."""

    rows: list[Row] = field(default_factory=list)
    quadratic_rows: list[QuadraticRow[str]] = field(default_factory=list)
    indicators: list[Indicator[str]] = field(default_factory=list)
    switches: list[Variable] = field(default_factory=list)
    derived: list[Variable] = field(default_factory=list)
    taken: set[str] = field(default_factory=set)

    def add(self, entry: CheckRow) -> None:
        """Add a check."""
        if entry.relation == ANY:
            self._add_choice(entry)
        elif entry.relation == LARGEST:
            self._add_largest(entry)
        elif entry.relation == PIECES:
            self._add_pieces(entry)
        elif entry.relation == NO_OVERLAP:
            for choice in overlap_choices(entry):
                self._add_choice(choice)
        elif entry.relation in RELATIONS and any(entry.products.values()):
            row = entry.expression.row(self._name(entry.name), RELATIONS[entry.relation], entry.rhs)
            self.quadratic_rows.append(row)
        elif entry.relation in RELATIONS:
            name = self._name(entry.name)
            self.rows.append(Row(name, entry.terms, RELATIONS[entry.relation], entry.rhs, entry.sentence))

    def _add_largest(self, entry: CheckRow) -> None:
        """Add that a column is at least each value, and at most one of them."""
        rows = [_minus_column(part, entry.name) for (part,) in entry.cases]
        for row in rows:
            self.add(replace(row, relation="<="))
        self._add_choice(replace(entry, cases=tuple((replace(row, relation=">="),) for row in rows)))

    def _add_pieces(self, entry: CheckRow) -> None:
        """Add that a column and the argument of its function are on one of the pieces."""
        ((argument,),) = entry.cases
        cases = []
        pieces = list(itertools.pairwise(entry.points))
        for position, ((left, low), (right, high)) in enumerate(pieces):
            slope = (high - low) / (right - left)
            terms = {name: slope * value for name, value in argument.terms.items()}
            # The argument is its terms minus its right-hand side.
            on_piece = replace(argument, terms=terms, rhs=slope * (argument.rhs + left) - low, relation="=")
            rows = [_minus_column(on_piece, entry.name)]
            if position:
                rows.append(replace(argument, rhs=argument.rhs + left, relation=">="))
            if position < len(pieces) - 1:
                rows.append(replace(argument, rhs=argument.rhs + right, relation="<="))
            cases.append(tuple(rows))
        self._add_choice(replace(entry, cases=tuple(cases)))

    def _add_choice(self, entry: CheckRow) -> None:
        switches = []
        for case in entry.cases:
            switch = Variable(f"{SWITCH} {len(self.switches) + 1}", 0, 1, VariableKind.INTEGER)
            self.switches.append(switch)
            switches.append(switch.name)
            for row in case:
                if row.products or row.relation not in RELATIONS:
                    raise ModellingError(f'the check {quoted(entry.name)} with "any" has rows that are not linear')
                relation = RELATIONS[row.relation]
                name = self._name(entry.name)
                self.indicators.append(Indicator(name, switch.name, True, row.terms, relation, row.rhs))
        name = self._name(entry.name)
        self.rows.append(Row(name, dict.fromkeys(switches, 1.0), Relation.AT_LEAST, 1, entry.sentence))

    def _name(self, proposed: str) -> str:
        name = proposed = proposed or "check"
        while name in self.taken:
            name = f"{proposed} ({len(self.taken) + 1})"
        self.taken.add(name)
        return name


def _minus_column(row: CheckRow, column: str) -> CheckRow:
    """Return the row of a value minus a column."""
    return replace(row, terms={**row.terms, column: row.terms.get(column, 0.0) - 1.0})


def overlap_choices(entry: CheckRow) -> Iterator[CheckRow]:
    """Yield for each two tasks that one ends before the other begins, or that one does not take place."""
    for first, second in itertools.combinations(entry.cases, 2):
        cases = [(_before(first, second),), (_before(second, first),)]
        # A presence is at most 0, as its value is 0 or 1.
        cases += [(replace(task[2], relation="<="),) for task in (first, second) if len(task) > 2]
        yield replace(entry, relation=ANY, cases=tuple(cases))


def _task_intervals(entries: Sequence[CheckRow]) -> Iterator[PlanInterval]:
    """Yield the tasks of a fixed duration of which no two may overlap; the rows of each pair say the same."""
    for position, entry in enumerate(entries):
        for start, duration, *presence in entry.cases if entry.relation == NO_OVERLAP else ():
            conditions = {name: value for row in presence for name, value in row.terms.items()}
            # A presence without a column is a figure of the data, such as 0.
            is_column = all(set(row.terms.values()) == {1.0} and not row.rhs for row in presence)
            if duration.terms or not is_column:
                continue
            begin, end = (TimeExpression(start.terms, -start.rhs - size) for size in (0.0, duration.rhs))
            yield PlanInterval("", begin, end, f"check {position}", conditions, is_exclusive=True)


def _before(first: Sequence[CheckRow], second: Sequence[CheckRow]) -> CheckRow:
    """Return the row: start plus duration of a task is at most the start of another."""
    terms = dict(first[0].terms)
    for sign, part in ((1.0, first[1]), (-1.0, second[0])):
        for name, value in part.terms.items():
            terms[name] = terms.get(name, 0.0) + sign * value
    rhs = first[0].rhs + first[1].rhs - second[0].rhs
    return replace(first[0], terms=terms, rhs=rhs, relation="<=")


def find_counterexample(
    milp: IndexedModel,
    solution: Solution,
    entries: Sequence[CheckRow],
    columns: Collection[str],
    limit_s: float,
    *,
    solver: str = "",
    threads: int = 1,
) -> ModelComparison:
    """Compare a solved model of a program with a checker's rows.

    Raises:
        ModellingError: The rows do not make a model.
    """
    aims = state_aims(milp, solution, entries)
    checks = checker_milp(milp, entries, columns, aims)
    # For a program without a point, checks must not have less freedom than their rows state.
    has_point = solution.status.has_point
    whole = {variable.name for variable in milp.variable_records if variable.is_integer and has_point}
    # CP-SAT solves checks that have cases and whole figures.
    native = (
        solve_with_cp_sat(checks, whole, limit_s, threads, 0.0, list(_task_intervals(entries))) if not solver else None
    )
    answer = native or _solve_checks(checks, limit_s, solver, threads)
    if answer.status.has_point:
        values = {name: value for name, value in answer.values.items() if name in columns}
        answer = replace(answer, values=values)
    comparison = _compare_answers(milp, solution, checks, answer, limit_s, entries)
    return replace(comparison, aims=aims, compared_aims=_count_compared(milp, aims))


def _solve_checks(checks: IndexedModel, limit_s: float, solver: str, threads: int) -> Solution:
    """Solve the model of checks."""
    try:
        return solve_model(checks, limit_s, solver=solver, threads=threads)
    except ModellingError:
        if not solver:
            raise
    # The checks may be of another class than the model.
    return solve_model(checks, limit_s, threads=threads)


def _count_compared(milp: IndexedModel, aims: Sequence[StatedAim]) -> int:
    """Return the number of the most important aims of the program that a checker states."""
    objectives = staged_objectives(milp)
    count = len(objectives)
    if not aims and objectives[0].is_empty:
        return count
    if count == 1:
        return 1 if aims else 0
    stated = {aim.aim for aim in aims}
    return next((position for position in range(count) if position not in stated), count)


def _compare_answers(
    milp: IndexedModel,
    solution: Solution,
    checks: IndexedModel,
    answer: Solution,
    limit_s: float,
    entries: Sequence[CheckRow],
) -> ModelComparison:
    if answer.status is SolveStatus.UNKNOWN or solution.status is SolveStatus.UNKNOWN:
        return ModelComparison(Ruling.UNDECIDED)
    if answer.status is SolveStatus.FEASIBLE:
        if solution.status.has_point:
            return _against_incumbent(milp, solution, checks, answer, entries, limit_s)
        return ModelComparison(Ruling.UNDECIDED)
    if solution.status is SolveStatus.UNBOUNDED:
        return replace(_against_unbounded(milp, checks, answer), proven=True)
    if solution.status is SolveStatus.INFEASIBLE:
        return replace(_against_infeasible(milp, checks, answer, limit_s), proven=True)
    return replace(_against_optimum(milp, solution, checks, answer, entries, limit_s), proven=True)


def _choose_objective(
    milp: IndexedModel, entries: Sequence[CheckRow], columns: Collection[str], aims: Sequence[StatedAim]
) -> tuple[Objective, Sense, ModelFeatures[str]]:
    """Return the last objective of the checker; earlier ones are goals of higher priority.

    If the program has more aims, those count that the checker states without leaving out a more important one: with a
    free hand in an aim that the checker does not state, its plan would be better in all that follow.
    """
    stated = [entry for entry in entries if entry.relation in SENSES]
    objectives = staged_objectives(milp)
    if len(stated) < len(objectives) and len(objectives) > 1:
        entry_of = {aim.aim: entry for aim, entry in zip(aims, stated, strict=True)}
        stated = [entry_of[position] for position in range(_count_compared(milp, aims))]
    if stated:
        last = stated[-1]
        if any(entry.products for entry in stated[:-1]):
            raise ModellingError("only the last of several objectives may have products")
        goals = tuple(
            FurtherObjective(
                f"objective {position + 1}",
                entry.terms,
                SENSES[entry.relation],
                -entry.rhs,
                priority=len(stated) - position,
                slack=entry.room_share,
                slack_amount=entry.room,
            )
            for position, entry in enumerate(stated[:-1])
        )
        features = ModelFeatures[str](quadratic=last.expression.quadratic, goals=goals)
        return Objective(last.terms, -last.rhs), SENSES[last.relation], features
    if len(objectives) == 1 and set(milp.objective_record.terms) <= set(columns):
        return milp.objective_record, milp.sense, ModelFeatures(quadratic=milp.named_features.quadratic)
    return Objective(), milp.sense, ModelFeatures()


def _compare_objectives(
    milp: IndexedModel, checks: IndexedModel, point: Mapping[str, float], best: Mapping[str, float]
) -> _ObjectiveGap:
    """Compare two points by the first objective of the checks whose values differ, or by the last one.

    Values of an objective with room do not differ within it.
    """
    slacks = itertools.chain((objective.slack for objective in staged_objectives(milp)), itertools.repeat(0.0))
    share = BETTER if checks.is_purely_linear else BETTER_NONLINEAR
    for objective, slack in zip(staged_objectives(checks), slacks, strict=False):
        value, best_value = objective.at(point), objective.at(best)
        gap = _ObjectiveGap(value, best_value, objective.sense, share * _scale_of(best_value), slack)
        better = min(value, best_value, key=lambda figure: objective.sense.sign * figure)
        if abs(gap.gain) > gap.tolerance + objective.room(better):
            break
    return gap


def _scale_of(value: float) -> float:
    """Return the size to which differences of a value are relative."""
    return max(1.0, abs(value))


def _against_incumbent(
    milp: IndexedModel,
    solution: Solution,
    checks: IndexedModel,
    answer: Solution,
    entries: Sequence[CheckRow],
    limit_s: float,
) -> ModelComparison:
    """Compare the program's point with the bound of a model of checks whose optimum is not proven."""
    point = {name: value for name, value in solution.values.items() if name in answer.values}
    point, best = (add_derived(values, entries) for values in (point, answer.values))
    gap = _compare_objectives(milp, checks, point, best)
    if gap.gain > gap.tolerance + gap.slack and solution.status is SolveStatus.OPTIMAL:
        why = f"breaks no check and is better ({number(gap.best)} against {number(gap.value)})"
        return _report_forbidden(milp, checks, answer, why)
    if checks.named_features.goals:
        return ModelComparison(Ruling.UNDECIDED, within=_possible_gain(checks, point, limit_s))
    if answer.bound is None:
        return ModelComparison(Ruling.UNDECIDED)
    value = staged_objectives(checks)[-1].at(point)
    better = max(0.0, checks.sense.sign * (value - answer.bound))
    return ModelComparison(Ruling.UNDECIDED, within=better / _scale_of(value))


def _possible_gain(checks: IndexedModel, point: Mapping[str, float], limit_s: float) -> float | None:
    """Return the relative amount by which a point of the checks can be better in the first aim that differs.

    Each aim is bounded with more important ones held at the program's values. The result is the largest amount of all
    aims; None if an aim has no bound.
    """
    deadline, rows, largest = time.monotonic() + limit_s, list(checks.row_records), 0.0
    objectives = staged_objectives(checks)
    for position, objective in enumerate(objectives):
        seconds = (deadline - time.monotonic()) / (len(objectives) - position)
        if seconds <= 0:
            return None
        stage = checks.with_records(
            rows=tuple(rows),
            objective=Objective(objective.terms, objective.constant),
            sense=objective.sense,
            features=replace(checks.named_features, goals=(), quadratic=objective.quadratic),
        )
        bound, value = solve_model(stage, seconds).bound, objective.at(point)
        if bound is None:
            return None
        gain = objective.sense.sign * (value - bound)
        largest = max(largest, gain / _scale_of(value))
        rows.append(objective.hold(f"aim {position + 1} of the program", value, BETTER * _scale_of(value)))
    return largest


def _against_optimum(
    milp: IndexedModel,
    solution: Solution,
    checks: IndexedModel,
    answer: Solution,
    entries: Sequence[CheckRow],
    limit_s: float,
) -> ModelComparison:
    assert solution.objective is not None
    if answer.status is SolveStatus.UNBOUNDED:
        direction = ray(checks) or {}
        stops = [row.name for row in milp.row_records if _stops_direction(row, direction)]
        reason = "by the checks the objective improves without end, and the program stops it" + _name_list(stops)
        return ModelComparison(Ruling.FORBIDS, reason, tuple(stops))
    if answer.status is SolveStatus.INFEASIBLE:
        names = _conflict_names(checks)
        return ModelComparison(Ruling.ALLOWS, NO_POINT + _name_list(names), names)
    point = {name: value for name, value in solution.values.items() if name in answer.values}
    point, best = (add_derived(values, entries) for values in (point, answer.values))
    if taken := _find_excess(checks, point, entries, limit_s):
        return ModelComparison(Ruling.ALLOWS, taken)
    gap = _compare_objectives(milp, checks, point, best)
    if abs(gap.gain) <= gap.tolerance:
        if costs := _different_costs(milp, checks):
            return ModelComparison(Ruling.OBJECTIVE, costs[1], costs[0], answer.values, answer.objective)
        return ModelComparison(Ruling.AGREES, values=answer.values, objective=answer.objective)
    if abs(gap.gain) <= gap.tolerance + gap.slack:
        reason = (
            f"the program lets an aim be {number(gap.slack)} from its best for the sake of later ones, which the "
            "checker does not allow, so that a better plan may exist"
        )
        return ModelComparison(Ruling.UNDECIDED, reason)
    if gap.gain > gap.tolerance:
        # The program may allow a better point that its solver did not find.
        if solution.status is SolveStatus.FEASIBLE and _may_reach(milp, solution, checks, answer, gap.tolerance):
            return ModelComparison(Ruling.UNDECIDED)
        why = f"breaks no check and is better ({number(gap.best)} against {number(gap.value)})"
        return _report_forbidden(milp, checks, answer, why)
    # The point has no values for the binary variables of cases.
    of_switches = {row.name for row in checks.row_records if next(iter(row.terms), "").startswith(SWITCH)}
    names = tuple(breach.name for breach in breaches(checks, point) if breach.name not in of_switches)
    return ModelComparison(Ruling.ALLOWS, "the program's solution breaks checks" + _name_list(names), names, point)


def _find_excess(checks: IndexedModel, point: Mapping[str, float], entries: Sequence[CheckRow], limit_s: float) -> str:
    """Return a sentence on the first aim of which a point gives up more than the checker allows; empty without one."""
    *objectives, _ = staged_objectives(checks)
    rows, deadline = list(checks.row_records), time.monotonic() + limit_s
    if not any(objective.slack or objective.share for objective in objectives):
        return ""
    for position, objective in enumerate(objectives):
        stage = checks.with_records(
            rows=tuple(rows),
            objective=Objective(objective.terms, objective.constant),
            sense=objective.sense,
            features=replace(checks.named_features, goals=(), quadratic=()),
        )
        seconds = deadline - time.monotonic()
        best = solve_model(stage, seconds).objective if seconds > 0 else None
        if best is None:
            return ""
        room, tolerance = objective.room(best), BETTER_NONLINEAR * _scale_of(best)
        lost = objective.sense.sign * (objective.at(point) - best)
        if room and lost > room + tolerance:
            terms = {column: value for column, value in objective.terms.items() if value}
            name = next(
                entry.name
                for entry in entries
                if entry.relation in SENSES and {key: value for key, value in entry.terms.items() if value} == terms
            )
            return (
                f"the program gives up {number(lost)} of {quoted(name)}, whose best is {number(best)}, and the checker "
                f"allows {number(room)}"
            )
        rows.append(objective.hold(f"aim {position + 1} of the checks", best, room + tolerance))
    return ""


def _may_reach(
    milp: IndexedModel, solution: Solution, checks: IndexedModel, answer: Solution, tolerance: float
) -> bool:
    """Return True if the bound of the program's model allows an objective as good as that of the checks."""
    assert answer.objective is not None
    if solution.bound is None:
        return True
    reach = solution.bound if checks.sense is milp.sense else -solution.bound
    return checks.sense.sign * (reach - answer.objective) <= tolerance


def _against_infeasible(milp: IndexedModel, checks: IndexedModel, answer: Solution, limit_s: float) -> ModelComparison:
    if answer.status is SolveStatus.INFEASIBLE:
        return ModelComparison(Ruling.AGREES, "the checks have no point either")
    if answer.status is SolveStatus.UNBOUNDED:
        answer = solve_model(_without_objective(checks), limit_s)
    return _report_forbidden(milp, checks, answer, "breaks no check, and the program has no point at all")


def _without_objective(checks: IndexedModel) -> IndexedModel:
    features = replace(checks.named_features, quadratic=(), goals=())
    return checks.with_records(objective=Objective(), features=features)


def _against_unbounded(milp: IndexedModel, checks: IndexedModel, answer: Solution) -> ModelComparison:
    if answer.status is SolveStatus.UNBOUNDED:
        return ModelComparison(Ruling.AGREES, "by the checks the objective improves without end too")
    if answer.status is SolveStatus.INFEASIBLE:
        names = _conflict_names(checks)
        return ModelComparison(Ruling.ALLOWS, NO_POINT + _name_list(names), names)
    direction = ray(milp) or {}
    names = tuple(row.name for row in checks.row_records if _stops_direction(row, direction))
    run = ", ".join(f"{quoted(name)} by {number(step)}" for name, step in list(direction.items())[:MAX_NAMED])
    reason = f"the program's objective improves without end ({run}); the checks stop that{_name_list(names)}"
    return ModelComparison(Ruling.ALLOWS, reason, names)


def _different_costs(milp: IndexedModel, checks: IndexedModel) -> tuple[tuple[str, ...], str] | None:
    """Return columns whose objective coefficients differ, and a sentence about them, or None.

    Objectives over different columns may be equal through the rows, so only those over the same columns are compared.
    """
    if not (milp.is_purely_linear and checks.is_purely_linear):
        return None
    ours, theirs = (
        {name: value for name, value in model.objective_record.terms.items() if value} for model in (milp, checks)
    )
    if ours.keys() != theirs.keys() or milp.sense is not checks.sense:
        return None
    names = tuple(name for name, value in ours.items() if abs(value - theirs[name]) > BETTER * abs(theirs[name]))
    parts = [f"{quoted(name)} has {number(ours[name])}, by the checks {number(theirs[name])}" for name in names]
    if names:
        return (names, f"in the program's objective {'; '.join(parts[:MAX_NAMED])}")
    return None


def _report_forbidden(milp: IndexedModel, checks: IndexedModel, answer: Solution, why: str) -> ModelComparison:
    """Return a point that the program forbids and the rows that forbid it, or the objective that ranks it lower."""
    if len(answer.values) == milp.shape[1]:
        broken = breaches(milp, answer.values)
        names = tuple(dict.fromkeys(breach.name for breach in broken))
        how = "; ".join(breach.sentence for breach in broken[:MAX_NAMED])
    else:
        names = _conflict_names(_fix_values(milp, answer.values))
        how = ", ".join(map(quoted, names[:MAX_NAMED]))
    point = _describe_point(answer.values)
    if not names and (costs := _different_costs(milp, checks)):
        reason = f"the point {point} {why}; {costs[1]}"
        return ModelComparison(Ruling.OBJECTIVE, reason, costs[0], answer.values, answer.objective)
    reason = f"the point {point} {why}; the program forbids it: {how or 'its objective differs'}"
    return ModelComparison(Ruling.FORBIDS, reason, names, answer.values, answer.objective)


def _describe_point(values: Mapping[str, float]) -> str:
    """Describe nonzero values in the order of the model, and the number of those omitted."""
    used = [f"{plain(name)} = {number(value)}" for name, value in values.items() if abs(value) > NOISE]
    hidden, zeros = len(used) - MAX_NAMED, len(values) - len(used)
    if not used:
        return "with every value at 0"
    more = [f"{hidden} more not at 0"] if hidden > 0 else []
    if zeros:
        more.append(f"{zeros} other{'s' if zeros > 1 else ''} at 0")
    return ", ".join(used[:MAX_NAMED]) + (f" (and {', '.join(more)})" if more else "")


def _fix_values(milp: IndexedModel, values: Mapping[str, float]) -> IndexedModel:
    variables = list(milp.variable_records)
    for position, variable in enumerate(variables):
        if variable.name in values:
            variables[position] = replace(variable, low=values[variable.name], high=values[variable.name])
    return milp.with_records(variables=tuple(variables))


def _conflict_names(milp: IndexedModel) -> tuple[str, ...]:
    arrays = milp.to_staged_arrays()
    rows, columns = milp.flat_row_names, milp.flat_variable_names
    try:
        return part_names(arrays, find_conflict(arrays, CONFLICT_S).parts, rows, columns)
    except ModellingError:
        return ()


def _stops_direction(row: Row, direction: Mapping[str, float]) -> bool:
    """Return True if a row limits a step in a direction."""
    step = sum(value * direction.get(name, 0.0) for name, value in row.terms.items())
    size = sum(abs(value * direction.get(name, 0.0)) for name, value in row.terms.items())
    over = {Relation.AT_MOST: step, Relation.AT_LEAST: -step, Relation.EQUAL: abs(step)}[row.relation]
    return over > NOISE * max(1.0, size)


def _name_list(names: Sequence[str]) -> str:
    if names:
        return f" by {', '.join(map(quoted, names[:MAX_NAMED]))}"
    return ""


def match_sentences(milp: IndexedModel, checks: Sequence[CheckRow]) -> dict[str, str]:
    """Return the sentence of the equal check, up to a scale factor, by the name of the row."""
    sentence_of = {
        form: check.sentence
        for check in reversed(checks)
        if check.sentence
        and check.relation in RELATIONS
        and (form := scale_row(check.terms, RELATIONS[check.relation], check.rhs, DIGITS)) is not None
    }
    forms = {row.name: scale_row(row.terms, row.relation, row.rhs, DIGITS) for row in milp.row_records}
    return {name: sentence_of[form] for name, form in forms.items() if form in sentence_of}

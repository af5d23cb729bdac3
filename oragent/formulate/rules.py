"""Compare rules one by one: each check over the program's model, and each row of the model over the checks.

A rule that is missing, reversed or added need not change the optimum of the given data. Therefore its largest violation
over all plans of the other side is computed.
"""

import itertools
import math
import time
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

import numpy as np

from oragent._base.errors import ModellingError
from oragent.formulate.model_class import ANY, LARGEST, NO_OVERLAP, PIECES, solve_model
from oragent.formulate.model_comparison import (
    RELATIONS,
    SENSES,
    CheckRow,
    ChecksBuilder,
    checker_milp,
    overlap_choices,
)
from oragent.modelling.data.features import QuadraticRow, QuadraticTerm
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.model_records import Objective, Row, Variable, scale_row
from oragent.modelling.data.model_values import INFINITY, Relation, Sense, VariableKind
from oragent.modelling.data.solution import SolveStatus

# Largest violation that counts as none, relative to max(1, |right-hand side|).
TOLERANCE = 1e-5
# Digits to which rows are compared after scaling.
DIGITS = 9
# Maximum number of rules that are solved for, on each side.
MAX_RULES = 400
# Largest value of the column of a violation, so that the search has an end.
MAX_VIOLATION = 1e7
# Relation of a check that a value is a whole number.
WHOLE = "integer"
# Column that is maximised.
VIOLATION = "violation of a rule"
# Seconds of one rule at most.
EACH_S = 5.0


class RuleOutcome(StrEnum):
    """Result of comparing a rule with the other side."""

    HOLDS = "holds"
    MISSING = "missing in the model"
    ADDED = "only in the model"
    # The other side has no such rule, but with these data no plan comes near it.
    NOT_DECIDED = "not decided by these data"
    # The search did not end in time, or the rule has a form without such a search.
    NOT_COMPARED = "not compared"


@dataclass(frozen=True)
class RuleComparison:
    """A rule and its largest violation over the plans of the other side.

    Attributes:
        amount: Largest violation; None without one, infinite without a limit.
        sentence: Sentence of the problem; may be empty.
    """

    name: str
    outcome: RuleOutcome
    amount: float | None = None
    sentence: str = ""

    @property
    def text(self) -> str:
        """The comparison in words, without the name of the rule."""
        if self.amount is None:
            return str(self.outcome)
        size = "without limit" if math.isinf(self.amount) else f"by up to {self.amount:.6g}"
        if self.outcome is RuleOutcome.MISSING:
            return f"{self.outcome}: may be violated {size}"
        return f"{self.outcome}: the problem as checked allows violations {size}"


def read_rules(checks: Mapping[str, Any] | None) -> tuple[RuleComparison, ...]:
    """Return the rules in the plain data of checks."""
    plain = (checks or {}).get("rules", ())
    return tuple(RuleComparison(**{**rule, "outcome": RuleOutcome(rule["outcome"])}) for rule in plain)


def describe_rule(rule: RuleComparison) -> dict[str, Any]:
    """Return a rule as plain data for JSON, which has no infinite numbers."""
    amount = None if rule.amount is None or math.isinf(rule.amount) else rule.amount
    return {
        "name": rule.name,
        "sentence": rule.sentence,
        "outcome": str(rule.outcome),
        "amount": amount,
        "text": rule.text,
    }


@dataclass(frozen=True)
class _Side:
    """``terms + products <= rhs``; a plan violates it by the difference."""

    terms: Mapping[str, float]
    rhs: float
    products: tuple[QuadraticTerm[str], ...] = ()


def compare_rules(
    milp: IndexedModel, entries: Sequence[CheckRow], columns: Collection[str], limit_s: float
) -> tuple[RuleComparison, ...]:
    """Compare the rules of a checker with the rows of a model.

    Args:
        milp: The model.
        entries: Entries of the checker.
        columns: Columns of the model that the checker knows.
        limit_s: Seconds for all rules together; those that are not reached are not compared.
    """
    deadline = time.monotonic() + limit_s
    # Aims are no rules; a checker may state fewer of them than the model has.
    checks = checker_milp(milp, [entry for entry in entries if entry.relation not in SENSES], columns)
    plain = checks.with_records(objective=Objective(), features=replace(checks.named_features, goals=(), quadratic=()))
    model = _with_definitions(milp, entries)
    rules = list(_check_rules(model, entries, deadline))
    stated = {form for entry in entries for form in _forms(entry.terms, RELATIONS.get(entry.relation), entry.rhs)}
    rules += _row_rules(milp, plain, _list_used(entries) & set(columns), stated, deadline)
    return tuple(rules)


def _list_used(entries: Sequence[CheckRow]) -> set[str]:
    """Return the columns in any entry, also in its cases."""
    used: set[str] = set()
    for entry in entries:
        used.update((name for name, value in entry.terms.items() if value), *entry.products)
        used |= _list_used([row for case in entry.cases for row in case])
    return used


def _with_definitions(milp: IndexedModel, entries: Sequence[CheckRow]) -> IndexedModel:
    """Return the model without objectives, with the columns that stand for maxima and pieces of the checker."""
    builder = ChecksBuilder()
    for entry in entries:
        if entry.relation in (LARGEST, PIECES):
            builder.add(entry)
            builder.derived.append(Variable(entry.name, -INFINITY, INFINITY))
    features = replace(milp.named_features, goals=(), quadratic=())
    features = replace(features, indicators=(*features.indicators, *builder.indicators))
    return milp.with_records(
        variables=(*milp.variable_records, *builder.derived, *builder.switches),
        rows=(*milp.row_records, *builder.rows),
        objective=Objective(),
        features=features,
    )


def _check_rules(model: IndexedModel, entries: Sequence[CheckRow], deadline: float) -> Iterator[RuleComparison]:
    forms = {form for row in model.row_records for form in _forms(row.terms, row.relation, row.rhs)}
    bounds = {variable.name: variable for variable in model.variable_records}
    solved = 0
    for entry in entries:
        if entry.relation == WHOLE:
            yield _judge_whole(model, entry, deadline)
            continue
        if entry.relation in (LARGEST, PIECES) or (
            entry.relation not in RELATIONS and entry.relation not in (ANY, NO_OVERLAP)
        ):
            continue
        is_linear = entry.relation in RELATIONS and not any(entry.products.values())
        sides = list(_sides(entry.terms, RELATIONS[entry.relation], entry.rhs)) if is_linear else []
        if is_linear and (
            not any(entry.terms.values())
            or set(_forms(entry.terms, RELATIONS[entry.relation], entry.rhs)) & forms
            or all(_is_bound(side, bounds) for side in sides)
        ):
            yield RuleComparison(entry.name, RuleOutcome.HOLDS, sentence=entry.sentence)
            continue
        solved += 1
        if solved > MAX_RULES:
            yield RuleComparison(entry.name, RuleOutcome.NOT_COMPARED, sentence=entry.sentence)
            continue
        alternatives = _alternatives(entry)
        worst: float | None = -math.inf
        for choice in alternatives or ():
            violation = _largest_violation(model, choice, deadline)
            worst = None if violation is None or worst is None else max(worst, violation)
        yield _judge_check(entry, None if alternatives is None else worst)


def _judge_check(entry: CheckRow, worst: float | None) -> RuleComparison:
    size = TOLERANCE * max(1.0, abs(entry.rhs))
    if worst is None:
        return RuleComparison(entry.name, RuleOutcome.NOT_COMPARED, sentence=entry.sentence)
    if worst > size:
        return RuleComparison(entry.name, RuleOutcome.MISSING, worst, entry.sentence)
    outcome = RuleOutcome.NOT_DECIDED if worst < -size else RuleOutcome.HOLDS
    return RuleComparison(entry.name, outcome, sentence=entry.sentence)


def _row_rules(
    milp: IndexedModel,
    checks: IndexedModel,
    columns: Collection[str],
    stated: Collection[tuple[object, ...]],
    deadline: float,
) -> Iterator[RuleComparison]:
    """Yield the rows of the model that the checks do not state, if the checks use all of their columns.

    A column that no check uses, such as the case of an alternative, is free in the checks. A row with it can then be
    violated without limit, although it only serves to express a rule of the checks.
    """
    solved = 0
    every: list[Row | QuadraticRow[str]] = [*milp.row_records, *milp.named_features.quadratic_rows]
    for row in every:
        products = row.quadratic if isinstance(row, QuadraticRow) else ()
        meaning = row.meaning if isinstance(row, Row) else ""
        if not products and (not row.terms or set(_forms(row.terms, row.relation, row.rhs)) & set(stated)):
            continue
        terms = {name: value for name, value in row.terms.items() if value}
        used = {*terms, *(name for term in products for name in (term.first, term.second))}
        if not used <= set(columns):
            yield RuleComparison(row.name, RuleOutcome.NOT_COMPARED, sentence=meaning)
            continue
        solved += 1
        violations = [
            _largest_violation(checks, [side], deadline) if solved <= MAX_RULES else None
            for side in _sides(terms, row.relation, row.rhs, products)
        ]
        if None in violations:
            yield RuleComparison(row.name, RuleOutcome.NOT_COMPARED, sentence=meaning)
            continue
        worst = max(violation for violation in violations if violation is not None)
        if worst > TOLERANCE * max(1.0, abs(row.rhs)):
            yield RuleComparison(row.name, RuleOutcome.ADDED, worst, meaning)


def _judge_whole(model: IndexedModel, entry: CheckRow, deadline: float) -> RuleComparison:
    """Compare a rule that a value is a whole number, by the largest distance from one over the plans of the model."""
    if any(entry.products.values()):
        return RuleComparison(entry.name, RuleOutcome.NOT_COMPARED, sentence=entry.sentence)
    columns = {variable.name: variable for variable in model.variable_records}
    terms = {name: value for name, value in entry.terms.items() if value}
    loose = {name for name in terms if name in columns and not columns[name].is_integer}
    is_whole = all(float(value).is_integer() for value in (entry.rhs, *terms.values()))
    if is_whole and (not loose or has_whole_vertices(model)):
        return RuleComparison(entry.name, RuleOutcome.HOLDS, sentence=entry.sentence)
    taken = set(columns)
    whole = next(name for name in (f"whole part {number}" for number in itertools.count()) if name not in taken)
    wider = model.with_records(
        variables=(*model.variable_records, Variable(whole, -INFINITY, INFINITY, VariableKind.INTEGER))
    )
    # The distance to the whole number below, and to that above.
    below = _Side({**terms, whole: -1.0}, entry.rhs)
    above = _Side({**{name: -value for name, value in terms.items()}, whole: 1.0}, -1.0 - entry.rhs)
    worst = _largest_violation(wider, [below, above], deadline)
    return _judge_check(replace(entry, rhs=0.0), None if worst is None else max(worst, 0.0))


def has_whole_vertices(model: IndexedModel) -> bool:
    """Return True if the continuous columns are whole at a vertex wherever the integer ones are fixed.

    This is so for a linear model with whole figures whose rows have a totally unimodular matrix by the condition of
    Heller and Tompkins (1956): entries 0, 1 and -1, at most two in each column, and a division of the rows in two parts
    such that two entries of a column are in one part exactly if their signs differ. The same holds for its transpose.
    """
    arrays = model.to_staged_arrays()
    figures = np.concatenate([arrays.low, arrays.high, arrays.matrix.values, model.rhs_values])
    if arrays.features or not (np.round(figures) == figures).all():
        return False
    matrix = arrays.matrix
    is_loose = (matrix.values != 0) & ~arrays.integer[matrix.columns]
    rows, columns, values = (part[is_loose].tolist() for part in (matrix.row_indices, matrix.columns, matrix.values))
    if any(abs(value) != 1 for value in values):
        return False
    entries, by_column = list(zip(rows, columns, values, strict=True)), list(zip(columns, rows, values, strict=True))
    return _can_be_divided(entries) or _can_be_divided(by_column)


def _can_be_divided(entries: Sequence[tuple[Hashable, Hashable, float]]) -> bool:
    """Return True if the lines of a matrix can be divided as Heller and Tompkins ask.

    Args:
        entries: Line, crossing line and sign of each entry.
    """
    crosses: dict[Hashable, list[tuple[Hashable, float]]] = {}
    for line, cross, value in entries:
        crosses.setdefault(cross, []).append((line, value))
    neighbours: dict[Hashable, list[tuple[Hashable, bool]]] = {line: [] for line, _, _ in entries}
    for members in crosses.values():
        if len(members) > 2:
            return False
        if len(members) == 2:
            (first, one), (second, other) = members
            neighbours[first].append((second, one != other))
            neighbours[second].append((first, one != other))
    parts: dict[Hashable, bool] = {}
    for start in neighbours:
        if start in parts:
            continue
        parts[start], waiting = True, [start]
        while waiting:
            line = waiting.pop()
            for neighbour, is_same in neighbours[line]:
                part = parts[line] == is_same
                if neighbour not in parts:
                    parts[neighbour] = part
                    waiting.append(neighbour)
                elif parts[neighbour] != part:
                    return False
    return True


def _sides(
    terms: Mapping[str, float], relation: Relation, rhs: float, products: tuple[QuadraticTerm[str], ...] = ()
) -> Iterator[_Side]:
    if relation is not Relation.AT_LEAST:
        yield _Side(terms, rhs, products)
    if relation is not Relation.AT_MOST:
        opposite = tuple(replace(term, value=-term.value) for term in products)
        yield _Side({name: -value for name, value in terms.items()}, -rhs, opposite)


def _forms(terms: Mapping[str, float], relation: Relation | None, rhs: float) -> Iterator[tuple[object, ...]]:
    form = None if relation is None else scale_row(terms, relation, rhs, DIGITS)
    if form is not None:
        yield form


def _is_bound(side: _Side, variables: Mapping[str, Variable]) -> bool:
    """Return True if a rule about a single column is a bound of it, or follows from one."""
    used = [(name, value) for name, value in side.terms.items() if value]
    if len(used) != 1 or used[0][0] not in variables:
        return False
    name, value = used[0]
    extreme = variables[name].high if value > 0 else variables[name].low
    return value * extreme <= side.rhs + TOLERANCE * max(1.0, abs(side.rhs))


def _alternatives(entry: CheckRow) -> list[list[_Side]] | None:
    """Return for each way of violating a rule the sides that are violated together; None for another form."""
    if entry.relation in RELATIONS:
        products = entry.expression.quadratic
        return [[side] for side in _sides(entry.terms, RELATIONS[entry.relation], entry.rhs, products)]
    choices = [entry] if entry.relation == ANY else list(overlap_choices(entry))
    ways: list[list[_Side]] = []
    for choice in choices:
        together = []
        for case in choice.cases:
            sides = [side for row in case for side in _sides(row.terms, RELATIONS[row.relation], row.rhs)]
            if len(sides) != 1 or any(row.products for row in case):
                return None
            together += sides
        ways.append(together)
    return ways


def _largest_violation(model: IndexedModel, sides: Sequence[_Side], deadline: float) -> float | None:
    """Return the largest amount by which a plan of a model violates all sides; None if it is not known.

    Minus infinity if the model has no plan, and infinite without a limit.
    """
    seconds = min(EACH_S, deadline - time.monotonic())
    if seconds <= 0:
        return None
    taken = set(model.flat_row_names)
    rows, quadratic_rows = [], list(model.named_features.quadratic_rows)
    for number, side in enumerate(sides):
        name, terms = f"{VIOLATION} {number}", {**side.terms, VIOLATION: -1.0}
        while name in taken:
            name += "'"
        if side.products:
            quadratic_rows.append(QuadraticRow(name, terms, side.products, Relation.AT_LEAST, side.rhs))
        else:
            rows.append(Row(name, terms, Relation.AT_LEAST, side.rhs))
    column = Variable(VIOLATION, -MAX_VIOLATION, MAX_VIOLATION)
    problem = model.with_records(
        variables=(*model.variable_records, column),
        rows=(*model.row_records, *rows),
        objective=Objective({VIOLATION: 1.0}),
        sense=Sense.MAXIMIZE,
        features=replace(model.named_features, quadratic_rows=tuple(quadratic_rows)),
    )
    try:
        solution = solve_model(problem, seconds)
    except ModellingError:
        return None
    if solution.status is SolveStatus.INFEASIBLE:
        return -math.inf
    if solution.status is SolveStatus.OPTIMAL and solution.objective is not None:
        return math.inf if solution.objective >= MAX_VIOLATION * (1 - 1e-9) else solution.objective
    if solution.status is SolveStatus.FEASIBLE and solution.objective is not None and solution.objective > 1.0:
        return solution.objective
    return None

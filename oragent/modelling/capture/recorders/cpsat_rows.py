"""Rows for constraints of CP-SAT on intervals, maxima and differences, with binary variables for their cases.

Each form is exact for bounded integer variables. For cumulative resources, at the start of each task the running tasks
must need at most the capacity.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from oragent.modelling.capture.snapshot import Snapshot

# Maximum number of pairs of tasks or expressions, over all constraints of a model.
MAX_PAIRS = 20_000
# Kinds of constraints that make a model a schedule.
SCHEDULING = ("interval", "no_overlap", "cumulative")

# Function that writes a row with name, terms, lower limit, upper limit and conditions. Conditions are references to
# literals.
WriteRow = Callable[[str, dict[int, float], float, float, list[int]], None]


@dataclass(frozen=True)
class Affine:
    """A linear expression of columns."""

    terms: dict[int, float]
    constant: float = 0.0

    @classmethod
    def read(cls, expression: Any) -> "Affine":
        """Read an expression of CP-SAT."""
        return cls.sum(expression.vars, expression.coeffs, float(expression.offset))

    @classmethod
    def sum(cls, references: Iterable[int], factors: Iterable[float], constant: float = 0.0) -> "Affine":
        """Return a sum of references. A negative reference is one minus its variable."""
        terms: dict[int, float] = {}
        for reference, value in zip(references, map(float, factors), strict=False):
            column, factor = (reference, value) if reference >= 0 else (~reference, -value)
            constant += value if reference < 0 else 0.0
            terms[column] = terms.get(column, 0.0) + factor
        return cls(terms, constant)

    def minus(self, other: "Affine") -> "Affine":
        """Return the difference of two expressions."""
        terms = dict(self.terms)
        for column, value in other.terms.items():
            terms[column] = terms.get(column, 0.0) - value
        return Affine({column: value for column, value in terms.items() if value}, self.constant - other.constant)

    def at(self, values: Sequence[float]) -> float:
        """Return the value at a point."""
        return self.constant + sum(size * values[column] for column, size in self.terms.items())


@dataclass(frozen=True)
class Task:
    """An interval: start, end, and the literals that make it present."""

    start: Affine
    end: Affine
    conditions: list[int]


class CaseWriter:
    """Writes constraints with cases into a snapshot.

    Args:
        snapshot: Snapshot with the columns of the model.
        write_row: Function that writes a row which holds if all its conditions hold.
    """

    def __init__(self, snapshot: Snapshot, write_row: WriteRow) -> None:
        self._snapshot, self._write_row = snapshot, write_row
        self._pairs = 0
        # Functions that compute the value of each added column at a point, in the order of the columns.
        self.cases: list[Callable[[Sequence[float]], bool]] = []

    def write_interval(self, name: str, constraint: Any) -> None:
        """Write the row: start plus size equals end."""
        interval = constraint.interval
        start, size, end = map(Affine.read, (interval.start, interval.size, interval.end))
        self._write(name, end.minus(start).minus(size), 0.0, 0.0, list(constraint.enforcement_literal))

    def write_no_overlap(self, name: str, tasks: Sequence[Task]) -> None:
        """Write that no two tasks take place at the same time."""
        if not self._has_room(len(tasks)):
            return
        for first, second in combinations(tasks, 2):
            both = [*first.conditions, *second.conditions]
            before = second.start.minus(first.end)
            order = self._add_case(lambda point, before=before: before.at(point) >= 0)
            self._write(name, before, 0.0, math.inf, [order, *both])
            self._write(name, first.start.minus(second.end), 0.0, math.inf, [~order, *both])

    def write_cumulative(self, name: str, constraint: Any, tasks: Sequence[Task]) -> None:
        """Write that the tasks running at any time need at most the capacity."""
        capacity = Affine.read(constraint.capacity)
        demands = [Affine.read(demand) for demand in constraint.demands]
        if any(demand.terms for demand in demands):
            self._snapshot.missing.append("cumulative resources with variable demands")
            return
        # A task without a duration needs nothing.
        lasting = [place for place, task in enumerate(tasks) if task.end.minus(task.start) != Affine({})]
        tasks, demands = [tasks[place] for place in lasting], [demands[place] for place in lasting]
        if not self._has_room(2 * len(tasks)):
            return
        for at, task in enumerate(tasks):
            terms = dict(capacity.minus(demands[at]).terms)
            for other, running in enumerate(tasks):
                if other != at and demands[other].constant:
                    case = self._write_running(name, task, running)
                    terms[case] = terms.get(case, 0.0) - demands[other].constant
            room = demands[at].constant - capacity.constant
            self._write_row(name, terms, room, math.inf, task.conditions)

    def _write_running(self, name: str, task: Task, running: Task) -> int:
        """Return a column that is 1 if the second task runs at the start of the first one."""
        over = task.start.minus(running.end)
        later = running.start.minus(task.start)
        both = [*task.conditions, *running.conditions]

        def is_running(point: Sequence[float]) -> bool:
            return over.at(point) < 0 and later.at(point) < 1 and all(_holds(literal, point) for literal in both)

        ended = self._add_case(lambda point: over.at(point) >= 0)
        begins = self._add_case(lambda point: later.at(point) >= 1)
        runs = self._add_case(is_running)
        self._write(name, over, 0.0, math.inf, [ended])
        self._write(name, later, 1.0, math.inf, [begins])
        self._write_row(name, {ended: 1.0, begins: 1.0, runs: 1.0}, 1.0, math.inf, both)
        return runs

    def write_largest(self, name: str, constraint: Any) -> None:
        """Write that the target is the largest of some expressions."""
        conditions = list(constraint.enforcement_literal)
        target = Affine.read(constraint.lin_max.target)
        cases = {}
        for expression in map(Affine.read, constraint.lin_max.exprs):
            over = target.minus(expression)
            self._write(name, over, 0.0, math.inf, conditions)
            case = self._add_case(lambda point, over=over: over.at(point) <= 0)
            self._write(name, over, -math.inf, 0.0, [case, *conditions])
            cases[case] = 1.0
        self._write_row(name, cases, 1.0, math.inf, conditions)

    def write_different(self, name: str, constraint: Any) -> None:
        """Write that no two expressions have the same value."""
        expressions = list(map(Affine.read, constraint.all_diff.exprs))
        if not self._has_room(len(expressions)):
            return
        for first, second in combinations(expressions, 2):
            over = first.minus(second)
            more = self._add_case(lambda point, over=over: over.at(point) > 0)
            self._write(name, over, 1.0, math.inf, [more])
            self._write(name, over, -math.inf, -1.0, [~more])

    def _write(self, name: str, expression: Affine, low: float, high: float, conditions: list[int]) -> None:
        """Write limits of an expression, without limits that always hold."""
        if not expression.terms and low <= expression.constant <= high:
            return
        self._write_row(name, expression.terms, low - expression.constant, high - expression.constant, conditions)

    def _add_case(self, holds: Callable[..., bool]) -> int:
        self.cases.append(holds)
        return self._snapshot.add_column(f"case_{len(self.cases)}", 0, 1, True)

    def _has_room(self, count: int) -> bool:
        self._pairs += math.comb(count, 2)
        if self._pairs > MAX_PAIRS:
            self._snapshot.missing.append(f"constraints on more than {MAX_PAIRS:,} pairs")
        return self._pairs <= MAX_PAIRS


def _holds(literal: int, point: Sequence[float]) -> bool:
    """Return True if a literal is true at a point. A negative reference is a negated variable."""
    return bool(point[literal]) if literal >= 0 else not point[~literal]

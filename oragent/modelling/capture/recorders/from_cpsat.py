"""Recorder of CP-SAT. Linear, Boolean and scheduling constraints become rows; others are reported as missing."""

import math
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import repeat
from typing import Any

from oragent.modelling.capture.recorder import Recorder, package_version
from oragent.modelling.capture.recorders.cpsat_rows import SCHEDULING, Affine, CaseWriter, Task
from oragent.modelling.capture.snapshot import Snapshot

# Larger limits of a domain count as unbounded.
UNBOUNDED = 10**15
# Maximum number of threads if the program does not choose one.
MAX_WORKERS = 8
KIND_NAMES = """
    bool_or bool_and at_most_one exactly_one bool_xor int_div int_mod int_prod lin_max linear all_diff element circuit
    routes table automaton inverse reservoir interval no_overlap no_overlap_2d cumulative dummy_constraint
"""
KINDS = tuple(KIND_NAMES.split())
Case = Callable[[Sequence[float]], bool]


def install(module: Any, recorder: Recorder) -> None:
    """Watch solves, variables and constraints."""
    version = package_version(module, "ortools")
    adders = [name for name in dir(module.CpModel) if name.startswith(("new_", "NewInt", "NewBool"))]
    recorder.watch_additions(module.CpModel, adders, "columns", lambda model: len(model.proto.variables))
    adders = [name for name in dir(module.CpModel) if name.startswith(("add", "Add")) and "hint" not in name.lower()]
    recorder.watch_additions(module.CpModel, adders, "rows", lambda model: len(model.proto.constraints))

    # Cases of the added columns, by model.
    cases: dict[int, list[Case]] = {}

    def snapshot(solver: Any, model: Any, *arguments: Any, **named: Any) -> Snapshot:
        cases[id(model)] = []
        _limit(solver, recorder)
        return _snapshot(module, model, version, recorder, cases[id(model)])

    def claim(result: Any, solver: Any, model: Any, *arguments: Any, **named: Any) -> tuple[str, float | None, Any]:
        status = str(solver.status_name(result)).lower()
        if status not in ("optimal", "feasible"):
            return status, None, None
        objective = solver.objective_value if model.has_objective() else 0.0
        point = list(map(float, solver.response_proto.solution))
        return status, objective, [*point, *(float(case(point)) for case in cases.get(id(model), ()))]

    recorder.watch_solve(module.CpSolver, ("solve", "Solve"), version, snapshot, claim)


def _limit(solver: Any, recorder: Recorder) -> None:
    """Limit a solve to the remaining time and the gap of the run, and to one thread if others may not start."""
    parameters = solver.parameters
    if recorder.is_confined:
        parameters.num_workers = 1
    elif not parameters.num_workers:
        parameters.num_workers = min(MAX_WORKERS, os.cpu_count() or 1)
    seconds = recorder.remaining_s(parameters.num_workers)
    parameters.max_time_in_seconds = min(parameters.max_time_in_seconds, seconds)
    if recorder.gap is not None:
        parameters.relative_gap_limit = recorder.gap


@dataclass(frozen=True)
class ReadConstraints:
    """Columns and rows of a model of CP-SAT."""

    snapshot: Snapshot
    # Position of the constraint of each row.
    origins: list[int]
    # Cases of the added columns.
    cases: list[Case]


def read_constraints(proto: Any, version: str) -> ReadConstraints:
    """Write the variables, the objective and the constraints of a model as columns and rows."""
    snapshot = Snapshot(version, str(proto.name))
    for variable in proto.variables:
        domain = list(variable.domain)
        if len(domain) != 2:
            snapshot.missing.append("variables whose domains have gaps")
        snapshot.add_column(variable.name, _bound(domain[0]), _bound(domain[1]), True)
    _read_objective(snapshot, proto)
    writer = _RowWriter(snapshot, proto)
    origins: list[int] = []
    for number, constraint in enumerate(proto.constraints):
        before = len(snapshot.rows)
        writer.write(constraint)
        origins += [number] * (len(snapshot.rows) - before)
    snapshot.intervals = _read_intervals(proto)
    snapshot.missing = list(dict.fromkeys(snapshot.missing))
    return ReadConstraints(snapshot, origins, writer.cases)


def _snapshot(module: Any, model: Any, version: str, recorder: Recorder, cases: list[Case]) -> Snapshot:
    read = read_constraints(model.proto, version)
    snapshot = read.snapshot
    cases.extend(read.cases)
    places = recorder.places.rows.pop(id(model), {})
    recorder.places.rows[id(model)] = {row: places[at] for row, at in enumerate(read.origins) if at in places}

    def find_column(value: Any) -> int | None:
        if not isinstance(value, module.IntVar) or not 0 <= value.index < len(snapshot.columns):
            return None
        return int(value.index) if snapshot.columns[value.index] == value.name else None

    filled = recorder.fill_keys(snapshot, model, find_column, None)
    recorder.places.rows[id(model)] = places
    return filled


def _read_intervals(proto: Any) -> list[dict[str, Any]]:
    """Return the intervals, with the first machine or resource that each needs."""
    lanes: dict[int, str] = {}
    exclusive: set[int] = set()
    numbers = {"no_overlap": 0, "cumulative": 0}
    for constraint in proto.constraints:
        kind = next((name for name in numbers if getattr(constraint, f"has_{name}")()), "")
        if kind:
            numbers[kind] += 1
            lane = str(constraint.name) or f"{'machine' if kind == 'no_overlap' else 'resource'} {numbers[kind]}"
            for place in getattr(constraint, kind).intervals:
                if place not in lanes:
                    lanes[place] = lane
                    exclusive |= {place} if kind == "no_overlap" and not constraint.enforcement_literal else set()
    intervals = []
    for place, constraint in enumerate(proto.constraints):
        if constraint.has_interval():
            start, end = (Affine.read(side) for side in (constraint.interval.start, constraint.interval.end))
            literals = [int(literal) for literal in constraint.enforcement_literal]
            intervals.append(
                {
                    "name": str(constraint.name),
                    "start": asdict(start),
                    "end": asdict(end),
                    "lane": lanes.get(place, ""),
                    "is_exclusive": place in exclusive,
                    "conditions": {literal if literal >= 0 else ~literal: float(literal >= 0) for literal in literals},
                }
            )
    return intervals


def _read_objective(snapshot: Snapshot, proto: Any) -> None:
    if proto.has_floating_point_objective():
        goal = proto.floating_point_objective
        snapshot.maximize, snapshot.constant = bool(goal.maximize), float(goal.offset)
        for column, value in zip(goal.vars, goal.coeffs, strict=True):
            snapshot.cost[column] += float(value)
    elif proto.has_objective():
        goal = proto.objective
        scale = float(goal.scaling_factor) or 1.0
        snapshot.maximize, snapshot.constant = scale < 0, scale * float(goal.offset)
        for column, value in zip(goal.vars, goal.coeffs, strict=True):
            snapshot.cost[column] += scale * float(value)


class _RowWriter:
    """Writes constraints as rows over the columns of a snapshot."""

    def __init__(self, snapshot: Snapshot, proto: Any) -> None:
        self._snapshot, self._proto = snapshot, proto
        self._cases = CaseWriter(snapshot, self._write_row)

    @property
    def cases(self) -> list[Case]:
        """Cases of the columns that were added."""
        return self._cases.cases

    def write(self, constraint: Any) -> None:
        """Write the rows of a constraint, or report it as missing."""
        kind = next((name for name in KINDS if getattr(constraint, f"has_{name}")()), "")
        conditions = list(constraint.enforcement_literal)
        name = str(constraint.name)
        if kind == "linear":
            self._write_linear(name, constraint.linear, conditions)
        elif kind == "bool_or":
            # At least one literal is true, or at least one condition is false.
            literals = [*constraint.bool_or.literals, *(~literal for literal in conditions)]
            self._write_literals(name, literals, 1.0, math.inf)
        elif kind == "bool_and":
            for literal in constraint.bool_and.literals:
                self._write_literals(name, [literal, *(~condition for condition in conditions)], 1.0, math.inf)
        elif kind in ("at_most_one", "exactly_one") and not conditions:
            low = 1.0 if kind == "exactly_one" else -math.inf
            self._write_literals(name, getattr(constraint, kind).literals, low, 1.0)
        elif kind:
            self._write_cases(name or kind, kind, constraint)

    def _write_cases(self, name: str, kind: str, constraint: Any) -> None:
        """Write a constraint with cases."""
        if kind in SCHEDULING:
            self._snapshot.is_schedule = True
        if kind == "interval":
            self._cases.write_interval(name, constraint)
        elif kind == "no_overlap":
            self._cases.write_no_overlap(name, self._tasks(constraint.no_overlap.intervals))
        elif kind == "cumulative":
            self._cases.write_cumulative(name, constraint.cumulative, self._tasks(constraint.cumulative.intervals))
        elif kind == "lin_max":
            self._cases.write_largest(name, constraint)
        elif kind == "all_diff":
            self._cases.write_different(name, constraint)
        else:
            self._snapshot.missing.append(f"{kind} constraints")

    def _tasks(self, places: Iterable[int]) -> list[Task]:
        tasks = []
        for constraint in (self._proto.constraints[place] for place in places):
            start, end = Affine.read(constraint.interval.start), Affine.read(constraint.interval.end)
            tasks.append(Task(start, end, list(constraint.enforcement_literal)))
        return tasks

    def _write_literals(self, name: str, literals: Iterable[int], low: float, high: float) -> None:
        total = Affine.sum(literals, repeat(1.0))
        self._snapshot.add_row(name, total.terms, low - total.constant, high - total.constant)

    def _write_linear(self, name: str, linear: Any, conditions: list[int]) -> None:
        domain = list(linear.domain)
        if len(domain) != 2:
            self._snapshot.missing.append("linear constraints whose domains have gaps, such as !=")
            return
        terms = Affine.sum(linear.vars, linear.coeffs).terms
        self._write_row(name, terms, _bound(domain[0]), _bound(domain[1]), conditions)

    def _write_row(self, name: str, terms: dict[int, float], low: float, high: float, conditions: list[int]) -> None:
        """Write a row that holds if all conditions hold."""
        if not conditions:
            self._snapshot.add_row(name, terms, low, high)
            return
        least, most = self._range(terms)
        for bound, extreme, is_upper in ((high, most, True), (low, least, False)):
            if math.isinf(bound):
                continue
            if math.isinf(extreme):
                self._snapshot.missing.append("conditional rows over unbounded variables")
                return
            self._write_conditional(name, terms, bound, extreme, conditions, is_upper)

    def _write_conditional(
        self, name: str, terms: dict[int, float], bound: float, extreme: float, conditions: list[int], is_upper: bool
    ) -> None:
        """Write a row that holds if all conditions hold. Each false condition relaxes it up to the extreme value."""
        room = extreme - bound
        if (room if is_upper else -room) <= 0:
            # The row always holds.
            return
        # The row written is: terms - room * sum(1 - condition) <= bound.
        row = Affine(terms).minus(Affine.sum((~condition for condition in conditions), repeat(room)))
        limit = bound - row.constant
        self._snapshot.add_row(name, row.terms, *((-math.inf, limit) if is_upper else (limit, math.inf)))

    def _range(self, terms: dict[int, float]) -> tuple[float, float]:
        least = most = 0.0
        for column, value in terms.items():
            ends = value * self._snapshot.low[column], value * self._snapshot.high[column]
            least += min(ends)
            most += max(ends)
        return least, most


def _bound(value: int) -> float:
    return math.copysign(math.inf, value) if abs(value) >= UNBOUNDED else float(value)

"""Recorder of PuLP 3 and 4. HiGHS takes the place of every solver, as no process can be started."""

import math
import sys
import warnings
from collections.abc import Mapping
from typing import Any

from oragent.milp.capture.recorder import Recorder, package_version
from oragent.milp.capture.snapshot import MemberKey, Snapshot
from oragent.milp.capture.tables import flat_key, label_text

# Variable that PuLP adds to an objective without terms.
DUMMY = "__dummy"
# PuLP's signs of relations.
LESS, GREATER = -1, 1
MAKERS = {
    "LpVariable": ("dicts", "dict", "matrix"),
    "LpProblem": ("add_variable_dicts", "add_variable_dict", "add_variable_matrix"),
}


def install(pulp: Any, recorder: Recorder) -> None:
    """Watch solvers, families of variables, and constraints."""
    version = package_version(pulp)
    keys: dict[str, MemberKey] = {}
    for owner, methods in MAKERS.items():
        for name in methods:
            _watch_families(getattr(pulp, owner), name, keys, recorder)
    _watch_single_variables(pulp, recorder)
    recorder.watch_additions(pulp.LpProblem, ("addConstraint", "addInPlace"), "rows", _count_rows)

    def solve(self: Any, problem: Any, *arguments: Any, **named: Any) -> Any:
        is_mixed = getattr(self, "mip", True) is not False
        number = recorder.record(version, lambda: _snapshot(problem, version, is_mixed, recorder, keys))
        with recorder.quiet():
            solver = pulp.HiGHS(mip=is_mixed, msg=bool(getattr(self, "msg", False)), **_limits(self, recorder))
            status = solve_with_highs(solver, problem)
        recorder.claim(number, lambda: _claim(pulp, problem))
        return status

    solve_with_highs = pulp.HiGHS.actualSolve
    solver_class: Any
    for solver_class in _subclasses(pulp.LpSolver):
        if "actualSolve" in vars(solver_class):
            solver_class.actualSolve = solve
        solver_class.available = lambda self: True
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == "pulp" and vars(module).get("LpSolverDefault", pulp) is None:
            module.LpSolverDefault = pulp.HiGHS(msg=False)  # type: ignore[attr-defined]  # PuLP 4 may have none


def _limits(solver: Any, recorder: Recorder) -> dict[str, Any]:
    requested = getattr(solver, "timeLimit", None)
    seconds = recorder.remaining_s()
    if isinstance(requested, int | float) and not isinstance(requested, bool):
        seconds = min(seconds, float(requested))
    gap = (getattr(solver, "optionsDict", None) or {}).get("gapRel")
    return {"timeLimit": seconds} | ({} if gap is None else {"gapRel": gap})


def _subclasses(owner: Any) -> list[Any]:
    found = [owner]
    for subclass in owner.__subclasses__():
        found += _subclasses(subclass)
    return found


def _watch_families(owner: Any, name: str, keys: dict[str, MemberKey], recorder: Recorder) -> None:
    original: Any = getattr(owner, name, None)
    if original is None:
        return

    def make(self: Any, name: str, *arguments: Any, **named: Any) -> Any:
        indices = named.pop("indices", None)
        if indices is None and arguments:
            indices, arguments = arguments[0], arguments[1:]
        elif indices is None:
            indices = named.pop("indexs", None)
        if isinstance(indices, tuple):
            indices = tuple(_as_list(index) for index in indices)
        else:
            indices = _as_list(indices)
        # Only inner calls pass the start of an index.
        with recorder.quiet():
            made = original(self, name, indices, *arguments, **named)
        if not recorder.is_quiet:
            family = name.partition("%")[0].rstrip("_")
            lists = indices if isinstance(indices, tuple) else (indices,)
            _note_members(family, made, lists, (), keys)
        return made

    if isinstance(vars(owner).get(name), classmethod):
        original = original.__func__
        setattr(owner, name, classmethod(make))
    else:
        setattr(owner, name, make)


def _as_list(index: Any) -> Any:
    return index if index is None or isinstance(index, list | range | Mapping) else list(index)


def _note_members(family: str, made: Any, lists: Any, key: tuple[Any, ...], keys: dict[str, MemberKey]) -> None:
    if isinstance(made, Mapping):
        for label, item in made.items():
            _note_members(family, item, lists[1:], (*key, *flat_key(label)), keys)
    elif isinstance(made, list):
        for label, item in zip(lists[0], made, strict=False):
            _note_members(family, item, lists[1:], (*key, *flat_key(label)), keys)
    else:
        keys[made.name] = (family, [label_text(label) for label in key], "framework")


def _watch_single_variables(pulp: Any, recorder: Recorder) -> None:
    """Note where variables are made one by one; their position is known at the solve, by name."""
    original = pulp.LpVariable.__init__
    places = recorder.places.named_columns

    def make(self: Any, *arguments: Any, **named: Any) -> None:
        original(self, *arguments, **named)
        place = None if recorder.is_quiet else recorder.places.current_place()
        if place is not None:
            places[self.name] = place

    pulp.LpVariable.__init__ = make


def _count_rows(problem: Any) -> int:
    rows = problem.constraints
    return len(rows() if callable(rows) else rows)


def _snapshot(
    problem: Any, version: str, is_mixed: bool, recorder: Recorder, keys: Mapping[str, MemberKey]
) -> Snapshot:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plain = problem.to_dict() if hasattr(problem, "to_dict") else problem.toDict()
    constant = 0.0 if problem.objective is None else float(getattr(problem.objective, "constant", 0.0) or 0.0)
    snapshot = Snapshot(version, str(problem.name or ""), problem.sense == -1, constant)
    if plain.get("sos1") or plain.get("sos2"):
        snapshot.missing.append("special-ordered sets")
    column_of: dict[str, int] = {}
    for entry in plain["variables"]:
        low = -math.inf if entry["lowBound"] is None else entry["lowBound"]
        high = math.inf if entry["upBound"] is None else entry["upBound"]
        if entry["name"] == DUMMY:
            continue
        if entry["cat"] == "Binary":
            low, high = max(low, 0), min(high, 1)
        integer = is_mixed and entry["cat"] != "Continuous"
        column_of[entry["name"]] = snapshot.add_column(entry["name"], low, high, integer)
    for term in plain["objective"]["coefficients"]:
        if term["name"] in column_of:
            snapshot.cost[column_of[term["name"]]] += float(term["value"])
    for at, row in enumerate(plain["constraints"]):
        terms: dict[int, float] = {}
        for term in row["coefficients"]:
            if term["name"] in column_of:
                column = column_of[term["name"]]
                terms[column] = terms.get(column, 0.0) + float(term["value"])
        rhs = -float(row["constant"] or 0.0)
        low = -math.inf if row["sense"] == LESS else rhs
        high = math.inf if row["sense"] == GREATER else rhs
        snapshot.add_row(str(row["name"] or f"_C{at + 1}"), terms, low, high)
    return _with_keys(snapshot, problem, recorder, keys, column_of)


def _with_keys(
    snapshot: Snapshot,
    problem: Any,
    recorder: Recorder,
    keys: Mapping[str, MemberKey],
    column_of: Mapping[str, int],
) -> Snapshot:
    by_name = recorder.places.named_columns
    recorder.places.columns[id(problem)] = {
        column: by_name[name] for name, column in column_of.items() if name in by_name
    }

    def find_column(value: Any) -> int | None:
        return column_of.get(value.name) if type(value).__name__ == "LpVariable" else None

    given = {column: keys[name] for name, column in column_of.items() if name in keys}
    return recorder.fill_keys(snapshot, problem, find_column, None, (given, {}))


def _claim(pulp: Any, problem: Any) -> tuple[str, float | None, list[Any] | None]:
    variables = [variable for variable in problem.variables() if variable.name != DUMMY]
    values = [variable.varValue for variable in variables]
    status = pulp.LpStatus.get(problem.status, str(problem.status))
    if any(value is None for value in values):
        return status, None, None
    objective = None if problem.objective is None else pulp.value(problem.objective)
    return status, objective, values

"""Recorder of gurobipy."""

import math
from typing import Any

from oragent.modelling.capture.recorder import Recorder, find_by_index
from oragent.modelling.capture.recorders.gurobi_features import add_features
from oragent.modelling.capture.snapshot import MemberKey, Snapshot, without_huge
from oragent.modelling.capture.tables import flat_key, label_text

STATUSES = {2: "optimal", 3: "infeasible", 4: "infeasible or unbounded", 5: "unbounded", 9: "time limit"}
# Attributes that count parts which are not captured.
NOT_CAPTURED = {"NumPWLObjVars": "a piecewise linear objective", "NumScenarios": "scenarios"}


def install(gurobipy: Any, recorder: Recorder) -> None:
    """Watch solves, families of variables and of constraints."""
    version = f"gurobipy {'.'.join(map(str, gurobipy.gurobi.version()))}"
    model_class = gurobipy.Model
    families: dict[int, list[tuple[str, str, Any]]] = {}
    watched = type("Model", (model_class,), {"__doc__": model_class.__doc__, "__module__": model_class.__module__})
    _watch_adders(watched, model_class, families, recorder)

    def snapshot(model: Any, *arguments: Any) -> Snapshot:
        return _snapshot(gurobipy, model, version, recorder, families.get(id(model), []))

    def optimize(self: Any, *arguments: Any) -> Any:
        if recorder.is_quiet:
            return model_class.optimize(self, *arguments)
        self.update()
        recorder.last_model = self
        number = recorder.record(version, lambda: snapshot(self))
        with recorder.quiet():
            self.Params.Threads = self.Params.Threads or 1
            self.Params.TimeLimit = min(self.Params.TimeLimit, recorder.remaining_s(self.Params.Threads))
            if recorder.gap is not None:
                self.Params.MIPGap = recorder.gap
            result = model_class.optimize(self, *arguments)
        recorder.claim(number, lambda: _claim(self))
        return result

    watched.optimize = optimize  # type: ignore[attr-defined]
    gurobipy.Model = watched


def _watch_adders(
    watched: Any, model_class: Any, families: dict[int, list[tuple[str, str, Any]]], recorder: Recorder
) -> None:
    def watch(name: str, kind: str) -> None:
        original = getattr(model_class, name)

        def add(self: Any, *arguments: Any, **named: Any) -> Any:
            made = original(self, *arguments, **named)
            if recorder.is_quiet:
                return made
            label = named.get("name")
            if label is None and name in ("addConstr", "addConstrs", "addLConstr") and isinstance(arguments[-1], str):
                label = arguments[-1]
            families.setdefault(id(self), []).append((kind, label if isinstance(label, str) else "", made))
            recorder.places.note_object(kind, made)
            return made

        setattr(watched, name, add)

    for name in ("addVar", "addVars", "addMVar"):
        watch(name, "columns")
    for name in ("addConstr", "addConstrs", "addLConstr", "addMConstr"):
        watch(name, "rows")


def _snapshot(
    gurobipy: Any, model: Any, version: str, recorder: Recorder, families: list[tuple[str, str, Any]]
) -> Snapshot:
    snapshot = Snapshot(version, model.ModelName or "", model.ModelSense == -1, float(model.ObjCon))
    snapshot.missing += [what for attribute, what in NOT_CAPTURED.items() if getattr(model, attribute, None)]
    for variable in model.getVars():
        low, high = without_huge(variable.LB), without_huge(variable.UB)
        if variable.VType == "B":
            low, high = max(low, 0.0), min(high, 1.0)
        column = snapshot.add_column(_name(variable, "VarName"), low, high, variable.VType in "BIN", variable.Obj)
        if variable.VType in "SN":
            snapshot.add_feature("semi_continuous", variable=column)
    add_features(gurobipy, model, snapshot)
    matrix = model.getA().tocsr()
    for row in model.getConstrs():
        snapshot.rows.append(_name(row, "ConstrName"))
        snapshot.row_low.append(-math.inf if row.Sense == "<" else row.RHS)
        snapshot.row_high.append(math.inf if row.Sense == ">" else row.RHS)
    snapshot.starts, snapshot.indices = matrix.indptr.tolist(), matrix.indices.tolist()
    snapshot.values = matrix.data.tolist()
    snapshot.missing = list(dict.fromkeys(snapshot.missing))

    given: dict[str, dict[int, MemberKey]] = {"columns": {}, "rows": {}}
    find = {"columns": find_by_index(gurobipy.Var), "rows": find_by_index(gurobipy.Constr)}
    held = {id(value) for scope in recorder.places.variable_scopes() for value in list(scope.values())}
    for kind, name, made in families:
        if not name and id(made) not in held:
            # There is no other source of names for these members.
            name = recorder.places.line_name(kind, made)
        _take_family(given[kind], find[kind], name, made)
        recorder.places.place_object(kind, model, made, find[kind])
    _add_matrix_containers(recorder, gurobipy, given, find)
    for names, letter in ((snapshot.columns, "C"), (snapshot.rows, "R")):
        for at, name in enumerate(names):
            if name == f"{letter}{at}":
                names[at] = ""
    recorder.fill_keys(snapshot, model, find["columns"], find["rows"], (given["columns"], given["rows"]))
    snapshot.columns = [name or f"C{at}" for at, name in enumerate(snapshot.columns)]
    snapshot.rows = [name or f"R{at}" for at, name in enumerate(snapshot.rows)]
    return snapshot


def _take_family(given: dict[int, MemberKey], find: Any, name: str, made: Any) -> None:
    """Read the keys of a ``tupledict`` or matrix that has a name."""
    if not name:
        return
    if isinstance(made, dict):
        for key, member in made.items():
            position = find(member)
            if position is not None and position >= 0:
                given[position] = (name, [label_text(part) for part in flat_key(key)], "framework")
    elif hasattr(made, "tolist") and getattr(made, "ndim", False):
        _take_nested(given, find, name, made.tolist(), ())


def _take_nested(given: dict[int, MemberKey], find: Any, name: str, item: Any, key: tuple[int, ...]) -> None:
    if isinstance(item, list):
        for at, part in enumerate(item):
            _take_nested(given, find, name, part, (*key, at))
        return
    position = find(item)
    if position is not None and position >= 0:
        given[position] = (name, list(map(str, key)), "framework")


def _add_matrix_containers(recorder: Recorder, gurobipy: Any, given: Any, find: Any) -> None:
    """Read matrices without a name from the program's variables."""
    kinds = (("columns", getattr(gurobipy, "MVar", ())), ("rows", getattr(gurobipy, "MConstr", ())))
    for scope in recorder.places.variable_scopes():
        for name, value in list(scope.items()):
            for kind, matrix_class in kinds:
                if matrix_class and isinstance(value, matrix_class) and value.ndim:
                    members: dict[int, MemberKey] = {}
                    _take_nested(members, find[kind], name, value.tolist(), ())
                    if not members.keys() & given[kind].keys():
                        given[kind].update(members)


def _name(member: Any, attribute: str) -> str:
    """Return a name; empty for a name that gurobipy made of labels with accents and cannot decode."""
    try:
        return str(getattr(member, attribute))
    except UnicodeDecodeError:
        return ""


def _claim(model: Any) -> tuple[str, float | None, list[float] | None]:
    status = STATUSES.get(model.Status, f"status {model.Status}")
    if not model.SolCount:
        return status, None, None
    # With several objectives, the value belongs to another objective than the snapshot's first one.
    objective = None if model.NumObj > 1 else float(model.ObjVal)
    return status, objective, model.getAttr("X", model.getVars())

"""Call an untrusted program in its own process, and record the models that it solves.

The recorders of ``oragent.modelling.capture`` read models of PuLP, Pyomo, gurobipy, highspy, and OR-Tools. All results
of this module are claims: the evaluator solves the recorded model again.
"""

import json
import time
from collections.abc import Callable, Mapping
from importlib import import_module
from types import ModuleType
from typing import Any

from oragent.modelling.capture.hooks import install_hooks
from oragent.modelling.capture.recorder import POINT, Recorder
from oragent.modelling.capture.recorders import from_pulp
from oragent.modelling.capture.sandbox_script import CAPTURE, LIBRARIES

# Relative gap. HiGHS's own default is 1e-4, which is too wide for an optimum.
GAP = 1e-9
# Maximum number of models; the last ones are kept.
MAX_MODELS = 8
DEPTH = 8
# With this folder, no frame counts as the program's. Its models need no families, because their names are those of the
# returned values.
NO_FOLDER = "\0"
# Prefix of a returned column that is known by its position in the model instead of its name.
POSITION = "\0"
RECORDER = Recorder(None, NO_FOLDER, 0.0, is_confined=True)
# Modules that a program may import later, by the modules with their recorders. PuLP is recorded from the start.
RECORDERS = {
    library: import_module(f"{CAPTURE}.recorders.{name}") for library, name in LIBRARIES.items() if library != "pulp"
}
# PuLP's expressions are dicts of coefficients.
PULP_EXPRESSION = "LpAffineExpression"
RETURNED = "return numbers, texts, variables of the model, lists and dicts"


def watch_pulp(pulp: ModuleType) -> None:
    """Replace PuLP's solvers and unclear errors. Call this function once, before the process forks."""
    from_pulp.install(pulp, RECORDER)


def run_program(function: Callable[..., Any], arguments: list[Any], limit_s: float, gap: float) -> str:
    """Call the program.

    Args:
        function: Function of the program.
        arguments: Arguments of the call.
        limit_s: CPU seconds of the program's solves, which then return the best point.
        gap: Relative gap at which these solves stop.

    Returns:
        JSON: ``returned`` (numbers; None for variables), ``columns`` (the same with names or positions of variables
        instead of numbers; a value returned under its variable's name counts as that variable), ``models`` (the last
        recorded models as texts), ``objectives`` (that the solvers returned, one for each model), ``variables`` (bounds
        and kind of returned variables of PuLP, which drops a variable that no row or objective mentions).
    """
    RECORDER.begin(time.process_time() + limit_s, max(gap, GAP), NO_FOLDER)
    install_hooks({library: _installer(module) for library, module in RECORDERS.items()})
    returned = function(*arguments)
    names = sorted(name for name in RECORDER.files if not name.endswith(POINT))[-MAX_MODELS:]
    points = [_read_point(name) for name in names]
    reader = _ReturnedReader(_last_point(names, points))
    values, columns = reader.split(returned, DEPTH)
    models = [RECORDER.files[name] for name in names]
    objectives = [point.get("objective") for point in points]
    parts = {"models": models, "objectives": objectives, "variables": reader.variables}
    return json.dumps({"returned": values, "columns": columns, **parts})


def _installer(module: ModuleType) -> Callable[[ModuleType], None]:
    return lambda library: module.install(library, RECORDER)


def _read_point(name: str) -> dict[str, Any]:
    """Return the recorded answer of a solver to a model; empty without one."""
    text = RECORDER.files.get(name.removesuffix(".json") + POINT)
    point: dict[str, Any] = json.loads(text) if text else {}
    return point


def _last_point(names: list[str], points: list[dict[str, Any]]) -> dict[str, float]:
    """Return the values of the last model's columns by name."""
    if not names:
        return {}
    columns = json.loads(RECORDER.files[names[-1]])["columns"]
    return dict(zip(columns, points[-1].get("values") or (), strict=False))


class _ReturnedReader:
    """Splits a returned value into numbers and columns.

    Args:
        point: Values of the last model's columns by name.
    """

    def __init__(self, point: Mapping[str, float]) -> None:
        self._point = point
        # Bounds and kind of the returned variables of PuLP by name.
        self.variables: dict[str, dict[str, Any]] = {}

    def split(self, value: Any, depth: int) -> tuple[Any, Any]:
        """Return the numbers, and the columns of the variables."""
        if depth < 0:
            raise ValueError("the returned value is nested too deeply: return a dict of variables")
        column = self._column_of(value)
        if column is not None:
            return None, column
        if type(value).__name__ == PULP_EXPRESSION:
            return _expression_value(value), None
        if isinstance(value, Mapping) or _is_indexed(value):
            pairs = {_key_text(key): self._split_item(_key_text(key), item, depth) for key, item in value.items()}
            return {key: pair[0] for key, pair in pairs.items()}, {key: pair[1] for key, pair in pairs.items()}
        if isinstance(value, list | tuple):
            items = [self.split(item, depth - 1) for item in value]
            return [item[0] for item in items], [item[1] for item in items]
        if value is None or isinstance(value, bool | int | float | str):
            return value, None
        if hasattr(value, "tolist"):
            return self.split(value.tolist(), depth - 1)
        return _expression_value(value), None

    def _split_item(self, name: str, value: Any, depth: int) -> tuple[Any, Any]:
        """Split an item of a dict; a value under the name of its variable is that variable."""
        column = name if name in self._point else name.replace(" ", "_")
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if is_number and self._point.get(column) == value:
            return value, column
        return self.split(value, depth - 1)

    def _column_of(self, value: Any) -> str | None:
        """Return the name of a variable, or its position; None for other values."""
        library, kind = type(value).__module__.partition(".")[0], type(value).__name__
        if library == "pulp" and kind == "LpVariable":
            bounds = {"lowBound": value.lowBound, "upBound": value.upBound}
            self.variables[value.name] = {"name": value.name, **bounds, "cat": value.cat}
            return str(value.name)
        if library == "pyomo" and not _is_indexed(value) and _says(value, "is_variable_type"):
            return str(value.name)
        if (library, kind) in (("gurobipy", "Var"), ("highspy", "highs_var"), ("ortools", "IntVar")):
            return f"{POSITION}{value.index}"
        if library == "ortools" and kind == "Variable":
            # MathOpt's variables have an id, those of the linear solver an index.
            return f"{POSITION}{value.id if hasattr(value, 'id') else value.index()}"
        return None


def _is_indexed(value: Any) -> bool:
    """Return True for a family of Pyomo's variables."""
    return type(value).__module__.startswith("pyomo.") and _says(value, "is_indexed")


def _says(value: Any, question: str) -> bool:
    answer = getattr(value, question, None)
    return bool(answer()) if callable(answer) else False


def _expression_value(value: Any) -> float | None:
    """Return the value of an expression."""
    for name in ("value", "getValue"):
        compute = getattr(value, name, None)
        if callable(compute):
            result = compute()
            return None if result is None else float(result)
    if type(value).__module__.startswith("pyomo.") and callable(value):
        return float(value())
    raise TypeError(f"a {type(value).__name__} was returned: {RETURNED}")


def _key_text(key: Any) -> str:
    if isinstance(key, tuple):
        return ",".join(map(str, key))
    return str(key)

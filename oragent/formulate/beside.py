"""What runs beside a stranger's program, in its own process: capture the models that it solves, and its values.

It runs in reach of the program, so what it returns is a claim; the evaluator solves the captured model again.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any

import pulp

from oragent.formulate.symbols import Affine, symbolic

__all__ = ["bring_solver", "check_numbers", "check_symbols", "solve"]

CAPTURED: list[dict[str, Any]] = []  # the models that were solved, as they were then
SOLVED: dict[str, float] = {}  # values of the variables of the last one, by name
MOST_MODELS = 5  # the last ones are kept
MOST_ENTRIES = 20_000  # of a checker
DEPTH = 8


class Captured(pulp.HiGHS):  # type: ignore[misc]  # PuLP's classes have no types
    """HiGHS on one thread, whatever was asked for: other solvers cannot start here, more threads fail silently."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        limit = kwargs.get("timeLimit")
        super().__init__(msg=False, threads=1, timeLimit=limit if isinstance(limit, int | float) else None)

    def available(self) -> bool:
        """HiGHS is always there."""
        return True

    def actualSolve(self, lp: Any, *args: Any, **kwargs: Any) -> Any:  # PuLP's name
        """Solve, and keep the model as it is now."""
        CAPTURED.append(_snapshot(lp))
        del CAPTURED[:-MOST_MODELS]
        status = super().actualSolve(lp)
        SOLVED.clear()
        SOLVED.update((one.name, one.varValue) for one in lp.variables())
        return status


def bring_solver() -> None:
    """Put this solver in the place of every other one; once, before the process is forked."""
    classes = {solver: type(solver.__name__, (Captured,), {"name": solver.name}) for solver in pulp.apis._all_solvers}
    pulp.apis._all_solvers[:] = list(classes.values())
    for module in (pulp, pulp.apis, pulp.pulp):
        for name, value in list(vars(module).items()):
            if isinstance(value, type) and value in classes:
                setattr(module, name, classes[value])
        module.LpSolverDefault = Captured()


def solve(function: Callable[..., Any], arguments: list[Any]) -> str:
    """Call the program.

    Args:
        function: The program's function.
        arguments: What it is called with.

    Returns:
        JSON: ``returned`` (numbers in the place of variables), ``columns`` (the same, with the names of variables in
        their places; a value that is returned under its variable's name counts as that variable), ``models`` (the last
        ones that were solved), ``variables`` (bounds and kind of those returned: PuLP leaves one out of a model that no
        row or objective mentions).
    """
    CAPTURED.clear()
    SOLVED.clear()
    returned = function(*arguments)
    loose: dict[str, list[Any]] = {}
    values, columns = _taken(returned, DEPTH, loose)
    return json.dumps({"returned": values, "columns": columns, "models": CAPTURED, "variables": loose})


def check_numbers(function: Callable[..., Any], values: Any, data: Any) -> str:
    """Call a checker with numbers; JSON of its entries."""
    return json.dumps([_entry(item, number=True) for item in _bounded(function(values, data))], allow_nan=True)


def check_symbols(function: Callable[..., Any], values: Any, columns: Any, data: Any) -> str:
    """Call a checker with symbols in the place of the values that are variables; JSON of its entries."""
    return json.dumps([_entry(item, number=False) for item in _bounded(function(symbolic(values, columns), data))])


def _snapshot(lp: Any) -> dict[str, Any]:
    data = lp.toDict() if hasattr(lp, "toDict") else lp.to_dict()
    constant = getattr(lp.objective, "constant", 0.0) if lp.objective is not None else 0.0
    return {"data": json.loads(json.dumps(data, default=_number)), "constant": float(constant)}


def _taken(value: Any, depth: int, loose: dict[str, list[Any]]) -> tuple[Any, Any]:
    """Numbers, and beside them the names of the variables that they belong to."""
    if depth < 0:
        raise ValueError("the returned value is nested too deeply: return a dict of variables")
    if isinstance(value, pulp.LpVariable):
        loose[value.name] = [value.lowBound, value.upBound, value.cat]
        return value.varValue, value.name
    if isinstance(value, pulp.LpAffineExpression):
        return value.value(), None
    if isinstance(value, Mapping):
        pairs = {_key(key): _under(_key(key), item) or _taken(item, depth - 1, loose) for key, item in value.items()}
        return {key: pair[0] for key, pair in pairs.items()}, {key: pair[1] for key, pair in pairs.items()}
    if isinstance(value, list | tuple):
        items = [_taken(item, depth - 1, loose) for item in value]
        return [item[0] for item in items], [item[1] for item in items]
    if value is None or isinstance(value, bool | int | float | str):
        return value, None
    if hasattr(value, "tolist"):
        return _taken(value.tolist(), depth - 1, loose)
    raise TypeError(f"a {type(value).__name__} was returned: return numbers, texts, PuLP variables, lists and dicts")


def _under(name: str, value: Any) -> tuple[Any, Any] | None:
    """A plain value that is returned under the name of a variable that has it; None where it is none."""
    column = name if name in SOLVED else name.replace(" ", "_")
    if isinstance(value, bool) or not isinstance(value, int | float) or SOLVED.get(column) != value:
        return None
    return value, column


def _key(key: Any) -> str:
    return ",".join(map(str, key)) if isinstance(key, tuple) else str(key)


def _bounded(entries: Any) -> list[Any]:
    found: list[Any] = []
    for entry in entries or ():
        if len(found) >= MOST_ENTRIES:
            raise ValueError(f"more than {MOST_ENTRIES:,} checks")
        found.append(entry)
    return found


def _entry(item: Any, number: bool) -> list[Any]:
    if not isinstance(item, tuple | list) or len(item) != 5:
        raise TypeError(f"a check must be (name, left, relation, right, sentence), not {str(item)[:80]}")
    name, left, relation, right, sentence = item
    sides = [_number(side) if number else _affine(side) for side in (left, 0.0 if right is None else right)]
    return [str(name), sides[0], str(relation), sides[1], str(sentence)]


def _number(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else float(value)


def _affine(value: Any) -> dict[str, Any]:
    found = value if isinstance(value, Affine) else Affine({}, float(value))
    return {"terms": found.terms, "constant": found.constant}

"""What runs beside a stranger's program, in its own process: capture the models that it solves, and its values.

It runs in reach of the program, so what it returns is a claim; the evaluator solves the captured model again.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any

import pulp

from oragent.formulate.symbols import Affine, symbolic
from oragent.milp import capturing

CAPTURED: list[dict[str, Any]] = []  # the models that were solved, as they were then
SOLVED: dict[str, float] = {}  # values of the variables of the last one, by name
MOST_MODELS = 5  # the last ones are kept
MOST_ENTRIES = 20_000  # of a checker
DEPTH = 8
BELOW = (
    "an expression was divided by a variable, and the model must be linear: multiply both sides by it, such as "
    "x >= 0.5 * y in the place of x / y >= 0.5"
)
NOTHING = "there is no objective to ask the value of: give the model one, problem += expression, before problem.solve()"


def bring_solver() -> None:
    """Put our solver in the place of every other one, and clear words in the place of PuLP's; once, before the fork."""
    capturing.bring_solver(_keep, solved=_remember)
    divide, value = pulp.LpAffineExpression.__truediv__, pulp.value

    def divided(self: Any, other: Any) -> Any:
        """Divide; PuLP's own complaint of a variable below the line helps nobody who is to mend it."""
        if isinstance(other, pulp.LpVariable) or (isinstance(other, pulp.LpAffineExpression) and len(other)):
            raise TypeError(BELOW)
        return divide(self, other)

    def valued(asked: Any) -> Any:
        """The value of an expression; an objective that was never given is None."""
        if asked is None:
            raise ValueError(NOTHING)
        return value(asked)

    pulp.LpAffineExpression.__truediv__, pulp.value = divided, valued


def solve(function: Callable[..., Any], arguments: list[Any], limit_s: float, gap: float) -> str:
    """Call the program.

    Args:
        function: The program's function.
        arguments: What it is called with.
        limit_s: Seconds of each solve of its own, after which it goes on with the best point.
        gap: Relative gap at which these solves may stop.

    Returns:
        JSON: ``returned`` (numbers in the place of variables), ``columns`` (the same, with the names of variables in
        their places; a value that is returned under its variable's name counts as that variable), ``models`` (the last
        ones that were solved), ``variables`` (bounds and kind of those returned: PuLP leaves one out of a model that no
        row or objective mentions).
    """
    CAPTURED.clear()
    SOLVED.clear()
    capturing.bound(limit_s, gap)
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


def _keep(model: dict[str, Any]) -> None:
    CAPTURED.append(model)
    del CAPTURED[:-MOST_MODELS]


def _remember(problem: Any) -> None:
    SOLVED.clear()
    SOLVED.update((one.name, one.varValue) for one in problem.variables())


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

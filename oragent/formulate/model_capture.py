"""Capture the models that an untrusted program solves, and run its checker, inside the program's own process.

Everything returned from here is a claim: the evaluator solves the captured model again.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

import pulp

from oragent.milp.as_pulp import SolverLimits, bring_solver

NOT_LINEAR = "a check with variables must be linear: it may not {what} them"


# the models that were solved, as they were then
CAPTURED: list[dict[str, Any]] = []
# values of the variables of the last one, by name
SOLVED: dict[str, float] = {}
# the last ones are kept
MOST_MODELS = 5
# of a checker
MOST_ENTRIES = 20_000
DEPTH = 8
# of the solves of the program that runs now
_LIMITS = [SolverLimits()]
DIVISION_ERROR = (
    "an expression was divided by a variable, and the model must be linear: multiply both sides by it, such as "
    "x >= 0.5 * y in the place of x / y >= 0.5"
)
PRODUCT_ERROR = (
    "two expressions with variables were multiplied, and the model must be linear: write a product with a binary "
    "exactly with more rows; where no exact linear form exists, the function is one line: "
    "raise NotImplementedError('nonlinear: why')"
)
NO_OBJECTIVE_ERROR = (
    "there is no objective to ask the value of: give the model one, problem += expression, before problem.solve()"
)


class Affine:
    """A linear expression.

    Attributes:
        terms: Coefficient by name of the column.
    """

    __slots__ = ("constant", "terms")

    def __init__(self, terms: Mapping[str, float], constant: float = 0.0) -> None:
        self.terms, self.constant = dict(terms), float(constant)

    def __add__(self, addend: Any) -> "Affine":
        if not isinstance(addend, Affine):
            return Affine(self.terms, self.constant + float(addend))
        terms = dict(self.terms)
        for name, value in addend.terms.items():
            terms[name] = terms.get(name, 0.0) + value
        return Affine(terms, self.constant + addend.constant)

    __radd__ = __add__

    def __mul__(self, factor_term: Any) -> "Affine":
        if isinstance(factor_term, Affine):
            if factor_term.terms and self.terms:
                raise TypeError(NOT_LINEAR.format(what="multiply"))
            if not factor_term.terms:
                return self * factor_term.constant
            return factor_term * self.constant
        factor = float(factor_term)
        return Affine({name: factor * value for name, value in self.terms.items()}, factor * self.constant)

    __rmul__ = __mul__

    def __neg__(self) -> "Affine":
        return self * -1.0

    def __pos__(self) -> "Affine":
        return self

    def __sub__(self, subtrahend: Any) -> "Affine":
        return self + (-subtrahend if isinstance(subtrahend, Affine) else -float(subtrahend))

    def __rsub__(self, minuend: Any) -> "Affine":
        return -self + float(minuend)

    def __truediv__(self, divisor: Any) -> "Affine":
        if isinstance(divisor, Affine):
            raise TypeError(NOT_LINEAR.format(what="divide by"))
        return self * (1.0 / float(divisor))

    def _refuse(self, *_: Any) -> NoReturn:
        raise TypeError(NOT_LINEAR.format(what="compare or round"))

    __lt__ = __le__ = __gt__ = __ge__ = __bool__ = __float__ = __int__ = __round__ = __abs__ = _refuse
    __eq__ = __ne__ = _refuse
    __hash__ = None  # type: ignore[assignment]  # equality is refused


def as_symbols(values: Any, columns: Any) -> Any:
    """The values with a symbol in every place that ``columns`` names; others stay numbers."""
    if isinstance(columns, str):
        return Affine({columns: 1.0})
    if isinstance(columns, dict) and isinstance(values, dict):
        return {key: as_symbols(values.get(key), item) for key, item in columns.items()}
    if isinstance(columns, list) and isinstance(values, list):
        return [as_symbols(value, item) for value, item in zip(values, columns, strict=False)]
    return values


def install_capture() -> None:
    """Replace every solver and PuLP's unclear errors; once, before the process is forked."""
    bring_solver(_record_model, lambda: _LIMITS[0], _record_values)
    divide, multiply, value = pulp.LpAffineExpression.__truediv__, pulp.LpAffineExpression.__mul__, pulp.value

    def multiply_checked(self: Any, factor: Any) -> Any:
        """Multiply; of two expressions with variables PuLP's own error names no remedy."""
        try:
            return multiply(self, factor)
        except TypeError:
            raise TypeError(PRODUCT_ERROR) from None

    def divide_checked(self: Any, divisor: Any) -> Any:
        """Divide; PuLP's own complaint of a variable below the line helps nobody who is to mend it."""
        if isinstance(divisor, pulp.LpVariable) or (isinstance(divisor, pulp.LpAffineExpression) and len(divisor)):
            raise TypeError(DIVISION_ERROR)
        return divide(self, divisor)

    def value_checked(expression: Any) -> Any:
        """The value of an expression; an objective that was never given is None."""
        if expression is None:
            raise ValueError(NO_OBJECTIVE_ERROR)
        return value(expression)

    pulp.LpAffineExpression.__truediv__, pulp.value = divide_checked, value_checked
    pulp.LpAffineExpression.__mul__ = multiply_checked


def run_program(function: Callable[..., Any], arguments: list[Any], limit_s: float, gap: float) -> str:
    """Call the program.

    Args:
        function: Function of the program.
        arguments: Arguments of the call.
        limit_s: Seconds of each of its own solves, which then return the best point.
        gap: Relative gap at which these solves may stop.

    Returns:
        JSON: ``returned`` (numbers in the place of variables), ``columns`` (the same, with the names of variables in
        their places; a value that is returned under its variable's name counts as that variable), ``models`` (the last
        ones that were solved), ``variables`` (bounds and kind of those returned: PuLP leaves one out of a model that no
        row or objective mentions).
    """
    CAPTURED.clear()
    SOLVED.clear()
    _LIMITS[0] = SolverLimits(limit_s, gap)
    returned = function(*arguments)
    loose: dict[str, dict[str, Any]] = {}
    values, columns = _split_returned(returned, DEPTH, loose)
    return json.dumps({"returned": values, "columns": columns, "models": CAPTURED, "variables": loose})


def check_numbers(function: Callable[..., Any], values: Any, data: Any) -> str:
    """Call a checker with numbers; JSON of its entries."""
    return json.dumps(
        [_plain_entry(item, number=True) for item in _take_entries(function(values, data))], allow_nan=True
    )


def check_symbols(function: Callable[..., Any], values: Any, columns: Any, data: Any) -> str:
    """Call a checker with symbols in the place of the values that are variables; JSON of its entries."""
    return json.dumps(
        [_plain_entry(item, number=False) for item in _take_entries(function(as_symbols(values, columns), data))]
    )


def _record_model(model: dict[str, Any]) -> None:
    CAPTURED.append(model)
    del CAPTURED[:-MOST_MODELS]


def _record_values(problem: Any) -> None:
    SOLVED.clear()
    SOLVED.update((variable.name, variable.varValue) for variable in problem.variables())


def _split_returned(value: Any, depth: int, loose: dict[str, dict[str, Any]]) -> tuple[Any, Any]:
    """Return the numbers and the names of the variables that they belong to."""
    if depth < 0:
        raise ValueError("the returned value is nested too deeply: return a dict of variables")
    if isinstance(value, pulp.LpVariable):
        loose[value.name] = {"name": value.name, "lowBound": value.lowBound, "upBound": value.upBound, "cat": value.cat}
        return value.varValue, value.name
    if isinstance(value, pulp.LpAffineExpression):
        return value.value(), None
    if isinstance(value, Mapping):
        pairs = {
            _key_text(key): _match_column(_key_text(key), item) or _split_returned(item, depth - 1, loose)
            for key, item in value.items()
        }
        return {key: pair[0] for key, pair in pairs.items()}, {key: pair[1] for key, pair in pairs.items()}
    if isinstance(value, list | tuple):
        items = [_split_returned(item, depth - 1, loose) for item in value]
        return [item[0] for item in items], [item[1] for item in items]
    if value is None or isinstance(value, bool | int | float | str):
        return value, None
    if hasattr(value, "tolist"):
        return _split_returned(value.tolist(), depth - 1, loose)
    raise TypeError(f"a {type(value).__name__} was returned: return numbers, texts, PuLP variables, lists and dicts")


def _match_column(name: str, value: Any) -> tuple[Any, Any] | None:
    """Return a value with its column if it is returned under the name of the variable that has it."""
    if name in SOLVED:
        column = name
    else:
        column = name.replace(" ", "_")
    if isinstance(value, bool) or not isinstance(value, int | float) or SOLVED.get(column) != value:
        return None
    return value, column


def _key_text(key: Any) -> str:
    if isinstance(key, tuple):
        return ",".join(map(str, key))
    return str(key)


def _take_entries(entries: Any) -> list[Any]:
    taken: list[Any] = []
    for entry in entries or ():
        if len(taken) >= MOST_ENTRIES:
            raise ValueError(f"more than {MOST_ENTRIES:,} checks")
        taken.append(entry)
    return taken


def _plain_entry(item: Any, number: bool) -> list[Any]:
    if not isinstance(item, tuple | list) or len(item) != 5:
        raise TypeError(f"a check must be (name, left, relation, right, sentence), not {str(item)[:80]}")
    name, left_side, relation, right, sentence = item
    sides = [
        _plain_number(side) if number else _plain_affine(side) for side in (left_side, 0.0 if right is None else right)
    ]
    return [str(name), sides[0], str(relation), sides[1], str(sentence)]


def _plain_number(value: Any) -> Any:
    if hasattr(value, "item"):
        return value.item()
    return float(value)


def _plain_affine(value: Any) -> dict[str, Any]:
    if isinstance(value, Affine):
        affine = value
    else:
        affine = Affine({}, float(value))
    return {"terms": affine.terms, "constant": affine.constant}

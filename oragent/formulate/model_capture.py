"""Capture the models that an untrusted program solves, and run its checker, inside the program's own process.

Everything returned from here is a claim: the evaluator solves the captured model again.
"""

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NoReturn

import pulp

from oragent.formulate.model_class import ANY, restore_products, solve_model
from oragent.milp.as_pulp import SolverLimits, bring_solver, from_pulp_dict, read_variable, snapshot
from oragent.milp.model import Milp
from oragent.milp.solution import SolveStatus

NOT_QUADRATIC = "a check with variables may add them and multiply two of them: it may not {what}"


# Copies of the solved models at the time of their solve.
CAPTURED: list[dict[str, Any]] = []
# Values of the last model's variables, by name.
SOLVED: dict[str, float] = {}
# Seconds of a solve without a limit.
RECORD_S = 20.0
# Maximum number of models; the last ones are kept.
MOST_MODELS = 5
# Maximum number of entries of a checker.
MOST_ENTRIES = 20_000
DEPTH = 8
# Two variables in PuLP's form, by the name of the column that represents their product.
PRODUCTS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {}
_PRODUCT_COLUMNS: dict[str, Any] = {}
# Limits of the running program's solves.
_LIMITS = [SolverLimits()]
DIVISION_ERROR = (
    "an expression was divided by a variable, and the model must be linear: multiply both sides by it, such as "
    "x >= 0.5 * y in the place of x / y >= 0.5"
)
PRODUCT_ERROR = (
    "more than two variables were multiplied: write a product with a binary exactly with more rows; where no exact "
    "form with products of two variables exists, the function is one line: "
    "raise NotImplementedError('nonlinear: why')"
)
NO_OBJECTIVE_ERROR = (
    "there is no objective to ask the value of: give the model one, problem += expression, before problem.solve()"
)


class Quadratic:
    """An expression of degree at most 2.

    Attributes:
        terms: Coefficient by name of the column.
        products: Coefficient by two names in sorted order.
    """

    __slots__ = ("constant", "products", "terms")

    def __init__(
        self,
        terms: Mapping[str, float],
        constant: float = 0.0,
        products: Mapping[tuple[str, str], float] | None = None,
    ) -> None:
        self.terms, self.constant, self.products = dict(terms), float(constant), dict(products or {})

    def __add__(self, addend: Any) -> "Quadratic":
        if not isinstance(addend, Quadratic):
            return Quadratic(self.terms, self.constant + float(addend), self.products)
        terms, products = dict(self.terms), dict(self.products)
        for name, value in addend.terms.items():
            terms[name] = terms.get(name, 0.0) + value
        for pair, value in addend.products.items():
            products[pair] = products.get(pair, 0.0) + value
        return Quadratic(terms, self.constant + addend.constant, products)

    __radd__ = __add__

    def __mul__(self, factor: Any) -> "Quadratic":
        if isinstance(factor, Quadratic):
            return self._times(factor)
        scale = float(factor)
        return Quadratic(
            {name: scale * value for name, value in self.terms.items()},
            scale * self.constant,
            {pair: scale * value for pair, value in self.products.items()},
        )

    __rmul__ = __mul__

    def _times(self, factor: "Quadratic") -> "Quadratic":
        if (self.products and (factor.terms or factor.products)) or (factor.products and self.terms):
            raise TypeError(NOT_QUADRATIC.format(what="multiply more than two"))
        products: dict[tuple[str, str], float] = {}
        for name, value in self.terms.items():
            for other, size in factor.terms.items():
                pair = (min(name, other), max(name, other))
                products[pair] = products.get(pair, 0.0) + value * size
        linear = Quadratic(factor.terms, 0.0, factor.products) * self.constant
        return (
            Quadratic({}, 0.0, products)
            + linear
            + Quadratic(self.terms, self.constant, self.products) * factor.constant
        )

    def __pow__(self, exponent: Any) -> "Quadratic":
        if exponent != 2:
            raise TypeError(NOT_QUADRATIC.format(what="raise them to another power than 2"))
        return self * self

    def __neg__(self) -> "Quadratic":
        return self * -1.0

    def __pos__(self) -> "Quadratic":
        return self

    def __sub__(self, subtrahend: Any) -> "Quadratic":
        return self + (-subtrahend if isinstance(subtrahend, Quadratic) else -float(subtrahend))

    def __rsub__(self, minuend: Any) -> "Quadratic":
        return -self + float(minuend)

    def __truediv__(self, divisor: Any) -> "Quadratic":
        if isinstance(divisor, Quadratic):
            raise TypeError(NOT_QUADRATIC.format(what="divide by them"))
        return self * (1.0 / float(divisor))

    def _refuse(self, *_: Any) -> NoReturn:
        raise TypeError(NOT_QUADRATIC.format(what='compare or round them; for a choice use a list of rows and "any"'))

    __lt__ = __le__ = __gt__ = __ge__ = __bool__ = __float__ = __int__ = __round__ = __abs__ = _refuse
    __eq__ = __ne__ = _refuse
    __hash__ = None  # type: ignore[assignment]  # equality is refused


def as_symbols(values: Any, columns: Any) -> Any:
    """Return the values with a symbol at every position that ``columns`` names; others remain numbers."""
    if isinstance(columns, str):
        return Quadratic({columns: 1.0})
    if isinstance(columns, dict) and isinstance(values, dict):
        return {key: as_symbols(values.get(key), item) for key, item in columns.items()}
    if isinstance(columns, list) and isinstance(values, list):
        return [as_symbols(value, item) for value, item in zip(values, columns, strict=False)]
    return values


def install_capture() -> None:
    """Replace every solver and PuLP's unclear errors; call it once before the process forks."""
    bring_solver(_record_model, lambda: _LIMITS[0], _record_values)
    divide, multiply, value = pulp.LpAffineExpression.__truediv__, pulp.LpAffineExpression.__mul__, pulp.value
    solve_linear = pulp.LpProblem.solve

    def multiply_checked(self: Any, factor: Any) -> Any:
        """Multiply two expressions; a product of two variables becomes a column that represents it."""
        try:
            return multiply(self, factor)
        except TypeError:
            return _multiply_expressions(self, factor)

    def raise_to_power(self: Any, exponent: Any) -> Any:
        """Square an expression; reject other powers."""
        if exponent != 2:
            raise TypeError(PRODUCT_ERROR)
        return self * self

    def solve_products(self: Any, *arguments: Any, **named: Any) -> Any:
        """Solve a model; oragent's own solvers solve one with products of variables."""
        if any(variable.name in PRODUCTS for variable in self.variables()):
            return _solve_quadratic(self)
        return solve_linear(self, *arguments, **named)

    def divide_checked(self: Any, divisor: Any) -> Any:
        """Divide an expression; the error states the valid form, which PuLP's error does not."""
        if isinstance(divisor, pulp.LpVariable) or (isinstance(divisor, pulp.LpAffineExpression) and len(divisor)):
            raise TypeError(DIVISION_ERROR)
        return divide(self, divisor)

    def value_checked(expression: Any) -> Any:
        """Return the value of an expression; None for a missing objective."""
        if expression is None:
            raise ValueError(NO_OBJECTIVE_ERROR)
        return value(expression)

    pulp.LpAffineExpression.__truediv__, pulp.value = divide_checked, value_checked
    pulp.LpAffineExpression.__mul__ = multiply_checked
    pulp.LpAffineExpression.__pow__ = pulp.LpElement.__pow__ = raise_to_power
    pulp.LpProblem.solve = solve_products


def _multiply_expressions(left: Any, right: Any) -> Any:
    """Multiply two linear expressions of PuLP; one column represents each pair of variables."""
    expressions = [pulp.LpAffineExpression(side) for side in (left, right)]
    if any(variable.name in PRODUCTS for side in expressions for variable in side):
        raise TypeError(PRODUCT_ERROR)
    first, second = expressions
    result = first * second.constant + (second - second.constant) * first.constant
    for one, value in first.items():
        for other, size in second.items():
            result += value * size * _product_column(*sorted((one, other), key=lambda variable: variable.name))
    return result


def _product_column(first: Any, second: Any) -> Any:
    name = f"{first.name}*{second.name}"
    if name not in PRODUCTS:
        PRODUCTS[name] = (_describe_variable(first), _describe_variable(second))
        _PRODUCT_COLUMNS[name] = pulp.LpVariable(name)
    return _PRODUCT_COLUMNS[name]


def _describe_variable(variable: Any) -> dict[str, Any]:
    bounds = {"lowBound": variable.lowBound, "upBound": variable.upBound}
    return {"name": variable.name, **bounds, "cat": variable.cat}


def read_captured(captured: Mapping[str, Any], products: Mapping[str, Any]) -> Milp:
    """Return a captured model, with the products of its variables.

    Raises:
        MilpError: The model does not have PuLP's form.
    """
    milp = from_pulp_dict(captured["data"], captured["constant"])
    names = {variable.name for variable in milp.variables}
    used = [pair for name, pair in products.items() if name in names]
    factors = {factor["name"]: factor for pair in used for factor in pair if factor["name"] not in names}
    milp = replace(milp, variables=(*milp.variables, *map(read_variable, factors.values())))
    return restore_products(milp, {name: [factor["name"] for factor in pair] for name, pair in products.items()})


def _solve_quadratic(problem: Any) -> int:
    """Record and solve a model with products of variables, and set the values of its variables."""
    captured = snapshot(problem)
    _record_model(captured)
    limits = _LIMITS[0]
    solution = solve_model(read_captured(captured, PRODUCTS), limits.seconds or RECORD_S, limits.gap)
    if solution.status.has_point:
        for variable in problem.variables():
            factors = [factor["name"] for factor in PRODUCTS.get(variable.name, ())] or [variable.name]
            variable.varValue = math.prod(solution.values[name] for name in factors)
    codes = {SolveStatus.INFEASIBLE: pulp.LpStatusInfeasible, SolveStatus.UNBOUNDED: pulp.LpStatusUnbounded}
    problem.status = pulp.LpStatusOptimal if solution.status.has_point else codes.get(solution.status, 0)
    _record_values(problem)
    return int(problem.status)


def run_program(function: Callable[..., Any], arguments: list[Any], limit_s: float, gap: float) -> str:
    """Call the program.

    Args:
        function: Function of the program.
        arguments: Arguments of the call.
        limit_s: Seconds of each solve by the program, which then returns the best point.
        gap: Relative gap at which these solves stop.

    Returns:
        JSON: ``returned`` (numbers instead of variables), ``columns`` (the same with names of variables instead of
        numbers; a value returned under its variable's name counts as that variable), ``models`` (the last solved
        models), ``variables`` (bounds and kind of the returned variables, because PuLP drops a variable that no
        row or objective mentions), ``products`` (the factors by the column that represents their product).
    """
    for record in (CAPTURED, SOLVED, PRODUCTS, _PRODUCT_COLUMNS):
        record.clear()
    _LIMITS[0] = SolverLimits(limit_s, gap)
    returned = function(*arguments)
    loose: dict[str, dict[str, Any]] = {}
    values, columns = _split_returned(returned, DEPTH, loose)
    claim = {"returned": values, "columns": columns, "models": CAPTURED, "variables": loose, "products": PRODUCTS}
    return json.dumps(claim)


def check_numbers(function: Callable[..., Any], values: Any, data: Any) -> str:
    """Call a checker with numbers, and return JSON of its entries."""
    return json.dumps(
        [_plain_entry(item, number=True) for item in _take_entries(function(values, data))], allow_nan=True
    )


def check_symbols(function: Callable[..., Any], values: Any, columns: Any, data: Any) -> str:
    """Call a checker with symbols instead of the values of variables, and return JSON of its entries."""
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
    """Return the numbers, and the names of their variables."""
    if depth < 0:
        raise ValueError("the returned value is nested too deeply: return a dict of variables")
    if isinstance(value, pulp.LpVariable):
        loose[value.name] = _describe_variable(value)
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
    """Return a value and, if it was returned under the name of its variable, the column."""
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
    if str(relation) == ANY:
        return _plain_choice(str(name), left_side, str(sentence), number)
    sides = [
        _plain_number(side) if number else _plain_symbols(side) for side in (left_side, 0.0 if right is None else right)
    ]
    return [str(name), sides[0], str(relation), sides[1], str(sentence)]


def _plain_choice(name: str, cases: Any, sentence: str, number: bool) -> list[Any]:
    """Return a check with alternative cases; with numbers, the worst row of the best case."""
    problem = f'the check {name[:80]} with "any" needs a list of cases, each (left, relation, right) or a list of these'
    if not isinstance(cases, tuple | list) or not cases:
        raise TypeError(problem)
    entries = []
    for case in cases:
        rows = case if isinstance(case, list) else [case]
        if not rows or any(not isinstance(row, tuple) or len(row) != 3 for row in rows):
            raise TypeError(problem)
        entries.append([_plain_entry((name, *row, sentence), number) for row in rows])
    if number:
        return min((max(rows, key=_excess) for rows in entries), key=_excess)
    return [name, [[entry[1:4] for entry in rows] for rows in entries], ANY, None, sentence]


def _excess(entry: list[Any]) -> float:
    """Return the violation of a row with numbers."""
    over = float(entry[1]) - float(entry[3])
    return {"<": max(over, 0.0), ">": max(-over, 0.0)}.get(entry[2][:1], abs(over))


def _plain_number(value: Any) -> Any:
    if hasattr(value, "item"):
        return value.item()
    return float(value)


def _plain_symbols(value: Any) -> dict[str, Any]:
    expression = value if isinstance(value, Quadratic) else Quadratic({}, float(value))
    products = [[*pair, size] for pair, size in expression.products.items()]
    return {"terms": expression.terms, "constant": expression.constant, "products": products}

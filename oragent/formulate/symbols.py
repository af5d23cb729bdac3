"""Calls of an untrusted checker, with numbers or with symbols that record its rows. They run in the checker's process.

All results of this module are claims.
"""

import builtins
import itertools
import json
import math
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from oragent.formulate.model_class import ANY, LARGEST, NO_OVERLAP, PIECES

NOT_QUADRATIC = "a check with variables may add them and multiply two of them: it may not {what}"
# Maximum number of entries of a checker.
MAX_ENTRIES = 20_000
# Python's own functions, which take symbols in the checker's process.
MAX, MIN, ABS = max, min, abs
# Relations of aims.
AIMS = ("minimize", "maximize")
# Beginning of the name of a column that stands for a maximum or a piecewise linear function.
DERIVED = "value of checks"


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
            for monomial, size in factor.terms.items():
                pair = (min(name, monomial), max(name, monomial))
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
        return -1.0 * self

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

    __lt__ = __le__ = __gt__ = __ge__ = __bool__ = __float__ = __int__ = __round__ = _refuse
    __eq__ = __ne__ = _refuse
    __hash__ = None  # type: ignore[assignment]  # equality is refused


def as_symbols(values: Any, columns: Any) -> Any:
    """Return the values with a symbol at every position that ``columns`` names. Others stay numbers."""
    if isinstance(columns, str):
        return Quadratic({columns: 1.0})
    if isinstance(columns, dict) and isinstance(values, dict):
        return {key: as_symbols(values.get(key), item) for key, item in columns.items()}
    if isinstance(columns, list) and isinstance(values, list):
        return [as_symbols(value, item) for value, item in zip(values, columns, strict=False)]
    return values


class _Definitions:
    """Columns that stand for maxima, minima and piecewise linear functions of symbols, and their definitions."""

    def __init__(self) -> None:
        self.entries: list[list[Any]] = []

    def functions(self) -> dict[str, Any]:
        """Return the functions that a checker may call with symbols."""
        return {"max": self.largest, "min": self.smallest, "abs": self.size, "piecewise": self.piecewise}

    def largest(self, *items: Any, **options: Any) -> Any:
        """Return the largest value, as Python does."""
        values = list(items[0]) if len(items) == 1 else list(items)
        if options or not any(isinstance(value, Quadratic) for value in values):
            return MAX(values, **options)
        return self._define(LARGEST, [_plain_symbols(value) for value in values])

    def smallest(self, *items: Any, **options: Any) -> Any:
        """Return the smallest value, as Python does."""
        values = list(items[0]) if len(items) == 1 else list(items)
        if options or not any(isinstance(value, Quadratic) for value in values):
            return MIN(values, **options)
        return -self._define(LARGEST, [_plain_symbols(-value) for value in values])

    def size(self, value: Any) -> Any:
        """Return the absolute value."""
        if not isinstance(value, Quadratic):
            return ABS(value)
        return self.largest(value, -value)

    def piecewise(self, value: Any, points: Any) -> Any:
        """Return a piecewise linear function through points; its first and last piece go on without end."""
        pairs = sorted((float(x), float(y)) for x, y in points)
        if len(pairs) < 2 or len({x for x, _ in pairs}) < len(pairs):
            raise ValueError("piecewise needs at least two points, each at another place")
        if isinstance(value, Quadratic):
            return self._define(PIECES, [_plain_symbols(value), pairs])
        return interpolate(float(value), pairs)

    def _define(self, relation: str, parts: list[Any]) -> Quadratic:
        name = f"{DERIVED} {len(self.entries) + 1}"
        self.entries.append([name, parts, relation, None, ""])
        return Quadratic({name: 1.0})


def interpolate(value: float, points: list[tuple[float, float]]) -> float:
    """Return a piecewise linear function through at least two sorted points."""
    for (left, low), (right, high) in itertools.pairwise(points):
        slope = (high - low) / (right - left)
        if value <= right:
            break
    return low + slope * (value - left)


def check_numbers(function: Callable[..., Any], values: Any, data: Any) -> str:
    """Call a checker with numbers, and return JSON of its entries."""
    vars(builtins).update(_Definitions().functions())
    return json.dumps([_plain_entry(item, number=True) for item in _take_entries(function(values, data))])


def check_symbols(function: Callable[..., Any], values: Any, columns: Any, data: Any) -> str:
    """Call a checker with symbols instead of the values of variables, and return JSON of its entries."""
    definitions = _Definitions()
    vars(builtins).update(definitions.functions())
    entries = [_plain_entry(item, number=False) for item in _take_entries(function(as_symbols(values, columns), data))]
    return json.dumps([*definitions.entries, *entries])


def _take_entries(entries: Any) -> list[Any]:
    taken: list[Any] = []
    for entry in entries or ():
        if len(taken) >= MAX_ENTRIES:
            raise ValueError(f"more than {MAX_ENTRIES:,} checks")
        taken.append(entry)
    return taken


def _plain_entry(item: Any, number: bool) -> list[Any]:
    if not isinstance(item, tuple | list) or len(item) != 5:
        raise TypeError(f"a check must be (name, left, relation, right, sentence), not {str(item)[:80]}")
    name, left_side, relation, right, sentence = item
    if str(relation) == ANY:
        return _plain_choice(str(name), left_side, str(sentence), number)
    if str(relation) == NO_OVERLAP:
        return _plain_tasks(str(name), left_side, str(sentence), number)
    if str(relation) in AIMS:
        left = _plain_number(left_side) if number else _plain_symbols(left_side)
        return [str(name), left, str(relation), _plain_room(str(name), right, number), str(sentence)]
    sides = [
        _plain_number(side) if number else _plain_symbols(side) for side in (left_side, 0.0 if right is None else right)
    ]
    return [str(name), sides[0], str(relation), sides[1], str(sentence)]


def _plain_room(name: str, room: Any, number: bool) -> Any:
    """Return what later aims may take of an aim: an amount, and a share of its optimum; with numbers, 0."""
    is_share = isinstance(room, str) and room.strip().endswith("%")
    try:
        if isinstance(room, str) and is_share:
            size = float(room.strip()[:-1]) / 100
        else:
            size = float(_plain_number(0.0 if room is None else room))
    except (TypeError, ValueError, AttributeError):
        size = math.nan
    if not 0 <= size < math.inf:
        raise TypeError(
            f'the right side of the aim {name[:80]} must be what later aims may take of it, such as None, 20 or "5 %"'
        )
    if number:
        return 0.0
    return {"amount": 0.0 if is_share else size, "share": size if is_share else 0.0}


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


def _plain_tasks(name: str, tasks: Any, sentence: str, number: bool) -> list[Any]:
    """Return a check with tasks of start, duration and perhaps presence; with numbers, the largest overlap."""
    if not isinstance(tasks, tuple | list) or any(
        not isinstance(task, tuple | list) or not 2 <= len(task) <= 3 for task in tasks
    ):
        raise TypeError(
            f'the check {name[:80]} with "no overlap" needs a list of (start, duration) or (start, duration, presence)'
        )
    if not number:
        return [name, [[_plain_symbols(part) for part in task] for task in tasks], NO_OVERLAP, None, sentence]
    spans = sorted(
        (float(_plain_number(task[0])), float(_plain_number(task[1])))
        for task in tasks
        if len(task) == 2 or _plain_number(task[2]) > 0.5
    )
    worst, reach = 0.0, float("-inf")
    for start, size in spans:
        if size > 0:
            worst = MAX(worst, MIN(reach, start + size) - start)
            reach = MAX(reach, start + size)
    return [name, worst, "<=", 0.0, sentence]


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

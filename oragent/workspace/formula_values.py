"""Values of formulas of a workbook: arithmetic, comparisons, and the functions of sums, conditions and lookups.

Excel is the reference. A formula is computed only if its saved value is reproduced first, and only with operators and
functions whose result does not depend on the version of Excel; every other formula is refused.
"""

import math
import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from decimal import ROUND_DOWN, ROUND_HALF_UP, ROUND_UP, Decimal
from typing import Any, TypeGuard

from oragent._base.errors import WorkspaceError
from oragent.workspace.formulas import Area, Position, WorkbookFormulas

Scalar = float | str | bool | None
# Cells of a range by row.
Grid = tuple[tuple[Scalar, ...], ...]
Value = Scalar | Grid

DIVISION, NO_NUMBER, NO_VALUE, NOT_AVAILABLE, NO_REFERENCE = "#DIV/0!", "#NUM!", "#VALUE!", "#N/A", "#REF!"
ERRORS = {DIVISION, NO_NUMBER, NO_VALUE, NOT_AVAILABLE, NO_REFERENCE, "#NAME?", "#NULL!", "#SPILL!", "#CALC!"}
NUMBER = re.compile(r"\s*[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d{1,3})?\s*", re.ASCII)
CRITERION = re.compile(r"(<=|>=|<>|<|>|=)?(.*)", re.DOTALL)
# Maximum number of cells that all formulas of a workbook read, and of brackets within each other.
MAX_CELLS_READ, MAX_DEPTH = 3_000_000, 60
# Number of decimal digits that Excel compares.
DIGITS = 15
# Excel takes a smaller relative difference of two numbers as zero, if it is the last step of a formula.
CANCELLED = 2.0**-48
# Operators by rank: the first ones bind weakest.
RANKS: tuple[dict[str, Callable[[Any, Any], Any]], ...] = (
    {
        "=": operator.eq,
        "<>": operator.ne,
        "<": operator.lt,
        ">": operator.gt,
        "<=": operator.le,
        ">=": operator.ge,
    },
    {"&": operator.add},
    {"+": operator.add, "-": operator.sub},
    {"*": operator.mul, "/": operator.truediv},
    {"^": operator.pow},
)
COMPARISONS = RANKS[0]


class UnsupportedFormula(WorkspaceError):
    """A formula has a part that is not computed here."""


def is_error(value: Value) -> bool:
    """Return True for an error value, such as ``#DIV/0!``."""
    return isinstance(value, str) and value in ERRORS


@dataclass
class FormulaValues:
    """Values of the cells of a workbook, in which formulas are computed."""

    formulas: WorkbookFormulas
    # New values of cells; all others have their saved values.
    changed: Mapping[Position, Scalar]
    _cells_read: list[int] = field(default_factory=lambda: [MAX_CELLS_READ])

    def read(self, cell: Position) -> Scalar:
        """Return the value of a cell."""
        if cell in self.changed:
            return self.changed[cell]
        rows = self.formulas.grid.sheets[cell.sheet].values
        row = rows[cell.row - 1] if cell.row <= len(rows) else []
        value = row[cell.column - 1] if cell.column <= len(row) else None
        if self.formulas.counts_from_1904 and isinstance(value, date | time):
            raise UnsupportedFormula("dates that count from 1904 are not computed")
        return _to_scalar(value)

    def read_area(self, area: Area) -> Grid:
        """Return the values of a rectangle, without the rows and columns behind the last cell of the sheet."""
        rows = self.formulas.grid.sheets[area.sheet].values
        bottom = max(area.top, min(area.bottom, len(rows)))
        right = max(area.left, min(area.right, max(map(len, rows), default=0)))
        self._cells_read[0] -= (bottom - area.top + 1) * (right - area.left + 1)
        if self._cells_read[0] < 0:
            raise UnsupportedFormula("the formulas read too many cells")
        return tuple(
            tuple(self.read(Position(area.sheet, row, column)) for column in range(area.left, right + 1))
            for row in range(area.top, bottom + 1)
        )

    def compute(self, text: str, cell: Position) -> Scalar:
        """Return the value of a formula in a cell.

        Raises:
            UnsupportedFormula: A part of the formula is not computed here.
        """
        value = _Reader(self, text, cell).read_formula()
        single = _single(value)
        return 0.0 if single is None else single


@dataclass
class _Reader:
    """Reader of the tokens of one formula, which computes while it reads."""

    values: FormulaValues
    text: str
    cell: Position
    depth: int = 0
    _at: int = 0
    _tokens: list[Any] = field(default_factory=list)
    # Whether ranges are combined cell by cell, as in the arguments of SUMPRODUCT.
    _by_cell: bool = False

    def read_formula(self) -> Value:
        from openpyxl.formula import Tokenizer

        if self.text.startswith("{"):
            raise UnsupportedFormula("array formulas are not computed")
        try:
            tokens = Tokenizer(self.text).items
        except Exception:
            raise UnsupportedFormula("the formula cannot be read") from None
        self._tokens = [token for token in tokens if token.type != "WHITE-SPACE"]
        # Intersections, whose operator is white space, are refused: no operand follows another one.
        value = self._read_rank(0)
        if self._at < len(self._tokens):
            raise UnsupportedFormula("the formula cannot be read")
        return value

    def _peek(self, kind: str) -> str:
        """Return the text of the next token if it is of a type; otherwise an empty text."""
        token = self._tokens[self._at] if self._at < len(self._tokens) else None
        return str(token.value) if token is not None and token.type == kind else ""

    def _read_rank(self, rank: int) -> Value:
        if rank == len(RANKS):
            return self._read_signed()
        left = self._read_rank(rank + 1)
        while (symbol := self._peek("OPERATOR-INFIX")) in RANKS[rank]:
            self._at += 1
            left = self._combine(symbol, left, self._read_rank(rank + 1))
        return left

    def _read_signed(self) -> Value:
        signs = []
        while sign := self._peek("OPERATOR-PREFIX"):
            self._at += 1
            signs.append(sign)
        value = self._read_operand()
        if "-" in signs:
            value = self._combine("*", (-1.0) ** signs.count("-"), value)
        while self._peek("OPERATOR-POSTFIX"):
            self._at += 1
            value = self._combine("/", value, 100.0)
        return value

    def _combine(self, symbol: str, left: Value, right: Value) -> Value:
        left, right = (side[0][0] if _is_cell(side) else side for side in (left, right))
        shapes = {(len(grid), len(grid[0])) for grid in (left, right) if isinstance(grid, tuple)}
        if not self._by_cell or not shapes:
            return _apply(symbol, _single(left), _single(right))
        if len(shapes) > 1:
            raise UnsupportedFormula("ranges of different shapes are not combined")
        ((rows, columns),) = shapes
        return tuple(
            tuple(
                _apply(symbol, *(side[row][column] if isinstance(side, tuple) else side for side in (left, right)))
                for column in range(columns)
            )
            for row in range(rows)
        )

    def _read_operand(self) -> Value:
        if self._at >= len(self._tokens) or self.depth > MAX_DEPTH:
            raise UnsupportedFormula("the formula cannot be read")
        token = self._tokens[self._at]
        self._at += 1
        if token.type == "OPERAND":
            return self._read_constant(token)
        if token.subtype == "OPEN" and token.type in ("PAREN", "FUNC"):
            self.depth += 1
            value = self._read_call(token.value[:-1].upper()) if token.type == "FUNC" else self._read_group()
            self.depth -= 1
            return value
        raise UnsupportedFormula(f"{token.value[:20]} is not computed")

    def _read_constant(self, token: Any) -> Value:
        if token.subtype == "NUMBER":
            return float(token.value)
        if token.subtype == "TEXT":
            return str(token.value)[1:-1].replace('""', '"')
        if token.subtype == "LOGICAL":
            return str(token.value).upper() == "TRUE"
        if token.subtype == "ERROR":
            return str(token.value)
        if token.value.startswith("@") or "!@" in token.value:
            raise UnsupportedFormula("implicit intersections are not computed")
        formulas = self.values.formulas
        areas, name = formulas.find_areas(token.value, self.cell), formulas.find_name(token.value, self.cell)
        if areas is not None and name is not None:
            return _Reader(self.values, name.text, name.cell, self.depth + 1).read_formula()
        if areas is None or len(areas) != 1:
            raise UnsupportedFormula(f"the reference {token.value[:40]} is not computed")
        return self.values.read_area(areas[0])

    def _read_group(self) -> Value:
        value = self._read_rank(0)
        self._close()
        return value

    def _close(self) -> None:
        token = self._tokens[self._at] if self._at < len(self._tokens) else None
        if token is None or token.subtype != "CLOSE":
            raise UnsupportedFormula("the formula cannot be read")
        self._at += 1

    def _read_call(self, name: str) -> Value:
        if name not in FUNCTIONS:
            raise UnsupportedFormula(f"the function {name[:30]} is not computed")
        outer, self._by_cell = self._by_cell, self._by_cell or name == "SUMPRODUCT"
        arguments: list[Value] = []
        if not self._is_closing():
            arguments.append(self._read_rank(0))
            while self._peek("SEP") == ",":
                self._at += 1
                arguments.append(self._read_rank(0))
        self._close()
        self._by_cell = outer
        if outer and any(isinstance(argument, tuple) and not _is_cell(argument) for argument in arguments):
            raise UnsupportedFormula(f"the function {name} of ranges within SUMPRODUCT is not computed")
        try:
            return FUNCTIONS[name](*arguments)
        except TypeError:
            raise UnsupportedFormula(f"these arguments of {name} are not computed") from None
        except (ValueError, OverflowError, ArithmeticError):
            return NO_NUMBER

    def _is_closing(self) -> bool:
        return self._at < len(self._tokens) and self._tokens[self._at].subtype == "CLOSE"


def _to_scalar(cell: Any) -> Scalar:
    """Convert a saved value; dates become numbers of days."""
    if cell is None or isinstance(cell, str | bool):
        return cell
    if isinstance(cell, int | float):
        return float(cell)
    if isinstance(cell, datetime | date | time | timedelta):
        from openpyxl.utils.datetime import to_excel

        return float(to_excel(cell))
    raise UnsupportedFormula(f"a cell has a {type(cell).__name__}")


def _is_cell(value: Value) -> TypeGuard[Grid]:
    return isinstance(value, tuple) and len(value) == len(value[0]) == 1


def _single(value: Value) -> Scalar:
    if not isinstance(value, tuple):
        return value
    if _is_cell(value):
        return value[0][0]
    raise UnsupportedFormula("a range in place of one value is not computed")


def _to_number(value: Scalar) -> float | None:
    """Return the number of a value in a calculation; None for a text that is not a number."""
    if value is None:
        return 0.0
    if isinstance(value, str):
        return float(value) if NUMBER.fullmatch(value) else None
    return float(value)


def _apply(symbol: str, left: Scalar, right: Scalar) -> Scalar:
    for value in (left, right):
        if is_error(value):
            return value
    if symbol in COMPARISONS:
        return _compare(symbol, left, right)
    if symbol == "&":
        return _to_text(left) + _to_text(right)
    first, second = _to_number(left), _to_number(right)
    if first is None or second is None:
        return NO_VALUE
    if symbol == "/" and second == 0:
        return DIVISION
    if symbol == "^" and first == second == 0:
        return NO_NUMBER
    try:
        result = next(rank[symbol] for rank in RANKS if symbol in rank)(first, second)
    except (OverflowError, ZeroDivisionError):
        return DIVISION if symbol == "^" and first == 0 else NO_NUMBER
    if isinstance(result, complex) or not math.isfinite(result):
        return NO_NUMBER
    if symbol in "+-" and 0 < abs(result) < CANCELLED * abs(first):
        raise UnsupportedFormula("a difference of almost equal numbers, which Excel may take as 0, is not computed")
    return float(result)


def _to_text(value: Scalar) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    if isinstance(value, bool):
        return str(value).upper()
    if value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    raise UnsupportedFormula("a fraction as text is not computed")


def _compare(symbol: str, left: Scalar, right: Scalar) -> bool:
    keys = [_sort_key(left, right), _sort_key(right, left)]
    return bool(COMPARISONS[symbol](*keys))


def _sort_key(value: Scalar, partner: Scalar) -> tuple[int, float | str]:
    """Return the place of a value in Excel's order: numbers, texts, truth values. An empty cell equals 0 and ''."""
    if value is None:
        empty: dict[type, Scalar] = {str: "", bool: False}
        value = empty.get(type(partner), 0.0)
    if isinstance(value, bool):
        return 2, float(value)
    if isinstance(value, str):
        return 1, value.casefold()
    return 0, float(f"{value:.{DIGITS}g}")


def _cells(values: Sequence[Value]) -> Iterator[tuple[Scalar, bool]]:
    """Yield the values of arguments, each with True if it comes from a range."""
    for value in values:
        if isinstance(value, tuple):
            for row in value:
                yield from ((cell, True) for cell in row)
        else:
            yield value, False


def _numbers(values: Sequence[Value]) -> list[float] | str:
    """Return the numbers of arguments, or an error. Texts and truth values of ranges do not count."""
    numbers = []
    for value, is_in_range in _cells(values):
        if isinstance(value, str) and value in ERRORS:
            return value
        if is_in_range and (value is None or isinstance(value, str | bool)):
            continue
        number = _to_number(value)
        if number is None:
            return NO_VALUE
        numbers.append(number)
    return numbers


def _of_numbers(function: Callable[[list[float]], Scalar]) -> Callable[..., Value]:
    def compute(*values: Value) -> Value:
        numbers = _numbers(values)
        return numbers if isinstance(numbers, str) else function(numbers)

    return compute


def _of_scalars(function: Callable[..., Scalar]) -> Callable[..., Value]:
    def compute(*values: Value) -> Value:
        singles = [_single(value) for value in values]
        for value in singles:
            if is_error(value):
                return value
        numbers = [_to_number(value) for value in singles]
        return NO_VALUE if None in numbers else function(*numbers)

    return compute


def _choose(condition: Value, positive: Value = True, negative: Value = False) -> Value:
    test = _single(condition)
    if is_error(test):
        return test
    if isinstance(test, str):
        return NO_VALUE
    return positive if test else negative


def _if_error(value: Value, otherwise: Value) -> Value:
    return otherwise if is_error(_single(value)) else value


def _truths(values: Sequence[Value]) -> list[bool] | str:
    truths = []
    for value, is_in_range in _cells(values):
        if isinstance(value, str):
            if value in ERRORS:
                return value
            if not is_in_range:
                return NO_VALUE
        elif value is not None:
            truths.append(bool(value))
    return truths or NO_VALUE


def _combine_truths(function: Callable[[list[bool]], bool]) -> Callable[..., Value]:
    def compute(*values: Value) -> Value:
        truths = _truths(values)
        return truths if isinstance(truths, str) else function(truths)

    return compute


def _round(value: float, digits: float, rounding: str) -> float:
    if abs(digits) > DIGITS:
        raise UnsupportedFormula("rounding to so many digits is not computed")
    exact = Decimal(f"{value:.{DIGITS}g}")
    return float(exact.quantize(Decimal(1).scaleb(-math.trunc(digits)), rounding=rounding))


def _modulo(value: float, divisor: float) -> Scalar:
    return value - divisor * math.floor(value / divisor) if divisor else DIVISION


def _subtotal(kind: Value, *values: Value) -> Value:
    """Return a sum, mean, count or extreme of visible cells. Hidden ones are not known, and change the saved value."""
    function = SUBTOTALS.get(int(_to_number(_single(kind)) or 0) % 100)
    if function is None:
        raise UnsupportedFormula("this kind of SUBTOTAL is not computed")
    return FUNCTIONS[function](*values)


def _sum_products(*values: Value) -> Value:
    grids = [value if isinstance(value, tuple) else ((value,),) for value in values]
    if len({(len(grid), len(grid[0])) for grid in grids}) > 1:
        return NO_VALUE
    total = 0.0
    cells: tuple[Scalar, ...]
    for rows in zip(*grids, strict=True):
        for cells in zip(*rows, strict=True):
            errors = [cell for cell in cells if is_error(cell)]
            if errors:
                return errors[0]
            # Texts and truth values count as 0.
            numbers = [cell for cell in cells if isinstance(cell, float)]
            total += math.prod(numbers) if len(numbers) == len(cells) else 0.0
    return total


def _meets(cell: Scalar, criterion: Scalar) -> bool:
    """Return True if a cell meets the criterion of SUMIF."""
    if is_error(criterion) or criterion is None or isinstance(criterion, bool):
        raise UnsupportedFormula("this criterion is not computed")
    match = CRITERION.fullmatch(criterion if isinstance(criterion, str) else repr(criterion))
    symbol, operand = (match[1] or "=", match[2]) if match else ("=", "")
    if not operand or re.search(r"[*?~]", operand):
        raise UnsupportedFormula("this criterion is not computed")
    if NUMBER.fullmatch(operand):
        number = cell if isinstance(cell, float) else None
        if isinstance(cell, str) and NUMBER.fullmatch(cell):
            raise UnsupportedFormula("a number as text is not compared with a criterion")
        return (symbol == "<>") if number is None else _compare(symbol, number, float(operand))
    if symbol not in ("=", "<>"):
        raise UnsupportedFormula("this criterion is not computed")
    return (isinstance(cell, str) and cell.casefold() == operand.casefold()) == (symbol == "=")


def _select(pairs: Sequence[Value]) -> list[tuple[int, int]]:
    """Return the rows and columns at which pairs of a range and a criterion hold."""
    grids, criteria = pairs[::2], pairs[1::2]
    if len(grids) != len(criteria) or not all(isinstance(grid, tuple) for grid in grids):
        raise UnsupportedFormula("these conditions are not computed")
    tests = [(grid, _single(criterion)) for grid, criterion in zip(grids, criteria, strict=True)]
    shapes = {(len(grid), len(grid[0])) for grid in grids if isinstance(grid, tuple)}
    if len(shapes) != 1:
        raise UnsupportedFormula("ranges of different shapes are not compared")
    ((rows, columns),) = shapes
    return [
        (row, column)
        for row in range(rows)
        for column in range(columns)
        if all(isinstance(grid, tuple) and _meets(grid[row][column], criterion) for grid, criterion in tests)
    ]


def _sum_if(cells: Value, criterion: Value, summed: Value = None) -> Value:
    return _sum_ifs(cells if summed is None else summed, cells, criterion)


def _sum_ifs(summed: Value, *pairs: Value) -> Value:
    grid = summed
    first = pairs[0] if pairs else None
    if (
        not isinstance(grid, tuple)
        or not isinstance(first, tuple)
        or (len(grid), len(grid[0]))
        != (
            len(first),
            len(first[0]),
        )
    ):
        raise UnsupportedFormula("ranges of different shapes are not compared")
    numbers = _numbers([tuple((grid[row][column],) for row, column in _select(pairs)) or ((None,),)])
    return numbers if isinstance(numbers, str) else math.fsum(numbers)


def _count_ifs(*pairs: Value) -> Value:
    return float(len(_select(pairs)))


def _match(wanted: Value, cells: Value, kind: Value = 1.0) -> Value:
    key = _single(wanted)
    if is_error(key):
        return key
    if _single(kind) not in (0.0, False) or not isinstance(cells, tuple) or min(len(cells), len(cells[0])) != 1:
        raise UnsupportedFormula("a search for the nearest value is not computed")
    if key is None or (isinstance(key, str) and re.search(r"[*?~]", key)):
        raise UnsupportedFormula("this search is not computed")
    row = [cell for line in cells for cell in line]
    for place, cell in enumerate(row, 1):
        if cell is not None and type(cell) is type(key) and _compare("=", cell, key):
            return float(place)
    return NOT_AVAILABLE


def _look_up(wanted: Value, cells: Value, column: Value, nearest: Value = True) -> Value:
    if not isinstance(cells, tuple) or _single(nearest) not in (0.0, False):
        raise UnsupportedFormula("a search for the nearest value is not computed")
    place = _match(wanted, tuple((row[0],) for row in cells), 0.0)
    return place if is_error(place) else _single(_index(cells, place, column))


def _look_up_across(wanted: Value, cells: Value, row: Value, nearest: Value = True) -> Value:
    if not isinstance(cells, tuple):
        raise UnsupportedFormula("this search is not computed")
    return _look_up(wanted, tuple(zip(*cells, strict=True)), row, nearest)


def _index(cells: Value, row: Value, column: Value = None) -> Value:
    grid = cells if isinstance(cells, tuple) else ((cells,),)
    places = [_to_number(_single(place)) for place in (row, column)]
    if any(place is None for place in places):
        return NO_VALUE
    down, across = (int(place or 0) for place in places)
    rows, columns = len(grid), len(grid[0])
    if column is None and rows == 1:
        down, across = 1, down
    elif column is None and columns == 1:
        across = 1
    if min(down, across) < 1:
        raise UnsupportedFormula("a whole row or column of INDEX is not computed")
    return ((grid[down - 1][across - 1],),) if down <= rows and across <= columns else NO_REFERENCE


def _average(numbers: list[float]) -> Scalar:
    return math.fsum(numbers) / len(numbers) if numbers else DIVISION


SUBTOTALS = {1: "AVERAGE", 2: "COUNT", 3: "COUNTA", 4: "MAX", 5: "MIN", 6: "PRODUCT", 9: "SUM"}
FUNCTIONS: dict[str, Callable[..., Value]] = {
    "SUM": _of_numbers(math.fsum),
    "PRODUCT": _of_numbers(lambda numbers: math.prod(numbers) if numbers else 0.0),
    "AVERAGE": _of_numbers(_average),
    "MIN": _of_numbers(lambda numbers: min(numbers, default=0.0)),
    "MAX": _of_numbers(lambda numbers: max(numbers, default=0.0)),
    "COUNT": lambda *values: float(sum(isinstance(value, float) for value, _ in _cells(values))),
    "COUNTA": lambda *values: float(sum(value is not None for value, _ in _cells(values))),
    "SUMPRODUCT": _sum_products,
    "SUBTOTAL": _subtotal,
    "IF": _choose,
    "IFERROR": _if_error,
    "AND": _combine_truths(all),
    "OR": _combine_truths(any),
    "NOT": _of_scalars(lambda value: not value),
    "TRUE": lambda: True,
    "FALSE": lambda: False,
    "ABS": _of_scalars(abs),
    "INT": _of_scalars(lambda value: float(math.floor(value))),
    "SQRT": _of_scalars(math.sqrt),
    "MOD": _of_scalars(_modulo),
    "POWER": lambda base, exponent: _apply("^", _single(base), _single(exponent)),
    "ROUND": _of_scalars(lambda value, digits: _round(value, digits, ROUND_HALF_UP)),
    "ROUNDUP": _of_scalars(lambda value, digits: _round(value, digits, ROUND_UP)),
    "ROUNDDOWN": _of_scalars(lambda value, digits: _round(value, digits, ROUND_DOWN)),
    "SUMIF": _sum_if,
    "SUMIFS": _sum_ifs,
    "COUNTIF": _count_ifs,
    "COUNTIFS": _count_ifs,
    "VLOOKUP": _look_up,
    "HLOOKUP": _look_up_across,
    "MATCH": _match,
    "INDEX": _index,
}

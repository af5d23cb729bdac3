"""Types of the columns of a table: numbers, currency and percent signs, units, gaps, totals and extremes."""

import re
import statistics
from collections.abc import Sequence

from oragent._base import table_dialects as dialects
from oragent._base.errors import TableError
from oragent._base.table_values import Cell, Table

PERCENT = "%"
MISSING = frozenset({"", "-", "–", "na", "n/a", "nan", "null", "none", "?", "k.a."})
# Labels of a row of sums.
TOTALS = frozenset({"total", "totals", "grand total", "sum", "summe", "gesamt", "somme", "totale", "suma", "合计"})
CURRENCY = r"[€$£¥]|EUR|USD|GBP|CHF|JPY|CNY|RMB"
AFFIXED = re.compile(
    rf"(?P<before>{CURRENCY})?\s*(?P<number>[-+\u2212]?[\d.,'’\u00a0\u202f ]*\d)"
    rf"(?:\s*(?P<sign>%|{CURRENCY})|\s+(?P<unit>[^\W\d_][\w/²³]{{0,11}}))?"
)
# Cell of a line of units below the header: "t", "EUR/t", "[h]".
BRACKETED = re.compile(r"\[[^\[\]]{0,20}\]|\([^()]{0,20}\)")
UNIT = re.compile(rf"%|(?:{CURRENCY})(?:\s?/\s?\w{{1,12}})?|[^\W\d_][\w/²³·*. ]{{0,15}}")
PLAIN = re.compile(r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d{1,3})?", re.ASCII)
LEADING_ZERO = re.compile(r"0\d+")
# Minimum rows above a total without a label, and minimum values of a column in which extremes are noted.
MIN_ROWS, MIN_VALUES = 3, 5
# A value larger than this multiple of the median of the absolute values is noted.
EXTREME = 1000.0
MAX_NOTES = 30
# Relative tolerance of a sum.
SAME_SUM = 1e-6


def read_columns(
    name: str,
    header: Sequence[str],
    rows: list[tuple[str, ...]],
    lines: Sequence[int],
    notes: list[str],
    separator: str,
) -> Table:
    """Convert rows of texts into a table with types.

    Args:
        name: Name of the table.
        header: Names of the columns, as they are in the file.
        rows: Cells, each row as long as the header.
        lines: Line of each row in the file.
        notes: Notes so far.
        separator: Character between the cells in the file.

    Raises:
        TableError: A column can be read in two ways.
    """
    heads = _distinct_heads(header, notes)
    units_below = _find_units(heads, rows, lines, notes)
    if units_below is not None:
        rows, lines = rows[1:], lines[1:]
    units = units_below or {}
    rows, signs = _strip_signs(heads, rows, lines, notes)
    for column, sign in signs.items():
        if units.get(column, sign) != sign:
            raise TableError(
                f"column {heads[column]!r}: its unit is {units[column]!r}, its cells have {sign!r}; use one"
            )
    units |= signs
    flaws: list[str] = []
    default = "." if separator == "," else ""
    rows, _ = dialects.read_numbers(heads, rows, notes, flaws, lines, default)
    if flaws:
        raise TableError(flaws[0])
    columns = [
        _type_column(head, [row[column] for row in rows], units.get(column) == PERCENT, notes)
        for column, head in enumerate(heads)
    ]
    typed: list[tuple[Cell, ...]] = list(zip(*columns, strict=True)) if rows else []
    typed = _drop_total(typed, lines, notes)
    for column, head in enumerate(heads):
        _note_extremes(head, [row[column] for row in typed], lines, notes)
    return Table(
        name,
        heads,
        tuple(typed),
        tuple(notes[:MAX_NOTES]),
        units=tuple(units.get(column, "") for column in range(len(heads))),
        lines=tuple(lines[: len(typed)]),
    )


def _distinct_heads(header: Sequence[str], notes: list[str]) -> tuple[str, ...]:
    """Return the names of the columns, stripped; missing and repeated names get a number."""
    heads: dict[str, None] = {}
    for column, text in enumerate(header):
        name = text.strip() or f"column {column + 1}"
        head, count = name, 2
        while head in heads:
            head, count = f"{name} ({count})", count + 1
        if head != name:
            notes.append(f"two columns are named {name!r}; the second one is read as {head!r}")
        elif not text.strip():
            notes.append(f"a column without a name is read as {head!r}")
        heads[head] = None
    return tuple(heads)


def _find_units(
    heads: Sequence[str], rows: list[tuple[str, ...]], lines: Sequence[int], notes: list[str]
) -> dict[int, str] | None:
    """Return the units in the first row by column; None if that row is not a line of units.

    A line of units has a unit above numbers, or the headings that are merged with it. Its other cells are empty or in
    brackets.
    """
    units: dict[int, str] = {}
    repeats = False
    for column, cell in enumerate(rows[0] if len(rows) > 1 else ()):
        text = cell.strip()
        below = [row[column].strip() for row in rows[1:] if row[column].strip().casefold() not in MISSING]
        has_numbers = bool(below) and all(map(AFFIXED.fullmatch, below))
        is_unit = BRACKETED.fullmatch(text) or (has_numbers and UNIT.fullmatch(text))
        # A heading that is merged with the cell below it is repeated there.
        repeats = repeats or (text == heads[column] and not text.isdecimal())
        if text.casefold() in MISSING or text == heads[column]:
            continue
        if not is_unit:
            return None
        if has_numbers:
            units[column] = text.strip("[]() ")
    if units:
        texts = ", ".join(f"{heads[column]} in {unit}" for column, unit in units.items())
        notes.append(f"line {lines[0]} below the header holds units: {texts}")
    if PERCENT in units.values():
        notes.append("percent are read as fractions, 5 % as 0.05")
    return units if units or repeats else None


def _strip_signs(
    heads: Sequence[str], rows: list[tuple[str, ...]], lines: Sequence[int], notes: list[str]
) -> tuple[list[tuple[str, ...]], dict[int, str]]:
    """Remove a currency sign, percent sign or unit that all numbers of a column have; return them by column."""
    units: dict[int, str] = {}
    changed: dict[int, list[str]] = {}
    for column, head in enumerate(heads):
        cells = [row[column].strip() for row in rows]
        signs, numbers = [], []
        for cell in cells:
            match = None if cell.casefold() in MISSING else AFFIXED.fullmatch(cell)
            signs.append("" if match is None else (match["before"] or match["sign"] or match["unit"] or ""))
            numbers.append(cell if match is None else match["number"].strip())
        present = [at for at, cell in enumerate(cells) if cell.casefold() not in MISSING]
        used = list(dict.fromkeys(signs[at] for at in present))
        if not present or used == [""] or any(AFFIXED.fullmatch(cells[at]) is None for at in present):
            continue
        if len(used) > 1:
            first, second, *_ = (sign or "plain numbers" for sign in used)
            line = lines[next(at for at in present if signs[at] != signs[present[0]])]
            raise TableError(f"line {line}: column {head!r} mixes {first!r} and {second!r}; use one")
        (sign,) = used
        changed[column] = numbers
        units[column] = sign
        if sign == PERCENT:
            notes.append(f"column {head!r}: percent are read as fractions, 5 % as 0.05")
        else:
            notes.append(f"column {head!r}: numbers are in {sign}")
    if not changed:
        return rows, units
    return [
        tuple(changed[column][at] if column in changed else cell for column, cell in enumerate(row))
        for at, row in enumerate(rows)
    ], units


def _type_column(head: str, cells: Sequence[str], is_percent: bool, notes: list[str]) -> list[Cell]:
    """Return numbers if all cells are numbers or missing; otherwise convert cell by cell, identifiers to texts."""
    texts = [cell.strip() for cell in cells]
    present = [text for text in texts if text.casefold() not in MISSING]
    if any(LEADING_ZERO.fullmatch(text) for text in present):
        notes.append(f"column {head!r}: leading zeros, so its cells are read as texts")
        return list(texts)
    numeric = [PLAIN.fullmatch(text) is not None for text in present]
    if not present or not any(numeric):
        return list(texts)
    if not all(numeric):
        odd = next(text for text, is_number in zip(present, numeric, strict=True) if not is_number)
        notes.append(f"column {head!r}: numbers and texts such as {odd[:40]!r}")
        return [_number(text) if PLAIN.fullmatch(text) else text for text in texts]
    gaps = len(texts) - len(present)
    if gaps:
        notes.append(f"column {head!r}: {gaps} missing numbers are read as None")
    typed = [None if text.casefold() in MISSING else _number(text) for text in texts]
    if is_percent:
        return [None if value is None else round(value / 100, 12) for value in typed]
    return list(typed)


def _number(text: str) -> int | float:
    if text.lstrip("+-").isdigit():
        return int(text)
    return float(text)


def _drop_total(rows: list[tuple[Cell, ...]], lines: Sequence[int], notes: list[str]) -> list[tuple[Cell, ...]]:
    """Drop a last row that contains the sums of the rows above it."""
    if len(rows) < 2:
        return rows
    *above, last = rows
    numbers = [column for column, cell in enumerate(last) if _is_number(cell)]
    labels = [cell for cell in last if isinstance(cell, str) and cell.casefold() not in MISSING]
    usual = max(sum(isinstance(cell, str) and cell.casefold() not in MISSING for cell in row) for row in above)
    is_labelled = any(label.strip(" :").casefold() in TOTALS for label in labels)
    if not numbers or not (is_labelled or (len(labels) < usual and len(above) >= MIN_ROWS)):
        return rows
    sums_hold = all(_is_sum(last[column], [row[column] for row in above]) for column in numbers)
    if sums_hold and any(last[column] for column in numbers):
        notes.append(f"line {lines[len(above)]} holds the sums of the rows above and is left out")
        return above
    if is_labelled:
        notes.append(f"line {lines[len(above)]} is named a total, is not the sum of the rows above, and is kept")
    return rows


def _is_sum(total: Cell, cells: Sequence[Cell]) -> bool:
    values = [cell for cell in cells if isinstance(cell, int | float) and not isinstance(cell, bool)]
    if not isinstance(total, int | float) or not values:
        return False
    return abs(sum(values) - total) <= SAME_SUM * max(1.0, abs(total))


def _note_extremes(head: str, cells: Sequence[Cell], lines: Sequence[int], notes: list[str]) -> None:
    """Note a value that is much larger than the others, and a single negative one."""
    numbers = zip(cells, lines, strict=False)
    values = [(float(cell), line) for cell, line in numbers if cell and isinstance(cell, int | float)]
    if len(values) < MIN_VALUES:
        return
    median = statistics.median(abs(value) for value, _ in values)
    largest, line = max(values, key=lambda item: abs(item[0]))
    if abs(largest) > EXTREME * median:
        size = f"{largest:g} in line {line} is more than {EXTREME:g} times the median"
        notes.append(f"column {head!r}: {size}; is it right?")
    negative = [(value, at) for value, at in values if value < 0]
    if len(negative) == 1:
        notes.append(f"column {head!r}: only line {negative[0][1]} is negative ({negative[0][0]:g}); is it right?")


def _is_number(cell: Cell) -> bool:
    return isinstance(cell, int | float) and not isinstance(cell, bool)

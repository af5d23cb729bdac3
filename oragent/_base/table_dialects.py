"""Tables as spreadsheets export them: separators, decimal commas, title lines, headers of two lines, footnotes.

Nothing is guessed. Each step follows from the whole file, is listed in a note, and leaves plain CSV unchanged; if two
readings are possible, the table gets a flaw.
"""

import csv
import io
import re
from collections.abc import Sequence
from itertools import takewhile
from typing import NamedTuple

SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
# Start of the line above each sheet of a workbook with several sheets.
SHEET = "=== sheet "
# Sample from which the separator is determined.
SAMPLE_CHARACTERS, SAMPLE_ROWS = 1 << 16, 200
DECIMAL_COMMAS = "decimal commas: 1.234,5 is read as 1234.5"
TWO_READINGS = "can be read in two ways"
# Maximum size of a table.
MAX_COLUMNS, MAX_CELLS = 2_000, 4_000_000
# Maximum number of lines above a header.
MAX_TITLES = 20
# Digits with or without thousands separators.
GROUPS = r"(?:[1-9]\d{{0,2}}(?:[{mark}\u00a0\u202f'’ ]\d{{3}})+|\d+)"
SIGNED = r"[-+\u2212]?{number}-?"
COMMA = re.compile(SIGNED.format(number=GROUPS.format(mark=".") + r"(?:,\d+)?"), re.ASCII)
POINT = re.compile(SIGNED.format(number=GROUPS.format(mark=",") + r"(?:\.\d+)?(?:[eE][-+]?\d{1,3})?"), re.ASCII)
# Numbers such as 1.250,50.
STRONG_COMMA = re.compile(r"[-+\u2212]?[1-9]\d{0,2}(?:[.\u00a0\u202f'’ ]\d{3})+,\d+-?", re.ASCII)
# 2300 or 2.3, depending on the column.
POINT_GROUPS = re.compile(r"[-+\u2212]?[1-9]\d{0,2}(?:\.\d{3})+-?", re.ASCII)
# The same inside a sentence.
GROUPED_IN_TEXT = re.compile(r"(?<![\w.,])[1-9]\d{0,2}(?:\.\d{3})+(?!\w|[.,]\d)")
# Marks that git leaves in a file whose sides it could not merge.
CONFLICT = re.compile(r"^<{7} [^\n]*\n(?=(?:[^\n]*\n){0,100000}?={7}\r?\n)", re.MULTILINE)
SEPARATES = re.compile("[\u00a0\u202f'’ ]")
DIGIT = re.compile(r"(?<![^\W\d_])\d")


class RawRow(NamedTuple):
    """Line of a file, split into cells."""

    # Texts of the cells.
    cells: tuple[str, ...]
    # Number of the line in the file, from 1 on.
    line: int
    # True if an empty line precedes it.
    after_gap: bool = False

    @property
    def filled(self) -> int:
        """Number of cells that are not empty."""
        return sum(1 for cell in self.cells if cell.strip())


def find_separator(text: str) -> str:
    """Return the separator: the character that splits most lines into the same number of cells."""
    sample = text[:SAMPLE_CHARACTERS]
    scores = {}
    for candidate in SEPARATORS:
        rows = _sample_rows(sample, candidate)
        widths = [len(cells) for cells in rows]
        common = max(set(widths), key=lambda width: (widths.count(width), width), default=1)
        if common > 1:
            # A character inside quotes breaks the rules of quoting, or leaves quotes in cells.
            has_rules = bool(_sample_rows(sample, candidate, strict=True))
            has_quotes = any('"' in cell for cells in rows for cell in cells)
            scores[candidate] = widths.count(common) / len(widths), has_rules, not has_quotes, common
    separator = max(scores, key=scores.__getitem__, default=",")
    header = sample.lstrip("\r\n").partition("\n")[0]
    if separator == "," and ";" in header and not set('",') & set(header.replace(", ", "")):
        # 'item;cost, EUR' above 'rye;1,5': both characters split each line in two.
        return ";"
    return separator


def split_rows(text: str, separator: str) -> list[RawRow]:
    """Split a text into rows; empty rows are left out.

    Raises:
        csv.Error: It cannot be split, is too large, or has the marks of a conflict; the message names the line.
    """
    reader, rows, gap = csv.reader(io.StringIO(text, newline=""), delimiter=separator), [], False
    conflict = describe_conflict(text)
    if conflict:
        raise csv.Error(conflict)
    try:
        cell_count = 0
        for cells in reader:
            cell_count += len(cells)
            if len(cells) > MAX_COLUMNS or cell_count > MAX_CELLS:
                raise csv.Error(f"more than {MAX_COLUMNS:,} columns or {MAX_CELLS:,} cells; leave some out")
            if "".join(cells).strip():
                rows.append(RawRow(tuple(cells), reader.line_num, gap))
                gap = False
            else:
                gap = True
    except csv.Error as error:
        raise csv.Error(f"line {reader.line_num} cannot be cut into cells: {error}") from None
    return rows


def describe_conflict(text: str) -> str:
    """Name the line with the first mark of a conflict that git left in a file; return an empty text without marks."""
    conflict = CONFLICT.search(text)
    if conflict is None:
        return ""
    line = text.count("\n", 0, conflict.start()) + 1
    return f"line {line} begins a conflict that git left: keep one side and delete its marks"


def find_header(rows: Sequence[RawRow]) -> int:
    """Return the index of the header: the first row of at least two cells, if all rows above are single titles."""
    for index, row in enumerate(rows[: MAX_TITLES + 1]):
        if row.filled > 1:
            return index
    return 0


def clean_rows(rows: list[RawRow], notes: list[str]) -> list[RawRow]:
    """Return header and rows without titles, footnotes and empty columns; a header of two lines is joined."""
    first = find_header(rows)
    if first:
        title = next(cell for cell in rows[0].cells if cell.strip()).strip()[:40]
        notes.append(f"{first} title line{'' if first == 1 else 's'} above the header left out: {title}")
        rows = rows[first:]
    tail = sum(1 for _ in takewhile(lambda row: row.filled == 1 < len(row.cells), reversed(rows)))
    # In a table of one column, each row has a single cell.
    if tail < len(rows):
        gap = next((at for at in range(len(rows) - tail, len(rows)) if rows[at].after_gap), len(rows))
        last = max(2, gap)
        if last < len(rows):
            notes.append(f"text below the table left out, from line {rows[last].line} on")
            rows = rows[:last]
    return _join_header(_drop_empty_columns(rows), notes)


def read_numbers(
    header: Sequence[str],
    rows: list[tuple[str, ...]],
    notes: list[str],
    flaws: list[str],
    lines: Sequence[int],
    default: str = "",
) -> tuple[list[tuple[str, ...]], frozenset[int]]:
    """Return the rows with numbers in Python's format, such as ``1234.5`` for ``1.234,5``.

    Args:
        header: Names of the columns.
        rows: Cells, below the header.
        notes: List that gets a sentence if decimal commas were read.
        flaws: List that gets a sentence for each column that can be read in two ways.
        lines: Line of each row in the file.
        default: Decimal mark of columns that can be read in two ways; empty: such a column is a flaw.

    Returns:
        The rows, and the positions of the columns that can be read in two ways and are unchanged.
    """
    marks: dict[int, str] = {}
    unclear: dict[int, int] = {}
    for column in range(max(map(len, (header, *rows)))):
        mark, line = _column_mark(_column_cells(rows, lines, column))
        if mark == "mixed":
            name = _column_name(header, column)
            flaws.append(f"line {line} mixes decimal commas and points in column {name!r}; write all in one way")
        elif mark == "unclear":
            unclear[column] = line
        elif mark:
            marks[column] = mark
    mark = next(iter(marks.values())) if len(set(marks.values())) == 1 else default
    for column, line in list(unclear.items()):
        if mark == "," or (mark == "." and not _doubt_points(header, rows, notes, lines, column)):
            marks[column] = mark
            del unclear[column]
        else:
            flaws.append(_describe_doubt(rows, lines, column, line))
    if "," in marks.values():
        notes.append(DECIMAL_COMMAS)
    plain = [
        tuple(plain_number(cell, marks[at]) if at in marks else cell for at, cell in enumerate(row)) for row in rows
    ]
    return plain, frozenset(unclear)


def read_plain_numbers(
    header: Sequence[str], rows: list[tuple[str, ...]], notes: list[str], flaws: list[str], lines: Sequence[int]
) -> tuple[list[tuple[str, ...]], frozenset[int]]:
    """Return the rows of a table with commas between its cells, as ``read_numbers`` does.

    Its numbers have decimal points and are unchanged, unless a cell such as ``1.250,50`` shows that the table has
    decimal commas.
    """
    if any(STRONG_COMMA.fullmatch(cell.strip()) for cell in {cell for row in rows for cell in row}):
        return read_numbers(header, rows, notes, flaws, lines)
    unclear = set()
    for column in range(max(map(len, (header, *rows)))):
        mark, line = _column_mark(_column_cells(rows, lines, column))
        is_grouped = mark == "unclear" and POINT_GROUPS.fullmatch(_cell_at(rows, lines, column, line))
        if is_grouped and _doubt_points(header, rows, notes, lines, column):
            unclear.add(column)
            flaws.append(_describe_doubt(rows, lines, column, line))
    return rows, frozenset(unclear)


def _doubt_points(
    header: Sequence[str], rows: list[tuple[str, ...]], notes: list[str], lines: Sequence[int], column: int
) -> bool:
    """Return True if the points of a column more likely separate thousands, as in 950 above 2.300.

    Programs write all figures of a column with three decimals, or 2.3 without the zeros. A column with three decimals
    in all figures gets a note.
    """
    texts = [cell.strip() for cell, _ in _column_cells(rows, lines, column)]
    grouped = [text for text in texts if POINT_GROUPS.fullmatch(text)]
    is_doubted = any(text.isdecimal() for text in texts) and any(text.rstrip("-").endswith("0") for text in grouped)
    if grouped and not is_doubted:
        value = f"{grouped[0]} in column {_column_name(header, column)!r}"
        notes.append(f"decimal points: {value} has decimals; write it without a point where that separates thousands")
    return is_doubted


def _describe_doubt(rows: list[tuple[str, ...]], lines: Sequence[int], column: int, line: int) -> str:
    cell = _cell_at(rows, lines, column, line)
    return f"line {line}: {cell[:80]!r} {TWO_READINGS}; write it without a thousands separator"


def _column_cells(rows: list[tuple[str, ...]], lines: Sequence[int], column: int) -> list[tuple[str, int]]:
    return [(row[column], line) for row, line in zip(rows, lines, strict=True) if column < len(row)]


def _cell_at(rows: list[tuple[str, ...]], lines: Sequence[int], column: int, line: int) -> str:
    return next(cell.strip() for cell, at in _column_cells(rows, lines, column) if at == line)


def _column_name(header: Sequence[str], column: int) -> str:
    if column < len(header):
        return header[column][:80]
    return str(column + 1)


def _sample_rows(sample: str, separator: str, *, strict: bool = False) -> list[list[str]]:
    rows = []
    try:
        for cells in csv.reader(io.StringIO(sample, newline=""), delimiter=separator, strict=strict):
            if any(cell.strip() for cell in cells):
                rows.append(cells)
            if len(rows) == SAMPLE_ROWS:
                break
    except csv.Error:
        return []
    return rows


def _drop_empty_columns(rows: list[RawRow]) -> list[RawRow]:
    widths = {len(row.cells) for row in rows}
    if len(widths) != 1:
        return rows
    width = widths.pop()
    filled_columns = [at for at in range(width) if any(row.cells[at].strip() for row in rows)]
    if len(filled_columns) == width:
        return rows
    return [RawRow(tuple(row.cells[at] for at in filled_columns), row.line, row.after_gap) for row in rows]


def _join_header(rows: list[RawRow], notes: list[str]) -> list[RawRow]:
    """Join a header of two lines: the first has gaps, as merged cells leave them, and the second fills them."""
    if len(rows) < 3 or len(rows[0].cells) != len(rows[1].cells):
        return rows
    upper, lower = rows[0].cells, rows[1].cells
    gaps = [at for at, cell in enumerate(upper) if not cell.strip()]
    below = [at for at, cell in enumerate(lower) if cell.strip()]
    if not gaps or not set(gaps) <= set(below) or any(DIGIT.search(lower[at]) for at in gaps):
        return rows
    if not any(DIGIT.search(row.cells[at]) for row in rows[2:] if len(row.cells) == len(upper) for at in gaps):
        return rows
    names, group = [], ""
    for at, cell in enumerate(upper):
        group = cell.strip() or group
        parts = dict.fromkeys((group if at in below else cell.strip(), lower[at].strip()))
        names.append(" ".join(part for part in parts if part))
    notes.append(f"a header of two lines read as one: {names[gaps[0]][:60]}")
    return [RawRow(tuple(names), rows[0].line), *rows[2:]]


def _column_mark(cells: Sequence[tuple[str, int]]) -> tuple[str, int]:
    """Return the decimal mark of a column, ``mixed``, ``unclear``, or an empty text; and the line that shows it."""
    commas, points, unclear, texts = 0, 0, 0, 0
    # Line of the first cell with each text.
    first_lines = dict(reversed(cells))
    for cell, line in sorted(first_lines.items(), key=lambda item: item[1]):
        text = cell.strip()
        as_comma, as_point = COMMA.fullmatch(text) is not None, POINT.fullmatch(text) is not None
        if not text or (as_comma and as_point and not set(text) & set(",.")):
            continue
        if as_comma and as_point:
            unclear = unclear or line
        elif as_comma:
            commas = commas or line
        elif as_point:
            points = points or line
        else:
            # Words such as k.A. say nothing about the other numbers.
            texts += any(letter.isdigit() for letter in text)
    if commas and points:
        if not texts:
            return ("mixed", max(commas, points))
        return ("", 0)
    if commas or points:
        return ("," if commas else "."), 0
    if unclear and not texts:
        return ("unclear", unclear)
    return ("", 0)


def plain_number(cell: str, mark: str) -> str:
    """Return a number with this decimal mark in Python's format, and any other text unchanged."""
    text = cell.strip()
    if not (COMMA if mark == "," else POINT).fullmatch(text):
        return cell
    text = SEPARATES.sub("", text).replace("." if mark == "," else ",", "").replace(mark, ".").replace("\u2212", "-")
    if text.endswith("-"):
        return f"-{text[:-1].lstrip('+')}"
    return text

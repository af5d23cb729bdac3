"""Tables as spreadsheets export them: separators, decimal commas, title lines, headers of two lines, footnotes.

Nothing is guessed. Each step follows from the whole file, is listed in a note, and leaves plain CSV as it is; where two
readings are possible, the table gets a flaw.
"""

import csv
import io
import re
from collections.abc import Sequence
from typing import NamedTuple

SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
SHEET = "=== sheet "  # begins the line above each sheet of a workbook, where there are several
SAMPLE_CHARACTERS, SAMPLE_ROWS = 1 << 16, 200  # by which the separator is found
DECIMAL_COMMAS = "decimal commas: 1.234,5 is read as 1234.5"
MAX_TITLES = 20  # lines above a header
GROUPS = r"(?:[1-9]\d{{0,2}}(?:[{mark}\u00a0\u202f'’ ]\d{{3}})+|\d+)"  # thousands apart, or not
SIGNED = r"[-+\u2212]?{number}-?"
COMMA = re.compile(SIGNED.format(number=GROUPS.format(mark=".") + r"(?:,\d+)?"), re.ASCII)
POINT = re.compile(SIGNED.format(number=GROUPS.format(mark=",") + r"(?:\.\d+)?(?:[eE][-+]?\d{1,3})?"), re.ASCII)
SEPARATES = re.compile("[\u00a0\u202f'’ ]")
DIGIT = re.compile(r"(?<![^\W\d_])\d")


class RawRow(NamedTuple):
    """A line of a file, cut into cells.

    Attributes:
        cells: Texts of the cells.
        line: Number of the line in the file, from 1 on.
        after_gap: Whether an empty line stands before it.
    """

    cells: tuple[str, ...]
    line: int
    after_gap: bool = False

    @property
    def filled(self) -> int:
        """Number of cells that hold something."""
        return sum(1 for cell in self.cells if cell.strip())


def find_separator(text: str) -> str:
    """Return the character that separates the cells: the one that cuts most lines into the same number of cells."""
    sample = text[:SAMPLE_CHARACTERS]
    best, separator = (0.0, 0), ","
    for candidate in SEPARATORS:
        widths = _sample_widths(sample, candidate)
        common = max(set(widths), key=lambda width: (widths.count(width), width), default=1)
        score = (widths.count(common) / len(widths), common) if common > 1 else (0.0, 0)
        if score[0] > best[0] or (score[0] == best[0] and score[1] > best[1]):
            best, separator = score, candidate
    header = sample.lstrip("\r\n").partition("\n")[0]
    if separator == "," and ";" in header and "," not in header.replace(", ", ""):
        return ";"  # 'item;cost, EUR' above 'rye;1,5': both characters cut each line in two
    return separator


def split_rows(text: str, separator: str) -> list[RawRow]:
    """Cut a text into rows; empty ones are left out.

    Raises:
        csv.Error: if it cannot be cut; its message names the line.
    """
    reader, rows, gap = csv.reader(io.StringIO(text, newline=""), delimiter=separator), [], False
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                rows.append(RawRow(tuple(cells), reader.line_num, gap))
                gap = False
            else:
                gap = True
    except csv.Error as error:
        raise csv.Error(f"line {reader.line_num} cannot be cut into cells: {error}") from None
    return rows


def find_header(rows: Sequence[RawRow]) -> int:
    """Return the index of the header: the first row of at least two cells, if all above hold a single title each."""
    for index, row in enumerate(rows[: MAX_TITLES + 1]):
        if row.filled > 1:
            return index
    return 0


def clean_rows(rows: list[RawRow], notes: list[str]) -> list[RawRow]:
    """Return header and rows without titles, footnotes and empty columns, a header of two lines made one.

    Args:
        rows: All rows of a file that are not empty.
        notes: List that gets a sentence for each step.
    """
    first = find_header(rows)
    if first:
        title = next(cell for cell in rows[0].cells if cell.strip()).strip()[:40]
        notes.append(f"{first} title line{'' if first == 1 else 's'} above the header left out: {title}")
        rows = rows[first:]
    last = len(rows)
    while last > 2 and rows[last - 1].filled == 1 and len(rows[last - 1].cells) > 1 and _is_apart(rows, last - 1):
        last -= 1
    if last < len(rows):
        notes.append(f"text below the table left out, from line {rows[last].line} on")
        rows = rows[:last]
    return _join_header(_drop_empty_columns(rows), notes)


def read_numbers(header: Sequence[str], rows: list[tuple[str, ...]], notes: list[str], flaws: list[str],
                 lines: Sequence[int], default: str = "") -> list[tuple[str, ...]]:  # fmt: skip
    """Return the rows with numbers as Python writes them, such as ``1234.5`` for ``1.234,5``.

    Args:
        header: Names of the columns.
        rows: Cells, below the header.
        notes: List that gets a sentence where decimal commas were read.
        flaws: List that gets a sentence for each column that can be read in two ways.
        lines: Line of each row in the file.
        default: Decimal mark of columns that can be read in two ways; empty: such a column is a flaw.
    """
    columns = range(max((len(row) for row in rows), default=0))
    marks: dict[int, str] = {}
    unclear: dict[int, int] = {}
    for column in columns:
        cells = [(row[column], line) for row, line in zip(rows, lines, strict=True) if column < len(row)]
        mark, line = _column_mark(cells)
        name = header[column][:80] if column < len(header) else str(column + 1)
        if mark == "mixed":
            flaws.append(f"line {line} mixes decimal commas and points in column {name!r}; write all in one way")
        elif mark == "unclear":
            unclear[column] = line
        elif mark:
            marks[column] = mark
    for column, line in unclear.items():
        if len(set(marks.values())) == 1:
            marks[column] = next(iter(marks.values()))
        elif default:
            marks[column] = default
        else:
            cell = next(row[column] for row, at in zip(rows, lines, strict=True) if at == line)
            flaws.append(f"line {line}: {cell[:80]!r} can be read in two ways; write it without a thousands separator")
    if "," in marks.values():
        notes.append(DECIMAL_COMMAS)
    return [
        tuple(_plain_number(cell, marks[at]) if at in marks else cell for at, cell in enumerate(row)) for row in rows
    ]


def _sample_widths(sample: str, separator: str) -> list[int]:
    widths = []
    try:
        for cells in csv.reader(io.StringIO(sample, newline=""), delimiter=separator):
            if any(cell.strip() for cell in cells):
                widths.append(len(cells))
            if len(widths) == SAMPLE_ROWS:
                break
    except csv.Error:
        return []
    return widths


def _is_apart(rows: Sequence[RawRow], index: int) -> bool:
    """Return True if an empty line stands somewhere between the last full row and this one."""
    while index > 0 and rows[index].filled == 1:
        if rows[index].after_gap:
            return True
        index -= 1
    return False


def _drop_empty_columns(rows: list[RawRow]) -> list[RawRow]:
    widths = {len(row.cells) for row in rows}
    if len(widths) != 1:
        return rows
    kept = [at for at in range(widths.pop()) if any(row.cells[at].strip() for row in rows)]
    return [RawRow(tuple(row.cells[at] for at in kept), row.line, row.after_gap) for row in rows]


def _join_header(rows: list[RawRow], notes: list[str]) -> list[RawRow]:
    """Make a header of two lines one: the first has gaps, as merged cells leave them, and the second fills them."""
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
    """Return the decimal mark of a column, ``mixed``, ``unclear``, or nothing; and the line that shows it."""
    commas, points, unclear, texts = 0, 0, 0, 0
    for cell, line in cells:
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
            texts += 1
    if commas and points:
        return ("mixed", max(commas, points)) if not texts else ("", 0)
    if commas or points:
        return ("," if commas else "."), commas or points
    return ("unclear", unclear) if unclear and not texts else ("", 0)


def _plain_number(cell: str, mark: str) -> str:
    text = cell.strip()
    if not (COMMA if mark == "," else POINT).fullmatch(text):
        return cell
    text = SEPARATES.sub("", text).replace("." if mark == "," else ",", "").replace(mark, ".").replace("\u2212", "-")
    return f"-{text[:-1].lstrip('+')}" if text.endswith("-") else text

"""Formulas of a workbook: the cells that each formula reads, and the formulas that depend on a cell.

Cells are read from the text of a formula: ranges, whole columns, other sheets, defined names, and structured references
of tables. A formula whose cells cannot be read from its text, such as one with ``INDIRECT`` or a macro, may depend on
any cell.
"""

import html
import io
import re
import zipfile
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from posixpath import basename
from typing import NamedTuple
from urllib.parse import unquote

from oragent._base.errors import WorkspaceError
from oragent._base.spreadsheets import SheetGrid, WorkbookGrid, read_workbook
from oragent.workspace.reading import shorten

# Functions of Excel whose result depends on cells that are not among their arguments. So do those of data cubes.
REACHING, CUBES = {"OFFSET", "INDIRECT", "GETPIVOTDATA", "RTD", "CALL", "REGISTER.ID"}, "CUBE"
# Prefixes of functions and parameters that Excel has added since 2007.
NEW_FUNCTION, PARAMETER = "_xlfn.", "_xlpm."
# Maximum number of characters of a formula in Excel.
MAX_FORMULA = 8192
LAST_ROW, LAST_COLUMN = 1 << 20, 1 << 14
MAX_NESTED_NAMES = 8
# Cell in which relative references do not leave the sheet.
FAR = "MAA500000"
# Maximum number of comparisons of cells and ranges.
MAX_COMPARISONS = 20_000_000
# Comparisons that take as long as the cells of a defined name.
NAME_COST = 100
QUOTED_SHEET = re.compile(r"(?:'(?P<quoted>(?:[^']|'')+)'|(?P<plain>[^!'\"]+))!(?P<rest>.+)", re.DOTALL)
RANGE = re.compile(
    r"\$?[A-Z]{1,3}\$?\d{1,7}(:\$?[A-Z]{1,3}\$?\d{1,7})?|\$?[A-Z]{1,3}:\$?[A-Z]{1,3}|\$?\d{1,7}:\$?\d{1,7}",
    re.IGNORECASE | re.ASCII,
)
ABSOLUTE = re.compile(r"(\$[A-Za-z]+(\$\d+)?|\$\d+)(:(\$[A-Za-z]+(\$\d+)?|\$\d+))?")
STRUCTURED = re.compile(r"(?P<table>[^\[\]]*)\[(?P<inner>.*)\]", re.DOTALL)
ITEM = re.compile(r"\[((?:'.|[^\[\]'])*)\]")
TABLE_PART = re.compile(rb'Target="[^"]*?tables/([^"/]+\.xml)"')
PIVOT_SOURCE = re.compile(rb"<worksheetSource\b[^>]*>")
ATTRIBUTE = re.compile(r'\b(\w+)="([^"]*)"')


class Position(NamedTuple):
    """A cell; row and column are counted from 1."""

    sheet: str
    row: int
    column: int

    def __str__(self) -> str:
        from openpyxl.utils import get_column_letter

        return f"{shorten(self.sheet, 40)}!{get_column_letter(self.column)}{self.row}"


class CellFormula(NamedTuple):
    """Formula of a cell."""

    cell: Position
    text: str

    @property
    def relative_text(self) -> str:
        """Text of the formula as it would be in one fixed cell."""
        from openpyxl.formula.translate import Translator

        return str(Translator(self.text.removeprefix("{"), str(self.cell).rpartition("!")[2]).translate_formula(FAR))


def have_same_formula(first: CellFormula | None, second: CellFormula | None) -> bool:
    """Return True if two cells have the same formula, relative to their places."""
    if first is None or second is None or first.text[:1] != second.text[:1]:
        return False
    if first.text == second.text and first.cell[1:] == second.cell[1:]:
        return True
    try:
        return first.relative_text == second.relative_text
    except Exception:
        # openpyxl cannot read a formula of a newer version.
        return False


class Area(NamedTuple):
    """A rectangle of cells, with its last row and column."""

    sheet: str
    top: int
    left: int
    bottom: int
    right: int

    def contains(self, cell: Position) -> bool:
        """Return True if a cell lies in the rectangle."""
        is_inside = self.top <= cell.row <= self.bottom and self.left <= cell.column <= self.right
        return is_inside and cell.sheet == self.sheet

    @property
    def is_cell(self) -> bool:
        """Return True for a rectangle of one cell."""
        return self.top == self.bottom and self.left == self.right


@dataclass(frozen=True)
class SheetTable:
    """A table of Excel, to which structured references point."""

    area: Area
    columns: tuple[str, ...]
    header_rows: int
    total_rows: int

    def find_area(self, items: Collection[str], row: int) -> Area | None:
        """Return the area of the items of a structured reference; ``row`` is that of the formula."""
        names = [name.casefold() for name in self.columns]
        chosen = [item.casefold() for item in items if not item.startswith("#")]
        if any(name not in names for name in chosen):
            return None
        places = [names.index(name) for name in chosen] or [0, len(names) - 1]
        first, last = self.area.top + self.header_rows, self.area.bottom - self.total_rows
        spans = {
            "#all": (self.area.top, self.area.bottom),
            "#data": (first, last),
            "#headers": (self.area.top, first - 1),
            "#totals": (last + 1, self.area.bottom),
            "#this row": (row, row),
        }
        parts = [item.casefold() for item in items if item.startswith("#")] or ["#data"]
        if any(part not in spans for part in parts):
            return None
        top, bottom = min(spans[part][0] for part in parts), max(spans[part][1] for part in parts)
        return Area(self.area.sheet, top, self.area.left + min(places), bottom, self.area.left + max(places))


@dataclass(frozen=True)
class WorkbookFormulas:
    """Formulas of a workbook by cell."""

    grid: WorkbookGrid
    tables: Mapping[str, SheetTable]
    # Cells from which pivot tables are made.
    pivot_sources: tuple[Area, ...] = ()
    # Whether numbers of days count from 1904, as in old workbooks of macOS.
    counts_from_1904: bool = False
    _comparisons: list[int] = field(default_factory=lambda: [MAX_COMPARISONS], repr=False)

    @classmethod
    def read(cls, content: bytes) -> "WorkbookFormulas":
        """Read the formulas of a workbook.

        Raises:
            TableError: The content is not a workbook within the limits.
        """
        grid = read_workbook(content)
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            tables = dict(_read_tables(archive, grid.sheets))
            formulas = cls(grid, tables)
            is_old = re.search(rb'date1904="(1|true)"', archive.read("xl/workbook.xml")) is not None
            return cls(grid, tables, tuple(formulas._read_pivot_sources(archive)), is_old)

    @cached_property
    def texts(self) -> dict[Position, str]:
        """Text of each formula, with ``=``. An array formula is at each cell that it fills, and begins with ``{``."""
        texts: dict[Position, str] = {}
        for title, sheet in self.grid.sheets.items():
            for row, cells in enumerate(sheet.formulas or (), 1):
                for column, cell in enumerate(cells, 1):
                    if isinstance(cell, str) and cell.startswith("=") and len(cell) > 1:
                        if _is_formula(sheet, row, column):
                            texts.setdefault(Position(title, row, column), cell)
                    elif hasattr(cell, "ref"):
                        # Array formulas, and tables of what-if values whose text openpyxl does not read.
                        text = "{=" + str(getattr(cell, "text", "") or "INDIRECT()").removeprefix("=")
                        texts |= dict.fromkeys(self._list_filled(str(cell.ref), title), text)
        return texts

    def _list_filled(self, reference: str, sheet: str) -> Iterator[Position]:
        for area in self.find_areas(reference, Position(sheet, 1, 1)) or ():
            grid = self.grid.sheets[sheet].values
            for row in range(area.top, min(area.bottom, len(grid)) + 1):
                for column in range(area.left, min(area.right, len(grid[row - 1])) + 1):
                    yield Position(sheet, row, column)

    @cached_property
    def areas(self) -> dict[Position, tuple[Area, ...] | None]:
        """Areas that each formula reads; None if they cannot be read from its text."""
        return {cell: self.find_inputs(text, cell) for cell, text in self.texts.items()}

    def find_inputs(self, text: str, cell: Position, depth: int = 0) -> tuple[Area, ...] | None:
        """Return the areas that a formula in a cell reads; None if they cannot be read from its text."""
        from openpyxl.formula import Tokenizer
        from openpyxl.utils import FORMULAE

        if len(text) > MAX_FORMULA:
            return None
        try:
            tokens = Tokenizer(text.removeprefix("{")).items
        except Exception:
            # Formulas of newer versions, such as A1#, are beyond openpyxl's grammar.
            return None
        areas: list[Area] = []
        for token in tokens:
            if token.type == "FUNC" and token.subtype == "OPEN":
                name = token.value[:-1].upper()
                is_new = name.startswith(NEW_FUNCTION.upper())
                if name in REACHING or name.startswith(CUBES) or not (is_new or name in FORMULAE):
                    return None
            elif token.type == "OPERAND" and token.subtype == "RANGE":
                reference = self.find_areas(token.value, cell, depth)
                if reference is None:
                    return None
                areas += reference
        return tuple(areas)

    def find_areas(self, reference: str, cell: Position, depth: int = 0) -> tuple[Area, ...] | None:
        """Return the areas of a reference in the formula of a cell; None if they are unknown.

        A reference to another workbook and a parameter of ``LET`` have no area.
        """
        text = reference.strip().removeprefix("@")
        if text.startswith(PARAMETER):
            return ()
        qualified = QUOTED_SHEET.fullmatch(text) if not STRUCTURED.fullmatch(text) else None
        if qualified is None:
            return self._find_local(text, cell.sheet, cell, depth)
        name = (qualified["quoted"] or qualified["plain"]).replace("''", "'")
        if name.startswith("["):
            return ()
        titles = {title.casefold(): title for title in self.grid.sheets}
        first, _, last = (part.casefold() for part in name.partition(":"))
        if name.casefold() in titles:
            return self._find_local(qualified["rest"], titles[name.casefold()], cell, depth)
        if first in titles and last in titles:
            order = list(titles)
            start, end = sorted((order.index(first), order.index(last)))
            sheets = [titles[title] for title in order[start : end + 1]]
            parts = [self._find_local(qualified["rest"], sheet, cell, depth) for sheet in sheets]
            return None if None in parts else tuple(area for part in parts for area in part or ())
        return None

    def _find_local(self, text: str, sheet: str, cell: Position, depth: int) -> tuple[Area, ...] | None:
        from openpyxl.utils import range_boundaries

        left, top, right, bottom = range_boundaries(text) if RANGE.fullmatch(text) else (None, None, None, None)
        columns, rows = (left or 1, right or LAST_COLUMN), (top or 1, bottom or LAST_ROW)
        # Names can look like cells behind the last column.
        if (left or top) and max(columns) <= LAST_COLUMN and max(rows) <= LAST_ROW:
            if depth and not ABSOLUTE.fullmatch(text):
                # The cells of such a name depend on the place of the formula that uses it.
                return None
            return (Area(sheet, min(rows), min(columns), max(rows), max(columns)),)
        structured = STRUCTURED.fullmatch(text)
        name = structured["table"] if structured else text
        table = self.tables.get(name.casefold())
        if structured or table:
            area = table.find_area(_list_items(structured["inner"] if structured else ""), cell.row) if table else None
            return (area,) if area else None
        defined = self.find_name(name, Position(sheet, cell.row, cell.column))
        self._count(NAME_COST)
        if defined is None or depth >= MAX_NESTED_NAMES:
            return None
        return self.find_inputs(defined.text, defined.cell, depth + 1)

    def find_name(self, reference: str, cell: Position) -> CellFormula | None:
        """Return the formula of a defined name, with or without a sheet, as a cell uses it; None if there is none."""
        title, _, name = reference.rpartition("!")
        folded = title.strip("'").replace("''", "'").casefold()
        sheet = next((sheet for sheet in self.grid.sheets if sheet.casefold() == folded), "") if title else cell.sheet
        keys = [(sheet, name.casefold()), ("", name.casefold())] if sheet else []
        text = next((self.grid.names[key] for key in keys if key in self.grid.names), None)
        return None if text is None else CellFormula(Position(sheet, cell.row, cell.column), f"={text}")

    def find_dependents(self, changed: Collection[Position]) -> list[Position]:
        """Return the cells with formulas that depend on changed cells, in an order in which they can be computed.

        Raises:
            WorkspaceError: A formula may depend on any cell, a pivot table is made from a changed cell, or formulas
                depend on each other.
        """
        unclear = next((cell for cell, areas in self.areas.items() if areas is None and cell not in changed), None)
        if unclear is not None:
            formula = shorten(self.texts[unclear], 60)
            raise WorkspaceError(f"the cells that the formula {formula} of {unclear} reads are not known")
        waiting, reached = list(changed), dict.fromkeys(changed)
        by_cell, ranges = self._index_areas()
        while waiting:
            cell = waiting.pop()
            if any(area.contains(cell) for area in self.pivot_sources):
                raise WorkspaceError(f"a pivot table is made from {cell}")
            self._count(len(ranges[cell.sheet]))
            readers = [*by_cell[cell], *(reader for area, reader in ranges[cell.sheet] if area.contains(cell))]
            for reader in readers:
                if reader not in reached:
                    reached[reader] = None
                    waiting.append(reader)
        return self._sort_cells([cell for cell in reached if cell not in changed])

    def _index_areas(self) -> tuple[dict[Position, list[Position]], dict[str, list[tuple[Area, Position]]]]:
        by_cell: dict[Position, list[Position]] = defaultdict(list)
        ranges: dict[str, list[tuple[Area, Position]]] = defaultdict(list)
        for reader, areas in self.areas.items():
            for area in areas or ():
                if area.is_cell:
                    by_cell[Position(area.sheet, area.top, area.left)].append(reader)
                else:
                    ranges[area.sheet].append((area, reader))
        return by_cell, ranges

    def _sort_cells(self, cells: list[Position]) -> list[Position]:
        inside, readers, counts = set(cells), defaultdict(list), dict.fromkeys(cells, 0)
        for reader in cells:
            sources: set[Position] = set()
            for area in self.areas[reader] or ():
                if area.is_cell:
                    sources |= {Position(area.sheet, area.top, area.left)} & inside
                else:
                    self._count(len(cells))
                    sources |= {cell for cell in cells if area.contains(cell)}
            counts[reader] = len(sources)
            for source in sources:
                readers[source].append(reader)
        ready = [cell for cell in cells if not counts[cell]]
        for cell in ready:
            for reader in readers[cell]:
                counts[reader] -= 1
                if not counts[reader]:
                    ready.append(reader)
        if len(ready) < len(cells):
            raise WorkspaceError(f"the formula of {next(cell for cell in cells if counts[cell])} depends on itself")
        return ready

    def _count(self, comparisons: int) -> None:
        self._comparisons[0] -= comparisons
        if self._comparisons[0] < 0:
            raise WorkspaceError("its formulas are too many to be followed")

    def _read_pivot_sources(self, archive: zipfile.ZipFile) -> Iterator[Area]:
        parts = [name for name in archive.namelist() if "pivotCacheDefinition" in basename(name)]
        for part in parts:
            for match in PIVOT_SOURCE.finditer(archive.read(part)):
                attributes = _read_attributes(match[0])
                sheet = attributes.get("sheet", next(iter(self.grid.sheets)))
                reference = attributes.get("ref") or attributes.get("name", "")
                yield from self.find_areas(reference, Position(sheet, 1, 1)) or (
                    Area(title, 1, 1, LAST_ROW, LAST_COLUMN) for title in self.grid.sheets
                )


def list_linked_files(content: bytes) -> set[str]:
    """Return the names of the other workbooks to which formulas of a workbook refer."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        parts = [name for name in archive.namelist() if name.startswith("xl/externalLinks/_rels/")]
        targets = [target for part in parts for target in re.findall(rb'Target="([^"]*)"', archive.read(part))]
    texts = (unquote(html.unescape(target.decode("utf-8", "replace"))) for target in targets)
    return {re.split(r"[/\\]", text)[-1] for text in texts}


def _is_formula(sheet: SheetGrid, row: int, column: int) -> bool:
    """Return False for a text that begins with ``=``: its value is the same text."""
    values = sheet.values[row - 1] if row <= len(sheet.values) else []
    return column > len(values) or values[column - 1] != (sheet.formulas or [])[row - 1][column - 1]


def _list_items(inner: str) -> list[str]:
    """Return the items of a structured reference, such as ``#Totals`` and names of columns."""
    inner, items = inner.strip(), []
    if inner.startswith("@"):
        inner, items = inner[1:], ["#This Row"]
    parts = ITEM.findall(inner) if "[" in inner else [inner]
    return items + [re.sub(r"'(.)", r"\1", part).strip() for part in parts if part.strip()]


def _read_attributes(element: bytes) -> dict[str, str]:
    pairs = ATTRIBUTE.findall(element.decode("utf-8", "replace"))
    return {name: html.unescape(value) for name, value in pairs}


def _read_tables(archive: zipfile.ZipFile, sheets: Mapping[str, SheetGrid]) -> Iterator[tuple[str, SheetTable]]:
    from openpyxl.utils import range_boundaries

    parts = set(archive.namelist())
    for title, sheet in sheets.items():
        folder, _, name = sheet.part.rpartition("/")
        relations = f"{folder}/_rels/{name}.rels"
        targets = TABLE_PART.findall(archive.read(relations)) if relations in parts else []
        for target in targets:
            part = f"xl/tables/{target.decode('utf-8', 'replace')}"
            if part not in parts:
                continue
            xml = archive.read(part)
            head = re.search(rb"<(?:\w+:)?table\b[^>]*>", xml)
            attributes = _read_attributes(head[0]) if head else {}
            names = re.findall(rb"<(?:\w+:)?tableColumn\b[^>]*>", xml)
            try:
                left, top, right, bottom = map(int, range_boundaries(attributes.get("ref", "")))
                header, totals = int(attributes.get("headerRowCount", 1)), int(attributes.get("totalsRowCount", 0))
            except (TypeError, ValueError):
                # Not a rectangle.
                continue
            columns = tuple(_read_attributes(column).get("name", "") for column in names)
            table = SheetTable(Area(title, top, left, bottom, right), columns, header, totals)
            yield attributes.get("displayName", attributes.get("name", "")).casefold(), table

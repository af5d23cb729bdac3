"""Business files of clean data: tables in several formats, with traps that notes and corrections explain.

A layout is drawn once for an instance, so that the files of both versions have the same form. ``SOURCES`` in the
program's ``utils.py`` is the exact inverse of the noise.
"""

import csv
import io
import json
import sqlite3
import tempfile
import zipfile
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import numpy as np

from oragent_benchmarks.workspace.generating.domain import Business, CleanData, Parameter
from oragent_benchmarks.workspace.generating.draws import Key, choose
from oragent_benchmarks.workspace.generating.texts import general

# Other units of a figure, with the factor by which it is written.
UNITS = {
    "t": ("kg", 1000.0),
    "EUR": ("ct", 100.0),
    "EUR/t": ("ct/t", 100.0),
    "h": ("min", 60.0),
    "MWh": ("kWh", 1000.0),
    "EUR/MWh": ("ct/MWh", 100.0),
    "m3": ("l", 1000.0),
    "kEUR": ("EUR", 1000.0),
}
# Formats by difficulty.
FORMATS = (("csv",), ("csv", "semicolon", "xlsx"), *[("csv", "semicolon", "xlsx", "json", "db")] * 3)
EXTRAS = {
    "contact": ("Moreau", "Okafor", "Lindqvist", "Tanaka", "Novak"),
    "changed_by": ("mk", "import", "jsp", "intern2"),
    "remark": ("", "", "ok", "call back", "see mail"),
    "last_year": (),
}
STATUS = ("valid", "superseded")
# Parts of an XLSX file with one sheet and texts in the cells.
XLSX = {
    "[Content_Types].xml": '<Types xmlns="{package}/content-types">'
    '<Default Extension="rels" ContentType="{type}-package.relationships+xml"/>'
    '<Override PartName="/xl/workbook.xml" ContentType="{type}-officedocument.spreadsheetml.sheet.main+xml"/>'
    '<Override PartName="/xl/sheet1.xml" ContentType="{type}-officedocument.spreadsheetml.worksheet+xml"/></Types>',
    "_rels/.rels": '<Relationships xmlns="{package}/relationships">'
    '<Relationship Id="r1" Type="{office}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
    "xl/workbook.xml": '<workbook xmlns="{main}" xmlns:r="{office}">'
    '<sheets><sheet name="Export" sheetId="1" r:id="r1"/></sheets></workbook>',
    "xl/_rels/workbook.xml.rels": '<Relationships xmlns="{package}/relationships">'
    '<Relationship Id="r1" Type="{office}/worksheet" Target="sheet1.xml"/></Relationships>',
    "xl/sheet1.xml": '<worksheet xmlns="{main}"><sheetData>{rows}</sheetData></worksheet>',
}
NAMESPACES = {
    "{office}": "http://schemas.openxmlformats.org/officeDocument/2006/relationships",
    "{main}": "http://schemas.openxmlformats.org/spreadsheetml/2006/main",
    "{package}": "http://schemas.openxmlformats.org/package/2006",
    "{type}": "application/vnd.openxmlformats",
}
Row = dict[str, object]


@dataclass(frozen=True)
class TableLayout:
    """Form of one table."""

    title: str
    parameters: tuple[Parameter, ...]
    # ``csv``, ``semicolon`` (with decimal commas), ``xlsx``, ``json`` or ``db``.
    form: str
    # Column of each set.
    keys: tuple[str, ...]
    # Column of each parameter, its unit and the factor of the unit.
    columns: Mapping[str, tuple[str, str, float]]
    # Columns without use.
    extras: tuple[str, ...] = ()
    # Whether the labels of the last set are columns.
    is_wide: bool = False
    # Whether rows of former years are among the others.
    has_stale_rows: bool = False

    @property
    def path(self) -> str:
        """Name of the file below ``data``."""
        return f"{self.title}.{'csv' if self.form == 'semicolon' else self.form}"


@dataclass(frozen=True)
class FileLayout:
    """Form of all files of an instance."""

    tables: tuple[TableLayout, ...]
    # Code by label of the set whose labels are written as codes. Empty for none.
    codes: Mapping[str, str]
    # Cells of which the file holds a wrong figure, or none, with the figure that an e-mail states.
    corrections: Mapping[tuple[str, Key], float | None]
    seed: int


def draw_layout(
    rng: np.random.Generator, business: Business, data: CleanData, difficulty: int, changed: Set[tuple[str, Key]]
) -> FileLayout:
    """Draw the form of the files. Changed cells of the data are not among the wrong ones."""
    titles = list(dict.fromkeys(parameter.table for parameter in business.parameters))
    offset = int(rng.integers(5))
    tables = []
    for number, title in enumerate(titles):
        parameters = tuple(one for one in business.parameters if one.table == title)
        form = FORMATS[difficulty - 1][(number + offset) % len(FORMATS[difficulty - 1])]
        sets, columns = parameters[0].sets, {}
        is_wide = difficulty > 1 and len(sets) > 1 and len(parameters) == 1 and bool(rng.random() < 0.5)
        for one in parameters:
            is_scaled = difficulty > 2 and one.unit in UNITS and not is_wide and rng.random() < 0.4
            unit, factor = UNITS[one.unit] if is_scaled else (one.unit, 1.0)
            heading = choose(rng, one.headings)[0]
            columns[one.name] = (f"{heading} [{unit}]" if unit and sets and not is_wide else heading, unit, factor)
        keys = tuple(choose(rng, (name, f"{name}_name", name.title()))[0] for name in sets)
        extras = tuple(choose(rng, list(EXTRAS), min(2, difficulty))) if len(sets) == 1 else ()
        stale = difficulty > 1 and len(sets) == 1 and bool(rng.random() < 0.6)
        tables.append(TableLayout(title, parameters, form if sets else "csv", keys, columns, extras, is_wide, stale))
    codes: dict[str, str] = {}
    if difficulty > 2:
        labels = data.sets[next(one.sets[0] for one in business.parameters if one.sets)]
        numbers = (100 + rng.permutation(800)[: len(labels)]).tolist()
        codes = {label: f"{labels[0][0]}{number}" for label, number in zip(labels, numbers, strict=True)}
    corrections: dict[tuple[str, Key], float | None] = {}
    for _ in range(max(0, difficulty - 2)):
        one = business.parameters[int(rng.integers(len(business.parameters)))]
        key = choose_key(rng, data.values[one.name])
        wrong = round(data.values[one.name][key] * float(rng.choice([0.7, 1.3, 1.5])), 1)
        if wrong != data.values[one.name][key] and (one.name, key) not in changed:
            corrections[one.name, key] = None if difficulty > 3 and key and not corrections else wrong
    return FileLayout(tuple(tables), codes, corrections, int(rng.integers(2**31)))


def choose_key(rng: np.random.Generator, values: Mapping[Key, float]) -> Key:
    """Return a random key."""
    return list(values)[int(rng.integers(len(values)))]


def write_data(layout: FileLayout, data: CleanData) -> dict[str, bytes]:
    """Return the files below ``data`` by name."""
    rng = np.random.default_rng(layout.seed)
    written = {name: dict(values) for name, values in data.values.items()}
    shown: dict[str, dict[Key, float | None]] = {name: dict(values) for name, values in written.items()}
    for (name, key), wrong in layout.corrections.items():
        shown[name][key] = wrong
    files = {}
    for table in layout.tables:
        rows = _settings_rows(table, shown) if not table.keys else _table_rows(rng, table, shown, layout.codes)
        files["general_parameters.csv" if not table.keys else table.path] = _render(table, rows)
        if table.has_stale_rows and layout.codes:
            old = {
                one.name: {key: round(v * 0.9, 2) for key, v in written[one.name].items()} for one in table.parameters
            }
            stale = TableLayout(f"{table.title}_old_do_not_use", table.parameters, "csv", table.keys, table.columns)
            files[stale.path] = _render(stale, _table_rows(rng, stale, old, {}))
    if layout.codes:
        files["codes.csv"] = _as_csv([{"code": code, "name": label} for label, code in layout.codes.items()], ",")
        lunches = [{"day": f"2025-03-{day:02}", "lunches": int(rng.integers(20, 60))} for day in range(3, 22)]
        files["canteen_march.csv"] = _as_csv(list(lunches), ",")
    return files


def _settings_rows(table: TableLayout, values: Mapping[str, Mapping[Key, float | None]]) -> list[Row]:
    return [
        {"Parameter_Name": heading, "Value": _scaled(values[name][()], factor), "Unit": unit}
        for name, (heading, unit, factor) in table.columns.items()
    ]


def _scaled(value: float | None, factor: float) -> float | str:
    if value is None:
        return ""
    scaled = round(value * factor, 6)
    return int(scaled) if scaled.is_integer() else scaled


def _table_rows(
    rng: np.random.Generator,
    table: TableLayout,
    values: Mapping[str, Mapping[Key, float | None]],
    codes: Mapping[str, str],
) -> list[Row]:
    first = values[table.parameters[0].name]
    width = len(table.keys) - table.is_wide
    rows: dict[Key, Row] = {}
    for key in first:
        labels = [codes.get(label, label) for label in key]
        row = rows.setdefault(key[:width], dict(zip(table.keys[:width], labels, strict=False)))
        for one in table.parameters:
            column, _, factor = table.columns[one.name]
            row[labels[-1] if table.is_wide else column] = _scaled(values[one.name][key], factor)
    every: list[Row] = []
    for row in rows.values():
        is_doubled = table.has_stale_rows and rng.random() < 0.4
        for status in (STATUS[1], STATUS[0])[0 if is_doubled else 1 :]:
            other = dict(row)
            if status == STATUS[1]:
                for column, value in row.items():
                    if isinstance(value, int | float):
                        other[column] = _scaled(float(value), 0.8)
            if table.has_stale_rows:
                other["status"] = status
            for name in table.extras:
                other[name] = str(rng.choice(EXTRAS[name])) if EXTRAS[name] else int(rng.integers(10, 900))
            every.append(other)
    return every


def _render(table: TableLayout, rows: list[Row]) -> bytes:
    if table.form == "json":
        return (json.dumps({"source": table.title, "records": rows}, indent=1) + "\n").encode()
    if table.form == "xlsx":
        return _as_xlsx(f"Planning export: {table.title}", rows)
    if table.form == "db":
        return _as_database(table.title, rows)
    return _as_csv(rows, ";" if table.form == "semicolon" else ",")


def _as_csv(rows: Sequence[Mapping[str, object]], separator: str) -> bytes:
    stream = io.StringIO()
    writer = csv.writer(stream, delimiter=separator, lineterminator="\n")
    writer.writerow(rows[0])
    for row in rows:
        cells = [str(value) for value in row.values()]
        are_floats = [isinstance(value, float) for value in row.values()]
        if separator == ";":
            cells = [
                cell.replace(".", ",") if is_float else cell for cell, is_float in zip(cells, are_floats, strict=True)
            ]
        writer.writerow(cells)
    return stream.getvalue().encode()


def _as_xlsx(title: str, rows: Sequence[Row]) -> bytes:
    lines: list[Sequence[object]] = [[title], [], list(rows[0]), *(list(row.values()) for row in rows)]
    text = ""
    for number, line in enumerate(lines, 1):
        cells = ""
        for column, value in enumerate(line):
            at = f"{'A' if column > 25 else ''}{chr(65 + column % 26)}{number}"
            if isinstance(value, str):
                cells += f'<c r="{at}" t="inlineStr"><is><t>{escape(value)}</t></is></c>'
            else:
                cells += f'<c r="{at}"><v>{value}</v></c>'
        text += f'<row r="{number}">{cells}</row>'
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, part in XLSX.items():
            # A fixed date keeps the file the same every time.
            for short, full in (NAMESPACES | {"{rows}": text}).items():
                part = part.replace(short, full)
            archive.writestr(zipfile.ZipInfo(name, (2026, 1, 1, 0, 0, 0)), part)
    return stream.getvalue()


def _as_database(title: str, rows: Sequence[Row]) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "made.db"
        connection = sqlite3.connect(path)
        columns = ", ".join(f'"{name}"' for name in rows[0])
        connection.execute(f'CREATE TABLE "{title}" ({columns})')
        marks = ", ".join("?" for _ in rows[0])
        connection.executemany(f'INSERT INTO "{title}" VALUES ({marks})', [tuple(row.values()) for row in rows])
        connection.commit()
        connection.close()
        return path.read_bytes()


def describe_sources(layout: FileLayout, data: CleanData) -> dict[str, dict[str, Any]]:
    """Return where each parameter is and how it is read, for ``utils.py``."""
    sources: dict[str, dict[str, Any]] = {}
    for table in layout.tables:
        for one in table.parameters:
            column, _, factor = table.columns[one.name]
            sources[one.name] = {
                "file": table.path if table.keys else "general_parameters.csv",
                "keys": list(table.keys),
                "column": column,
                "per_unit": factor,
                "wide": table.is_wide,
                "status": STATUS[0] if table.has_stale_rows else "",
                "mails": {key: data.values[name][key] for name, key in layout.corrections if name == one.name},
            }
    return sources


def note_traps(layout: FileLayout) -> list[tuple[str, ...]]:
    """Return sentences on what nobody can guess from the files. They are no dictionary of the data."""
    notes = [general("stale", file=table.path) for table in layout.tables if table.has_stale_rows]
    names = ["units"]
    names += ["settings"] if any(not table.keys for table in layout.tables) else []
    names += ["codes", "other"] if layout.codes else []
    return [*(general(name) for name in names), *notes]


def correct_figures(business: Business, layout: FileLayout, data: CleanData) -> list[tuple[str, ...]]:
    """Return a sentence for each figure of the files that is wrong or lacks."""
    units = {parameter.name: parameter.unit for parameter in business.parameters}
    headings = {name: heading for table in layout.tables for name, (heading, _, _) in table.columns.items()}
    sentences = []
    for (name, key), wrong in layout.corrections.items():
        right = data.values[name][key]
        words = {
            "place": ", ".join([headings[name].split(" [")[0], *key]),
            "right": f"{right:g}",
            "wrong": f"{wrong or 0:g}",
            "guess": f"{right * 1.1 + 1:g}",
            "unit": f" {units[name]}" if units[name] else "",
        }
        sentences.append(general("empty" if wrong is None else "wrong", **words))
    return sentences

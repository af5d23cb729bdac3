"""Generated instances as a vault keeps them, and the noise of their tables and documents."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np

from oragent._base.errors import MilpError, WorkspaceError
from oragent.evals.workspace.domains.domain import REQUIREMENT, Artifacts, NewFigure
from oragent.evals.workspace.views import VAULT
from oragent.milp import as_json
from oragent.milp.model import Milp
from oragent.workspace import tables
from oragent.workspace.reading import read_json, shorten_path
from oragent.workspace.tables import CsvTable

Where = tuple[str, ...]
UNITS = {"(h)": ("(min)", 60), "(t)": ("(kg)", 1000), "(km)": ("(m)", 1000), "(EUR)": ("(ct)", 100)}
VALID, MAILS = "valid until", "mails.txt"
DAY = "Rows whose `valid until` is before today, 2025-03-01, are no longer in force."
STATED = "The {} of {}, left open in {}, is {}."
MAIL = "Date: {}\n\nPlease use {} = {} {} ({})."


@dataclass(frozen=True)
class NoiseStep:
    """One kind of noise in a workspace; ``where``: place of the noise, such as table and column; never a value."""

    kind: str
    where: Where


def plant_noise(artifacts: Artifacts, rng: np.random.Generator, count: int) -> tuple[Artifacts, tuple[NoiseStep, ...]]:
    """Plant up to ``count`` kinds of noise, drawn at random; each at most once."""
    steps: list[NoiseStep] = []
    for kind in rng.permutation(list(KINDS)):
        if len(steps) < count:
            planted = KINDS[str(kind)](artifacts, rng)
        else:
            planted = None
        if planted is not None:
            artifacts = planted[0]
            steps.append(NoiseStep(str(kind), planted[1]))
    return artifacts, tuple(steps)


def _map_column(artifacts: Artifacts, where: Where, header: str, change: Callable[[str], str]) -> Artifacts:
    """Return artifacts with the cells of one column changed, and another name for it."""
    table = artifacts.tables[where[0]]
    at = table.header.index(where[1])
    rows = tuple((*row[:at], change(row[at]), *row[at + 1 :]) for row in table.rows)
    return artifacts.with_table(where[0], CsvTable((*table.header[:at], header, *table.header[at + 1 :]), rows))


def _draw_column(artifacts: Artifacts, rng: np.random.Generator, fits: Callable[[str, Sequence[str]], bool]) -> Where:
    columns = [
        (name, column)
        for name, table in sorted(artifacts.tables.items())
        if name != tables.PARAMETERS_FILE
        for column in table.header[1:]
        if fits(column, table.column(column))
    ]
    if columns:
        return columns[int(rng.integers(len(columns)))]
    return ()


def _are_numeric(cells: Sequence[str]) -> bool:
    return all(tables.parse_number(cell) is not None for cell in cells)


def _scale_cell(cell: str, factor: Decimal) -> str:
    scaled = Decimal(cell.replace(",", "")) * factor
    return f"{scaled.normalize():f}"


def _plant_unit(artifacts: Artifacts, rng: np.random.Generator) -> tuple[Artifacts, Where] | None:
    where = _draw_column(
        artifacts, rng, lambda column, cells: column[column.rfind("(") :] in UNITS and _are_numeric(cells)
    )
    if not where:
        return None
    stem, unit = where[1][: where[1].rfind("(")], where[1][where[1].rfind("(") :]
    small, factor = UNITS[unit]
    header = stem + small
    return _map_column(artifacts, where, header, lambda cell: _scale_cell(cell, Decimal(factor))), (*where, unit)


def _plant_separators(artifacts: Artifacts, rng: np.random.Generator) -> tuple[Artifacts, Where] | None:
    where = _draw_column(
        artifacts,
        rng,
        lambda column, cells: all(cell.isdecimal() for cell in cells) and any(len(cell) > 3 for cell in cells),
    )
    if where:
        return (_map_column(artifacts, where, where[1], lambda cell: f"{int(cell):,}"), where)
    return None


def _plant_validity(artifacts: Artifacts, rng: np.random.Generator) -> tuple[Artifacts, Where] | None:
    names = [
        name
        for name, table in sorted(artifacts.tables.items())
        if name != tables.PARAMETERS_FILE and VALID not in table.header
    ]
    name = names[int(rng.integers(len(names)))]
    table = artifacts.tables[name]
    old = table.rows[int(rng.integers(len(table.rows)))]
    past = tuple(cell if tables.parse_number(cell) is None else _scale_cell(cell, Decimal("1.1")) for cell in old)
    rows = ((*past, "2024-06-30"), *((*row, "2026-12-31") for row in table.rows))
    text = artifacts.documents[REQUIREMENT] + DAY + "\n"
    return artifacts.with_table(name, CsvTable((*table.header, VALID), rows)).with_document(REQUIREMENT, text), (name,)


def _plant_stated(artifacts: Artifacts, rng: np.random.Generator) -> tuple[Artifacts, Where] | None:
    where = _draw_column(artifacts, rng, lambda column, cells: column != VALID and all(cells))
    if not where:
        return None
    table = artifacts.tables[where[0]]
    keys = [row[0] for row in table.rows if [other_row[0] for other_row in table.rows].count(row[0]) == 1]
    if not keys:
        return None
    key = keys[int(rng.integers(len(keys)))]
    value = next(row[table.header.index(where[1])] for row in table.rows if row[0] == key)
    text = artifacts.documents[REQUIREMENT] + STATED.format(where[1], key, where[0], value) + "\n"
    return _with_cell(artifacts, (*where, key), "").with_document(REQUIREMENT, text), (*where, key)


def _with_cell(artifacts: Artifacts, where: Where, cell: str) -> Artifacts:
    table = artifacts.tables[where[0]]
    at = table.header.index(where[1])
    rows = tuple((*row[:at], cell, *row[at + 1 :]) if row[0] == where[2] else row for row in table.rows)
    return artifacts.with_table(where[0], CsvTable(table.header, rows))


def _plant_mail(artifacts: Artifacts, rng: np.random.Generator) -> tuple[Artifacts, Where] | None:
    table = artifacts.tables[tables.PARAMETERS_FILE]
    at = int(rng.integers(len(table.rows)))
    name, value, unit, meaning = table.rows[at]
    mails = [
        MAIL.format("2025-02-24", name, value, unit, meaning),
        MAIL.format("2025-01-13", name, _scale_cell(value, Decimal("1.25")), unit, meaning),
    ]
    rows = table.rows[:at] + table.rows[at + 1 :]
    noisy = artifacts.with_table(tables.PARAMETERS_FILE, CsvTable(table.header, rows))
    return noisy.with_document(MAILS, "\n---\n".join(mails) + "\n"), (str(at),)


KINDS = {
    "other unit": _plant_unit,
    "thousands separators": _plant_separators,
    "rows out of force": _plant_validity,
    "figure in a sentence": _plant_stated,
    "parameter in a mail": _plant_mail,
}


@dataclass(frozen=True)
class GeneratedInstance:
    """An instance with everything that is hidden from agents; saved in the vault as JSON."""

    number: int
    domain: str
    revision: str
    # depth of the revision, ``L1`` to ``L5``
    depth: str
    title: str
    # programs of the planning team, before and after the revision
    programs: tuple[str, str]
    # exact original
    milp: Milp
    revised: Milp
    # of the original, by two solvers
    optimum: float
    revised_optimum: float
    figures: tuple[NewFigure, ...]
    # operations of the revision, such as ``+constraint safety``
    operations: tuple[str, ...]
    # tables without noise, by file name
    tables: Mapping[str, CsvTable]
    # noise of the build view
    noise: tuple[NoiseStep, ...]


def instance_json(instance: GeneratedInstance) -> str:
    """Return an instance as JSON text."""
    plain: dict[str, Any] = {key: getattr(instance, key) for key in instance.__dataclass_fields__}
    plain |= {
        "milp": as_json.to_dict(instance.milp),
        "revised": as_json.to_dict(instance.revised),
        "figures": [asdict(part) for part in instance.figures],
        "noise": [asdict(part) for part in instance.noise],
        "tables": {name: tables.write_table(table) for name, table in instance.tables.items()},
    }
    return json.dumps(plain, ensure_ascii=False, separators=(",", ":")) + "\n"


def read_instances(root: Path) -> dict[int, GeneratedInstance]:
    """Return the exact models of a generated set, by number; empty where the set has none that this version reads.

    The public release and sets of earlier versions have none.
    """
    folder = root / VAULT / "instances"
    instances = {}
    for path in sorted(folder.glob("*.json")) if folder.is_dir() else []:
        plain = read_json(path)
        # of a set that an earlier version made
        if isinstance(plain, dict) and "family" in plain:
            continue
        try:
            plain |= {name: as_json.from_dict(plain[name]) for name in ("milp", "revised")}
            plain["figures"] = tuple(NewFigure(**part) for part in plain["figures"])
            plain["noise"] = tuple(NoiseStep(part["kind"], tuple(part["where"])) for part in plain["noise"])
            plain["tables"] = {name: tables.read_strict(text, name) for name, text in plain["tables"].items()}
            plain["programs"], plain["operations"] = tuple(plain["programs"]), tuple(plain["operations"])
            instances[int(plain["number"])] = GeneratedInstance(**plain)
        except (KeyError, TypeError, ValueError, AttributeError, MilpError) as problem:
            raise WorkspaceError(
                f"{shorten_path(path)} is no record of an instance: {type(problem).__name__}"
            ) from None
    return instances

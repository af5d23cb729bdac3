"""Undo the noise of generated workspaces, which shows that their truth is still in them."""

import re
from collections.abc import Sequence
from decimal import Decimal

from oragent.evals.workspace.domains.domain import REQUIREMENT, Artifacts
from oragent.evals.workspace.instances import DAY, MAILS, STATED, UNITS, NoiseStep, Where, _map_column, _with_cell
from oragent.workspace import tables
from oragent.workspace.tables import CsvTable

MAIL_FORM = re.compile(r"Date: (\S+)\n\nPlease use (\S+) = (\S+) (.+?) \((.*)\)\.")


def _undo_unit(artifacts: Artifacts, where: Where) -> Artifacts:
    small, factor = UNITS[where[2]]
    header = where[1].removesuffix(where[2]) + small
    return _map_column(
        artifacts, (where[0], header), where[1], lambda cell: f"{(Decimal(cell) / factor).normalize():f}"
    )


def _undo_separators(artifacts: Artifacts, where: Where) -> Artifacts:
    return _map_column(artifacts, where, where[1], lambda cell: cell.replace(",", ""))


def _undo_validity(artifacts: Artifacts, where: Where) -> Artifacts:
    table, text = artifacts.tables[where[0]], artifacts.documents[REQUIREMENT]
    rows = tuple(row[:-1] for row in table.rows if row[-1] >= "2025-03-01")
    clean = artifacts.with_table(where[0], CsvTable(table.header[:-1], rows))
    return clean.with_document(REQUIREMENT, text.replace(DAY + "\n", "", 1))


def _undo_stated(artifacts: Artifacts, where: Where) -> Artifacts:
    start, _, end = STATED.format(where[1], where[2], where[0], "\0").partition("\0")
    text = artifacts.documents[REQUIREMENT]
    sentence = next(sentence for sentence in text.splitlines() if sentence.startswith(start))
    clean = _with_cell(artifacts, where, sentence.removeprefix(start).removesuffix(end))
    return clean.with_document(REQUIREMENT, text.replace(sentence + "\n", "", 1))


def _undo_mail(artifacts: Artifacts, where: Where) -> Artifacts:
    table, at = artifacts.tables[tables.PARAMETERS_FILE], int(where[0])
    row = max(MAIL_FORM.findall(artifacts.documents[MAILS]))[1:]
    rows = (*table.rows[:at], row, *table.rows[at:])
    documents = {name: text for name, text in artifacts.documents.items() if name != MAILS}
    return Artifacts({**artifacts.tables, tables.PARAMETERS_FILE: CsvTable(table.header, rows)}, documents)


INVERSES = {
    "other unit": _undo_unit,
    "thousands separators": _undo_separators,
    "rows out of force": _undo_validity,
    "figure in a sentence": _undo_stated,
    "parameter in a mail": _undo_mail,
}


def remove_noise(artifacts: Artifacts, steps: Sequence[NoiseStep]) -> Artifacts:
    """Return the artifacts without noise; the last step is undone first."""
    for step in reversed(steps):
        artifacts = INVERSES[step.kind](artifacts, step.where)
    return artifacts

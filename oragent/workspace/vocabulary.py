"""Names that a question about a workspace can use: its decisions, rules, data cells and objective."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from oragent._base import table_dialects as dialects
from oragent._base.errors import WorkspaceError
from oragent.milp.decisions import Index, group_families
from oragent.milp.model import Milp, Variable
from oragent.milp.plain import plain
from oragent.milp.questions import CALENDAR, WORDS, split_words
from oragent.workspace import tables
from oragent.workspace.citations import CitedCell, CitedKey
from oragent.workspace.facts import VersionFacts
from oragent.workspace.layout import FileRole, role_of
from oragent.workspace.reading import finite_number, parse_json, read_text

MOST_CELLS = 20_000
# depth of a JSON file up to which numbers are named
MOST_KEYS = 8
# difference of scores up to which two names fit a question equally well
NEAR = 0.35
IGNORED = frozenset(
    split_words("""
a an the of in on at to for from by with and or is are was were be been do does did have has had how many much what
which who when where why if we i you it its this that there would could should can will not no so than then as per one
more less fewer extra another all every each any me our us go goes went change changed set suppose assume happen get
make give take use used need worth value total sum best plan now instead only row rows column version data
""")
)

# a number that is no label, such as of a week
AMOUNT = re.compile(
    r"\b(?:to|by|were|was|be|is|than|least|most|exactly|only)\s+[-+]?\d[\d.,]*\s*%?|(?<![\w.,])\d+[.,]\d[\d.,]*"
)
SHEET = "(?:work)?(?:sheet|tab)"


class UnknownSheetError(Exception):
    """A question names a sheet that no workbook has; the text lists the sheets."""


class NamedKind(StrEnum):
    """Kind of a named part of a workspace."""

    DECISION = "decision"
    RULE = "rule"
    DATA = "data"
    OBJECTIVE = "objective"


@dataclass(frozen=True)
class DataCell:
    """A cell of a table."""

    # of the table below the workspace
    path: str
    # from 0, without the header
    row: int
    # from 0
    column: int
    # first cells of the row, as many as name it alone, joined by commas
    key: str
    # of the column
    header: str
    text: str
    # from the outside in, of a number in a JSON file; empty for a table
    keys: tuple[str, ...] = ()
    # of a workbook with several sheets; else empty
    sheet: str = ""
    # whether the numbers of the column can be read in two ways, such as 2.300
    is_unclear: bool = False
    # whether the table has decimal commas
    has_commas: bool = False

    @property
    def value(self) -> float | None:
        """Number in the cell; None if it holds none, or one that can be read in two ways."""
        if self.is_unclear:
            return None
        return tables.parse_number(self.text)

    @property
    def citation(self) -> CitedCell | CitedKey:
        """Citation of the cell."""
        if self.keys:
            return CitedKey(self.path, self.keys, self.text)
        return CitedCell(self.path, self.key, self.header.strip(), self.text.strip(), self.sheet)

    @property
    def table(self) -> str:
        """Path of the table, and the sheet where there are several."""
        if self.sheet:
            return f"{self.path}, sheet {self.sheet}"
        return self.path

    def __str__(self) -> str:
        if self.keys:
            return f"{self.path}, {'.'.join(self.keys)}"
        return f"{self.table}, row {self.key}, column {self.header.strip()}"


@dataclass(frozen=True)
class NamedGroup:
    """Parts of one kind that share a name and differ by their indices."""

    kind: NamedKind
    name: str
    # by indices; ``()`` for a part without indices
    entries: Mapping[Index, "str | DataCell"]
    # further words that describe the group, such as its file, unit and meaning
    hints: str = ""
    # of a workbook with several sheets; else empty
    sheet: str = ""
    # headers of the columns of the indices; empty where there are none
    index_names: tuple[str, ...] = ()


@dataclass(frozen=True)
class NamedPart:
    """A group with those of its entries that a question names."""

    group: NamedGroup
    # with the labels that the question states; all where it states none
    entries: Mapping[Index, "str | DataCell"]
    # measure of the fit
    score: float = 0.0
    # whether the question states a label of these entries
    is_labelled: bool = False
    # texts of the question that name the part, so that their digits are no amounts
    words: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """Name with the stated labels, such as ``work of Anna, Mon``."""
        labels = ", ".join(self.words[1:]) if self.is_labelled else ""
        if labels:
            return f"{self.group.name} of {labels}"
        return self.group.name

    @property
    def label(self) -> str:
        """Name to show in a question back."""
        cells = [entry for entry in self.entries.values() if isinstance(entry, DataCell)]
        if cells:
            if len(cells) == 1:
                return str(cells[0])
            return f"{cells[0].table}, column {cells[0].header.strip()}"
        return f"the {self.group.kind} {self.title}"


def list_groups(version: VersionFacts) -> list[NamedGroup]:
    """List everything in a version that a question can name."""
    groups = list(list_data_groups(version.files))
    if version.milp is not None:
        groups += name_model_parts(version.milp, table_labels(groups))
    return groups


def table_labels(groups: Iterable[NamedGroup]) -> list[str]:
    """Labels that occur as keys or headers in the tables."""
    labels: dict[str, None] = {}
    for group in groups:
        if group.kind is NamedKind.DATA:
            labels |= dict.fromkeys(label for index in group.entries for label in index)
            if any(group.entries):
                labels[group.name] = None
    return list(labels)


def name_model_parts(milp: Milp, labels: Iterable[str]) -> list[NamedGroup]:
    """Group the variables and rows of a model by name, and add its objective."""
    labels = list(labels)
    units = {variable.name: f"{variable.unit} {variable.meaning}" for variable in milp.variables}
    groups = [
        NamedGroup(NamedKind.DECISION, family.name, family.entries, units[next(iter(family.entries.values()))])
        for family in group_families(milp.variables, {}, labels)
    ]
    rules = group_families([Variable(row.name) for row in milp.rows], {}, labels)
    groups += [NamedGroup(NamedKind.RULE, family.name, family.entries) for family in rules]
    hints = "optimum cost costs profit revenue earnings expense"
    return [*groups, NamedGroup(NamedKind.OBJECTIVE, "objective", {(): "objective"}, hints)]


def list_data_groups(files: Mapping[str, Path]) -> Iterable[NamedGroup]:
    """List the columns and parameters of the tables among some files, by path."""
    count = 0
    for path, file in files.items():
        if role_of(path) not in (FileRole.TABLE, FileRole.PARAMETERS):
            continue
        try:
            if path.endswith(".json"):
                yield from _json_groups(path, parse_json(read_text(file), path))
                continue
            sheets = tables.read_sheets(read_text(file))
        except WorkspaceError:
            continue
        for sheet, reading in sheets.items():
            table = reading.table
            if table is None or len(table.header) < 2:
                continue
            count += len(table.rows) * len(table.header)
            if count > MOST_CELLS:
                return
            is_parameters = table.header[0].strip().casefold() in tables.NAMES_PARAMETERS
            list_named = _parameter_groups if is_parameters else _column_groups
            has_commas = dialects.DECIMAL_COMMAS in reading.notes
            for group in list_named(path, table, reading.unclear):
                yield _place_group(group, sheet, has_commas) if sheet or has_commas else group


def _place_group(group: NamedGroup, sheet: str, has_commas: bool) -> NamedGroup:
    """Return a group whose cells are on a sheet of a workbook, or in a table with decimal commas."""
    cells = {
        index: replace(entry, sheet=sheet, has_commas=has_commas)
        for index, entry in group.entries.items()
        if isinstance(entry, DataCell)
    }
    return replace(group, entries=cells, sheet=sheet)


def _json_groups(path: str, value: Any) -> Iterable[NamedGroup]:
    """Yield a group for each outermost key of a JSON file; the inner keys are the indices."""
    found: dict[str, dict[Index, str | DataCell]] = {}
    for keys, number in _list_numbers(value, ()):
        name, *index = keys
        text = json.dumps(number)
        cell = DataCell(path, 0, 0, ".".join(index) or name, name, text, keys)
        found.setdefault(name, {})[tuple(index)] = cell
    yield from (NamedGroup(NamedKind.DATA, name, entries) for name, entries in found.items())


def _list_numbers(value: Any, keys: tuple[str, ...]) -> Iterable[tuple[tuple[str, ...], float]]:
    if isinstance(value, dict | list) and len(keys) < MOST_KEYS:
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
        for key, inner in pairs:
            yield from _list_numbers(inner, (*keys, str(key)))
    elif finite_number(value) is not None and keys:
        yield keys, value


def _parameter_groups(path: str, table: tables.CsvTable, unclear: frozenset[int]) -> Iterable[NamedGroup]:
    for position, row in enumerate(table.rows):
        if len(row) > 1 and row[0].strip():
            cell = DataCell(path, position, 1, row[0].strip(), table.header[1], row[1], is_unclear=1 in unclear)
            yield NamedGroup(NamedKind.DATA, row[0].strip(), {(): cell}, " ".join(row[2:]))


def _column_groups(path: str, table: tables.CsvTable, unclear: frozenset[int]) -> Iterable[NamedGroup]:
    kinds = tables.describe_columns(table)
    keys, indices = _index_rows(table, kinds)
    stem = path.rpartition("/")[2].partition(".")[0]
    names = tables.name_rows(table)
    for index, column in enumerate(kinds):
        if index in keys:
            continue
        entries: dict[Index, str | DataCell] = {}
        for position, row in enumerate(table.rows):
            if index < len(row):
                cell = DataCell(path, position, index, names[position], column.name, row[index])
                entries[indices[position]] = replace(cell, is_unclear=index in unclear)
        if entries:
            name = tables.BRACKETED.sub("", column.name).strip() or column.name
            heads = tuple(table.header[key].strip() for key in keys)
            hints = f"{stem} {column.unit or ''} {' '.join(table.header[key] for key in keys)}"
            yield NamedGroup(NamedKind.DATA, name, entries, hints, index_names=heads)


def _index_rows(table: tables.CsvTable, kinds: Sequence[tables.Column]) -> tuple[list[int], list[Index]]:
    """Return the columns that are keys, and the index of each row.

    Keys are the first column and all columns of texts; where they do not tell the rows apart, columns of whole numbers
    such as weeks, too, and at last the number of the row.
    """
    keys = [
        index
        for index, column in enumerate(kinds)
        if index == 0 or column.kind in (tables.ColumnKind.TEXT, tables.ColumnKind.EMPTY)
    ]
    further = [
        index
        for index, column in enumerate(kinds[:-1])
        if column.kind is tables.ColumnKind.INTEGER and index not in keys
    ]
    while True:
        indices = [tuple(row[key].strip() for key in sorted(keys) if key < len(row)) for row in table.rows]
        if len(set(indices)) == len(indices):
            return sorted(keys), indices
        if not further:
            return sorted(keys), [(*index, f"row {number}") for number, index in enumerate(indices, 1)]
        keys.append(further.pop(0))


def find_parts(question: str, groups: Iterable[NamedGroup]) -> list[NamedPart]:
    """Find the groups that a question names, the best fit first; those without a fit are left out."""
    question, groups = _select_sheet(question, list(groups))
    stated = {word for word in split_words(question) if word not in IGNORED}
    text = f" {' '.join(WORDS.findall(AMOUNT.sub(' ', question.casefold())))} "
    parts = [part for group in groups if (part := _match_group(group, stated, text)) is not None]
    return sorted(parts, key=lambda part: -part.score)


def _select_sheet(question: str, groups: list[NamedGroup]) -> tuple[str, list[NamedGroup]]:
    """Leave out the data of other sheets where a question says ``sheet NAME``, and these words of the question.

    Raises:
        UnknownSheetError: There are several sheets, and none has the name.
    """
    sheets = dict.fromkeys(group.sheet for group in groups if group.sheet)
    for sheet in sorted(sheets, key=len, reverse=True):
        name = r"[\W_]+".join(map(re.escape, WORDS.findall(sheet))) or re.escape(sheet)
        phrase = re.compile(rf"\b{SHEET}[\s:]+\W?{name}(?!\w)|(?<!\w){name}\W?\s+{SHEET}(?!\w)", re.IGNORECASE)
        if phrase.search(question):
            kept = [group for group in groups if group.kind is not NamedKind.DATA or group.sheet == sheet]
            return phrase.sub(" ", question), kept
    if sheets and (named := re.search(rf"\b(?:in|on|of) (?:the )?{SHEET}\s+(\w+)", question, re.IGNORECASE)):
        raise UnknownSheetError(f"There is no sheet {named[1]!r}. The sheets are {', '.join(map(plain, sheets))}.")
    return question, groups


def _match_group(group: NamedGroup, stated: set[str], text: str) -> NamedPart | None:
    name = split_words(group.name)
    matched = {word for word in name if word in stated or _abbreviates(word, stated)}
    hints = set(split_words(group.hints)) & stated - matched
    labelled = {index: _stated_labels(index, text) for index in group.entries}
    most = max(map(len, labelled.values()), default=0)
    entries = {index: entry for index, entry in group.entries.items() if len(labelled[index]) == most}
    stated_labels = tuple(dict.fromkeys(label for index in entries for label in labelled[index]))
    label_words = {word for label in stated_labels for word in split_words(label)}
    score = len(matched) + len((label_words & set(split_words(text))) - matched) + 0.5 * len(hints)
    if not matched and not most and not (hints and group.kind is not NamedKind.RULE):
        return None
    states_sheet = bool(group.sheet) and f" {' '.join(WORDS.findall(group.sheet.casefold()))} " in text
    score += 0.5 * (1 + len(WORDS.findall(group.sheet))) * states_sheet
    score -= 0.4 * len([word for word in name if word not in matched and word not in label_words])
    return NamedPart(group, entries, score, most > 0, (group.name, *stated_labels))


def _stated_labels(index: Index, text: str) -> tuple[str, ...]:
    """Labels of an index that a question states as whole words; ``Mon`` is stated as ``Monday`` too."""
    stated = []
    for label in index:
        words = WORDS.findall(label.casefold())
        is_short = len(words) == 1 and len(label) >= 3
        long_names = [name for names in CALENDAR.values() for name in names if is_short and name.startswith(words[0])]
        patterns = [" ".join(map(re.escape, words)), *long_names] if words else []
        if any(re.search(rf"\b{pattern}s?\b", text) for pattern in patterns):
            stated.append(label)
    return tuple(stated)


def _abbreviates(word: str, stated: set[str]) -> bool:
    """Return True if a word of a name abbreviates a stated one, as ``dem`` does ``demand``."""
    return len(word) >= 3 and any(len(text) > 3 and (text.startswith(word) or word.startswith(text)) for text in stated)

"""Tables of a solution's values by index. For example, ``ship[Köln,Lager]`` is a cell of a table of depots by shops.

Tables are laid out for a page, or for a terminal of a given width.
"""

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import takewhile
from typing import NamedTuple

from rich.cells import cell_len, set_cell_size

from oragent.modelling.data.display import figure, plain
from oragent.modelling.data.model_records import Variable
from oragent.report.pages.time_scales import TimeScale

# Maximum number of yes/no decisions with the value no that are shown.
MAX_NO = 60
# Smaller absolute values are shown as 0.
NOISE = 1e-9
# Maximum number of parts and characters of a name in which labels and brackets are looked for.
MAX_PARTS, MAX_CHARACTERS = 60, 400
# Characters that PuLP replaces in names.
PULP = str.maketrans("-+[] ->/", "________")
BRACKETS = re.compile(r"(?P<family>[^\[(]*?)[_ ]*[\[(](?P<inside>.*)[\])]", re.DOTALL)
PART = re.compile(r"\s*_*(?:'([^']*)'|\"([^\"]*)\"|([^,]*))\s*(?:,|$)")
NUMBERED = re.compile(r"([^\W\d_]+)(\d+)")

Index = tuple[str, ...]
# Maximum number of columns of a table by two indices.
MAX_COLUMNS = 12
# Minimum number of lines of a table in a terminal: title, heads, two values, and the note about omitted values.
MIN_LINES = 5
# Maximum number of columns of a table that is not transposed.
HANDY = 6
# Maximum number of characters of a label in a terminal.
MAX_CELL = 24


class DecisionKind(StrEnum):
    """Kind of a decision, which says whether a value of 0 is left out."""

    # How much of something; 0 means nothing.
    AMOUNT = "amount"
    # Whether something is done; 0 is no.
    YES_NO = "yes/no"
    # When something happens; 0 is the earliest time.
    TIME = "time"
    # Which of several numbered things is taken; 0 is the first one.
    CHOICE = "choice"


class DecisionMember(NamedTuple):
    """A variable to be grouped into a family."""

    # Position among the variables of the model.
    position: int
    variable: str
    # Name that is parsed.
    text: str


@dataclass(frozen=True)
class DecisionFamily:
    """Variables with a common name and different indices."""

    # Common name. Without an index, it is the whole name of the variable.
    name: str
    # Variable by its indices. All have the same number of indices, ``()`` for none.
    entries: Mapping[Index, str]
    # Values by variable.
    values: Mapping[str, float]
    # Unit of every value; empty if unknown.
    unit: str = ""
    kind: DecisionKind = DecisionKind.AMOUNT
    # Clock times of the values of a time; None if its origin is unknown.
    scale: TimeScale | None = None

    @property
    def index_count(self) -> int:
        """Number of indices."""
        return len(next(iter(self.entries)))

    @property
    def nonzero_values(self) -> dict[Index, float]:
        """Values that are not 0, by indices."""
        valued = ((index, self.values[name]) for index, name in self.entries.items())
        return {index: value for index, value in valued if abs(value) >= NOISE}

    @property
    def shown_values(self) -> dict[Index, float]:
        """Values that are shown, by indices: all times and choices, and amounts that are not 0.

        Of few yes/no decisions with one index all are shown. With more indices, those are shown whose first label has
        no yes, because nothing else says that it is left out.
        """
        used = self.nonzero_values
        if self.kind is DecisionKind.AMOUNT:
            return used
        shown = {index: self.values[name] for index, name in self.entries.items()}
        if self.kind is DecisionKind.YES_NO:
            if self.index_count > 1:
                labels = {index[0] for index in used}
                shown = {index: value for index, value in shown.items() if index in used or index[0] not in labels}
            if len(shown) - len(used) > MAX_NO or (self.index_count > 1 and not used):
                return used
        return {index: value if abs(value) >= NOISE else 0.0 for index, value in shown.items()}

    def text(self, value: float) -> str:
        """Return a value as text; a clock time for a time with a known origin."""
        clock = "" if self.scale is None else self.scale.text(value)
        return clock or figure(value)

    def used_labels(self, position: int) -> tuple[str, ...]:
        """Return the labels of one index with a shown value, in their order."""
        used = {index[position] for index in self.shown_values}
        return tuple(label for label in dict.fromkeys(index[position] for index in self.entries) if label in used)


def group_families(
    variables: Sequence[Variable],
    values: Mapping[str, float],
    labels: Iterable[str] = (),
    names: Mapping[str, str] | None = None,
) -> tuple[DecisionFamily, ...]:
    """Group variables, or substitutes for rows, by the common beginnings of their names.

    ``x[a,b]``, ``x_('a',_'b')``, ``x_a_b`` and ``x.a.b`` are read as ``x`` with the indices ``a`` and ``b``. If only
    underscores separate the parts, known labels decide which parts belong together, and tables have the order of the
    labels. A family with a single member is a variable without an index.

    Labels are names in the data in their original spelling; PuLP writes ``_`` for a space. ``names`` are parsed instead
    of the variables' own names, for example the keys under which a program returned them.
    """
    label_of = _unique_labels(labels)
    groups: dict[tuple[str, int], dict[Index, DecisionMember]] = defaultdict(dict)
    loose: dict[str, list[DecisionMember]] = defaultdict(list)
    for position, variable in enumerate(variables):
        member = DecisionMember(position, variable.name, (names or {}).get(variable.name, variable.name))
        split = _split_name(member.text, label_of) or _split_name(variable.name, label_of)
        if split is not None and split[1] not in groups[split[0], len(split[1])]:
            groups[split[0], len(split[1])][split[1]] = member
        else:
            loose[_split_parts(member.text)[0]].append(member)
    for members in loose.values():
        _group_by_words(members, groups)
    order = {label: position for position, label in enumerate(dict.fromkeys(label_of.values()))}
    units = {variable.name: variable.unit for variable in variables}
    grouped = [(name, entries) for (name, _), entries in groups.items() if entries]
    grouped.sort(key=lambda group: min(member.position for member in group[1].values()))
    return tuple(_make_family(name, entries, order, units, values) for name, entries in grouped)


def fold_family(family: DecisionFamily) -> DecisionFamily:
    """Return a family of three indices as one of two, for a table such as people by days and shifts."""
    if family.index_count != 3:
        return family
    return replace(family, entries={(index[0], " ".join(index[1:])): name for index, name in family.entries.items()})


def _make_family(
    name: str,
    entries: Mapping[Index, DecisionMember],
    order: Mapping[str, int],
    units: Mapping[str, str],
    values: Mapping[str, float],
) -> DecisionFamily:
    shared = {units[member.variable] for member in entries.values()}
    unit = shared.pop() if len(shared) == 1 else ""
    if len(entries) == 1:
        (member,) = entries.values()
        return DecisionFamily(member.text, {(): member.variable}, values, unit)
    seen: dict[str, int] = {}
    for index in entries:
        for label in index:
            seen.setdefault(label, len(seen))

    def rank_label(label: str) -> tuple[int, int]:
        if label in order:
            return 0, order[label]
        if re.fullmatch(r"\d{1,15}", label):
            return (1, int(label))
        return (2, seen[label])

    ordered = sorted(entries, key=lambda index: [rank_label(label) for label in index])
    return DecisionFamily(name, {index: entries[index].variable for index in ordered}, values, unit)


def _unique_labels(labels: Iterable[str]) -> dict[str, str]:
    """Return labels by the form in which PuLP writes them. Labels with equal forms are left out."""
    label_of: dict[str, str] = {}
    double: set[str] = set()
    for label in labels:
        form = label.translate(PULP)
        if label_of.setdefault(form, label) != label:
            double.add(form)
    return {form: label for form, label in label_of.items() if form not in double and label.strip()}


def _split_name(text: str, label_of: Mapping[str, str]) -> tuple[str, Index] | None:
    """Return the common name and the indices of a name; None if no index is recognised."""
    if len(text) > MAX_CHARACTERS:
        return None
    # Labels are tried first, because they may contain brackets and commas.
    labelled = _split_by_labels(_split_parts(text), label_of)
    if labelled is not None and ("_" not in labelled[0] or set(labelled[1]) & set(label_of.values())):
        return labelled
    bracket = BRACKETS.fullmatch(text)
    # PuLP writes x[a,b] as x_a,b_.
    if bracket is None and text.endswith("_") and "_" in text[:-1]:
        head, _, inside = text[:-1].partition("_")
        # PuLP writes x[a][b] as x_a__b_.
        bracket = BRACKETS.fullmatch(f"{head}[{inside.replace('__', ',')}]")
    if bracket is not None and bracket["family"]:
        parts = [next((part for part in match if part), "") for match in PART.findall(bracket["inside"])]
        if len(parts) > 1 and not parts[-1]:
            parts = parts[:-1]
        return bracket["family"], tuple(label_of.get(part.translate(PULP), part) for part in parts)
    numbered = NUMBERED.fullmatch(text)
    if numbered is not None:
        return numbered[1], (numbered[2],)
    if "," in text:
        return _split_by_labels(re.split(r"[_,]", text), label_of)
    return None


def _split_parts(text: str) -> list[str]:
    return text.split(_separator(text))


def _separator(text: str) -> str:
    """Return what separates the parts of a name: underscores, or without these points, as in ``stock.Pils.1``."""
    return "_" if "_" in text else "."


def _split_by_labels(parts: list[str], label_of: Mapping[str, str]) -> tuple[str, Index] | None:
    """Read the end of a name as labels and numbers. The name is the shortest beginning that leaves only these."""
    if len(parts) > MAX_PARTS:
        return None
    ends: dict[int, Index] = {len(parts): ()}
    for start in reversed(range(1, len(parts))):
        for stop in reversed(range(start + 1, len(parts) + 1)):
            part = "_".join(parts[start:stop])
            if stop in ends and (part in label_of or part.isdecimal()):
                ends[start] = (label_of.get(part, part), *ends[stop])
                break
    first = next((start_index for start_index in range(1, len(parts)) if start_index in ends), None)
    if first is None:
        return None
    return ("_".join(parts[:first]), ends[first])


def _group_by_words(members: list[DecisionMember], groups: dict[tuple[str, int], dict[Index, DecisionMember]]) -> None:
    """Group names with the same first word and the same number of words as a list or, if dense enough, as a table."""
    words = [_split_parts(member.text) for member in members]
    counts = {len(each) for each in words}
    if len(members) == 1 or len(counts) > 1 or counts == {1}:
        for member in members:
            name, index = _split_by_labels(_split_parts(member.text), {}) or (member.text, ())
            if index in groups.get((name, len(index)), {}):
                name, index = member.variable, ()
            groups[name, len(index)][index] = member
        return
    beginnings = zip(*(each[:-1] for each in words), strict=True)
    common = [word for word, *_ in takewhile(lambda parts: len(set(parts)) == 1, beginnings)]
    name, rest = _separator(members[0].text).join(common), [tuple(each[len(common) :]) for each in words]
    sizes = [len(set(labels)) for labels in zip(*rest, strict=True)]
    full = len(sizes) == 2 and min(sizes) > 1 and 2 * len(rest) >= math.prod(sizes) and len(rest) > 3
    for index, member in zip(rest, members, strict=True):
        key: Index = index if full else ("_".join(index),)
        group = groups[name, len(key)]
        group[key if key not in group else (member.variable,) * len(key)] = member


@dataclass(frozen=True)
class Block:
    """Table of values as texts."""

    # Name of the family, with its unit.
    title: str
    # Heads of the columns, which may be empty.
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    # Number of leading columns with labels.
    labels: int = 1
    # Number of zero values that are not shown.
    zeros: int = 0

    def omission_note(self, hidden: int = 0) -> str:
        """Describe omitted values, hidden rows and zeros in words; empty if nothing is omitted."""
        parts = [f"and {hidden:,} more"] if hidden else []
        if self.zeros and not self.rows:
            return f"all {self.zeros:,} are zero"
        return ", ".join([*parts, f"and {self.zeros:,} more that are zero"] if self.zeros else parts)


def layout_families(families: Sequence[DecisionFamily], pivots: bool = False) -> tuple[Block, ...]:
    """Lay out families. Those with two indices are tables of rows by columns, others lists.

    With ``pivots``, families with more indices are tables too: one index is across, and the others label the rows.
    """
    single = [family for family in families if not family.index_count]
    tables = [
        _grid_block(family) or (_pivot_block(family) if pivots else None) or _list_block(family)
        for family in families
        if family.index_count
    ]
    if single:
        return (_singles_block(single), *tables)
    return tuple(tables)


def print_tables(tables: Sequence[Block], width: int, lines: int) -> list[str]:
    """Return tables as text within a number of lines and a width."""
    out: list[str] = []
    for index, table in enumerate(tables):
        waiting = len(tables) - index - 1
        # A note on omitted tables takes a line.
        available = lines - len(out) - bool(waiting)
        room = max(available // (waiting + 1), min(MIN_LINES, available))
        if room < min(MIN_LINES, 2 + len(table.rows)):
            return [*out, f"and {waiting + 1:,} more table{'s' if waiting else ''}"][:lines]
        out += _block_lines(table, width, room)
    return out


def _singles_block(families: Sequence[DecisionFamily]) -> Block:
    used = [family for family in families if family.shown_values]
    rows = tuple((plain(family.name), family.text(family.shown_values[()]), plain(family.unit, 20)) for family in used)
    heads = ("decision", "value", "unit" if any(row[2] for row in rows) else "")
    return Block("single values", heads, rows, 1, len(families) - len(used))


def _grid_block(family: DecisionFamily) -> Block | None:
    """Return a table of rows by columns, without rows and columns of zeros; None if a list is better."""
    if family.index_count != 2 or not family.shown_values:
        return None
    across, down = family.used_labels(1), family.used_labels(0)
    # A long table is easier to read than a wide one.
    if len(across) > HANDY and len(down) < len(across):
        turned: dict[Index, str] = {(column, label): name for (label, column), name in family.entries.items()}
        family, across, down = replace(family, entries=turned), down, across
    used = family.shown_values
    if not 2 <= len(across) <= MAX_COLUMNS or len(across) * len(down) > 4 * len(used) + MAX_COLUMNS:
        return None
    cells = {(label, column): family.text(used.get((label, column), 0.0)) for label, column in family.entries}
    rows = tuple((plain(label), *(cells.get((label, column), "") for column in across)) for label in down)
    shown = sum((label, column) in family.entries for label in down for column in across)
    return Block(_family_title(family), ("", *map(plain, across)), rows, 1, len(family.entries) - shown)


def _pivot_block(family: DecisionFamily) -> Block | None:
    """Return a table with one of three or more indices across; None if a list is better."""
    used = family.shown_values
    if family.index_count < 3 or not used:
        return None
    places = reversed(range(family.index_count))
    at = next((position for position in places if 2 <= len(family.used_labels(position)) <= MAX_COLUMNS), None)
    if at is None:
        return None
    across = family.used_labels(at)
    keys = list(dict.fromkeys(index[:at] + index[at + 1 :] for index in used))
    if len(keys) * len(across) > 4 * len(used) + MAX_COLUMNS:
        return None
    rows, shown = [], 0
    for key in keys:
        indices = [(*key[:at], column, *key[at:]) for column in across]
        shown += sum(index in family.entries for index in indices)
        cells = (family.text(used.get(index, 0.0)) if index in family.entries else "" for index in indices)
        rows.append((*map(plain, key), *cells))
    heads = (*[""] * len(keys[0]), *map(plain, across))
    return Block(_family_title(family), heads, tuple(rows), len(keys[0]), len(family.entries) - shown)


def _list_block(family: DecisionFamily) -> Block:
    rows = tuple((*map(plain, index), family.text(value)) for index, value in family.shown_values.items())
    count = family.index_count
    return Block(_family_title(family), (*[""] * count, "value"), rows, count, len(family.entries) - len(rows))


def _family_title(family: DecisionFamily) -> str:
    return plain(family.name) + (f" ({plain(family.unit, 20)})" if family.unit else "")


def _block_lines(table: Block, width: int, room: int) -> list[str]:
    """Return a table within a number of lines. A table that is too wide becomes a list."""
    sizes = [min(MAX_CELL, max(map(cell_len, column))) for column in zip(table.heads, *table.rows, strict=True)]
    if sum(sizes) + 2 * len(sizes) > width and table.labels == 1 and len(table.heads) > 3:
        return _block_lines(_unfold(table), width, room)
    while sum(sizes) + 2 * len(sizes) > width and max(sizes) > 4:
        sizes[sizes.index(max(sizes))] -= 1
    noted = bool(table.omission_note())
    headed = any(table.heads[: table.labels]) or len(table.heads) > table.labels + 1
    shown_rows = len(table.rows) if 1 + headed + len(table.rows) + noted <= room else max(0, room - 2 - headed)
    out = [table.title]
    if table.rows and headed:
        out.append(_format_line(table.heads, sizes, table.labels))
    out += [_format_line(row, sizes, table.labels) for row in table.rows[:shown_rows]]
    note = table.omission_note(len(table.rows) - shown_rows)
    return [set_cell_size(text, width).rstrip() for text in (*out, *([f"  {note}"] if note else []))]


def _unfold(table: Block) -> Block:
    """Return the nonzero values of a table of rows by columns as a list."""
    cells = [(row[0], head, cell) for row in table.rows for head, cell in zip(table.heads[1:], row[1:], strict=True)]
    used = tuple(cell for cell in cells if cell[2] not in ("", "0"))
    zeros = sum(cell[2] == "0" for cell in cells)
    return Block(table.title, ("", "", "value"), used, 2, table.zeros + zeros)


def _format_line(cells: Sequence[str], sizes: Sequence[int], labels: int) -> str:
    line = "  "
    for index, (cell, size) in enumerate(zip(cells, sizes, strict=True)):
        text = cell if cell_len(cell) <= size else f"{set_cell_size(cell, size - 1)}…"
        pad = " " * (size - cell_len(text))
        line += ("  " if index else "") + (text + pad if index < labels else pad + text)
    return line

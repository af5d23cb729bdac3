"""Reader of MPS files, in free and in fixed form, with the sections of Gurobi and CPLEX.

Read are SOS, quadratic terms, INDICATORS, GENCONS, LAZYCONS, and several N rows, which are objectives. Their priorities
and weights follow the name, as Gurobi writes them, or stand in a comment. Without them, N rows after the first one are
only computed. Each line is checked, because solvers' readers skip lines that they do not understand.
"""

import json
import math
import re
from array import array
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from oragent._base.errors import ModellingError
from oragent.modelling.data.arrays import Arrays, Sparse, Vector, split_limits
from oragent.modelling.data.display import quoted
from oragent.modelling.data.features import (
    Indicator,
    OrderedSet,
    PiecewiseLinear,
    QuadraticRow,
    QuadraticTerm,
    SemiContinuous,
)
from oragent.modelling.data.indexed import RELATIONS, IndexedModel
from oragent.modelling.data.model_values import Sense, check_bound, free_name
from oragent.modelling.files.parsed_model import FileObjective, Parts, add_general, build_model
from oragent.modelling.files.text_words import MAX_WORD_BYTES, Positions, TextWords, WordTable, words_of

# Sections that begin once, and all others. Rows of LAZYCONS and USERCUTS hold like those of ROWS.
SINGLE = ("ROWS", "COLUMNS", "RHS", "RANGES", "BOUNDS")
SECTION_WORDS = """
    NAME OBJSENSE OBJSENSEMAX OBJSENSEMIN ENDATA SOS QCMATRIX INDICATORS GENCONS LAZYCONS USERCUTS
    QUADOBJ QSECTION QMATRIX
"""
SECTIONS = (*SINGLE, *SECTION_WORDS.split())
# General constraints of Gurobi that are read, and all of its others.
GENERAL = ("MIN", "MAX", "ABS", "AND", "OR", "PWL")
NOT_READ = ("NORM", "POLY", "EXP", "EXPA", "LOG", "LOGA", "LOGISTIC", "POW", "SIN", "COS", "TAN", "NL")
KINDS_OF_ROWS = {"N", "L", "G", "E"}
# Figures after the name of an N row.
RANKS = ("priority", "weight", "abstol", "reltol")
GOAL_NOTE = re.compile(r"^\* oragent goal (\S+) (\{.*\})$", re.MULTILINE)
GOAL_KEYS = {"sense", "constant", "weight", "priority", "slack", "slack_amount"}
PULP_SENSE = re.compile(r"^\*SENSE:Maximize\s*$", re.MULTILINE | re.IGNORECASE)
NO_VALUE, WITH_VALUE = {"FR", "MI", "PL", "BV"}, {"UP", "LO", "FX", "LI", "UI", "SC", "SI"}
# Kinds that set a lower or an upper bound, make a column an integer or semi-continuous, and bounds without a figure.
LOW_KINDS, HIGH_KINDS = {"LO", "LI", "FX", "FR", "MI", "BV"}, {"UP", "UI", "FX", "FR", "PL", "BV", "SC", "SI"}
INTEGER_KINDS, SEMI_KINDS, FIXED_HIGHS = (
    {"LI", "UI", "BV", "SI"},
    {"SC", "SI"},
    {"FR": math.inf, "PL": math.inf, "BV": 1.0},
)
# First and last columns of the fields in fixed form.
FIXED = ((1, 3), (4, 12), (14, 22), (24, 36), (39, 47), (49, 61))
NUMBER = re.compile(r"[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:[eEdD][+-]?\d+)?|inf(?:inity)?)", re.IGNORECASE)
PLAIN_NUMBERS = re.compile(r"[0-9.eE+-]*")
# Least number of characters that are split into lines at once.
BLOCK_CHARACTERS = 1 << 18
# Least number of lines that are read together faster than one by one.
FEW_LINES = 64
# Row without limits that earlier versions of oragent added.
IDLE = "idle_row"


def read_mps(text: str) -> IndexedModel:
    """Read a model.

    Raises:
        ModellingError: The text is not a model in MPS form; the message names the line.
    """
    reader = _MpsReader()
    # Number of lines of earlier blocks.
    done = 0
    for block in _blocks(text):
        # Words of the block, by which many lines are read together, and its lines, once one of them is read alone.
        words = words_of(block)
        lines = block.splitlines() if words is None else []
        count = len(lines) if words is None else len(words)
        # Lines that begin a section or are markers, and the end.
        stops = [] if words is None else [*words.stops("MARKER"), count]
        # Number of lines that were read, and of those before which lines are read one by one.
        at, singly_before = 0, 0
        while at < count and reader.section != "ENDATA":
            read_together = reader.together.get(reader.section)
            if words is not None and read_together is not None and at >= singly_before:
                end = stops[bisect_left(stops, at)]
                if end - at >= FEW_LINES and read_together(words, words.entry_lines(at, end)):
                    at = end
                    continue
                singly_before = end + 1
            lines = lines or block.splitlines()
            line = lines[at]
            at += 1
            if line.startswith("*") or not (parts := line.split()):
                continue
            try:
                if line[0].isspace():
                    reader.read_line(line, parts)
                else:
                    reader.begin_section(parts)
            except ModellingError as problem:
                where = f"line {done + at}: {problem}: {quoted(line.strip())}"
                raise ModellingError(f"{where}; not a model in MPS form") from None
        done += count
    return reader.build(text)


def _blocks(text: str) -> Iterator[str]:
    """Yield parts of a text with whole lines, so that the words of large files are not in memory at once."""
    start = 0
    while start < len(text):
        end = text.find("\n", start + BLOCK_CHARACTERS) + 1 or len(text)
        yield text[start:end]
        start = end


def _number(word: str) -> float:
    if not NUMBER.fullmatch(word):
        raise ModellingError(f"{quoted(word)} is not a number")
    return float(word.upper().replace("D", "E"))


def _numbers(words: list[str]) -> list[float]:
    """Return many numbers, faster than one by one if they have only the usual characters."""
    if PLAIN_NUMBERS.fullmatch("".join(words)):
        with suppress(ValueError):
            return list(map(float, words))
    values = {word: _number(word) for word in set(words)}
    return [values[word] for word in words]


class _Entries(NamedTuple):
    """Entries of several lines: first words by line, and lines, positions of rows, and figures by entry."""

    titles: Positions
    lines: Positions
    places: Positions
    figures: Vector


class _MpsReader:
    """Parts of a file that were read so far. Methods for lines change nothing if they raise an error."""

    def __init__(self) -> None:
        self.section, self.sections = "", set[str]()
        self.read: Callable[[list[str]], None] = self._refuse
        # Methods that read many lines of a section together, which is faster, or return False and change nothing.
        self.together = {
            "ROWS": self._read_rows,
            "COLUMNS": self._read_columns,
            "RHS": self._read_sides,
            "BOUNDS": self._read_bounds,
        }
        self.is_maximized: bool | None = None
        # Position and relation of each row, and names and figures of N rows.
        self.rows: dict[str, int] = {}
        self.relations: list[str] = []
        # Number of rows, and the table of their names, once entries are read together.
        self._row_table: tuple[int, WordTable | None] = (-1, None)
        self.ranks: dict[str, dict[str, float]] = {}
        self.sides: dict[str, float] = {}
        self.ranges: dict[str, float] = {}
        # Position of each column, and columns with stated bounds, of which the last counts.
        self.columns: dict[str, int] = {}
        self.low = array("i"), array("d")
        self.high = array("i"), array("d")
        self.integer, self.semi = set[str](), dict[str, None]()
        self.is_integer = False
        # Row, column and figure of each entry.
        self.entries = array("i"), array("i"), array("d")
        self.sets: list[tuple[str, int, dict[str, float]]] = []
        # Quadratic terms by row; those of the objective have no name.
        self.matrices: dict[str, dict[tuple[str, str], float]] = {}
        self.matrix = ""
        self.conditions: dict[str, tuple[str, bool]] = {}
        # Function and name of each general constraint, and the words of its lines.
        self.general: list[tuple[str, str, list[list[str]]]] = []

    def begin_section(self, words: list[str]) -> None:
        """Read the first line of a section."""
        word = words[0].upper()
        if word not in SECTIONS:
            raise ModellingError("not a section")
        if word in SINGLE and word in self.sections:
            raise ModellingError(f"the section {word} begins twice")
        self.sections.add(word)
        self.section = word
        readers: dict[str, Callable[[list[str]], None]] = {
            "OBJSENSE": self._sense,
            "ROWS": self._row,
            "LAZYCONS": self._row,
            "USERCUTS": self._row,
            "COLUMNS": self._column,
            "RHS": partial(self._side, self.sides),
            "RANGES": partial(self._side, self.ranges),
            "BOUNDS": self._bound,
            "SOS": self._set,
            "QCMATRIX": self._term,
            "QUADOBJ": self._term,
            "QSECTION": self._term,
            "QMATRIX": self._term,
            "INDICATORS": self._condition,
            "GENCONS": self._function,
        }
        self.read = readers.get(word, self._skip)
        if word.startswith("OBJSENSE"):
            self._sense([*filter(None, [word.removeprefix("OBJSENSE")]), *words[1:]])
        if word == "QCMATRIX" and (len(words) != 2 or words[1] not in self.rows):
            raise ModellingError("expected QCMATRIX and the name of a row")
        if word in ("QUADOBJ", "QSECTION", "QMATRIX") and words[1:] not in ([], self._free_rows()[:1]):
            raise ModellingError(f"expected {word} alone, for the objective")
        self.matrix = words[1] if word == "QCMATRIX" else ""

    def read_line(self, line: str, words: list[str]) -> None:
        """Read a line of the current section. Errors in its words count only if its fixed fields are wrong too."""
        try:
            self.read(words)
        except ModellingError:
            # Files with fixed columns allow names with spaces.
            if "".join(line[end:start] for (_, end), (start, _) in pairwise(FIXED)).strip():
                raise
            fields = [line[start:end].strip() for start, end in FIXED]
            with suppress(ModellingError):
                self.read([field for field in fields if field])
                return
            raise

    def _refuse(self, words: list[str]) -> None:
        raise ModellingError("expected a section such as ROWS")

    def _skip(self, words: list[str]) -> None:
        """Skip the lines of NAME."""

    def _sense(self, words: list[str]) -> None:
        for word in words:
            if not word.upper().startswith(("MAX", "MIN")):
                raise ModellingError("expected MAX or MIN")
            self.is_maximized = word.upper().startswith("MAX")

    def _row(self, words: list[str]) -> None:
        ranks = {}
        if len(words) == 2 + len(RANKS) and words[0].upper() == "N":
            ranks = {words[1]: dict(zip(RANKS, map(_number, words[2:]), strict=True))}
        elif len(words) != 2 or words[0].upper() not in KINDS_OF_ROWS:
            raise ModellingError("expected N, L, G or E and the name of a row")
        if words[1] in self.rows:
            raise ModellingError("a second row of this name")
        self.rows[words[1]] = len(self.relations)
        self.relations.append(words[0].upper())
        self.ranks |= ranks

    def _column(self, words: list[str]) -> None:
        if len(words) not in (3, 5):
            raise ModellingError("expected a column, and one or two rows with a number each")
        if words[1] not in self.rows and words[1].strip("'\"").upper() == "MARKER":
            marker = words[2].strip("'\"").upper()
            if marker not in ("INTORG", "INTEND", "SOSORG", "SOSEND"):
                raise ModellingError("expected INTORG or INTEND")
            self.is_integer = marker == "INTORG"
            return
        pairs = self._pairs(words[1:])
        column = self.columns.setdefault(words[0], len(self.columns))
        if self.is_integer:
            self.integer.add(words[0])
        rows, columns, values = self.entries
        for name, value in pairs:
            rows.append(self.rows[name])
            columns.append(column)
            values.append(value)

    def _read_rows(self, words: TextWords, lines: Positions) -> bool:
        if (words.counts[lines] != 2).any():
            return False
        first = words.first[lines]
        relations, names = list(map(str.upper, words.letters(first))), words.texts(first + 1)
        new = dict(zip(names, range(len(self.relations), len(self.relations) + len(names)), strict=True))
        if not KINDS_OF_ROWS.issuperset(relations) or len(new) < len(names) or not new.keys().isdisjoint(self.rows):
            return False
        self.rows |= new
        self.relations += relations
        return True

    def _read_columns(self, words: TextWords, lines: Positions) -> bool:
        entries = self._read_entries(words, lines)
        if entries is None or words.lengths(entries.titles).max(initial=0) > MAX_WORD_BYTES:
            return False
        # The entries of a column mostly follow each other.
        begins = words.runs(entries.titles)
        names = words.texts(entries.titles[begins])
        if self.is_integer:
            self.integer.update(names)
        places = [self.columns.setdefault(name, len(self.columns)) for name in names]
        columns = np.repeat(np.array(places, dtype=np.int32), np.diff(begins, append=len(lines)))
        self.entries[0].frombytes(entries.places.astype(np.int32).tobytes())
        self.entries[1].frombytes(columns[entries.lines].tobytes())
        self.entries[2].frombytes(entries.figures.tobytes())
        return True

    def _read_entries(self, words: TextWords, lines: Positions) -> "_Entries | None":
        """Return the entries of lines of three or five words; None if lines must be read one by one."""
        counts = words.counts[lines]
        if not ((counts == 3) | (counts == 5)).all():
            return None
        titles = words.first[lines]
        # A line of five words has two rows.
        second = np.flatnonzero(counts == 5)
        pairs = np.concatenate((titles, titles[second] + 2))
        if self._row_table[0] != len(self.rows):
            self._row_table = len(self.rows), WordTable.of(list(self.rows))
        table = self._row_table[1]
        places = None if table is None else table.find(words, pairs + 1)
        if places is None:
            return None
        figures, is_read = words.figures(pairs + 2)
        if not is_read.all():
            unread = np.flatnonzero(~is_read)
            try:
                figures[unread] = _numbers(words.texts(pairs[unread] + 2))
            except ModellingError:
                return None
        return _Entries(titles, np.concatenate((np.arange(len(lines)), second)), places, figures)

    def _read_sides(self, words: TextWords, lines: Positions) -> bool:
        entries = self._read_entries(words, lines)
        if entries is None:
            return False
        names = list(map(list(self.rows).__getitem__, entries.places.tolist()))
        # A second figure of a row must equal the first one.
        if len(set(names)) < len(names) or not self.sides.keys().isdisjoint(names):
            return False
        self.sides.update(zip(names, entries.figures.tolist(), strict=True))
        return True

    def _side(self, figures: dict[str, float], words: list[str]) -> None:
        if not 2 <= len(words) <= 5:
            raise ModellingError("expected one or two rows with a number each")
        pairs = self._pairs(words[len(words) % 2 :])
        for name, value in pairs:
            if figures.get(name, value) != value:
                raise ModellingError(f"row {quoted(name)} has two figures: expected one")
        figures.update(pairs)

    def _pairs(self, words: list[str]) -> list[tuple[str, float]]:
        for name in words[::2]:
            if name not in self.rows:
                raise ModellingError(f"{quoted(name)} is not a row of this model")
        return list(zip(words[::2], map(_number, words[1::2]), strict=True))

    def _read_bounds(self, words: TextWords, lines: Positions) -> bool:
        if (words.counts[lines] != 4).any():
            return False
        kinds, names, texts = (words.texts(words.first[lines] + place) for place in (0, 2, 3))
        if not WITH_VALUE.issuperset(kinds):
            return False
        try:
            numbers = _numbers(texts)
            checked = {number: check_bound(number, "a bound") for number in set(numbers)}
            places = list(map(self.columns.__getitem__, names))
        except (ModellingError, KeyError):
            return False
        bounds = [(kind, place, checked[number]) for kind, place, number in zip(kinds, places, numbers, strict=True)]
        for chosen, (columns, figures) in ((LOW_KINDS, self.low), (HIGH_KINDS, self.high)):
            columns.extend([place for kind, place, _ in bounds if kind in chosen])
            figures.extend([value for kind, _, value in bounds if kind in chosen])
        self.integer.update([name for kind, name in zip(kinds, names, strict=True) if kind in INTEGER_KINDS])
        self.semi.update([(name, None) for kind, name in zip(kinds, names, strict=True) if kind in SEMI_KINDS])
        return True

    def _bound(self, words: list[str]) -> None:
        kind, rest = words[0].upper(), words[1:]
        if kind not in NO_VALUE | WITH_VALUE:
            raise ModellingError("expected a kind of bound such as UP, LO, FX, FR, MI, PL or BV")
        has_value = len(rest) > 1 and NUMBER.fullmatch(rest[-1]) is not None
        if kind in WITH_VALUE and not has_value:
            raise ModellingError("expected a column and a number")
        # The name of the set of bounds, which comes first, may also be that of a column.
        names = [rest[-2]] if kind in WITH_VALUE or len(rest) > 2 else rest[::-1] or [""]
        name = next((name for name in names if name in self.columns), "")
        if not name:
            raise ModellingError(f"{' '.join(map(quoted, names))} is not a column of this model")
        value = check_bound(_number(rest[-1]), "a bound") if kind in WITH_VALUE else 0.0
        if kind in LOW_KINDS:
            self.low[0].append(self.columns[name])
            self.low[1].append(-math.inf if kind in ("FR", "MI") else value)
        if kind in HIGH_KINDS:
            self.high[0].append(self.columns[name])
            self.high[1].append(FIXED_HIGHS.get(kind, value))
        if kind in INTEGER_KINDS:
            self.integer.add(name)
        if kind in SEMI_KINDS:
            self.semi[name] = None

    def _set(self, words: list[str]) -> None:
        if words[0].upper() in ("S1", "S2") and not (len(words) == 2 and words[0] in self.columns):
            named = words[1:-1] if len(words) > 2 and NUMBER.fullmatch(words[-1]) else words[1:]
            self.sets.append((named[-1] if named else f"SOS{len(self.sets)}", int(words[0][1]), {}))
            return
        if len(words) not in (2, 3) or words[-2] not in self.columns or not NUMBER.fullmatch(words[-1]):
            raise ModellingError("expected S1, S2, or a column and its weight")
        if not self.sets:
            raise ModellingError("expected S1 or S2 and a name first")
        self.sets[-1][2][words[-2]] = _number(words[-1])

    def _term(self, words: list[str]) -> None:
        if len(words) != 3 or not {words[0], words[1]} <= self.columns.keys() or not NUMBER.fullmatch(words[2]):
            raise ModellingError("expected two columns and a number")
        first, second = sorted(words[:2])
        # The objective is x'Qx / 2, of which QMATRIX has both triangles and other sections one. Rows are x'Qx.
        is_half = self.section == "QMATRIX" or (not self.matrix and first == second)
        terms = self.matrices.setdefault(self.matrix, {})
        terms[first, second] = terms.get((first, second), 0.0) + _number(words[2]) * (0.5 if is_half else 1.0)

    def _condition(self, words: list[str]) -> None:
        if len(words) != 4 or words[0].upper() != "IF" or words[3] not in ("0", "1"):
            raise ModellingError("expected IF, a row, a binary column, and 0 or 1")
        if words[1] not in self.rows or words[2] not in self.columns:
            raise ModellingError("not a row and a column of this model")
        self.conditions[words[1]] = (words[2], words[3] == "1")

    def _function(self, words: list[str]) -> None:
        word = words[0].upper()
        if len(words) == 2 and word in NOT_READ:
            raise ModellingError(f"expected one of {', '.join(GENERAL)}; {word} is not linear")
        if len(words) == 2 and word in GENERAL and words[0] not in self.columns:
            self.general.append((word, words[1], []))
            return
        if not self.general or not all(word in self.columns or NUMBER.fullmatch(word) for word in words):
            raise ModellingError("expected a function and a name, or columns and numbers")
        self.general[-1][2].append(words)

    def build(self, text: str) -> IndexedModel:
        """Return the model of all sections."""
        if self.section != "ENDATA":
            raise ModellingError("not a model in MPS form: the file ends before ENDATA, it is damaged or cut off")
        for section in ("ROWS", "COLUMNS"):
            if section not in self.sections:
                raise ModellingError(f"not a model in MPS form: the section {section} is missing")
        if not self.columns:
            raise ModellingError("not a model in MPS form: no variable was found in it")
        names, columns = list(self.rows), list(self.columns)
        places, of_column, figures = map(np.asarray, self.entries)
        order = np.lexsort((of_column, places))
        is_twice = (np.diff(places[order]) == 0) & (np.diff(of_column[order]) == 0)
        if is_twice.any():
            entry = order[int(np.flatnonzero(is_twice)[0])]
            pair = f"{quoted(columns[of_column[entry]])} in row {quoted(names[places[entry]])}"
            raise ModellingError(f"column {pair} has two figures: expected one; not a model in MPS form")
        present = order[figures[order] != 0]
        matrix = Sparse.from_entries(places[present], of_column[present], figures[present], (len(names), len(columns)))
        terms = _RowTerms(matrix, columns)
        is_maximized = self.is_maximized
        if is_maximized is None:
            is_maximized = "*" in text and PULP_SENSE.search(text) is not None
        sense = Sense.MAXIMIZE if is_maximized else Sense.MINIMIZE
        objectives = self._list_objectives(text, sense, terms)
        low, high = self._row_limits(names)
        taken: set[str] = set()
        parts: Parts = defaultdict(list, semi_continuous=list(map(SemiContinuous, self.semi)))
        parts["ordered_sets"] = [OrderedSet(free_name(name, taken), kind, members) for name, kind, members in self.sets]
        self._add_general(parts)
        special = self._add_rows(parts, low, high, terms)
        rows = [row for row, kind in enumerate(self.relations) if kind != "N" and row not in special]
        bounds, shown = self._bounds(), [names[row] for row in rows]
        arrays = Arrays(sense, np.zeros(0), 0.0, *bounds, matrix.select_rows(rows), low[rows], high[rows])
        return build_model(arrays, self.columns, shown, objectives, parts)

    def _bounds(self) -> tuple[Vector, Vector, NDArray[np.bool_]]:
        """Return the bounds of all columns, and which of them are integers.

        A column with an upper bound below 0 and no lower one has none, as in Gurobi.
        """
        count = len(self.columns)
        low, high, integer = np.zeros(count), np.full(count, np.inf), np.zeros(count, dtype=bool)
        integer[[self.columns[name] for name in self.integer]] = True
        # An integer column without bounds is binary.
        high[integer] = 1.0
        high[self.low[0]] = np.inf
        high[self.high[0]] = self.high[1]
        may_be_below = high < 0
        may_be_below[[self.columns[name] for name in self.semi]] = False
        low[may_be_below] = -np.inf
        low[self.low[0]] = self.low[1]
        return low, high, integer

    def _row_limits(self, names: list[str]) -> tuple[Vector, Vector]:
        sides = np.zeros(len(names))
        for name, figure in self.sides.items():
            sides[self.rows[name]] = check_bound(figure, "a right-hand side")
        kinds = np.array(self.relations)
        low, high = np.where(kinds == "L", -np.inf, sides), np.where(kinds == "G", np.inf, sides)
        for name, figure in self.ranges.items():
            row, width = self.rows[name], check_bound(figure, "a range")
            # The sign of a range counts for equations only.
            step = {"G": abs(width), "L": -abs(width)}.get(self.relations[row], width)
            side = float(sides[row])
            low[row], high[row] = sorted((side, side + step))
        is_empty = ~((low < np.inf) & (high > -np.inf)) & (kinds != "N")
        if is_empty.any():
            name = names[int(np.flatnonzero(is_empty)[0])]
            raise ModellingError(f"row {quoted(name)}: no point reaches an infinite right-hand side")
        return low, high

    def _free_rows(self) -> list[str]:
        return [name for name, kind in zip(self.rows, self.relations, strict=True) if kind == "N" and name != IDLE]

    def _list_objectives(self, text: str, sense: Sense, terms: "_RowTerms") -> list[FileObjective]:
        """Return the N rows, with their ranks or those of comments."""
        free = self._free_rows()
        unranked = [name for name in free if name not in self.ranks]
        if self.ranks and unranked:
            raise ModellingError(
                f"objective {quoted(unranked[0])} lacks a priority, a weight and two tolerances, which another one "
                "has: expected these four numbers after each N row, or after none"
            )
        notes = _read_goal_notes(text) if " oragent goal " in text else {}
        objectives: list[FileObjective] = []
        for name in free or [""]:
            words = self.ranks.get(name, {} if name == (free or [""])[0] else {"weight": 0.0})
            constant = 0.0 - self.sides.get(name, 0.0)
            if name in notes:
                note = notes[name]
                constant, sign = note["constant"], 1.0 if note["sense"] == str(sense) else -1.0
                words = {"priority": note["priority"], "weight": sign * note["weight"]}
                words |= {"reltol": note["slack"], "abstol": note["slack_amount"]}
            costs = terms.of(self.rows[name]) if name else {}
            quadratic = () if objectives else self._products("")
            objectives.append(FileObjective(name, costs, constant, words, quadratic))
        return objectives

    def _add_rows(self, parts: Parts, low: Vector, high: Vector, terms: "_RowTerms") -> set[int]:
        """Add the rows with quadratic terms or a condition, and return their positions."""
        special = set()
        for name in filter(None, (*self.matrices, *self.conditions)):
            row = self.rows[name]
            special.add(row)
            split = split_limits(low[row : row + 1], high[row : row + 1])
            if self.relations[row] == "N" or len(split.rhs) != 1:
                raise ModellingError(
                    f"row {quoted(name)} has no limit or two: expected one for a quadratic row or an indicator"
                )
            limit = RELATIONS[int(split.relations[0])], float(split.rhs[0])
            if name in self.matrices:
                products = self._products(name)
                parts["quadratic_rows"].append(QuadraticRow(name, terms.of(row), products, *limit))
            else:
                parts["indicators"].append(Indicator(name, *self.conditions[name], terms.of(row), *limit))
        return special

    def _products(self, name: str) -> tuple[QuadraticTerm[str], ...]:
        return tuple(QuadraticTerm(*pair, value) for pair, value in self.matrices.get(name, {}).items() if value)

    def _add_general(self, parts: Parts) -> None:
        """Add the general constraints, each with its output first, and for PWL its input before that."""
        for word, name, lines in self.general:
            names = [entry for line in lines for entry in line if entry in self.columns]
            numbers = [_number(entry) for line in lines for entry in line if entry not in self.columns]
            if len(names) < 2 or (word == "PWL" and len(names) > 2):
                raise ModellingError(f"general constraint {quoted(name)}: expected the columns of {word}")
            if word == "PWL":
                points = tuple(zip(numbers[::2], numbers[1::2], strict=False))
                parts["piecewise"].append(PiecewiseLinear(name, names[0], names[1], points))
            else:
                add_general(parts, word, name, names[0], names[1:], numbers)


class _RowTerms:
    """Coefficients of rows by the names of the columns."""

    def __init__(self, matrix: Sparse, columns: list[str]) -> None:
        self._matrix, self._columns = matrix, columns

    def of(self, row: int) -> dict[str, float]:
        """Return the coefficients of a row."""
        matrix, part = self._matrix, slice(self._matrix.starts[row], self._matrix.starts[row + 1])
        names = [self._columns[column] for column in matrix.columns[part].tolist()]
        return dict(zip(names, matrix.values[part].tolist(), strict=True))


def _read_goal_notes(text: str) -> dict[str, dict[str, Any]]:
    """Return the figures of further objectives in comments, by N row."""
    notes: dict[str, dict[str, Any]] = {}
    for name, facts in GOAL_NOTE.findall(text):
        try:
            notes[name] = dict(json.loads(facts, parse_int=float))
        except (ValueError, RecursionError):
            raise ModellingError(
                "a comment gives an objective in a form that is not JSON: correct or remove the comment"
            ) from None
        if notes[name].keys() != GOAL_KEYS:
            raise ModellingError(f"the comment of objective {quoted(name)}: expected {', '.join(sorted(GOAL_KEYS))}")
        figures = [value for key, value in notes[name].items() if key != "sense"]
        if notes[name]["sense"] not in list(Sense) or not all(isinstance(value, float) for value in figures):
            raise ModellingError(f"the comment of objective {quoted(name)}: expected a sense and numbers")
    return notes

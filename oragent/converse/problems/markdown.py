"""Tables out of GitHub-flavoured Markdown, with bounds on how large they may be."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

MOST_ROWS, MOST_COLUMNS = 1000, 16
LONGEST_LINE, LONGEST_CELL = 5000, 300  # characters; the patterns below may take the square of that
CELL = re.compile(r"((?:[^|\\]|\\.)*)\|")
RULE = re.compile(r"\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*")
EMPHASIS = re.compile(r"(\*\*|__|\*|_|`)(.+)\1")
ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")


@dataclass(frozen=True)
class MarkdownTable:
    """A table.

    Attributes:
        header: Texts of the columns' heads, at least two.
        rows: Texts of the cells, as many a row as there are columns.
    """

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def tables(text: str) -> Iterator[MarkdownTable]:
    """Every table of a text, in order; rows that are too short are filled with empty cells."""
    lines = [line[:LONGEST_LINE] for line in text.split("\n")]
    place = 1
    while place < len(lines):
        header = _cells(lines[place - 1])
        if 2 <= len(header) <= MOST_COLUMNS and _is_rule(lines[place]):
            rows: list[tuple[str, ...]] = []
            while (place := place + 1) < len(lines) and "|" in lines[place] and len(rows) < MOST_ROWS:
                cells = _cells(lines[place])[: len(header)]
                rows.append(cells + ("",) * (len(header) - len(cells)))
            yield MarkdownTable(header, tuple(rows))
        place += 1


def unescaped(text: str) -> str:
    """A text without the strokes before signs that would else begin something of Markdown's."""
    return ESCAPE.sub(r"\1", text)


def _is_rule(line: str) -> bool:
    return "-" in line and len(line) <= LONGEST_CELL and bool(RULE.fullmatch(line.strip()))


def _cells(line: str) -> tuple[str, ...]:
    stripped = line.strip().removeprefix("|")
    if "|" not in line:
        return ()
    if not re.search(r"(?<!\\)(\\\\)*\|$", stripped):
        stripped += "|"  # the last border may be left out
    return tuple(_plain(cell[:LONGEST_CELL]) for cell in CELL.findall(stripped))


def _plain(cell: str) -> str:
    cell = cell.strip()
    while found := EMPHASIS.fullmatch(cell):
        cell = found[2].strip()
    return unescaped(cell).strip()

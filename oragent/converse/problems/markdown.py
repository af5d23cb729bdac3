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


def read_tables(text: str) -> Iterator[MarkdownTable]:
    """Every table of a text, in order; rows that are too short are filled with empty cells."""
    lines = [text_line[:LONGEST_LINE] for text_line in text.split("\n")]
    position = 1
    while position < len(lines):
        header = _split_cells(lines[position - 1])
        if 2 <= len(header) <= MOST_COLUMNS and _is_rule(lines[position]):
            rows: list[tuple[str, ...]] = []
            while (position := position + 1) < len(lines) and "|" in lines[position] and len(rows) < MOST_ROWS:
                cells = _split_cells(lines[position])[: len(header)]
                rows.append(cells + ("",) * (len(header) - len(cells)))
            yield MarkdownTable(header, tuple(rows))
        position += 1


def remove_escapes(text: str) -> str:
    """A text without the strokes before signs that would else begin something of Markdown's."""
    return ESCAPE.sub(r"\1", text)


def _is_rule(text: str) -> bool:
    return "-" in text and len(text) <= LONGEST_CELL and bool(RULE.fullmatch(text.strip()))


def _split_cells(text: str) -> tuple[str, ...]:
    stripped = text.strip().removeprefix("|")
    if "|" not in text:
        return ()
    if not re.search(r"(?<!\\)(\\\\)*\|$", stripped):
        stripped += "|"  # the last border may be left out
    return tuple(_plain_text(cell[:LONGEST_CELL]) for cell in CELL.findall(stripped))


def _plain_text(cell: str) -> str:
    cell = cell.strip()
    while emphasis := EMPHASIS.fullmatch(cell):
        cell = emphasis[2].strip()
    return remove_escapes(cell).strip()

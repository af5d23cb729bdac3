"""Rows of two versions of a table that are the same row, and names of rows that distinguish them.

A row is matched by its primary key, otherwise by its place and labels, and otherwise by the cells that did not change.
Labels may occur in several rows.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from oragent.workspace.tables import is_missing, parse_number

# Cells of a row that are compared.
Row = tuple[str, ...]
# Places of a row in both versions; None for an added or removed row.
Pair = tuple[int | None, int | None]
# Maximum number of rows with the same labels that are compared with each other.
MAX_GROUP = 20
# Maximum number of differing cells that are taken as exchanged values, and not as moved rows.
MAX_EXCHANGED = 8


def match_rows(old: Sequence[Row], new: Sequence[Row], key: Sequence[int] = ()) -> list[Pair]:
    """Return the pairs of rows in the order of the old version, then the added ones.

    Args:
        old: Former rows, with the cells of the columns that both versions have.
        new: New rows.
        key: Columns of the primary key. Empty if there is none.
    """
    pairs: dict[int, int] = {}
    if key:
        pairs = dict(_pair_equal(old, new, range(len(old)), range(len(new)), key))
    elif old and new:
        pairs = _match_moved(old, new, {})
        if len(old) == len(new):
            labels = _find_labels(old, new)
            same = {
                row: row for row in range(len(old)) if all(old[row][column] == new[row][column] for column in labels)
            }
            in_place = _match_moved(old, new, same)
            if _count_differences(old, new, in_place) <= _count_differences(old, new, pairs) + MAX_EXCHANGED:
                pairs = in_place
    matched = set(pairs.values())
    return [
        *((row, pairs.get(row)) for row in range(len(old))),
        *((None, row) for row in range(len(new)) if row not in matched),
    ]


def _find_labels(old: Sequence[Row], new: Sequence[Row]) -> list[int]:
    """Return the columns of labels: those with texts, and a first one with distinct values."""
    labels = []
    for column in range(len(old[0])):
        sides = [[row[column] for row in rows] for rows in (old, new)]
        has_text = any(not is_missing(cell) and parse_number(cell) is None for cell in {*sides[0], *sides[1]})
        if has_text or (column == 0 and all(len(set(side)) == len(side) for side in sides)):
            labels.append(column)
    return labels


def _match_moved(old: Sequence[Row], new: Sequence[Row], pairs: Mapping[int, int]) -> dict[int, int]:
    """Match the remaining rows: equal ones, then those with the same cells in unchanged columns, then by place."""
    matched = dict(pairs)

    def rest() -> tuple[list[int], list[int]]:
        used = set(matched.values())
        return [row for row in range(len(old)) if row not in matched], [
            row for row in range(len(new)) if row not in used
        ]

    width = len(old[0])
    matched |= _pair_equal(old, new, *rest(), range(width))
    first, second = rest()
    columns = [column for column in range(width) if _is_unchanged(old, new, first, second, column)]
    for count in range(len(columns), 0, -1):
        if first and second:
            likely = _pair_equal(old, new, first, second, columns[:count])
            matched |= ((one, two) for one, two in likely if _is_similar(old[one], new[two]))
            first, second = rest()
    if len(old) == len(new):
        matched |= ((row, row) for row in set(first) & set(second) if _is_similar(old[row], new[row]))
    return matched


def _is_unchanged(old: Sequence[Row], new: Sequence[Row], first: list[int], second: list[int], column: int) -> bool:
    sides = Counter(old[row][column] for row in first), Counter(new[row][column] for row in second)
    return (sides[0] & sides[1]).total() == min(len(first), len(second))


def _is_similar(old: Row, new: Row) -> bool:
    same = sum(first == second for first, second in zip(old, new, strict=True))
    return old[0] == new[0] or 2 * same >= len(old)


def _pair_equal(
    old: Sequence[Row], new: Sequence[Row], first: Iterable[int], second: Iterable[int], columns: Sequence[int]
) -> Iterator[tuple[int, int]]:
    """Yield pairs of rows with the same cells in some columns; in a small group, the most similar rows first."""
    groups: dict[Row, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
    for row in first:
        groups[tuple(old[row][column] for column in columns)][0].append(row)
    for row in second:
        groups[tuple(new[row][column] for column in columns)][1].append(row)
    for before, after in groups.values():
        if 1 < max(len(before), len(after)) <= MAX_GROUP and before and after:
            ranked = sorted(
                (sum(a != b for a, b in zip(old[row], new[other], strict=True)), abs(row - other), row, other)
                for row in before
                for other in after
            )
            for *_, row, other in ranked:
                if row in before and other in after:
                    yield row, other
                    before.remove(row)
                    after.remove(other)
        else:
            yield from zip(before, after, strict=False)


def _count_differences(old: Sequence[Row], new: Sequence[Row], pairs: Mapping[int, int]) -> int:
    width = len(old[0])
    unpaired = len(old) + len(new) - 2 * len(pairs)
    return unpaired * width + sum(
        sum(a != b for a, b in zip(old[row], new[other], strict=True)) for row, other in pairs.items()
    )


class RowNames:
    """Names of the rows of a table in two versions: their first cells, as few as distinguish them."""

    def __init__(self, *versions: Sequence[Row]) -> None:
        self._versions = versions
        self._counts: dict[tuple[int, ...], list[Counter[Row]]] = {}
        width = min((len(row) for rows in versions for row in rows), default=0)
        self._width = width
        is_unique = (count for count in (1, 2, 3) if count <= width and self._is_distinct(range(count)))
        # Number of columns that distinguish all rows, or one if there is no such number.
        self._usual = next(is_unique, 1)

    def _count(self, columns: Sequence[int]) -> list[Counter[Row]]:
        key = tuple(columns)
        if key not in self._counts:
            self._counts[key] = [Counter(tuple(row[at] for at in key) for row in rows) for rows in self._versions]
        return self._counts[key]

    def _is_distinct(self, columns: Sequence[int]) -> bool:
        return all(max(counts.values(), default=1) == 1 for counts in self._count(columns))

    def find_name(self, row: Row, number: int, changed: Iterable[int] = ()) -> str:
        """Return the name of a row without its changed cells; a row like others has its number, from 1, too."""
        steady = [column for column in range(self._width) if column not in set(changed)]
        for count in range(min(self._usual, len(steady)), len(steady) + 1):
            cells = tuple(row[column] for column in steady[:count])
            if all(counts[cells] <= 1 for counts in self._count(steady[:count])):
                return ", ".join(cells).strip(", ") or f"row {number}"
        cells = tuple(row[column] for column in steady[: self._usual])
        return ", ".join((*cells, f"row {number}"))

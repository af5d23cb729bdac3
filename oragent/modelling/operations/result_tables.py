"""Fields of results as texts, and lists of parts as tables."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pydantic import BaseModel

from oragent.modelling.data.display import figure as figure_text
from oragent.modelling.data.display import plain
from oragent.modelling.operations.results import Figure, OperationResult, SetInfo
from oragent.modelling.references.figures import format_figure

HEADER = set(OperationResult.model_fields)
# Fields without own columns; the labels of a member are in its name.
HIDDEN = {"kind", "labels"}
# Maximum number of entries of a list within a cell, and of the labels of a set beside other sets.
MAX_ENTRIES, MAX_LABELS = 200, 8


@dataclass(frozen=True)
class ResultTable:
    """A list of parts as a table."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    # Number of omitted rows.
    hidden: int = 0


def make_table(title: str, parts: Sequence[BaseModel], limit: int) -> ResultTable:
    """Return a table of at most ``limit`` parts, with the fields that any of them has."""
    cells = [list_cells(part) for part in parts[:limit]]
    for part, row in zip(parts, cells, strict=False):
        if isinstance(part, SetInfo):
            row["labels"] = _label_text(part, MAX_LABELS if len(parts) > 1 else MAX_ENTRIES)
    heads = [head for head in cells[0] if any(row.get(head) for row in cells)]
    rows = tuple(tuple(row.get(head, "") for head in heads) for row in cells)
    header = tuple(head.replace("_", " ") for head in heads)
    return ResultTable(title, header, rows, max(0, len(parts) - limit))


def _label_text(part: SetInfo, limit: int) -> str:
    shown = [plain(label, 200) for label in part.labels[:limit]]
    return "; ".join([*shown, f"and {part.size - len(shown)} more"] if part.size > len(shown) else shown)


def list_cells(part: BaseModel) -> dict[str, str]:
    """Return the text of each field that is shown."""
    fields = type(part).model_fields.items()
    return {name: value_text(getattr(part, name)) for name, field in fields if name not in HIDDEN and not field.exclude}


def value_text(value: object) -> str:
    """Return the text of a field; empty if it has no value."""
    if value is None or value == "":
        return ""
    if isinstance(value, Figure):
        return "" if value == Figure(unit=value.unit) else format_figure(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return figure_text(float(value))
    if isinstance(value, BaseModel):
        return ", ".join(f"{name} {text}" for name, text in list_cells(value).items() if text)
    if isinstance(value, tuple):
        return "; ".join(_entries(value))
    return plain(str(value), 200)


def _entries(values: Sequence[object]) -> Iterator[str]:
    for value in values[:MAX_ENTRIES]:
        if isinstance(value, tuple):
            # A name with its figures before and after.
            yield " ".join(value_text(item) or "-" for item in value)
        else:
            yield value_text(value)

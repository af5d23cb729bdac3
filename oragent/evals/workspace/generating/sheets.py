"""Figures as tables and a document, and back: what an agent reads, and the proof that the truth is in it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from oragent._base.errors import WorkspaceError
from oragent.evals.workspace.generating.stories import Story
from oragent.evals.workspace.noise.artifacts import Artifacts
from oragent.workspace import parameters
from oragent.workspace.reading import shown
from oragent.workspace.tables import CsvTable

REQUIREMENT = "business_requirement.md"


@dataclass(frozen=True)
class SheetCell:
    """One figure, and where it stands in clean tables.

    Attributes:
        key: Key of the family's data.
        names: What it is looked up by; empty for a single figure.
        text: The figure as it is written.
        place: Where it stands: file, row and column, in words.
    """

    key: str
    names: tuple[str, ...]
    text: str
    place: str


def columns(story: Story) -> dict[tuple[str, ...], list[str]]:
    """Keys that stand in one table, by the columns that they share."""
    found: dict[tuple[str, ...], list[str]] = {}
    for key, index in story.index.items():
        found.setdefault(index, []).append(key)
    return found


def written(story: Story, data: Mapping[str, Any], title: str) -> Artifacts:
    """Write a family's data as tables and the requirement that names them.

    Args:
        story: Words of the family.
        data: Data of the instance.
        title: First line of the document.
    """
    shaped = story.shaped(data)
    tables, told = {}, []
    number = 0
    for index, keys in columns(story).items():
        if not index:
            rows = [(key, _text(shaped[key]), story.units.get(key, ""), story.meanings.get(key, "")) for key in keys]
            tables[parameters.FILE] = CsvTable(parameters.HEADER, tuple(rows))
            told += [f"- `{parameters.FILE}` gives {', '.join(_told(story, key) for key in keys)}."]
            continue
        number += 1
        name = f"table_{number}.csv"
        flat = {key: _flat(shaped[key], len(index)) for key in keys}
        table = [
            (*names, *(_text(flat[key][names]) if names in flat[key] else "" for key in keys))
            for names in dict.fromkeys(names for one in flat.values() for names in one)
        ]
        tables[name] = CsvTable((*index, *(_head(story, key) for key in keys)), tuple(table))
        told.append(f"- `{name}` gives, by {' and '.join(index)}, {', '.join(_told(story, key) for key in keys)}.")
    tables.setdefault(parameters.FILE, CsvTable(parameters.HEADER, ()))
    text = "\n".join(
        [f"# {title}", "", story.voice, "", *story.rules, "", story.aim, "", "Where the figures are:", *told]
    )
    return Artifacts(tables, {REQUIREMENT: text + "\n"})


def read(story: Story, artifacts: Artifacts) -> dict[str, Any]:
    """Read the figures of clean tables; the inverse of ``written``, up to numbers being texts.

    Raises:
        WorkspaceError: if a table or column is missing.
    """
    return {
        key: {one.names: one.text for one in cells(story, artifacts) if one.key == key}
        for key in story.index
    }  # fmt: skip


def cells(story: Story, artifacts: Artifacts) -> list[SheetCell]:
    """All figures of clean tables.

    Raises:
        WorkspaceError: if a table or column is missing.
    """
    found: list[SheetCell] = []
    number = 0
    for index, keys in columns(story).items():
        if not index:
            given, _ = parameters.read(artifacts.table(parameters.FILE))
            found += [
                SheetCell(one.name, (), one.value, f"{parameters.FILE}, value of {one.name}")
                for one in given if one.name in keys
            ]  # fmt: skip
            continue
        number += 1
        name = f"table_{number}.csv"
        table = artifacts.table(name)
        for key in keys:
            values = table.column(_head(story, key))
            found += [
                SheetCell(key, row[: len(index)], value, f"{name}, {key} of {', '.join(row[: len(index)])}")
                for row, value in zip(table.rows, values, strict=True) if value
            ]  # fmt: skip
    missing = [key for key in story.index if not any(one.key == key for one in found)]
    if missing:
        raise WorkspaceError(f"no figure of {shown(missing[0])} in the tables; expected those of the story")
    return found


def _flat(value: Any, depth: int) -> dict[tuple[str, ...], Any]:
    if depth == 0:
        return {(): value}
    return {(str(name), *rest): one for name, inner in value.items() for rest, one in _flat(inner, depth - 1).items()}


def _text(value: Any) -> str:
    return f"{value:.10g}" if isinstance(value, float) else str(value)


def _head(story: Story, key: str) -> str:
    unit = story.units.get(key)
    return f"{key} ({unit})" if unit else key


def _told(story: Story, key: str) -> str:
    meaning = story.meanings.get(key, "")
    return f"`{key}`{f' ({meaning})' if meaning else ''}"

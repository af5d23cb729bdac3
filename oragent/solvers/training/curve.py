"""The validation curve of a training: JSON lines while it runs, a figure at its end."""

import json
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter

from oragent._base.files import replace_file

FILE, FIGURE = "curve.jsonl", "curve.png"


def add(folder: Path, record: dict[str, Any]) -> None:
    """Append a record; those of later steps, left by a process that was killed, are dropped."""
    _write(folder, [row for row in read(folder) if row["step"] < record["step"]] + [record])


def cut(folder: Path, step: int) -> None:
    """Drop the records of what came after a step."""
    _write(folder, [row for row in read(folder) if row["step"] <= step])


def _write(folder: Path, records: list[dict[str, Any]]) -> None:
    replace_file(folder / FILE, "".join(f"{json.dumps(row)}\n" for row in records))


def read(folder: Path) -> list[dict[str, Any]]:
    """Read all records."""
    path = folder / FILE
    return [json.loads(row) for row in path.read_text().splitlines()] if path.is_file() else []


def draw(folder: Path, title: str) -> Path:
    """Draw the gap at each size over processor hours."""
    figure = Figure(figsize=(7, 4), layout="constrained")
    plot(figure.add_subplot(xlabel="CPU hours", ylabel="greedy gap", title=title), folder)
    figure.savefig(folder / FIGURE, dpi=120)
    return folder / FIGURE


def plot(axes: Axes, folder: Path) -> None:
    """The same into axes of one's own."""
    records = read(folder)
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 1.5, 2, 3, 5, 7)))
    axes.yaxis.set_major_formatter("{x:g} %")
    axes.yaxis.set_minor_formatter(NullFormatter())
    for name in sorted({name for record in records for name in record if name.startswith("gap_")}):
        points = [(record["cpu_hours"], 100 * record[name]) for record in records if record.get(name, 0) > 0]
        if points:
            axes.plot(*zip(*points, strict=True), marker=".", label=f"n = {name.removeprefix('gap_')}")
    if axes.lines:
        axes.legend()
    axes.grid(which="both", alpha=0.3)

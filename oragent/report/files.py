"""Put a report beside the run that it is about."""

from collections.abc import Iterable
from pathlib import Path

from oragent.errors import StoreError
from oragent.report.figures import Drawing, draw
from oragent.report.html import page
from oragent.report.run import load

__all__ = ["save", "write"]


def write(folder: Path) -> Path:
    """Write ``report.html`` and ``figures/*.svg``, ``figures/*.png`` into a run's folder, each file in one step.

    Returns:
        The page.

    Raises:
        StoreError: if this is no run's folder, it cannot be read, or the report cannot be written.
        ConfigError: if its ``config.yaml`` is not what a run leaves.
    """
    data = load(folder)
    drawings = draw(data)
    save(folder, drawings.values(), page(data, drawings))
    return folder / "report.html"


def save(folder: Path, drawings: Iterable[Drawing], text: str) -> None:
    """Write a page and its figures, each file in one step.

    Raises:
        StoreError: if they cannot be written.
    """
    try:
        (folder / "figures").mkdir(exist_ok=True)
        for drawing in drawings:
            _replace(folder / "figures" / f"{drawing.name}.svg", drawing.svg.encode())
            _replace(folder / "figures" / f"{drawing.name}.png", drawing.png)
        _replace(folder / "report.html", text.encode())
    except OSError as problem:
        raise StoreError(f"cannot write the report of {folder}: {problem}") from None


def _replace(path: Path, content: bytes) -> None:
    """Put a whole file in the place of an old one: who reads it meanwhile never sees half of it."""
    fresh = path.with_name(f".{path.name}.new")
    fresh.write_bytes(content)
    fresh.replace(path)

"""Put a page beside what it is about."""

from collections.abc import Iterable
from pathlib import Path

from oragent._base.errors import StoreError
from oragent._base.files import replace
from oragent.report.pages.figures import Drawing


def save(folder: Path, drawings: Iterable[Drawing], text: str) -> None:
    """Write a page and its figures, each file in one step.

    Raises:
        StoreError: if they cannot be written.
    """
    try:
        (folder / "figures").mkdir(exist_ok=True)
        for drawing in drawings:
            replace(folder / "figures" / f"{drawing.name}.svg", drawing.svg)
            replace(folder / "figures" / f"{drawing.name}.png", drawing.png)
        replace(folder / "report.html", text)
    except OSError as problem:
        raise StoreError(f"cannot write the report of {folder}: {problem}") from None

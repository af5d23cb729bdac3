"""Put a report beside the run that it is about."""

from pathlib import Path

from oragent.report.figures import draw
from oragent.report.page import page
from oragent.report.pages.files import save
from oragent.report.run import load


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

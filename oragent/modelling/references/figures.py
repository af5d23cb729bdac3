"""Texts of figures and other parts of results.

A figure with an interval is written "between LOW and HIGH", or "at least" and "at most" if one end is infinite.
"""

from oragent._base.errors import ModellingError
from oragent.modelling.data.display import figure as figure_text
from oragent.modelling.data.display import plain
from oragent.modelling.operations.results import Figure


def format_part(part: object) -> str:
    """Format a figure, number or text of a result. A part with several values raises ``ModellingError``."""
    if isinstance(part, Figure):
        return format_figure(part)
    if isinstance(part, bool):
        return "yes" if part else "no"
    if isinstance(part, int | float):
        return figure_text(float(part))
    if isinstance(part, str):
        return plain(part, 200)
    if isinstance(part, tuple) and all(isinstance(item, str) for item in part):
        return plain(", ".join(part), 200)
    if part is None:
        return "unknown"
    raise ModellingError("a reference names a part with several figures: add a field or [position] to choose one")


def format_figure(figure: Figure) -> str:
    """Format a figure with its unit and, if it is not exact, its interval."""
    unit = f" {plain(figure.unit, 40)}" if figure.unit else ""
    if figure.is_exact and figure.value is not None:
        return f"{figure_text(figure.value)}{unit}"
    if figure.low is not None and figure.high is not None:
        return f"between {figure_text(figure.low)} and {figure_text(figure.high)}{unit}"
    if figure.low is not None:
        return f"at least {figure_text(figure.low)}{unit}"
    if figure.high is not None:
        return f"at most {figure_text(figure.high)}{unit}"
    if figure.value is not None:
        return f"{figure_text(figure.value)}{unit}, not proven"
    return "unknown"

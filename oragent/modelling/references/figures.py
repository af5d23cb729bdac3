"""References in texts to figures of results, such as ``{r7.objective.difference}``. The program inserts the figures.

A path consists only of field names and list positions; no expression is evaluated. A figure with an interval is written
"between LOW and HIGH", or "at least" and "at most" if one end is infinite.
"""

import re
from collections.abc import Mapping

from pydantic import BaseModel

from oragent._base.errors import ModellingError
from oragent.modelling.data.display import figure as figure_text
from oragent.modelling.data.display import plain, quoted
from oragent.modelling.operations.results import AnyResult, Figure
from oragent.modelling.operations.slices import nearest_names

REFERENCE = re.compile(r"\{\s*(?P<id>r\d+)(?P<path>(?:\.[A-Za-z_]\w*|\[\d{1,9}\])*)\s*\}")
STEP = re.compile(r"\.([A-Za-z_]\w*)|\[(\d+)\]")


def resolve_reference(reference: str, results: Mapping[str, AnyResult]) -> object:
    """Return the part of a result for a reference such as ``r7.objective.difference``. Braces are optional.

    Raises:
        ModellingError: The text is not a reference, or the result has no such part.
    """
    match = REFERENCE.fullmatch(reference if reference.startswith("{") else f"{{{reference}}}")
    if match is None:
        raise ModellingError(
            f"{quoted(reference)} is not a reference: expected one such as {{r7.objective.difference}}"
        )
    if match["id"] not in results:
        raise ModellingError(f"unknown result {quoted(match['id'])}: {nearest_names(match['id'], results)}")
    part: object = results[match["id"]]
    for name, position in STEP.findall(match["path"]):
        part = _step(part, name, position, reference)
    return part


def _step(part: object, name: str, name_path: str, reference: str) -> object:
    where = f"{quoted(reference)}: "
    if name:
        if not isinstance(part, BaseModel) or name not in type(part).model_fields:
            fields = list(type(part).model_fields) if isinstance(part, BaseModel) else []
            raise ModellingError(f"{where}no field {quoted(name)}: {nearest_names(name, fields)}")
        return getattr(part, name)
    if not isinstance(part, tuple):
        raise ModellingError(f"{where}[{name_path}] of a part that has no list")
    if int(name_path) >= len(part):
        raise ModellingError(f"{where}[{name_path}] of a list of {len(part)}; the first one is [0]")
    return part[int(name_path)]


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


def fill_references(text: str, results: Mapping[str, AnyResult]) -> str:
    """Replace each reference in a text by its figure. If a result has no such part, raise ``ModellingError``."""
    return REFERENCE.sub(lambda match: format_part(resolve_reference(match.group(), results)), text)

"""Results as compact JSON for a language model, with the paths of references."""

import json
from typing import Any

from pydantic import BaseModel

from oragent.modelling.data.display import figure as figure_text
from oragent.modelling.data.display import plain
from oragent.modelling.operations.result_tables import HEADER, HIDDEN
from oragent.modelling.operations.results import AnyResult, Figure, MemberFigures
from oragent.modelling.references.figures import format_figure

# Maximum number of characters of one result in a prompt, and list lengths that are tried until it fits.
ROOM = 2500
SIZES = (60, 30, 15, 8, 4, 2, 1, 0)


def brief_result(result: AnyResult, room: int = ROOM) -> str:
    """Write a result as compact JSON with the paths of references; shortened lists are marked."""
    text = ""
    for size in SIZES:
        plain_result: dict[str, Any] = {"id": result.id, "line": result.line, "scenario": result.scenario}
        if result.status:
            plain_result["status"] = result.status
        if result.ended_by:
            plain_result["ended_by"] = result.ended_by
        for name in type(result).model_fields:
            if name not in HEADER | HIDDEN:
                plain_result |= _brief_field(name, getattr(result, name), size)
        if result.warnings:
            plain_result["warnings"] = [plain(warning, 200) for warning in result.warnings[:3]]
        text = json.dumps(plain_result, ensure_ascii=False, separators=(",", ":"))
        if len(text) <= room:
            break
    return text[: 2 * room]


def _brief_field(name: str, value: object, size: int) -> dict[str, Any]:
    """Return a field, with the number of omitted entries if there are any."""
    brief = _brief(value, size)
    if brief in (None, "", [], {}):
        return {}
    if isinstance(value, tuple) and len(value) > size:
        return {name: brief, f"{name}_not_shown": len(value) - size}
    return {name: brief}


def _brief(value: object, size: int) -> Any:
    if isinstance(value, Figure):
        return None if value.value is None and value.low is None and value.high is None else format_figure(value)
    if isinstance(value, BaseModel):
        fields: dict[str, Any] = {}
        for name in type(value).model_fields:
            if name not in HIDDEN or not isinstance(value, MemberFigures):
                fields |= _brief_field(name, getattr(value, name), size)
        return fields
    if isinstance(value, tuple):
        return [_brief(item, size) for item in value[:size]]
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int | float):
        return figure_text(float(value))
    return plain(str(value), 200)

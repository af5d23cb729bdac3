"""Solutions and points as JSON, for files and between processes. Infinite figures are ``null``."""

import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from oragent._base.errors import ModellingError
from oragent.modelling.data.display import quoted
from oragent.modelling.data.model_values import INFINITY, check_finite
from oragent.modelling.data.solution import Sensitivity, Solution, SolveStatus, Source, ValueRange
from oragent.modelling.files.json_text import load_json


def point_from_json(text: str | bytes) -> dict[str, float]:
    """Read a point from an object of numbers by variable, or from the content of ``solution.json``.

    Raises:
        ModellingError: The text is not JSON, or contains no values.
    """
    data = load_json(text, "a point")
    values = data.get("values") if isinstance(data, dict) and isinstance(data.get("values"), dict) else data
    if not isinstance(values, dict) or not values:
        raise ModellingError(
            "not a point: expected an object with a number by variable, or a solution.json with values"
        )
    return {name: check_finite(value, f"the value of {quoted(name)}") for name, value in values.items()}


def solution_dict(solution: Solution) -> dict[str, Any]:
    """Turn a solution into plain data. Infinite figures become None."""
    plain_solution: dict[str, Any] = _plain_data(solution)
    return plain_solution


def solution_from_dict(plain_solution: Mapping[str, Any]) -> Solution:
    """Read a solution, duals and ranges from the result of ``solution_dict``. Other data raise ``ModellingError``."""
    try:
        parts = {name: _read_sensitivity(plain_solution.get(name)) for name in ("sensitivity", "relaxation")}
        return Solution(
            **{
                **plain_solution,
                **parts,
                "status": SolveStatus(plain_solution["status"]),
                "linearised": tuple(plain_solution.get("linearised", ())),
            }
        )
    except (AttributeError, KeyError, TypeError, ValueError) as problem:
        raise ModellingError(f"not a solution: {type(problem).__name__}") from None


def _read_sensitivity(plain_sensitivity: Any) -> Sensitivity | None:
    if plain_sensitivity is None:
        return None
    ranges = {
        key: {name: ValueRange(**_restore_infinities(ends)) for name, ends in plain_sensitivity[key].items()}
        for key in ("rhs_ranges", "cost_ranges", "bound_ranges")
    }
    several = {
        key: None if plain_sensitivity[key] is None else tuple(plain_sensitivity[key])
        for key in ("several_duals", "several_reduced_costs")
    }
    return Sensitivity(**{**plain_sensitivity, **ranges, **several, "source": Source(plain_sensitivity["source"])})


def _plain_data(value: Any) -> Any:
    if is_dataclass(value):
        return {field.name: _plain_data(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {name: _plain_data(item) for name, item in value.items()}
    if isinstance(value, tuple):
        return [_plain_data(item) for item in value]
    if isinstance(value, str):
        return str(value)
    if value is None or not math.isfinite(value):
        return None
    return value


def _restore_infinities(ends: Mapping[str, float | None]) -> dict[str, float]:
    low, high = ends["low"], ends["high"]
    return {"low": -INFINITY if low is None else low, "high": INFINITY if high is None else high}

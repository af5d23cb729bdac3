"""Models as JSON, for files and between processes.

Infinite bounds are ``null``. The default of ``low`` is 0; the default of ``high`` is no bound.
"""

import difflib
import json
import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from oragent._base.errors import ModellingError
from oragent.modelling.data.display import plain, quoted, validation_line
from oragent.modelling.data.features import ModelFeatures, features_adapter
from oragent.modelling.data.flat_model import INFINITY, Milp, Objective, Row, Variable, check_finite
from oragent.modelling.data.solution import Sensitivity, Solution, SolveStatus, Source, ValueRange

MODEL = {"name", "meaning", "sense", "objective", "variables", "rows", "features"}
OBJECTIVE = {field.name for field in fields(Objective)}
VARIABLE = {field.name for field in fields(Variable)}
ROW = {field.name for field in fields(Row)}


def to_json(milp: Milp) -> str:
    """Write a model as JSON text. Reading the text gives an equal model."""
    return json.dumps(to_dict(milp), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def from_json(text: str | bytes) -> Milp:
    """Read a model from JSON text.

    Raises:
        ModellingError: The text is not JSON, has a duplicate or unknown key, or does not describe a model.
    """
    return from_dict(load_json(text, "a model"))


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


def load_json(text: str | bytes, what: str) -> Any:
    """Parse JSON without duplicate keys and NaN. ``ModellingError`` states what was expected."""
    try:
        return json.loads(text, object_pairs_hook=_refuse_duplicates, parse_constant=_refuse_constant)
    except json.JSONDecodeError as problem:
        where = f"not JSON, line {problem.lineno}: {plain(problem.msg)}"
        raise ModellingError(f"{where}; expected {what} as an object") from None
    except UnicodeDecodeError:
        raise ModellingError(f"not JSON: not a text in UTF-8; expected {what} as an object") from None
    except RecursionError:
        raise ModellingError(f"not {what}: nested too deeply") from None
    except ValueError as problem:
        raise ModellingError(f"not {what}: {plain(str(problem))}; expected finite numbers") from None


def to_dict(milp: Milp) -> dict[str, Any]:
    """Turn a model into lists, dicts, texts and finite numbers."""
    objective = _plain_data(milp.objective)
    if not milp.objective.name:
        del objective["name"]
    features = {"features": features_to_dict(milp.features)} if milp.features else {}
    return {
        "name": milp.name,
        "meaning": milp.meaning,
        "sense": str(milp.sense),
        "objective": objective,
        "variables": [_plain_data(variable) for variable in milp.variables],
        "rows": [_plain_data(row) for row in milp.rows],
        **features,
    }


def features_to_dict(features: ModelFeatures[str]) -> dict[str, Any]:
    """Turn features into plain data, without empty fields."""
    plain_features: dict[str, Any] = features_adapter(str).dump_python(features, mode="json", exclude_defaults=True)
    return plain_features


def features_from_dict(data: object) -> ModelFeatures[str]:
    """Read features from the result of ``features_to_dict``. ``ModellingError`` names the first wrong part."""
    from pydantic import ValidationError

    try:
        return features_adapter(str).validate_python(data)
    except ValidationError as problem:
        raise ModellingError(validation_line(problem, "features")) from None


def from_dict(data: object) -> Milp:
    """Build a model from the result of ``to_dict``. Other data raise ``ModellingError``."""
    model = check_keys(data, "the model", MODEL, {"sense", "objective", "variables"})
    objective = check_keys(model["objective"], "the objective", OBJECTIVE, set())
    variables = _check_entries(model["variables"], "variable", VARIABLE, {"name"})
    rows = _check_entries(model.get("rows", []), "row", ROW, {"name", "terms", "relation", "rhs"})
    return Milp(
        tuple(Variable(**_restore_infinities(variable)) for variable in variables),
        tuple(Row(**row) for row in rows),
        Objective(**objective),
        model["sense"],
        model.get("name", ""),
        model.get("meaning", ""),
        features_from_dict(model.get("features", {})),
    )


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
    return Sensitivity(**{**plain_sensitivity, **ranges, "source": Source(plain_sensitivity["source"])})


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


def _restore_infinities(bounded: Mapping[str, Any]) -> dict[str, Any]:
    ends = {"low": -INFINITY, "high": INFINITY}
    return {key: ends[key] if value is None and key in ends else value for key, value in bounded.items()}


def _check_entries(value: object, noun: str, allowed: set[str], needed: set[str]) -> list[dict[str, Any]]:
    if not isinstance(value, list | tuple):
        raise ModellingError(f"{noun}s are a {type(value).__name__}: expected a list")
    return [check_keys(entry, f"{noun} {number}", allowed, needed) for number, entry in enumerate(value, 1)]


def check_keys(value: object, what: str, allowed: set[str], needed: set[str]) -> dict[str, Any]:
    """Return a copy of an object. A missing or unknown key raises ``ModellingError``."""
    if not isinstance(value, Mapping):
        raise ModellingError(
            f"{what} is a {type(value).__name__}: expected an object with {', '.join(sorted(allowed))}"
        )
    for key in value:
        if key not in allowed:
            near = difflib.get_close_matches(str(key), allowed, 1)
            meant = f"did you mean '{near[0]}'?" if near else f"expected {', '.join(sorted(allowed))}"
            raise ModellingError(f"{what} has the unknown key {quoted(str(key))}: {meant}")
    for key in sorted(needed - value.keys()):
        raise ModellingError(f"{what} has no '{key}': expected {', '.join(sorted(needed))}")
    return dict(value)


def _refuse_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    pairs_by_key = dict(pairs)
    if len(pairs_by_key) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ModellingError(f"the key {quoted(twice)} occurs twice in one object: keep one")
    return pairs_by_key


def _refuse_constant(name: str) -> float:
    raise ModellingError(f"{name} is not a number of JSON: write null for a missing bound, finite numbers elsewhere")

"""JSON of untrusted files: parsing without duplicate keys and NaN, and objects with known keys."""

import difflib
import json
from collections.abc import Mapping
from typing import Any

from oragent._base.errors import ModellingError
from oragent.modelling.data.display import plain, quoted


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

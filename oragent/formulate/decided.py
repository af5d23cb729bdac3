"""The decisions of an answer under the names of the problem: of its data, of what the program returned, with units."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from oragent.formulate.formulation import FormulationResult
from oragent.formulate.pool import PoolEntry
from oragent.milp.decisions import PULP, Family, families
from oragent.milp.model import Milp
from oragent.milp.solution import Solution

MOST_LABELS, LONGEST_LABEL = 20_000, 80
KINDS = re.compile(r"continuous|integer|binary|boolean|real", re.IGNORECASE)
WORD = re.compile(r"[^\W_]+")


def decided(found: FormulationResult, milp: Milp, solution: Solution) -> tuple[Family, ...]:
    """The values of a solution by family, in the words of the problem as far as they are known.

    Args:
        found: What came of the problem: its data, what the program returned, what the modules said of units.
        milp: Its model.
        solution: Of that model.
    """
    names = dict(_returned(found.columns))
    inner = (label for path in _paths(found.columns) for label in path[1:-1])
    labels = dict.fromkeys(islice((text for text in (*_texts(found.data), *inner) if _is_label(text)), MOST_LABELS))
    units = _units(found.pool)
    made = families(milp, solution.values, labels, {name: _written(path, labels) for name, path in names.items()})
    return tuple(family if family.unit else replace(family, unit=units.get(_word(family.name), "")) for family in made)


def objective_unit(pool: Sequence[PoolEntry]) -> str:
    """Unit of the objective, as the formalization says; empty where it says none."""
    parsed = [entry.parsed for entry in pool if entry.module == "formalization" and isinstance(entry.parsed, dict)]
    return str(parsed[-1].get("UNIT") or "").strip() if parsed else ""


def _is_label(text: str) -> bool:
    return 0 < len(text) <= LONGEST_LABEL and not text.isdecimal()


def _returned(columns: Any) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Variables with the keys under which they were returned, where these say more than their names."""
    for path in _paths(columns):
        *keys, column = path
        first = keys[0].split(",")[0].translate(PULP)
        if column.find(first) <= 0:  # else the name of the variable has a word before what the key begins with
            yield column, tuple(keys)


def _paths(columns: Any, above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Keys that lead to each variable, and its name."""
    if isinstance(columns, str):
        if above:
            yield (*above, columns)
        return
    items = columns.items() if isinstance(columns, dict) else enumerate(columns) if isinstance(columns, list) else ()
    for key, item in items:
        yield from _paths(item, (*above, str(key)))


def _written(keys: tuple[str, ...], labels: Mapping[str, None]) -> str:
    """Keys as one name with indices; a comma in a label separates nothing."""
    head, *rest = keys
    return f"{head}[{','.join(repr(key) if key in labels and ',' in key else key for key in rest)}]" if rest else head


def _texts(data: Any, depth: int = 0) -> Iterator[str]:
    """The texts of some data, and the keys below its parameters."""
    if isinstance(data, str):
        yield data
    elif isinstance(data, Mapping):
        for key, item in data.items():
            if depth:
                yield str(key)
            yield from _texts(item, depth + 1)
    elif isinstance(data, list):
        for item in data:
            yield from _texts(item, depth + 1)


def _units(pool: Sequence[PoolEntry]) -> dict[str, str]:
    """Unit by the first word of a variable's name, out of "name: meaning, unit, kind, bounds"."""
    found: dict[str, str] = {}
    for entry in pool:
        listed = entry.parsed.get("VARIABLES") if isinstance(entry.parsed, dict) else None
        for line in listed if isinstance(listed, list) else ():
            name, _, rest = str(line).partition(":")
            parts = [part.strip() for part in rest.split(",")]
            kind = next((place for place, part in enumerate(parts) if KINDS.search(part)), 0)
            if kind >= 2:
                found[_word(name)] = parts[kind - 1] if re.search(r"[^\W_]|[%€$£]", parts[kind - 1]) else ""
    return found


def _word(name: str) -> str:
    """The first word of a name without its indices, as it is compared."""
    word = WORD.search(name)
    return word[0].lower() if word else ""

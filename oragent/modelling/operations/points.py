"""Points in files and in the output of programs, by names of the model's variables."""

import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from oragent._base.errors import ModellingError
from oragent._base.text_decoding import decode_leniently
from oragent.modelling.data.arrays import Vector
from oragent.modelling.data.display import quoted
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.files.json_text import load_json
from oragent.modelling.files.model_files import naming_file, read_bytes
from oragent.modelling.files.sol_files import NUMBER, read_sol
from oragent.modelling.operations.slices import fold
from oragent.modelling.references.reference_text import label_text, name_text

# A printed line with one value: ``ship[Lyon, Paris] = 3``, also with a colon.
PRINTED = re.compile(rf"\s*(?P<name>\S.*?)\s*[=:]\s*(?P<value>{NUMBER})\s*\Z", re.IGNORECASE)
# Names of a printed objective.
OBJECTIVE_NAMES = ("objective", "objective value", "obj")
# Maximum depth of nested objects with values by label.
DEEPEST = 8


@dataclass(frozen=True)
class ClaimedSolution:
    """Values by name of the model's columns, and the objective that is stated with them."""

    values: Mapping[str, float]
    # Stated objective, or None.
    objective: float | None = None
    # Lines or keys with a number whose name is not a variable.
    unknown: tuple[str, ...] = ()


class ColumnNames:
    """Names of a model's columns, those of members and of the file, without regard to case and spaces."""

    def __init__(self, model: IndexedModel) -> None:
        self._names = {_squeeze(name): name for name in model.column_names}
        self._flat = dict(zip(model.flat_columns, model.column_names, strict=False))

    def find(self, name: str) -> str | None:
        """Return the name of a column, or None for an unknown name."""
        return self._flat.get(name) or self._names.get(_squeeze(name))


def _squeeze(name: str) -> str:
    """Return a form of a name that is equal for ``x[1, 2]``, ``X(1,2)`` and ``x["1","2"]``."""
    return fold(name).replace("(", "[").replace(")", "]").translate({ord(sign): None for sign in " '\""})


def read_solution(model: IndexedModel, path: Path) -> ClaimedSolution:
    """Read the values of a ``.sol``, ``.csv`` or JSON file.

    Raises:
        ModellingError: The file contains no values, or a name that is not a variable.
    """
    content, ending = read_bytes(path, "values by variable"), path.suffix.lower()
    with naming_file(path):
        if ending == ".csv":
            claim = parse_csv(model, decode_leniently(content))
        elif ending == ".sol":
            claim = _resolve(ColumnNames(model), read_sol(decode_leniently(content)).values.items(), None)
        else:
            claim = parse_json(model, content)
        if claim.unknown:
            raise ModellingError(f"{quoted(claim.unknown[0])} is not a variable of the model: rename or remove it")
    return claim


def parse_csv(model: IndexedModel, text: str) -> ClaimedSolution:
    """Parse lines of a name and a number. A first line without a number is a header."""
    pairs = []
    for number, line in enumerate(csv.reader(io.StringIO(text)), 1):
        try:
            pairs.append((line[0], float(line[1])))
        except (IndexError, ValueError):
            if number > 1 and any(line):
                raise ModellingError(f"line {number}: expected a name and a number") from None
    if not pairs:
        raise ModellingError("no values; expected lines of a name and a number")
    return _resolve(ColumnNames(model), pairs, None)


def parse_json(model: IndexedModel, text: str | bytes) -> ClaimedSolution:
    """Parse an object with a number by variable, or by family and labels.

    It may be in ``values`` of a ``solution.json``.
    """
    data = load_json(text, "a point")
    if not isinstance(data, dict):
        raise ModellingError("expected an object with a number by variable")
    objective = data.get("objective")
    values = data.get("values", data)
    if not isinstance(values, dict):
        raise ModellingError("expected an object with a number by variable")
    is_known = ColumnNames(model).find("objective") is not None
    if values is data and not is_known:
        values = {name: value for name, value in data.items() if name not in ("objective", "status")}
    pairs = list(_flatten(values))
    if not pairs:
        raise ModellingError("no values; expected an object with a number by variable")
    claimed = None
    if isinstance(objective, int | float) and not isinstance(objective, bool):
        claimed = float(objective)
    return _resolve(ColumnNames(model), pairs, claimed)


def _flatten(values: Mapping[str, object], above: tuple[str, ...] = ()) -> Iterator[tuple[str, float]]:
    """Yield names and numbers of nested objects: ``{"ship": {"Lyon": {"Nice": 3}}}`` has ``ship[Lyon, Nice]``."""
    for key, value in values.items():
        path = (*above, key)
        if isinstance(value, dict) and len(path) <= DEEPEST:
            yield from _flatten(value, path)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            inside = ", ".join(map(label_text, path[1:]))
            yield (f"{name_text(path[0])}[{inside}]" if inside else path[0]), float(value)
        else:
            raise ModellingError(f"the value of {quoted(' '.join(path))} is not a number")


def parse_output(model: IndexedModel, text: str) -> ClaimedSolution | None:
    """Parse the output of a program: a JSON object in its last lines, or a line ``NAME = NUMBER`` for each value.

    Returns:
        The values, or None if no variable of the model has one.
    """
    lines = text.splitlines()
    for first in reversed(range(len(lines))):
        if lines[first].startswith("{"):
            try:
                claim = parse_json(model, "\n".join(lines[first:]))
            except ModellingError:
                break
            return claim if claim.values else None
    names = ColumnNames(model)
    pairs, objective = [], None
    for line in lines:
        match = PRINTED.match(line)
        if match is None:
            continue
        name, value = match["name"].strip(), float(match["value"])
        if names.find(name) is None and fold(name) in (*OBJECTIVE_NAMES, fold(model.objective.name)):
            objective = value
        else:
            pairs.append((name, value))
    claim = _resolve(names, pairs, objective)
    return claim if claim.values else None


def _resolve(names: ColumnNames, pairs: Iterable[tuple[str, float]], objective: float | None) -> ClaimedSolution:
    values, unknown = {}, []
    for name, value in pairs:
        column = names.find(name)
        if column is None:
            unknown.append(name)
        elif not np.isfinite(value):
            raise ModellingError(f"the value of {quoted(name)} is not finite")
        else:
            values[column] = value
    return ClaimedSolution(values, objective, tuple(unknown))


def point_of(model: IndexedModel, claim: ClaimedSolution) -> Vector:
    """Return the ``(n,)`` point of a claim. Variables without a value are 0."""
    return np.array([float(claim.values.get(name, 0.0)) for name in model.column_names])

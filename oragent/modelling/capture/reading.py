"""Read the untrusted files of a recorder, with limits on sizes, numbers and types."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from oragent._base.errors import ModellingError
from oragent.modelling.capture.snapshot import FORMAT, MemberKey
from oragent.modelling.data.display import validation_line
from oragent.modelling.data.features import ModelFeatures, features_adapter
from oragent.modelling.data.intervals import PlanInterval, read_intervals

MAX_BYTES = 64 << 20
MAX_MEMBERS = 3_000_000
MAX_ENTRIES = 20_000_000
MAX_TABLES = 1000
# Maximum number of nonlinear parts, and maximum number of terms in them.
MAX_PARTS = 1_000_000
MAX_TEXT_LENGTH = 500
MAX_UNIT_LENGTH = 20
# Maximum number of labels of a key.
MAX_KEY_LABELS = 12
TARGETS = ("cost", "rhs", "row_low", "row_high", "entry", "low", "high")


@dataclass(frozen=True)
class ReadTable:
    """Numbers of the program by key."""

    name: str
    keys: list[tuple[str, ...]]
    # ``(k,)``
    values: NDArray[np.float64]
    sets: tuple[str, ...]
    is_linked: bool


@dataclass(frozen=True)
class ReadLinks:
    """References of figures to cells of tables, one element per reference in each array."""

    targets: list[str]
    places: NDArray[np.int64]
    tables: NDArray[np.int64]
    cells: NDArray[np.int64]
    factors: NDArray[np.float64]


@dataclass(frozen=True)
class ReadModel:
    """A model of ``n`` columns and ``m`` rows as written by a recorder, with checked sizes and types."""

    framework: str
    name: str
    maximize: bool
    constant: float
    columns: list[str]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    integer: NDArray[np.bool_]
    cost: NDArray[np.float64]
    rows: list[str]
    row_low: NDArray[np.float64]
    row_high: NDArray[np.float64]
    starts: NDArray[np.int64]
    indices: NDArray[np.int64]
    values: NDArray[np.float64]
    column_keys: list[MemberKey | None]
    row_keys: list[MemberKey | None]
    sets: dict[str, tuple[str, ...]]
    variable_sets: dict[str, tuple[str, ...]]
    row_sets: dict[str, tuple[str, ...]]
    tables: list[ReadTable]
    links: ReadLinks
    # Name of the objective; empty without one.
    objective: str
    # Units by family of variables, and of ``objective``.
    units: dict[str, str]
    missing: tuple[str, ...]
    features: ModelFeatures[int]
    # Whether the program's model has intervals, machines or cumulative resources.
    is_schedule: bool = False
    # Intervals whose columns are named by their positions.
    intervals: tuple[PlanInterval, ...] = ()


@dataclass(frozen=True)
class ClaimedPoint:
    """Point that the solver gave to the program, as the program claims."""

    # Status in the words of the library.
    status: str
    objective: float | None
    # ``(n,)`` values of the columns of the captured model; None without a point.
    values: NDArray[np.float64] | None


def read_model(content: bytes) -> ReadModel:
    """Read a snapshot.

    Raises:
        ModellingError: The content is not a snapshot, or exceeds a limit.
    """
    data = _load(content)
    try:
        if data["format"] != FORMAT:
            raise ModellingError(f"format {str(data['format'])[:20]}; expected {FORMAT}")
        count, rows = len(data["columns"]), len(data["rows"])
        entries = len(data["indices"])
        if count > MAX_MEMBERS or rows > MAX_MEMBERS or entries > MAX_ENTRIES:
            raise ModellingError(f"{count:,} columns, {rows:,} rows, {entries:,} entries: too many")
        starts, indices = _whole(data["starts"], rows + 1), _whole(data["indices"], entries)
        if starts[0] != 0 or starts[-1] != entries or (np.diff(starts) < 0).any():
            raise ModellingError("the entries do not fit the rows")
        if entries and not 0 <= indices.min() <= indices.max() < count:
            raise ModellingError("an entry names a column that does not exist")
        return ReadModel(
            framework=_text(data["framework"]),
            name=_text(data["name"]),
            maximize=data["maximize"] is True,
            objective=_text(data["objective"]),
            constant=_finite(data["constant"]),
            columns=[_text(name) for name in data["columns"]],
            low=_numbers(data["low"], count),
            high=_numbers(data["high"], count),
            integer=np.array([flag is True for flag in data["integer"]]).reshape(count),
            cost=_numbers(data["cost"], count, finite=True),
            rows=[_text(name) for name in data["rows"]],
            row_low=_numbers(data["row_low"], rows),
            row_high=_numbers(data["row_high"], rows),
            starts=starts,
            indices=indices,
            values=_numbers(data["values"], entries, finite=True),
            column_keys=_keys(data["column_keys"], count),
            row_keys=_keys(data["row_keys"], rows),
            sets={_text(name): _labels(labels) for name, labels in data["sets"].items()},
            variable_sets={_text(name): _labels(sets) for name, sets in data["family_sets"]["variables"].items()},
            row_sets={_text(name): _labels(sets) for name, sets in data["family_sets"]["rows"].items()},
            tables=[_table(table) for table in data["tables"][:MAX_TABLES]],
            links=_links(data["links"]),
            units={_text(name): _text(unit)[:MAX_UNIT_LENGTH] for name, unit in data["units"].items()},
            missing=tuple(_text(reason) for reason in data["missing"][:20]),
            features=_features(data["features"], count),
            is_schedule=data["is_schedule"] is True,
            intervals=_intervals(data["intervals"], count),
        )
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError, IndexError) as problem:
        raise ModellingError(f"not a model written by a recorder ({type(problem).__name__})") from None


def _features(data: Any, count: int) -> ModelFeatures[int]:
    """Read nonlinear parts. Their columns must exist; soft rows are not read."""
    if not isinstance(data, Mapping):
        raise ValueError("not parts of a model")
    _check_size(data, MAX_PARTS)
    try:
        features = features_adapter(int).validate_python(data)
    except ValidationError as problem:
        raise ModellingError(validation_line(problem, "features")) from None
    named = list(features.keys())
    if features.soft_rows or any(not 0 <= column < count for column in named):
        raise ValueError("a part names a column that does not exist")
    names = [*(part.name for part in features.parts), *(goal.name for goal in features.goals)]
    if any(len(name) > MAX_TEXT_LENGTH for name in names):
        raise ValueError("a name is too long")
    return features


def _intervals(data: Any, count: int) -> tuple[PlanInterval, ...]:
    if not isinstance(data, list):
        raise ValueError("not intervals")
    _check_size(data, MAX_PARTS)
    intervals = read_intervals(data, set(map(str, range(count))))
    return tuple(replace(interval, name=_text(interval.name), lane=_text(interval.lane)) for interval in intervals)


def _check_size(data: Any, room: int) -> None:
    """Raise ``ValueError`` if nested lists and dicts have more values than there is room for."""
    waiting = [data]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Mapping | list):
            room -= len(part)
            if room < 0:
                raise ValueError("too many parts")
            waiting.extend(part.values() if isinstance(part, Mapping) else part)


def read_point(content: bytes, count: int) -> ClaimedPoint:
    """Read a claimed point for a number of columns. A point of another length has no values."""
    try:
        data = _load(content)
        values = None if data["values"] is None else _numbers(data["values"], count, finite=True)
        objective = None if data["objective"] is None else _finite(data["objective"])
        return ClaimedPoint(_text(data["status"]), objective, values)
    except (ModellingError, KeyError, TypeError, ValueError, AttributeError, OverflowError):
        return ClaimedPoint("a point that cannot be read", None, None)


def _load(content: bytes) -> Mapping[str, Any]:
    if len(content) > MAX_BYTES:
        raise ModellingError(f"{len(content):,} bytes; at most {MAX_BYTES:,} are allowed")
    try:
        data = json.loads(content)
    except (ValueError, RecursionError):
        raise ModellingError("not JSON") from None
    if not isinstance(data, Mapping):
        raise ModellingError("not a JSON object")
    return data


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("not a text")
    # A lone surrogate cannot be written to a file.
    return value[:MAX_TEXT_LENGTH].encode("utf-8", "replace").decode()


def _labels(values: Any) -> tuple[str, ...]:
    if not isinstance(values, list) or len(values) > MAX_MEMBERS:
        raise TypeError("not labels")
    return tuple(_text(value) for value in values)


def _finite(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError("not a finite number")
    return float(value)


def _numbers(values: Any, count: int, finite: bool = False) -> NDArray[np.float64]:
    if not all(isinstance(value, int | float) for value in values):
        raise TypeError("not numbers")
    # Another length raises ``ValueError`` here.
    array = np.array(values, dtype=float).reshape(count)
    if np.isnan(array).any() or (finite and not np.isfinite(array).all()):
        raise ValueError("a figure is not finite")
    return array


def _whole(values: Any, count: int) -> NDArray[np.int64]:
    array = _numbers(values, count, finite=True)
    if (array != np.round(array)).any() or (np.abs(array) > 2**53).any():
        raise ValueError("not whole numbers")
    return array.astype(np.int64)


def _keys(values: Any, count: int) -> list[MemberKey | None]:
    if not isinstance(values, list) or len(values) > count:
        raise ValueError("keys of another length")
    keys: list[MemberKey | None] = []
    for value in values:
        if value is None:
            keys.append(None)
            continue
        family, labels, source = value
        if len(labels) > MAX_KEY_LABELS:
            raise ValueError("a key with too many labels")
        keys.append((_text(family), [_text(label) for label in labels], _text(source)))
    return keys + [None] * (count - len(keys))


def _table(data: Mapping[str, Any]) -> ReadTable:
    keys = [_labels(key) for key in data["keys"]]
    if any(len(key) > MAX_KEY_LABELS for key in keys):
        raise ValueError("a key with too many labels")
    values = _numbers(data["values"], len(keys))
    return ReadTable(_text(data["name"]), keys, values, _labels(data["sets"]), data["is_linked"] is True)


def _links(data: Mapping[str, Any]) -> ReadLinks:
    targets = [_text(target) for target in data["targets"]]
    if not set(targets) <= set(TARGETS):
        raise ValueError("an unknown target")
    count = len(targets)
    places, tables, cells = (_whole(data[name], count) for name in ("places", "tables", "cells"))
    return ReadLinks(targets, places, tables, cells, _numbers(data["factors"], count, finite=True))

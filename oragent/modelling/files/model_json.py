"""Models as JSON of version 2. The flat form, a list of variables and of rows without a version, can be read too.

Keys of a member are positions of labels in the family's sets, or ``null`` for the product of the sets in order. A
vector has one number for all members or one per member, and ``links``: lists ``places``, ``cells`` and ``factors``.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any

import numpy as np

from oragent._base.errors import ModellingError
from oragent.modelling.data.display import plain, quoted, validation_line
from oragent.modelling.data.features import ModelFeatures, QuadraticTerm, features_adapter
from oragent.modelling.data.indexed import (
    RELATION_CODES,
    RELATIONS,
    Family,
    IndexedModel,
    IndexSet,
    ParameterFamily,
    RowFamily,
    SourceCell,
    VariableFamily,
    product_keys,
)
from oragent.modelling.data.links import LinkedVector, Links, Positions, Vector
from oragent.modelling.data.model_records import Objective, Row, Variable
from oragent.modelling.data.model_values import (
    Relation,
    Sense,
    check_choice,
    check_unique,
    require_name,
    require_text,
)
from oragent.modelling.data.objectives import IndexedObjective
from oragent.modelling.files.json_text import check_keys, load_json

VERSION = 2
TOP = {"version", "name", "meaning", "sets", "parameters", "variables", "rows", "objectives", "cells", "columns"}
TOP |= {"matrix", "features"}
NEEDED = {"version", "sets", "parameters", "variables", "rows", "objectives", "cells", "columns", "matrix"}
FAMILY = {"name", "sets", "keys", "positions", "unit", "meaning", "guessed"}
OBJECTIVE = {field.name for field in fields(IndexedObjective)}
# Keys of the flat form.
FLAT_MODEL = {"name", "meaning", "sense", "objective", "variables", "rows", "features"}
FLAT_OBJECTIVE = {field.name for field in fields(Objective)}
FLAT_VARIABLE = {field.name for field in fields(Variable)}
# Bounds that ``null`` means.
FLAT_ENDS = {"low": -np.inf, "high": np.inf}
FLAT_ROW = {field.name for field in fields(Row)}
LINKED = {"base", "places", "cells", "factors"}


def to_json(model: IndexedModel) -> str:
    """Write a model as JSON text, version 2."""
    return json.dumps(model_dict(model), ensure_ascii=False, allow_nan=False) + "\n"


def from_json(text: str | bytes) -> IndexedModel:
    """Read a model from JSON text of either form.

    Raises:
        ModellingError: The text is not JSON, has a duplicate or unknown key, or does not describe a model.
    """
    return model_from_dict(load_json(text, "a model"))


def model_from_dict(data: object) -> IndexedModel:
    """Build a model from the result of ``model_dict``, or from the flat form. Other data raise ``ModellingError``."""
    if isinstance(data, Mapping) and "version" in data:
        return _read_indexed(data)
    return _read_flat(data)


def model_dict(model: IndexedModel) -> dict[str, Any]:
    """Turn a model into lists, dicts, texts and finite numbers."""
    features = features_adapter(int).dump_python(model.features, mode="json", exclude_defaults=True)
    return {
        "version": VERSION,
        "name": model.name,
        "meaning": model.meaning,
        "sets": [_set_dict(index_set) for index_set in model.sets],
        "parameters": [_parameter_dict(model, family) for family in model.parameters],
        "variables": [_family_dict(model, family) for family in model.variables],
        "rows": [_family_dict(model, family) for family in model.rows],
        "objectives": [_objective_dict(goal) for goal in model.objectives],
        "cells": model.cells.tolist(),
        "columns": {
            "low": _linked_dict(model.low),
            "high": _linked_dict(model.high),
            "integer": np.flatnonzero(model.integer).tolist(),
            "names": list(model.flat_columns),
        },
        "matrix": {
            "starts": model.starts.tolist(),
            "columns": model.columns.tolist(),
            "entries": _linked_dict(model.entries),
            "relations": [str(RELATIONS[code]) for code in model.relations.tolist()],
            "rhs": _linked_dict(model.rhs),
            "names": list(model.flat_rows),
        },
        **({"features": features} if features else {}),
    }


def _read_indexed(data: object) -> IndexedModel:
    model = check_keys(data, "the model", TOP, NEEDED)
    if model["version"] != VERSION:
        raise ModellingError(f"the model has version {plain(str(model['version']))}: expected {VERSION}, or no version")
    columns = check_keys(model["columns"], "columns", {"low", "high", "integer", "names"}, {"low", "high", "integer"})
    parts = {"starts", "columns", "entries", "relations", "rhs"}
    matrix = check_keys(model["matrix"], "matrix", parts | {"names"}, parts)
    try:
        sets = tuple(_read_set(entry) for entry in model["sets"])
        sizes = {index_set.name: len(index_set.labels) for index_set in sets}
        cells = _finite(model["cells"], "cells")
        parameters = tuple(_read_parameter(entry, sizes, len(cells)) for entry in model["parameters"])
        low, high = (_read_linked(columns[side], side) for side in ("low", "high"))
        integer = np.zeros(len(low), dtype=bool)
        integer[_whole_numbers(columns["integer"])] = True
        codes = [RELATION_CODES[check_choice(Relation, text, "a relation")] for text in matrix["relations"]]
        indexed = IndexedModel(
            name=str(model.get("name", "")),
            meaning=str(model.get("meaning", "")),
            sets=sets,
            parameters=parameters,
            variables=tuple(VariableFamily(**_read_family(entry, sizes, len(low))) for entry in model["variables"]),
            rows=tuple(RowFamily(**_read_family(entry, sizes, len(codes))) for entry in model["rows"]),
            objectives=tuple(_read_objective(entry) for entry in model["objectives"]),
            cells=cells,
            low=low,
            high=high,
            integer=integer,
            starts=_whole_numbers(matrix["starts"]),
            columns=_whole_numbers(matrix["columns"]).astype(np.int32),
            entries=_read_linked(matrix["entries"], "entries"),
            relations=np.array(codes, dtype=np.int8),
            rhs=_read_linked(matrix["rhs"], "rhs"),
            flat_columns=tuple(map(str, columns.get("names", ()))),
            flat_rows=tuple(map(str, matrix.get("names", ()))),
            features=_read_features(model, int),
        )
    except (TypeError, ValueError, IndexError, KeyError, AttributeError, OverflowError) as problem:
        raise ModellingError(
            f"not a model of version 2: {type(problem).__name__}: {plain(str(problem), 100)}"
        ) from None
    _check_links(indexed)
    _check_texts(indexed)
    indexed.check().check_figures()
    check_unique(indexed.flat_variable_names, "variables")
    check_unique(indexed.flat_row_names, "rows")
    return indexed


def _read_features(model: Mapping[str, Any], key: type[str] | type[int]) -> ModelFeatures[Any]:
    """Read the parts of a model other than linear rows; most models have none."""
    if model.get("features", {}) == {}:
        return ModelFeatures()
    from pydantic import ValidationError

    try:
        return features_adapter(key).validate_python(model["features"])  # type: ignore[arg-type]  # types are hashable
    except ValidationError as problem:
        raise ModellingError(validation_line(problem, "features")) from None


def _read_flat(data: object) -> IndexedModel:
    """Build a model from lists of variables and rows."""
    model = check_keys(data, "the model", FLAT_MODEL, {"sense", "objective", "variables"})
    objective = check_keys(model["objective"], "the objective", FLAT_OBJECTIVE, set())
    variables = _check_entries(model["variables"], "variable", FLAT_VARIABLE, {"name"})
    rows = _check_entries(model.get("rows", []), "row", FLAT_ROW, {"name", "terms", "relation", "rhs"})
    for variable in variables:
        variable.update({key: end for key, end in FLAT_ENDS.items() if variable.get(key, end) is None})
    features = _read_features(model, str)
    return IndexedModel.from_records(
        [Variable(**variable) for variable in variables],
        [Row(**row) for row in rows],
        Objective(**objective),
        model["sense"],
        model.get("name", ""),
        meaning=model.get("meaning", ""),
        features=features,
    )


def _check_entries(value: object, noun: str, allowed: set[str], needed: set[str]) -> list[dict[str, Any]]:
    if not isinstance(value, list | tuple):
        raise ModellingError(f"{noun}s are a {type(value).__name__}: expected a list")
    return [check_keys(entry, f"{noun} {number}", allowed, needed) for number, entry in enumerate(value, 1)]


def _check_links(model: IndexedModel) -> None:
    vectors = [model.low, model.high, model.entries, model.rhs, *(goal.cost for goal in model.objectives)]
    for vector in vectors:
        links = vector.links
        if not len(links.places) == len(links.cells) == len(links.factors):
            raise ModellingError("links have lists of different lengths: the model is damaged")
        for figures, end in ((links.places, len(vector)), (links.cells, len(model.cells))):
            if len(figures) and not 0 <= int(figures.min()) <= int(figures.max()) < end:
                raise ModellingError("a link points beyond the figures or the cells: the model is damaged")
    increasing = bool((np.diff(model.starts) >= 0).all())
    if not len(model.starts) or model.starts[0] != 0 or model.starts[-1] != len(model.columns) or not increasing:
        raise ModellingError("the starts of the rows do not fit their entries: the model is damaged")
    for names, count in ((model.flat_columns, len(model.low)), (model.flat_rows, len(model.rhs))):
        if names and len(names) != count:
            raise ModellingError(f"{len(names)} names for {count} columns or rows: the model is damaged")


def _check_texts(model: IndexedModel) -> None:
    require_text((model.name, model.meaning), "the model")
    for index_set in model.sets:
        require_text((index_set.name, index_set.meaning, *index_set.labels), f"set {quoted(index_set.name)}")
    parts: list[Family | IndexedObjective] = [*model.families(), *model.objectives]
    for part in parts:
        require_name(part.name, "a family or an objective")
        require_text((part.unit, part.meaning), quoted(part.name))
    for name in (*model.flat_columns, *model.flat_rows):
        require_name(name, "a variable or a row")


def _set_dict(index_set: IndexSet) -> dict[str, Any]:
    return {
        "name": index_set.name,
        "labels": list(index_set.labels),
        "ordered": index_set.is_ordered,
        "time": index_set.is_time,
        "guessed": index_set.is_guessed,
        "meaning": index_set.meaning,
    }


def _read_set(entry: object) -> IndexSet:
    keys = {"name", "labels", "ordered", "time", "guessed", "meaning"}
    data = check_keys(entry, "a set", keys, {"name", "labels"})
    return IndexSet(
        str(data["name"]),
        tuple(str(label) for label in data["labels"]),
        bool(data.get("ordered", False)),
        bool(data.get("time", False)),
        bool(data.get("guessed", False)),
        str(data.get("meaning", "")),
    )


def _is_product(family: Family, sizes: Sequence[int]) -> bool:
    return len(family) == math.prod(sizes) and np.array_equal(family.keys, product_keys(sizes))


def _family_dict(model: IndexedModel, family: Family) -> dict[str, Any]:
    sizes = [len(model.index_set(name).labels) for name in family.sets]
    positions = family.positions
    first = int(positions[0]) if len(positions) else 0
    is_range = np.array_equal(positions, np.arange(first, first + len(positions)))
    details = {
        "sets": list(family.sets),
        "unit": family.unit,
        "meaning": family.meaning,
        "guessed": family.is_guessed,
    }
    return {
        "name": family.name,
        "positions": {"first": first, "count": len(positions)} if is_range else positions.tolist(),
        # An empty list means no member, and no list means all of the product.
        **({} if _is_product(family, sizes) else {"keys": family.keys.tolist()}),
        **{key: value for key, value in details.items() if value},
    }


def _parameter_dict(model: IndexedModel, family: ParameterFamily) -> dict[str, Any]:
    source = None if family.source is None else asdict(family.source)
    return {**_family_dict(model, family), "source": source}


def _read_family(
    entry: object, sizes: Mapping[str, int], limit: int, more: frozenset[str] = frozenset()
) -> dict[str, Any]:
    """Return the parts of a family with at most ``limit`` members."""
    data = check_keys(entry, "a family", FAMILY | more, {"name", "positions"})
    sets = tuple(str(name) for name in data.get("sets", ()))
    for name in sets:
        if name not in sizes:
            raise ModellingError(f"the family '{plain(str(data['name']))}' uses the unknown set '{plain(name)}'")
    positions = data["positions"]
    count = int(positions["count"]) if isinstance(positions, Mapping) else len(positions)
    product = [sizes[name] for name in sets]
    is_product = data.get("keys") is None
    if not 0 <= count <= limit or (is_product and math.prod(product) != count):
        raise ModellingError(f"the positions of {quoted(str(data['name']))} do not fit its members or the model")
    if is_product:
        keys = product_keys(product)
    else:
        keys = np.array(data["keys"], dtype=np.int32).reshape(len(data["keys"]), len(sets))
    is_range = isinstance(positions, Mapping)
    places = int(positions["first"]) + np.arange(count) if is_range else _whole_numbers(positions)
    return {
        "name": str(data["name"]),
        "sets": sets,
        "keys": keys,
        "positions": places,
        "unit": str(data.get("unit", "")),
        "meaning": str(data.get("meaning", "")),
        "is_guessed": bool(data.get("guessed", False)),
    }


def _read_parameter(entry: object, sizes: Mapping[str, int], limit: int) -> ParameterFamily:
    data = _read_family(entry, sizes, limit, frozenset({"source"}))
    source = entry.get("source") if isinstance(entry, Mapping) else None
    return ParameterFamily(**data, source=None if source is None else SourceCell(**source))


def _objective_dict(goal: IndexedObjective) -> dict[str, Any]:
    quadratic = [[term.first, term.second, term.value] for term in goal.quadratic]
    return vars(goal) | {"sense": str(goal.sense), "cost": _linked_dict(goal.cost), "quadratic": quadratic}


def _read_objective(entry: object) -> IndexedObjective:
    data = check_keys(entry, "an objective", OBJECTIVE, {"name", "sense", "cost"})
    parts: dict[str, Any] = {key: str(data[key]) for key in ("name", "unit", "meaning") if key in data}
    for key in ("constant", "weight", "slack", "slack_amount"):
        if key in data:
            parts[key] = float(_finite([data[key]], f"the {key}")[0])
    products = (QuadraticTerm(int(first), int(second), value) for first, second, value in data.get("quadratic", ()))
    return IndexedObjective(
        **parts,
        sense=check_choice(Sense, data["sense"], "an objective: sense"),
        cost=_read_linked(data["cost"], "cost"),
        priority=int(data.get("priority", 0)),
        quadratic=tuple(products),
    )


def _linked_dict(vector: LinkedVector) -> dict[str, Any]:
    base = [value if np.isfinite(value) else None for value in vector.base.tolist()]
    data: dict[str, Any] = {"base": base}
    if len(vector.links):
        data["places"] = vector.links.places.tolist()
        data["cells"] = vector.links.cells.tolist()
        data["factors"] = vector.links.factors.tolist()
    return data


def _read_linked(entry: object, what: str) -> LinkedVector:
    data = check_keys(entry, what, LINKED, {"base"})
    if what in ("low", "high"):
        missing = -np.inf if what == "low" else np.inf
        base = np.array([missing if value is None else value for value in data["base"]], dtype=float)
        if np.isnan(base).any():
            raise ModellingError(f"{what} has a value that is not a number")
    else:
        base = _finite(data["base"], what)
    places, cells = (_whole_numbers(data.get(key, [])) for key in ("places", "cells"))
    return LinkedVector(base, Links(places, cells, _finite(data.get("factors", ()), f"factors of {what}")))


def _whole_numbers(values: Sequence[int]) -> Positions:
    if not isinstance(values, list | tuple):
        raise TypeError(f"a {type(values).__name__}: expected a list of whole numbers")
    return np.array(values, dtype=np.int64).reshape(len(values))


def _finite(values: Sequence[float], what: str) -> Vector:
    array = np.array(values, dtype=float).ravel()
    if not np.isfinite(array).all():
        raise ModellingError(f"{what} has a value that is not finite")
    return array

"""JSON schema of operations on one model, for a language model whose output a server can constrain.

Names and labels are enumerated, so that a constrained reply is always a line that can be run:

    {"do": "whatif", "changes": [{"name": "demand", "at": ["Paris", "*"], "sign": "*=", "number": 1.1}]}
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from oragent.modelling.data.indexed import Family, IndexedModel
from oragent.modelling.operations.slices import KINDS, kind_prefix
from oragent.modelling.references.reference_text import label_text, name_text

# Maximum numbers of families and of labels that are enumerated; larger models get any text instead.
MAX_FAMILIES, MAX_LABELS = 60, 200
MAX_LINES, MAX_CHANGES = 3, 4
ANY = "*"
TEXT = {"type": "string", "maxLength": 120}
# Operations without a reference, and with one.
PLAIN = ("solve", "binding", "conflict", "repair")
READING = ("total", "value", "price", "slack", "data", "why")
EXTREMES = ("most", "least")
# Changes with a number, and changes without one.
DATA_SIGNS, VARIABLE_SIGNS, ROW_SIGNS = ("=", "+=", "-=", "*="), ("=", "<=", ">="), ("=", "+=", "-=", "*=")
VARIABLE_VERBS, ROW_VERBS = ("forbid",), ("drop",)
VERBS = (*VARIABLE_VERBS, *ROW_VERBS)


def lines_schema(model: IndexedModel) -> dict[str, Any]:
    """Return the schema of a reply: an object with lines, each an operation on the model."""
    data, variables, rows = (
        _references(model, families) for families in (model.parameters, model.variables, model.rows)
    )
    references = [*data, *variables, *rows]
    number = {"number": {"type": "number"}}
    changes = []
    for some, signs in ((data, DATA_SIGNS), (variables, VARIABLE_SIGNS), (rows, ROW_SIGNS)):
        changes += [_object({**one, "sign": {"enum": list(signs)}, **number}) for one in some]
    for some, verbs in ((variables, VARIABLE_VERBS), (rows, ROW_VERBS)):
        changes += [_object({**one, "sign": {"enum": list(verbs)}}) for one in some]
    limits = {"sign": {"enum": ["<=", ">="]}, **number}
    changes += [_object({"sum": _object(variable), **limits}) for variable in variables if "at" in variable]
    several = {"type": "array", "items": {"anyOf": changes}, "minItems": 1, "maxItems": MAX_CHANGES}
    operations = [_object({"do": {"enum": list(PLAIN)}}), _object({"do": {"const": "whatif"}, "changes": several})]
    operations += [_object({"do": {"enum": list(READING)}, **reference}) for reference in references]
    operations += [
        _object({"do": {"enum": list(EXTREMES)}, **variable, "within": {"type": "number"}}) for variable in variables
    ]
    lines = {"type": "array", "items": {"anyOf": operations}, "minItems": 1, "maxItems": MAX_LINES}
    return _object({"lines": lines})


def _references(model: IndexedModel, families: Sequence[Family]) -> list[dict[str, Any]]:
    """Return the properties that refer to members of families; any text if there are many families."""
    if len(families) > MAX_FAMILIES:
        return [{"name": TEXT, "at": {"type": "array", "items": TEXT, "maxItems": 8}}]
    return [_reference(model, family) for family in families]


def _object(properties: Mapping[str, Any]) -> dict[str, Any]:
    required = list(properties)
    return {"type": "object", "properties": dict(properties), "required": required, "additionalProperties": False}


def _reference(model: IndexedModel, family: Family) -> dict[str, Any]:
    """Return the properties that refer to members of a family: its name, and a label for each index."""
    name = {"name": {"const": f"{kind_prefix(model, family)}{family.name}"}}
    if not family.sets:
        return name
    labels = [ANY]
    for index_set in map(model.index_set, dict.fromkeys(family.sets)):
        labels += index_set.labels
        if index_set.is_time or index_set.is_ordered:
            labels += [f"{first}..{index_set.labels[-1]}" for first in index_set.labels[1:-1]]
    label = {"enum": list(dict.fromkeys(labels))} if len(labels) <= MAX_LABELS else TEXT
    count = len(family.sets)
    return {**name, "at": {"type": "array", "items": label, "minItems": count, "maxItems": count}}


def write_lines(operations: object, model: IndexedModel) -> Iterator[str]:
    """Write the operations of a reply as lines; a text is a line already, and anything else is skipped."""
    for operation in operations if isinstance(operations, list) else ():
        if isinstance(operation, str):
            yield operation
        elif isinstance(operation, dict):
            yield _line(operation, model)


def _line(operation: Mapping[str, Any], model: IndexedModel) -> str:
    verb = str(operation.get("do", ""))
    if verb == "whatif":
        changes = operation.get("changes")
        parts = [_change(change, number, model) for number, change in enumerate(_objects(changes), 1)]
        return f"whatif {'; '.join(parts)}"
    if "name" not in operation:
        return verb
    reference = _reference_text(operation, model)
    if verb in EXTREMES:
        within = operation.get("within", 0)
        return f"{verb} sum {reference}" + (f" within {within}" if within else "")
    return f"{verb} {reference}"


def _objects(values: object) -> list[Mapping[str, Any]]:
    return [value for value in values if isinstance(value, dict)] if isinstance(values, list) else []


def _change(change: Mapping[str, Any], number: int, model: IndexedModel) -> str:
    sign = str(change.get("sign", ""))
    if isinstance(limited := change.get("sum"), dict):
        return f"row limit{number}: sum {_reference_text(limited, model)} {sign} {change.get('number')}"
    reference = _reference_text(change, model)
    return f"{sign} {reference}" if sign in VERBS else f"{reference} {sign} {change.get('number')}"


def _reference_text(reference: Mapping[str, Any], model: IndexedModel) -> str:
    kind, dot, name = str(reference.get("name", "")).rpartition(".")
    written = f"{kind}.{name_text(name)}" if dot and kind in KINDS else name_text(f"{kind}{dot}{name}")
    places = reference.get("at")
    if not isinstance(places, list) or not places:
        return written
    labels = {label for index_set in model.sets for label in index_set.labels}
    return f"{written}[{', '.join(_index(str(axis), labels) for axis in places)}]"


def _index(axis: str, labels: set[str]) -> str:
    first, dots, last = axis.partition("..")
    if axis == ANY:
        return ANY
    if dots and axis not in labels:
        return f"{label_text(first)}..{label_text(last)}"
    return label_text(axis)

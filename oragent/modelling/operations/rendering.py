"""Text of requests: the line that parses to the request."""

from collections.abc import Callable
from typing import Any

from oragent.modelling.operations import requests as ops
from oragent.modelling.references.reference_text import label_text, name_text, quote


def render(request: ops.AnyRequest) -> str:
    """Write a request as a line of the syntax."""
    if request.operation in _LINES:
        return _LINES[request.operation](request)
    words: list[str] = [request.operation]
    for name, field in type(request).model_fields.items():
        value = getattr(request, name)
        if name != "operation" and value != field.default:
            words += [ops.WORDS_BEFORE[name]] if name in ops.WORDS_BEFORE else []
            words.append(_FIELDS[name](value))
    return " ".join(words)


def render_reference(reference: ops.MemberReference) -> str:
    """Write a reference."""
    kind = f"{reference.kind}." if reference.kind else ""
    if reference.indices is None:
        return f"{kind}{name_text(reference.name)}"
    indices = ", ".join(_index(index) for index in reference.indices)
    return f"{kind}{name_text(reference.name)}[{indices}]"


def number_text(value: float) -> str:
    """Return the text of a number that reads back equal."""
    return str(int(value)) if abs(value) < 1e15 and value == int(value) else repr(value)


def _index(index: ops.Index) -> str:
    labels = [label_text(label) for label in index.labels]
    if index.kind == "all":
        return "*"
    if index.kind == "range":
        return "..".join(labels)
    if index.kind == "except":
        return f"* except {{{', '.join(labels)}}}"
    return labels[0] if len(labels) == 1 else f"{{{', '.join(labels)}}}"


def _target(target: ops.ChangeTarget) -> str:
    inside = render_reference(target.reference)
    if target.part == "value":
        return inside
    if target.part == "coefficient":
        return f"{name_text(target.of)}({inside})"
    return f"{target.part}({inside})"


def _expression(expression: ops.Expression) -> str:
    texts = []
    for position, term in enumerate(expression.terms):
        sign = "-" if term.coefficient < 0 else "+"
        lead = f"{sign} " if position else sign.replace("+", "")
        texts.append(f"{lead}{_term(term)}")
    return " ".join(texts)


def _term(term: ops.ExpressionTerm) -> str:
    size = abs(term.coefficient)
    if term.reference is None:
        return number_text(size)
    factor = "" if size == 1 else f"{number_text(size)} * "
    data = "" if term.data is None else f"{render_reference(term.data)} * "
    by = "".join(f" by {name_text(name)}" for name in term.by)
    return f"{factor}{'sum ' if term.is_sum else ''}{data}{render_reference(term.reference)}{by}"


def _amount(number: float, percent: bool) -> str:
    return f"{number_text(number)} %" if percent else number_text(number)


def _assign(request: ops.AssignChange) -> str:
    return f"{_target(request.target)} {request.operator} {_amount(request.number, request.percent)}"


def _objective(request: ops.NewObjective) -> str:
    return f"objective {name_text(request.name)}: {request.sense} {_expression(request.expression)}"


def _use(request: ops.UseObjectives) -> str:
    return f"objective {' then '.join(map(_stage, request.stages))}"


def _stage(stage: ops.ObjectiveStage) -> str:
    parts = []
    for part in stage.parts:
        factor = "" if part.weight == 1 else f"{number_text(part.weight)} * "
        parts.append(f"{factor}{name_text(part.name)}")
    within = f" within {_amount(stage.within, stage.percent)}" if stage.within else ""
    return f"{' + '.join(parts)}{within}"


def _row(request: ops.NewRow) -> str:
    sides = f"{_expression(request.left)} {request.relation} {_expression(request.right)}"
    return f"row {name_text(request.name)}: {sides}"


def _extreme(request: ops.ExtremeRequest) -> str:
    text = f"{request.direction} {_expression(request.expression)}"
    if request.within is None:
        return text
    return f"{text} within {_amount(request.within, request.percent)}"


def _limit(request: ops.LimitChange) -> str:
    return f"{render_reference(request.reference)} {request.relation} {number_text(request.number)}"


# Requests whose lines are more than their fields in order.
_LINES: dict[str, Callable[[Any], str]] = {
    "assign": _assign,
    "limit": _limit,
    "row": _row,
    "objective": _objective,
    "use": _use,
    "extreme": _extreme,
}
# Texts of the fields of all other requests.
_FIELDS: dict[str, Callable[[Any], str]] = {
    "reference": render_reference,
    "references": lambda references: " ".join(map(render_reference, references)),
    "by": name_text,
    "step": number_text,
    "number": number_text,
    "percent": lambda _: "%",
    "count": str,
    "trials": str,
    "first": name_text,
    "second": name_text,
    "name": name_text,
    "file": quote,
    "change": render,
    "changes": lambda changes: "; ".join(map(render, changes)),
    "target": _target,
    "numbers": lambda numbers: f"= {', '.join(map(number_text, numbers))}",
}

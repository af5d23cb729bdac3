"""Text of requests: the line that parses to the request."""

import math

from oragent.modelling.operations import requests as ops
from oragent.modelling.references.reference_text import label_text, name_text, quote

TRIALS = ops.VerifyRequest.model_fields["trials"].default


def render(request: ops.AnyRequest) -> str:
    """Write a request as a line of the syntax."""
    line: str = _RENDER[request.operation](request)
    return line


def render_reference(reference: ops.MemberReference) -> str:
    """Write a reference."""
    kind = f"{reference.kind}." if reference.kind else ""
    if reference.indices is None:
        return f"{kind}{name_text(reference.name)}"
    indices = ", ".join(_index(index) for index in reference.indices)
    return f"{kind}{name_text(reference.name)}[{indices}]"


def number_text(value: float) -> str:
    """Return the text of a number that reads back equal."""
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    if value == int(value) and abs(value) < 1e15:
        return str(int(value))
    return repr(value)


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
        sign = "-" if math.copysign(1.0, term.coefficient) < 0 else "+"
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


def _relax(request: ops.RelaxChange) -> str:
    return f"relax {render_reference(request.reference)} by {_amount(request.number, request.percent)}"


def _total(request: ops.TotalRequest) -> str:
    by = f" by {name_text(request.by)}" if request.by is not None else ""
    return f"total {render_reference(request.reference)}{by}"


def _top(request: ops.TopRequest) -> str:
    by = "" if request.by == "value" else f" by {name_text(request.by)}"
    return f"top {request.count} {render_reference(request.reference)}{by}"


def _price(request: ops.PriceRequest) -> str:
    step = "" if request.step == 1 else f" by {number_text(request.step)}"
    return f"price {render_reference(request.reference)}{step}"


def _with_reference(verb: str):  # type: ignore[no-untyped-def]  # requests with one optional reference
    def write(request) -> str:  # type: ignore[no-untyped-def]
        return verb if request.reference is None else f"{verb} {render_reference(request.reference)}"

    return write


_RENDER = {
    "assign": _assign,
    "limit": lambda one: f"{render_reference(one.reference)} {one.relation} {number_text(one.number)}",
    "forbid": _with_reference("forbid"),
    "free": _with_reference("free"),
    "drop": _with_reference("drop"),
    "relax": _relax,
    "row": _row,
    "objective": _objective,
    "use": _use,
    "describe": _with_reference("describe"),
    "data": _with_reference("data"),
    "value": _with_reference("value"),
    "total": _total,
    "top": _top,
    "extreme": _extreme,
    "binding": _with_reference("binding"),
    "slack": _with_reference("slack"),
    "price": _price,
    "range": _with_reference("range"),
    "why": _with_reference("why"),
    "whynot": lambda one: f"whynot {render(one.change)}",
    "solve": lambda one: "solve",
    "whatif": lambda one: "whatif " + "; ".join(render(change) for change in one.changes),
    "sweep": lambda one: f"sweep {_target(one.target)} = {', '.join(map(number_text, one.numbers))}",
    "conflict": lambda one: "conflict",
    "repair": lambda one: " ".join(["repair", *map(render_reference, one.references)]),
    "alternatives": lambda one: f"alternatives {one.count}",
    "frontier": lambda one: f"frontier {name_text(one.first)} {name_text(one.second)} {one.count}",
    "compare": lambda one: f"compare {name_text(one.first)} {name_text(one.second)}",
    "verify": lambda one: f"verify {quote(one.file)}{'' if one.trials == TRIALS else f' {one.trials}'}",
    "inverse": lambda one: f"inverse {quote(one.file)}",
    "diff": lambda one: f"diff {quote(one.file)}",
    "keep": lambda one: f"keep {name_text(one.name)}" if one.name else "keep",
    "undo": lambda one: f"undo {one.count}",
    "scenario": lambda one: f"scenario {name_text(one.name)}",
}

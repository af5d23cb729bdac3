"""References in answers: ``{r4.objective - r3.objective}`` is replaced by the figure, its unit and its interval.

    reference = "{" expression "}"
    expression = term {("+" | "-" | "*" | "/") term}      with the usual precedence and parentheses
    term = NUMBER | "r3" { "." FIELD | "[" PLACE "]" | "." FIELD "(" NAME ")" }

``FIELD(NAME)`` is a figure of one member, such as ``r3.value(ship[Lyon, Paris])``. ``possible``, ``unchanged``,
``better`` and ``binding(NAME)`` are statements. Only sums and products of figures are evaluated.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import BaseModel

from oragent._base.errors import ModellingError
from oragent.modelling.data.display import quoted
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.solution import TIGHT
from oragent.modelling.data.tolerances import scale_of
from oragent.modelling.operations import requests as ops
from oragent.modelling.operations.results import AnyResult, CompareResult, Figure, GroupTotal, MemberFigures, Moved
from oragent.modelling.operations.slices import find_one, fold, nearest_names
from oragent.modelling.operations.syntax import parse_line
from oragent.modelling.references.figures import format_part

MAX_REFERENCE_LENGTH, DEEPEST = 600, 20
ID = re.compile(r"r\d{1,9}(?!\w)")
NUMBER = re.compile(r"\d{1,15}(?:\.\d{1,15})?")
NAME = re.compile(r"[A-Za-z_]\w*")
PLACE = re.compile(r"\[(\d{1,9})\]")
# Main fields of a part with several figures, in order of preference.
MAIN_FIELDS = ("objective", "after", "total_after", "total", "value", "figure", "difference")
STATEMENTS = ("possible", "impossible", "unchanged", "better")
# Fields that a reader expects where a sentence names none.
EXPECTED_FIELDS = {"objective", "total", "value", "figure", "binding", *STATEMENTS}
# Lists with fewer members are complete.
COMPLETE = 1000
POSSIBLE = {"optimal": "possible", "feasible": "possible", "infeasible": "impossible", "unbounded": "unbounded"}


@dataclass(frozen=True)
class Filled:
    """Value of a reference."""

    text: str
    # Ids of the results that it comes from.
    sources: tuple[str, ...]
    # Names of its fields, such as ``before``, except those that a reader expects.
    fields: tuple[str, ...] = ()
    # Names of its members in the spelling of results.
    members: tuple[str, ...] = ()


def fill_reference(text: str, results: Mapping[str, AnyResult], model: IndexedModel) -> Filled:
    """Evaluate one reference, given without its braces.

    Raises:
        ModellingError: The reference names no part of a result, divides by zero, or adds different units.
    """
    reader = _Reader(text, results, model)
    part = reader.expression(0)
    reader.expect_end()
    lists = (reader.sources, reader.fields, reader.members)
    sources, fields, members = (tuple(dict.fromkeys(names)) for names in lists)
    return Filled(format_part(_main_part(part)), sources, fields, members)


class _Reader:
    """Parser of a reference with its current position."""

    def __init__(self, text: str, results: Mapping[str, AnyResult], model: IndexedModel) -> None:
        if len(text) > MAX_REFERENCE_LENGTH:
            raise ModellingError(f"a reference of {len(text)} characters: expected at most {MAX_REFERENCE_LENGTH}")
        self._text, self._results, self._model, self._at = text, results, model, 0
        self.sources: list[str] = []
        self.fields: list[str] = []
        self.members: list[str] = []

    def expression(self, depth: int) -> object:
        """Read a sum."""
        part = self._product(depth)
        while sign := self._take("+-"):
            part = _combine(sign, part, self._product(depth))
        return part

    def expect_end(self) -> None:
        """Raise an error if text remains after the expression."""
        self._skip_spaces()
        if self._at < len(self._text):
            raise self._error("the end of the reference")

    def _product(self, depth: int) -> object:
        part = self._term(depth)
        while sign := self._take("*/"):
            part = _combine(sign, part, self._term(depth))
        return part

    def _term(self, depth: int) -> object:
        if depth > DEEPEST:
            raise self._error("fewer parentheses and signs")
        self._skip_spaces()
        if self._take("-"):
            return _combine("*", Figure.exact(-1.0), self._term(depth + 1))
        if self._take("("):
            part = self.expression(depth + 1)
            if not self._take(")"):
                raise self._error("')'")
            return part
        if number := self._match(NUMBER):
            return Figure.exact(float(number[0]))
        identifier = self._match(ID)
        if identifier is None:
            raise self._error("a result such as r3, or a number")
        if identifier[0] not in self._results:
            raise ModellingError(f"no result {quoted(identifier[0])}: {nearest_names(identifier[0], self._results)}")
        self.sources.append(identifier[0])
        return self._steps(identifier[0])

    def _steps(self, identifier: str) -> object:
        result = self._results[identifier]
        part: object = result
        last = ""
        while True:
            if step_match := self._match(PLACE):
                part = _item(part, int(step_match[1]))
            elif self._peek() == ".":
                self._at += 1
                name = self._match(NAME)
                if name is None:
                    raise self._error("the name of a field")
                argument, last = self._argument(), name[0]
                if argument is not None:
                    part = _of_member(part, last, argument, self._model)
                    self.members.append(argument)
                elif part is result and name[0] in STATEMENTS:
                    part = _statement(result, name[0])
                elif part is result and name[0] == "binding":
                    part = tuple(member.name for member in _members(part)) or "none"
                else:
                    part = _field(part, name[0])
            else:
                if last and last not in EXPECTED_FIELDS:
                    self.fields.append(last)
                return part

    def _argument(self) -> str | None:
        """Return the text in parentheses, which may contain brackets and quotes; None without parentheses."""
        if self._peek() != "(":
            return None
        depth, is_quoted = 0, False
        for position in range(self._at, len(self._text)):
            letter = self._text[position]
            if letter == '"' and self._text[position - 1] != "\\":
                is_quoted = not is_quoted
            elif letter == "(" and not is_quoted:
                depth += 1
            elif letter == ")" and not is_quoted:
                depth -= 1
            if not depth and not is_quoted:
                argument = self._text[self._at + 1 : position].strip()
                self._at = position + 1
                return argument
        raise self._error("')'")

    def _match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        match = pattern.match(self._text, self._at)
        if match:
            self._at = match.end()
        return match

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _take(self, letters: str) -> str | None:
        self._skip_spaces()
        letter = self._peek()
        if letter and letter in letters:
            self._at += 1
            return letter
        return None

    def _skip_spaces(self) -> None:
        while self._peek().isspace():
            self._at += 1

    def _error(self, expected: str) -> ModellingError:
        return ModellingError(
            f"{quoted('{' + self._text + '}')} is no reference: expected {expected} at {self._at + 1}"
        )


def _field(part: object, name: str) -> object:
    if not isinstance(part, BaseModel) or name not in type(part).model_fields:
        names = list(type(part).model_fields) if isinstance(part, BaseModel) else []
        raise ModellingError(f"no field {quoted(name)}: {nearest_names(name, names)}")
    return getattr(part, name)


def _item(part: object, index: int) -> object:
    if not isinstance(part, tuple) or index >= len(part):
        size = len(part) if isinstance(part, tuple) else 0
        raise ModellingError(f"no part [{index}] in a list of {size}; the first one is [0]")
    return part[index]


def _main_part(part: object) -> object:
    """Return the main figure of a part with several figures."""
    for _ in range(DEEPEST):
        if isinstance(part, Figure) or not isinstance(part, BaseModel):
            return part
        name = next((name for name in MAIN_FIELDS if name in type(part).model_fields), None)
        if name is None:
            fields = ", ".join(type(part).model_fields)
            raise ModellingError(f"a reference names a part with several figures: go on to one of {fields}")
        part = getattr(part, name)
    return part


def _members(part: object) -> tuple[MemberFigures, ...]:
    if isinstance(part, CompareResult):
        return part.newly_binding + part.no_longer_binding
    for name in ("members", "rows"):
        members = getattr(part, name, None)
        if isinstance(members, tuple) and all(isinstance(member, MemberFigures) for member in members):
            return members
    member = getattr(part, "member", None)
    if isinstance(member, MemberFigures):
        return (member,)
    raise ModellingError("this result has no members: ask value, slack or binding for them")


def _of_member(part: object, field: str, name: str, model: IndexedModel) -> object:
    """Return a figure of one member, by its name."""
    if field in ("total", "groups"):
        groups: tuple[GroupTotal, ...] = getattr(part, "groups", ())
        return _find_named({group.label: group.total for group in groups}, name.strip('"'), "label")
    if field in ("before", "after"):
        moved: tuple[Moved, ...] = getattr(part, "moved", ())
        entries = [entry for family in moved for entry in family.largest]
        values = {name: Figure.exact(old if field == "before" else new) for name, old, new in entries}
        return _find_named(values, _canonical(name, model), "value that moved")
    canonical = _canonical(name, model)
    members = _members(part)
    if field == "binding":
        return _binds(part, members, canonical)
    if field not in MemberFigures.model_fields:
        raise ModellingError(
            f"no field {quoted(field)} of a member: {nearest_names(field, MemberFigures.model_fields)}"
        )
    member = next((member for member in members if fold(member.name) == fold(canonical)), None)
    if member is None and field in ("value", "contribution") and _lists_all_but_zeros(part, canonical):
        unit = next((getattr(field_name, field).unit for field_name in members if getattr(field_name, field)), "")
        return Figure.exact(0.0, unit)
    if member is None:
        raise ModellingError(
            f"no member {quoted(name)} in this result: {nearest_names(name, (m.name for m in members))}"
        )
    return getattr(member, field)


def _find_named(figures: Mapping[str, Figure], name: str, what: str) -> Figure:
    for candidate, figure in figures.items():
        if fold(candidate) == fold(name):
            return figure
    raise ModellingError(f"no {what} {quoted(name)} in this result: {nearest_names(name, figures)}")


def _canonical(name: str, model: IndexedModel) -> str:
    """Return the name of a member in the spelling of results."""
    request = parse_line(f"value {name}")
    if not isinstance(request, ops.ValueRequest):
        raise ModellingError(f"{quoted(name)} is no name of a member")
    return find_one(model, request.reference).names[0]


def _lists_all_but_zeros(part: object, name: str) -> bool:
    """Return True if a list omits only zeros, and the member belongs to the family of the request."""
    request, members = getattr(part, "request", None), getattr(part, "members", ())
    return (
        isinstance(request, ops.ValueRequest)
        and len(members) < COMPLETE
        and request.reference.indices is None
        and fold(name.partition("[")[0].strip('"')) == fold(request.reference.name)
    )


def _binds(part: object, members: tuple[MemberFigures, ...], name: str) -> str:
    member = next((member for member in members if fold(member.name) == fold(name)), None)
    request = getattr(part, "request", None)
    if isinstance(request, ops.BindingRequest):
        if member is not None:
            return "binds"
        if request.reference is None and len(members) < COMPLETE:
            return "does not bind"
    if member is None or member.slack is None or member.slack.value is None:
        raise ModellingError(f"this result does not say whether {quoted(name)} binds: ask 'binding' or 'slack'")
    value = None if member.value is None else member.value.value
    size = 1.0 if value is None else scale_of(value)
    return "binds" if member.slack.value <= TIGHT * size else "does not bind"


def _statement(result: AnyResult, name: str) -> str:
    if name in ("possible", "impossible"):
        status = getattr(result, "status_after", "") or result.status
        return POSSIBLE.get(status, "not known to be possible")
    if not isinstance(result, CompareResult):
        raise ModellingError(f"'{name}' is of a comparison: ask whatif, whynot or compare")
    difference = result.objective.difference
    if difference.low == difference.high == 0:
        return "unchanged"
    if name == "unchanged":
        is_more = difference.low is not None and difference.low > 0
        is_less = difference.high is not None and difference.high < 0
        return "changed" if is_more or is_less else "not decided within the gap"
    up, down = ("better", "worse") if result.objective.sense.startswith("max") else ("worse", "better")
    if difference.low is not None and difference.low >= 0:
        return up if difference.low > 0 else f"not {down}"
    if difference.high is not None and difference.high <= 0:
        return down if difference.high < 0 else f"not {up}"
    return "not decided within the gap"


def _combine(sign: str, left: object, right: object) -> Figure:
    first, second = _as_figure(left), _as_figure(right)
    ends = first.low, first.high, second.low, second.high
    if None in ends or first.value is None or second.value is None:
        raise ModellingError("a figure of this sum or product is not known")
    low1, high1, low2, high2 = (float(end or 0.0) for end in ends)
    value1, value2 = first.value, second.value
    if sign in "+-":
        if first.unit != second.unit:
            raise ModellingError(f"{quoted(first.unit)} and {quoted(second.unit)} cannot be added: the units differ")
        if sign == "+":
            return Figure.between(value1 + value2, low1 + low2, high1 + high2, first.unit)
        return Figure.between(value1 - value2, low1 - high2, high1 - low2, first.unit)
    if sign == "/":
        if low2 <= 0 <= high2:
            raise ModellingError("a division by zero in a reference: the divisor is 0, or may be 0 within its gap")
        low2, high2, value2 = 1 / high2, 1 / low2, 1 / value2
    products = [low1 * low2, low1 * high2, high1 * low2, high1 * high2]
    unit = _unit_of(sign, first.unit, second.unit)
    return Figure.between(value1 * value2, min(products), max(products), unit)


def _unit_of(sign: str, first: str, second: str) -> str:
    if sign == "/":
        if first == second or not second:
            return "" if first == second else first
        return f"{first or '1'}/{second}"
    return " ".join(unit for unit in (first, second) if unit)


def _as_figure(part: object) -> Figure:
    main = _main_part(part)
    if isinstance(main, Figure):
        return main
    if isinstance(main, int | float) and not isinstance(main, bool):
        return Figure.exact(float(main))
    raise ModellingError("only figures can be added or multiplied")

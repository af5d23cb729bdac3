"""A submitted model beside the exact one: rows matched up to names, differences told with their source.

The objective says whether an attempt passes; this says why it does not, where the exact model is known.
"""

import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from oragent.milp.model import Milp, Row, Variable
from oragent.milp.plain import number, plain

Key = tuple[object, ...]
Where = Callable[[str, float], str]


class Flaw(StrEnum):
    """How two models differ."""

    MISSING_ROW = "missing row"
    EXTRA_ROW = "extra row"
    DATA = "wrong figure"  # a row or objective with other coefficients than the data give
    OBJECTIVE = "other objective"
    KIND = "other integrality or bounds"
    VARIABLES = "other variables"


@dataclass(frozen=True)
class ModelDifference:
    """One thing that is different.

    Attributes:
        flaw: How.
        name: Name of the exact model's row or variable; of an extra row the submitted one's.
        text: One sentence.
        source: Sentence of a document or cell of a table that it comes from; empty where unknown.
    """

    flaw: Flaw
    name: str
    text: str
    source: str = ""

    def __str__(self) -> str:
        return f"{self.text}{f' ({self.source})' if self.source else ''}"


def compared(submitted: Milp, exact: Milp, where: Where = lambda name, value: "") -> tuple[ModelDifference, ...]:
    """How a submitted model differs from the exact one; empty where it does not.

    Variables are matched by name; where names differ, by what a model says of them. Two rows that differ in figures
    alone are a wrong figure, and not a row too few and one too many.

    Args:
        submitted: Model that a program solved.
        exact: Model that is right.
        where: Cell of the data in which a figure of a row stands, in words; empty where there is none.
    """
    matching = _matched(submitted, exact)
    if matching is None:
        counts = f"{len(submitted.variables)} variables in place of {len(exact.variables)}"
        return (ModelDifference(Flaw.VARIABLES, "", f"the model has {counts}, and they cannot be matched"), *_lengths(
            submitted, exact
        ))  # fmt: skip
    found = [*_variables(submitted, exact, matching), *_rows(submitted, exact, matching, where)]
    return (*found, *_objective(submitted, exact, matching, where))


def _lengths(submitted: Milp, exact: Milp) -> Iterable[ModelDifference]:
    if len(submitted.rows) < len(exact.rows):
        text = (
            f"{len(exact.rows) - len(submitted.rows)} rows too few: {len(submitted.rows)} in place of {len(exact.rows)}"
        )
        yield ModelDifference(Flaw.MISSING_ROW, "", text)


def _matched(submitted: Milp, exact: Milp) -> dict[str, str] | None:
    """Name of the exact variable by that of the submitted one; None where they cannot be told."""
    theirs, ours = ([one.name for one in milp.variables] for milp in (submitted, exact))
    shared = set(theirs) & set(ours)
    if len(shared) >= 0.6 * max(len(theirs), len(ours)):
        return {name: name for name in shared}
    mine, other = _colours(exact), _colours(submitted)
    groups: dict[Key, list[str]] = defaultdict(list)
    for name in ours:
        groups[mine[name]].append(name)
    found = {}
    for name in theirs:
        if groups[other[name]]:
            found[name] = groups[other[name]].pop(0)
    return found if len(found) >= 0.6 * max(len(theirs), len(ours)) else None


def _colours(milp: Milp) -> dict[str, Key]:
    """What a model says of each variable, names aside: bounds, cost, and the rows that it stands in."""
    cost = milp.objective.terms
    colours: dict[str, Key] = {
        one.name: (one.is_integer, _digits(one.low), _digits(one.high), _digits(cost.get(one.name, 0.0)))
        for one in milp.variables
    }  # fmt: skip
    for _ in range(2):
        rows = [(row, hash((str(row.relation), _digits(row.rhs), _bag(row, colours)))) for row in milp.rows]
        seen: dict[str, list[tuple[int, float]]] = defaultdict(list)
        for row, colour in rows:
            for name, value in row.terms.items():
                seen[name].append((colour, _digits(value)))
        colours = {name: (hash(own), hash(tuple(sorted(seen[name])))) for name, own in colours.items()}
    return colours


def _bag(row: Row, colours: Mapping[str, Key]) -> int:
    return hash(tuple(sorted((_digits(value), hash(colours[name])) for name, value in row.terms.items())))


def _digits(value: float) -> float:
    return value if math.isinf(value) else float(f"{value:.9g}") + 0.0


def _variables(submitted: Milp, exact: Milp, matching: Mapping[str, str]) -> Iterable[ModelDifference]:
    known = {one.name: one for one in exact.variables}
    back = {ours: theirs for theirs, ours in matching.items()}
    for one in exact.variables:
        if one.name not in back:
            used = any(one.name in row.terms for row in exact.rows) or one.name in exact.objective.terms
            if used:
                yield ModelDifference(Flaw.VARIABLES, one.name, f"{plain(one.name)} is no decision of the model")
    for one in submitted.variables:
        if one.name in matching and (other := known[matching[one.name]]) and not _alike(one, other):
            text = f"{plain(one.name)} is {_range(one)} and should be {_range(other)}"
            yield ModelDifference(Flaw.KIND, other.name, text)


def _alike(one: Variable, other: Variable) -> bool:
    bounds = all(_same(getattr(one, side), getattr(other, side)) for side in ("low", "high"))
    return bounds and one.is_integer == other.is_integer


def _range(one: Variable) -> str:
    kind = "whole" if one.is_integer else "continuous"
    return f"{kind}, from {number(one.low)} to {number(one.high)}"


def _rows(submitted: Milp, exact: Milp, matching: Mapping[str, str], where: Where) -> list[ModelDifference]:
    ours = {row.name: _shape(row, {}) for row in exact.rows}
    theirs = {row.name: _shape(row, matching) for row in submitted.rows}
    left, extra = dict(ours), {}
    by_shape: dict[Key, list[str]] = defaultdict(list)
    for name, shape in ours.items():
        by_shape[shape].append(name)
    for name, shape in theirs.items():
        same = by_shape.get(shape, [])
        if same:
            left.pop(same.pop(same.index(name) if name in same else 0), None)
        else:
            extra[name] = shape
    found = []
    for name in list(left):
        row = exact.row(name)
        twin = _twin(row, [submitted.row(one) for one in extra], matching)
        if twin is None:
            found.append(
                ModelDifference(Flaw.MISSING_ROW, name, f"no row says '{plain(name)}'", plain(row.meaning, 300))
            )
        else:
            extra.pop(twin.name)
            found += _figures(twin, row, matching, where)
    found += [ModelDifference(Flaw.EXTRA_ROW, name, f"'{plain(name)}' is no row of the right model") for name in extra]
    return found


def _shape(row: Row, matching: Mapping[str, str]) -> Key:
    """A row up to names, scale and direction."""
    terms = {matching.get(name, f"?{name}") if matching else name: value for name, value in row.terms.items() if value}
    ordered = sorted(terms.items())
    if not ordered:
        return (str(row.relation), _digits(row.rhs))
    scale = ordered[0][1]
    relation = str(row.relation)
    if scale < 0:
        relation = {"<=": ">=", ">=": "<="}.get(relation, relation)
    return (relation, _near(row.rhs / scale), tuple((name, _near(value / scale)) for name, value in ordered))


def _near(value: float) -> float:
    return float(f"{value:.7g}") + 0.0


def _twin(row: Row, candidates: Sequence[Row], matching: Mapping[str, str]) -> Row | None:
    """A row that is meant to be this one: of its name, or over the same variables."""
    for one in candidates:
        if one.name == row.name:
            return one
    wanted = {name for name, value in row.terms.items() if value}
    for one in candidates:
        terms = {matching.get(name, name) for name, value in one.terms.items() if value}
        if len(wanted & terms) >= 0.75 * max(len(wanted), len(terms), 1) and wanted & terms:
            return one
    return None


def _figures(theirs: Row, ours: Row, matching: Mapping[str, str], where: Where) -> list[ModelDifference]:
    """What is different in two rows that are meant to be the same."""
    found = []
    terms = {matching.get(name, name): value for name, value in theirs.terms.items()}
    for name in dict.fromkeys([*ours.terms, *terms]):
        given, right = terms.get(name, 0.0), ours.terms.get(name, 0.0)
        if not _same(given, right):
            text = f"in '{plain(ours.name)}' {plain(name)} counts {number(given)} and should count {number(right)}"
            found.append(ModelDifference(Flaw.DATA, ours.name, text, where(f"{ours.name} {name}", right)))
    if not _same(theirs.rhs, ours.rhs):
        text = f"the right side of '{plain(ours.name)}' is {number(theirs.rhs)} and should be {number(ours.rhs)}"
        found.append(ModelDifference(Flaw.DATA, ours.name, text, where(ours.name, ours.rhs)))
    if theirs.relation is not ours.relation and not found:
        text = f"'{plain(ours.name)}' says {theirs.relation} and should say {ours.relation}"
        found.append(ModelDifference(Flaw.DATA, ours.name, text, plain(ours.meaning, 300)))
    if not found:  # the same up to scale and sign, but for rounding
        return []
    return found


def _objective(submitted: Milp, exact: Milp, matching: Mapping[str, str], where: Where) -> list[ModelDifference]:
    flip = 1.0 if submitted.sense is exact.sense else -1.0
    terms = {matching.get(name, name): flip * value for name, value in submitted.objective.terms.items()}
    ours = exact.objective
    found = []
    for name in dict.fromkeys([*ours.terms, *terms]):
        given, right = terms.get(name, 0.0), ours.terms.get(name, 0.0)
        if not _same(given, right):
            text = f"in the objective {plain(name)} counts {number(given)} and should count {number(right)}"
            flaw = Flaw.DATA if given and right else Flaw.OBJECTIVE
            found.append(ModelDifference(flaw, "", text, where(f"objective {name}", right)))
    if not _same(flip * submitted.objective.constant, ours.constant):
        text = (
            f"the objective's constant is {number(submitted.objective.constant)} and should be {number(ours.constant)}"
        )
        found.append(ModelDifference(Flaw.OBJECTIVE, "", text))
    if len(found) == len(ours.terms) > 1 or (flip < 0 and found):
        return [ModelDifference(Flaw.OBJECTIVE, "", "the objective is another one, or its direction is")]
    return found


def _same(one: float, other: float) -> bool:
    return one == other or math.isclose(one, other, rel_tol=1e-6, abs_tol=1e-9)


def rule_of(name: str) -> str:
    """Return the rule of a row, or the kind of a variable: its name without indices (``stock`` of ``stock__a__1``)."""
    stem = re.split(r"__|\[|\(", name)[0]
    return re.sub(r"(?:_+\d+)+$", "", stem).rstrip("_") or name


def changed_rules(before: Milp, after: Milp) -> dict[str, str]:
    """Return the rules in which two models differ, each ``new``, ``changed`` or ``dropped``; rows match by name."""
    earlier = {row.name: row for row in before.rows}
    rules = {rule_of(name) for name in earlier}
    found: dict[str, str] = {}
    for row in after.rows:
        rule = rule_of(row.name)
        twin = earlier.get(row.name)
        if twin is None or not same_row(row, twin):
            found.setdefault(rule, "changed" if rule in rules else "new")
    gone = {rule_of(name) for name in earlier.keys() - {row.name for row in after.rows}}
    remaining = {rule_of(row.name) for row in after.rows}
    for rule in sorted(gone):
        found.setdefault(rule, "changed" if rule in remaining else "dropped")
    return found


def same_row(row: Row, other: Row) -> bool:
    """Return whether two rows have the same coefficients, relation and right side."""
    return dict(row.terms) == dict(other.terms) and row.relation is other.relation and row.rhs == other.rhs

"""Comparison of a submitted model with the exact one.

Rows are matched without their names, and differences name their source.

Grading by the objective does not need this module. It explains failures of instances whose exact model is known.
"""

import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from oragent.milp.model import Milp, Row, Variable, round_digits, scale_row
from oragent.milp.plain import number, plain

Key = tuple[object, ...]
Where = Callable[[str, float], str]


class Flaw(StrEnum):
    """Kind of difference between two models."""

    MISSING_ROW = "missing row"
    EXTRA_ROW = "extra row"
    # A row or objective whose coefficients differ from the data.
    DATA = "wrong figure"
    OBJECTIVE = "other objective"
    KIND = "other integrality or bounds"
    VARIABLES = "other variables"


@dataclass(frozen=True)
class ModelDifference:
    """One difference between two models."""

    flaw: Flaw
    # Name of the row or variable in the exact model; for an extra row, its name in the submitted model.
    name: str
    text: str
    # Sentence of a document or cell of a table with the correct value. Empty if unknown.
    source: str = ""

    def __str__(self) -> str:
        return f"{self.text}{f' ({self.source})' if self.source else ''}"


def compare_models(submitted: Milp, exact: Milp, where: Where = lambda name, value: "") -> tuple[ModelDifference, ...]:
    """Compare a submitted model with the exact one; return an empty tuple if they agree.

    Variables are matched by name, or else by their bounds, costs and rows. Two rows that differ only in figures count
    as one wrong figure, not as one missing and one extra row. ``where`` returns the data cell of a row's figure, or an
    empty text.
    """
    matching = _match_variables(submitted, exact)
    if matching is None:
        counts = f"{len(submitted.variables)} variables in place of {len(exact.variables)}"
        unmatched = ModelDifference(Flaw.VARIABLES, "", f"the model has {counts}, and they cannot be matched")
        count, right = len(submitted.rows), len(exact.rows)
        text = f"{right - count} rows too few: {count} in place of {right}"
        if count < right:
            return (unmatched, ModelDifference(Flaw.MISSING_ROW, "", text))
        return (unmatched,)
    return (
        *_compare_variables(submitted, exact, matching),
        *_compare_rows(submitted, exact, matching, where),
        *_compare_objectives(submitted, exact, matching, where),
    )


def _match_variables(submitted: Milp, exact: Milp) -> dict[str, str] | None:
    """Map submitted variable names to exact ones; return None if the variables cannot be matched."""
    theirs, ours = ([variable.name for variable in milp.variables] for milp in (submitted, exact))
    shared = set(theirs) & set(ours)
    if len(shared) >= 0.6 * max(len(theirs), len(ours)):
        return {name: name for name in shared}
    exact_colours, submitted_colours = _colour_variables(exact), _colour_variables(submitted)
    groups: dict[Key, list[str]] = defaultdict(list)
    for name in ours:
        groups[exact_colours[name]].append(name)
    matching = {}
    for name in theirs:
        if groups[submitted_colours[name]]:
            matching[name] = groups[submitted_colours[name]].pop(0)
    if len(matching) >= 0.6 * max(len(theirs), len(ours)):
        return matching
    return None


def _colour_variables(milp: Milp) -> dict[str, Key]:
    """Describe each variable without its name, by its bounds, cost and rows."""
    colours: dict[str, Key] = {}
    for variable in milp.variables:
        figures = (variable.low, variable.high, milp.objective.terms.get(variable.name, 0.0))
        colours[variable.name] = (variable.is_integer, *map(_round_value, figures))
    for _ in range(2):
        seen: dict[str, list[tuple[int, float]]] = defaultdict(list)
        for row in milp.rows:
            terms = {name: _round_value(value) for name, value in row.terms.items()}
            pairs = tuple(sorted((value, hash(colours[name])) for name, value in terms.items()))
            colour = hash((str(row.relation), _round_value(row.rhs), hash(pairs)))
            for name, value in terms.items():
                seen[name].append((colour, value))
        colours = {name: (hash(own), hash(tuple(sorted(seen[name])))) for name, own in colours.items()}
    return colours


def _round_value(value: float) -> float:
    return round_digits(value, 9)


def _compare_variables(submitted: Milp, exact: Milp, matching: Mapping[str, str]) -> Iterable[ModelDifference]:
    exact_variables = {variable.name: variable for variable in exact.variables}
    back = {ours: theirs for theirs, ours in matching.items()}
    used = {name for terms in (exact.objective.terms, *(row.terms for row in exact.rows)) for name in terms}
    for name in exact_variables:
        if name not in back and name in used:
            yield ModelDifference(Flaw.VARIABLES, name, f"{plain(name)} is no decision of the model")
    for variable in submitted.variables:
        if variable.name in matching:
            twin = exact_variables[matching[variable.name]]
        else:
            twin = variable
        if not _same_variable(variable, twin):
            text = f"{plain(variable.name)} is {_describe_range(variable)} and should be {_describe_range(twin)}"
            yield ModelDifference(Flaw.KIND, twin.name, text)


def _same_variable(first: Variable, second: Variable) -> bool:
    bounds = all(_same_number(getattr(first, side), getattr(second, side)) for side in ("low", "high"))
    return bounds and first.is_integer == second.is_integer


def _describe_range(variable: Variable) -> str:
    if variable.is_integer:
        kind = "whole"
    else:
        kind = "continuous"
    return f"{kind}, from {number(variable.low)} to {number(variable.high)}"


def _compare_rows(submitted: Milp, exact: Milp, matching: Mapping[str, str], where: Where) -> list[ModelDifference]:
    ours = {row.name: _row_shape(row, {}) for row in exact.rows}
    theirs = {row.name: _row_shape(row, matching) for row in submitted.rows}
    unmatched, extra = dict.fromkeys(ours), {}
    by_shape: dict[Key, list[str]] = defaultdict(list)
    for name, shape in ours.items():
        by_shape[shape].append(name)
    for name, shape in theirs.items():
        same = by_shape.get(shape, [])
        if same:
            unmatched.pop(same.pop(same.index(name) if name in same else 0), None)
        else:
            extra[name] = submitted.row(name)
    differences = []
    for row in map(exact.row, unmatched):
        twin = _find_twin(row, list(extra.values()), matching)
        if twin is None:
            text = f"no row says '{plain(row.name)}'"
            differences.append(ModelDifference(Flaw.MISSING_ROW, row.name, text, plain(row.meaning, 300)))
        else:
            extra.pop(twin.name)
            differences += _compare_figures(twin, row, matching, where)
    texts = {name: f"'{plain(name)}' is no row of the right model" for name in extra}
    return differences + [ModelDifference(Flaw.EXTRA_ROW, name, text) for name, text in texts.items()]


def _row_shape(row: Row, matching: Mapping[str, str]) -> Key:
    """Describe a row independently of names, scale and direction."""
    terms = {matching.get(name, f"?{name}") if matching else name: value for name, value in row.terms.items() if value}
    return scale_row(terms, row.relation, row.rhs, 7) or (row.relation, _round_value(row.rhs))


def _find_twin(row: Row, candidates: Sequence[Row], matching: Mapping[str, str]) -> Row | None:
    """Find the corresponding row: one with the same name, or with the same variables."""
    for candidate in candidates:
        if candidate.name == row.name:
            return candidate
    variables = {name for name, value in row.terms.items() if value}
    for candidate in candidates:
        terms = {matching.get(name, name) for name, value in candidate.terms.items() if value}
        if len(variables & terms) >= 0.75 * max(len(variables), len(terms), 1) and variables & terms:
            return candidate
    return None


def _compare_figures(theirs: Row, ours: Row, matching: Mapping[str, str], where: Where) -> list[ModelDifference]:
    differences = []
    terms = {matching.get(name, name): value for name, value in theirs.terms.items()}
    for name in dict.fromkeys([*ours.terms, *terms]):
        submitted, right = terms.get(name, 0.0), ours.terms.get(name, 0.0)
        if not _same_number(submitted, right):
            text = f"in '{plain(ours.name)}' {plain(name)} counts {number(submitted)} and should count {number(right)}"
            differences.append(ModelDifference(Flaw.DATA, ours.name, text, where(f"{ours.name} {name}", right)))
    if not _same_number(theirs.rhs, ours.rhs):
        text = f"the right side of '{plain(ours.name)}' is {number(theirs.rhs)} and should be {number(ours.rhs)}"
        differences.append(ModelDifference(Flaw.DATA, ours.name, text, where(ours.name, ours.rhs)))
    if theirs.relation is not ours.relation and not differences:
        text = f"'{plain(ours.name)}' says {theirs.relation} and should say {ours.relation}"
        differences.append(ModelDifference(Flaw.DATA, ours.name, text, plain(ours.meaning, 300)))
    return differences


def _compare_objectives(
    submitted: Milp, exact: Milp, matching: Mapping[str, str], where: Where
) -> list[ModelDifference]:
    if submitted.sense is exact.sense:
        flip = 1.0
    else:
        flip = -1.0
    terms = {matching.get(name, name): flip * value for name, value in submitted.objective.terms.items()}
    ours = exact.objective
    differences = []
    for name in dict.fromkeys([*ours.terms, *terms]):
        submitted_value, right = terms.get(name, 0.0), ours.terms.get(name, 0.0)
        if not _same_number(submitted_value, right):
            text = f"in the objective {plain(name)} counts {number(submitted_value)} and should count {number(right)}"
            if submitted_value and right:
                flaw = Flaw.DATA
            else:
                flaw = Flaw.OBJECTIVE
            differences.append(ModelDifference(flaw, "", text, where(f"objective {name}", right)))
    constant = submitted.objective.constant
    if not _same_number(flip * constant, ours.constant):
        text = f"the objective's constant is {number(constant)} and should be {number(ours.constant)}"
        differences.append(ModelDifference(Flaw.OBJECTIVE, "", text))
    if len(differences) == len(ours.terms) > 1 or (flip < 0 and differences):
        return [ModelDifference(Flaw.OBJECTIVE, "", "the objective is another one, or its direction is")]
    return differences


def _same_number(first: float, second: float) -> bool:
    return first == second or math.isclose(first, second, rel_tol=1e-6, abs_tol=1e-9)


def rule_of(name: str) -> str:
    """Return the rule of a row or the kind of a variable: its name without indices.

    The name ``stock__a__1`` gives ``stock``.
    """
    stem = re.split(r"__|\[|\(", name)[0]
    return re.sub(r"(?:_+\d+)+$", "", stem).rstrip("_") or name

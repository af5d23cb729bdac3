"""Several solves of one program as one model with objectives by priority.

A program with several aims often solves for the first one, holds its value by a row or a bound, and solves again for
the next one. The last model alone has the last aim only. Here the objectives of earlier solves that the last model
holds become objectives of higher priority, and the rows and bounds that held them are released.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from oragent.modelling.capture.reading import ReadModel
from oragent.modelling.data.features import FurtherObjective, ModelFeatures
from oragent.modelling.data.model_values import Sense
from oragent.modelling.data.tolerances import scale_of
from oragent.modelling.files.parsed_model import UNNAMED

# Relative difference up to which coefficients and limits are equal.
SAME = 1e-9
# Share of an optimum, or of 1 if it is smaller, up to which a limit on it is only a tolerance of the program.
SLACK_NOISE = 1e-4
# Largest share of an optimum that a limit may give up. A wider limit is a requirement of its own.
MAX_SLACK_SHARE = 0.5
# Maximum number of coefficients of models that are compared.
MAX_ENTRIES = 2_000_000

Terms = dict[int, float]
# Coefficients by column in sorted order.
Form = tuple[tuple[int, float], ...]


@dataclass(frozen=True)
class HeldObjective:
    """Objective of an earlier solve, and what holds it in the last model."""

    # Name of the objective in the joined model.
    name: str
    # Name of the row or variable that holds it; empty if it has none.
    held_by: str
    # Limit that the program set on its value.
    limit: float


@dataclass(frozen=True)
class JoinedModel:
    """The last model of a program, with the objectives of earlier solves."""

    read: ReadModel
    # Earlier objectives, the most important first.
    held: tuple[HeldObjective, ...] = ()


@dataclass(frozen=True)
class _Limit:
    """Limits of a linear expression: a row, or a bound of a column that is tighter than in an earlier solve."""

    terms: Terms
    low: float
    high: float
    name: str
    row: int | None = None
    column: int | None = None


@dataclass(frozen=True)
class _Stage:
    """An earlier solve in the columns of the last model."""

    read: ReadModel
    # Position in the last model by column.
    places: NDArray[np.int64]
    objective: Terms
    # Objective that the solver gave to the program; None if it gave none.
    claim: float | None


@dataclass(frozen=True)
class _Hold:
    """Limits that hold an objective, its worst allowed value, and the amount that it gives up."""

    limits: list[_Limit]
    bound: float
    slack: float

    @property
    def name(self) -> str:
        """Name of the first limit; empty without one."""
        return self.limits[0].name if self.limits else ""


@dataclass(frozen=True)
class _Held:
    """An earlier solve whose objective the last model holds."""

    stage: _Stage
    objective: HeldObjective
    limits: list[_Limit]
    slack: float


def join_solves(reads: Sequence[ReadModel], claims: Sequence[float | None]) -> JoinedModel:
    """Return the last model with the objectives of earlier solves that it holds.

    An earlier solve counts if its columns, rows and bounds are those of the last model without rows and bounds that
    hold objectives. Its objective counts if the last model limits it near the value that the program was given. All
    others are trials, and are left out.

    Args:
        reads: Models in the order in which they were solved; at least one.
        claims: Objectives that the program was given, one for each model.
    """
    last = reads[-1]
    if any(goal.weight for goal in last.features.goals) or sum(len(read.values) for read in reads) > MAX_ENTRIES:
        return JoinedModel(last)
    stages = [stage for read, claim in zip(reads[:-1], claims, strict=False) if (stage := _stage(read, last, claim))]
    rows = _forms(last, np.arange(len(last.columns)))
    seen = {_scaled(_objective_terms(last, np.arange(len(last.columns))))}
    held: list[_Held] = []
    # Rows and bounds that are new in the last model.
    others: set[tuple[int | None, int | None]] = set()
    for number, stage in enumerate(stages):
        form = _scaled(stage.objective)
        limits = _new_limits(stage, last, rows, [earlier.objective for earlier in stages[:number]])
        if form in seen or limits is None:
            continue
        hold = _find_hold(stage, limits) or _find_fixed(stage, last)
        if hold is not None:
            name = _free_name(stage.read.objective, len(held) + 1, [each.objective.name for each in held])
            held.append(_Held(stage, HeldObjective(name, hold.name, hold.bound), hold.limits, hold.slack))
            seen.add(form)
            others.update((limit.row, limit.column) for limit in limits)
    if not held:
        return JoinedModel(last)
    others -= {(limit.row, limit.column) for each in held for limit in each.limits}
    return JoinedModel(_release(last, held, bool(others)), tuple(each.objective for each in held))


def _free_name(name: str, number: int, taken: Sequence[str]) -> str:
    if not name or UNNAMED.fullmatch(name) or name in taken:
        name = f"aim {number}"
    while name in taken:
        name = f"{name} ({number})"
    return name


def _stage(read: ReadModel, last: ReadModel, claim: float | None) -> _Stage | None:
    """Return an earlier solve; None if it has other columns, or an objective without linear terms."""
    if read.missing or read.features.quadratic or any(goal.weight for goal in read.features.goals):
        return None
    places = _match_columns(read.columns, last.columns)
    if places is None or (last.integer[places] < read.integer).any():
        return None
    objective = _objective_terms(read, places)
    is_same = _has_features(read.features, last.features, places) and read.is_schedule == last.is_schedule
    return _Stage(read, places, objective, claim) if objective and is_same else None


def _match_columns(names: list[str], last: list[str]) -> NDArray[np.int64] | None:
    """Return the position of each column in the last model, by the position of equal names, or by unique names."""
    if names == last[: len(names)]:
        return np.arange(len(names))
    position_of = {name: position for position, name in enumerate(last)}
    if len(position_of) < len(last) or len(set(names)) < len(names) or not position_of.keys() >= set(names):
        return None
    return np.array([position_of[name] for name in names])


def _has_features(features: ModelFeatures[int], last: ModelFeatures[int], places: NDArray[np.int64]) -> bool:
    """Return True if each nonlinear part of an earlier solve is in the last model."""
    moved = features.rekey(lambda column: int(places[column]), lambda row: row)
    names = (field.name for field in fields(moved) if field.name not in ("quadratic", "goals"))
    return all(getattr(last, name)[: len(getattr(moved, name))] == getattr(moved, name) for name in names)


def _objective_terms(read: ReadModel, places: NDArray[np.int64]) -> Terms:
    return {int(places[column]): float(read.cost[column]) for column in np.flatnonzero(read.cost)}


def _row_terms(read: ReadModel, row: int, places: NDArray[np.int64]) -> Terms:
    terms: Terms = defaultdict(float)
    for entry in range(int(read.starts[row]), int(read.starts[row + 1])):
        terms[int(places[read.indices[entry]])] += float(read.values[entry])
    return dict(terms)


def _forms(read: ReadModel, places: NDArray[np.int64]) -> list[tuple[Form, float, float]]:
    """Return the rows as coefficients by column of the last model, and their limits."""
    limits = zip(read.row_low.tolist(), read.row_high.tolist(), strict=True)
    return [(tuple(sorted(_row_terms(read, row, places).items())), *limit) for row, limit in enumerate(limits)]


def _scaled(terms: Mapping[int, float]) -> Form:
    """Return coefficients scaled so that the first one is 1, for comparison."""
    ordered = sorted((column, value) for column, value in terms.items() if value)
    return tuple((column, round(value / ordered[0][1], 9)) for column, value in ordered)


def _new_limits(
    stage: _Stage, last: ReadModel, rows: Sequence[tuple[Form, float, float]], earlier: Sequence[Terms]
) -> list[_Limit] | None:
    """Return rows and bounds that the last model has in addition to an earlier solve.

    None if the earlier solve has another row or a tighter bound, except those that hold still earlier objectives.
    """
    before = Counter(_forms(stage.read, stage.places))
    holding = {_scaled(terms) for terms in earlier}
    limits = []
    for number, (form, low, high) in enumerate(rows):
        if before[form, low, high]:
            before[form, low, high] -= 1
        else:
            limits.append(_Limit(dict(form), low, high, last.rows[number], row=number))
    if any(count and _scaled(dict(form)) not in holding for (form, _, _), count in before.items()):
        return None
    lows, highs = last.low[stage.places], last.high[stage.places]
    for position in np.flatnonzero((lows != stage.read.low) | (highs != stage.read.high)):
        column = int(stage.places[position])
        is_wider = lows[position] < stage.read.low[position] or highs[position] > stage.read.high[position]
        if is_wider and ((column, 1.0),) not in holding:
            return None
        name = last.columns[column]
        limits.append(_Limit({column: 1.0}, float(lows[position]), float(highs[position]), name, column=column))
    return limits


def _find_hold(stage: _Stage, limits: Sequence[_Limit]) -> _Hold | None:
    """Return the limits on an objective near the value that the program was given; None without one."""
    constant, maximize = stage.read.constant, stage.read.maximize
    matched, values = [], []
    for limit in limits:
        span = _span_on(stage, limit)
        if span is not None:
            matched.append(limit)
            values.append(span[0] if maximize else span[1])
    bounds = [value + constant for value in values if math.isfinite(value)]
    if not bounds:
        return None
    return _hold_at(stage, matched, max(bounds) if maximize else min(bounds))


def _find_fixed(stage: _Stage, last: ReadModel) -> _Hold | None:
    """Return a hold without limits if the last model fixes all columns of an objective."""
    columns = list(stage.objective)
    if (last.low[columns] != last.high[columns]).any():
        return None
    value = math.fsum(factor * last.low[column] for column, factor in stage.objective.items())
    return _hold_at(stage, [], value + stage.read.constant)


def _hold_at(stage: _Stage, limits: list[_Limit], bound: float) -> _Hold | None:
    if stage.claim is None:
        return _Hold(limits, bound, 0.0)
    slack = stage.claim - bound if stage.read.maximize else bound - stage.claim
    size = scale_of(stage.claim)
    if not -SLACK_NOISE * size <= slack <= MAX_SLACK_SHARE * size:
        return None
    return _Hold(limits, bound, slack if slack > SLACK_NOISE * size else 0.0)


def _span_on(stage: _Stage, limit: _Limit) -> tuple[float, float] | None:
    """Return the limits that a row or bound sets on an objective without its constant; None if it is about another."""
    for objective, shift in _expansions(stage, stage.objective):
        for terms, offset in _expansions(stage, limit.terms):
            factor = _ratio(terms, objective)
            if factor:
                # The row limits factor * objective + offset, and the objective has a constant of its own.
                ends = [(end - offset) / factor + shift for end in (limit.low, limit.high)]
                return min(ends), max(ends)
    return None


def _ratio(terms: Terms, objective: Terms) -> float:
    """Return the factor by which an expression is a multiple of an objective; 0 if it is not."""
    if terms.keys() != objective.keys():
        return 0.0
    ratios = [value / objective[column] for column, value in terms.items()]
    is_constant = max(ratios) - min(ratios) <= SAME * abs(ratios[0])
    return ratios[0] if is_constant else 0.0


def _expansions(stage: _Stage, terms: Terms) -> Iterator[tuple[Terms, float]]:
    """Yield an expression, and for a single column the expressions by which equations define it, with constants."""
    yield terms, 0.0
    if len(terms) != 1:
        return
    ((column, factor),) = terms.items()
    for row in _equations_of(stage, column):
        definition = _row_terms(stage.read, row, stage.places)
        scale = -factor / definition.pop(column)
        if definition:
            expanded = {key: scale * value for key, value in definition.items()}
            yield expanded, -scale * float(stage.read.row_low[row])


def _equations_of(stage: _Stage, column: int) -> Iterator[int]:
    """Yield the equations of an earlier solve that contain a column of the last model."""
    read = stage.read
    entries = np.flatnonzero(stage.places[read.indices] == column)
    for row in np.unique(np.searchsorted(read.starts, entries, side="right") - 1):
        if read.row_low[row] == read.row_high[row]:
            yield int(row)


def _release(last: ReadModel, held: Sequence[_Held], has_other_limits: bool) -> ReadModel:
    """Return the last model with earlier objectives as goals, without the limits that held them.

    With other new limits, the optimum of an earlier objective may be worse than that of its solve, so that an amount to
    give up is counted from another value. The limit then stays.
    """
    row_low, row_high, low, high = (array.copy() for array in (last.row_low, last.row_high, last.low, last.high))
    goals = []
    for number, each in enumerate(held):
        stage = each.stage
        for limit in () if each.slack and has_other_limits else each.limits:
            if limit.row is not None:
                row_low[limit.row], row_high[limit.row] = -np.inf, np.inf
            elif limit.column is not None:
                position = int(np.flatnonzero(stage.places == limit.column)[0])
                low[limit.column], high[limit.column] = stage.read.low[position], stage.read.high[position]
        goals.append(
            FurtherObjective(
                each.objective.name,
                stage.objective,
                Sense.MAXIMIZE if stage.read.maximize else Sense.MINIMIZE,
                stage.read.constant,
                priority=len(held) - number,
                slack_amount=each.slack,
            )
        )
    features = replace(last.features, goals=(*last.features.goals, *goals))
    return replace(last, row_low=row_low, row_high=row_high, low=low, high=high, features=features)

"""Comparison of two models by structure, and by their optima on the given and on perturbed data."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from oragent.modelling.data.arrays import Arrays, Vector
from oragent.modelling.data.display import plain
from oragent.modelling.data.indexed import Family, IndexedModel
from oragent.modelling.data.links import Positions
from oragent.modelling.data.solution import SolveStatus
from oragent.modelling.data.tolerances import scale_of
from oragent.modelling.operations.outcomes import CONFIRMED, Outcome, OutcomePool, ScenarioModel, SolveLimits
from oragent.modelling.operations.results import Figure, MatchTrial
from oragent.modelling.operations.slices import fold

# Interval of the factors of costs and of data.
COST_FACTORS = (0.2, 3.0)
DATA_FACTORS = (0.8, 1.25)
# Maximum number of names in the description of a trial.
SHOWN = 4


@dataclass(frozen=True, eq=False)
class SharedParts:
    """Parts of two models that can be perturbed equally in both."""

    # Positions in both models of the cells of data that both use.
    cells: tuple[Positions, Positions]
    data: tuple[str, ...]
    # Columns in both models of variables with the same name and the same nonzero cost.
    columns: tuple[Positions, Positions]


def find_shared(first: IndexedModel, second: IndexedModel) -> SharedParts:
    """Match data and variables of two models by name and labels."""
    others = {fold(family.name): family for family in second.parameters}
    pairs: list[tuple[int, int]] = []
    names = []
    for family in first.parameters:
        counterpart = others.get(fold(family.name))
        if counterpart is None or not (_is_used(first, family) and _is_used(second, counterpart)):
            continue
        place_of = {_key(second, counterpart, position): position for position in range(len(counterpart))}
        shared = [(position, place_of.get(_key(first, family, position))) for position in range(len(family))]
        matched = [(int(family.positions[a]), int(counterpart.positions[b])) for a, b in shared if b is not None]
        if matched:
            names.append(family.name)
            pairs += matched
    cells = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return SharedParts((cells[:, 0], cells[:, 1]), tuple(names), _shared_columns(first, second))


def _key(model: IndexedModel, family: Family, position: int) -> tuple[str, ...]:
    return tuple(map(fold, model.labels_of(family, position)))


def _is_used(model: IndexedModel, family: Family) -> bool:
    vectors = [model.low, model.high, model.entries, model.rhs, model.objective.cost]
    return any(np.isin(vector.links.cells, family.positions).any() for vector in vectors)


def _shared_columns(first: IndexedModel, second: IndexedModel) -> tuple[Positions, Positions]:
    place_of = {fold(name): position for position, name in enumerate(second.column_names)}
    costs = first.to_arrays().cost, second.to_arrays().cost
    pairs = []
    for position, name in enumerate(first.column_names):
        counterpart = place_of.get(fold(name))
        if (
            counterpart is not None
            and costs[0][position]
            and np.isclose(costs[0][position], costs[1][counterpart], rtol=1e-9)
        ):
            pairs.append((position, counterpart))
    columns = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return columns[:, 0], columns[:, 1]


def match_optima(first: IndexedModel, second: IndexedModel, limits: SolveLimits, count: int) -> tuple[MatchTrial, ...]:
    """Solve both models as they are, then ``count`` times with shared data or costs multiplied by the same factors.

    The factors are random, with the seed of the limits. Costs are exact for any two formulations of one problem with
    the same decisions. Data are used only if both models refer to them.
    """
    trials = [_trial("as given", first.to_arrays(), second.to_arrays(), first, limits)]
    shared = find_shared(first, second)
    kinds = [kind for kind, size in (("costs", len(shared.columns[0])), ("data", len(shared.cells[0]))) if size]
    random = np.random.default_rng(limits.seed)
    for number in range(count if kinds else 0):
        if kinds[number % len(kinds)] == "costs":
            size = len(shared.columns[0])
            text = f"costs of {size} variable{'' if size == 1 else 's'}"
            arrays = _with_costs(first, second, shared, random)
        else:
            more = ", ..." if len(shared.data) > SHOWN else ""
            text = f"data {', '.join(plain(name, 30) for name in shared.data[:SHOWN])}{more}"
            arrays = _with_data(first, second, shared, random)
        trials.append(_trial(text, *arrays, first, limits))
    return tuple(trials)


def _with_costs(
    first: IndexedModel, second: IndexedModel, shared: SharedParts, random: np.random.Generator
) -> tuple[Arrays, Arrays]:
    factors = random.uniform(*COST_FACTORS, len(shared.columns[0]))
    changed = []
    for model, columns in zip((first, second), shared.columns, strict=True):
        arrays = model.to_arrays()
        cost = arrays.cost.copy()
        cost[columns] *= factors
        changed.append(replace(arrays, cost=cost))
    return changed[0], changed[1]


def _with_data(
    first: IndexedModel, second: IndexedModel, shared: SharedParts, random: np.random.Generator
) -> tuple[Arrays, Arrays]:
    factors = random.uniform(*DATA_FACTORS, len(shared.cells[0]))
    changed = []
    for model, places in zip((first, second), shared.cells, strict=True):
        cells = model.cells.copy()
        cells[places] = _scaled(cells[places], factors)
        changed.append(replace(model, cells=cells).to_arrays())
    return changed[0], changed[1]


def _scaled(values: Vector, factors: Vector) -> Vector:
    """Return the products. Whole numbers stay whole, because they may count things."""
    products = values * factors
    return np.where(values == np.round(values), np.round(products), products)


def _trial(
    text: str, first_arrays: Arrays, second_arrays: Arrays, model: IndexedModel, limits: SolveLimits
) -> MatchTrial:
    outcomes = [OutcomePool().solve(ScenarioModel(arrays), limits) for arrays in (first_arrays, second_arrays)]
    unit = model.objective.unit
    figures = [Figure.between(outcome.objective, *outcome.span(), unit=unit) for outcome in outcomes]
    return MatchTrial(
        perturbed=text,
        status=str(outcomes[0].status),
        other_status=str(outcomes[1].status),
        optimum=figures[0],
        other_optimum=figures[1],
        agree=_agreement(*outcomes),
    )


def _agreement(first: Outcome, second: Outcome) -> str:
    statuses = (first.status, second.status)
    if SolveStatus.UNKNOWN in statuses:
        return "open"
    if statuses[0] is statuses[1] and statuses[0] in (SolveStatus.INFEASIBLE, SolveStatus.UNBOUNDED):
        return "yes"
    if SolveStatus.INFEASIBLE in statuses or SolveStatus.UNBOUNDED in statuses:
        return "no"
    (low1, high1), (low2, high2) = first.span(), second.span()
    size = scale_of(first.objective or 0.0, second.objective or 0.0)
    if max(low1, low2) > min(high1, high2) + 2 * CONFIRMED * size:
        return "no"
    if set(statuses) == {SolveStatus.OPTIMAL}:
        return "yes"
    return "open"


def summarize_agreement(trials: Sequence[MatchTrial]) -> str:
    """Return ``yes`` if all trials agree, ``no`` if one does not, else ``open``."""
    answers = {trial.agree for trial in trials}
    if "no" in answers:
        return "no"
    if "open" in answers:
        return "open"
    return "yes"

"""Operation ``verify``: compare a file of values, a program's output, or another model with the present scenario.

Two models are compared by structure, and by their optima on the given and on perturbed data.
"""

from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from oragent._base.errors import ModellingError
from oragent._base.text_decoding import decode_leniently
from oragent.modelling.data.arrays import Arrays, Vector
from oragent.modelling.data.display import plain, quoted
from oragent.modelling.data.indexed import Family, IndexedModel
from oragent.modelling.data.links import Positions
from oragent.modelling.data.tolerances import scale_of
from oragent.modelling.files.json_text import load_json
from oragent.modelling.files.model_files import naming_file, read_bytes
from oragent.modelling.opening import is_program, open_model
from oragent.modelling.operations import requests as ops
from oragent.modelling.operations.changes import with_figures
from oragent.modelling.operations.checking import diff_entries
from oragent.modelling.operations.outcomes import OutcomePool, ScenarioModel, SolveLimits, compare_optima
from oragent.modelling.operations.points import (
    ClaimedSolution,
    parse_csv,
    parse_json,
    parse_output,
    point_of,
    read_solution,
)
from oragent.modelling.operations.results import BreachInfo, Figure, MatchTrial, VerifyResult
from oragent.modelling.operations.slices import fold
from oragent.modelling.operations.stages import objective_values
from oragent.modelling.operations.state import ModelScenario, ModelStudy, solved
from oragent.modelling.solving.model_solving import breaches

if TYPE_CHECKING:
    from oragent.modelling.capture.program import CapturedModel, CapturedProgram

# Interval of the factors of costs and of data.
COST_FACTORS = (0.2, 3.0)
DATA_FACTORS = (0.8, 1.25)
# Maximum number of names in the description of a trial.
SHOWN_DATA = 4
# Maximum number of breaches in one result, and of names in a warning.
SHOWN = 100
SHOWN_NAMES = 5
# Maximum relative difference between a claimed objective and the one of its point.
SAME = 1e-6
POINT_ENDINGS = (".sol", ".csv")
# Keys of a model in JSON.
MODEL_KEYS = {"variables", "version"}


def _shared_cells(first: IndexedModel, second: IndexedModel) -> tuple[Positions, list[str]]:
    """Return the ``(2, k)`` positions in both models of the cells of data that both use, and the names of the data."""
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
        names += [family.name] if matched else []
        pairs += matched
    return _columns_of(pairs), names


def _columns_of(pairs: list[tuple[int, int]]) -> Positions:
    return np.array(pairs, np.int64).reshape(-1, 2).T


def _key(model: IndexedModel, family: Family, position: int) -> tuple[str, ...]:
    return tuple(map(fold, model.labels_of(family, position)))


def _is_used(model: IndexedModel, family: Family) -> bool:
    vectors = [model.low, model.high, model.entries, model.rhs, model.objective.cost]
    return any(np.isin(vector.links.cells, family.positions).any() for vector in vectors)


def _shared_columns(first: IndexedModel, second: IndexedModel) -> Positions:
    """Return the ``(2, k)`` columns in both models of variables with the same name and the same nonzero cost."""
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
    return _columns_of(pairs)


def match_optima(first: IndexedModel, second: IndexedModel, limits: SolveLimits, count: int) -> tuple[MatchTrial, ...]:
    """Solve both models as they are, then ``count`` times with shared data or costs multiplied by the same factors.

    The factors are random, with the seed of the limits. Costs are exact for any two formulations of one problem with
    the same decisions. Data are used only if both models refer to them.
    """
    trials = [_trial("as given", first.to_arrays(), second.to_arrays(), first, limits)]
    columns, (cells, data) = _shared_columns(first, second), _shared_cells(first, second)
    size = columns.shape[1]
    more = ", ..." if len(data) > SHOWN_DATA else ""
    names = ", ".join(plain(name, 30) for name in data[:SHOWN_DATA])
    kinds = [
        (_with_costs, COST_FACTORS, columns, f"costs of {size} variable{'' if size == 1 else 's'}"),
        (_with_data, DATA_FACTORS, cells, f"data {names}{more}"),
    ]
    kinds = [kind for kind in kinds if kind[2].size]
    random = np.random.default_rng(limits.seed)
    for trial in range(count if kinds else 0):
        change, interval, places, text = kinds[trial % len(kinds)]
        factors = random.uniform(*interval, places.shape[1])
        arrays = [change(model, place, factors) for model, place in zip((first, second), places, strict=True)]
        trials.append(_trial(text, arrays[0], arrays[1], first, limits))
    return tuple(trials)


def _with_costs(model: IndexedModel, columns: Positions, factors: Vector) -> Arrays:
    arrays = model.to_arrays()
    cost = arrays.cost.copy()
    cost[columns] *= factors
    return replace(arrays, cost=cost)


def _with_data(model: IndexedModel, cells: Positions, factors: Vector) -> Arrays:
    values = model.cells[cells]
    # Whole numbers stay whole, because they may count things.
    products = np.where(values == np.round(values), np.round(values * factors), values * factors)
    return with_figures(model, "cells", cells, products).to_arrays()


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
        agree=compare_optima(*outcomes),
    )


def summarize_agreement(trials: Sequence[MatchTrial]) -> str:
    """Return ``yes`` if all trials agree, ``no`` if one does not, else ``open``."""
    answers = {trial.agree for trial in trials}
    return next((answer for answer in ("no", "open") if answer in answers), "yes")


def verify(study: ModelStudy, request: ops.VerifyRequest) -> VerifyResult:
    """Check values against the present scenario, or compare another model with it.

    A feasible point also helps later solves. A program runs in the sandbox. If it solves a model that can be captured,
    that model is compared. Otherwise its values are checked: those of that solve, of its output, or of a file
    ``solution.json``, ``solution.sol`` or ``solution.csv``.

    Raises:
        ModellingError: The file contains neither values nor a model, or the program fails or prints neither.
    """
    path = study.folder / request.file
    if is_program(path):
        return _verify_program(study, path, request.trials)
    if _is_model(path):
        return _match(study, open_model(path), request.trials, "model")
    claim = read_solution(study.present.model, path)
    return _check_point(study, claim, VerifyResult(source="values of a file"))


def _is_model(path: Path) -> bool:
    if path.suffix.lower() != ".json":
        return path.suffix.lower() not in POINT_ENDINGS
    data = load_json(read_bytes(path, "values or a model"), f"{plain(str(path), 200)}: values or a model")
    return isinstance(data, dict) and bool(MODEL_KEYS & data.keys()) and "values" not in data


def _check_point(study: ModelStudy, claim: ClaimedSolution, result: VerifyResult) -> VerifyResult:
    """Add the check of a point to a result."""
    scenario = study.present
    model = scenario.model
    broken = breaches(model.with_first_stage().without_flat_names(), claim.values)
    vector = point_of(model, claim)
    if not broken:
        study.pool.add_point(vector)
    study.solve(scenario)
    unit = model.objective.unit
    worth = scenario.known.arrays.worth_at(vector)
    claimed = None if claim.objective is None else Figure.exact(claim.objective, unit)
    holds = None
    if claim.objective is not None:
        holds = abs(claim.objective - worth) <= SAME * scale_of(worth)
    fields = {
        "feasible": not broken,
        "objective": Figure.exact(worth, unit),
        "claimed": claimed,
        "claim_holds": holds,
        "difference": _distance(scenario, vector, worth),
        "breaches": tuple(BreachInfo(**vars(violation)) for violation in broken[:SHOWN]),
        "objectives": objective_values(model, vector),
        "warnings": (*result.warnings, *_missing(model, claim)),
    }
    return solved(study, scenario, result.model_copy(update=fields))


def _distance(scenario: ModelScenario, point: Vector, worth: float) -> Figure:
    """Return the objective of the point minus the optimum."""
    low, high = scenario.known.outcome.span()
    best, unit = scenario.known.outcome.objective, scenario.model.objective.unit
    if best is None:
        return Figure(unit=unit)
    return Figure.between(worth - best, worth - high, worth - low, unit)


def _missing(model: IndexedModel, claim: ClaimedSolution) -> tuple[str, ...]:
    warnings = []
    missing = model.shape[1] - len(claim.values)
    if missing:
        warnings.append(f"{missing} of {model.shape[1]} variables have no value and count as 0")
    if claim.unknown:
        names = ", ".join(map(quoted, claim.unknown[:SHOWN_NAMES]))
        warnings.append(f"not variables of the model, and left out: {names}")
    return tuple(warnings)


def _match(study: ModelStudy, other_model: IndexedModel, trials: int, source: str) -> VerifyResult:
    """Compare two models."""
    entries = diff_entries(study, study.present, other_model, with_effects=False)
    results = match_optima(study.present.model, other_model, study.limits, trials)
    warnings: tuple[str, ...] = ()
    if len(results) == 1 and trials:
        warnings = ("the two models have no common names of data or costs, so none were perturbed",)
    return VerifyResult(
        source=source,
        scenario=study.label(study.changes),
        limits=study.limits,
        same_structure=not entries,
        same_optima=summarize_agreement(results),
        trials=results,
        differences=tuple(entries),
        warnings=warnings,
    )


def _verify_program(study: ModelStudy, path: Path, trials: int) -> VerifyResult:
    model = study.present.model
    # Few questions run a program, and capture imports the sandbox.
    capture = import_module("oragent.modelling.capture.program")
    captured: CapturedProgram = capture.capture_program(path, solve_s=study.limits.seconds or None)
    shown = plain(str(path), 200)
    if captured.outcome is not capture.ProgramOutcome.ENDED:
        last = captured.stderr.strip().splitlines()[-1:] or [captured.reason]
        raise ModellingError(f"{shown}: the program ended with: {plain(last[0], 200)}")
    solved_model = captured.models[-1] if captured.models else None
    result = VerifyResult(source="output of a program")
    claim = _written(model, captured, shown)
    if solved_model is not None and solved_model.model is not None:
        result = _match(study, solved_model.model, trials, "model and output of a program")
        claim = claim or _captured_point(model, solved_model)
    if claim is None and result.trials == ():
        raise ModellingError(
            f"{shown}: it solved no model that can be captured, and printed no value of a variable; print lines such "
            "as 'ship[Lyon, Nice] = 3', print JSON, or write solution.json"
        )
    if claim is None:
        return result
    return _check_point(study, claim, result)


def _written(model: IndexedModel, captured: "CapturedProgram", shown: str) -> ClaimedSolution | None:
    """Return the values in a solution file of the program, or else in its output."""
    for name, content in sorted(captured.files.items()):
        text = decode_leniently(content)
        with naming_file(f"{shown}, {name}"):
            if name.endswith(".json"):
                return parse_json(model, text)
            if name.endswith(".csv"):
                return parse_csv(model, text)
    return parse_output(model, captured.stdout)


def _captured_point(model: IndexedModel, captured: "CapturedModel") -> ClaimedSolution | None:
    """Return the point of a captured solve, if all its variables are variables of the model."""
    assert captured.model is not None
    if captured.claim.values is None:
        return None
    values = dict(zip(captured.model.column_names, captured.claim.values.tolist(), strict=True))
    if not values.keys() <= set(model.column_names):
        return None
    return ClaimedSolution(values, captured.claim.objective)

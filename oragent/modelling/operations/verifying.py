"""Operation ``verify``: compare a file of values, a program's output, or another model with the present scenario."""

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from oragent._base.errors import ModellingError
from oragent._base.text_decoding import decode_leniently
from oragent.modelling.data.arrays import Vector
from oragent.modelling.data.display import plain, quoted
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.tolerances import scale_of
from oragent.modelling.files.json_text import load_json
from oragent.modelling.files.model_files import naming_file, read_bytes
from oragent.modelling.opening import is_program, open_model
from oragent.modelling.operations import requests as ops
from oragent.modelling.operations.checking import diff_entries
from oragent.modelling.operations.matching import match_optima, summarize_agreement
from oragent.modelling.operations.points import (
    ClaimedSolution,
    parse_csv,
    parse_json,
    parse_output,
    point_of,
    read_solution,
)
from oragent.modelling.operations.results import BreachInfo, Figure, VerifyResult
from oragent.modelling.operations.stages import objective_values
from oragent.modelling.operations.state import ModelScenario, ModelStudy, solved
from oragent.modelling.solving.model_solving import breaches

if TYPE_CHECKING:
    from oragent.modelling.capture.program import CapturedModel, CapturedProgram


# Maximum number of breaches in one result, and of names in a warning.
SHOWN = 100
SHOWN_NAMES = 5
# Maximum relative difference between a claimed objective and the one of its point.
SAME = 1e-6
POINT_ENDINGS = (".sol", ".csv")
# Keys of a model in JSON.
MODEL_KEYS = {"variables", "version"}


def verify(study: ModelStudy, request: ops.VerifyRequest) -> VerifyResult:
    """Check values against the present scenario, or compare another model with it.

    A feasible point also helps later solves. A program runs in the sandbox. If it solves a model that can be captured,
    that model is compared. Otherwise its values are checked: those of that solve, of its output, or of a file
    ``solution.json``, ``solution.sol`` or ``solution.csv``.

    Raises:
        ModellingError: The file contains neither values nor a model, or the program fails or prints neither.
    """
    path = Path(request.file) if Path(request.file).is_absolute() else study.folder / request.file
    if is_program(path):
        return _verify_program(study, path, request.trials)
    if _is_model(path):
        return _match(study, study.present, open_model(path), request.trials, "model")
    claim = read_solution(study.present.model, path)
    return _check_point(study, study.present, claim, VerifyResult(source="values of a file"))


def _is_model(path: Path) -> bool:
    if path.suffix.lower() in POINT_ENDINGS:
        return False
    if path.suffix.lower() != ".json":
        return True
    data = load_json(read_bytes(path, "values or a model"), f"{plain(str(path), 200)}: values or a model")
    return isinstance(data, dict) and bool(MODEL_KEYS & data.keys()) and "values" not in data


def _check_point(
    study: ModelStudy, scenario: ModelScenario, claim: ClaimedSolution, result: VerifyResult
) -> VerifyResult:
    """Add the check of a point to a result."""
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
        "breaches": tuple(
            BreachInfo(
                part=violation.part,
                name=violation.name,
                value=violation.value,
                relation=violation.relation,
                limit=violation.limit,
            )
            for violation in broken[:SHOWN]
        ),
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


def _match(
    study: ModelStudy, scenario: ModelScenario, other_model: IndexedModel, trials: int, source: str
) -> VerifyResult:
    """Compare two models."""
    entries = diff_entries(study, scenario, other_model, with_effects=False)
    results = match_optima(scenario.model, other_model, study.limits, trials)
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
    scenario = study.present
    # Few questions run a program, and capture imports the sandbox.
    capture = import_module("oragent.modelling.capture.program")
    captured: CapturedProgram = capture.capture_program(path, solve_s=study.limits.seconds or None)
    shown = plain(str(path), 200)
    if captured.outcome is not capture.ProgramOutcome.ENDED:
        last = captured.stderr.strip().splitlines()[-1:] or [captured.reason]
        raise ModellingError(f"{shown}: the program ended with: {plain(last[0], 200)}")
    solved_model = captured.models[-1] if captured.models else None
    result = VerifyResult(source="output of a program")
    claim = _written(scenario.model, captured, shown)
    if solved_model is not None and solved_model.model is not None:
        result = _match(study, scenario, solved_model.model, trials, "model and output of a program")
        claim = claim or _captured_point(scenario.model, solved_model)
    if claim is None and result.trials == ():
        raise ModellingError(
            f"{shown}: it solved no model that can be captured, and printed no value of a variable; print lines such "
            "as 'ship[Lyon, Nice] = 3', print JSON, or write solution.json"
        )
    if claim is None:
        return result
    return _check_point(study, scenario, claim, result)


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

"""Verify a model from another source against the text of its problem.

A language model writes a checker from text and data only, or the user supplies one. The model is solved here. The
checker's rows, objective and optimum are compared with it, as for a program of ``formulate``.
"""

import asyncio
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from oragent._base.errors import ConfigError
from oragent.formulate import modules
from oragent.formulate.checks import Checked, CheckFinding, CheckStatus, Reason
from oragent.formulate.data import read_text
from oragent.formulate.folder import CASE, FormulationEnd, FormulationRequest, create_folder, run_in_folder
from oragent.formulate.formulation import FormulationResult, collect_result
from oragent.formulate.model_class import solve_model
from oragent.formulate.problem import ProblemText, find_function
from oragent.formulate.prompting import ORAGENT, CommentPool, PoolEntry
from oragent.formulate.running import Bounds, ExecutionResult, FormulationRunner, nest_columns
from oragent.formulate.session import FormulationAttempt, FormulationSession
from oragent.ledger.case import LedgerCase
from oragent.ledger.study import open_study
from oragent.llm.model import Model
from oragent.llm.model_settings import RuntimeSettings
from oragent.modelling.data.display import number
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.model_records import Row
from oragent.modelling.data.solution import Solution, SolveStatus
from oragent.modelling.files.model_files import read_point
from oragent.modelling.opening import is_program, open_model
from oragent.modelling.solving.model_solving import breaches, point_vector
from oragent.sandbox.sandbox import Sandbox

GIVEN = "given"
# Relative difference up to which two objectives are equal.
SAME = 1e-6


@dataclass(frozen=True)
class GivenModel:
    """Model to verify: a model, or a program with a function of the data.

    Attributes:
        milp: The model; None for a function.
        columns: Names of its variables, nested by family and label; empty for one level.
        source: Text of the program that has the function; empty for a model.
        point: Values by variable of the solution to verify; None for the optimum.
        notes: Notes on the capture of the model.
    """

    milp: IndexedModel | None = None
    columns: Mapping[str, Any] = field(default_factory=dict)
    source: str = ""
    point: Mapping[str, float] | None = None
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if (self.milp is None) == (not self.source):
            raise ConfigError("give either a model or a program that builds one")


def read_given(path: Path, solution: Path | None = None) -> GivenModel:
    """Read a model, or run the program that builds it, and read the values of a solution.

    Args:
        path: A model (``.json``, ``.lp``, ``.mps``, also with ``.gz``), a run's folder, or a Python program. A program
            that defines ``solve`` is called with the data; any other program runs as a script in the sandbox.
        solution: JSON with the values by variable, or ``.sol``.

    Raises:
        ModellingError: The file has no model, or no values.
        ProblemError: The program cannot be read.
    """
    point = None if solution is None else read_point(solution)
    if is_program(path):
        source = read_text(path, "a program")
        if find_function(source, "solve"):
            return GivenModel(source=source, point=point)
    notes: list[str] = []
    model = open_model(path, tell=notes.append)
    return GivenModel(model, nest_columns(model), point=point, notes=tuple(notes))


def verify_given(
    request: FormulationRequest,
    given_model: GivenModel,
    outputs: Path,
    *,
    checker: str = "",
    model: Model | None = None,
    replay: Path | None = None,
) -> tuple[Path, FormulationEnd]:
    """Verify a model against the text of a problem.

    Args:
        request: Problem, options, and settings of the language model.
        given_model: The model.
        outputs: Folder for the new folder.
        checker: Text of a checker; if it is empty, a language model writes one.
        model: Language model that replaces the one of the settings.
        replay: Folder whose replies are reused.

    Returns:
        Folder and result.

    Raises:
        ConfigError: Neither a checker nor a language model is given.
        ModellingError: The solution names a variable that the model does not have.
    """
    is_asking = not checker and replay is None
    if is_asking and model is None and request.runtime.model is None:
        raise ConfigError("verify needs a checker: add --model NAME to write one, or give one with --checker FILE")
    if given_model.milp is not None and given_model.point is not None:
        point_vector(given_model.milp, given_model.point)
    request = replace(request, origin="verify")
    opened: list[Path] = []

    def open_folder() -> Path:
        opened.append(create_folder(outputs, request))
        return opened[0]

    async def work(case: LedgerCase, runner: FormulationRunner) -> FormulationResult:
        return await verify_case(case, request, given_model, runner, checker)

    outcome = run_in_folder(open_folder, request, work, model=model, replay=replay, is_asking=is_asking)
    return opened[0], outcome


def prompt_author(request: FormulationRequest, given_model: GivenModel) -> str:
    """Return the prompt for the author of a checker of a model, who does not see the model."""
    with tempfile.TemporaryDirectory(prefix="oragent-verify-") as folder:
        return asyncio.run(_prompt_author(Path(folder), request, given_model))


async def _prompt_author(folder: Path, request: FormulationRequest, given_model: GivenModel) -> str:
    async def build(case: LedgerCase) -> str:
        session = FormulationSession(case, request.problem, request.options, runner, CommentPool())
        ran = await asyncio.to_thread(_run_given, given_model, request.problem, runner)
        session.attempts.append(FormulationAttempt(0, GIVEN, given_model.source, ran))
        if ran.milp is None:
            raise ConfigError(f"the program has no model: {ran.message}")
        return modules.prompt_checker(session)

    async with open_study(folder, RuntimeSettings(), is_asking=False) as study:
        with Sandbox(1) as box:
            runner = FormulationRunner(box, Bounds(request.options.time_s, solver=request.options.solver))
            (finished,) = await study.run_cases([CASE], build)
    if finished is None:
        raise ConfigError(study.stop_reason)
    return str(finished.result)


async def verify_case(
    case: LedgerCase, request: FormulationRequest, given_model: GivenModel, runner: FormulationRunner, checker: str = ""
) -> FormulationResult:
    """Verify a model as a case of a study."""
    session = FormulationSession(case, request.problem, request.options, runner, CommentPool(), compares_rules=True)
    ran = await asyncio.to_thread(_run_given, given_model, request.problem, runner)
    session.attempts.append(FormulationAttempt(0, GIVEN, given_model.source, ran, gap=request.options.gap))
    session.pool.append(PoolEntry(GIVEN, "; ".join(given_model.notes) or "the model that is verified", author=ORAGENT))
    if ran.milp is not None and checker:
        session.checker = checker
        await session.check_newest()
    elif ran.milp is not None:
        await modules.write_checker(session)
    answer = session.newest
    if ran.milp is not None and given_model.point is not None:
        assert ran.solution is not None
        answer = replace(answer, checked=_check_point(ran.milp, ran.solution, answer.checked))
    session.attempts[-1] = answer
    if request.options.metamorphic and _reads_data(given_model, request.problem) and not answer.has_failed:
        await session.test_newest()
    return collect_result(session, session.newest)


def _run_given(given_model: GivenModel, problem: ProblemText, runner: FormulationRunner) -> ExecutionResult:
    """Solve the model, and name its values in the checker's form."""
    if given_model.milp is None:
        ran = runner.run_program(given_model.source, problem.interface, problem.data)
        if ran.milp is None or ran.solution is None or given_model.point is None:
            return ran
        solution = place_point(ran.milp, given_model.point, ran.solution)
        return replace(ran, solution=solution, values=_fill(ran.columns, solution.values))
    milp = given_model.milp
    # CP-SAT solves logic over integers, such as that of its own programs, and HiGHS or SCIP solve the rest.
    is_logical = not milp.is_purely_linear and all(variable.is_integer for variable in milp.variable_records)
    bounds = runner.bounds
    solution = solve_model(milp, bounds.program_s, bounds.gap, bounds.solver, bounds.threads, is_schedule=is_logical)
    if given_model.point is not None:
        solution = place_point(milp, given_model.point, solution)
    columns = given_model.columns or {variable.name: variable.name for variable in milp.variable_records}
    return ExecutionResult(None, milp=milp, solution=solution, values=_fill(columns, solution.values), columns=columns)


def _fill(columns: Any, values: Mapping[str, float]) -> Any:
    if isinstance(columns, dict):
        return {key: _fill(item, values) for key, item in columns.items()}
    return values.get(columns)


def place_point(milp: IndexedModel, point: Mapping[str, float], solved: Solution) -> Solution:
    """Replace the optimum by a given point. It is optimal if its objective equals the optimum.

    Raises:
        ModellingError: The point names a variable that the model does not have.
    """
    vector, arrays = point_vector(milp, point), milp.to_staged_arrays()
    activities = dict(zip((row.name for row in milp.row_records), arrays.activities_at(vector).tolist(), strict=True))
    values = dict(zip(milp.flat_variable_names, vector.tolist(), strict=True))
    objective = arrays.worth_at(vector)
    slacks = {row.name: _room(row, activities[row.name]) for row in milp.row_records}
    best = solved.objective
    is_best = best is not None and abs(objective - best) <= SAME * max(1.0, abs(best))
    return Solution(
        solved.status if is_best else SolveStatus.FEASIBLE,
        objective=objective,
        bound=solved.bound,
        gap=None if best is None else abs(objective - best) / max(1.0, abs(objective)),
        values=values,
        activities=activities,
        slacks=slacks,
        solver=GIVEN,
    )


def _room(row: Row, activity: float) -> float:
    low, high = row.limits
    return max(0.0, min(activity - low, high - activity))


def _check_point(milp: IndexedModel, solution: Solution, checked: Checked | None) -> Checked:
    """Add findings for rows of the model that a given solution violates, and for a missed optimum."""
    checked = checked or Checked(CheckStatus.UNCHECKED, note="no checker")
    findings = [
        CheckFinding(Reason.VIOLATED, breach.name, f"the solution breaks the model itself: {breach.sentence}")
        for breach in breaches(milp, solution.values)
    ]
    if not findings and solution.status is SolveStatus.FEASIBLE and solution.gap:
        best = "" if solution.bound is None else f", the model allows {number(solution.bound)}"
        text = f"the solution is not optimal: its objective is {number(solution.objective or 0.0)}{best}"
        findings.append(CheckFinding(Reason.OBJECTIVE, "objective", text))
    if not findings:
        return checked
    return replace(checked, state=CheckStatus.FAILED, findings=(*findings, *checked.findings))


def _reads_data(given_model: GivenModel, problem: ProblemText) -> bool:
    return bool(given_model.source and problem.data)

"""Folder of a formulation: create it, run or resume in it, and write its results."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from oragent._base import files
from oragent._base.errors import ConfigError, ModellingError, StoreError
from oragent._base.settings import dump_settings
from oragent.formulate.data import column_names
from oragent.formulate.effects import (
    IncompletePlan,
    LimitEffect,
    find_alternative,
    measure_effects,
    plan_with_shortages,
)
from oragent.formulate.explain import add_sentences, break_down, plan_schedule, row_sentences, shown_families
from oragent.formulate.formulation import FormulationResult, formulate_case
from oragent.formulate.model_class import describe_class
from oragent.formulate.options import Options
from oragent.formulate.plan_tables import tabulate_plan, write_plan
from oragent.formulate.problem import Form, ProblemText, ProgramInterface
from oragent.formulate.prompting import CommentPool
from oragent.formulate.rules import describe_rule, read_rules
from oragent.formulate.running import Bounds, FormulationRunner
from oragent.formulate.session import PersonQuestion
from oragent.ledger.case import LedgerCase
from oragent.ledger.database import FORMAT, expect_format
from oragent.ledger.study import CHECKS, open_study
from oragent.llm.model import Model
from oragent.llm.model_settings import RuntimeSettings, build_runtime
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.solution import Solution, SolveStatus
from oragent.modelling.files.model_files import write
from oragent.modelling.files.solution_json import solution_dict, solution_from_dict
from oragent.modelling.solving.back_ends.registry import find_solver
from oragent.modelling.solving.model_solving import add_duals
from oragent.sandbox.sandbox import Sandbox

FormulationWork = Callable[[LedgerCase, FormulationRunner], Awaitable[FormulationResult]]
# Name of the only case of the study in the folder.
CASE = "formulation"
REQUEST = "formulate.json"
# Maximum number of characters of the problem text in the model file.
ABOUT_CHARACTERS = 2000


@dataclass(frozen=True)
class FormulationRequest:
    """Request of a formulation, stored so that the folder can be resumed.

    Attributes:
        runtime: Settings of the language models, and the budget; without a model for a replay.
        tolerance: Preset of the comparison with a reference.
        origin: Command that made the folder: ``formulate``, ``verify`` or ``rerun``.
    """

    problem: ProblemText
    options: Options
    runtime: RuntimeSettings = RuntimeSettings()  # noqa: RUF009  # a frozen value
    tolerance: str = "strict"
    origin: str = "formulate"


def create_folder(outputs: Path, request: FormulationRequest) -> Path:
    """Create the folder ``NAME/TIME`` below ``outputs`` and write the request.

    Raises:
        StoreError: The folder cannot be written.
    """
    folder = files.name_dated_folder(outputs / files.file_stem(request.problem.name, "problem"))
    try:
        folder.mkdir(parents=True)
        files.replace_file(folder / "problem.md", request.problem.text)
        files.replace_file(folder / "data.json", _json_text(request.problem.data))
        files.replace_file(folder / "interface.py", request.problem.interface.source + "\n")
        files.replace_file(folder / REQUEST, _json_text(_plain_request(request)))
    except OSError as problem:
        raise StoreError(f"cannot write into {folder}: {problem}") from None
    return folder


def read_request(folder: Path) -> FormulationRequest:
    """Read the request of a folder.

    Raises:
        StoreError: The folder is not a formulation, was edited by hand, or contains a link.
    """
    files.expect_no_links(folder)
    path = folder / REQUEST
    try:
        plain = json.loads(path.read_text(encoding="utf-8"))
        expect_format(plain.get("format"), path)
        interface = plain["interface"]
        options = dict(plain["options"])
        problem = ProblemText(
            plain["name"],
            (folder / "problem.md").read_text(encoding="utf-8"),
            json.loads((folder / "data.json").read_text(encoding="utf-8")),
            ProgramInterface(
                interface["function"],
                tuple(interface["parameters"]),
                interface["source"],
                Form(interface.get("form", Form.HEAD)),
            ),
            plain["background"],
            tuple(plain["notes"]),
            plain.get("units", {}),
        )
        options |= {"without": frozenset(options["without"]), "extra": tuple(options["extra"])}
        return FormulationRequest(
            problem,
            Options(**options),
            build_runtime(plain["runtime"], (), str(path)),
            plain["tolerance"],
            plain["origin"],
        )
    except OSError as problem:
        raise StoreError(f"no formulation at {folder}: {problem.strerror or problem} ({REQUEST})") from None
    except (KeyError, TypeError, ValueError) as problem:
        raise StoreError(f"{path} is not a file of a formulation: {type(problem).__name__} {problem}") from None


def write_result(folder: Path, outcome: "FormulationEnd") -> None:
    """Write the files of a finished formulation.

    Raises:
        StoreError: A file cannot be written.
    """
    result, solution = outcome.result, outcome.solution
    assert result is not None
    try:
        files.replace_file(folder / "result.json", _json_text(summarize_result(outcome)))
        files.replace_file(folder / "pool.jsonl", CommentPool(result.pool).to_lines())
        files.replace_file(folder / "program.py", result.program)
        files.replace_file(folder / "checker.py", result.checker)
        files.replace_file(
            folder / "checks.json",
            _json_text({"kept": result.kept, "checks": result.checks, "attempts": list(result.attempts)}),
        )
        plain = solution_dict(solution) if solution else {"status": result.status, "note": result.message}
        files.replace_file(folder / "solution.json", _json_text(plain))
        if result.milp is not None:
            milp = _add_meanings(result, folder)
            write(milp, folder / "milp.json")
            for form in ("mps", "lp"):
                try:
                    write(milp, folder / f"milp.{form}")
                except ModellingError:
                    # The LP format cannot express products of variables.
                    if milp.is_purely_linear:
                        raise
        if result.milp is not None and outcome.shown is not None:
            write_plan(folder, tabulate_plan(shown_families(result, outcome.shown), result.data))
    except OSError as problem:
        raise StoreError(f"cannot write into {folder}: {problem}; run.db in it contains the result") from None
    except ModellingError as problem:
        raise StoreError(f"{folder}: the model cannot be written: {problem}") from None


def summarize_result(outcome: "FormulationEnd") -> dict[str, Any]:
    """Return the content of ``result.json``: verdict, status, objective and costs."""
    result, solution = outcome.result, outcome.solution
    assert result is not None
    judgement = result.judgement
    parts, uses = break_down(result, outcome.shown)
    schedule = plan_schedule(result, outcome.shown)
    return {
        "verdict": str(judgement.verdict),
        "exit_code": judgement.verdict.exit_code,
        "reasons": list(judgement.reasons),
        "status": result.status,
        "class": "" if result.milp is None else describe_class(result.milp, result.is_schedule),
        "framework": result.framework,
        "aims": [asdict(aim) for aim in result.aims],
        # Value, unit and sense of the most important aim.
        "objective": result.objective,
        "unit": result.aims[0].unit if result.aims else "",
        "sense": str(result.aims[0].sense) if result.aims else None,
        "bound": None if solution is None else solution.bound,
        "gap": None if solution is None else solution.gap,
        "values": result.values,
        "schedule": [] if schedule is None else [asdict(bar) for bar in schedule.bars],
        "objective_parts": {part.name: part.value for part in parts},
        "limits": [asdict(table) for table in uses],
        "effects": [asdict(effect) for effect in outcome.effects],
        "shortages": [asdict(shortage) for shortage in outcome.incomplete.shortages] if outcome.incomplete else [],
        "alternative": dict(outcome.alternative),
        "readings": [dict(reading) for reading in result.readings],
        "comparison": _describe_comparison(result),
        "rules": [describe_rule(rule) for rule in read_rules(result.checks)],
        "disputes": [asdict(dispute) for dispute in result.disputes],
        "withdrawn": [asdict(dispute) for dispute in result.withdrawn],
        "unmodelled": [list(pair) for pair in result.unmodelled],
        "calls": result.spent.model_calls,
        "tokens": result.spent.tokens,
        "money": result.spent.money,
        "unpriced": result.unpriced,
    }


def _describe_comparison(result: FormulationResult) -> dict[str, Any] | None:
    """Return the comparison with the checker without its sentences and rules; None if nothing was compared."""
    if result.checks is None:
        return None
    return {name: value for name, value in result.checks.items() if name not in ("sentences", "rules", "aims")}


def _add_meanings(result: FormulationResult, folder: Path) -> IndexedModel:
    """Return the model with the text of the problem and the sentence of each row as meanings.

    Among several aims, the model's own objective is the last one, which gets its unit.
    """
    assert result.milp is not None
    milp, sentences = result.milp, (result.checks or {}).get("sentences") or {}
    rows = tuple(replace(row, meaning=row.meaning or sentences.get(row.name, "")) for row in milp.row_records)
    about = " ".join((folder / "problem.md").read_text(encoding="utf-8").split())
    objective = milp.objective_record
    if len(result.aims) > 1 and not result.is_weighted:
        objective = replace(objective, unit=objective.unit or result.aims[-1].unit)
    return replace(milp.with_records(rows=rows, objective=objective), meaning=milp.meaning or about[:ABOUT_CHARACTERS])


def _plain_request(request: FormulationRequest) -> dict[str, Any]:
    options = asdict(request.options)
    options |= {"without": sorted(request.options.without), "extra": list(request.options.extra)}
    return {
        "format": FORMAT,
        "name": request.problem.name,
        "background": request.problem.background,
        "notes": list(request.problem.notes),
        "units": request.problem.units,
        "interface": asdict(request.problem.interface),
        "options": options,
        "runtime": dump_settings(request.runtime),
        "tolerance": request.tolerance,
        "origin": request.origin,
    }


def _json_text(value: Any) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False, default=str) + "\n"


@dataclass(frozen=True)
class FormulationEnd:
    """End of a formulation: its result, or the reason why it has none."""

    result: FormulationResult | None
    # Solution of the model, with duals.
    solution: Solution | None = None
    # Reason why the formulation did not finish.
    reason: str = ""
    # Effects of limits, for an optimal solution.
    effects: tuple[LimitEffect, ...] = ()
    # Plan with shortages, for an infeasible model.
    incomplete: IncompletePlan | None = None
    # Values of another optimal plan, for decisions that differ.
    alternative: Mapping[str, float] = field(default_factory=dict)

    @property
    def shown(self) -> Solution | None:
        """Solution whose values are shown; the best incomplete plan for an infeasible model."""
        if self.incomplete is not None:
            return self.incomplete.solution
        if self.solution is not None and self.solution.status.has_point:
            return self.solution
        return None


def run_formulation(
    folder: Path | Callable[[], Path],
    request: FormulationRequest,
    *,
    model: Model | None = None,
    replay: Path | None = None,
    fresh: bool = False,
    bounds: Bounds | None = None,
    ask_person: PersonQuestion | None = None,
) -> FormulationEnd:
    """Formulate the problem of a folder, or resume it.

    Args:
        folder: The folder; or a function that creates it after the model's first answer, so that a missing key
            leaves no folder.
        request: Problem, options and settings.
        model: Model that replaces the one of the request.
        replay: Folder whose replies are reused.
        fresh: Whether prompts that the replayed folder does not have are sent to a model.
        bounds: Limits of each program.
        ask_person: Called for a clarification before the first program is solved.

    Raises:
        OragentError: The formulation cannot start.
    """
    is_asking = fresh or replay is None
    if model is None and is_asking and request.runtime.model is None:
        raise ConfigError("a formulation needs a language model: add --model NAME, or --replay FOLDER")

    async def work(case: LedgerCase, runner: FormulationRunner) -> FormulationResult:
        return await formulate_case(case, request.problem, request.options, runner, ask_person)

    return run_in_folder(folder, request, work, model=model, replay=replay, is_asking=is_asking, bounds=bounds)


def run_in_folder(
    folder: Path | Callable[[], Path],
    request: FormulationRequest,
    work: FormulationWork,
    *,
    model: Model | None = None,
    replay: Path | None = None,
    is_asking: bool = True,
    bounds: Bounds | None = None,
) -> FormulationEnd:
    """Compute a result in a folder, record it and write the files.

    Args:
        folder: Folder, or a function that creates it.
        request: Problem, options and settings.
        work: Computes the result.
        model: Model that replaces the one of the settings.
        replay: Folder whose replies are reused.
        is_asking: Whether the model of the settings may be called.
        bounds: Limits of each program.
    """
    options = request.options
    if options.solver:
        find_solver(options.solver).version()
    program_bounds = bounds or Bounds(options.time_s, gap=options.gap, solver=options.solver, threads=options.threads)
    return asyncio.run(_run_in_folder(folder, request, work, model, replay, is_asking, program_bounds))


async def _run_in_folder(
    home: Path | Callable[[], Path],
    request: FormulationRequest,
    work: FormulationWork,
    model: Model | None,
    replay: Path | None,
    is_asking: bool,
    bounds: Bounds,
) -> FormulationEnd:
    async with AsyncExitStack() as stack:
        opening = open_study(home, request.runtime, model=model, replay=replay, is_asking=is_asking)
        study = await stack.enter_async_context(opening)
        box = stack.enter_context(Sandbox(1))
        runner = FormulationRunner(box, bounds)

        async def run_case(case: LedgerCase) -> object:
            result = await work(case, runner)
            # The call that checks the connection costs too.
            replies = [*study.replies.case_replies(case.name), *study.replies.case_replies(CHECKS)]
            unpriced = sum(reply.money is None for reply in replies)
            return replace(result, spent=replace(study.spent, seconds=0.0), unpriced=unpriced).to_plain()

        (finished,) = await study.run_cases([CASE], run_case)
        if finished is None:
            return FormulationEnd(None, reason=study.stop_reason)
        return finalize(study.folder, FormulationResult.from_plain(finished.result))


def finalize(folder: Path, result: FormulationResult) -> FormulationEnd:
    """Compute duals at the checked point and effects of limits, and write the files of the folder."""
    outcome = price_result(result)
    write_result(folder, outcome)
    return outcome


def price_result(result: FormulationResult) -> FormulationEnd:
    """Compute duals at the checked point, effects of limits and shortages, without writing files."""
    if result.milp is None or result.solution is None:
        return FormulationEnd(result)
    solution = solution_from_dict(result.solution)
    if result.milp.is_purely_linear:
        solution = add_duals(result.milp, solution)
    milp = add_sentences(result.milp, row_sentences(result))
    incomplete = plan_with_shortages(milp) if solution.status is SolveStatus.INFEASIBLE else None
    decisions = column_names(result.columns) or set(solution.values)
    return FormulationEnd(
        result,
        solution,
        effects=measure_effects(milp, solution),
        incomplete=incomplete,
        alternative=find_alternative(milp, solution, decisions),
    )

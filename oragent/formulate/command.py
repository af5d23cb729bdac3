"""What ``oragent formulate`` does: begin a folder, or go on with one, and show what came of it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from oragent._base.errors import ConfigError, StoreError
from oragent._base.plain import plain
from oragent.formulate.decided import decided, objective_unit
from oragent.formulate.explain import explained
from oragent.formulate.folder import CASE, FormulationRequest, begin, is_formulation, read_request
from oragent.formulate.formulation import FormulationResult
from oragent.formulate.launch import FormulationEnd, launch, price_result, settle
from oragent.formulate.methods import METHODS
from oragent.formulate.options import ALL, ROLES, STAND_INS, Options, chosen, known
from oragent.formulate.pages import write_page
from oragent.formulate.problem import MOST_CHARACTERS, read_problem
from oragent.formulate.texts import read_text
from oragent.ledger.study import finished_results
from oragent.llm.model import Model
from oragent.llm.runtime_settings import RuntimeSettings, RuntimeWords
from oragent.llm.trust import expect_trusted, model_demands, remember_demands
from oragent.milp.plain import amount, rounded
from oragent.milp.remark import Topic
from oragent.milp.solution import Solution, SolveStatus
from oragent.milp.tables import blocks, printed
from oragent.milp.verdict import TOLERANCES
from oragent.report.pages.format import money
from oragent.report.pages.text import fitted_lines, one_line

MOST = 6  # values of a program, up to which they are printed beside its objective
MOST_LINES, ENDS = 40, 5  # that are printed in all, and those before and after the answer: folder, files, report
NO_WORDS = RuntimeWords()
FAILED = 3  # exit code where there is no answer


@dataclass(frozen=True)
class FormulateRequest:
    """What the command line says.

    Attributes:
        problem: File with the problem; None for a replay.
        data, interface: Further files.
        outputs: Where folders go.
        options: By name, those that are set.
        preset: Of options; empty for the default one, or that of what is replayed.
        tolerance: Preset by which checks compare; empty for the preset's own.
        replay: Folder whose replies are given again.
        edit: Module and file with what a person says in its place.
        runtime: Settings of models and budget.
    """

    problem: Path | None
    outputs: Path
    data: tuple[Path, ...] = ()
    interface: Path | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    preset: str = ""
    tolerance: str = ""
    replay: Path | None = None
    edit: tuple[str, Path] | None = None
    runtime: RuntimeWords = field(default_factory=RuntimeWords)


def formulate_file(wanted: FormulateRequest, console: Console, model: Model | None = None) -> int:
    """Formulate a problem from its files and show what came of it.

    Returns:
        Exit code: 0 with an answer, 3 without one.

    Raises:
        OragentError: One of the files or settings is wrong, or the model cannot be asked.
    """
    request = _request(wanted)
    if model is None and wanted.replay is None and request.runtime.model is None:
        raise ConfigError("nobody is asked: name a model with --model, or a folder to --replay")
    if wanted.replay is not None and not (wanted.replay / "run.db").is_file():
        raise StoreError(f"no formulation to replay at {wanted.replay}: expected run.db in it")
    remember_demands(model_demands(_runtime(wanted).every_model))
    opened: list[Path] = []

    def open_folder() -> Path:
        opened.append(begin(wanted.outputs, request))
        console.print(f"formulation: {opened[0]}", highlight=False, soft_wrap=True, markup=False)
        return opened[0]

    if len(request.problem.text) > MOST_CHARACTERS:
        told = f"the text has {len(request.problem.text):,} characters: prompts have head and tail, {MOST_CHARACTERS:,}"
        console.print(Text(told, style="yellow"), soft_wrap=True)
    outcome = launch(
        open_folder, request, model=model, replay=wanted.replay,
        fresh=_runtime(wanted).model is not None or model is not None,
    )  # fmt: skip
    return _end(opened[0], request, outcome, console)


def resume(
    folder: Path, console: Console, model: Model | None = None, runtime: RuntimeWords = NO_WORDS, trust: bool = False
) -> int:
    """Go on with a formulation that was stopped or killed: what was answered is not asked again.

    Args:
        folder: Folder of the formulation.
        console: Where it prints.
        model: Model in place of that of the folder.
        runtime: Settings that change those of the folder, such as a larger budget.
        trust: Whether the user agrees to addresses, commands and keys that the folder names.

    Raises:
        UntrustedError: The folder names an address, a command or a key that its user did not.
    """
    request = read_request(folder)
    request = replace(request, runtime=runtime.read(ROLES, request.runtime))
    if model is None and (done := _done(folder)) is not None:
        return _end(folder, request, settle(folder, done), console)
    demands = list(model_demands(request.runtime.every_model))
    if not trust and model is None:
        expect_trusted(folder, demands, runtime.overrides)
    remember_demands(demands)
    return _end(folder, request, launch(folder, request, model=model), console)


def show(folder: Path, console: Console) -> int:
    """Show a formulation that is done; its folder stays as it is."""
    outcome = price_result(_finished(folder))
    assert outcome.found is not None
    _tell(outcome, console)
    page = folder / "report.html"
    told = page if page.is_file() else f"none yet; 'oragent report {folder}' writes it"
    console.print(f"report: {told}", highlight=False, markup=False, soft_wrap=True)
    return 0 if outcome.found.answer else FAILED


def rewrite(folder: Path) -> Path:
    """Write the files and the page of a formulation that is done anew; the page's path."""
    outcome = settle(folder, _finished(folder))
    assert outcome.found is not None
    return write_page(folder, read_request(folder), outcome.found, outcome.solution)


def _finished(folder: Path) -> FormulationResult:
    if not is_formulation(folder):
        raise StoreError(f"no formulation at {folder}: expected formulate.json in it")
    done = _done(folder)
    if done is None:
        raise StoreError(f"the formulation at {folder} is not finished: go on with it by --resume")
    return done


def _done(folder: Path) -> FormulationResult | None:
    """What came of a formulation; None where it is not finished."""
    results = finished_results(folder)
    return FormulationResult.from_plain(results[CASE]) if CASE in results else None


def _request(wanted: FormulateRequest) -> FormulationRequest:
    edits = {}
    if wanted.edit is not None:
        module, path = wanted.edit
        edits = {known(module, EDITABLE, "module"): read_text(path, "what a person says")}
    if wanted.replay is not None and wanted.problem is None:
        before = read_request(wanted.replay)
        changes = {name: value for name, value in wanted.options.items() if value is not None}
        options = chosen(wanted.preset, **changes) if wanted.preset else replace(before.options, **changes)
        known(options.method, METHODS, "method")
        tolerance, runtime = wanted.tolerance or before.tolerance, _runtime(wanted)
        if runtime.model is None:  # nobody is asked: the settings say who was
            runtime = replace(before.runtime, budget=runtime.budget)
        return FormulationRequest(before.problem, _with(options, wanted, edits), runtime, tolerance)
    if wanted.problem is None:
        raise ConfigError("name a file with a problem in words, or a folder to --replay")
    problem = read_problem(wanted.problem, wanted.data, wanted.interface)
    name = re.sub(r"[^\w.-]+", "-", problem.name).strip("-.") or "problem"
    given = {"battery": True} | {name: value for name, value in wanted.options.items() if value is not None}
    options = _with(chosen(wanted.preset or "default", **given), wanted, edits)
    known(options.method, METHODS, "method")
    return FormulationRequest(
        type(problem)(name, problem.text, problem.data, problem.interface),
        options,
        _runtime(wanted),
        wanted.tolerance or "strict",
    )


def _runtime(wanted: FormulateRequest) -> RuntimeSettings:
    """Settings of models and budget that the command line names."""
    runtime = wanted.runtime.read(ROLES)
    if runtime.model_name in (*STAND_INS, ALL):
        told = f"{runtime.model_name!r} knows the right models of sets alone: use it in 'oragent bench formulate'"
        raise ConfigError(told)
    return runtime


EDITABLE = (
    "terminology", "semantic_encoder", "formalization", "compiler", "reviewer", "supervisor_forward", "counterfactual",
)  # fmt: skip


def _with(options: Options, wanted: FormulateRequest, edits: Mapping[str, str]) -> Options:
    own = {name: getattr(options, name) for name in Options.__dataclass_fields__}
    if wanted.tolerance:
        tolerance = TOLERANCES[known(wanted.tolerance, TOLERANCES, "tolerance")]
        own |= {"relative": tolerance.rel, "absolute": tolerance.abs}
    return Options(**own | {"edits": {**options.edits, **edits}})


def _end(folder: Path, request: FormulationRequest, outcome: FormulationEnd, console: Console) -> int:
    if outcome.found is None:
        console.print(Text(f"unfinished: {one_line(outcome.reason)}", style="bold red"), soft_wrap=True)
        told = f"everything so far is kept: oragent formulate --resume {folder}"
        console.print(told, highlight=False, markup=False, soft_wrap=True)
        return FAILED
    page = write_page(folder, request, outcome.found, outcome.solution)
    _tell(outcome, console)
    if outcome.found.milp is not None:
        told = "all values: solution.json; rows, programs and checks: report.html, which is beside it"
        console.print(told, highlight=False, markup=False, soft_wrap=True)
    console.print(f"report: {page}", highlight=False, markup=False, soft_wrap=True)
    return 0 if outcome.found.answer else FAILED


def _tell(outcome: FormulationEnd, console: Console) -> None:
    """Print what came of it, the decisions first; with the lines before and after it at most 40 lines."""
    found, width = outcome.found, console.width
    assert found is not None
    findings = [
        line
        for attempt in found.attempts
        for line in (f"program {attempt['number'] + 1}: {_attempt(attempt)}", *_findings(attempt))
    ]
    before = fitted_lines(_headline(outcome), width, 4)
    after = [
        *fitted_lines(_meaning(found, outcome.solution), width, 6),
        *fitted_lines(findings, width, 8),
        *fitted_lines(_trials(found), width, 4),
    ]
    lines = [*before, *_decisions(found, outcome.solution, width, MOST_LINES - ENDS - len(before) - len(after)), *after]
    for text in lines:
        console.print(Text(text), soft_wrap=True)


def _headline(outcome: FormulationEnd) -> list[str]:
    found = outcome.found
    assert found is not None
    milp, solution = found.milp, outcome.solution
    if milp is None or solution is None:
        return [f"no solution: {found.status}: {one_line(found.message, 300)}"]
    value = "" if solution.objective is None else f" {amount(solution.objective)}"
    lines = [f"{solution.status}{value} {plain(objective_unit(found.pool))}".rstrip() + f" ({milp.sense})"]
    if solution.status is SolveStatus.FEASIBLE and solution.bound is not None and solution.gap is not None:
        lines.append(f"bound     {rounded(solution.bound)}, gap {solution.gap:.2%}: not proven to be the best")
    if not found.answer and found.message:
        lines.append(f"no answer: {one_line(found.message, 300)}")
    return [*lines, f"model     {len(milp.variables):,} variables, {len(milp.rows):,} rows"]


def _decisions(found: FormulationResult, solution: Solution | None, width: int, lines: int) -> list[str]:
    if found.milp is None or solution is None or not solution.status.has_point:
        return []
    return printed(blocks(decided(found, found.milp, solution)), width, lines)


def _meaning(found: FormulationResult, solution: Solution | None) -> list[str]:
    """What binds, or why there is no optimum."""
    if found.milp is None or solution is None:
        return []
    topics = (Topic.BINDING, Topic.CONFLICT, Topic.RAY, Topic.NEAREST)
    return [f"- {remark.text}" for remark in explained(found.milp, solution) if remark.topic in topics]


def _findings(attempt: Mapping[str, Any]) -> list[str]:
    return [f"  {one_line(finding['text'], 600)}" for finding in (attempt["checks"] or {}).get("findings", [])]


def _trials(found: FormulationResult) -> list[str]:
    """What the checks and the properties say, and what was spent."""
    lines = [f"checks    {_checks(found)}"]
    tried = [one for one in found.battery if one["holds"] is not None]
    if found.battery and not tried:
        lines.append(f"battery   not tried: {one_line(found.battery[0]['note'], 200)}")
    failed = [one for one in tried if not one["holds"]]
    lines += [f"FAILS     {one['property']} ({one['datum']}) {one['note']}" for one in failed[:2]]
    if tried:
        lines.append(f"battery   {len(tried) - len(failed)} of {len(tried)} properties hold")
    spent = found.spent
    lines.append(f"spent     {spent.model_calls} calls, {spent.tokens:,} tokens, {money(spent.money)}")
    return [plain(line) for line in lines]


def _attempt(attempt: Mapping[str, Any]) -> str:
    end = attempt["verdict"] or attempt["status"]
    objective = "" if attempt["objective"] is None else f", objective {attempt['objective']:.10g}"
    leaves = _leaves(attempt["values"])
    values = ", ".join(f"{name} = {value}" for name, value in leaves) if len(leaves) <= MOST else ""
    message = one_line(attempt["message"], 200)
    return plain(
        f"{end}{objective}{f' at {values}' if values and objective else ''}{f': {message}' if message else ''}"
    )


def _checks(found: FormulationResult) -> str:
    if found.checks is None:
        return "unchecked"
    note = f" ({one_line(found.checks['note'], 200)})" if found.checks["note"] else ""
    sure = "; its rows, solved, come to the same" if found.checks["confirmed"] else ""
    return f"{found.checks['state']}: {found.checks['met']} of {found.checks['count']} hold{sure}{note}"


def _leaves(values: Any, name: str = "") -> list[tuple[str, str]]:
    if isinstance(values, dict):
        return [leaf for key, item in values.items() for leaf in _leaves(item, f"{name}[{key}]" if name else str(key))]
    if isinstance(values, list):
        return [leaf for place, item in enumerate(values) for leaf in _leaves(item, f"{name}[{place}]")]
    text = f"{values:.10g}" if isinstance(values, int | float) and not isinstance(values, bool) else str(values)
    return [(name, text)]

"""What ``oragent formulate`` does: begin a folder, or go on with one, and show what came of it."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console

from oragent._base.errors import ConfigError, StoreError
from oragent._base.files import FolderKind, file_stem, kind_of_folder
from oragent._base.plain import escape_text, one_line
from oragent._base.terminal import print_line
from oragent.formulate.audit import find_unclear_figures
from oragent.formulate.checks import CheckStatus
from oragent.formulate.data import list_data_notes, read_text
from oragent.formulate.explain import group_decisions, objective_unit
from oragent.formulate.folder import (
    CASE,
    FormulationEnd,
    FormulationRequest,
    create_folder,
    finalize,
    price_result,
    read_request,
    run_formulation,
)
from oragent.formulate.formulation import FormulationResult
from oragent.formulate.methods import METHODS
from oragent.formulate.options import ALL, ROLES, STAND_INS, FormulateCommand, Options, check_known, choose_options
from oragent.formulate.pages import EXPLAIN_S, describe_bound, write_page
from oragent.formulate.problem import MOST_CHARACTERS, ProblemText, read_problem
from oragent.formulate.requirements import NO_ROW, has_same_optimum
from oragent.ledger.study import finished_results
from oragent.llm.keys import expect_trusted, model_demands, remember_demands
from oragent.llm.model import Model
from oragent.llm.model_settings import RuntimeSettings, RuntimeWords
from oragent.milp.decisions import layout_families, print_tables
from oragent.milp.explanation import Topic, explain, summarize_remarks
from oragent.milp.plain import figure
from oragent.milp.solution import TOLERANCES, Solution
from oragent.report.pages.text import fitted_lines, format_money

# values of a program, up to which they are printed beside its objective
MOST = 6
# sentences on binding rows, behind the one that counts them all
MOST_BINDING = 3
# that are printed in all, and those before and after the answer: folder, files, report
MOST_LINES, ENDS = 40, 5
NO_WORDS = RuntimeWords()
# exit code where there is no answer
FAILED = 3


EDITABLE = (
    "terminology",
    "semantic_encoder",
    "formalization",
    "compiler",
    "reviewer",
    "supervisor_forward",
    "counterfactual",
)


def formulate_file(command: FormulateCommand, console: Console, model: Model | None = None) -> int:
    """Formulate a problem from its files and show what came of it.

    Returns:
        Exit code: 0 with an answer, 3 without one.

    Raises:
        OragentError: One of the files or settings is wrong, or the model cannot be asked.
    """
    request = _build_request(command)
    if model is None and command.replay is None and request.runtime.model is None:
        raise ConfigError("nobody is asked: name a model with --model, or a folder to --replay")
    if command.replay is not None and not (command.replay / "run.db").is_file():
        raise StoreError(f"no formulation to replay at {command.replay}: expected run.db in it")
    remember_demands(model_demands(_read_runtime(command).every_model))
    opened: list[Path] = []

    def open_folder() -> Path:
        opened.append(create_folder(command.outputs, request))
        print_line(console, f"formulation: {opened[0]}")
        return opened[0]

    if len(request.problem.text) > MOST_CHARACTERS:
        notice = (
            f"the text has {len(request.problem.text):,} characters: prompts have head and tail, {MOST_CHARACTERS:,}"
        )
        print_line(console, notice, "yellow")
    if unclear := find_unclear_figures(request.problem.text):
        whole, part = unclear[0].replace(".", ""), f"{float(unclear[0]):g}"
        notice = f"the text writes {', '.join(unclear[:5])}, which can be read in two ways: write {whole}, or {part}"
        print_line(console, notice, "yellow")
    for path in command.data:
        for note in list_data_notes(path):
            print_line(console, note, "yellow")
    outcome = run_formulation(
        open_folder,
        request,
        model=model,
        replay=command.replay,
        fresh=_read_runtime(command).model is not None or model is not None,
    )
    return _finish(opened[0], request, outcome, console)


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
    request = replace(request, runtime=runtime.read_runtime(ROLES, request.runtime))
    if model is None and (finished := _read_result(folder)) is not None:
        return _finish(folder, request, finalize(folder, finished), console)
    demands = list(model_demands(request.runtime.every_model))
    if not trust and model is None:
        expect_trusted(folder, demands, runtime.overrides)
    remember_demands(demands)
    return _finish(folder, request, run_formulation(folder, request, model=model), console)


def show_formulation(folder: Path, console: Console) -> int:
    """Show a formulation that is done; its folder stays as it is."""
    outcome = price_result(_expect_finished(folder))
    assert outcome.result is not None
    _print_outcome(outcome, console)
    page = folder / "report.html"
    page_text = page if page.is_file() else f"none yet; 'oragent report {folder}' writes it"
    print_line(console, f"report: {page_text}")
    if outcome.result.answer:
        return 0
    return FAILED


def rewrite_page(folder: Path) -> Path:
    """Write the page of a formulation that is done anew, from its records; the page's path."""
    outcome = price_result(_expect_finished(folder))
    assert outcome.result is not None
    return write_page(folder, read_request(folder), outcome.result, outcome.solution)


def _expect_finished(folder: Path) -> FormulationResult:
    if kind_of_folder(folder) is not FolderKind.FORMULATION:
        raise StoreError(f"no formulation at {folder}: expected formulate.json in it")
    result = _read_result(folder)
    if result is None:
        raise StoreError(f"the formulation at {folder} is not finished: go on with it by --resume")
    return result


def _read_result(folder: Path) -> FormulationResult | None:
    """What came of a formulation; None where it is not finished."""
    results = finished_results(folder)
    if CASE in results:
        return FormulationResult.from_plain(results[CASE])
    return None


def _build_request(command: FormulateCommand) -> FormulationRequest:
    edits = {}
    if command.edit is not None:
        module, path = command.edit
        edits = {check_known(module, EDITABLE, "module"): read_text(path, "what a person says")}
    if command.replay is not None and command.problem is None:
        replayed = read_request(command.replay)
        changes = {name: value for name, value in command.options.items() if value is not None}
        options = choose_options(command.preset, **changes) if command.preset else replace(replayed.options, **changes)
        check_known(options.method, METHODS, "method")
        tolerance, runtime = command.tolerance or replayed.tolerance, _read_runtime(command)
        # nobody is asked: the settings say who was
        if runtime.model is None:
            runtime = replace(replayed.runtime, budget=runtime.budget)
        return FormulationRequest(replayed.problem, _apply_tolerance(options, command, edits), runtime, tolerance)
    if command.problem is None:
        raise ConfigError("name a file with a problem in words, or a folder to --replay")
    problem = read_problem(command.problem, command.data, command.interface)
    name = file_stem(problem.name, "problem")
    named_options = {"battery": True} | {name: value for name, value in command.options.items() if value is not None}
    options = _apply_tolerance(choose_options(command.preset or "default", **named_options), command, edits)
    check_known(options.method, METHODS, "method")
    problem = ProblemText(name, problem.text, problem.data, problem.interface)
    return FormulationRequest(problem, options, _read_runtime(command), command.tolerance or "strict")


def _read_runtime(command: FormulateCommand) -> RuntimeSettings:
    """Settings of models and budget that the command line names."""
    runtime = command.runtime.read_runtime(ROLES)
    if runtime.model_name in (*STAND_INS, ALL):
        complaint = f"{runtime.model_name!r} knows the right models of sets alone: use it in 'oragent bench formulate'"
        raise ConfigError(complaint)
    return runtime


def _apply_tolerance(options: Options, command: FormulateCommand, edits: Mapping[str, str]) -> Options:
    if command.tolerance:
        tolerance = TOLERANCES[check_known(command.tolerance, TOLERANCES, "tolerance")]
        options = replace(options, relative=tolerance.rel, absolute=tolerance.abs)
    return replace(options, edits={**options.edits, **edits})


def _finish(folder: Path, request: FormulationRequest, outcome: FormulationEnd, console: Console) -> int:
    if outcome.result is None:
        print_line(console, f"unfinished: {one_line(outcome.reason)}", "bold red")
        print_line(console, f"everything so far is kept: oragent formulate --resume {folder}")
        return FAILED
    page = write_page(folder, request, outcome.result, outcome.solution)
    _print_outcome(outcome, console)
    if outcome.result.milp is not None:
        print_line(console, "all values: solution.json; rows, programs and checks: report.html")
    print_line(console, f"report: {page}")
    if outcome.result.answer:
        return 0
    return FAILED


def _print_outcome(outcome: FormulationEnd, console: Console) -> None:
    """Print what came of it, the decisions first; with the lines before and after it at most 40 lines."""
    result, width = outcome.result, console.width
    assert result is not None
    findings = [
        text_line
        for attempt in result.attempts
        for text_line in (
            f"program {attempt['number'] + 1}: {_attempt_text(attempt)}",
            *(f"  {one_line(finding['text'], 600)}" for finding in (attempt["checks"] or {}).get("findings", [])),
        )
    ]
    head_lines = fitted_lines(_headlines(outcome), width, 4)
    meaning_lines = fitted_lines(_meaning_lines(result, outcome.solution), width, 8)
    finding_lines = fitted_lines(findings, width, 8)
    unused = 16 - len(meaning_lines) - len(finding_lines)
    tail_lines = [
        *fitted_lines(_open_lines(result, width), width, 6 + unused),
        *meaning_lines,
        *finding_lines,
        *fitted_lines(_trial_lines(result), width, 4),
    ]
    room = MOST_LINES - ENDS - len(head_lines) - len(tail_lines)
    for text in [*head_lines, *_decision_lines(result, outcome.solution, width, room), *tail_lines]:
        print_line(console, text)


def _headlines(outcome: FormulationEnd) -> list[str]:
    result = outcome.result
    assert result is not None
    milp, solution = result.milp, outcome.solution
    if milp is None or solution is None:
        return [f"no solution: {result.status}: {one_line(result.message, 300)}"]
    value = "" if solution.objective is None else f" {figure(solution.objective)}"
    lines = [f"{solution.status}{value} {escape_text(objective_unit(result.pool))}".rstrip() + f" ({milp.sense})"]
    if bound := describe_bound(solution):
        lines.append(f"bound     {bound}: not proven to be the best")
    if not result.answer and result.message:
        lines.append(f"no answer: {one_line(result.message, 300)}")
    return [*lines, f"model     {len(milp.variables):,} variables, {len(milp.rows):,} rows"]


def _decision_lines(result: FormulationResult, solution: Solution | None, width: int, lines: int) -> list[str]:
    if result.milp is None or solution is None or not solution.status.has_point:
        return []
    return print_tables(layout_families(group_decisions(result, result.milp, solution)), width, lines)


def _meaning_lines(result: FormulationResult, solution: Solution | None) -> list[str]:
    """What binds, or why there is no optimum."""
    if result.milp is None or solution is None:
        return []
    topics = (Topic.BINDING, Topic.CONFLICT, Topic.RAY, Topic.NEAREST)
    remarks = summarize_remarks(explain(result.milp, solution, EXPLAIN_S), MOST_BINDING)
    return [f"- {remark.text}" for remark in remarks if remark.topic in topics]


def _open_lines(result: FormulationResult, width: int) -> list[str]:
    """Return readings that change the optimum, requirements without a row, and readings with the same optimum."""
    lines, short_lines = [], []
    for reading in result.readings:
        sentence, used, other = (one_line(reading[name], 120) for name in ("sentence", "used", "other"))
        second = reading["status"] if reading["objective"] is None else figure(reading["objective"])
        if has_same_optimum(reading, result.objective):
            short_lines.append(one_line(f"two readings, both {second}: {sentence}", width))
        elif result.objective is None:
            lines += [f"two readings of: {sentence}", f"  {used} (used here); or {other}"]
        else:
            lines += [f"two readings of: {sentence}", f"  {used}: {figure(result.objective)}; {other}: {second}"]
    for sentence, why in result.unmodelled:
        reason = "" if why == NO_ROW else f" ({one_line(why, 80)})"
        lines.append(f"not in the model: {one_line(sentence, 120)}{reason}")
    return [escape_text(line) for line in (*lines, *short_lines)]


def _trial_lines(result: FormulationResult) -> list[str]:
    """What the checks and the properties say, and what was spent."""
    lines = [f"checks    {_checks_text(result)}"]
    tried = [trial for trial in result.battery if trial["holds"] is not None]
    if result.battery and not tried:
        lines.append(f"battery   not tried: {one_line(result.battery[0]['note'], 200)}")
    failed = [trial for trial in tried if not trial["holds"]]
    lines += [f"FAILS     {trial['property']} ({trial['datum']}) {trial['note']}" for trial in failed[:2]]
    if tried:
        lines.append(f"battery   {len(tried) - len(failed)} of {len(tried)} properties hold")
    spent = result.spent
    lines.append(f"spent     {spent.model_calls} calls, {spent.tokens:,} tokens, {format_money(spent.money)}")
    return [escape_text(text) for text in lines]


def _attempt_text(attempt: Mapping[str, Any]) -> str:
    end = attempt["verdict"] or attempt["status"]
    objective = "" if attempt["objective"] is None else f", objective {figure(attempt['objective'])}"
    leaves = _flatten_values(attempt["values"])
    values = ", ".join(f"{name} = {value}" for name, value in leaves) if len(leaves) <= MOST else ""
    message = one_line(attempt["message"], 200)
    return escape_text(
        f"{end}{objective}{f' at {values}' if values and objective else ''}{f': {message}' if message else ''}"
    )


def _checks_text(result: FormulationResult) -> str:
    if result.checks is None:
        return "unchecked"
    note = f" ({one_line(result.checks['note'], 200)})" if result.checks["note"] else ""
    sure = "; its rows, solved, come to the same" if result.checks["confirmed"] else ""
    met, count = result.checks["met"], result.checks["count"]
    # it is the model that is wrong, not the point
    if result.checks["state"] == CheckStatus.FAILED and met == count:
        reasons = dict.fromkeys(str(finding["reason"]) for finding in result.checks["findings"])
        return f"failed: {', '.join(reasons)}; the solution meets all {count} entries{note}"
    return f"{result.checks['state']}: {met} of {count} hold{sure}{note}"


def _flatten_values(values: Any, name: str = "") -> list[tuple[str, str]]:
    if isinstance(values, dict):
        return [
            leaf
            for key, item in values.items()
            for leaf in _flatten_values(item, f"{name}[{key}]" if name else str(key))
        ]
    if isinstance(values, list):
        return [leaf for index, item in enumerate(values) for leaf in _flatten_values(item, f"{name}[{index}]")]
    text = figure(values) if isinstance(values, int | float) and not isinstance(values, bool) else str(values)
    return [(name, text)]

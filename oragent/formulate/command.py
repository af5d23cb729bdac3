"""Command ``oragent formulate``: start or resume a folder, and show its result."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console

from oragent._base.errors import ConfigError, StoreError
from oragent._base.files import FolderKind, expect_room, file_stem, kind_of_folder, replace_file
from oragent._base.publishing import publish_result
from oragent._base.terminal import print_line
from oragent._base.text_format import one_line
from oragent.formulate.audit import find_unclear_figures
from oragent.formulate.data import read_text, show_path
from oragent.formulate.folder import (
    CASE,
    FormulationEnd,
    FormulationRequest,
    create_folder,
    finalize,
    price_result,
    read_request,
    run_formulation,
    summarize_result,
)
from oragent.formulate.formulation import FormulationResult
from oragent.formulate.methods import find_method
from oragent.formulate.options import (
    ALL,
    ROLES,
    STAND_INS,
    FormulateCommand,
    Options,
    VerifyCommand,
    check_known,
    choose_options,
)
from oragent.formulate.pages import write_page
from oragent.formulate.printing import print_outcome, rerun_lines
from oragent.formulate.problem import ProblemText, name_problem, place_data, read_problem
from oragent.formulate.rerun import rerun_formulation
from oragent.formulate.session import PersonQuestion
from oragent.formulate.spending import estimate_formulation
from oragent.formulate.verify import GivenModel, prompt_author, read_given, verify_given
from oragent.ledger.study import finished_results
from oragent.llm.estimates import SpendingEstimate
from oragent.llm.keys import expect_trusted, model_demands, remember_demands
from oragent.llm.model import Model
from oragent.llm.model_settings import RuntimeSettings, RuntimeWords
from oragent.llm.prices import project_prices
from oragent.modelling.data.solution import TOLERANCES

NO_WORDS = RuntimeWords()
# Exit code if there is no answer.
FAILED = 3
TWO_CALLS = "two_calls"
# File with the clarification that the user gave before the first solve.
CLARIFICATION = "clarification.txt"
# Maximum number of characters of a line in the dialogue.
SHOWN = 1000


EDITABLE = (
    "terminology",
    "semantic_encoder",
    "formalization",
    "compiler",
    "reviewer",
    "supervisor_forward",
    "counterfactual",
)


def formulate_file(
    command: FormulateCommand,
    console: Console,
    model: Model | None = None,
    read_line: Callable[[str], str] = input,
) -> int:
    """Formulate a problem from its files and print the result.

    ``read_line`` reads the answer of the user if ``command.interactive`` is set.

    Returns:
        Exit code of the verdict: 0 checked, 3 no answer, 4 contradicted, 5 unchecked.

    Raises:
        OragentError: A file or setting is wrong, or the model cannot be called.
    """
    if command.interactive and (
        command.replay is not None or (command.options.get("method") or TWO_CALLS) != TWO_CALLS
    ):
        raise ConfigError("--interactive asks about the program of two_calls: leave out --replay and --method")
    request = _build_request(command)
    if model is None and command.replay is None and request.runtime.model is None:
        raise ConfigError("formulate needs a language model: add --model NAME, or --replay FOLDER")
    if command.replay is not None and not (command.replay / "run.db").is_file():
        raise StoreError(f"no formulation to replay at {command.replay}: expected run.db in it")
    remember_demands(model_demands(_read_runtime(command).every_model))
    expect_room(command.outputs)
    opened: list[Path] = []
    runtime = _read_runtime(command)
    estimate = SpendingEstimate()
    if model is None and runtime.model is not None:
        text = f"{request.problem.text}{json.dumps(request.problem.data, default=str)}"
        estimate = estimate_formulation(request.options.method, text, runtime, project_prices())
        command.confirm(estimate, runtime.budget.confirm)

    def open_folder() -> Path:
        opened.append(create_folder(command.outputs, request))
        if estimate.roles:
            estimate.write(opened[0])
        print_line(console, f"formulation: {opened[0]}")
        return opened[0]

    def ask_person(facts: Mapping[str, Any]) -> str:
        clarification = ask_clarification(facts, console, read_line)
        if clarification:
            replace_file(opened[0] / CLARIFICATION, clarification)
        return clarification

    if unclear := find_unclear_figures(request.problem.text):
        whole, part = unclear[0].replace(".", ""), f"{float(unclear[0]):g}"
        notice = f"the text writes {', '.join(unclear[:5])}, which can be read in two ways: write {whole}, or {part}"
        print_line(console, notice, "yellow")
    for note in request.problem.notes:
        print_line(console, note, "yellow")
    outcome = run_formulation(
        open_folder,
        request,
        model=model,
        replay=command.replay,
        fresh=_read_runtime(command).model is not None or model is not None,
        ask_person=ask_person if command.interactive else stored_clarification(command.replay),
    )
    return finish(opened[0], request, outcome, console)


def stored_clarification(folder: Path | None) -> PersonQuestion | None:
    """Return the clarification of a resumed or replayed formulation; None without one."""
    if folder is None or not (folder / CLARIFICATION).is_file():
        return None
    text = read_text(folder / CLARIFICATION, "a clarification").strip()[:SHOWN]
    return lambda facts: text


def ask_clarification(facts: Mapping[str, Any], console: Console, read_line: Callable[[str], str]) -> str:
    """Show how the problem was read, and return the user's clarification; empty to continue without one."""
    for name in ("OBJECTIVE", "VARIABLES", "NOT_MODELLED", "READINGS"):
        value = facts.get(name) or []
        for text in value if isinstance(value, list) else [value]:
            print_line(console, f"{name.lower().replace('_', ' ')}: {one_line(str(text), SHOWN)}")
    try:
        return read_line("Enter to solve, or say what is meant: ").strip()[:SHOWN]
    except EOFError:
        return ""


def resume(
    folder: Path, console: Console, model: Model | None = None, runtime: RuntimeWords = NO_WORDS, trust: bool = False
) -> int:
    """Continue a stopped formulation; recorded replies are reused.

    Args:
        folder: Folder of the formulation.
        console: Console for the output.
        model: Model that replaces the one of the folder.
        runtime: Settings that override those of the folder, such as a larger budget.
        trust: Whether the user accepts addresses, commands and keys that the folder names.

    Raises:
        UntrustedError: The folder names an address, a command or a key that the user did not name.
    """
    request = read_request(folder)
    if request.origin != "formulate" and _read_result(folder) is None:
        raise StoreError(f"{folder} is not finished: repeat 'oragent {request.origin}'")
    request = replace(request, runtime=runtime.read_runtime(ROLES, request.runtime))
    if model is None and (finished := _read_result(folder)) is not None:
        return finish(folder, request, finalize(folder, finished), console)
    demands = list(model_demands(request.runtime.every_model))
    if model is None:
        if not trust:
            expect_trusted(folder, demands, runtime.overrides)
        remember_demands(demands)
    return finish(folder, request, _resume_run(folder, request, model), console)


def _resume_run(folder: Path, request: FormulationRequest, model: Model | None) -> FormulationEnd:
    return run_formulation(folder, request, model=model, ask_person=stored_clarification(folder))


def show_formulation(folder: Path, console: Console) -> int:
    """Print a finished formulation without changing its folder."""
    outcome = price_result(_expect_finished(folder))
    assert outcome.result is not None
    print_outcome(outcome, console)
    page = folder / "report.html"
    page_text = page if page.is_file() else f"none yet; 'oragent report {folder}' writes it"
    print_line(console, f"report: {page_text}")
    return outcome.result.judgement.verdict.exit_code


def rewrite_page(folder: Path) -> Path:
    """Rewrite the page of a finished formulation from its records, and return its path."""
    outcome = price_result(_expect_finished(folder))
    assert outcome.result is not None
    return write_page(folder, read_request(folder), outcome)


def _expect_finished(folder: Path) -> FormulationResult:
    if kind_of_folder(folder) is not FolderKind.FORMULATION:
        raise StoreError(f"no formulation at {folder}: expected formulate.json in it")
    result = _read_result(folder)
    if result is None:
        raise StoreError(f"the formulation at {folder} is not finished: continue it with --resume")
    return result


def _read_result(folder: Path) -> FormulationResult | None:
    """Return the result of a formulation; None if it has not finished."""
    results = finished_results(folder)
    if CASE in results:
        return FormulationResult.from_plain(results[CASE])
    return None


def _build_request(command: FormulateCommand) -> FormulationRequest:
    edits = {}
    if command.edit is not None:
        module, path = command.edit
        edits = {check_known(module, EDITABLE, "module"): read_text(path, "the output of a module")}
    if command.replay is not None and command.problem is None and command.data:
        raise ConfigError(
            f"--replay repeats a formulation with its own data, and --data {show_path(command.data[0])} is other data: "
            f"apply its program to them with 'oragent rerun {show_path(command.replay)} --data FILE'"
        )
    if command.replay is not None and command.problem is None:
        replayed = read_request(command.replay)
        changes = {name: value for name, value in command.options.items() if value is not None}
        options = choose_options(command.preset, **changes) if command.preset else replace(replayed.options, **changes)
        find_method(options.method)
        tolerance, runtime = command.tolerance or replayed.tolerance, _read_runtime(command)
        # Without a model, keep the settings of the recorded run.
        if runtime.model is None:
            runtime = replace(replayed.runtime, budget=runtime.budget)
        return FormulationRequest(replayed.problem, _apply_tolerance(options, command, edits), runtime, tolerance)
    if command.problem is None:
        raise ConfigError("name a file with a problem in words, or a folder to --replay")
    problem = read_problem(command.problem, command.data, command.interface)
    name = file_stem(problem.name, "problem")
    named_options = {"metamorphic": True} | {
        name: value for name, value in command.options.items() if value is not None
    }
    options = _apply_tolerance(choose_options(command.preset or "default", **named_options), command, edits)
    find_method(options.method)
    return FormulationRequest(
        replace(problem, name=name), options, _read_runtime(command), command.tolerance or "strict"
    )


def _read_runtime(command: FormulateCommand) -> RuntimeSettings:
    """Read the settings of models and budget from the command line."""
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


def finish(
    folder: Path,
    request: FormulationRequest,
    outcome: FormulationEnd,
    console: Console,
    more: Mapping[str, object] | None = None,
) -> int:
    """Write the page, print the result, and return the exit code of its verdict.

    ``more`` is published with the result.
    """
    if outcome.result is None:
        print_line(console, f"unfinished: {one_line(outcome.reason)}", "bold red")
        print_line(console, f"everything so far is kept: oragent formulate --resume {folder}")
        return FAILED
    notes = list(request.problem.notes)
    publish_result({"folder": folder, "notes": notes, **summarize_result(outcome), **(more or {})})
    page = write_page(folder, request, outcome)
    print_outcome(outcome, console)
    if outcome.result.milp is not None:
        print_line(console, "all values: plan.csv; verdict: result.json; rows, programs and checks: report.html")
    print_line(console, f"report: {page}")
    return outcome.result.judgement.verdict.exit_code


def verify_files(command: VerifyCommand, console: Console, model: Model | None = None) -> int:
    """Verify a model against the text of its problem, and print the verdict.

    Returns:
        Exit code of the verdict.

    Raises:
        OragentError: A file or setting is wrong, or the language model cannot be called.
    """
    request, given_model = _read_verification(command)
    for note in (*request.problem.notes, *given_model.notes):
        print_line(console, note, "yellow")
    checker = read_text(command.checker, "a checker") if isinstance(command.checker, Path) else command.checker or ""
    remember_demands(model_demands(request.runtime.every_model))
    folder, outcome = verify_given(
        request, given_model, command.outputs, checker=checker, model=model, replay=command.replay
    )
    print_line(console, f"verification: {folder}")
    return finish(folder, request, outcome, console)


def prompt_for_checker(command: VerifyCommand) -> str:
    """Return the prompt for the author of the checker, who answers with a Python block.

    Raises:
        OragentError: A file or setting is wrong, or the model has no solution.
    """
    return prompt_author(*_read_verification(command))


def _read_verification(command: VerifyCommand) -> tuple[FormulationRequest, GivenModel]:
    if isinstance(command.problem, Path):
        problem = read_problem(command.problem, command.data)
    else:
        problem = place_data(ProblemText(name_problem(command.problem), command.problem), command.data)
    options = choose_options("default", metamorphic=True, **command.options)
    request = FormulationRequest(problem, options, command.runtime.read_runtime(ROLES))
    return request, read_given(command.given, command.solution)


def rerun_files(folder: Path, data: tuple[Path, ...], outputs: Path, console: Console, **changes: object) -> int:
    """Apply a formulation to new data, and print both objectives and the changed values."""
    rerun = rerun_formulation(folder, data, outputs, **changes)
    for note in rerun.request.problem.notes:
        print_line(console, note, "yellow")
    print_line(console, f"rerun: {rerun.folder}")
    changes_of_values = {name: list(pair) for name, pair in rerun.changes.items()}
    more = {"before": list(rerun.old.model_values), "changes": changes_of_values}
    code = finish(rerun.folder, rerun.request, rerun.outcome, console, more)
    for text in rerun_lines(rerun):
        print_line(console, text)
    return code

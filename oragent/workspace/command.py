"""Commands of ``oragent workspace`` and their output."""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack, ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from oragent._base.errors import ConfigError, WorkspaceError
from oragent._base.publishing import publish_result
from oragent._base.settings import dump_settings
from oragent._base.terminal import print_line
from oragent._base.text_format import one_line
from oragent.ledger.case import LedgerCase
from oragent.ledger.study import open_study
from oragent.llm.keys import expect_trusted, model_demands, remember_demands
from oragent.llm.model_settings import RuntimeWords, build_runtime
from oragent.modelling.data.display import number
from oragent.sandbox.sandbox import Sandbox
from oragent.workspace import undoing
from oragent.workspace.agent_sessions import PersonAsked
from oragent.workspace.agent_tasks import VerbRunner, failure_request
from oragent.workspace.file_commands import print_history, require_workspace
from oragent.workspace.folder import (
    PENDING_FILE,
    PendingVerb,
    Verb,
    WorkspaceFolder,
    clear_pending,
    finished_verbs,
    read_pending,
    save_pending,
)
from oragent.workspace.layout import find_number_flaws
from oragent.workspace.model_commands import FAILS, VerbCommands
from oragent.workspace.model_tasks import describe_run_result
from oragent.workspace.pages import describe_state, describe_unplanned, recorded_conflict, write_page
from oragent.workspace.reading import read_text, shorten_path
from oragent.workspace.records import read_record, write_record
from oragent.workspace.runner import ProgramRunner
from oragent.workspace.settings import MODEL_ROLES, NO_OPTIONS, EffortOptions, VerbRequest, read_settings
from oragent.workspace.sources import WORKING, FolderState
from oragent.workspace.tools import describe_run
from oragent.workspace.undoing import Reversal
from oragent.workspace.versions import Versions

# Exit code of a command without a result.
FAILED = 3
NO_WORDS = RuntimeWords()


def build_program(request: VerbRequest, console: Console) -> int:
    """Build a program with a language model; resume an interrupted build."""
    home = WorkspaceFolder(request.folder)
    home.open_workspace()
    if home.is_unwritten():
        docs = f"{shorten_path(request.folder)}/docs"
        raise WorkspaceError(f"{docs} does not state a task yet: write the task there first")
    return _run_verb(request, _begin_verb(request, "build"), console)


def revise_program(
    verb_request: VerbRequest, request: Path | None, feedback: bool, accept: bool, console: Console
) -> int:
    """Revise the program with a language model, to fulfil a request or to correct a failed run.

    ``accept`` writes the draft of the last refused revision and calls no model; ``request``, if given, must be the one
    of that revision.
    """
    alone = accept and request is None and not feedback
    if (request is None) == (not feedback) and not alone:
        raise ConfigError(
            "give one of --request, a file with the wanted change, and --feedback, which uses the last run; "
            "--accept alone writes the last refused revision"
        )
    text = read_text(request) if request is not None else ""
    if alone and _refused_revision(verb_request.folder) is None:
        raise WorkspaceError("nothing to accept: the last revision was not refused; give --request or --feedback")
    return _run_verb(verb_request, _begin_verb(verb_request, "revise", text, feedback, accept), console)


def ask_question(request: VerbRequest, question: str, console: Console) -> int:
    """Answer a question with a language model; without one, run it as a line of operations on the program's model."""
    if not question.strip():
        raise ConfigError("the question is empty; without a model it is a line such as 'whatif demand[Paris] *= 1.1'")
    if not request.has_model:
        # This call refuses links.
        WorkspaceFolder(request.folder).list_files()
        return VerbCommands(request.folder, console, request.effort).ask("ask", [question])
    return _run_verb(request, _begin_verb(request, "ask", question), console)


def answer_person(request: VerbRequest, answer: str, console: Console) -> int:
    """Resume the verb whose agent asked the person, with the answer."""
    require_workspace(request.folder)
    pending = read_pending(request.folder)
    if pending is None or not pending.question:
        raise WorkspaceError("no question waits for an answer; 'oragent show DIR' names the interrupted verb")
    if not answer.strip():
        raise ConfigError("the answer is empty")
    answered = replace(pending, question="", answers=(*pending.answers, answer.strip()))
    if not request.has_model:
        save_pending(request.folder, answered)
        return resume_verb(request, console)
    return _run_verb(request, answered, console)


def resume_verb(request: VerbRequest, console: Console, words: RuntimeWords = NO_WORDS, trust: bool = False) -> int:
    """Resume the interrupted verb with its models; print a message if no verb was interrupted.

    ``words`` change settings of the verb, such as the budget. ``trust`` means that the user accepts the addresses,
    commands and keys that the folder names.
    """
    require_workspace(request.folder)
    pending = read_pending(request.folder)
    if pending is None:
        print_line(console, "nothing was cut off: give build, revise or ask with 'oragent workspace'")
        return 0
    if pending.question:
        raise WorkspaceError(f"{pending.verb} waits for an answer: 'oragent workspace answer DIR TEXT'")
    runtime = words.read_runtime(MODEL_ROLES, build_runtime(pending.runtime, (), str(request.folder / PENDING_FILE)))
    if not trust:
        expect_trusted(request.folder, model_demands(runtime.every_model), words.overrides)
    pending = replace(pending, runtime=dump_settings(runtime))
    return _run_verb(replace(request, runtime=runtime), pending, console)


def _begin_verb(
    request: VerbRequest, verb: Verb, text: str = "", feedback: bool = False, accept: bool = False
) -> PendingVerb:
    pending = PendingVerb(verb, text, feedback, accept, request.effort, dump_settings(request.runtime))
    last = read_pending(request.folder)
    if last is not None and (last.verb, last.text, last.feedback) == (verb, text, feedback):
        # Repeat the same verb with the answers that the person gave.
        return replace(pending, answers=last.answers)
    return pending


def run_program(
    folder: Path,
    program: str,
    console: Console,
    sandbox: Sandbox | None = None,
    effort_options: EffortOptions = NO_OPTIONS,
) -> int:
    """Run a program, by default the one in ``src``, and write its records; return 0 with a solution, else 3."""
    home, settings = WorkspaceFolder(folder), read_settings(folder, effort_options)
    path = program or home.find_program()
    if not path:
        raise WorkspaceError(f"no program in {shorten_path(folder)}/src; 'oragent workspace build' makes one")
    inputs = home.list_files()
    with ExitStack() as stack:
        stack.enter_context(home.locked("run"))
        Versions(folder)
        box = sandbox or stack.enter_context(Sandbox(1))
        ran = ProgramRunner(box, settings.limits, settings.gap, settings.entry, settings.variables).run(folder, path)
        write_record(folder, ran, inputs)
        write_page(folder)
    print_line(console, describe_run(ran))
    used = {path: file for path, file in inputs.items() if path in ran.opened}
    flaws = [str(finding) for finding in find_number_flaws(used)]
    for finding in flaws:
        print_line(console, f"wrong: {finding}", style="bold yellow")
    conflict = recorded_conflict(read_record(folder, home.list_files()))
    for text in conflict:
        print_line(console, f"- {text}")
    state = FolderState(WORKING, "", folder, settings, path)
    publish_result(describe_run_result(state, ran, (*flaws, *conflict)))
    return 0 if ran.is_cut_with_plan or ran.has_solution else FAILED


def undo_verb(folder: Path, console: Console) -> int:
    """Undo the changes of the last verb, except in files that the user changed since."""
    return _reverse(folder, undoing.undo_last, console)


def restore_version(folder: Path, version: str, path: str, console: Console) -> int:
    """Restore the files of a version, or one of them."""
    return _reverse(folder, lambda versions: undoing.restore_files(versions, version, path), console)


def _reverse(folder: Path, reversal: Callable[[Versions], Reversal], console: Console) -> int:
    require_workspace(folder)
    with WorkspaceFolder(folder).locked("undo or restore"):
        version = reversal(Versions(folder))
        write_page(folder)
    for text in version.describe():
        print_line(console, text)
    untouched = [path for path, _ in version.untouched]
    publish_result({"version": version.version, "reason": version.reason, "untouched": untouched})
    return 0


def show_workspace(folder: Path, console: Console) -> int:
    """Print the state of a workspace: its program, the result of each verb, its versions, and the interrupted verb."""
    require_workspace(folder)
    program = WorkspaceFolder(folder).find_program()
    print_line(console, f"program: {program or 'none yet'}")
    in_force = undoing.list_verbs_in_force(Versions(folder, readonly=True).list_own())
    verbs = []
    for verb in finished_verbs(folder):
        summary = verb.result.get("answer") or verb.result.get("run") or verb.result.get("end", "")
        state = describe_state(verb, in_force)
        verbs.append({"name": verb.name, "state": state, "objective": verb.result.get("objective"), "text": summary})
        print_line(console, f"{verb.name}: {state}{', ' if state else ''}{one_line(summary, 200)}")
    pending = read_pending(folder)
    if pending is not None:
        console.print(Text(f"cut off: {pending.verb} {one_line(pending.text, 100)}".rstrip(), style="bold yellow"))
        if pending.question:
            print_line(console, f"it asks: {one_line(pending.question, 400)}")
    versions = Versions(folder, readonly=True).list_versions()
    print_history(versions, console)
    interrupted = _describe_pending(pending) if pending else None
    publish_result(
        {"verb": "show", "program": program, "verbs": verbs, "interrupted": interrupted, "versions": versions}
    )
    return 0


def write_report(folder: Path, console: Console) -> int:
    """Write the HTML page of a workspace again."""
    require_workspace(folder)
    page = write_page(folder)
    print_line(console, f"report: {page}")
    publish_result({"verb": "report", "path": page})
    return 0


def _run_verb(request: VerbRequest, pending: PendingVerb, console: Console) -> int:
    home = WorkspaceFolder(request.folder)
    home.open_workspace()
    with home.locked(pending.verb):
        return _run_locked(request, home, pending, console)


def _run_locked(request: VerbRequest, home: WorkspaceFolder, pending: PendingVerb, console: Console) -> int:
    result, reason, question = asyncio.run(_perform_verb(request, home, pending))
    if question:
        open_question = replace(pending, question=question)
        save_pending(request.folder, open_question)
        print_line(console, f"the agent asks: {one_line(question, 1000)}", style="bold yellow")
        print_line(console, "answer with 'oragent workspace answer DIR TEXT'; no call is repeated")
        publish_result(_describe_pending(open_question))
        return FAILED
    if result is None:
        print_line(console, f"not finished: {one_line(reason, 400)}; the same command goes on", "bold yellow")
        publish_result(_describe_pending(pending, reason))
        return FAILED
    clear_pending(request.folder)
    _print_result(result, console)
    print_line(console, f"report: {write_page(request.folder)}")
    publish_result(result | {"can_accept": bool(result.get("refused"))})
    if result.get("broken_citations"):
        return FAILS
    return 0 if result["written"] else FAILED


def _describe_pending(pending: PendingVerb, reason: str = "") -> dict[str, str]:
    return {"verb": pending.verb, "request": pending.text, "question": pending.question, "reason": reason}


async def _perform_verb(
    request: VerbRequest, home: WorkspaceFolder, pending: PendingVerb
) -> tuple[dict[str, Any] | None, str, str]:
    """Return the result, or the reason why there is no result, and the question of the agent to the person."""
    questions: list[str] = []
    async with AsyncExitStack() as stack:
        refused = _refused_revision(request.folder) if pending.accept and not pending.feedback else None
        if refused is not None and pending.text not in ("", refused["request"]):
            refused = None
        if refused is None and not request.has_model:
            nobody = f"nobody is asked to {pending.verb}"
            raise ConfigError(f"{nobody}: name a model with --model, or a workspace to --replay")
        if request.replay is not None:
            require_workspace(request.replay)
        remember_demands(model_demands(request.runtime.every_model))
        count = sum(verb.name.startswith(f"{pending.verb}-") for verb in finished_verbs(request.folder))
        name = f"{pending.verb}-{count + 1}"
        opening = open_study(request.folder, request.runtime, model=request.model, replay=request.replay)
        study = await stack.enter_async_context(opening)
        versions = stack.enter_context(Versions(request.folder))
        box = request.sandbox or stack.enter_context(Sandbox(1))
        settings = read_settings(request.folder, pending.effort)
        runner = ProgramRunner(box, settings.limits, settings.gap, settings.entry, settings.variables)
        verbs = VerbRunner(home, study, versions, runner, settings, pending.accept, pending.answers)
        save_pending(request.folder, pending)
        versions.save_snapshot(f"before {name}")

        async def perform(case: LedgerCase) -> dict[str, Any]:
            try:
                return await _perform_case(verbs, case, pending, refused)
            except PersonAsked as asked:
                questions.append(str(asked))
                raise

        (finished,) = await study.run_cases([name], perform)
        versions.save_snapshot(f"while {name} went on")
        return (finished.result if finished else None), study.stop_reason, questions[-1] if questions else ""


def _refused_revision(folder: Path) -> dict[str, Any] | None:
    """Return the result of the last revision if it was refused and its draft is saved, else None."""
    revisions = [verb.result for verb in finished_verbs(folder) if verb.result["verb"] == "revise"]
    return revisions[-1] if revisions and revisions[-1].get("refused") else None


async def _perform_case(
    verbs: VerbRunner, case: LedgerCase, pending: PendingVerb, refused: dict[str, Any] | None
) -> dict[str, Any]:
    if refused is not None:
        return await verbs.accept_revision(case, refused)
    if pending.verb == "build":
        return await verbs.build_program(case)
    if pending.verb == "ask":
        return await verbs.answer_question(case, pending.text)

    async def describe_failure() -> str:
        ran = await asyncio.to_thread(verbs.runner.run, verbs.folder.folder, verbs.folder.find_program())
        return failure_request(ran)

    request = str(await verbs.study.run_once(case, "request", describe_failure)) if pending.feedback else pending.text
    return await verbs.revise_program(case, request, is_repair=pending.feedback)


def _print_result(result: dict[str, Any], console: Console) -> None:
    if result["verb"] == "ask":
        print_line(console, result["answer"])
        for text in result["broken_citations"]:
            print_line(console, f"a citation that does not hold: {text}", style="bold yellow")
        return
    print_line(console, result["run"])
    for text in result.get("differences", ()):
        print_line(console, f"- {text}")
    if result["verb"] == "revise":
        objectives = (result[key] for key in ("before", "objective"))
        summary = " to ".join("none" if value is None else number(value) for value in objectives)
        preservation = {True: "holds", False: "fails", None: "is not tested: the plan names no neutral values"}
        standing = result.get("standing", "")
        summary += f" ({standing})" if standing not in {"", "optimal"} else ""
        summary += f": {result['change']}" if result.get("change") else ""
        former = f"at neutral values the former optimum {preservation[result['preserved']]}"
        print_line(console, f"objective: {summary}; {former}")
        _print_data_edits(result, console)
    for text in result.get("conflict", ()):
        print_line(console, text)
    if result.get("clashes"):
        names = ", ".join(map(one_line, result["clashes"]))
        summary = f"not written: you changed {names} meanwhile; the draft stays in {result['draft']}"
    else:
        summary = "written" if result["written"] else f"not written: {one_line(result['end'], 600)}; the draft stays"
        if result.get("refused"):
            summary = "not written; 'oragent workspace revise DIR --accept' writes it without another call of a model"
    print_line(console, f"{summary}{describe_unplanned(result)}")


def _print_data_edits(result: Mapping[str, Any], console: Console) -> None:
    """Print the data edits of a revision: the planned ones, all others, and planned edits that were not made."""
    others = (("unplanned_edits", "data changed without being in the plan"), ("missing", "planned and not made"))
    for key, heading in (("data_edits", "data changed as planned"), *others):
        style = "" if key == "data_edits" else "bold yellow"
        edits = result.get(key, ())
        for text in [f"{heading}:", *(f"- {edit}" for edit in edits)] if edits else ():
            print_line(console, text, style=style)

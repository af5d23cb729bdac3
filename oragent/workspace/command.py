"""What ``oragent workspace`` does in a person's folder, and what it prints."""

import asyncio
import time
from collections.abc import Callable
from contextlib import AsyncExitStack, ExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from oragent._base.errors import ConfigError, WorkspaceError
from oragent._base.settings import dump
from oragent.ledger.case import LedgerCase
from oragent.ledger.runtime import open_study
from oragent.llm.model import Model
from oragent.llm.runtime_settings import RuntimeSettings, RuntimeWords, build_runtime
from oragent.llm.trust import expect_trusted, model_demands, remember_demands
from oragent.milp.plain import number
from oragent.report.pages.text import one_line
from oragent.sandbox.border import Sandbox
from oragent.workspace import undoing
from oragent.workspace.effort import GivenEffort, effort_of
from oragent.workspace.folder import Home, begin, begin_from, finished, how_to_begin, records_for
from oragent.workspace.layout import manifest
from oragent.workspace.pages import write_page
from oragent.workspace.reading import named, read_text
from oragent.workspace.runner import ProgramRunner
from oragent.workspace.tools import described
from oragent.workspace.undoing import Reversal
from oragent.workspace.unfinished import FILE, Begun, begun, forget, keep
from oragent.workspace.verbs import Verbs, failure_request
from oragent.workspace.versions import Versions

FAILED = 3  # exit code where nothing came of it
MODEL_ROLES = ("builder", "planner", "reviser", "explainer")  # roles in which models are asked
NO_WORDS = RuntimeWords()
NOTHING_GIVEN = GivenEffort()


@dataclass(frozen=True)
class VerbRequest:
    """What the command line says of a verb.

    Attributes:
        folder: Folder of the workspace.
        runtime: Settings of the models that are asked, and the budget.
        asked: Model in place of a server's.
        sandbox: Border that others share; None for one of its own.
        replay: Workspace whose replies are given again, and nobody is asked; None for none.
        given: Time, gap and memory of programs, as the command line says.
    """

    folder: Path
    runtime: RuntimeSettings = RuntimeSettings()  # noqa: RUF009  # a frozen value
    asked: Model | None = None
    sandbox: Sandbox | None = None
    replay: Path | None = None
    given: GivenEffort = GivenEffort()  # noqa: RUF009  # a frozen value


def new(folder: Path, source: Path | None, console: Console) -> int:
    """Make a workspace, empty or of a run.

    Raises:
        OragentError: if the folder has files, or the run no model.
    """
    home = begin(folder) if source is None else begin_from(source, folder)
    for path in home.files():
        console.print(Text(f"{folder}/{path}"), soft_wrap=True)
    return 0


def check(folder: Path, console: Console) -> int:
    """Say what is in a workspace and what is wrong with it; exit code 1 where something is.

    Raises:
        WorkspaceError: if it is none.
    """
    home = Home(folder)
    findings = home.findings()
    for entry in manifest(home.workspace()):
        console.print(Text(f"{entry.role:12} {entry.path} ({entry.size} bytes)"), soft_wrap=True)
    for finding in findings:
        console.print(Text(f"wrong: {finding}", style="bold yellow"), soft_wrap=True)
    console.print(Text(f"program: {home.program() or 'none yet'}"))
    return 1 if findings else 0


def build(wanted: VerbRequest, console: Console) -> int:
    """Have a model build a program; goes on where it was cut off.

    Raises:
        WorkspaceError: if there is no workspace, or nobody has said what is wanted.
    """
    home = Home(wanted.folder)
    home.workspace()
    if home.is_unwritten():
        raise WorkspaceError(f"{named(wanted.folder)}/docs does not say yet what is wanted: write it there first")
    return _verb(wanted, Begun("build", runtime=_recorded(wanted), **asdict(wanted.given)), console)


def revise(wanted: VerbRequest, request: Path | None, feedback: bool, accept: bool, console: Console) -> int:
    """Have a model revise the program by a request, or mend it after a run that failed.

    Raises:
        OragentError: if there is neither, or both.
    """
    if (request is None) == (not feedback):
        raise ConfigError("--request names a file with what is to change, --feedback takes the last run: give one")
    text = read_text(request) if request is not None else ""
    return _verb(
        wanted, Begun("revise", text, feedback, accept, runtime=_recorded(wanted), **asdict(wanted.given)), console
    )


def ask(wanted: VerbRequest, question: str, console: Console) -> int:
    """Answer a question, by a model or from records alone."""
    if not question.strip():
        raise ConfigError("the question is empty: say what you want to know")
    return _verb(wanted, Begun("ask", question, runtime=_recorded(wanted), **asdict(wanted.given)), console)


def resume(wanted: VerbRequest, console: Console, words: RuntimeWords = NO_WORDS, trust: bool = False) -> int:
    """Go on with the verb that was cut off, with the models that it had; where none was, say so.

    Args:
        wanted: Workspace and, in a test, the model.
        console: Where it prints.
        words: Settings that change those of the verb, such as a larger budget.
        trust: Whether the user agrees to addresses, commands and keys that the folder names.

    Raises:
        UntrustedError: The folder names an address, a command or a key that its user did not.
    """
    _there(wanted.folder)
    known = begun(wanted.folder)
    if known is None:
        console.print(Text("nothing was cut off: give build, revise or ask with 'oragent workspace'"), soft_wrap=True)
        return 0
    before = {"model": {"name": known.model}} if known.model else known.runtime  # earlier versions wrote the name
    runtime = words.read(MODEL_ROLES, build_runtime(before, (), str(wanted.folder / FILE)))
    if not trust:
        expect_trusted(wanted.folder, model_demands(runtime.every_model), words.overrides)
    return _verb(replace(wanted, runtime=runtime), replace(known, model="", runtime=dump(runtime)), console)


def _recorded(wanted: VerbRequest) -> dict[str, Any]:
    """Settings of models and budget as they are kept with a verb."""
    return dump(wanted.runtime)


def run(
    folder: Path, program: str, console: Console, sandbox: Sandbox | None = None, given: GivenEffort = NOTHING_GIVEN
) -> int:
    """Run a program, and keep its records as a version.

    Args:
        folder: Folder of the workspace.
        program: Path of the program below it; empty for that in ``src``.
        console: Where it prints.
        sandbox: Border that others share; None for one of its own.
        given: Time, gap and memory, as the command line says.

    Raises:
        OragentError: if there is none.
    """
    home, effort = Home(folder), effort_of(folder, given)
    path = program or home.program()
    if not path:
        raise WorkspaceError(f"no program in {named(folder)}/src; 'oragent workspace build' makes one")
    with Versions(folder) as versions:
        inputs = home.files()
        versions.snapshot(inputs, "before run")
    with ExitStack() as stack:
        box = sandbox or stack.enter_context(Sandbox(1))
        ran = ProgramRunner(box, effort.limits, effort.solver_gap).run(folder, path)
    console.print(Text(described(ran)), soft_wrap=True)
    for name in (*ran.changed, *ran.removed):
        console.print(Text(f"changed in the copy alone: {one_line(name)}"), soft_wrap=True)
    with Versions(folder) as versions:
        versions.snapshot(home.files(), "while run went on")
        contents = records_for(home, versions, ran, inputs)
        versions.write(contents, "run", f"records of {path}")
    write_page(folder)
    return 0 if ran.printed.value is not None and ran.code == 0 else FAILED


def history(folder: Path, console: Console) -> int:
    """List the versions of a workspace."""
    _there(folder)
    with Versions(folder) as versions:
        for one in versions.history(contents=False):
            at = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(one.at))
            paths = ", ".join(change.path for change in one.changes) or "nothing"
            console.print(Text(f"{one.number:4} {at} {one.author:10} {one_line(one.reason, 80)} ({one_line(paths)})"),
                          soft_wrap=True)  # fmt: skip
    return 0


def diff(folder: Path, version: int | None, console: Console) -> int:
    """Show what a version changed; the last one where none is named.

    Raises:
        WorkspaceError: if there is no such version.
    """
    _there(folder)
    with Versions(folder) as versions:
        every = versions.history(contents=False)
        if not every:
            raise WorkspaceError(f"{named(folder)} has no versions yet")
        console.print(Text(versions.diff(version or every[-1].number)), soft_wrap=True)
    return 0


def undo(folder: Path, console: Console) -> int:
    """Take back what the last verb wrote, but for what a person changed since.

    Raises:
        WorkspaceError: if no verb is left.
    """
    return _back(folder, undoing.undo, console)


def redo(folder: Path, console: Console) -> int:
    """Do again what the last undo took back.

    Raises:
        WorkspaceError: if nothing was taken back since the last verb.
    """
    return _back(folder, undoing.redo, console)


def restore(folder: Path, version: int, path: str, console: Console) -> int:
    """Bring the files of a version back, or one of them.

    Raises:
        WorkspaceError: if there is no such version, or the file is not in it.
    """
    return _back(folder, lambda versions, files: undoing.restore(versions, files, version, path), console)


def _back(folder: Path, work: Callable[[Versions, dict[str, Path]], Reversal], console: Console) -> int:
    _there(folder)
    with Versions(folder) as versions:
        for line in work(versions, Home(folder).files()).lines():
            console.print(Text(line), soft_wrap=True)
    write_page(folder)
    return 0


def show(folder: Path, console: Console) -> int:
    """Say what became of a workspace: its program, what each verb came to, its versions, what was cut off."""
    _there(folder)
    console.print(Text(f"program: {Home(folder).program() or 'none yet'}"), soft_wrap=True)
    for one in finished(folder):
        told = one.result.get("answer") or one.result.get("run") or one.result.get("end", "")
        state = "" if one.result["verb"] == "ask" else "written, " if one.result["written"] else "not written, "
        console.print(Text(f"{one.name}: {state}{one_line(told, 200)}"), soft_wrap=True)
    known = begun(folder)
    if known is not None:
        console.print(Text(f"cut off: {known.verb} {one_line(known.text, 100)}".rstrip(), style="bold yellow"))
    return history(folder, console)


def report(folder: Path, console: Console) -> int:
    """Write the page of a workspace anew."""
    _there(folder)
    console.print(Text(f"report: {write_page(folder)}"), soft_wrap=True)
    return 0


def _there(folder: Path) -> None:
    if not (folder / "run.db").is_file():
        raise WorkspaceError(f"no workspace at {named(folder)}: expected run.db in it; {how_to_begin(folder)}")


def _verb(wanted: VerbRequest, asked: Begun, console: Console) -> int:
    home = Home(wanted.folder)
    home.workspace()
    found, reason = asyncio.run(_done(wanted, home, asked))
    if found is None:
        console.print(Text(f"not finished: {one_line(reason, 400)}; the same command goes on", style="bold yellow"),
                      soft_wrap=True)  # fmt: skip
        return FAILED
    forget(wanted.folder)
    _show(found, console)
    console.print(Text(f"report: {write_page(wanted.folder)}"), soft_wrap=True)
    return 0 if found["written"] else FAILED


async def _done(wanted: VerbRequest, home: Home, given: Begun) -> tuple[dict[str, Any] | None, str]:
    async with AsyncExitStack() as stack:
        if wanted.asked is None and wanted.runtime.model is None and given.verb != "ask" and wanted.replay is None:
            raise ConfigError(f"nobody is asked to {given.verb}: name a model with --model, or a workspace to --replay")
        if wanted.replay is not None:
            _there(wanted.replay)
        remember_demands(model_demands(wanted.runtime.every_model))
        count = sum(one.name.startswith(f"{given.verb}-") for one in finished(wanted.folder))
        name = f"{given.verb}-{count + 1}"
        opening = open_study(wanted.folder, wanted.runtime, model=wanted.asked, replay=wanted.replay)
        study = await stack.enter_async_context(opening)
        versions = stack.enter_context(Versions(wanted.folder))
        box = wanted.sandbox or stack.enter_context(Sandbox(1))
        effort = effort_of(wanted.folder, GivenEffort(given.time, given.gap, given.memory))
        runner = ProgramRunner(box, effort.limits, effort.solver_gap)
        verbs = Verbs(home, study, versions, runner, given.accept)
        keep(wanted.folder, given)
        versions.snapshot(home.files(), f"before {name}")
        (done,) = await study.run([name], lambda case: _work(verbs, case, given, bool(study.models)))
        versions.snapshot(home.files(), f"while {name} went on")
        return (None if done is None else done.result), study.reason


async def _work(verbs: Verbs, case: LedgerCase, given: Begun, asks: bool) -> dict[str, Any]:
    if given.verb == "build":
        return await verbs.build(case)
    if given.verb == "ask":
        return await verbs.ask(case, given.text, asks)

    async def failed() -> str:
        ran = await asyncio.to_thread(verbs.runner.run, verbs.home.folder, verbs.home.program())
        return failure_request(ran)

    told = str(await verbs.study.once(case, "request", failed)) if given.feedback else given.text
    return await verbs.revise(case, told)


def _show(found: dict[str, Any], console: Console) -> None:
    if found["verb"] == "ask":
        console.print(Text(found["answer"]), soft_wrap=True)
        for line in found["broken_citations"]:
            console.print(Text(f"a citation that does not hold: {line}", style="bold yellow"), soft_wrap=True)
        return
    console.print(Text(found["run"]), soft_wrap=True)
    for line in found.get("differences", ()):
        console.print(Text(f"- {line}"), soft_wrap=True)
    if found["verb"] == "revise":
        before, after = (found[key] for key in ("before", "objective"))
        told = " to ".join("none" if one is None else number(one) for one in (before, after))
        kept = {True: "holds", False: "fails", None: "is not tested: the plan names no neutral values"}
        standing = found.get("standing", "")
        told += f" ({standing})" if standing not in {"", "optimal"} else ""
        console.print(Text(f"objective: {told}; at neutral values the former optimum {kept[found['preserved']]}"),
                      soft_wrap=True)  # fmt: skip
    if found.get("clashes"):
        names = ", ".join(map(one_line, found["clashes"]))
        told = f"not written: you changed {names} meanwhile; the draft stays in {found['draft']}"
    else:
        told = "written" if found["written"] else f"not written: {found['end']}; the draft stays"
    console.print(Text(told), soft_wrap=True)

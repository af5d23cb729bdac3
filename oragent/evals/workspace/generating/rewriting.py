"""Texts of an instance in a business writer's words, taken only where nothing is lost and a stranger still solves them.

Zhou et al. 2026: a specifier and a solution author work from the mechanical texts, a reviser of models from the change;
a business writer rewrites; an independent verifier, who has documents and data alone, must reach the optimum.
"""

import asyncio
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from oragent._base.errors import ReplyError, WorkspaceError
from oragent.evals.workspace.business_text import lost, modelling_words
from oragent.evals.workspace.generating.making import Made, revised_artifacts
from oragent.evals.workspace.generating.programs import program
from oragent.evals.workspace.generating.sheets import REQUIREMENT
from oragent.evals.workspace.noise.artifacts import Artifacts
from oragent.evals.workspace.roles import code_in, files_told
from oragent.ledger.case import LedgerCase
from oragent.llm.model import Message
from oragent.programs.blocks import drop_thoughts
from oragent.workspace import tables
from oragent.workspace.reading import walk
from oragent.workspace.roles import TRACKS, Track, fill
from oragent.workspace.runner import ProgramRun, ProgramRunner

ROLES = {"specifier": 0.35, "author": 0.35, "model_reviser": 0.35, "writer": 0.55, "verifier": 0.4}  # temperatures
ROUNDS, WARMER, REPAIR = 3, 0.1, 0.2  # attempts; what an attempt of an author adds; temperature of a repair
RELATIVE, ABSOLUTE = 0.005, 1e-3  # how near an optimum counts as reached
PROGRAM = "src/optimization_model.py"
TOLD = 2000  # characters of an error that go back


async def rewrite(case: LedgerCase, one: Made, runner: ProgramRunner) -> dict[str, Any]:
    """Have the texts of an instance rewritten.

    Args:
        case: Case that asks and pays.
        one: The instance; neither its model nor its optimum is told to anybody.
        runner: Runner of programs.

    Returns:
        Plain data: ``accepted``, ``requirement`` and ``brief`` as rewritten, ``why`` not, and under ``reached`` whether
        each role came to the optimum.

    Raises:
        OragentError: if the budget is used up or the endpoint cannot be used.
    """
    reached: dict[str, bool] = {}
    with _laid_out(one.noisy) as first, _laid_out(one.revised_noisy) as second:
        specification = drop_thoughts((await _ask(case, "specifier", files=_told(first))).text)
        written, ran = await _programmed(case, "author", runner, first, specification=specification)
        reached["author"] = _reaches(ran, one.optimum)
        known = written if reached["author"] else program(one.milp, one.title)
        _, ran = await _programmed(case, "model_reviser", runner, second, program=known)
        reached["model_reviser"] = _reaches(ran, one.revised.optimum)
    requirement, why = await _written(case, one.noisy.documents[REQUIREMENT])
    brief, why_not = await _written(case, "\n".join(one.revised.brief)) if not why else ("", "")
    found = {"requirement": requirement, "brief": brief, "why": why or why_not, "reached": reached}
    if not found["why"]:
        new = rewritten(one, found)
        pairs = (("documents", new.noisy, one.optimum), ("change", new.revised_noisy, one.revised.optimum))
        for name, artifacts, optimum in pairs:
            with _laid_out(artifacts) as folder:
                _, ran = await _programmed(case, "verifier", runner, folder)
            reached[f"verifier, {name}"] = _reaches(ran, optimum)
            if not reached[f"verifier, {name}"]:
                found["why"] = f"the verifier does not reach the optimum from the {name}"
                break
    return found | {"accepted": not found["why"]}


def rewritten(one: Made, found: dict[str, Any]) -> Made:
    """The instance with other texts."""
    noisy = one.noisy.put(REQUIREMENT, found["requirement"].rstrip("\n") + "\n")
    revised = replace(one.revised, brief=tuple(found["brief"].strip().splitlines()))
    return replace(one, noisy=noisy, revised=revised, revised_noisy=revised_artifacts(noisy, revised))


def lay_out(folder: Path, artifacts: Artifacts) -> None:
    """Write tables and documents into a folder, in ``data`` and ``docs``."""
    for name, table in artifacts.tables.items():
        put(folder / "data" / name, tables.write(table))
    for name, text in artifacts.documents.items():
        put(folder / "docs" / name, text)


def put(path: Path, text: str) -> None:
    """Write a file, and the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


@contextmanager
def _laid_out(artifacts: Artifacts) -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="oragent-rewriting-"))
    try:
        lay_out(folder, artifacts)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _told(folder: Path) -> str:
    return files_told(walk(folder))


async def _ask(case: LedgerCase, role: str, **values: object) -> Any:
    return await case.ask(role, [Message("user", fill(role, **values))], ROLES[role])


async def _written(case: LedgerCase, note: str) -> tuple[str, str]:
    """A note in other words; or why there is none."""
    messages, problem = [Message("user", fill("writer", note=note))], ""
    for attempt in range(ROUNDS):
        reply = await case.ask("writer", messages, ROLES["writer"] if attempt == 0 else REPAIR)
        text = drop_thoughts(reply.text).strip()
        problem = _fault(note, text)
        if not problem:
            return text, ""
        messages += [Message("assistant", reply.text or "(nothing)"), Message("user", f"Write it again: {problem}.")]
    return "", f"the writer's text {problem}"


def _fault(note: str, text: str) -> str:
    """What is wrong with a rewriting; empty where nothing is."""
    if not text:
        return "is empty"
    if gone := lost(note, text):
        return f"lacks {', '.join(gone[:8])}"
    if new := [one for one in lost(text, note) if one[:1] in "-0123456789"]:
        return f"brings in the figures {', '.join(new[:8])}"
    if words := modelling_words(text):
        return f"speaks of modelling: {', '.join(words)}"
    return ""


async def _programmed(
    case: LedgerCase, role: str, runner: ProgramRunner, folder: Path, **values: object
) -> tuple[str, ProgramRun | None]:
    """A program of a role and what running it came to; errors go back, the optimum never does."""
    prompt = fill(role, files=_told(folder), track=TRACKS[Track.PULP], **values)
    messages, source, ran = [Message("user", prompt)], "", None
    for attempt in range(ROUNDS):
        warmth = ROLES[role] + (WARMER * attempt if role == "author" else 0.0)
        reply = await case.ask(role, messages, warmth if attempt == 0 or role == "author" else REPAIR)
        try:
            source = code_in(reply.text)
            ran = await asyncio.to_thread(runner.run, folder, PROGRAM, {PROGRAM: source})
            trouble = "" if ran.code == 0 and ran.printed.value is not None else _trouble(ran)
        except (ReplyError, WorkspaceError) as problem:
            trouble = str(problem)
        if not trouble:
            break
        messages += [Message("assistant", reply.text or "(nothing)"), Message("user", f"It fails: {trouble}\nMend it.")]
    return source, ran


def _trouble(ran: ProgramRun) -> str:
    return (ran.stderr.strip() or ran.reason or ran.printed.note)[-TOLD:]


def _reaches(ran: ProgramRun | None, optimum: float) -> bool:
    """Whether a program printed the optimum, and a model that it solved has it."""
    last = None if ran is None else ran.last
    if ran is None or ran.code != 0 or last is None or last.objective is None:
        return False
    return abs(last.objective - optimum) <= max(RELATIVE * abs(optimum), ABSOLUTE)

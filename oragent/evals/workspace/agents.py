"""Agents for tasks: ``oracle``, ``copy`` and ``planted``, which use no language model, and language models.

The agents without a language model know the exact models of a set, or nothing. They show what the scorers detect.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

import numpy as np

from oragent._base.errors import ReplyError, WorkspaceError
from oragent.evals.workspace.exact_instances import ExactInstance, has_moved
from oragent.evals.workspace.judging import PENALTY_PAPER, RubricJudgement, parse_reply
from oragent.evals.workspace.rubric import Rubric, exact_decisions
from oragent.evals.workspace.views import PROGRAM, RevisionView, WorkspaceTask
from oragent.ledger.case import LedgerCase
from oragent.llm.dialogue import ask_until_read
from oragent.llm.model import Message
from oragent.milp.model import Milp
from oragent.milp.solving import solve
from oragent.programs.blocks import drop_thoughts, fenced_blocks
from oragent.workspace.citations import check_citations
from oragent.workspace.comparing import rule_of
from oragent.workspace.folder import write_program
from oragent.workspace.layout import Mode, sha256_of
from oragent.workspace.reading import decode_text, list_files, read_bytes, shorten_path
from oragent.workspace.roles import BEGIN, NAME, TEMPERATURE, AgentWork, fill_prompt, work_in_session
from oragent.workspace.roles import PROMPTS as PRODUCT_PROMPTS
from oragent.workspace.runner import ProgramRun, ProgramRunner
from oragent.workspace.settings import LIMITS
from oragent.workspace.tools import ToolSession

# Folder of prompts that only benchmarks use.
PROMPTS = Path(__file__).parent / "prompts"
FLAT_CHARACTERS = 400_000
# Role of the judge.
JUDGE = "judge"
# Maximum number of requests to a judge.
ATTEMPTS = 3
ROLES = {Mode.BUILD: "builder", Mode.REVISE: "reviser", Mode.EXPLAIN: "explainer"}
SHOWN = {
    RevisionView.CODE: "the program",
    RevisionView.MODEL: "the mathematical formulation",
    RevisionView.ALL: "the program and the mathematical formulation",
}


AGENTS = ("oracle", "copy", "planted")
# Line that a program of the benchmark prints.
OUTPUT = """ It prints its objective as the last line of this form:

OBJECTIVE_VALUE: 123.45"""
# Helper modules that programs of the public release import. Their "Gurobi" is PuLP with HiGHS.
HELPERS = {
    "gurobi_pulp_compat.py": "import pulp\n"
    "globals().update({name: value for name, value in vars(pulp).items() if not name.startswith('__')})\n",
    "gurobi_execution_record.py": "def install_gurobi_objective_recorder(*args, **kwargs):\n    pass\n",
}
# Names of modules in questions and the names under which programs import them.
SECOND_NAMES = {"utils.py": "utility_code.py"}


class Track(StrEnum):
    """Solver interface that a program must use."""

    PULP = "pulp-highs"
    HIGHSPY = "highspy"


TRACKS = {
    Track.PULP: "Use PuLP (import pulp). Any solver may be named: HiGHS runs in its place, on one thread, for at most "
    "120 s. There is no network, and no other process can be started.",
    Track.HIGHSPY: "Use highspy (import highspy) directly, on one thread, for at most 120 s. There is no network, and "
    "no other process can be started.",
}


class ReleaseRunner(ProgramRunner):
    """Runner that adds the helper modules of the public release to a program's folder."""

    def run(self, folder: Path, program: str, files: Mapping[str, str | bytes] | None = None) -> ProgramRun:
        """Run a program on a copy of a folder."""
        place = program.rpartition("/")[0]
        prefix = f"{place}/" if place else ""
        helpers: dict[str, str | bytes] = {f"{prefix}{name}": text for name, text in HELPERS.items()}
        for name, source in SECOND_NAMES.items():
            if (folder / prefix / source).is_file():
                helpers[f"{prefix}{name}"] = read_bytes(folder / prefix / source)
        present = list_files(folder)
        return super().run(
            folder, program, {path: text for path, text in helpers.items() if path not in present} | dict(files or {})
        )


class FileInterface(StrEnum):
    """Way in which an agent reads files."""

    FILESYSTEM = "filesystem"
    FLAT = "flat"


@dataclass(frozen=True)
class Manner:
    """Settings of a model's task. ``seconds`` are the CPU seconds of a program."""

    interface: FileInterface = FileInterface.FILESYSTEM
    track: Track = Track.PULP
    seconds: float = LIMITS.cpu_s


def system_prompt(task: WorkspaceTask, manner: Manner) -> str:
    """Return the system prompt of the task's role."""
    role = ROLES[task.mode]
    if task.mode is Mode.EXPLAIN:
        return fill_prompt(role)
    values = {
        "place": f"{PROGRAM[task.mode]}/{NAME}",
        "track": TRACKS[manner.track].replace("120 s", f"{manner.seconds:g} s"),
    }
    if task.mode is Mode.BUILD:
        values["output"] = OUTPUT
    if task.variant is not None:
        values["shown"] = SHOWN[task.variant]
    return fill_prompt(role, PROMPTS if task.mode is Mode.REVISE else PRODUCT_PROMPTS, **values)


async def run_task(case: LedgerCase, task: WorkspaceTask, desk: ToolSession, manner: Manner) -> AgentWork:
    """Run a task with a language model."""
    if task.mode is Mode.EXPLAIN:
        request = f"Question: {task.question}"
    else:
        request = ""
    if manner.interface is FileInterface.FLAT:
        return await _run_flat(case, task, desk, manner, request or "Begin.")
    return await work_in_session(case, ROLES[task.mode], system_prompt(task, manner), request or BEGIN, desk)


async def _run_flat(
    case: LedgerCase, task: WorkspaceTask, desk: ToolSession, manner: Manner, request: str
) -> AgentWork:
    if task.mode in PROGRAM:
        form = "Answer with one fenced Python block: the whole program."
    else:
        form = "Answer in Markdown."
    flat = fill_prompt("flat", PROMPTS, form=form, files=render_files(desk.list_files()))
    prompt = f"{system_prompt(task, manner)}\n{flat}"
    reply = await case.ask(ROLES[task.mode], [Message("user", f"{prompt}\n{request}")], TEMPERATURE)
    if task.mode is Mode.EXPLAIN:
        return _answered(drop_thoughts(reply.text), desk.list_files(), "answered at once")
    try:
        source = code_in(reply.text)
    except ReplyError as problem:
        return AgentWork(end=str(problem))
    path = f"{PROGRAM[task.mode]}/{NAME}"
    (desk.folder / path).write_text(source.encode("utf-8", "replace").decode(), encoding="utf-8")
    return AgentWork(path, end="answered at once")


def _answered(answer: str, files: Mapping[str, Path], end: str) -> AgentWork:
    return AgentWork(answer=answer, broken=tuple(map(str, check_citations(answer, files))), end=end)


def code_in(text: str) -> str:
    """Return the longest fenced block of a reply.

    Raises:
        ReplyError: The reply has no fenced block.
    """
    blocks, outside = fenced_blocks(drop_thoughts(text.replace("\r\n", "\n")))
    if not blocks and re.search(r"^(?:import|from) \w+", outside, re.MULTILINE):
        return outside.strip("\n") + "\n"
    if not blocks:
        raise ReplyError("the reply has no program; answer with one fenced Python block")
    return max((block.text for block in blocks), key=len).strip("\n") + "\n"


def render_files(files: Mapping[str, Path], limit: int = FLAT_CHARACTERS) -> str:
    """Return all files as one text for a prompt.

    Raises:
        WorkspaceError: The files exceed the limit of a prompt.
    """
    parts = []
    for path, file in files.items():
        try:
            parts.append(f"=== {path}\n{decode_text(read_bytes(file), path)}\n")
        except WorkspaceError as problem:
            parts.append(f"=== {path}\n({problem})\n")
    size = sum(map(len, parts))
    if size > limit:
        longest = shorten_path(max(files, key=len))
        what = f"the files have {size} characters, {longest} among them"
        raise WorkspaceError(f"{what}; expected at most {limit}: use --interface filesystem")
    return "".join(parts)


async def judge_answer(
    case: LedgerCase, rubric: Rubric, answer: str, evidence: str, penalty_max: float = PENALTY_PAPER
) -> RubricJudgement:
    """Ask a judge for a judgement. An invalid reply is sent back with the reason, with three attempts in total."""
    criteria = "\n".join(f"- {one.id}: {one.text} {one.instruction}" for one in rubric.semantic)
    exact = "\n".join(f"- {name}: {'hit' if hit else 'miss'}" for name, hit in exact_decisions(rubric, answer).items())
    prompt = fill_prompt(
        "judge",
        PROMPTS,
        penalty=f"{penalty_max:g}",
        criteria=criteria or "none",
        exact=exact or "none",
        question=rubric.question,
        answer=answer,
        # An answer cannot contain its own hash.
        mark=f"=== answer {sha256_of(answer.encode('utf-8', 'replace'))[:16]} ===",
        evidence=evidence,
    )
    judged = await ask_until_read(
        lambda messages, _: case.ask(JUDGE, messages, TEMPERATURE),
        [Message("user", prompt)],
        lambda text: parse_reply(drop_thoughts(text), rubric, penalty_max),
        attempts=ATTEMPTS,
        unusable=WorkspaceError,
    )
    if judged.value is None:
        raise WorkspaceError(judged.problem)
    return judged.value


@dataclass(frozen=True)
class Plant:
    """An error that was planted in an exact model."""

    # ``row``, ``cell`` or ``operation``.
    kind: str
    # Name of the row, or of the operation of the revision.
    name: str
    milp: Milp


def attempt_task(
    name: str, task: WorkspaceTask, folder: Path, instance: ExactInstance | None, runner: ProgramRunner
) -> AgentWork:
    """Do a task with an agent that uses no language model.

    Raises:
        WorkspaceError: The agent needs exact models, which the set lacks.
    """
    if task.mode is Mode.EXPLAIN:
        if name == "copy":
            return AgentWork(answer=task.question, end="the question, given back")
        return AgentWork(end=f"no answer: {name} writes programs")
    if name == "copy":
        return _copy_original(task, folder)
    if instance is None:
        raise WorkspaceError(f"the agent {name} needs exact models, and this set has none")
    path, revised = f"{PROGRAM[task.mode]}/optimization_model.py", task.mode is Mode.REVISE
    if name == "oracle":
        # The tables of build contain noise, so the program itself contains the figures.
        if revised:
            source = instance.programs[1]
        else:
            source = write_program(instance.milp, instance.title)
        (folder / path).write_text(source, encoding="utf-8")
        return AgentWork(path, end="the exact model")
    plant = list_plants(instance, revised)[(task.number - 1) % len(list_plants(instance, revised))]
    (folder / path).write_text(write_program(plant.milp, instance.title), encoding="utf-8")
    return AgentWork(path, planted=f"{plant.kind}: {plant.name}", end="the exact model with one error")


def list_plants(instance: ExactInstance, revised: bool) -> list[Plant]:
    """Return one possible error of each kind; each changes the optimum enough to fail."""
    if revised:
        exact = instance.revised
    else:
        exact = instance.milp
    if revised:
        optimum = instance.revised_optimum
    else:
        optimum = instance.optimum
    kinds = [*([_omit_operations(instance)] if revised else []), _omit_rules(exact), _alter_cells(exact)]
    planted = [plant for kind in kinds if (plant := _first_moving(kind, optimum)) is not None]
    if not planted:
        raise WorkspaceError(f"instance {instance.number}has no error that changes the optimum; use another set")
    return planted


def _first_moving(candidates: Iterator[Plant], optimum: float) -> Plant | None:
    for plant in candidates:
        value = solve(plant.milp, 20.0, duals=False).objective
        if value is not None and has_moved(value, optimum):
            return plant
    return None


def _omit_rules(milp: Milp) -> Iterator[Plant]:
    """Yield errors that omit a whole rule, such as all limits of machines."""
    for rule in dict.fromkeys(rule_of(row.name) for row in milp.rows):
        yield Plant("row", rule, _without_rule(milp, rule))


def _without_rule(milp: Milp, rule: str) -> Milp:
    return replace(milp, rows=tuple(row for row in milp.rows if rule_of(row.name) != rule))


def _alter_cells(milp: Milp) -> Iterator[Plant]:
    """Yield errors that change one figure of a row or of the objective."""
    rng = np.random.default_rng(0)
    for index in rng.permutation(len(milp.rows))[:20]:
        row = milp.rows[int(index)]
        if row.rhs:
            rows = tuple(replace(one, rhs=3.0 * one.rhs) if one.name == row.name else one for one in milp.rows)
            yield Plant("cell", row.name, replace(milp, rows=rows))
    for name, value in list(milp.objective.terms.items())[:20]:
        terms = {**milp.objective.terms, name: 30.0 * value}
        yield Plant("cell", f"objective {name}", replace(milp, objective=replace(milp.objective, terms=terms)))


def _omit_operations(instance: ExactInstance) -> Iterator[Plant]:
    """Yield errors that omit one operation of the revision."""
    earlier = {row.name: row for row in instance.milp.rows}
    for operation in instance.operations:
        rule = operation.partition(" ")[2]
        if operation.startswith("+"):
            yield Plant("operation", operation, _without_rule(instance.revised, rule))
        elif rule:
            rows = tuple(
                earlier.get(row.name, row) if rule_of(row.name) == rule else row for row in instance.revised.rows
            )
            yield Plant("operation", operation, replace(instance.revised, rows=rows))
        else:
            objective = replace(instance.revised.objective, terms=dict(instance.milp.objective.terms))
            yield Plant("operation", operation, replace(instance.revised, objective=objective))


def _copy_original(task: WorkspaceTask, folder: Path) -> AgentWork:
    """Return the original without changes."""
    files = list_files(folder)
    programs = [path for path in files if re.fullmatch(r"original/src/[^/]+\.py", path)]
    for path in programs:
        (folder / "revised" / path.removeprefix("original/")).write_bytes(files[path].read_bytes())
    main = [path for path in programs if b"OBJECTIVE_VALUE" in files[path].read_bytes()]
    return AgentWork(f"revised/{main[0].removeprefix('original/')}" if main else "", end="the original, as it was")

"""Agents for tasks: language models, and ``copy``, which returns the original without changes."""

import re
from collections.abc import Mapping
from pathlib import Path

from oragent._base.errors import WorkspaceError
from oragent.ledger.case import LedgerCase
from oragent.llm.dialogue import ask_until_read
from oragent.llm.model import Message
from oragent.programs.blocks import drop_thoughts
from oragent.workspace.agent_sessions import BEGIN, NAME, TEMPERATURE, AgentWork, fill_prompt, work_in_session
from oragent.workspace.agent_sessions import PROMPTS as PRODUCT_PROMPTS
from oragent.workspace.layout import Mode, sha256_of
from oragent.workspace.reading import list_files, read_bytes
from oragent.workspace.runner import ProgramRun, ProgramRunner
from oragent.workspace.settings import LIMITS
from oragent.workspace.tools import ToolSession
from oragent_benchmarks.workspace.judging import PENALTY_PAPER, RubricJudgement, parse_reply
from oragent_benchmarks.workspace.rubric import Rubric, exact_decisions
from oragent_benchmarks.workspace.views import PROGRAM, RevisionView, WorkspaceTask

# Folder of prompts that only benchmarks use.
PROMPTS = Path(__file__).parent / "prompts"
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

# Agents without a language model.
AGENTS = ("copy",)
LIBRARIES = (
    "Use PuLP (import pulp). Any solver may be named: HiGHS runs in its place, on one thread, for at most "
    f"{LIMITS.cpu_s:g} s. There is no network, and no other process can be started."
)
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


def system_prompt(task: WorkspaceTask) -> str:
    """Return the system prompt of the task's role."""
    role = ROLES[task.mode]
    if task.mode is Mode.EXPLAIN:
        return fill_prompt(role)
    values = {"place": f"{PROGRAM[task.mode]}/{NAME}", "track": LIBRARIES}
    if task.mode is Mode.BUILD:
        values["output"] = OUTPUT
    if task.variant is not None:
        values["shown"] = SHOWN[task.variant]
    return fill_prompt(role, PROMPTS if task.mode is Mode.REVISE else PRODUCT_PROMPTS, **values)


async def run_task(case: LedgerCase, task: WorkspaceTask, desk: ToolSession) -> AgentWork:
    """Run a task with a language model."""
    request = f"Question: {task.question}" if task.mode is Mode.EXPLAIN else BEGIN
    return await work_in_session(case, ROLES[task.mode], system_prompt(task), request, desk)


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


def copy_original(task: WorkspaceTask, folder: Path) -> AgentWork:
    """Return the original without changes; for a question, the question itself."""
    if task.mode is Mode.EXPLAIN:
        return AgentWork(answer=task.question, end="the question, given back")
    files = list_files(folder)
    programs = [path for path in files if re.fullmatch(r"original/src/[^/]+\.py", path)]
    for path in programs:
        (folder / "revised" / path.removeprefix("original/")).write_bytes(files[path].read_bytes())
    main = [path for path in programs if b"OBJECTIVE_VALUE" in files[path].read_bytes()]
    return AgentWork(f"revised/{main[0].removeprefix('original/')}" if main else "", end="the original, as it was")

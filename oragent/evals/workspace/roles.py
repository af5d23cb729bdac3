"""Ask a language model to build, revise, explain or judge in a benchmark: with tools, or in one answer."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from oragent._base.errors import ReplyError, WorkspaceError
from oragent.evals.workspace.judging import PENALTY_PAPER, Judgement, parse_reply
from oragent.evals.workspace.rubric import Rubric, exact_decisions
from oragent.evals.workspace.tasks import PROGRAM, WorkspaceTask
from oragent.evals.workspace.views import RevisionView
from oragent.ledger.case import LedgerCase
from oragent.llm.model import Message
from oragent.programs.blocks import drop_thoughts, fenced_blocks
from oragent.workspace.citations import check_citations
from oragent.workspace.layout import Mode
from oragent.workspace.reading import decode_text, read_bytes, shorten_path
from oragent.workspace.roles import BEGIN, NAME, TEMPERATURE, AgentWork, Track, fill_prompt, track_text, work_with_tools
from oragent.workspace.roles import PROMPTS as PRODUCT_PROMPTS
from oragent.workspace.runner import LIMITS
from oragent.workspace.tools import ToolSession

PROMPTS = Path(__file__).parent / "prompts"  # those that only benchmarks use
FLAT_CHARACTERS = 400_000
ATTEMPTS = 3  # of a judge
ROLES = {Mode.BUILD: "builder", Mode.REVISE: "reviser", Mode.EXPLAIN: "explainer"}
SHOWN = {RevisionView.CODE: "the program", RevisionView.MODEL: "the mathematical formulation",
         RevisionView.ALL: "the program and the mathematical formulation"}  # fmt: skip


class FileInterface(StrEnum):
    """How an agent gets at files."""

    FILESYSTEM = "filesystem"
    FLAT = "flat"


@dataclass(frozen=True)
class Manner:
    """How a model is asked.

    Attributes:
        interface: With tools, or in one answer.
        track: Solver.
        seconds: CPU seconds of a program.
    """

    interface: FileInterface = FileInterface.FILESYSTEM
    track: Track = Track.PULP
    seconds: float = LIMITS.cpu_s

    @property
    def track_text(self) -> str:
        """Return what the model is told of the solver and the time."""
        return track_text(self.track, self.seconds)


def system(task: WorkspaceTask, manner: Manner) -> str:
    """What the model is told of its role."""
    role = ROLES[task.mode]
    if task.mode is Mode.EXPLAIN:
        return fill_prompt(role)
    values = {"place": f"{PROGRAM[task.mode]}/{NAME}", "track": manner.track_text}
    if task.variant is not None:
        values["shown"] = SHOWN[task.variant]
    return fill_prompt(role, PROMPTS if task.mode is Mode.REVISE else PRODUCT_PROMPTS, **values)


async def work(case: LedgerCase, task: WorkspaceTask, desk: ToolSession, manner: Manner) -> AgentWork:
    """Do a task by a language model.

    Args:
        case: Case that asks and pays.
        task: The task.
        desk: Desk at which it is done.
        manner: How the model is asked.

    Raises:
        OragentError: if the budget is used up or the endpoint cannot be used.
    """
    asked = f"Question: {task.question}" if task.mode is Mode.EXPLAIN else ""
    if manner.interface is FileInterface.FLAT:
        return await _flat(case, task, desk, manner, asked or "Begin.")
    return await work_with_tools(case, ROLES[task.mode], system(task, manner), asked or BEGIN, desk)


async def _flat(case: LedgerCase, task: WorkspaceTask, desk: ToolSession, manner: Manner, request: str) -> AgentWork:
    form = "Answer with one fenced Python block: the whole program." if task.mode in PROGRAM else "Answer in Markdown."
    told = f"{system(task, manner)}\n{fill_prompt('flat', PROMPTS, form=form, files=files_told(desk.list_files()))}"
    reply = await case.ask(ROLES[task.mode], [Message("user", f"{told}\n{request}")], TEMPERATURE)
    if task.mode is Mode.EXPLAIN:
        said = drop_thoughts(reply.text)
        return AgentWork(
            answer=said,
            broken=tuple(str(one) for one in check_citations(said, desk.list_files())),
            end="answered at once",
        )
    try:
        source = code_in(reply.text)
    except ReplyError as problem:
        return AgentWork(end=str(problem))
    path = f"{PROGRAM[task.mode]}/{NAME}"
    (desk.folder / path).write_text(source.encode("utf-8", "replace").decode(), encoding="utf-8")
    return AgentWork(path, end="answered at once")


def code_in(text: str) -> str:
    """The longest fenced block of a reply.

    Raises:
        ReplyError: if there is none.
    """
    blocks, outside = fenced_blocks(drop_thoughts(text.replace("\r\n", "\n")))
    if not blocks and re.search(r"^(?:import|from) \w+", outside, re.MULTILINE):
        return outside.strip("\n") + "\n"
    if not blocks:
        raise ReplyError("the reply has no program; answer with one fenced Python block")
    return max((block.text for block in blocks), key=len).strip("\n") + "\n"


def files_told(files: Mapping[str, Path], limit: int = FLAT_CHARACTERS) -> str:
    """All files in one text.

    Raises:
        WorkspaceError: if there is more of them than a prompt should hold.
    """
    parts = []
    for path, place in files.items():
        try:
            parts.append(f"=== {path}\n{decode_text(read_bytes(place), path)}\n")
        except WorkspaceError as problem:
            parts.append(f"=== {path}\n({problem})\n")
    size = sum(map(len, parts))
    if size > limit:
        raise WorkspaceError(f"the files have {size} characters, "
        f"{shorten_path(max(files, key=lambda one: len(one)))} among "
                             f"them; expected at most {limit}: use --interface filesystem")  # fmt: skip
    return "".join(parts)


async def judge(
    case: LedgerCase, rubric: Rubric, answer: str, evidence: str, penalty_max: float = PENALTY_PAPER
) -> Judgement:
    """Have an answer judged; a reply that is no judgement goes back with the reason, three times in all.

    Raises:
        WorkspaceError: if none of them is one.
        OragentError: if the budget is used up or the endpoint cannot be used.
    """
    criteria = "\n".join(f"- {one.id}: {one.text} {one.instruction}" for one in rubric.semantic) or "none"
    exact = "\n".join(f"- {name}: {'hit' if hit else 'miss'}" for name, hit in exact_decisions(rubric, answer).items())
    prompt = fill_prompt("judge", PROMPTS, penalty=f"{penalty_max:g}", criteria=criteria, exact=exact or "none",
                  question=rubric.question, answer=answer, evidence=evidence)  # fmt: skip
    messages = [Message("user", prompt)]
    problem: WorkspaceError | None = None
    for _ in range(ATTEMPTS):
        reply = await case.ask("judge", messages, TEMPERATURE)
        try:
            return parse_reply(drop_thoughts(reply.text), rubric, penalty_max)
        except WorkspaceError as wrong:
            problem = wrong
            messages += [Message("assistant", reply.text), Message("user", f"This cannot be used: {wrong}.")]
    raise problem or WorkspaceError("the judge was asked no time")

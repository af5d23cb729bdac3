"""One conversation with tools: the model sees the result of each of its programs.

Each reply is one call of a tool: a program to score, or a program to run on a few instances for its output. The
conversation ends after ``strategy.options.calls`` calls, or when the model says that it is done. Then a new
conversation begins, independent of the others, until the budget is used up. This is the baseline of a model that is
asked once and has a sandbox; published runs had 50 calls ("LLMs Can Design Near-Optimal OR Algorithms",
arXiv:2608.27296). The tools are lines of text, so that they work with every server.
"""

import re
from dataclasses import dataclass as plain
from dataclasses import field
from functools import partial
from typing import Annotated

from annotated_types import Ge
from pydantic.dataclasses import dataclass

from oragent._base.errors import ReplyError
from oragent._base.settings import STRICT
from oragent.llm.dialogue import fit_messages
from oragent.llm.model import Message
from oragent.programs.blocks import drop_thoughts, fence_text, language_tag
from oragent.search.candidate import Candidate, Elite
from oragent.search.config import Blocks
from oragent.search.prompting.programs import list_figures
from oragent.search.prompting.prompt_templates import program_request, task_messages
from oragent.search.round_context import RoundContext
from oragent.search.strategies.asking import ask_and_read, read_program, repair_request
from oragent.search.strategies.operators import compose_prompt
from oragent.search.strategies.or_agent.prompt_sections import describe_failure, head_and_tail
from oragent.search.strategy import Strategy

DONE = re.compile(r"^\W*DONE\W*$", re.MULTILINE)
PROBE_LINE = re.compile(r"^\W*PROBE\W*$", re.MULTILINE)
# Maximum number of characters of the output of a probe, or of a failure, that the prompt shows.
MAX_OUTPUT = 3000


@dataclass(frozen=True, config=STRICT)
class OneShotSettings:
    """Settings under ``strategy.options``.

    Attributes:
        calls: Number of tool calls in a conversation.
        probes: Whether the model may run a program for its output.
    """

    calls: Annotated[int, Ge(1)] = 50
    probes: bool = True


@plain(frozen=True)
class ToolReply:
    """Tool call in a reply. Without a program, the model is done."""

    program: str
    is_probe: bool = False


@plain
class ToolDialogue:
    """A conversation and its best program."""

    messages: list[Message]
    # Program to which edits apply: the latest one.
    base: str
    best: Candidate | None = None
    parents: list[str] = field(default_factory=list)


async def hold_conversation(run: RoundContext) -> None:
    """Let the model score and probe programs in one conversation."""
    options: OneShotSettings = run.own
    talk = ToolDialogue(task_messages(run, write_request(run)), run.problem.seed)
    for number in range(1, options.calls + 1):
        answer = await ask_and_read(
            run,
            "code",
            fit_messages(talk.messages, run.room),
            partial(read_call, run, talk),
            partial(repair_request, run),
        )
        call = answer.value
        if call is None:
            run.reject(answer.reply.text, answer.problem, talk.parents, "code", answer.reply.call)
            return
        if not call.program:
            return
        result = await _perform(run, talk, call, answer.reply.call)
        talk.messages += [
            Message("assistant", answer.reply.text),
            Message("user", _write_result(run, talk, result, options.calls - number)),
        ]


def write_request(run: RoundContext) -> str:
    """Write the request: the seed heuristic, the tools, and the form of a program."""
    options: OneShotSettings = run.own
    task = run.fill_template("one_shot", calls=options.calls)
    if not options.probes:
        task = "\n".join(line for line in task.splitlines() if "PROBE" not in line)
    seed = run.problem.seed.strip()
    programs = [f"The present program:\n{fence_text(seed, language_tag(seed))}"]
    answer = run.fill_template("answer_code", run.style, **program_request(run), edits="")
    return compose_prompt(run, task, programs, answer)


def read_call(run: RoundContext, talk: ToolDialogue, text: str) -> ToolReply:
    """Read the tool call of a reply.

    Raises:
        ReplyError: The reply holds neither a program nor, after the first program, the line DONE.
    """
    try:
        program = read_program(run, text, talk.base)
    except ReplyError:
        # DONE counts only after the first program.
        if run.solutions and DONE.search(drop_thoughts(text)):
            return ToolReply("")
        raise
    preceding = drop_thoughts(text).partition("```")[0]
    return ToolReply(program, is_probe=bool(run.own.probes and PROBE_LINE.search(preceding)))


async def _perform(run: RoundContext, talk: ToolDialogue, call: ToolReply, reply: int) -> str:
    """Perform a tool call and return its result as text."""
    talk.base = call.program
    if call.is_probe:
        probed = (await run.experiments.probe(call.program, talk.parents, reply)).evaluation
        printed = probed.log.strip() or "(nothing)"
        if probed.score is None:
            printed = f"{describe_failure(probed)}\n{printed}"
        return f"The program printed:\n{fence_text(head_and_tail(printed, MAX_OUTPUT))}"
    candidate = await run.evaluate(call.program, talk.parents, "code", reply)
    talk.parents = [candidate.fingerprint]
    if candidate.score is None:
        return f"The program failed:\n{fence_text(head_and_tail(describe_failure(candidate.evaluation), MAX_OUTPUT))}"
    if talk.best is None or run.archive.fitness(candidate.score) > run.archive.fitness(_score(talk.best)):
        talk.best = candidate
    return f"The program is scored: {list_figures(Elite.of(candidate))}."


def _score(candidate: Candidate) -> float:
    assert candidate.score is not None
    return candidate.score


def _write_result(run: RoundContext, talk: ToolDialogue, result: str, left: int) -> str:
    best = "none" if talk.best is None else f"{_score(talk.best):.6g}"
    return run.fill_template("one_shot_result", result=result, best=best, left=left)


STRATEGY = Strategy(
    name="one_shot",
    round=hold_conversation,
    islands=1,
    window=1,
    blocks=Blocks.NONE,
    tuning=0.0,
    settings=OneShotSettings,
)

"""Ask a model for a program and score it: functions that all strategies with a model share."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

from oragent._base.errors import CandidateError, ReplyError
from oragent.ledger import RecordedReply
from oragent.llm.dialogue import ModelAnswer, ask_until_read
from oragent.llm.model import Message
from oragent.programs.blocks import NEAREST
from oragent.programs.inspection import fit_to_frame, inspect_program
from oragent.programs.replies import extract_code
from oragent.search.candidate import Candidate, ParentProgram
from oragent.search.prompting.prompt_templates import program_request
from oragent.search.round_context import RoundContext
from oragent.search.run_end import holds_code
from oragent.search.scoring import Gate

T = TypeVar("T")
# Maximum temperature that servers accept.
HOTTEST = 2.0


# A first population takes at most 1/PART of a small budget, and at least MIN_PROGRAMS programs.
PART, MIN_PROGRAMS = 5, 4


async def ask_and_read(
    run: RoundContext,
    role: str,
    messages: Sequence[Message],
    read: Callable[[str], T],
    complain: Callable[[str], str],
    temperature: float | None = None,
    schema: Mapping[str, Any] | None = None,
) -> ModelAnswer[T, RecordedReply]:
    """Ask a model. An unusable reply is sent back once, with the reason.

    ``read`` extracts the answer from a reply, and raises ``ReplyError`` if there is none. It runs in a thread, because
    a malicious reply can take long to read. ``complain`` turns the error into a prompt for the repair.
    """

    def ask(sent: Sequence[Message], attempt: int) -> Awaitable[RecordedReply]:
        return run.ask("repair" if attempt else role, sent, temperature, schema)

    answer = await ask_until_read(ask, messages, read, complain=complain)
    run.reply_problems.append(answer.problem)
    if answer.value is None and holds_code(answer.reply.text, run.problem.signature.function):
        # A reply with a faulty program still shows that the model works.
        run.reply_problems[-1] = ""
    return answer


async def ask_for_program(
    run: RoundContext,
    role: str,
    messages: Sequence[Message],
    parents: Sequence[ParentProgram],
    temperature: float | None = None,
    base: str | None = None,
    gate: Callable[[str], Gate | None] | None = None,
) -> Candidate:
    """Ask a model for a program and score it. A reply without a usable program is sent back once, then rejected.

    ``parents`` are the programs that the prompt shows. An edit applies to the last parent, or to ``base`` if the prompt
    shows the parent in another form. ``gate`` returns the score that the program must reach at one size; only then is
    it scored on all sizes.
    """
    parent_ids = [parent.id for parent in parents]
    if parents and base is None:
        base = parents[-1].source
    answer = await ask_and_read(
        run, role, messages, lambda text: read_program(run, text, base), partial(repair_request, run), temperature
    )
    reply = answer.reply
    if answer.value is None:
        return run.reject(reply.text, answer.problem, parent_ids, reply.role, reply.call)
    return await run.evaluate(answer.value, parent_ids, reply.role, reply.call, gate)


def repair_request(run: RoundContext, problem: str) -> str:
    """Write a prompt to repair a reply without a usable program. If edits did not match, quote the nearest lines."""
    return run.fill_template(
        "repair_edits" if NEAREST in problem else "repair", run.style, problem=problem, **program_request(run)
    )


def raised_temperature(run: RoundContext, more: float) -> float | None:
    """Return the model's temperature plus ``more``, for the first programs; None means the model's default."""
    settings = run.settings.model
    if settings is None or not more:
        return None
    return min(settings.temperature + more, HOTTEST)


def read_program(run: RoundContext, text: str, base: str | None) -> str:
    """Extract a program with the required signature from a reply, or raise ReplyError.

    Edits apply to ``base``, if given.
    """
    signature = run.problem.signature
    try:
        source = fit_to_frame(extract_code(text, signature.function, base, signature), signature)
    except CandidateError as problem:
        raise ReplyError(str(problem)) from None
    inspected = inspect_program(source, signature)
    if inspected.problem:
        raise ReplyError(inspected.problem)
    return source


def first_population(run: RoundContext, configured: int | None, published: int) -> int:
    """Return the size of the first population.

    It is the published size, but at most a fifth of the budget, and 0 in a shared run.
    """
    if configured is not None:
        return configured
    # A run that several strategies share needs no first population, because its archive has programs.
    if run.turns is not None:
        return 0
    return max(MIN_PROGRAMS, part_of_budget(run, published))


def part_of_budget(run: RoundContext, number: int) -> int:
    """Return a number of programs, or a fifth of those that the budget allows if that is less."""
    budget = run.settings.budget
    bounds = [bound for bound in (budget.evaluations, budget.model_calls) if bound is not None]
    return min([number, *(bound // PART for bound in bounds)])

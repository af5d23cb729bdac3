"""From a prompt to a scored program: what every strategy with a model does alike."""

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
from oragent.search.prompting.prompt_templates import fill_template, program_request
from oragent.search.round_context import RoundContext
from oragent.search.run_end import holds_code
from oragent.search.scoring import Gate

T = TypeVar("T")
# temperature that servers take
HOTTEST = 2.0


# of a small budget: one part in so many makes the first population, and so many at least
PART, LEAST = 5, 4


async def ask_and_read(
    run: RoundContext,
    role: str,
    messages: Sequence[Message],
    read: Callable[[str], T],
    complain: Callable[[str], str],
    temperature: float | None = None,
    schema: Mapping[str, Any] | None = None,
) -> ModelAnswer[T, RecordedReply]:
    """Ask a model; a reply that cannot be used is sent back once, with the reason.

    ``read`` takes what is wanted out of a reply, and raises ``ReplyError`` where it is not there; it is called again,
    in a thread, where a hostile reply takes longer than a usual one. ``complain`` turns that error into the prompt for
    the repair.
    """

    def ask(sent: Sequence[Message], attempt: int) -> Awaitable[RecordedReply]:
        return run.ask("repair" if attempt else role, sent, temperature, schema)

    answer = await ask_until_read(ask, messages, read, complain=complain)
    run.reply_problems.append(answer.problem)
    if answer.value is None and holds_code(answer.reply.text, run.problem.signature.function):
        # a program with an error shows that the model works
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
    """Ask a model for a program and score it; a reply without a usable one is told so, once, and then rejected.

    ``parents`` are the programs that the prompt shows; an edit applies to the last, or to ``base`` where the prompt
    shows that in another form. ``gate`` says what the program must reach at one size before it is scored on all.
    """
    parent_ids = [parent.id for parent in parents]
    if parents and base is None:
        base = parents[-1].source
    else:
        base = base
    answer = await ask_and_read(
        run, role, messages, lambda text: read_program(run, text, base), partial(repair_request, run), temperature
    )
    reply = answer.reply
    if answer.value is None:
        return run.reject(reply.text, answer.problem, parent_ids, reply.role, reply.call)
    return await run.evaluate(answer.value, parent_ids, reply.role, reply.call, gate)


def repair_request(run: RoundContext, problem: str) -> str:
    """Ask to repair a reply without a usable program; with the nearest lines where edits did not match."""
    return fill_template(
        "repair_edits" if NEAREST in problem else "repair", run.style, problem=problem, **program_request(run)
    )


def raised_temperature(run: RoundContext, more: float) -> float | None:
    """The model's temperature and something more, for first programs; None: the model's own."""
    settings = run.settings.model
    if settings is None or not more:
        return None
    return min(settings.temperature + more, HOTTEST)


def read_program(run: RoundContext, text: str, base: str | None) -> str:
    """Take a program of the signature out of a reply, or raise a ReplyError; edits apply to ``base``, if any."""
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
    """Size of the first population; the paper's is cut to a fifth of the budget, to 0 in a shared run."""
    if configured is not None:
        return configured
    # of a shared run, whose archive is the first population
    if run.turns is not None:
        return 0
    budget = run.settings.budget
    bounds = [bound for bound in (budget.evaluations, budget.model_calls) if bound is not None]
    return max(LEAST, min([published, *(bound // PART for bound in bounds)]))

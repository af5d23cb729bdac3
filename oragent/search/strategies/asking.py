"""From a prompt to a scored program: what every strategy with a model does alike."""

from collections.abc import Sequence
from importlib.resources import files
from string import Template

from oragent.errors import CandidateError, ReplyError
from oragent.llm.model import Message
from oragent.llm.reply import extract_code
from oragent.search import syntax
from oragent.search.archive import Elite
from oragent.search.run import Run
from oragent.search.store import RecordedReply, Trial

__all__ = ["ask_for_program", "fill"]


def fill(template: str, **values: object) -> str:
    """Fill a prompt template of ``search/prompts``."""
    text = (files("oragent.search") / "prompts" / f"{template}.txt").read_text(encoding="utf-8")
    return Template(text).substitute({name: str(value) for name, value in values.items()}).strip()


async def ask_for_program(run: Run, role: str, messages: Sequence[Message], parents: Sequence[Elite]) -> Trial:
    """Ask a model for a program and score it; a reply without a usable one is told so, once.

    Args:
        run: the round.
        role: of the model, for accounts and lineage.
        messages: the prompt.
        parents: the programs that the prompt shows; the last is what an edit applies to.

    Returns:
        The candidate; rejected, with the reason, if neither reply was of use.
    """
    line = [elite.id for elite in parents]
    reply = await run.ask(role, messages)
    try:
        source = _program(run, reply, parents)
    except (ReplyError, CandidateError) as problem:
        complaint = fill("repair", problem=problem, signature=run.problem.signature.text)
        again = [*messages, Message("assistant", reply.reply), Message("user", complaint)]
        role, reply = "repair", await run.ask("repair", again)
        try:
            source = _program(run, reply, parents)
        except (ReplyError, CandidateError) as still:
            return run.reject(reply.reply, str(still), line, role, reply.call)
    return await run.evaluate(source, line, role, reply.call)


def _program(run: Run, reply: RecordedReply, parents: Sequence[Elite]) -> str:
    source = extract_code(reply.reply, run.problem.about.function, parents[-1].source if parents else None)
    syntax.check(source, run.problem.signature)
    return source

"""ReAct (Yao et al. 2023, arXiv:2210.03629): thought, action, observation, at most eight times.

Differs from the source: the actions are to look up a modelling pattern in a glossary of ours and to run a program; the
same program twice, and a reply without an action, end it.
"""

import re

from oragent._base.errors import ReplyError
from oragent.formulate.attempts import FormulationAttempt, nothing
from oragent.formulate.methods.glossary import PATTERNS, lookup
from oragent.formulate.programs import program_in
from oragent.formulate.session import FormulationSession
from oragent.llm.model import Message

MOST = 8
MOST_CHARACTERS = 2000  # of the values that are told
LOOKUP = re.compile(r"^\W*lookup\W*:\s*(.+)$", re.IGNORECASE | re.MULTILINE)


async def react(session: FormulationSession) -> FormulationAttempt:
    """Act and observe until there is nothing more to be done."""
    told = session.prompt("react", terms=", ".join(PATTERNS), most=MOST)
    messages = [Message("user", f"{session.prompt('standard')}\n\n{told}")]
    for _ in range(MOST):
        reply = await session.case.ask("react", messages, session.options.temperature)
        observed = await _acted(session, reply.text)
        if not observed:
            break
        messages += [Message("assistant", reply.text),
                     Message("user", session.prompt("observation", observation=observed))]  # fmt: skip
    if not session.attempts:
        session.attempts.append(nothing("react", 0, "no program was run"))
    return session.newest


async def _acted(session: FormulationSession, text: str) -> str:
    """What came of the action; empty where there was none, or nothing new."""
    try:
        source = program_in(text, session.problem.interface.function)
    except ReplyError:
        found = LOOKUP.search(text)
        return lookup(found[1]) if found else ""
    if session.attempts and session.newest.source == source:
        return ""
    return outcome(await session.run("react", source))


def outcome(attempt: FormulationAttempt) -> str:
    """What came of a program, as its writer is told."""
    if attempt.failed:
        return attempt.error
    values = str(attempt.ran.values)
    told = values if len(values) <= MOST_CHARACTERS else f"{values[:MOST_CHARACTERS]}..."
    return f"status {attempt.ran.status}, objective {attempt.ran.objective}, values {told}"

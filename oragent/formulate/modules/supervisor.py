"""The metacognitive supervisor: the final program, and its revisions (reflective mind)."""

from oragent.formulate.attempts import FormulationAttempt
from oragent.formulate.session import FormulationSession

UNCHANGED = "\n\nThe program came back unchanged after this had been said once: the lines named must change."


async def forward(session: FormulationSession) -> FormulationAttempt:
    """Write the program in the wanted interface out of all that was said, and run it."""
    return await session.attempt("supervisor_forward", session.prompt("supervisor_forward"))


async def backward(session: FormulationSession, feedback: str) -> FormulationAttempt:
    """Revise the program after the newest feedback, which is all that is told of what came before, and run it."""
    newest = session.newest
    told = feedback.strip() + (UNCHANGED if newest.failed and _came_back(session) else "")
    prompt = session.prompt("supervisor_backward", program=newest.source.strip(), feedback=told)
    return await session.attempt("supervisor_backward", prompt)


def _came_back(session: FormulationSession) -> bool:
    """Whether the newest program is the one before it, word for word."""
    return len({attempt.source.strip() for attempt in session.attempts[-2:]}) < min(len(session.attempts), 2)

"""The metacognitive supervisor: the final program, and its revisions (reflective mind)."""

from oragent.formulate.attempts import Attempt
from oragent.formulate.session import Session

__all__ = ["backward", "forward"]


async def forward(session: Session) -> Attempt:
    """Write the program in the wanted interface out of all that was said, and run it."""
    return await session.attempt("supervisor_forward", session.prompt("supervisor_forward"))


async def backward(session: Session, feedback: str) -> Attempt:
    """Revise the program after the newest feedback, which is all that is told of what came before, and run it."""
    prompt = session.prompt("supervisor_backward", program=session.newest.source.strip(), feedback=feedback.strip())
    return await session.attempt("supervisor_backward", prompt)

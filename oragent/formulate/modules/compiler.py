"""The executive compiler: a first program (system 1)."""

from oragent.formulate.session import Session


async def compile_draft(session: Session) -> None:
    """Write a draft; it is read by the supervisor, and not run."""
    await session.say("compiler", session.prompt("compiler"))

"""The executive compiler: a first program (system 1)."""

from oragent.formulate.session import FormulationSession


async def compile_draft(session: FormulationSession) -> None:
    """Write a draft; it is read by the supervisor, and not run."""
    await session.say("compiler", session.prompt("compiler"))

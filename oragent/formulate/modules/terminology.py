"""The terminology interpreter, an option that was found harmful: at most three terms explained."""

from oragent.formulate.session import Session


async def interpret(session: Session) -> None:
    """Explain terms, before the encoder."""
    prompt = session.prompt("terminology", background=session.problem.background or "none")
    await session.data_of("terminology", prompt, list)

"""The terminology interpreter, an option that was found harmful: at most three terms explained."""

from oragent.formulate.session import FormulationSession


async def interpret(session: FormulationSession) -> None:
    """Explain terms, before the encoder."""
    prompt = session.prompt("terminology", background=session.problem.background or "none")
    await session.data_of("terminology", prompt, list)

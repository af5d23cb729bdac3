"""The code reviewer, an option that was found harmful: remarks on the draft."""

from oragent.formulate.session import FormulationSession


async def review(session: FormulationSession) -> None:
    """Remark on the newest program in the pool."""
    await session.say("reviewer", session.prompt("reviewer"))

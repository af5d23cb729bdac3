"""One prompt, one program: the last row of the published ablations."""

from oragent.formulate.attempts import FormulationAttempt
from oragent.formulate.session import FormulationSession


async def standard(session: FormulationSession) -> FormulationAttempt:
    """Ask once, run once."""
    return await session.attempt("standard", session.prompt("standard"))

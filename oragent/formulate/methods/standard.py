"""One prompt, one program: the last row of the published ablations."""

from oragent.formulate.attempts import Attempt
from oragent.formulate.session import Session


async def standard(session: Session) -> Attempt:
    """Ask once, run once."""
    return await session.attempt("standard", session.prompt("standard"))

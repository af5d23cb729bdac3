"""Solo performance prompting (Wang et al. 2024, arXiv:2307.05300): one model plays several people who discuss.

Differs from the source: no worked examples in the prompt.
"""

from oragent.formulate.attempts import FormulationAttempt
from oragent.formulate.session import FormulationSession


async def spp(session: FormulationSession) -> FormulationAttempt:
    """Ask once, run once."""
    return await session.attempt("spp", f"{session.prompt('standard')}\n\n{session.prompt('spp')}")

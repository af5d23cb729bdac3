"""Chain of thought (Wei et al. 2022, arXiv:2201.11903): reason step by step, then the program, in one call.

Differs from the source: no worked examples in the prompt.
"""

from oragent.formulate.attempts import FormulationAttempt
from oragent.formulate.session import FormulationSession


async def cot(session: FormulationSession) -> FormulationAttempt:
    """Ask once, run once."""
    return await session.attempt("cot", f"{session.prompt('standard')}\n\n{session.prompt('cot')}")

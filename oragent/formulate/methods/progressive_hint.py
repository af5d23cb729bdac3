"""Progressive-hint prompting (Zheng et al. 2023, arXiv:2304.09797): answers are hints, until two in a row agree.

Differs from the source: an answer is the objective that a program comes to, and one without an objective is no hint.
"""

from oragent.formulate.attempts import FormulationAttempt
from oragent.formulate.session import FormulationSession
from oragent.milp.verdict import TOLERANCES

MOST = 5


async def progressive_hint(session: FormulationSession) -> FormulationAttempt:
    """Ask with the objectives so far as hints."""
    hints: list[float] = []
    for _ in range(MOST):
        told = ", ".join(f"{hint:.10g}" for hint in hints)
        prompt = session.prompt("standard") + (f"\n\n{session.prompt('hint', hints=told)}" if hints else "")
        objective = (await session.attempt("progressive_hint", prompt)).ran.objective
        if objective is not None:
            if hints and TOLERANCES["strict"].accepts(objective, hints[-1]):
                break
            hints.append(objective)
    return session.newest

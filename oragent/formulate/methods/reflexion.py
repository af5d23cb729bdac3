"""Reflexion (Shinn et al. 2023, arXiv:2303.11366): a verbal reflection on each outcome is kept as memory, three trials.

Differs from the source: there is no label to learn from, so the model itself says when program and outcome are right.
"""

from oragent.formulate.attempts import FormulationAttempt
from oragent.formulate.methods.react import outcome
from oragent.formulate.session import FormulationSession

MOST = 3


async def reflexion(session: FormulationSession) -> FormulationAttempt:
    """Write, run, reflect, again."""
    memory: list[str] = []
    for trial in range(MOST):
        told = session.prompt("reflexion", memory="\n".join(f"- {one}" for one in memory)) if memory else ""
        now = await session.attempt("reflexion", f"{session.prompt('standard')}\n\n{told}".strip())
        if trial == MOST - 1:
            break
        prompt = session.prompt("reflection", program=now.source.strip() or "(none)", outcome=outcome(now))
        said = await session.say("reflection", prompt)
        if said.upper().startswith("CORRECT"):
            break
        memory.append(said)
    return session.newest

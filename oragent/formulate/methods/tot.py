"""Tree of thoughts (Yao et al. 2023, arXiv:2305.10601) and graph of thoughts (Besta et al. 2024, arXiv:2308.09687).

Partial formulations grow by variables, constraints and objective in turn; each is scored by a call, the best are kept.
The graph unites those that are kept before each next step. Differs from the sources: the thoughts are the three parts
of a formulation, and breadth-first search is the only search.
"""

import re
from collections.abc import Sequence

from oragent._base.errors import ReplyError
from oragent.formulate.attempts import FormulationAttempt
from oragent.formulate.session import FormulationSession

STEPS = ("variables", "constraints", "objective")
PROPOSED, KEPT = 3, 2


async def tot(session: FormulationSession) -> FormulationAttempt:
    """Keep the best partial formulations at every step."""
    return await _thoughts(session, unite=False)


async def got(session: FormulationSession) -> FormulationAttempt:
    """Keep the best, and unite them before the next step."""
    return await _thoughts(session, unite=True)


async def _thoughts(session: FormulationSession, unite: bool) -> FormulationAttempt:
    kept = [""]
    for step in STEPS:
        if unite and len(kept) > 1:
            told = "\n\n---\n\n".join(kept)
            kept = [await session.say("unite", session.prompt("unite", partial=told))]
        grown = [text for partial in kept for text in await _proposed(session, step, partial)]
        scored = [(await _score(session, text), -place, text) for place, text in enumerate(grown)]
        kept = [text for _, _, text in sorted(scored, reverse=True)[:KEPT]] or kept
    role = "got" if unite else "tot"
    return await session.attempt(
        role, f"{session.prompt('standard')}\n\n{session.prompt('formulated', partial=kept[0])}"
    )  # fmt: skip


async def _proposed(session: FormulationSession, step: str, partial: str) -> Sequence[str]:
    prompt = session.prompt("propose", step=step, partial=partial or "(nothing)", count=PROPOSED)
    found = await session.data_of("propose", prompt, list)
    return [f"{partial}\n{step}: {one}".strip() for one in (found or [])[:PROPOSED]]


async def _score(session: FormulationSession, partial: str) -> int:
    try:
        text = await session.say("score", session.prompt("score", partial=partial))
    except ReplyError:
        return 0
    found = re.search(r"\d+", text)
    return min(10, int(found.group()[:3])) if found else 0

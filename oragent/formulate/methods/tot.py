"""Tree of thoughts (Yao et al. 2023, arXiv:2305.10601) and graph of thoughts (Besta et al. 2024, arXiv:2308.09687).

Partial formulations grow by variables, constraints and objective in turn; each is scored by a call, the best are kept.
The graph unites those that are kept before each next step. Differs from the sources: the thoughts are the three parts
of a formulation, and breadth-first search is the only search.
"""

import re
from collections.abc import Sequence

from oragent._base.errors import ReplyError
from oragent.formulate.session import FormulationAttempt, FormulationSession

STEPS = ("variables", "constraints", "objective")
PROPOSED, KEPT = 3, 2


async def tot(session: FormulationSession) -> FormulationAttempt:
    """Keep the best partial formulations at every step."""
    return await _grow_thoughts(session, unite=False)


async def got(session: FormulationSession) -> FormulationAttempt:
    """Keep the best, and unite them before the next step."""
    return await _grow_thoughts(session, unite=True)


async def _grow_thoughts(session: FormulationSession, unite: bool) -> FormulationAttempt:
    survivors = [""]
    for step in STEPS:
        if unite and len(survivors) > 1:
            joined = "\n\n---\n\n".join(survivors)
            survivors = [await session.ask_words("unite", session.fill_prompt("unite", partial=joined))]
        grown = [text for partial in survivors for text in await _propose(session, step, partial)]
        scored = [(await _score_thought(session, text), -index, text) for index, text in enumerate(grown)]
        survivors = [text for _, _, text in sorted(scored, reverse=True)[:KEPT]] or survivors
    role = "got" if unite else "tot"
    return await session.ask_and_run(
        role, f"{session.fill_prompt('standard')}\n\n{session.fill_prompt('formulated', partial=survivors[0])}"
    )  # fmt: skip


async def _propose(session: FormulationSession, step: str, partial: str) -> Sequence[str]:
    prompt = session.fill_prompt("propose", step=step, partial=partial or "(nothing)", count=PROPOSED)
    proposals = await session.ask_data("propose", prompt, list)
    return [f"{partial}\n{step}: {proposal}".strip() for proposal in (proposals or [])[:PROPOSED]]


async def _score_thought(session: FormulationSession, partial: str) -> int:
    try:
        text = await session.ask_words("score", session.fill_prompt("score", partial=partial))
    except ReplyError:
        return 0
    match = re.search(r"\d+", text)
    return min(10, int(match.group()[:3])) if match else 0

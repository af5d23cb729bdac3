"""ORMind (Wang et al. 2025, Algorithm 1, aclanthology.org/2025.acl-industry.10).

What differs in the default preset: two repairs and two checks in place of one, a witness beside the checks, and the
best program kept. The preset ``paper`` has none of it. The prompts are our own words in both.
"""

from oragent.formulate import modules
from oragent.formulate.attempts import FormulationAttempt
from oragent.formulate.checks import CheckStatus, Reason
from oragent.formulate.session import FormulationSession

STEPS = {
    "terminology": modules.interpret,
    "semantic_encoder": modules.encode,
    "formalization": modules.formalize,
    "compiler": modules.compile_draft,
    "reviewer": modules.review,
}
TEAM = {
    "terminology": "explains terms",
    "semantic_encoder": "lists the parameters",
    "formalization": "writes the mathematical model",
    "compiler": "writes a first program",
    "reviewer": "remarks on the program",
}


async def ormind(session: FormulationSession) -> FormulationAttempt:
    """Formulate a problem: the opening, a program, its repair, its check."""
    await _opening(session)
    await modules.forward(session)
    repairs = await _repaired(session, session.options.repairs)
    if session.newest.failed or "counterfactual" in session.options.without or not session.options.checks:
        return session.best()
    await modules.write_checker(session)
    disputed = False
    for _ in range(session.options.checks):
        checked = session.newest.checked
        if checked is None or checked.state is not CheckStatus.FAILED:
            break
        await modules.backward(session, checked.feedback)
        if session.options.keep_best:  # the last revision is checked too: nothing is asked for that
            repairs = await _repaired(session, repairs)
            await session.check()
            if not disputed and _insists(session):
                disputed = True
                await modules.reconsider(session)
    return session.best()


def _insists(session: FormulationSession) -> bool:
    """Whether a revision keeps what the witness holds to be forbidden without need."""
    if len(session.attempts) < 2:
        return False
    before, now = (
        {one.name for one in attempt.checked.findings if one.reason is Reason.FORBIDS} if attempt.checked else set()
        for attempt in session.attempts[-2:]
    )
    return bool(before & now)


async def _opening(session: FormulationSession) -> None:
    options = session.options
    names = [name for name in STEPS if name not in options.without]
    names = [name for name in names if name not in ("terminology", "reviewer") or name in options.extra]
    if "conductor" not in options.extra:
        for name in names:
            await STEPS[name](session)
        return
    asked: list[str] = []
    for place in range(len(names)):
        team = {name: TEAM[name] for name in names}
        asked.append(await modules.conduct(session, team, asked, len(names) - place))
        await STEPS[asked[-1]](session)


async def _repaired(session: FormulationSession, most: int) -> int:
    """Revise the program while it fails; how many repairs are left."""
    while session.newest.failed and most > 0:
        most -= 1
        bare = "syntax_analysis" in session.options.without
        await modules.backward(session, session.newest.error if bare else await modules.diagnose(session))
    return most

"""ORMind (Wang et al. 2025, Algorithm 1, aclanthology.org/2025.acl-industry.10).

The default preset differs: two repairs and two checks instead of one, a witness beside the checks, and the best program
is kept. The preset ``paper`` has none of this. The prompts are our own words in both.
"""

from oragent.formulate import modules
from oragent.formulate.checks import CheckStatus, Reason
from oragent.formulate.requirements import find_nonlinearity
from oragent.formulate.session import FormulationAttempt, FormulationSession, empty_attempt
from oragent.milp.solution import SolveVerdict

STEPS = {
    "terminology": modules.interpret_terms,
    "semantic_encoder": modules.encode_parameters,
    "formalization": modules.formalize_model,
    "compiler": modules.compile_draft,
    "reviewer": modules.review_draft,
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
    await _run_opening(session)
    if reason := find_nonlinearity(session.pool.parsed_of("formalization")):
        session.attempts.append(empty_attempt("formalization", 0, reason, SolveVerdict.UNSUPPORTED))
        return session.newest
    await modules.write_program(session)
    answer = await _check_and_revise(session)
    if session.options.keep_best:
        await modules.solve_readings(session)
    return answer


async def _check_and_revise(session: FormulationSession) -> FormulationAttempt:
    repairs = await _repair(session, session.options.repairs)
    if session.newest.has_failed or "counterfactual" in session.options.without or not session.options.checks:
        return session.best_attempt()
    await modules.write_checker(session)
    disputed = False
    for _ in range(session.options.checks):
        checked = session.newest.checked
        if checked is None or checked.state is not CheckStatus.FAILED:
            break
        await modules.revise_program(session, checked.feedback)
        # the last revision is checked too: nothing is asked for that
        if session.options.keep_best:
            repairs = await _repair(session, repairs)
            await session.check_newest()
            if not disputed and _keeps_dispute(session):
                disputed = True
                await modules.reconsider_checker(session)
    return session.best_attempt()


def _keeps_dispute(session: FormulationSession) -> bool:
    """Whether a revision keeps what the witness holds to be forbidden without need."""
    if len(session.attempts) < 2:
        return False
    earlier, now = (
        {finding.name for finding in each.checked.findings if finding.reason is Reason.FORBIDS}
        if each.checked
        else set()
        for each in session.attempts[-2:]
    )
    return bool(earlier & now)


async def _run_opening(session: FormulationSession) -> None:
    options = session.options
    names = [name for name in STEPS if name not in options.without]
    names = [name for name in names if name not in ("terminology", "reviewer") or name in options.extra]
    if "conductor" not in options.extra:
        for name in names:
            await STEPS[name](session)
        return
    consulted: list[str] = []
    for index in range(len(names)):
        team = {name: TEAM[name] for name in names}
        consulted.append(await modules.choose_module(session, team, consulted, len(names) - index))
        await STEPS[consulted[-1]](session)


async def _repair(session: FormulationSession, remaining: int) -> int:
    """Revise the program while it fails; how many repairs are left."""
    while session.newest.has_failed and not session.newest.is_refused and remaining > 0:
        remaining -= 1
        bare = "syntax_analysis" in session.options.without
        await modules.revise_program(session, session.newest.error if bare else await modules.diagnose_failure(session))
    return remaining

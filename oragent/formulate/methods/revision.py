"""Check a program, and revise it while it fails or a check disagrees."""

from oragent.formulate import modules
from oragent.formulate.appeals import Citation, find_citation, repeated_findings
from oragent.formulate.checks import CheckStatus, Reason
from oragent.formulate.session import FormulationAttempt, FormulationSession


async def check_and_revise(session: FormulationSession, *, diagnose: bool) -> FormulationAttempt:
    """Repair the newest program, check it, and revise it after each disagreement.

    Args:
        session: Session with at least one program.
        diagnose: Whether a separate call explains an error before the program is repaired.

    Returns:
        The answer: the best attempt, or the newest one if the best is not kept.
    """
    repairs = await _repair(session, session.options.repairs, diagnose)
    if session.newest.has_failed or "counterfactual" in session.options.without or not session.options.checks:
        return session.best_attempt()
    await modules.write_checker(session)
    is_disputed = False
    for _ in range(session.options.checks):
        feedback = await _find_feedback(session)
        if not feedback:
            break
        await modules.revise_program(session, feedback)
        # The last revision is checked too, which takes no call.
        if session.options.keep_best:
            repairs = await _repair(session, repairs, diagnose)
            await session.check_newest()
            appeal = find_appeal(session)
            if not is_disputed and (appeal or _keeps_dispute(session)):
                is_disputed = True
                await modules.reconsider_checker(session, appeal)
                if session.disputes:
                    break
    return session.best_attempt()


async def _find_feedback(session: FormulationSession) -> str:
    """Return the feedback for a revision: findings of the checker, else failed metamorphic tests."""
    checked = session.newest.checked
    if checked is None or session.newest.has_failed:
        return ""
    if checked.state is CheckStatus.FAILED:
        return checked.feedback
    if not session.options.metamorphic or not session.newest.is_answer:
        return ""
    failed = [result for result in await session.test_newest() if result.holds is False]
    return "\n".join(f"- {result.property}, but: {result.datum} {result.note}" for result in failed)


def find_appeal(session: FormulationSession) -> Citation | None:
    """Return the sentence with which the author of a revision rejects findings; None if no finding is rejected."""
    if session.newest.has_failed:
        return None
    earlier, now = session.attempts[-2:]
    if not repeated_findings(earlier.checked, now.checked):
        return None
    return find_citation(now.source, session.problem.text)


def _keeps_dispute(session: FormulationSession) -> bool:
    """Return True if a revision keeps a row that the comparison of models reports as too strict."""
    earlier, now = (
        {finding.name for finding in attempt.checked.findings if finding.reason is Reason.FORBIDS}
        if attempt.checked
        else set()
        for attempt in session.attempts[-2:]
    )
    return bool(earlier & now)


async def _repair(session: FormulationSession, remaining: int, diagnose: bool) -> int:
    """Revise the program while it fails; return the number of remaining repairs."""
    while session.newest.has_failed and not session.newest.is_refused and remaining > 0:
        remaining -= 1
        feedback = await modules.diagnose_failure(session) if diagnose else session.newest.error
        await modules.revise_program(session, feedback)
    return remaining

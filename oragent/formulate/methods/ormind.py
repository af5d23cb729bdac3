"""ORMind (Wang et al. 2025, Algorithm 1, aclanthology.org/2025.acl-industry.10).

The preset ``paper`` follows the paper: one repair, one check, and the last program is the answer. Other presets have
two repairs and two checks, also solve the checker's rows, and keep the best program.
"""

from oragent.formulate import modules
from oragent.formulate.methods.revision import check_and_revise
from oragent.formulate.requirements import find_nonlinearity
from oragent.formulate.session import FormulationAttempt, FormulationSession, empty_attempt
from oragent.modelling.data.solution import SolveVerdict

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
    """Formulate a problem: opening modules, program, repair, check."""
    await _run_opening(session)
    if reason := find_nonlinearity(session.pool.parsed_of("formalization")):
        session.attempts.append(empty_attempt("formalization", 0, reason, SolveVerdict.UNSUPPORTED))
        return session.newest
    if "supervisor" in session.options.without:
        return await _run_draft(session)
    await modules.write_program(session)
    answer = await check_and_revise(session, diagnose="syntax_analysis" not in session.options.without)
    if session.options.keep_best:
        await modules.solve_readings(session)
    return answer


async def _run_draft(session: FormulationSession) -> FormulationAttempt:
    """Run the draft of the compiler, and check it; no module revises it."""
    await modules.compile_program(session)
    if not session.newest.has_failed and "counterfactual" not in session.options.without:
        await modules.write_checker(session)
    return session.newest


async def _run_opening(session: FormulationSession) -> None:
    options = session.options
    names = [name for name in STEPS if name not in options.without]
    names = [name for name in names if name not in ("terminology", "reviewer") or name in options.extra]
    # Without a supervisor, the compiler writes the program after the opening.
    names = [name for name in names if name != "compiler" or "supervisor" not in options.without]
    if "conductor" not in options.extra:
        for name in names:
            await STEPS[name](session)
        return
    consulted: list[str] = []
    for index in range(len(names)):
        team = {name: TEAM[name] for name in names}
        consulted.append(await modules.choose_module(session, team, consulted, len(names) - index))
        await STEPS[consulted[-1]](session)

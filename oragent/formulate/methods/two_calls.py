"""Default method: one call writes the program, and one call writes the checker.

Further calls follow only if they disagree.
"""

from oragent.formulate import modules
from oragent.formulate.methods.revision import check_and_revise
from oragent.formulate.session import FormulationAttempt, FormulationSession


async def two_calls(session: FormulationSession) -> FormulationAttempt:
    """Write a program, check it with an independent checker, and revise it while they disagree."""
    await modules.write_first_program(session)
    answer = await check_and_revise(session, diagnose=False)
    await modules.solve_readings(session)
    return answer

"""Methods that ask for whole programs by one prompt, with or without another round."""

from oragent.formulate.methods.react import outcome_text
from oragent.formulate.session import FormulationAttempt, FormulationSession
from oragent.milp.solution import TOLERANCES


async def standard(session: FormulationSession) -> FormulationAttempt:
    """Ask once, run once."""
    return await session.ask_and_run("standard", session.fill_prompt("standard"))


async def cot(session: FormulationSession) -> FormulationAttempt:
    """Ask once, run once."""
    return await session.ask_and_run("cot", f"{session.fill_prompt('standard')}\n\n{session.fill_prompt('cot')}")


async def spp(session: FormulationSession) -> FormulationAttempt:
    """Ask once, run once."""
    return await session.ask_and_run("spp", f"{session.fill_prompt('standard')}\n\n{session.fill_prompt('spp')}")


MOST_HINTS = 5


async def progressive_hint(session: FormulationSession) -> FormulationAttempt:
    """Ask with the objectives so far as hints."""
    hints: list[float] = []
    for _ in range(MOST_HINTS):
        hint_text = ", ".join(f"{hint:.10g}" for hint in hints)
        prompt = session.fill_prompt("standard") + (
            f"\n\n{session.fill_prompt('hint', hints=hint_text)}" if hints else ""
        )
        objective = (await session.ask_and_run("progressive_hint", prompt)).ran.objective
        if objective is not None:
            if hints and TOLERANCES["strict"].accepts(objective, hints[-1]):
                break
            hints.append(objective)
    return session.newest


MOST_TRIALS = 3


async def reflexion(session: FormulationSession) -> FormulationAttempt:
    """Write, run, reflect, again."""
    memory: list[str] = []
    for trial in range(MOST_TRIALS):
        memory_text = (
            session.fill_prompt("reflexion", memory="\n".join(f"- {lesson}" for lesson in memory)) if memory else ""
        )
        now = await session.ask_and_run("reflexion", f"{session.fill_prompt('standard')}\n\n{memory_text}".strip())
        if trial == MOST_TRIALS - 1:
            break
        prompt = session.fill_prompt("reflection", program=now.source.strip() or "(none)", outcome=outcome_text(now))
        remark = await session.ask_words("reflection", prompt)
        if remark.upper().startswith("CORRECT"):
            break
        memory.append(remark)
    return session.newest

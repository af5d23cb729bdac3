"""The reasoner on errors: root cause and offending lines (system 2)."""

from oragent.formulate.session import FormulationSession


async def diagnose(session: FormulationSession) -> str:
    """Say why the newest program failed: its error, and what was made of it."""
    now = session.newest
    prompt = session.prompt("syntax_analysis", program=now.source.strip() or "(no program)", error=now.error)
    return f"{now.error}\n\n{await session.say('syntax_analysis', prompt)}"

"""The formalization: the model in mathematics, a line a constraint, with the sentence it comes from (system 1)."""

from oragent.formulate.session import FormulationSession


async def formalize(session: FormulationSession) -> None:
    """Write variables, constraints and objective."""
    await session.data_of("formalization", session.prompt("formalization"), dict)

"""The semantic encoder: which parameters the problem has, of what type, with what value (system 1)."""

from oragent.formulate.session import FormulationSession


async def encode(session: FormulationSession) -> None:
    """List the parameters; those whose values the text tells become data of the program."""
    await session.data_of("semantic_encoder", session.prompt("semantic_encoder"), dict)
    session.audit()

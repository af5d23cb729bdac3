"""A model that has said all it will say: what replays a run from the replies in its store."""

from collections.abc import Sequence

from oragent.errors import ModelError
from oragent.llm.model import Message, Reply

__all__ = ["silent"]


async def silent(messages: Sequence[Message], *, temperature: float | None = None) -> Reply:
    """Answer nothing: a call that gets here is one that the recorded run never made.

    Raises:
        ModelError: always.
    """
    call = getattr(messages, "name", "")
    where = f" (call {call})" if call else ""
    raise ModelError(f"the recorded run has no reply to this prompt{where}: it ended here, or another version made it")

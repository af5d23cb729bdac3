"""A model that has said all it will say: what replays a run from the replies in its store."""

from oragent.errors import ModelError
from oragent.llm.model import Reply, Request

__all__ = ["silent"]


async def silent(request: Request, /) -> Reply:
    """Answer nothing: a call that gets here is one that the recorded run never made.

    Raises:
        ModelError: always.
    """
    where = f" (call {request.key})" if request.key else ""
    raise ModelError(f"the recorded run has no reply to this prompt{where}: it ended here, or another version made it")

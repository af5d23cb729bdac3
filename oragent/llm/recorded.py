"""A model that has said all it will say: what was recorded is given again, to the very same requests."""

from collections.abc import Mapping

from oragent.errors import ModelError
from oragent.llm.model import Reply, Request

__all__ = ["Recorded", "silent"]


class Recorded:
    """Gives recorded replies, with the tool calls in them.

    Args:
        replies: Recorded replies by key and digest of the request that each answered.
    """

    def __init__(self, replies: Mapping[tuple[str, str], Reply]) -> None:
        self._replies = dict(replies)

    async def __call__(self, request: Request, /) -> Reply:
        """Give the reply to ``request``.

        Raises:
            ModelError: there is none: the recorded work never made this request.
        """
        reply = self._replies.get((request.key, request.digest))
        if reply is None:
            where = f" (call {request.key})" if request.key else ""
            raise ModelError(
                f"the recorded run has no reply to this prompt{where}: it ended here, or another version made it"
            )
        return reply


silent = Recorded({})  # for replays whose replies lie in a store that is asked first

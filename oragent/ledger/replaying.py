"""Replay recorded replies."""

from oragent._base.errors import ModelError
from oragent.ledger.replies import Replies
from oragent.llm.model import Reply, Request


class ReplayModel:
    """Model that returns recorded replies.

    Cases look for a reply to the same prompt first. A prompt that comes here differs from the recorded one, because
    another version wrote it; the reply to the call with the same key and role is returned.

    Args:
        replies: Recorded replies.

    Attributes:
        reworded: Number of calls with a different prompt so far.
    """

    def __init__(self, replies: Replies) -> None:
        self._replies = replies
        self.reworded = 0

    async def __call__(self, request: Request, /) -> Reply:
        """Return the reply to the call with the same key and role.

        Raises:
            ModelError: There is none.
        """
        recorded = self._replies.find_by_key(request.key, request.role)
        if recorded is None:
            where = f" (call {request.key})" if request.key else ""
            raise ModelError(f"the recorded run has no reply to this prompt{where}: it ended here, or went another way")
        self.reworded += 1
        return recorded.to_reply()

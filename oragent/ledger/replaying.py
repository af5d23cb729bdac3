"""A model that has said all it will say: it gives again what was recorded."""

from oragent._base.errors import ModelError
from oragent.ledger.replies import Replies
from oragent.llm.model import Reply, Request


class Replaying:
    """Answers calls from what is recorded of them.

    Who asks looks for the reply to the very same prompt first, so that what comes here is a prompt that reads otherwise
    than when it was answered: another version wrote it. The reply to the call of the same key and role is given then.

    Args:
        replies: Replies that are recorded.
    """

    def __init__(self, replies: Replies) -> None:
        self._replies = replies
        self.reworded = 0

    async def __call__(self, request: Request, /) -> Reply:
        """Give the reply to a call of the same key and role.

        Raises:
            ModelError: if there is none.
        """
        known = self._replies.called(request.key, request.role)
        if known is None:
            where = f" (call {request.key})" if request.key else ""
            raise ModelError(f"the recorded run has no reply to this prompt{where}: it ended here, or went another way")
        self.reworded += 1
        return known.reply()

"""A model without a server, with prepared replies."""

import asyncio
import json
from collections.abc import Callable, Sequence

from oragent.llm.model import Message, Reply, Request, estimate_tokens
from oragent.llm.wire import encode_call

ScriptedReply = str | Message  # a message where the reply calls tools


class Scripted:
    """A deterministic model for tests: costs nothing, and counts one token for every four characters.

    Args:
        replies: Replies, repeated cyclically; or a function of the request and the number of the call, counted from 0.
            A reply is a text, or a message with tool calls.
        name: Model name of its replies.

    Raises:
        ValueError: There are no replies.
    """

    def __init__(
        self, replies: Sequence[ScriptedReply] | Callable[[Request, int], ScriptedReply], name: str = "scripted"
    ) -> None:
        if not callable(replies) and not replies:
            raise ValueError("replies must not be empty.")
        self._replies = replies
        self._name = name
        self.calls = 0

    async def __call__(self, request: Request, /) -> Reply:
        """Return the next reply; the temperature is ignored."""
        number, self.calls = self.calls, self.calls + 1
        await asyncio.sleep(0)  # let others run, as a real call would
        replies = self._replies
        reply = replies(request, number) if callable(replies) else replies[number % len(replies)]
        message = Message("assistant", reply) if isinstance(reply, str) else reply
        return Reply(
            text=message.content,
            tool_calls=message.tool_calls,
            tokens_in=sum(map(_message_tokens, request.messages)),
            tokens_out=_message_tokens(message),
            money=0.0,
            seconds=0.0,
            model=self._name,
        )


def _message_tokens(message: Message) -> int:
    calls = json.dumps([encode_call(call) for call in message.tool_calls]) if message.tool_calls else ""
    return estimate_tokens(message.content) + estimate_tokens(calls)

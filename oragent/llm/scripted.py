"""A model that needs no server: its replies are given beforehand, or made from the request."""

import asyncio
import json
from collections.abc import Callable, Sequence

from oragent.llm.model import Message, Reply, Request, estimate_tokens
from oragent.llm.wire import written_call

Given = str | Message  # a message where the reply calls tools


class Scripted:
    """A deterministic stand-in for a model: free of charge, and one token for every four characters.

    Args:
        replies: Replies, taken in turn and over again; or a function of the request and the number of the call, counted
            from 0. A reply is a text, or a message with tool calls.
        name: Name that its replies carry.

    Raises:
        ValueError: there are no replies.
    """

    def __init__(self, replies: Sequence[Given] | Callable[[Request, int], Given], name: str = "scripted") -> None:
        if not callable(replies) and not replies:
            raise ValueError("replies must not be empty.")
        self._replies = replies
        self._name = name
        self.calls = 0

    async def __call__(self, request: Request, /) -> Reply:
        """Give the next reply; the temperature does not matter."""
        number, self.calls = self.calls, self.calls + 1
        await asyncio.sleep(0)  # let others run, as a real call would
        replies = self._replies
        given = replies(request, number) if callable(replies) else replies[number % len(replies)]
        said = Message("assistant", given) if isinstance(given, str) else given
        return Reply(
            text=said.content,
            tool_calls=said.tool_calls,
            tokens_in=sum(map(_tokens, request.messages)),
            tokens_out=_tokens(said),
            money=0.0,
            seconds=0.0,
            model=self._name,
        )


def _tokens(message: Message) -> int:
    calls = json.dumps([written_call(call) for call in message.tool_calls]) if message.tool_calls else ""
    return estimate_tokens(message.content) + estimate_tokens(calls)

"""Streamed replies: server-sent events of an OpenAI-compatible server, joined to one body.

Format of the events: WHATWG HTML, section 9.2.6 (``data:`` lines, separated by blank lines; comments begin with ``:``).
Format of their data: chunks of chat completions (platform.openai.com/docs/api-reference/chat-streaming).
"""

import json
from typing import Any

# Maximum number of bytes of one event, and of all events. A token can take 300 bytes.
MAX_EVENT_LENGTH, MAX_STREAM_LENGTH = 4_000_000, 1_000_000_000
# Maximum number of tool calls of a message. The rest is dropped.
MAX_CALLS = 128
# Fields of a delta that contain text.
TEXTS = ("content", "reasoning_content", "reasoning")
END = b"[DONE]"


class BrokenReply(Exception):
    """Body that does not contain a chat completion."""


class StreamJoiner:
    """Joins the events of one reply.

    Memory is limited: an event, the texts of the reply and the number of tool calls have limits.
    """

    def __init__(self, longest: int) -> None:
        # Maximum number of characters of all texts.
        self._longest = longest
        self._unread = bytearray()
        self._received = 0
        self._characters = 0
        self._texts: dict[str, list[str]] = {name: [] for name in TEXTS}
        self._calls: list[dict[str, Any]] = []
        self._call_of_index: dict[object, dict[str, Any]] = {}
        self._reason: object = None
        self._usage: object = None
        self._has_ended = False

    def feed(self, piece: bytes) -> None:
        """Read the next bytes.

        Raises:
            BrokenReply: An event contains no chunk of a chat completion, reports an error, or exceeds a limit.
        """
        self._received += len(piece)
        if self._received > MAX_STREAM_LENGTH:
            raise BrokenReply(f"more than {MAX_STREAM_LENGTH:,} bytes")
        self._unread += piece
        *lines, rest = self._unread.split(b"\n")
        self._unread = bytearray(rest)
        for line in lines:
            self._read_line(bytes(line))
        if len(self._unread) > MAX_EVENT_LENGTH:
            raise BrokenReply(f"an event of more than {MAX_EVENT_LENGTH:,} bytes")

    def body(self) -> dict[str, Any]:
        """Return the reply in the form that a server sends without streaming.

        Raises:
            BrokenReply: The stream ended before the reply did.
        """
        self._read_line(bytes(self._unread))
        self._unread.clear()
        if not self._has_ended and self._reason is None:
            raise BrokenReply("the stream ended before the reply did")
        message: dict[str, Any] = {"role": "assistant"}
        message |= {name: "".join(pieces) for name, pieces in self._texts.items() if pieces or name == "content"}
        if self._calls:
            message["tool_calls"] = [
                {**call, "function": {**call["function"], "arguments": "".join(call["function"]["arguments"])}}
                for call in self._calls
            ]
        body: dict[str, Any] = {"choices": [{"index": 0, "message": message, "finish_reason": self._reason}]}
        if self._usage is not None:
            body["usage"] = self._usage
        return body

    def _read_line(self, line: bytes) -> None:
        if not line.startswith(b"data:"):
            # A comment, the name of an event, or the blank line after it.
            return
        data = line[len(b"data:") :].strip()
        if data == END:
            self._has_ended = True
        elif data and not self._has_ended:
            self._read_chunk(data)

    def _read_chunk(self, data: bytes) -> None:
        try:
            chunk: Any = json.loads(data)
        except (ValueError, RecursionError):
            raise BrokenReply(f"an event without JSON: {data[:60].decode('utf-8', 'replace')!r}") from None
        if not isinstance(chunk, dict):
            raise BrokenReply("an event without a JSON object")
        if chunk.get("error"):
            error = chunk["error"]
            reason = error.get("message") if isinstance(error, dict) else error
            raise BrokenReply(f"an error within the reply: {' '.join(str(reason).split())[:200]}")
        if chunk.get("usage") is not None:
            self._usage = chunk["usage"]
        choices = chunk.get("choices")
        # The last event has only the usage.
        if not (isinstance(choices, list) and choices and isinstance(choices[0], dict)):
            return
        # One event may contain a whole message.
        delta = choices[0].get("delta") or choices[0].get("message")
        if isinstance(delta, dict):
            self._add_delta(delta)
        if choices[0].get("finish_reason") is not None:
            self._reason = choices[0]["finish_reason"]

    def _add_delta(self, delta: dict[str, Any]) -> None:
        for name, pieces in self._texts.items():
            if isinstance(delta.get(name), str) and delta[name]:
                pieces.append(self._count(delta[name]))
        calls = delta.get("tool_calls")
        for piece in calls if isinstance(calls, list) else ():
            if isinstance(piece, dict):
                self._add_call(piece)

    def _add_call(self, piece: dict[str, Any]) -> None:
        """Add a piece of a tool call. A piece without an index or id continues the last call."""
        function = piece.get("function")
        if not isinstance(function, dict):
            function = {}
        call = self._find_call(piece)
        if call is None:
            if len(self._calls) >= MAX_CALLS:
                return
            call = {"id": piece.get("id"), "type": "function", "function": {"name": None, "arguments": []}}
            self._calls.append(call)
            if isinstance(piece.get("index"), int):
                self._call_of_index[piece["index"]] = call
        if function.get("name"):
            call["function"]["name"] = function["name"]
        if isinstance(function.get("arguments"), str):
            call["function"]["arguments"].append(self._count(function["arguments"]))

    def _find_call(self, piece: dict[str, Any]) -> dict[str, Any] | None:
        if isinstance(piece.get("index"), int):
            call = self._call_of_index.get(piece["index"])
            # Some servers give every call the index 0, but its own id.
            if call is not None and piece.get("id") not in (None, "", call["id"]):
                return None
            return call
        if piece.get("id") or not self._calls:
            return next((call for call in self._calls if call["id"] == piece.get("id")), None)
        return self._calls[-1]

    def _count(self, text: str) -> str:
        self._characters += len(text)
        if self._characters > self._longest:
            raise BrokenReply(f"more than {self._longest:,} characters")
        return text

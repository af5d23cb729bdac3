"""A chat-completions server on loopback whose answers a test writes down beforehand.

::

    with ChatServer(failure(429), ok("hello")) as server:
        ...  # base_url=server.url

The answers of the script are given in their order, then ``ok()`` for ever. ``with_tools`` and ``without_tools`` turn
answers into those of a server that holds conversations with tool calls to their rules, and of one that knows no tools.
"""

import json
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from types import TracebackType
from typing import Any, Self

__all__ = ["Answer", "ChatServer", "Server", "calling", "failure", "ok", "streamed", "with_tools", "without_tools"]


@dataclass(frozen=True)
class Answer:
    """What goes over the wire.

    Attributes:
        status: HTTP status.
        body: the text of the body.
        headers: headers beside type and length.
        delay_s: wait before the first byte.
        sent: share of the body that is sent before the connection is cut; at 0.0 not even a status.
        content_type: the body's type.
        pieces: number of pieces in which the body is sent.
        gap_s: wait before each piece.
    """

    status: int = 200
    body: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    delay_s: float = 0.0
    sent: float = 1.0
    content_type: str = "application/json"
    pieces: int = 1
    gap_s: float = 0.0


def ok(
    text: str | None = "ok", usage: tuple[int, int] | None = (10, 5), delay_s: float = 0.0, **message: Any
) -> Answer:
    """A chat completion; ``finish_reason`` among the keywords goes to the choice, the others to its message."""
    reason = message.pop("finish_reason", "stop")
    body: dict[str, Any] = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "served",
        "choices": [
            {"index": 0, "finish_reason": reason, "message": {"role": "assistant", "content": text, **message}}
        ],
    }
    if usage is not None:
        body["usage"] = {"prompt_tokens": usage[0], "completion_tokens": usage[1], "total_tokens": sum(usage)}
    return Answer(body=json.dumps(body), delay_s=delay_s)


def streamed(*deltas: dict[str, Any], usage: tuple[int, int] | None = (10, 5), reason: str = "stop") -> Answer:
    """A chat completion as server-sent events, one for each delta of the message."""
    chunks: list[dict[str, Any]] = [{"choices": [{"index": 0, "delta": delta}]} for delta in deltas]
    chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
    if usage is not None:
        chunks.append({"choices": [], "usage": {"prompt_tokens": usage[0], "completion_tokens": usage[1]}})
    lines = [f"data: {json.dumps(chunk)}\r\n\r\n" for chunk in chunks]
    return Answer(body=": alive\n\n" + "".join(lines) + "data: [DONE]\n\n", content_type="text/event-stream")


def failure(status: int, message: str = "scripted failure", retry_after: str | None = None, **error: Any) -> Answer:
    """An error as OpenAI words it; keywords are further fields of the error, such as ``param`` and ``code``."""
    headers = {} if retry_after is None else {"Retry-After": retry_after}
    return Answer(status, json.dumps({"error": {"message": message, **error}}), headers)


Server = Callable[[dict[str, Any]], Answer]


def calling(*calls: tuple[str, Any], text: str | None = None, **others: Any) -> Answer:
    """A chat completion that calls tools, each given by its name and its arguments (a text is sent as it is)."""
    wire = [
        {
            "id": f"call_{name}_{place}",
            "type": "function",
            "function": {
                "name": name,
                "arguments": arguments if isinstance(arguments, str) else json.dumps(arguments),
            },
        }
        for place, (name, arguments) in enumerate(calls)
    ]
    return ok(text, tool_calls=wire, finish_reason="tool_calls", **others)


def with_tools(answer: Server) -> Server:
    """A server that knows tools, and refuses a conversation that breaks their rules, as OpenAI's does."""

    def serve(request: dict[str, Any]) -> Answer:
        waiting: list[str] = []
        for place, message in enumerate(request["messages"]):
            where = f"messages.[{place}].role"
            if message["role"] == "tool":
                if message["tool_call_id"] not in waiting:
                    return failure(400, "a message with role 'tool' must answer a 'tool_calls'", param=where)
                waiting.remove(message["tool_call_id"])
            elif waiting:
                return failure(400, "'tool_calls' must be followed by tool messages", param=where)
            for call in message.get("tool_calls", []):
                assert isinstance(json.loads(call["function"]["arguments"]), dict)
                assert call["type"] == "function"
                waiting.append(call["id"])
        for tool in request.get("tools", []):
            assert tool["type"] == "function"
            assert {"name", "description", "parameters"} == set(tool["function"])
            assert tool["function"]["parameters"]["type"] == "object"
        return answer(request)

    return serve


def without_tools(answer: Server, refusal: Answer) -> Server:
    """A server that refuses tools, and messages that have to do with them."""

    def serve(request: dict[str, Any]) -> Answer:
        if "tools" in request or any(set(message) != {"role", "content"} for message in request["messages"]):
            return refusal
        roles = [message["role"] for message in request["messages"]]
        assert "system" not in roles[1:], "the system message comes first"
        assert all(a != b for a, b in pairwise(roles)), "roles take turns"
        return answer(request)

    return serve


class ChatServer:
    """The server; a context manager.

    Attributes:
        requests: bodies of the requests so far.
        times: monotonic seconds at which they came.
        keys: their ``Authorization`` headers.
        headers: all of their headers, names in lower case.
        most_in_flight: the most requests that were open at once.
    """

    def __init__(self, *script: Answer | Server, then: Answer | Server | None = None, base: str = "/v1") -> None:
        self._base = base
        self.headers: list[dict[str, str]] = []
        self.requests: list[dict[str, Any]] = []
        self.times: list[float] = []
        self.keys: list[str] = []
        self.most_in_flight = 0
        self._script, self._then = list(script), then or ok()
        self._in_flight = 0
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}{self._base}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
        while self._in_flight:  # their sockets are theirs to close
            time.sleep(0.005)

    def _begin(self, path: str, headers: dict[str, str], request: dict[str, Any]) -> Answer:
        with self._lock:
            self._in_flight += 1
            self.most_in_flight = max(self.most_in_flight, self._in_flight)
            if path.partition("?")[0] != f"{self._base}/chat/completions":
                return failure(404, f"no such path: {path}")
            self.requests.append(request)
            self.times.append(time.monotonic())
            self.headers.append(headers)
            self.keys.append(headers.get("authorization", ""))
            answer = self._script.pop(0) if self._script else self._then
        try:
            return answer(request) if callable(answer) else answer
        except AssertionError as problem:  # what a request should have been: told to whoever sent it
            return failure(418, f"the server expected something else: {problem}")

    def _end(self) -> None:
        with self._lock:
            self._in_flight -= 1

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        chat = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                answer = chat._begin(self.path, {name.lower(): value for name, value in self.headers.items()}, request)
                try:
                    chat._closing.wait(answer.delay_s)
                    if answer.sent:
                        self._send(answer)
                except ConnectionError:  # the client gave up
                    pass
                finally:
                    chat._end()

            def _send(self, answer: Answer) -> None:
                body = answer.body.encode()
                self.send_response(answer.status)
                self.send_header("Content-Type", answer.content_type)
                self.send_header("Content-Length", str(len(body)))
                for name, value in answer.headers.items():
                    self.send_header(name, value)
                self.end_headers()
                body = body[: int(len(body) * answer.sent)]
                size = -(-len(body) // answer.pieces) or 1
                for start in range(0, len(body), size):
                    chat._closing.wait(answer.gap_s)
                    self.wfile.write(body[start : start + size])
                    self.wfile.flush()

            def log_message(self, format: str, *args: Any) -> None:
                pass

        return Handler

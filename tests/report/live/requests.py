"""Requests to an ASGI application, without a server."""

import asyncio
import json
from dataclasses import dataclass
from typing import Any

TOKEN = "secret"


@dataclass
class Answer:
    status: int
    text: str
    headers: dict[str, str]

    @property
    def json(self) -> Any:
        return json.loads(self.text)


def get(app: Any, path: str, query: str = "", *, body: bytes | None = None, **headers: str) -> Answer:
    """Make one request; headers have underscores for hyphens, an empty one is left out."""
    sent: list[dict[str, Any]] = []
    named = {"host": "127.0.0.1:80", "x-token": TOKEN} | {
        name.replace("_", "-"): text for name, text in headers.items()
    }

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body or b"", "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "GET" if body is None else "POST",
        "path": path, "raw_path": path.encode(), "query_string": query.encode(), "root_path": "", "scheme": "http",
        "headers": [(name.encode(), text.encode()) for name, text in named.items() if text],
        "server": ("127.0.0.1", 80), "client": ("127.0.0.1", 1),
    }  # fmt: skip
    asyncio.run(app(scope, receive, send))
    read = {key.decode(): value.decode() for key, value in sent[0]["headers"]}
    return Answer(sent[0]["status"], b"".join(part.get("body", b"") for part in sent[1:]).decode(), read)

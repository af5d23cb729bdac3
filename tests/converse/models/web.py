"""The page of a conversation, served for real, and a client that asks it."""

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from oragent.converse.conversation_request import ConversationRequest, read_request
from oragent.converse.models.model_conversation import ModelConversation
from oragent.converse.models.model_files import begin_conversation
from oragent.converse.models.page_server import make_page_application
from oragent.report.pages.loopback import open_server

TOKEN = "a-token-of-the-test"


@dataclass
class Client:
    """A browser's requests."""

    port: int
    folder: Path

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}/?token={TOKEN}"

    def send(self, path: str, body: str | bytes | None = None, **headers: str) -> tuple[int, dict[str, str], bytes]:
        """Send a request; return status, headers and content of the response."""
        sent = {"X-Token": TOKEN} | {name.replace("_", "-"): text for name, text in headers.items()}
        connection = HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request("GET" if body is None else "POST", path, body, sent)
            response = connection.getresponse()
            return response.status, dict(response.getheaders()), response.read()
        finally:
            connection.close()

    def ask(self, path: str, **query: str) -> Any:
        """Return the JSON of a page's request."""
        status, _, content = self.send(f"{path}?{urlencode(query)}" if query else path)
        assert status == 200, content
        return json.loads(content)

    def say(self, text: str, **headers: str) -> Any:
        """Send a message; return the state of the page after it, or the error."""
        return json.loads(self.send("/say", text.encode(), **headers)[2])


@contextmanager
def serve(folder: Path, problem: str) -> Iterator[Client]:
    """Serve the page of a new conversation about a model's file."""
    opened = begin_conversation(folder, ConversationRequest(problem))
    conversation = ModelConversation(opened, read_request(opened))
    ready: list[Client] = []
    servers: list[Any] = []
    failed: list[BaseException] = []

    async def run() -> None:
        application = make_page_application(conversation, TOKEN)
        async with conversation.open():
            with open_server(application, 0) as (server, listening, _):
                server.install_signal_handlers = lambda: None
                servers.append(server)
                ready.append(Client(listening.getsockname()[1], opened))
                await server.serve(sockets=[listening])

    def work() -> None:
        try:
            asyncio.run(run())
        except BaseException as problem:
            failed.append(problem)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    while not ready and not failed:
        thread.join(0.01)
    assert ready, failed
    try:
        yield ready[0]
    finally:
        servers[0].should_exit = True
        thread.join(30)

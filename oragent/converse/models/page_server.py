"""Local server of a conversation's page: loopback interface only, with a token.

Texts are sent as JSON and inserted as text nodes, so that names of a model are never interpreted as markup.
"""

import asyncio
import re
import secrets
from contextlib import suppress
from pathlib import Path
from typing import Any

from rich.console import Console

from oragent._base.terminal import print_line
from oragent.converse.models.model_conversation import ModelConversation
from oragent.converse.models.page import write_model_page
from oragent.converse.models.page_state import label_choices, page_state, pivot_table
from oragent.converse.models.scenario_table import write_scenarios
from oragent.llm.model import Model
from oragent.report.pages.loopback import HEADERS, RefusedRequest, make_application, open_server, read_body, send_page

PAGE = Path(__file__).with_name("page.html")
# Maximum size of a request, in bytes.
MAX_BODY = 40_000
COUNT = re.compile(r"\d{1,9}", re.ASCII)
EXPORTS = {"csv": "text/csv", "html": "text/html"}
WORKBOOK = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"


def make_page_application(conversation: ModelConversation, token: str) -> Any:
    """Return the page's server as an ASGI application.

    Raises:
        ConfigError: Starlette is not installed.
    """

    async def get_page(request: Any) -> Any:
        return send_page(lambda nonce: PAGE.read_text(encoding="utf-8").replace("NONCE", nonce), "img-src data:")

    async def get_state(request: Any) -> object:
        return await conversation.read(page_state)

    async def get_count(request: Any) -> object:
        return {"count": len(conversation.records)}

    async def get_pivot(request: Any) -> object:
        return await conversation.read(lambda opened: pivot_table(opened, dict(request.query_params)))

    async def get_labels(request: Any) -> object:
        return {"labels": label_choices(conversation, request.query_params.get("set", ""))}

    async def post_message(request: Any) -> object:
        text = (await read_body(request, MAX_BODY)).decode(errors="replace").strip()
        if not text:
            raise RefusedRequest("write a message", 400)
        seen = request.headers.get("x-seen", "")
        await conversation.say(text, int(seen) if COUNT.fullmatch(seen) else None)
        return await conversation.read(page_state)

    async def get_export(request: Any) -> Any:
        from starlette.responses import Response

        ending = request.path_params["ending"]
        name = f"scenarios.{ending}"
        path = await conversation.read(lambda opened: write_scenarios(opened.workbench, name, opened.folder))
        headers = {**HEADERS, "Content-Disposition": f'attachment; filename="{name}"'}
        return Response(path.read_bytes(), media_type=EXPORTS.get(ending, WORKBOOK), headers=headers)

    pages = {
        "/": get_page,
        "/state": get_state,
        "/count": get_count,
        "/pivot": get_pivot,
        "/labels": get_labels,
        "/export/{ending}": get_export,
    }
    return make_application(pages, {"/say": post_message}, token, failure=400)


def serve(conversation: ModelConversation, console: Console, port: int = 0, model: Model | None = None) -> int:
    """Serve the page of a conversation until Ctrl-C.

    Raises:
        OragentError: A package is missing, or the port is in use.
    """
    with suppress(KeyboardInterrupt):
        asyncio.run(_run_server(conversation, console, port, model))
    print_line(console, f"report: {write_model_page(conversation)}")
    print_line(console, f"go on with: oragent converse {conversation.folder}")
    return 0


async def _run_server(conversation: ModelConversation, console: Console, port: int, model: Model | None) -> None:
    token = secrets.token_urlsafe(24)
    async with conversation.open(model):
        with open_server(make_page_application(conversation, token), port) as (server, listening, address):
            print_line(console, f"conversation: {conversation.folder}")
            print_line(console, f"open {address}?token={token} (Ctrl-C ends)")
            await server.serve(sockets=[listening])

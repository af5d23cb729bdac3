"""Local server of a conversation's page: loopback interface only, with a token.

Texts are sent as JSON and inserted as text nodes, so that names of a model are never interpreted as markup.
"""

import asyncio
import re
import secrets
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from rich.console import Console

from oragent._base.errors import OragentError
from oragent._base.terminal import print_line
from oragent._base.text_format import escape_text
from oragent.converse.models.model_conversation import ModelConversation
from oragent.converse.models.page import write_model_page
from oragent.converse.models.page_state import label_choices, page_state, pivot_table
from oragent.converse.models.scenario_table import write_scenarios
from oragent.llm.model import Model
from oragent.report.pages.loopback import HEADERS, find_fault, open_server, refuse_without_extra

PAGE = Path(__file__).with_name("page.html")
# Maximum size of a request, in bytes.
MAX_BODY = 40_000
COUNT = re.compile(r"\d{1,9}", re.ASCII)
EXPORTS = {"csv": "text/csv", "html": "text/html"}
WORKBOOK = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"


def make_application(conversation: ModelConversation, token: str) -> Any:
    """Return the page's server as an ASGI application.

    Raises:
        ConfigError: Starlette is not installed.
    """
    try:
        from starlette.applications import Starlette
        from starlette.requests import ClientDisconnect, Request
        from starlette.responses import HTMLResponse, JSONResponse, Response
        from starlette.routing import Route
    except ImportError as problem:
        raise refuse_without_extra(problem) from None
    Handler = Callable[[Request], Awaitable[Response]]

    def guarded(answer: Handler) -> Handler:
        async def checked(request: Request) -> Response:
            if reason := find_fault(request.headers, request.query_params.get("token", ""), token):
                return JSONResponse({"error": reason}, 403, HEADERS)
            try:
                return await answer(request)
            except OragentError as problem:
                return JSONResponse({"error": escape_text(str(problem))}, 400, HEADERS)

        return checked

    async def get_page(request: Request) -> Response:
        nonce = secrets.token_urlsafe(16)
        policy = (
            f"default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; img-src data:; "
            "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        )
        text = PAGE.read_text(encoding="utf-8").replace("NONCE", nonce)
        return HTMLResponse(text, headers={**HEADERS, "Content-Security-Policy": policy})

    async def get_state(request: Request) -> Response:
        return JSONResponse(await conversation.read(page_state), headers=HEADERS)

    async def get_count(request: Request) -> Response:
        return JSONResponse({"count": len(conversation.records)}, headers=HEADERS)

    async def get_pivot(request: Request) -> Response:
        question = dict(request.query_params)
        return JSONResponse(await conversation.read(lambda opened: pivot_table(opened, question)), headers=HEADERS)

    async def get_labels(request: Request) -> Response:
        labels = label_choices(conversation, request.query_params.get("set", ""))
        return JSONResponse({"labels": labels}, headers=HEADERS)

    async def post_message(request: Request) -> Response:
        body = b""
        try:
            async for piece in request.stream():
                body += piece
                if len(body) > MAX_BODY:
                    return JSONResponse({"error": "the message is too long"}, 413, HEADERS)
        except ClientDisconnect:
            return JSONResponse({"error": "the message was not sent to its end"}, 400, HEADERS)
        text = body.decode(errors="replace").strip()
        if not text:
            return JSONResponse({"error": "write a message"}, 400, HEADERS)
        seen = request.headers.get("x-seen", "")
        await conversation.say(text, int(seen) if COUNT.fullmatch(seen) else None)
        return JSONResponse(await conversation.read(page_state), headers=HEADERS)

    async def get_export(request: Request) -> Response:
        ending = request.path_params["ending"]
        media = EXPORTS.get(ending, WORKBOOK)
        name = f"scenarios.{ending}"
        path = await conversation.read(lambda opened: write_scenarios(opened.workbench, name, opened.folder))
        headers = {**HEADERS, "Content-Disposition": f'attachment; filename="{name}"'}
        return Response(path.read_bytes(), media_type=media, headers=headers)

    return Starlette(
        routes=[
            Route("/", guarded(get_page)),
            Route("/state", guarded(get_state)),
            Route("/count", guarded(get_count)),
            Route("/pivot", guarded(get_pivot)),
            Route("/labels", guarded(get_labels)),
            Route("/say", guarded(post_message), methods=["POST"]),
            Route("/export/{ending}", guarded(get_export)),
        ]
    )


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
        with open_server(make_application(conversation, token), port) as (server, listening, address):
            print_line(console, f"conversation: {conversation.folder}")
            print_line(console, f"open {address}?token={token} (Ctrl-C ends)")
            await server.serve(sockets=[listening])

"""Server of the live page: only on loopback, with a token in the address and checked Host and Origin.

Runs are only read.

For a running search, ``open_companion`` starts the server in its own process, which ends with the search.
"""

import asyncio
import json
import os
import secrets
import subprocess
import sys
import threading
import time
import webbrowser
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from oragent._base.errors import ConfigError
from oragent._base.safe_load import parse_json
from oragent._base.text_format import escape_text
from oragent.report.live.evidence import read_elites, read_ideas
from oragent.report.live.offline import make_page
from oragent.report.live.snapshot import RunReader
from oragent.report.live.watched import POLL_S, Watched, current_tick
from oragent.report.pages.loopback import (
    HEADERS,
    Handler,
    RefusedRequest,
    make_application,
    open_server,
    read_body,
    require_server,
    send_page,
)
from oragent.sandbox.limits import server_environment

KEEP_ALIVE_S = 15.0
MAX_BODY = 500_000
REPORT_POLICY = (
    "sandbox allow-popups; default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'"
)


# Variable that is set for the page of a running search, which ends when its standard input does.
WATCHED = "ORAGENT_WATCHED"
# Maximum wait for the address, in seconds.
START_S = 30.0


def make_live_application(
    watched: Watched, token: str, steer: Callable[[Path, dict[str, Any]], str] | None = None
) -> Any:
    """Create the ASGI application.

    Raises:
        ConfigError: Starlette is not installed.
    """
    require_server()
    from starlette.responses import Response, StreamingResponse

    async def get_page(request: Any) -> Any:
        return send_page(make_page, "img-src data: blob:; frame-src 'self'")

    def answer(read: Callable[[Any], Any]) -> Handler:
        return lambda request: asyncio.to_thread(read, request)

    def run_of(request: Any) -> RunReader:
        return watched.reader(request.query_params.get("run", ""))

    def number(request: Any, name: str) -> int:
        text = request.query_params.get(name, "0")
        if text.isascii() and text.isdecimal() and len(text) < 16:
            return int(text)
        return 0

    def get_candidates(request: Any) -> dict[str, Any]:
        return watched.candidates(request.query_params.get("run", ""), number(request, "after"))

    async def get_events(request: Any) -> Response:
        name = request.query_params.get("run", "")
        reader = run_of(request)

        async def follow() -> AsyncIterator[str]:
            shown: tuple[float, ...] | None = None
            sent = time.monotonic()
            while True:
                version = reader.version()
                if version != shown:
                    shown, sent = version, time.monotonic()
                    yield f"event: change\ndata: {json.dumps(name)}\n\n"
                elif time.monotonic() - sent > KEEP_ALIVE_S:
                    sent = time.monotonic()
                    yield ": alive\n\n"
                # All clients are updated at the same time.
                await asyncio.sleep((current_tick() + 1) * POLL_S - time.monotonic())

        return StreamingResponse(follow(), media_type="text/event-stream", headers=HEADERS)

    async def get_written_page(request: Any) -> Response:
        theme = request.query_params.get("theme", "")
        text = await asyncio.to_thread(watched.read_page, request.path_params["path"])
        if theme in ("light", "dark"):
            text = text.replace(b"<html", f'<html data-theme="{theme}"'.encode(), 1)
        headers = {**HEADERS, "X-Frame-Options": "SAMEORIGIN", "Content-Security-Policy": REPORT_POLICY}
        return Response(text, media_type="text/html; charset=utf-8", headers=headers)

    async def post_steer(request: Any) -> object:
        if steer is None or request.headers.get("origin") is None:
            raise RefusedRequest("this page only shows runs", 403)
        act = parse_json((await read_body(request, MAX_BODY)).decode())
        if not isinstance(act, dict):
            raise RefusedRequest("expected a JSON object", 400)
        line = await asyncio.to_thread(steer, run_of(request).folder, act)
        return {"line": escape_text(line)}

    pages: dict[str, Handler] = {
        "/": get_page,
        "/api/runs": answer(
            lambda request: {
                "root": escape_text(str(watched.root)),
                "runs": watched.list_runs(),
                "steering": steer is not None,
            }
        ),
        "/api/summary": answer(lambda request: watched.summary(request.query_params.get("run", ""))),
        "/api/candidates": answer(get_candidates),
        "/api/candidate": answer(lambda request: run_of(request).read_candidate(request.query_params.get("id", ""))),
        "/api/calls": answer(lambda request: run_of(request).read_calls(number(request, "after"))),
        "/api/call": answer(lambda request: run_of(request).read_call(request.query_params.get("key", ""))),
        "/api/trust": answer(lambda request: watched.read_trust(request.query_params.get("run", ""))),
        "/api/ideas": answer(lambda request: read_ideas(run_of(request))),
        "/api/elites": answer(lambda request: read_elites(run_of(request))),
        "/events": get_events,
        # The token is in the path, so that relative links contain it.
        "/pages/{token}/{path:path}": get_written_page,
    }
    return make_application(pages, {"/api/steer": post_steer}, token, failure=404)


def serve(
    root: Path,
    tell: Callable[[str], None],
    port: int = 0,
    steer: Callable[[Path, dict[str, Any]], str] | None = None,
    view: str = "",
    isolation: dict[str, list[str]] | None = None,
) -> None:
    """Serve the page until Ctrl-C.

    Raises:
        ConfigError: A package is missing, the port is in use, or the folder does not exist.
    """
    if not root.is_dir():
        raise ConfigError(f"{root} is not a folder: give a folder of runs, such as outputs")
    token = secrets.token_urlsafe()
    application = make_live_application(Watched(root, isolation), token, steer)
    with open_server(application, port, timeout_graceful_shutdown=1) as (server, listening, address):
        tell(f"open {address}?token={token}{f'#/{view}' if view else ''} (Ctrl-C ends)")
        with suppress(KeyboardInterrupt):
            asyncio.run(server.serve(sockets=[listening]))


@contextmanager
def open_companion(folder: Path, tell: Callable[[str], None]) -> Iterator[None]:
    """Serve the page of a run from another process, print its address, and open it if the machine has a screen."""
    command = [sys.executable, "-P", "-m", "oragent", "watch", str(folder)]
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env=server_environment() | {WATCHED: "1", "COLUMNS": "10000"},
    )
    try:
        line = _read_line(process)
        if not line:
            raise ConfigError("the page could not be opened; use 'oragent watch' while the run continues")
        address = line.removeprefix("open ").split(" ")[0]
        tell(f"page: {address}")
        if sys.stdout.isatty() and (sys.platform == "darwin" or os.environ.get("DISPLAY")):
            webbrowser.open(address)
        yield
    finally:
        process.terminate()
        process.communicate()


def _read_line(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    timer = threading.Timer(START_S, process.kill)
    timer.start()
    try:
        return process.stdout.readline().strip()
    finally:
        timer.cancel()


def end_with_parent() -> None:
    """End this process when its standard input ends, if it serves the page of a running search."""
    if os.environ.get(WATCHED):
        threading.Thread(target=_wait_for_end, daemon=True).start()


def _wait_for_end() -> None:
    sys.stdin.read()
    os._exit(0)

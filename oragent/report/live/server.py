"""The server of the live page: loopback only, a token in the address, Host and Origin checked, runs only read."""

import asyncio
import json
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path, PurePosixPath
from typing import Any

from oragent._base.bounded_json import parse_json
from oragent._base.errors import ConfigError, OragentError, StoreError
from oragent._base.plain import escape_text
from oragent.report.live.evidence import read_elites, read_ideas, read_trust
from oragent.report.live.folders import ListedFolder, list_folders
from oragent.report.live.offline import make_page, write_parquet
from oragent.report.live.ranks import rank_strategies, read_gains
from oragent.report.live.snapshot import RunReader
from oragent.report.pages.loopback import HEADERS, find_fault, open_server, refuse_without_extra

POLL_S = 0.5
LIST_S = 5.0  # least time between two scans of the folder
KEEP_ALIVE_S = 15.0
SHARE = 0.01  # largest share of time for repeated summaries: a watched run must not become slower
SHARED_ROWS = 2_000  # of candidates that are kept for other watchers
MAX_BODY = 500_000
MAX_PAGE = 64 << 20
MAX_RANKED = 500  # runs whose strategies are ranked
POLICY = (
    "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; img-src data: blob:; "
    "connect-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
REPORT_POLICY = (
    "sandbox allow-popups; default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'"
)


class Watched:
    """The folders that a server shows.

    Args:
        root: Folder below which runs are listed, or the folder of one run.
        isolation: What this machine keeps candidates from (``held``) and what not (``missing``); None if not known.
    """

    def __init__(self, root: Path, isolation: dict[str, list[str]] | None = None) -> None:
        self.root, self.isolation = root.resolve(), isolation
        self._listed: dict[str, ListedFolder] = {}
        self._scanned = -LIST_S
        self._readers: dict[str, RunReader] = {}
        self._parts: dict[str, tuple[int, tuple[float, ...], int, dict[str, Any]]] = {}
        self._summaries: dict[str, tuple[tuple[float, ...], float, dict[str, Any]]] = {}

    def list_runs(self) -> list[dict[str, object]]:
        """List the folders, scanned at most every `LIST_S` seconds."""
        if time.monotonic() - self._scanned >= LIST_S:
            self._listed = {entry.id: entry for entry in list_folders(self.root)}
            self._scanned = time.monotonic()
        return [entry.describe() for entry in self._listed.values()]

    def find(self, name: str) -> ListedFolder:
        """Return a listed folder; only listed ones can be read.

        Raises:
            StoreError: if there is none of this id.
        """
        self.list_runs()
        if name not in self._listed:
            raise StoreError(f"no run {escape_text(name)[:100]!r} below {self.root}")
        return self._listed[name]

    def read_page(self, path: str) -> bytes:
        """Return a written page in a listed folder or below it; links are not followed.

        Args:
            path: Path below the root.

        Raises:
            StoreError: if there is no such page.
        """
        self.list_runs()
        below = PurePosixPath(path)
        owners = [self._listed[str(parent)] for parent in below.parents if str(parent) in self._listed]
        file = self.root / below
        is_inside = bool(owners) and ".." not in below.parts and file.resolve() == file and below.suffix == ".html"
        if not is_inside or not file.is_file() or file.stat().st_size > MAX_PAGE:
            raise StoreError(
                f"there is no page {escape_text(path)[:200]!r}: oragent report RUN writes that of a folder"
            )
        return file.read_bytes()

    def reader(self, name: str) -> RunReader:
        """Return the reader of a search.

        Raises:
            StoreError: if there is none, or it cannot be read.
        """
        entry = self.find(name)
        if entry.kind != "search":
            raise StoreError(f"{escape_text(name)[:100]} is a {entry.kind}, not a search")
        if name not in self._readers:
            self._readers[name] = RunReader(entry.path)
        return self._readers[name]

    def summary(self, name: str) -> dict[str, Any]:
        """Return a run's summary; read again when it changed, and not more often than `SHARE` allows."""
        reader = self.reader(name)
        version, now = reader.version(), time.monotonic()
        if name in self._summaries:
            known, due, summary = self._summaries[name]
            if known == version or now < due:
                return summary
        summary = asdict(reader.read_summary())
        took = time.monotonic() - now
        self._summaries[name] = version, now + took + took / SHARE, summary
        return summary

    def read_trust(self, name: str) -> dict[str, Any]:
        """Return the evidence for a run's best program; this machine's isolation where the run recorded none."""
        trust = read_trust(self.reader(name))
        return {**trust, "isolation": trust.get("isolation") or self.isolation}

    def candidates(self, name: str, after: int) -> dict[str, Any]:
        """Return the candidates behind a row; what several watchers ask at the same time is read once."""
        reader, tick = self.reader(name), current_tick()
        version = reader.version()
        known_after, known_version, known_tick, part = self._parts.get(name, (-1, (), -1, {}))
        if known_after == after and (known_version == version or known_tick == tick):
            return part
        part = vars(reader.read_candidates(after))
        if len(part["round"]) <= SHARED_ROWS:
            self._parts[name] = after, version, tick, part
        return part


def current_tick() -> int:
    """Return the number of the interval in which changes of runs are looked for, the same for all watchers."""
    return int(time.monotonic() / POLL_S)


def make_application(watched: Watched, token: str, steer: Callable[[Path, dict[str, Any]], str] | None = None) -> Any:
    """Make the ASGI application.

    Args:
        watched: Folders that are shown.
        token: Token that each request must have.
        steer: Function that records an act for a run's folder and returns a line; None: the page only shows.

    Raises:
        ConfigError: if Starlette is not installed.
    """
    try:
        from starlette.applications import Starlette
        from starlette.requests import ClientDisconnect, Request
        from starlette.responses import HTMLResponse, JSONResponse, Response, StreamingResponse
        from starlette.routing import Route
    except ImportError as problem:
        raise refuse_without_extra(problem) from None
    Handler = Callable[[Request], Awaitable[Response]]

    def guard(handler: Handler) -> Handler:
        async def checked(request: Request) -> Response:
            given = request.query_params.get("token", "") or request.path_params.get("token", "")
            if reason := find_fault(request.headers, given, token):
                return JSONResponse({"error": reason}, 403, HEADERS)
            try:
                return await handler(request)
            except OragentError as problem:
                return JSONResponse({"error": escape_text(str(problem))}, 404, HEADERS)
            except (OSError, ValueError, RecursionError) as problem:  # such as NUL in a path, deep JSON
                return JSONResponse({"error": f"the request cannot be read ({type(problem).__name__})"}, 400, HEADERS)
            except ClientDisconnect:  # nobody reads the answer
                return JSONResponse({"error": "the request did not come to its end"}, 400, HEADERS)

        return checked

    async def get_page(request: Request) -> Response:
        nonce = secrets.token_urlsafe(16)
        headers = {**HEADERS, "Content-Security-Policy": POLICY.format(nonce=nonce)}
        return HTMLResponse(make_page(nonce), headers=headers)

    def answer(read: Callable[[Request], Any]) -> Handler:
        async def respond(request: Request) -> Response:
            value = await asyncio.to_thread(read, request)
            text = json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
            return Response(text.encode("utf-8", "replace"), media_type="application/json", headers=HEADERS)

        return respond

    def run_of(request: Request) -> RunReader:
        return watched.reader(request.query_params.get("run", ""))

    def number(request: Request, name: str) -> int:
        text = request.query_params.get(name, "0")
        return int(text) if text.isascii() and text.isdecimal() and len(text) < 16 else 0

    def get_candidates(request: Request) -> dict[str, Any]:
        return watched.candidates(request.query_params.get("run", ""), number(request, "after"))

    async def get_events(request: Request) -> Response:
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
                await asyncio.sleep((current_tick() + 1) * POLL_S - time.monotonic())  # all watchers at once

        return StreamingResponse(follow(), media_type="text/event-stream", headers=HEADERS)

    async def get_written_page(request: Request) -> Response:
        theme = request.query_params.get("theme", "")
        text = await asyncio.to_thread(watched.read_page, request.path_params["path"])
        if theme in ("light", "dark"):
            text = text.replace(b"<html", f'<html data-theme="{theme}"'.encode(), 1)
        headers = {**HEADERS, "X-Frame-Options": "SAMEORIGIN", "Content-Security-Policy": REPORT_POLICY}
        return Response(text, media_type="text/html; charset=utf-8", headers=headers)

    async def get_parquet(request: Request) -> Response:
        data = await asyncio.to_thread(write_parquet, run_of(request))
        return Response(data, media_type="application/vnd.apache.parquet", headers=HEADERS)

    async def post_steer(request: Request) -> Response:
        if steer is None or request.headers.get("origin") is None:
            return JSONResponse({"error": "this page only shows runs"}, 403, HEADERS)
        body = b""
        async for part in request.stream():
            body += part
            if len(body) > MAX_BODY:
                return JSONResponse({"error": "the request is too long"}, 413, HEADERS)
        try:
            act = parse_json(body.decode())
        except ValueError:
            act = None
        if not isinstance(act, dict):
            return JSONResponse({"error": "expected a JSON object"}, 400, HEADERS)
        line = await asyncio.to_thread(steer, run_of(request).folder, act)
        return JSONResponse({"line": escape_text(line)}, headers=HEADERS)

    routes = {
        "/": get_page,
        "/api/runs": answer(lambda request: {"root": escape_text(str(watched.root)), "runs": watched.list_runs(),
                                             "steering": steer is not None}),
        "/api/summary": answer(lambda request: watched.summary(request.query_params.get("run", ""))),
        "/api/candidates": answer(get_candidates),
        "/api/candidate": answer(lambda request: run_of(request).read_candidate(request.query_params.get("id", ""))),
        "/api/calls": answer(lambda request: run_of(request).read_calls(number(request, "after"))),
        "/api/call": answer(lambda request: run_of(request).read_call(request.query_params.get("key", ""))),
        "/api/trust": answer(lambda request: watched.read_trust(request.query_params.get("run", ""))),
        "/api/ideas": answer(lambda request: read_ideas(run_of(request))),
        "/api/elites": answer(lambda request: read_elites(run_of(request))),
        "/api/parquet": get_parquet,
        "/api/ranks": answer(lambda request: rank_runs(watched, request.query_params.get("runs", ""))),
        "/events": get_events,
        "/pages/{token}/{path:path}": get_written_page,  # the token is in the path, so that relative links have it
    }  # fmt: skip
    return Starlette(
        routes=[
            *(Route(path, guard(handler)) for path, handler in routes.items()),
            Route("/api/steer", guard(post_steer), methods=["POST"]),
        ]
    )


def rank_runs(watched: Watched, names: str) -> dict[str, Any]:
    """Rank the strategies of runs.

    Args:
        watched: Folders that are shown.
        names: Ids of runs, each on a line.

    Raises:
        StoreError: if one of them cannot be read.
    """
    runs = [name for name in names.split("\n") if name][:MAX_RANKED]
    return asdict(rank_strategies(read_gains([watched.summary(name) for name in runs])))


def serve(
    root: Path,
    tell: Callable[[str], None],
    port: int = 0,
    steer: Callable[[Path, dict[str, Any]], str] | None = None,
    view: str = "",
    isolation: dict[str, list[str]] | None = None,
) -> None:
    """Serve the page until Ctrl-C.

    Args:
        root: Folder below which runs are listed.
        tell: Callback that prints a line.
        port: Port to listen on; 0 for any free one.
        steer: As for `make_application`.
        view: Part of the address behind ``#/`` that the page opens with; empty for the list.
        isolation: As for `Watched`.

    Raises:
        ConfigError: if a package is missing, the port is taken, or the folder does not exist.
    """
    if not root.is_dir():
        raise ConfigError(f"{root} is not a folder: give a folder of runs, such as outputs")
    token = secrets.token_urlsafe(24)
    application = make_application(Watched(root, isolation), token, steer)
    with open_server(application, port, timeout_graceful_shutdown=1) as (server, listening, address):
        tell(f"open {address}?token={token}{f'#/{view}' if view else ''} (Ctrl-C ends)")
        with suppress(KeyboardInterrupt):
            asyncio.run(server.serve(sockets=[listening]))

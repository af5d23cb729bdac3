"""A conversation on a page of this machine: what is said, the decision, what is in force; loopback and a token only.

Nothing of a stranger's is put into the page as markup: texts travel as JSON and become text nodes.
"""

import asyncio
import secrets
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console

from oragent._base.errors import OragentError
from oragent._base.terminal import print_line
from oragent._base.text_format import escape_text
from oragent.converse.conversation import changes_of, opening_text
from oragent.converse.decider import DecisionView
from oragent.converse.decision import Charted, format_figure
from oragent.converse.session import ConversationSession, write_page
from oragent.converse.transcript import describe_plain_restriction, pareto_picture, split_blocks
from oragent.llm.model import Model
from oragent.report.pages.loopback import HEADERS, find_fault, open_server, refuse_without_extra

PAGE = Path(__file__).with_name("web.html")
# bytes of a request, characters of a message
MOST_BODY, MOST_SAID = 20_000, 4000
ANSWER_S = 600.0


@dataclass
class Room:
    """A session and whoever sits at the page."""

    session: ConversationSession
    # messages that wait for the agent
    heard: "asyncio.Queue[str]" = field(default_factory=asyncio.Queue)
    # told when a turn has ended
    answered: asyncio.Event = field(default_factory=asyncio.Event)
    # why the session ended; empty while it goes on
    problem: str = ""

    async def hold(self, model: Model | None = None) -> None:
        """Hold the session until it is cancelled or its model fails."""

        async def listen(view: DecisionView) -> str | None:
            self.answered.set()
            return await self.heard.get()

        try:
            self.problem = await self.session.hold(listen, lambda turn, answer: None, model) or "the session has ended"
        except OragentError as problem:
            self.problem = str(problem)
        finally:
            self.answered.set()

    async def say(self, text: str) -> None:
        """Put a message and wait for what comes of it."""
        self.answered.clear()
        self.session.notice = ""
        self.heard.put_nowait(text)
        await asyncio.wait_for(self.answered.wait(), ANSWER_S)

    def state(self) -> dict[str, Any]:
        """All that the page shows, as plain data."""
        turns = self.session.turns
        problem = self.session.problem_after(turns[-1].state if turns else None)
        walk = [problem.default, *(decision for turn in turns for decision in turn.presented)]
        earlier, now = walk[-2] if len(walk) > 1 else walk[-1], walk[-1]
        if turns:
            last = turns[-1].state
        else:
            last = None
        old, new = problem.chosen(earlier), problem.chosen(now)
        return {
            "name": escape_text(problem.name),
            "agent": self.session.request.agent,
            "ended": escape_text(self.problem),
            "opening": _plain_blocks(opening_text(problem)),
            "turns": [
                {
                    "said": escape_text(turn.said),
                    "answer": _plain_blocks(turn.answer),
                    "calls": turn.calls,
                }
                for turn in turns
            ],
            "table": _plain_blocks(problem.render(now)),
            "bars": _plain_bars(problem, now, last),
            "objectives": [
                {"word": escape_text(goal.word), "unit": escape_text(goal.unit), "value": format_figure(value)}
                for goal, value in zip(problem.expressions[: problem.goals], problem.features(now), strict=False)
            ],
            "changed": [
                f"{escape_text(problem.short(item))}: {escape_text(old[item])} → {escape_text(option)}"
                for item, option in new.items()
                if old[item] != option
            ],
            "in_force": []
            if last is None
            else [
                {"name": entry["name"], "text": escape_text(describe_plain_restriction(entry, ""))}
                for entry in last["restrictions"]
            ]
            + [
                {"name": change.name, "text": escape_text(f"{change.name} {change.value_text}")}
                for change in changes_of(last)
            ],
            "picture": problem.goals > 1,
            "version": len(turns),
            "notice": escape_text(self.session.notice),
        }


def make_application(room: Room, token: str) -> Any:
    """The page's server as an ASGI application.

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

    def require_token(answer: Callable[[Request], Awaitable[Response]]) -> Callable[[Request], Awaitable[Response]]:
        async def checked(request: Request) -> Response:
            if reason := find_fault(request.headers, request.query_params.get("token", ""), token):
                return JSONResponse({"error": reason}, 403, HEADERS)
            return await answer(request)

        return checked

    async def get_page(request: Request) -> Response:
        nonce = secrets.token_urlsafe(16)
        policy = (
            f"default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; img-src 'self'; "
            "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        )
        text = PAGE.read_text(encoding="utf-8").replace("NONCE", nonce)
        return HTMLResponse(text, headers={**HEADERS, "Content-Security-Policy": policy})

    async def get_state(request: Request) -> Response:
        return JSONResponse(room.state(), headers=HEADERS)

    async def post_message(request: Request) -> Response:
        body = b""
        try:
            async for piece in request.stream():
                body += piece
                if len(body) > MOST_BODY:
                    return JSONResponse({"error": "the message is too long"}, 413, HEADERS)
        except ClientDisconnect:
            # the page was closed before its message was sent; nobody reads the reply
            return JSONResponse({"error": "the message was not sent to its end"}, 400, HEADERS)
        text = body.decode(errors="replace").strip()[:MOST_SAID]
        if not text:
            return JSONResponse({"error": "say something"}, 400, HEADERS)
        if room.problem:
            return JSONResponse({"error": escape_text(room.problem)}, 409, HEADERS)
        await room.say(text)
        return JSONResponse(room.state(), headers=HEADERS)

    async def get_picture(request: Request) -> Response:
        svg = pareto_picture(room.session.problem, room.session.turns)
        return Response(svg, media_type="image/svg+xml", headers=HEADERS)

    return Starlette(
        routes=[
            Route("/", require_token(get_page)),
            Route("/state", require_token(get_state)),
            Route("/say", require_token(post_message), methods=["POST"]),
            Route("/picture.svg", require_token(get_picture)),
        ]
    )


def serve(session: ConversationSession, console: Console, port: int = 0, model: Model | None = None) -> int:
    """Serve the page of a conversation until Ctrl-C.

    Raises:
        OragentError: A package is missing, or the port is taken.
    """
    with suppress(KeyboardInterrupt):
        asyncio.run(_run_server(session, console, port, model))
    print_line(console, f"report: {write_page(session)}")
    print_line(console, f"go on with: oragent converse {session.folder}")
    return 0


async def _run_server(session: ConversationSession, console: Console, port: int, model: Model | None) -> None:
    room, token = Room(session), secrets.token_urlsafe(24)
    app = make_application(room, token)
    with open_server(app, port) as (server, listening, address):
        print_line(console, f"conversation: {session.folder}")
        print_line(console, f"open {address}?token={token} (Ctrl-C ends)")
        holding = asyncio.create_task(room.hold(model))
        try:
            await server.serve(sockets=[listening])
        finally:
            holding.cancel()
            with suppress(asyncio.CancelledError):
                await holding


def _plain_blocks(text: str) -> list[dict[str, Any]]:
    return [
        {
            "text": escape_text(block.text),
            "header": [escape_text(cell) for cell in block.header],
            "rows": [[escape_text(cell) for cell in row] for row in block.rows],
        }
        for block in split_blocks(text)
    ]


def _plain_bars(problem: object, decision: str, state: Any) -> dict[str, Any] | None:
    """The chart of a decision, with the bound in force; None where its problem has none."""
    if not isinstance(problem, Charted):
        return None
    chart = problem.chart(decision)
    bounds = [
        restriction["value"]
        for restriction in (state or {"restrictions": []})["restrictions"]
        if restriction["kind"] == "bound" and restriction["subject"] == chart.goal
    ]
    bars = [{"label": escape_text(label), "value": value} for label, value in chart.bars]
    highest = max(*(value for _, value in chart.bars), *bounds, 1)
    return {"title": escape_text(chart.title), "bars": bars, "bound": bounds[0] if bounds else None, "most": highest}

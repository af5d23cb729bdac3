"""Servers of pages: loopback only, a token in the address, and checks of Host and Origin."""

import hmac
import json
import secrets
import socket
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from oragent._base.distribution import extra_install_command
from oragent._base.errors import ConfigError, OragentError
from oragent._base.text_format import escape_text

HOST = "127.0.0.1"
HEADERS = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Resource-Policy": "same-origin",
}
# Function that answers a request with a response, or with JSON data.
Handler = Callable[[Any], Awaitable[Any]]


class RefusedRequest(Exception):
    """Request that gets an error as its answer: the message, and the status of HTTP."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


def find_fault(headers: Mapping[str, str], token_in_address: str, token: str) -> str:
    """Return the reason why a request is refused, or an empty text."""
    host = headers.get("host", "")
    if host.rpartition(":")[0] not in (HOST, "localhost"):
        # Another name that resolves to this machine can be a DNS rebinding attack.
        return f"ask by {HOST}"
    origin = headers.get("origin")
    if origin is not None and origin != f"http://{host}":
        return "requests from other pages are refused"
    from_elsewhere = headers.get("sec-fetch-site", "none") not in ("none", "same-origin")
    # A link in a mail may open the page.
    if from_elsewhere and headers.get("sec-fetch-mode") != "navigate":
        return "requests from other pages are refused"
    sent_token = headers.get("x-token") or token_in_address
    if not hmac.compare_digest(sent_token.encode(), token.encode()):
        return "the token is missing or wrong: open the address that was printed"
    return ""


def make_application(pages: Mapping[str, Handler], commands: Mapping[str, Handler], token: str, failure: int) -> Any:
    """Return an ASGI application whose requests need a token.

    Args:
        pages: Handlers of requests that read, by path.
        commands: Handlers of requests that change something, by path.
        token: Token in the address, or in a header of the page's own requests.
        failure: HTTP status of an ``OragentError``.

    Raises:
        ConfigError: Starlette is not installed.
    """
    require_server()
    from starlette.applications import Starlette
    from starlette.requests import ClientDisconnect, Request
    from starlette.responses import Response
    from starlette.routing import Route

    def send_json(value: object, status: int = 200) -> Response:
        text = json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
        return Response(text.encode("utf-8", "replace"), status, HEADERS, "application/json")

    def guard(handler: Handler) -> Callable[[Request], Awaitable[Response]]:
        async def respond(request: Request) -> Response:
            sent_token = request.query_params.get("token", "") or request.path_params.get("token", "")
            try:
                if reason := find_fault(request.headers, sent_token, token):
                    raise RefusedRequest(reason, 403)
                answer = await handler(request)
                return answer if isinstance(answer, Response) else send_json(answer)
            except RefusedRequest as problem:
                error, status = str(problem), problem.status
            except OragentError as problem:
                error, status = escape_text(str(problem)), failure
            except (OSError, ValueError, RecursionError) as problem:
                # Causes are for example NUL in a path, or deeply nested JSON.
                error, status = f"the request cannot be read ({type(problem).__name__})", 400
            except ClientDisconnect:
                # The client has disconnected, so the answer is not read.
                error, status = "the request did not come to its end", 400
            return send_json({"error": error}, status)

        return respond

    routes = [Route(path, guard(handler)) for path, handler in pages.items()]
    routes += [Route(path, guard(handler), methods=["POST"]) for path, handler in commands.items()]
    return Starlette(routes=routes)


def send_page(make_text: Callable[[str], str], further_policy: str) -> Any:
    """Return the response with a page whose scripts and styles have a nonce.

    Args:
        make_text: Function from the nonce to the text of the page.
        further_policy: Directives of the content security policy for images and frames.
    """
    from starlette.responses import HTMLResponse

    nonce = secrets.token_urlsafe()
    policy = (
        f"default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; {further_policy}; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    return HTMLResponse(make_text(nonce), headers={**HEADERS, "Content-Security-Policy": policy})


async def read_body(request: Any, limit: int) -> bytes:
    """Return the body of a request.

    Raises:
        RefusedRequest: It has more bytes than the limit.
    """
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > limit:
            raise RefusedRequest("the request is too long", 413)
    return body


def require_server() -> None:
    """Check that pages can be served."""
    try:
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as problem:
        hint = f"the page needs Starlette and Uvicorn ({problem}): {extra_install_command('web')}"
        raise ConfigError(hint) from None


@contextmanager
def open_server(application: Any, port: int, **options: Any) -> Iterator[tuple[Any, socket.socket, str]]:
    """Yield a server of an ASGI application, its socket, and the address without a token."""
    require_server()
    import uvicorn

    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, True)
        try:
            listening.bind((HOST, port))
            # If the browser is faster than the server, its request waits.
            listening.listen(64)
        except OSError as problem:
            raise ConfigError(f"cannot listen on port {port}: {problem.strerror}; give another one, --port") from None
        settings = uvicorn.Config(application, log_level="warning", access_log=False, lifespan="off", **options)
        yield uvicorn.Server(settings), listening, f"http://{HOST}:{listening.getsockname()[1]}/"

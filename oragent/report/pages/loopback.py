"""Rules for servers of pages: loopback only, a token in the address, and checks of Host and Origin."""

import hmac
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from oragent._base.distribution import extra_install_command
from oragent._base.errors import ConfigError

HOST = "127.0.0.1"
HEADERS = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Resource-Policy": "same-origin",
}


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


def require_server() -> None:
    """Check that pages can be served."""
    try:
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as problem:
        raise refuse_without_extra(problem) from None


def refuse_without_extra(problem: ImportError) -> ConfigError:
    """Return the error for a missing package of the extra ``web``."""
    return ConfigError(f"the page needs Starlette and Uvicorn ({problem}): {extra_install_command('web')}")


@contextmanager
def open_server(application: Any, port: int, **options: Any) -> Iterator[tuple[Any, socket.socket, str]]:
    """Yield a server of an ASGI application, its socket, and the address without a token."""
    try:
        import uvicorn
    except ImportError as problem:
        raise refuse_without_extra(problem) from None
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

"""One attempt to call an OpenAI-compatible server, and the kind of its failure."""

import asyncio
import email.utils
import json
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlsplit

from oragent._base.distribution import require_package
from oragent._base.errors import ModelError
from oragent._base.text_format import one_line
from oragent.llm.gateway import Gateway
from oragent.llm.streaming import BrokenReply, StreamJoiner

if TYPE_CHECKING:
    import openai

OPENAI_URL = "https://api.openai.com/v1"
# Local servers need no key, but the package requires one.
NO_KEY = "no-key"
# Maximum number of characters of an answer, a hundred times the longest reply.
MAX_BODY_CHARACTERS = 16_000_000
# Minimum length of a key that is protected, in characters.
MIN_KEY_LENGTH = 12
# Statuses at which the key of a command is renewed.
UNAUTHORISED = (401, 403)
# Maximum seconds until a connection is established.
CONNECT_S = 60.0
# Maximum duration of an attempt, in multiples of the maximum silence. A proxy may send blanks without end.
MAX_SILENCES = 8
# Statuses of temporary failures, in addition to all 5xx.
PASSING = (408, 409, 425, 429)
# Function that the reader of a body calls for every piece that arrives, in the task of the attempt.
_hearing: ContextVar[Callable[[], None]] = ContextVar("hearing", default=lambda: None)


# Exceptions are compared by identity.
@dataclass(eq=False)
class AttemptFailed(Exception):
    """Failure of one attempt."""

    # Message for the user, one line.
    message: str
    # True if another attempt may succeed.
    passing: bool
    # HTTP status. 0 without an answer.
    status: int = 0
    # Seconds that the server asks to wait, or None.
    wait_s: float | None = None
    # Parameter of the request that the server names as wrong. Empty if it names none.
    parameter: str = ""
    # True if our own limit ended it. The reply may then still be generated and paid for.
    timed_out: bool = False


class Endpoint:
    """A server that speaks the chat-completions protocol, through the ``openai`` package.

    Replies are streamed if the server supports it, so that the limit is on silence: an attempt ends after ``timeout_s``
    seconds without a byte, and in any case after `MAX_SILENCES` times as long.

    The retries of the package are switched off. It does not count those of a failed call, accepts a broken body with
    status 200 as an answer, and repeats a call whose quota is used up.
    """

    def __init__(self, base_url: str, gateway: Gateway, timeout_s: float) -> None:
        require_package("openai", "models", "a language model behind a server")
        # The import takes half a second, which runs without a model should not need.
        import openai

        if not base_url.startswith(("http://", "https://")):
            raise ModelError(f"OPENAI_BASE_URL is {base_url!r}: expected an address like http://localhost:8000/v1")
        self.base_url = base_url
        self._gateway = gateway
        self._timeout_s = timeout_s
        # Proxies of the environment cannot reach the loopback address of this machine, and a redirect would send the
        # prompt to a server that the user did not name.
        plain = openai.DefaultAsyncHttpxClient(trust_env=not is_on_loopback(base_url), follow_redirects=False)
        plain.event_hooks = {"response": [_read_bounded]}
        self._client = openai.AsyncOpenAI(
            api_key=gateway.key.get_secret_value() or NO_KEY,
            base_url=base_url,
            timeout=openai.Timeout(None, connect=CONNECT_S),
            max_retries=0,
            http_client=plain,
        )
        # The package sends these variables to every server.
        if urlsplit(base_url).hostname != urlsplit(OPENAI_URL).hostname:
            self._client.organization = self._client.project = None

    @property
    def has_key(self) -> bool:
        """True if requests carry a key."""
        return bool(self._gateway.key)

    async def send(self, request: Mapping[str, Any], timeout_s: float | None = None) -> dict[str, Any]:
        """Make one attempt, and a second one with a new key if the server refuses the key of a command.

        Returns:
            The decoded body, in which ``choices`` has at least one message.

        Args:
            request: Body of the request.
            timeout_s: Maximum silence in seconds. None means that of the endpoint.

        Raises:
            AttemptFailed: The answer is malformed, or did not arrive in time.
        """
        renews = bool(self._gateway.key_command)
        if renews and not self._gateway.key:
            await self._renew_key()
        try:
            return await self._send_once(request, timeout_s)
        except AttemptFailed as problem:
            if not renews or problem.status not in UNAUTHORISED:
                raise
        await self._renew_key()
        return await self._send_once(request, timeout_s)

    async def _renew_key(self) -> None:
        await self._gateway.renew_key()
        self._client.api_key = self._gateway.key.get_secret_value()

    def _request_options(self) -> Any:
        # The package is already loaded.
        import openai

        headers: dict[str, Any] = {}
        if self._gateway.sends_own_key:
            headers["Authorization"] = openai.Omit()
        headers |= self._gateway.fill(self._gateway.headers)
        return {"headers": headers, "params": self._gateway.fill(self._gateway.query)}

    async def _send_once(self, request: Mapping[str, Any], timeout_s: float | None) -> dict[str, Any]:
        # The package is already loaded.
        import openai

        limit_s = timeout_s or self._timeout_s
        try:
            async with asyncio.timeout(MAX_SILENCES * limit_s), asyncio.timeout(limit_s) as silence:
                _hearing.set(partial(extend_silence, silence, limit_s))
                # The answer is read as text, because the types of the package take a tenth of a second to import and
                # are not used.
                answer = await self._client.post(
                    "/chat/completions", cast_to=str, body=request, options=self._request_options()
                )
            return _decode_body(self._without_key(answer))
        except TimeoutError:
            what = f"sent nothing for {limit_s:g} s" if silence.expired() else f"took {MAX_SILENCES * limit_s:g} s"
            failure = AttemptFailed(f"{self.base_url} {what}", passing=False, timed_out=True)
        except openai.APIStatusError as problem:
            failure = self._read_refusal(problem)
        except openai.APIConnectionError as problem:
            if isinstance(problem.__cause__, BrokenReply):
                raise AttemptFailed(f"{self.base_url} sent a broken reply: {problem.__cause__}", passing=True) from None
            why = one_line(self._without_key(str(problem.__cause__ or problem)))
            failure = AttemptFailed(f"cannot reach {self.base_url} ({why}): is the server running?", passing=True)
        except BrokenReply as problem:
            failure = AttemptFailed(f"{self.base_url} sent a broken reply: {problem}", passing=True)
        # Raised outside of the handlers, so that the traceback does not contain the request and its key.
        raise failure

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    def _read_refusal(self, problem: "openai.APIStatusError") -> AttemptFailed:
        status, body = problem.status_code, problem.body
        # Gemini sends a list.
        if isinstance(body, list) and body and isinstance(body[0], dict):
            body = body[0].get("error", body[0])
        fields = body if isinstance(body, dict) else {}
        if 300 <= status < 400:
            location = self._without_key(problem.response.headers.get("location", "nowhere"))
            return AttemptFailed(
                f"{self.base_url} answered {status}, and points to {one_line(location)}", False, status
            )
        message = fields.get("message") or fields.get("error") or fields.get("detail") or body or problem.message
        spent = fields.get("code") == "insufficient_quota"
        return AttemptFailed(
            message=f"{self.base_url} answered {status}: {one_line(self._without_key(str(message)))}",
            passing=(status in PASSING or status >= 500) and not spent,
            status=status,
            wait_s=_retry_after(problem.response.headers),
            parameter=str(fields.get("param") or ""),
        )

    def _without_key(self, text: str) -> str:
        """Return a server's text with keys replaced by asterisks.

        Local servers get a short word such as ``any`` or ``x`` as the key. It needs no protection, and replacing it
        would break every program that contains it.
        """
        for key in self._gateway.secrets:
            if len(key) >= MIN_KEY_LENGTH:
                text = text.replace(key, "***")
        return text


class _Response(Protocol):
    """Part of a response that is used here. Releases of ``openai`` differ in their HTTP package."""

    encoding: str | None
    _content: bytes

    @property
    def headers(self) -> Mapping[str, str]:
        """Headers of the response."""

    def aiter_bytes(self) -> AsyncIterator[bytes]:
        """Yield the decoded body in pieces."""


async def _read_bounded(response: _Response) -> None:
    """Read a body in pieces, up to a limit on its decoded length. Text is read as UTF-8, whatever the server declares.

    The events of a streamed reply are joined to the body that a server would send without streaming.
    """
    hear = _hearing.get()
    hear()
    is_stream = response.headers.get("content-type", "").startswith("text/event-stream")
    body, joiner = bytearray(), StreamJoiner(MAX_BODY_CHARACTERS)
    async for piece in response.aiter_bytes():
        hear()
        if is_stream:
            joiner.feed(piece)
            continue
        body += piece
        if len(body) > MAX_BODY_CHARACTERS:
            raise BrokenReply(f"more than {MAX_BODY_CHARACTERS:,} bytes")
    if is_stream:
        body += json.dumps(joiner.body()).encode()
    # Leave the response as ``aread`` does.
    response._content = bytes(body)
    response.encoding = "utf-8"


def extend_silence(silence: asyncio.Timeout, limit_s: float) -> None:
    """Restart the limit on silence, because data arrived."""
    if not silence.expired():
        silence.reschedule(asyncio.get_running_loop().time() + limit_s)


def _decode_body(body: str) -> dict[str, Any]:
    if len(body) > MAX_BODY_CHARACTERS:
        raise BrokenReply(f"{len(body):,} characters; at most {MAX_BODY_CHARACTERS:,} are allowed")
    try:
        answer: Any = json.loads(body)
    except (ValueError, RecursionError):
        raise BrokenReply(f"expected JSON, not {_quote_body(body)}") from None
    if not isinstance(answer, dict):
        raise BrokenReply(f"expected an object, not {_quote_body(body)}")
    choices = answer.get("choices")
    if not (isinstance(choices, list) and choices and isinstance(choices[0], dict)):
        raise BrokenReply(f"no choices in {_quote_body(body)}")
    if not isinstance(choices[0].get("message"), dict):
        raise BrokenReply(f"no message in {_quote_body(body)}")
    return answer


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that the server asks to wait, from a number or an HTTP date (RFC 9110, section 10.2.3)."""
    text = headers.get("retry-after", "")
    try:
        return max(0.0, float(text))
    except ValueError:
        date = email.utils.parsedate_tz(text)
    try:
        if date is None:
            return None
        return max(0.0, email.utils.mktime_tz(date) - time.time())
    except (ValueError, OverflowError):
        # The date does not exist.
        return None


def is_on_loopback(base_url: str) -> bool:
    """Return True if an address is one of this machine."""
    host = urlsplit(base_url).hostname or ""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        # The host is a name, not an address.
        return False


def _quote_body(body: str) -> str:
    if body.strip():
        return repr(one_line(body, 60, "..."))
    return "an empty body"

"""One attempt at an OpenAI-compatible server, and what its failure means."""

import asyncio
import email.utils
import json
import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlsplit

from pydantic import SecretStr

from oragent._base.errors import ModelError

if TYPE_CHECKING:
    import openai

OPENAI_URL = "https://api.openai.com/v1"
NO_KEY = "no-key"  # local servers ask for none, the package insists on one
LONGEST_BODY = 16_000_000  # characters of an answer: a hundred times the longest reply
SHORTEST_KEY = 12  # characters; what is shorter opens nothing
PASSING = (408, 409, 425, 429)  # refusals that may pass by themselves, like every 5xx


@dataclass(eq=False)  # exceptions are told apart by identity
class AttemptFailed(Exception):
    """One attempt brought no reply.

    Attributes:
        message: Message for a person, one line.
        passing: Whether another attempt may succeed.
        status: HTTP status; 0 where there was none.
        wait_s: Seconds that the server asks to wait; None where it does not say.
        parameter: Parameter of the request that the server names as wrong; empty where it names none.
    """

    message: str
    passing: bool
    status: int = 0
    wait_s: float | None = None
    parameter: str = ""


class Endpoint:
    """A server that speaks the chat-completions protocol, through the ``openai`` package.

    The package's own retries stay off. It cannot bound a whole attempt (its time-out starts anew with every byte), it
    does not count the retries of a call that fails, it takes a broken body with status 200 for an answer, and it
    repeats a call whose quota is used up.

    Args:
        base_url: Address up to and with ``/v1``.
        key: API key; empty where the server asks for none.
        timeout_s: Limit on one attempt, seconds.

    Raises:
        ModelError: the address is no http address.
    """

    def __init__(self, base_url: str, key: SecretStr, timeout_s: float) -> None:
        import openai  # half a second that no run without a model should pay

        if not base_url.startswith(("http://", "https://")):
            raise ModelError(f"OPENAI_BASE_URL is {base_url!r}: expected an address like http://localhost:8000/v1")
        self.base_url = base_url
        self.has_key = bool(key)
        self._key = key
        self._timeout_s = timeout_s
        # A proxy from the environment cannot reach this machine's own loopback; a redirect would take the prompt to a
        # server that nobody named.
        plain = openai.DefaultAsyncHttpxClient(trust_env=not _on_loopback(base_url), follow_redirects=False)
        plain.event_hooks = {"response": [_read_bounded]}
        self._client = openai.AsyncOpenAI(
            api_key=key.get_secret_value() or NO_KEY, base_url=base_url, timeout=None, max_retries=0, http_client=plain
        )
        if urlsplit(base_url).hostname != urlsplit(OPENAI_URL).hostname:  # the package tells them to everyone
            self._client.organization = self._client.project = None

    async def send(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Make one attempt.

        Args:
            request: Body of a chat completion: ``model``, ``messages`` and what else is set.

        Returns:
            The decoded body, in which ``choices`` holds at least one message.

        Raises:
            AttemptFailed: anything else came back, or nothing in time.
        """
        import openai  # loaded by now

        try:
            async with asyncio.timeout(self._timeout_s):
                # As text: what the package knows of completions takes a tenth of a second to import and is not used.
                answer = await self._client.post("/chat/completions", cast_to=str, body=request)
            return _checked(self._without_key(answer))
        except TimeoutError:
            failure = AttemptFailed(f"{self.base_url} gave no answer within {self._timeout_s:g} s", passing=True)
        except openai.APIStatusError as problem:
            failure = self._refusal(problem)
        except openai.APIConnectionError as problem:
            if isinstance(problem.__cause__, _BrokenReply):
                raise AttemptFailed(f"{self.base_url} sent a broken reply: {problem.__cause__}", passing=True) from None
            why = _one_line(self._without_key(str(problem.__cause__ or problem)))
            failure = AttemptFailed(f"cannot reach {self.base_url} ({why}): is the server running?", passing=True)
        except _BrokenReply as problem:
            failure = AttemptFailed(f"{self.base_url} sent a broken reply: {problem}", passing=True)
        raise failure  # outside the handlers: no traceback drags the request and its key along

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    def _refusal(self, problem: "openai.APIStatusError") -> AttemptFailed:
        """Read a status of 4xx or 5xx."""
        status, body = problem.status_code, problem.body
        if isinstance(body, list) and body and isinstance(body[0], dict):  # Gemini's
            body = body[0].get("error", body[0])
        fields = body if isinstance(body, dict) else {}
        if 300 <= status < 400:
            place = self._without_key(problem.response.headers.get("location", "nowhere"))
            return AttemptFailed(f"{self.base_url} answered {status}, and points to {_one_line(place)}", False, status)
        said = fields.get("message") or fields.get("error") or fields.get("detail") or body or problem.message
        spent = fields.get("code") == "insufficient_quota"
        return AttemptFailed(
            message=f"{self.base_url} answered {status}: {_one_line(self._without_key(str(said)))}",
            passing=(status in PASSING or status >= 500) and not spent,
            status=status,
            wait_s=_retry_after(problem.response.headers),
            parameter=str(fields.get("param") or ""),
        )

    def _without_key(self, text: str) -> str:
        """What a server said, with the key crossed out where it repeats it.

        A local server is asked with a word such as ``any`` or ``x`` in the place of a key: that is no secret, and to
        cross it out would break every program that holds it.
        """
        key = self._key.get_secret_value()
        return text.replace(key, "***") if len(key) >= SHORTEST_KEY else text


class _BrokenReply(Exception):
    """A body that is no chat completion."""


class _Response(Protocol):
    """The parts of a response that are used; releases of ``openai`` differ in the HTTP package that they come from."""

    encoding: str | None
    _content: bytes

    def aiter_bytes(self) -> AsyncIterator[bytes]:
        """Yield the decoded body in pieces."""


async def _read_bounded(response: _Response) -> None:
    """Read a body piece by piece, to a bound on what it decodes to; a text is UTF-8 whatever the server calls it.

    Raises:
        _BrokenReply: it is longer.
    """
    body = bytearray()
    async for piece in response.aiter_bytes():
        body += piece
        if len(body) > LONGEST_BODY:
            raise _BrokenReply(f"more than {LONGEST_BODY:,} bytes")
    response._content = bytes(body)  # as ``aread`` leaves it
    response.encoding = "utf-8"


def _checked(body: str) -> dict[str, Any]:
    if len(body) > LONGEST_BODY:
        raise _BrokenReply(f"{len(body):,} characters, at most {LONGEST_BODY:,} are read")
    try:
        answer: Any = json.loads(body)
    except (ValueError, RecursionError):
        raise _BrokenReply(f"no JSON but {_shown(body)}") from None
    if not isinstance(answer, dict):
        raise _BrokenReply(f"no object but {_shown(body)}")
    choices = answer.get("choices")
    if not (isinstance(choices, list) and choices and isinstance(choices[0], dict)):
        raise _BrokenReply(f"no choices in {_shown(body)}")
    if not isinstance(choices[0].get("message"), dict):
        raise _BrokenReply(f"no message in {_shown(body)}")
    return answer


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that the server asks to wait: a number or an HTTP date (RFC 9110, section 10.2.3)."""
    text = headers.get("retry-after", "")
    try:
        return max(0.0, float(text))
    except ValueError:
        date = email.utils.parsedate_tz(text)
    try:
        return None if date is None else max(0.0, email.utils.mktime_tz(date) - time.time())
    except (ValueError, OverflowError):  # a day that no calendar has
        return None


def _on_loopback(base_url: str) -> bool:
    host = urlsplit(base_url).hostname or ""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:  # a name
        return False


def _one_line(text: str, width: int = 200) -> str:
    text = " ".join(text.split())
    return text if len(text) <= width else f"{text[: width - 3]}..."


def _shown(body: str) -> str:
    return repr(_one_line(body, 60)) if body.strip() else "an empty body"

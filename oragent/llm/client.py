"""Client of OpenAI-compatible servers: OpenAI, vLLM, llama.cpp, Ollama and others."""

import asyncio
import hashlib
import json
import os
import re
import time
from collections.abc import Mapping, Sequence
from typing import Any, Self

from pydantic import SecretStr

from oragent._base.errors import ModelError, ModelTimeout
from oragent.llm import wire
from oragent.llm.endpoint import OPENAI_URL, AttemptFailed, Endpoint
from oragent.llm.gateway import Gateway, list_variables
from oragent.llm.keys import ADDRESS, KEY
from oragent.llm.model import Message, Reply, Request, estimate_tokens
from oragent.llm.model_settings import MAX_WAIT_S, ModelSettings, delay_s, explain_timeout
from oragent.llm.prices import Prices

CHECK = Request("check", (Message("user", "Answer with the word OK."),))
CHECK_TOKENS = 16
# Maximum silence of a connection check, in seconds. A local server loads its model at the first request.
CHECK_S = 300.0
# Parameters that a server may not support, and a pattern of its refusal. They are then left out.
OPTIONAL = {
    "stream_options": re.compile(r"stream_options|include_usage", re.IGNORECASE),
    "stream": re.compile(r"\bstream(ing|ed)?\b", re.IGNORECASE),
    "response_format": re.compile(r"response_format|json_schema|structured.output", re.IGNORECASE),
    "reasoning_effort": re.compile(r"reasoning|thinking", re.IGNORECASE),
    "seed": re.compile(r"\bseed\b", re.IGNORECASE),
    "temperature": re.compile(r"temperature", re.IGNORECASE),
}
SYSTEM = re.compile(r"system (role|message|prompt)s? (is |are )?not (supported|allowed)", re.IGNORECASE)
TOOLS = re.compile(r"\btools?\b|tool_choice|function[ _]call", re.IGNORECASE)
UNABLE = re.compile(r"support|requir|enabl|implement|allow|permit|unknown|unrecogni|unexpected|extra", re.IGNORECASE)


class ModelClient:
    """A model on an OpenAI-compatible server.

    Replies are streamed. Temporary failures (429, 5xx, a broken connection or body) are retried after a growing,
    jittered wait, or after the time that the server requests. After ``timeout_s`` without data the model is
    not asked again, because its reply may be paid for. A refusal (400, 401, 403, 404) is final. A parameter that the
    model does not support (``OPTIONAL``, ``max_tokens``) is dropped or renamed from then on. If it does not support
    ``tools``, calls are requested as fenced JSON in the text.

    A client belongs to one event loop. Use it as ``async with ModelClient(...) as model`` or call ``close()``.
    """

    def __init__(
        self,
        settings: ModelSettings,
        prices: Prices | None = None,
        api_key: SecretStr | None = None,
        variables: Mapping[str, SecretStr] | None = None,
    ) -> None:
        self.settings = settings
        key = SecretStr(api_key.get_secret_value().strip() if api_key else "")
        base_url = settings.base_url or os.environ.get(ADDRESS)
        self._key_name = settings.api_key_env or ("model.key_command" if settings.key_command else KEY)
        if not (key or base_url or settings.key_command):
            raise ModelError(f"{KEY} is not set: set it, or set {ADDRESS} to a server that needs no key")
        if not (key.get_secret_value().isascii() and key.get_secret_value().isprintable()):
            raise ModelError(f"{self._key_name} contains a character that is not allowed in keys: copy it again")
        self._prices = prices or Prices()
        named = list_variables((*settings.headers.values(), *settings.query.values()))
        texts = {name: value for name, value in (variables or {}).items() if name in named}
        gateway = Gateway(key, settings.headers, settings.query, settings.key_command or "", texts)
        self._endpoint = Endpoint(base_url or OPENAI_URL, gateway, settings.timeout_s)
        self._slots = asyncio.Semaphore(settings.concurrency)
        # The model's names of parameters. None for a parameter that it refuses.
        self._renamed_parameters: dict[str, str | None] = {}
        # True if the server has refused tools.
        self._lacks_tools = False
        # True if the model's template has no system message.
        self._lacks_system = False

    def __repr__(self) -> str:
        return f"Client({self.settings.name!r} at {self._endpoint.base_url})"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._endpoint.close()

    async def __call__(self, request: Request, /) -> Reply:
        """Ask the model."""
        # The slot is held while waiting, so that an overloaded server gets fewer calls.
        async with self._slots:
            begin = time.monotonic()
            sent, body, failed = await self._send_with_retries(request, self.settings.max_tokens, self.settings.retries)
            return self._read_reply(request, sent, body, time.monotonic() - begin, failed)

    async def check(self) -> Reply:
        """Ask for one word, so that a run without a usable model ends before it starts.

        Raises:
            ModelError: The server cannot be reached, refuses the key, or does not know the model.
        """
        begin = time.monotonic()
        try:
            limit_s = min(CHECK_S, self.settings.timeout_s)
            sent, body, failed = await self._send_with_retries(
                CHECK, CHECK_TOKENS, min(1, self.settings.retries), limit_s
            )
        except ModelError as problem:
            # A reasoning model used up the limit, so it exists.
            if "output limit was reached" not in str(problem):
                raise
            thoughts = {"choices": [{"message": {}, "finish_reason": "length"}], "usage": None}
            return self._read_reply(CHECK, self._build_body(CHECK, CHECK_TOKENS), thoughts, time.monotonic() - begin, 0)
        return self._read_reply(CHECK, sent, body, time.monotonic() - begin, failed)

    def _build_body(self, request: Request, limit: int | None) -> dict[str, Any]:
        """Build the body of a request, without parameters that the server has refused."""
        native = bool(request.tools) and not self._lacks_tools
        messages: Sequence[Message] = wire.write_calls_as_text(request) if self._lacks_tools else request.messages
        body = {
            "model": self.settings.name,
            "messages": list(
                map(wire.encode_message, wire.merge_system_message(messages) if self._lacks_system else messages)
            ),
            "temperature": self.settings.temperature if request.temperature is None else request.temperature,
            "tools": list(map(wire.encode_tool, request.tools)) if native else None,
            "max_tokens": limit,
            "reasoning_effort": self.settings.reasoning_effort,
            "seed": self._call_seed(request),
            "response_format": wire.encode_schema(request) if self.settings.structured else None,
            "stream": True,
            # Without this option, a stream has no token counts.
            "stream_options": None if self._renamed_parameters.get("stream", "") is None else {"include_usage": True},
        }
        named = {self._renamed_parameters.get(name, name): value for name, value in body.items() if value is not None}
        return {name: value for name, value in named.items() if name is not None} | self.settings.extra_body

    def _call_seed(self, request: Request) -> int | None:
        """Derive the seed of a call.

        It is equal for the same call of two runs, and different for each call of a run.
        """
        if self.settings.seed is None:
            return None
        text = f"{self.settings.seed} {request.key or request.prompt}"
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big") >> 1

    async def _send_with_retries(
        self, request: Request, limit: int | None, retries: int, timeout_s: float | None = None
    ) -> tuple[dict[str, Any], dict[str, Any], int]:
        """Send until there is an answer. Return the request, the body of the answer, and the number of failures."""
        failed = 0
        while True:
            sent = self._build_body(request, limit)
            try:
                return sent, await self._endpoint.send(sent, timeout_s), failed
            except AttemptFailed as failure:
                problem = failure
            if problem.timed_out:
                raise ModelTimeout(explain_timeout(problem.message, self.settings, timeout_s))
            if self._adapt_to_refusal(problem, sent):
                continue
            if not problem.passing or failed >= retries or (problem.wait_s or 0.0) > MAX_WAIT_S:
                raise ModelError(self._explain_failure(problem, failed))
            await asyncio.sleep(delay_s(failed, self.settings.backoff_s, problem.wait_s))
            failed += 1

    def _adapt_to_refusal(self, problem: AttemptFailed, sent: dict[str, Any]) -> bool:
        """Drop, rename or rephrase a part of requests that the server refused. Return False if that is not possible."""
        if _refuses_tools(problem, sent):
            self._lacks_tools = True
        elif not self._lacks_system and _refuses_system(problem, sent):
            self._lacks_system = True
        elif problem.status not in (400, 422):
            return False
        elif "max_tokens" in sent and "max_completion_tokens" in problem.message:
            self._renamed_parameters["max_tokens"] = "max_completion_tokens"
        else:
            unknown = [name for name in OPTIONAL if name in sent and name not in self.settings.extra_body]
            refused = [name for name in unknown if problem.parameter.startswith(name)]
            refused += [name for name in unknown if OPTIONAL[name].search(problem.message)]
            if not refused:
                return False
            self._renamed_parameters[refused[0]] = None
        return True

    def _explain_failure(self, problem: AttemptFailed, failed: int) -> str:
        advice = f" ({failed} retries)" if failed else ""
        if problem.status in (401, 403):
            advice = f": check {self._key_name}" if self._endpoint.has_key else self._explain_missing_key()
        elif problem.status == 404:
            advice = f": check --model (now {self.settings.name!r}) and {ADDRESS}"
        elif not problem.status:
            advice += f" {ADDRESS} or model.base_url sets its address"
        elif (problem.wait_s or 0.0) > MAX_WAIT_S:
            advice = f": it asks to wait {problem.wait_s:.0f} s"
        return problem.message + advice

    def _explain_missing_key(self) -> str:
        if self.settings.base_url:
            return (
                f": it was sent no key ({KEY} is not set, or is that of another server): "
                "set api_key_env to the variable with the key of this server"
            )
        return f": {KEY} is not set"

    def _read_reply(
        self, request: Request, sent: dict[str, Any], body: dict[str, Any], seconds: float, failed: int
    ) -> Reply:
        choice = body["choices"][0]
        message = choice["message"]
        text, native = wire.read_text(message.get("content")), "tools" in sent
        ids = [call.id for message in request.messages for call in message.tool_calls]
        reasoning = wire.read_text(message.get("reasoning_content") or message.get("reasoning"))
        shown, calls = text, wire.read_calls(message.get("tool_calls"), ids) if native else ()
        calls_json = json.dumps([wire.encode_call(call) for call in calls]) if calls else ""
        # Small models write a call as text even if the server supports tools.
        if not calls:
            shown, calls = wire.extract_calls(text, request, is_native=native)
        counted = wire.read_usage(body.get("usage"))
        tokens_in, tokens_out = counted or (
            wire.estimate_body_tokens(sent),
            estimate_tokens(reasoning + text + calls_json),
        )
        cached = min(wire.read_cached(body.get("usage")), tokens_in) if counted else 0
        price = self._prices.call_cost(self.settings.name, tokens_in, tokens_out, cached, self._endpoint.base_url)
        return Reply(
            text=shown,
            tool_calls=calls,
            tokens_in=tokens_in,
            tokens_out=tokens_out,
            money=wire.read_money(body.get("usage")) if price is None else price,
            seconds=seconds,
            model=self.settings.name,
            retries=failed,
            finish_reason=str(choice.get("finish_reason") or "stop"),
            reasoning=reasoning,
            estimated=counted is None,
            tokens_cached=cached,
        )


def _refuses_system(problem: AttemptFailed, sent: dict[str, Any]) -> bool:
    """Return True if a server refuses system messages, as the template of Gemma does."""
    has_system = any(message["role"] == "system" for message in sent["messages"])
    return has_system and problem.status in (400, 422, 500) and bool(SYSTEM.search(problem.message))


def _refuses_tools(problem: AttemptFailed, sent: dict[str, Any]) -> bool:
    """Return True if a server does not support tools. Servers differ in wording and status."""
    if not ("tools" in sent or any(message.keys() & {"tool_calls", "tool_call_id"} for message in sent["messages"])):
        return False
    if problem.status == 501:
        return True
    # llama.cpp answers: "tools param requires --jinja flag".
    if problem.status == 500:
        return bool(TOOLS.search(problem.message) and UNABLE.search(problem.message))
    if problem.status not in (400, 404, 422) or problem.parameter.startswith("messages"):
        return False
    return bool(TOOLS.search(f"{problem.parameter} {problem.message}"))

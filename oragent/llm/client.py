"""The model behind an OpenAI-compatible server: OpenAI, vLLM, llama.cpp, Ollama and their like."""

import asyncio
import json
import os
import random
import re
import time
from types import TracebackType
from typing import Any, Self

from pydantic import SecretStr

from oragent.errors import ModelError
from oragent.llm import fenced, wire
from oragent.llm.endpoint import OPENAI_URL, AttemptFailed, Endpoint
from oragent.llm.model import Message, ModelSettings, Reply, Request, estimate_tokens
from oragent.llm.prices import Prices

__all__ = ["Client"]

LONGEST_WAIT_S = 120.0  # a server that asks for more is down for this run
LONGEST_BACKOFF_S = 30.0
PROBE = Request("probe", (Message("user", "Answer with the word OK."),))
PROBE_TOKENS = 16
TOOLS = re.compile(r"\btools?\b|tool_choice|function[ _]call", re.IGNORECASE)
UNABLE = re.compile(r"support|requir|enabl|implement|allow|permit|unknown|unrecogni|unexpected|extra", re.IGNORECASE)


class Client:
    """A model behind an OpenAI-compatible server.

    Failures that may pass (429, 5xx, a time-out, a broken connection or body) are tried again after a growing, jittered
    wait, or after the time that the server asks for. A refusal (400, 401, 403, 404) is final. A parameter that the
    model turns out not to know (``temperature``, ``max_tokens``) is dropped or renamed from then on; where it knows no
    ``tools``, calls are asked for as fenced JSON in the text.

    A client belongs to one event loop; use it as ``async with Client(...) as model`` or call ``close()``.

    Args:
        settings: Settings: which model, where, and how patiently.
        prices: Prices of models; None: unknown.
        api_key: Key of the server; empty where it asks for none. ``factory.taken_key`` has that of the environment.

    Raises:
        ModelError: there is no key, and no address of a server that might need none; or a malformed address.
    """

    def __init__(self, settings: ModelSettings, prices: Prices | None = None, api_key: SecretStr | None = None) -> None:
        self.settings = settings
        key = SecretStr(api_key.get_secret_value().strip() if api_key else "")
        base_url = settings.base_url or os.environ.get("OPENAI_BASE_URL")
        if not key and not base_url:
            raise ModelError(
                "OPENAI_API_KEY is not set: set it, or set OPENAI_BASE_URL to a server that asks for no key, "
                "or search without a model by --strategy gp"
            )
        if not (key.get_secret_value().isascii() and key.get_secret_value().isprintable()):
            raise ModelError("OPENAI_API_KEY holds a character that no key has: copy it again")
        self._prices = prices or Prices()
        self._endpoint = Endpoint(base_url or OPENAI_URL, key, settings.timeout_s)
        self._slots = asyncio.Semaphore(settings.concurrency)
        self._renamed: dict[str, str | None] = {}  # parameters this model refuses, and what it calls them
        self._toolless = False  # the server has refused tools

    def __repr__(self) -> str:
        return f"Client({self.settings.name!r} at {self._endpoint.base_url})"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._endpoint.close()

    async def __call__(self, request: Request, /) -> Reply:
        """Ask the model.

        Returns:
            The reply, whose text may be empty.

        Raises:
            ModelError: the server refused, or failed once more than the settings allow for.
        """
        async with self._slots:  # kept while waiting: a server that says "slow down" gets fewer calls
            begin = time.monotonic()
            sent, body, failed = await self._persist(request, self.settings.max_tokens, self.settings.retries)
            return self._reply(request, sent, body, time.monotonic() - begin, failed)

    async def check(self) -> None:
        """Ask for one word, so that a run without a usable model ends before it starts.

        Raises:
            ModelError: the server cannot be reached, refuses the key, or does not know the model.
        """
        try:
            await self._persist(PROBE, PROBE_TOKENS, min(1, self.settings.retries))
        except ModelError as problem:
            if "output limit was reached" not in str(problem):  # a model that thinks first: it is there
                raise

    def _body(self, request: Request, limit: int | None) -> dict[str, Any]:
        """What is sent, by what is known of the server by now."""
        native = bool(request.tools) and not self._toolless
        body = {
            "model": self.settings.name,
            "messages": list(
                map(wire.written_message, fenced.written(request) if self._toolless else request.messages)
            ),
            "temperature": self.settings.temperature if request.temperature is None else request.temperature,
            **({"tools": list(map(wire.written_tool, request.tools))} if native else {}),
            **({} if limit is None else {"max_tokens": limit}),
        }
        named = {self._renamed.get(name, name): value for name, value in body.items()}
        return {name: value for name, value in named.items() if name is not None}

    async def _persist(
        self, request: Request, limit: int | None, retries: int
    ) -> tuple[dict[str, Any], dict[str, Any], int]:
        """Try until there is an answer; returns what was sent, the answer's body, and how many attempts failed."""
        failed = 0
        while True:
            sent = self._body(request, limit)
            try:
                return sent, await self._endpoint.send(sent), failed
            except AttemptFailed as failure:
                problem = failure
            if self._learn(problem, sent):
                continue
            if not problem.passing or failed >= retries or (problem.wait_s or 0.0) > LONGEST_WAIT_S:
                raise ModelError(self._explained(problem, failed))
            await asyncio.sleep(self._delay(failed, problem.wait_s))
            failed += 1

    def _learn(self, problem: AttemptFailed, sent: dict[str, Any]) -> bool:
        """Whether the server refused something that can be dropped, renamed or said otherwise; remembers it."""
        if _refuses_tools(problem, sent):
            self._toolless = True
        elif problem.status not in (400, 422):
            return False
        elif "max_tokens" in sent and "max_completion_tokens" in problem.message:
            self._renamed["max_tokens"] = "max_completion_tokens"
        elif "temperature" in sent and (problem.parameter == "temperature" or "temperature" in problem.message):
            self._renamed["temperature"] = None
        else:
            return False
        return True

    def _delay(self, failed: int, asked_s: float | None) -> float:
        """Seconds to wait: what the server asks for, else a doubling time; jittered, so that calls spread out."""
        jitter = random.random()  # no result depends on it
        if asked_s is not None:
            return asked_s + self.settings.backoff_s * jitter
        growing: float = min(LONGEST_BACKOFF_S, self.settings.backoff_s * 2.0 ** min(failed, 16))
        return growing * (0.75 + 0.5 * jitter)

    def _explained(self, problem: AttemptFailed, failed: int) -> str:
        """Say what went wrong, and what to do."""
        advice = f" ({failed} retries)" if failed else ""
        if problem.status in (401, 403):
            advice = ": check OPENAI_API_KEY" if self._endpoint.has_key else ": OPENAI_API_KEY is not set"
        elif problem.status == 404:
            advice = f": check --model (now {self.settings.name!r}) and OPENAI_BASE_URL"
        elif not problem.status:
            advice += " OPENAI_BASE_URL or model.base_url sets its address; a search needs no model with --strategy gp"
        elif (problem.wait_s or 0.0) > LONGEST_WAIT_S:
            advice = f": it asks to wait {problem.wait_s:.0f} s"
        return problem.message + advice

    def _reply(
        self, request: Request, sent: dict[str, Any], body: dict[str, Any], seconds: float, failed: int
    ) -> Reply:
        choice = body["choices"][0]
        message = choice["message"]
        text, native = wire.read_text(message.get("content")), "tools" in sent
        ids = [call.id for message in request.messages for call in message.tool_calls]
        reasoning = wire.read_text(message.get("reasoning_content") or message.get("reasoning"))
        shown, calls = (text, wire.read_calls(message.get("tool_calls"), ids)) if native else fenced.read(text, request)
        counted = wire.read_usage(body.get("usage"))
        asked = json.dumps([wire.written_call(call) for call in calls]) if native and calls else ""
        tokens_in, tokens_out = counted or (wire.sent_tokens(sent), estimate_tokens(reasoning + text + asked))
        return Reply(
            text=shown,
            tool_calls=calls,
            tokens_in=tokens_in,
            tokens_out=tokens_out,
            money=self._prices.cost(self.settings.name, tokens_in, tokens_out),
            seconds=seconds,
            model=self.settings.name,
            retries=failed,
            finish_reason=str(choice.get("finish_reason") or "stop"),
            reasoning=reasoning,
            estimated=counted is None,
        )


def _refuses_tools(problem: AttemptFailed, sent: dict[str, Any]) -> bool:
    """Whether a server said that it knows no tools; each has words of its own for that, and a status of its own."""
    if not ("tools" in sent or any(message.keys() & {"tool_calls", "tool_call_id"} for message in sent["messages"])):
        return False
    if problem.status == 501:
        return True
    if problem.status == 500:  # llama.cpp: "tools param requires --jinja flag"
        return bool(TOOLS.search(problem.message) and UNABLE.search(problem.message))
    if problem.status not in (400, 404, 422) or problem.parameter.startswith("messages"):
        return False
    return bool(TOOLS.search(f"{problem.parameter} {problem.message}"))

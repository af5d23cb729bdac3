"""The recipes of ``docs/models.md``, each against a server that refuses what the real one refuses."""

import asyncio
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml

from oragent._base.errors import ModelError
from oragent.llm import Message, ModelSettings, Reply, Request
from oragent.llm.keys import KEY
from tests.llm.opened import models

from .chat_server import Answer, ChatServer, failure, ok

PAGE = (Path(__file__).parents[2] / "docs" / "models.md").read_text(encoding="utf-8")
RECIPES = {
    name: ModelSettings(**yaml.safe_load(text)["model"])
    for name, text in re.findall(r"```yaml\n# (\S+)\n(.*?)```", PAGE, re.DOTALL)
}
SCHEMA = {"type": "object", "properties": {"ideas": {"type": "array"}}, "required": ["ideas"]}
ASK = Request("idea", (Message("system", "S"), Message("user", "U")), temperature=1.3, schema=SCHEMA, key="1.0")
COMMON = {"model", "messages", "temperature", "max_tokens", "seed", "response_format", "tools"}


def openai(request: dict[str, Any]) -> Answer:
    if "max_tokens" in request:
        said = (
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
        )
        return failure(400, said, param="max_tokens", code="unsupported_parameter")
    if request.get("temperature", 1) != 1:
        said = (
            "Unsupported value: 'temperature' does not support 1.3 with this model. Only the default (1) is supported."
        )
        return failure(400, said, param="temperature", code="unsupported_value")
    assert request["reasoning_effort"] == "low"
    if request["messages"][0]["role"] == "system":  # the check has none
        assert request["response_format"]["json_schema"]["schema"] == SCHEMA
    answer = json.loads(ok('{"ideas": []}').body)
    answer["usage"] |= {
        "prompt_tokens_details": {"cached_tokens": 4},
        "completion_tokens_details": {"reasoning_tokens": 3},
    }
    return Answer(body=json.dumps(answer))


def azure(request: dict[str, Any]) -> Answer:
    assert request["model"] == "my-deployment"
    answer = json.loads(ok("fine").body)
    answer["choices"][0]["content_filter_results"] = {"hate": {"filtered": False}}
    return Answer(body=json.dumps(answer))


def anthropic(request: dict[str, Any]) -> Answer:
    if any(not message["content"] for message in request["messages"]):
        return failure(400, "messages: text content blocks must be non-empty", type="invalid_request_error")
    if "max_tokens" not in request:
        return failure(400, "max_tokens: Field required", type="invalid_request_error")
    return ok("fine")  # what it does not know it ignores


def gemini(request: dict[str, Any]) -> Answer:
    unknown = set(request) - COMMON - {"reasoning_effort"}
    if unknown or request["temperature"] > 2:
        said = f'Invalid JSON payload received. Unknown name "{next(iter(unknown))}": Cannot find field.'
        return Answer(400, json.dumps([{"error": {"code": 400, "message": said, "status": "INVALID_ARGUMENT"}}]))
    body = {"choices": [{"finish_reason": "stop", "index": 0, "message": {"role": "assistant", "content": "fine"}}]}
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 90}
    return Answer(body=json.dumps(body | {"created": 1, "model": "gemini-2.5-flash", "object": "x", "usage": usage}))


def mistral(request: dict[str, Any]) -> Answer:
    unknown = set(request) - COMMON - {"random_seed"} | ({"seed"} & set(request))
    if unknown:
        where = {"type": "extra_forbidden", "loc": ["body", min(unknown)], "msg": "Extra inputs are not permitted"}
        return Answer(
            422, json.dumps({"object": "error", "message": {"detail": [where]}, "type": "invalid_request_error"})
        )
    parts = [
        {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]},
        {"type": "text", "text": "fine"},
    ]
    return ok(parts)  # type: ignore[arg-type]


def openrouter(request: dict[str, Any]) -> Answer:
    assert request["provider"] == {"sort": "price"}
    answer = json.loads(ok("fine", reasoning="Hm.").body)
    answer["usage"] |= {"cost": 0.0012, "prompt_tokens_details": {"cached_tokens": 0}}
    return Answer(body="\n         \n" + json.dumps(answer))  # it sends white space while it waits


def vllm(request: dict[str, Any]) -> Answer:
    assert request["chat_template_kwargs"] == {"enable_thinking": False}
    assert isinstance(request["seed"], int)
    return ok("fine", reasoning_content=None, finish_reason="stop")


def llama(request: dict[str, Any]) -> Answer:
    answer = json.loads(ok("fine").body)
    return Answer(body=json.dumps(answer | {"timings": {"predicted_ms": 1.0}}))


def ollama(request: dict[str, Any]) -> Answer:
    if request["model"] != "qwen2.5-coder:1.5b":
        return failure(404, f'model "{request["model"]}" not found, try pulling it first', type="api_error", code=None)
    return ok("fine", reasoning="Hm.")


def fine(request: dict[str, Any]) -> Answer:
    return ok("fine")


SERVERS = {
    "azure-version": azure, "entra": azure, "cloudflare": fine, "litellm": fine,
    "openai": openai, "azure": azure, "anthropic": anthropic, "gemini": gemini, "mistral": mistral,
    "openrouter": openrouter, "vllm": vllm, "llama.cpp": llama, "ollama": ollama,
}  # fmt: skip


def asked(server: ChatServer, recipe: ModelSettings, request: Request = ASK) -> Reply:
    async def run() -> Reply:
        async with models(replace(recipe, base_url=server.url, backoff_s=0.01)) as made:
            await made(request)
            return await made(request)

    return asyncio.run(run())


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.setenv(KEY, "sk-openai")
    for recipe in RECIPES.values():
        for name in recipe.variables:
            monkeypatch.setenv(name, f"key of {name}")


def test_there_is_a_server_for_each_recipe() -> None:
    assert set(RECIPES) == set(SERVERS)


@pytest.mark.slow
@pytest.mark.parametrize("name", SERVERS)
def test_a_recipe_works(name: str) -> None:
    recipe = RECIPES[name]
    if recipe.key_command:
        assert recipe.key_command.startswith("az ")
        recipe = replace(recipe, key_command="echo key-of-a-command")
    with ChatServer(then=SERVERS[name], base=urlsplit(recipe.base_url or "").path) as server:
        reply = asked(server, recipe)
    assert reply.text in ("fine", '{"ideas": []}')
    assert (reply.tokens_in, reply.tokens_out, reply.retries) == (10, 5, 0)
    key = f"Bearer key of {recipe.api_key_env}" if recipe.api_key_env else "Bearer no-key"
    if recipe.key_command:
        key = "Bearer key-of-a-command"
    if "{key}" in recipe.headers.values():
        key = ""
    assert set(server.keys) == {key}


def test_cached_tokens_are_counted_and_prices_of_the_server_taken() -> None:
    with ChatServer(then=openai) as server:
        assert asked(server, RECIPES["openai"]).tokens_cached == 4
    with ChatServer(then=openrouter, base="/api/v1") as server:
        assert asked(server, RECIPES["openrouter"]).money == pytest.approx(0.0012)


@pytest.mark.parametrize(
    ("name", "settings", "dropped"),
    [
        ("mistral", {"seed": 3, "extra_body": {}}, "seed"),
        ("mistral", {"reasoning_effort": "high"}, "reasoning_effort"),
    ],
)
def test_what_a_server_does_not_know_is_dropped_from_then_on(name: str, settings: dict[str, Any], dropped: str) -> None:
    with ChatServer(then=SERVERS[name]) as server:
        assert asked(server, replace(RECIPES[name], **settings)).text == "fine"
    assert dropped in server.requests[0]
    assert not any(dropped in request for request in server.requests[1:])


def test_what_the_user_asks_for_by_name_is_not_dropped() -> None:
    with ChatServer(then=gemini) as server, pytest.raises(ModelError, match='Unknown name "top_kk"'):
        asked(server, replace(RECIPES["gemini"], extra_body={"top_kk": 3}))


def test_each_call_has_a_seed_that_follows_from_it_and_the_runs() -> None:
    with ChatServer() as server:
        for key in ("1.0", "1.1", "1.0"):
            asked(server, ModelSettings("m", seed=7), replace(ASK, key=key))
        asked(server, ModelSettings("m", seed=8))
    seeds = [request["seed"] for request in server.requests if request["messages"][0]["content"] == "S"][::2]
    assert seeds[0] == seeds[2]
    assert len({*seeds}) == 3
    assert all(0 <= seed < 2**31 for seed in seeds)


def test_a_schema_is_not_sent_where_it_is_not_wanted() -> None:
    with ChatServer() as server:
        asked(server, ModelSettings("m", structured=False))
    assert not any("response_format" in request for request in server.requests)

"""A key goes to the server that it was set for, and to no other."""

import asyncio
import os

import pytest

from oragent._base.errors import ModelError
from oragent.llm import Message, ModelSettings, Request
from oragent.llm.keys import url_origin
from tests.llm.opened import models

from .chat_server import Answer, ChatServer, failure, ok

ASK = Request("code", (Message("user", "?"),))


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-openai")
    monkeypatch.setenv("MISTRAL_API_KEY", "sk-mistral")
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


def at(server: ChatServer, name: str = "m", **others: object) -> ModelSettings:
    return ModelSettings(name=name, base_url=server.url, retries=0, **others)


def asked(main: ModelSettings, **given: object) -> None:
    async def run() -> None:
        async with models(main, **given) as made:
            for role in ("code", "idea"):
                await made(Request(role, ASK.messages))

    asyncio.run(run())


def test_two_servers_with_two_keys_each_see_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    with ChatServer() as first, ChatServer() as second:
        monkeypatch.setenv("OPENAI_BASE_URL", first.url)
        asked(ModelSettings("m"), roles={"idea": at(second, "n", api_key_env="MISTRAL_API_KEY")})
    assert set(first.keys) == {"Bearer sk-openai"}
    assert set(second.keys) == {"Bearer sk-mistral"}
    assert os.environ["MISTRAL_API_KEY"] == "sk-mistral"


def test_a_server_that_no_key_was_set_for_gets_none() -> None:
    with ChatServer() as server:
        asked(at(server))  # OPENAI_API_KEY is OpenAI's
    assert not any("sk-" in key for key in server.keys)


def test_the_key_of_the_standard_server_goes_to_models_that_name_its_address(monkeypatch: pytest.MonkeyPatch) -> None:
    with ChatServer() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url + "/")
        asked(at(server))
    assert set(server.keys) == {"Bearer sk-openai"}


def test_all_named_keys_are_out_of_the_environment_while_there_are_models() -> None:
    async def run(server: ChatServer) -> None:
        async with models(at(server, api_key_env="MISTRAL_API_KEY")):
            assert not {"MISTRAL_API_KEY", "OPENAI_API_KEY"} & set(os.environ)

    with ChatServer() as server:
        asyncio.run(run(server))
    assert os.environ["OPENAI_API_KEY"] == "sk-openai"


@pytest.mark.parametrize("value", [None, "", "  "])
def test_a_missing_key_is_one_line_with_its_variable(monkeypatch: pytest.MonkeyPatch, value: str | None) -> None:
    monkeypatch.delenv("MISTRAL_API_KEY")
    if value is not None:
        monkeypatch.setenv("MISTRAL_API_KEY", value)
    with ChatServer() as server, pytest.raises(ModelError, match="MISTRAL_API_KEY") as caught:
        asked(at(server, api_key_env="MISTRAL_API_KEY"))
    assert "\n" not in str(caught.value)
    assert not server.requests


def test_a_refusal_names_the_variable_of_the_key() -> None:
    with ChatServer(failure(401, "bad key")) as server, pytest.raises(ModelError, match="MISTRAL_API_KEY"):
        asked(at(server, api_key_env="MISTRAL_API_KEY"))


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_takes_neither_key_nor_prompt_to_another_server(status: int) -> None:
    with ChatServer() as other:
        moved = Answer(status, "", {"Location": f"{other.url}/chat/completions"})
        with ChatServer(then=moved) as server, pytest.raises(ModelError):
            asked(at(server, api_key_env="MISTRAL_API_KEY"))
    assert not other.requests


def test_organisation_and_project_of_openai_stay_with_openai(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_ORG_ID", "org-1")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "proj-1")
    with ChatServer() as server:
        asked(at(server))
    assert server.headers
    assert not any(name.lower().startswith("openai-") for headers in server.headers for name in headers)


@pytest.mark.parametrize("name", ["sk-proj-abcdefgh", "A B", "1KEY", ""])
def test_a_key_in_the_place_of_its_variable_is_not_repeated(name: str) -> None:
    with pytest.raises(ValueError, match="variable") as caught:
        ModelSettings("m", api_key_env=name)
    assert "sk-proj" not in str(caught.value).partition("[type=")[0]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("https://api.openai.com/v1", "https://API.openai.com:443", True),
        ("https://api.openai.com/v1", "http://api.openai.com/v1", False),  # everyone on the way would read it
        ("https://api.openai.com/v1", "https://api.openai.com.evil.example/v1", False),
        ("https://api.openai.com/v1", "https://api.openai.com@evil.example/v1", False),
        ("http://localhost:8000/v1", "http://localhost:8001/v1", False),
    ],
)
def test_what_a_key_is_set_for(one: str, other: str, same: bool) -> None:
    assert (url_origin(one) == url_origin(other)) is same


def test_a_check_is_a_reply_that_was_paid_for() -> None:
    async def run(server: ChatServer) -> list[tuple[str, int]]:
        async with models(at(server), roles={"idea": at(server, "n")}) as made:
            return [(reply.model, reply.tokens_in) for reply in made.checks]

    with ChatServer(ok(usage=(9, 1)), ok(usage=(8, 1))) as server:
        assert sorted(asyncio.run(run(server))) == [("m", 8), ("n", 9)]

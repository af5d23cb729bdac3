"""Models from settings: checked before any work, each role's own, and a key that comes from one place."""

import asyncio
import os
import threading

import pytest
from pydantic import SecretStr

from oragent._base.errors import ModelError
from oragent.llm import Message, Model, ModelSettings, Price, Prices, Request, Scripted
from oragent.llm.factory import Models
from oragent.llm.keys import KEY, hide_key
from oragent.llm.model import RoundLearner
from tests.llm.opened import models

from .chat_server import ChatServer, failure, ok

ASK = Request("code", (Message("user", "?"),))


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY, "sk-secret")
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


def settings(server: ChatServer, name: str = "main") -> ModelSettings:
    return ModelSettings(name, base_url=server.url, api_key_env=KEY, retries=0)


def asked(server: ChatServer, *roles: str, **given) -> list[str]:
    """Make models and ask in some roles; which models the server was asked for, checks included."""

    async def run() -> None:
        async with models(settings(server), **given) as made:
            for role in roles:
                await made(Request(role, ASK.messages))

    asyncio.run(run())
    return [request["model"] for request in server.requests]


def test_each_role_is_played_by_its_own_model_and_each_model_is_checked_once() -> None:
    with ChatServer() as server:
        thinker = settings(server, "thinker")
        names = asked(server, "idea", "code", "reflect", roles={"idea": thinker, "reflect": thinker})
    assert names == ["thinker", "main", "thinker", "main", "thinker"]


def test_an_understudy_plays_unless_a_role_has_a_model_of_its_own() -> None:
    understudies = {"debug": "code", "repair": "code", "lead": "idea"}
    with ChatServer() as server:
        roles = {"code": settings(server, "coder"), "repair": settings(server, "mender")}
        names = asked(server, "code", "debug", "repair", "lead", roles=roles, fallback_roles=understudies)
    assert names[3:] == ["coder", "coder", "mender", "main"]


def test_a_model_that_does_not_answer_ends_it_before_it_begins() -> None:
    with ChatServer(ok(), failure(404, "no such model")) as server, pytest.raises(ModelError):
        asked(server, "code", roles={"idea": settings(server, "gone")})
    assert len(server.requests) == 2
    assert os.environ[KEY] == "sk-secret"


def test_prices_reach_the_clients() -> None:
    async def run(server: ChatServer) -> float | None:
        prices = Prices({"main": Price(**{"in": 2.0, "out": 8.0})})
        async with models(settings(server), prices=prices) as made:
            return (await made(ASK)).money

    with ChatServer() as server:
        assert asyncio.run(run(server)) == pytest.approx((10 * 2.0 + 5 * 8.0) / 1e6)


def test_names_may_have_makers_of_their_own() -> None:
    async def run() -> tuple[Models, str]:
        makers = {"scripted": lambda one: Scripted([f"hot {one.temperature}"])}
        async with models(ModelSettings("scripted", temperature=1.5), makers=makers) as made:
            return made, (await made(ASK)).text

    made, text = asyncio.run(run())
    assert text == "hot 1.5"
    assert not isinstance(made.main, RoundLearner)


def test_models_side_by_side_learn_and_one_alone_does_not() -> None:
    replies = iter("ab")
    makers = {"scripted": lambda one: Scripted([next(replies)])}

    async def run() -> tuple[Model, list[str]]:
        one = ModelSettings("scripted")
        async with models(one, ensemble=[one], makers=makers) as made:
            assert isinstance(made.main, RoundLearner)
            for number in (0, 1):
                made.main.begin_round(number)
            return made, [(await made(Request("code", ASK.messages, key=f"{k}.0"))).text for k in (0, 1)]

    assert asyncio.run(run())[1] == ["a", "b"]


def test_the_key_is_out_of_the_environment_while_there_are_models_and_back_in_it_afterwards() -> None:
    async def run(server: ChatServer) -> None:
        async with models(settings(server)):
            assert KEY not in os.environ

    with ChatServer() as server:
        for _ in range(2):  # the second run of a process has a key, too
            asyncio.run(run(server))
            assert os.environ[KEY] == "sk-secret"
    assert server.keys == ["Bearer sk-secret"] * 2


def test_models_that_overlap_all_have_the_key() -> None:
    async def run(server: ChatServer) -> None:
        async with models(settings(server)):
            async with models(settings(server, "second")) as second:
                await second(ASK)
            assert KEY not in os.environ

    with ChatServer() as server:
        asyncio.run(run(server))
    assert server.keys == ["Bearer sk-secret"] * 3
    assert os.environ[KEY] == "sk-secret"


def test_a_key_that_is_given_leaves_the_environment_as_it_is() -> None:
    async def run(server: ChatServer) -> None:
        async with models(settings(server), key=SecretStr("sk-mine")):
            assert os.environ[KEY] == "sk-secret"

    with ChatServer() as server:
        asyncio.run(run(server))
    assert server.keys == ["Bearer sk-mine"]


def test_a_key_that_is_set_meanwhile_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    with hide_key() as first:
        monkeypatch.setenv(KEY, "sk-new")
        with hide_key() as second:
            assert KEY not in os.environ
    assert (first.get_secret_value(), second.get_secret_value()) == ("sk-secret", "sk-new")
    assert os.environ[KEY] == "sk-new"


def test_where_there_is_no_key_none_appears(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(KEY)
    with hide_key() as key:
        assert key.get_secret_value() == ""
    assert KEY not in os.environ


def test_the_key_comes_back_whatever_happens_in_any_thread() -> None:
    seen: list[str] = []

    def work() -> None:
        for _ in range(200):
            try:
                with hide_key() as key:
                    seen.append(key.get_secret_value())
                    raise KeyError
            except KeyError:
                pass

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(seen) == {"sk-secret"}
    assert os.environ[KEY] == "sk-secret"

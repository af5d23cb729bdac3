"""The local page: a token, loopback, and nothing of a stranger's as markup."""

import asyncio
import builtins
import json
from pathlib import Path
from typing import Any

import pytest

from oragent._base.errors import ConfigError
from oragent.converse.session import ConversationRequest, ConversationSession, begin
from oragent.converse.web import PAGE, Room, make_application
from oragent.milp import Milp, Objective, Relation, Row, Sense, Variable, files
from tests.extras import need

TOKEN = "secret"


def asked(
    app: Any,
    path: str,
    *,
    method: str = "GET",
    body: bytes = b"",
    query: str = f"token={TOKEN}",
    host: str = "127.0.0.1:80",
    origin: str = "",
):
    """One request, without any server."""
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method, "path": path, "raw_path": path.encode(),
        "query_string": query.encode(), "root_path": "", "scheme": "http", "headers": [(b"host", host.encode()), *([(b"origin", origin.encode())] if origin else [])],
        "server": ("127.0.0.1", 80), "client": ("127.0.0.1", 1),
    }  # fmt: skip

    async def run() -> tuple[int, str, dict[str, str]]:
        await app(scope, receive, send)
        headers = {key.decode(): value.decode() for key, value in sent[0]["headers"]}
        return sent[0]["status"], b"".join(one.get("body", b"") for one in sent[1:]).decode(), headers

    return run()


def talking(folder: Path, *steps: Any) -> list[Any]:
    """Hold a session and make requests, one after the other."""

    async def run() -> list[Any]:
        room = Room(ConversationSession(folder))
        app = make_application(room, TOKEN)
        holding = asyncio.create_task(room.hold())
        try:
            return [await step(app) for step in steps]
        finally:
            holding.cancel()
            await asyncio.gather(holding, return_exceptions=True)

    return asyncio.run(run())


def say(text: str):
    return lambda app: asked(app, "/say", method="POST", body=text.encode())


def test_a_conversation_on_the_page(tmp_path: Path) -> None:
    need("starlette")
    folder = begin(tmp_path, ConversationRequest("sfusd"))
    first, second, third, picture = talking(
        folder, say("fix Ortega 7:50"), say("load <= 2500"), say("/remove fix[Ortega (Jose) PK]"), lambda app: asked(app, "/picture.svg")
    )  # fmt: skip
    state = json.loads(first[1])
    assert "Ortega: 9:30 AM → 7:50 AM" in state["changed"]
    assert [one["text"] for one in state["in_force"]] == ["Ortega (Jose) PK 7:50 AM"]
    assert json.loads(second[1])["bars"]["bound"] == 2500
    last = json.loads(third[1])
    assert [one["name"] for one in last["in_force"]] == ["student_load_balancing_upper_bound"]
    assert last["objectives"][0]["value"] == "2,453"
    assert picture[1].lstrip().startswith("<?xml")
    (again,) = talking(folder, lambda app: wait(app))
    assert len(json.loads(again[1])["turns"]) == 3


async def wait(app: Any):
    for _ in range(200):
        found = await asked(app, "/state")
        if len(json.loads(found[1])["turns"]) == 3:
            break
        await asyncio.sleep(0.02)
    return found


@pytest.mark.parametrize(
    ("query", "host", "status"),
    [
        ("", "127.0.0.1:80", 403),
        ("token=wrong", "127.0.0.1:80", 403),
        (f"token={TOKEN}", "evil.example:80", 403),
        (f"token={TOKEN}", "localhost:80", 200),
    ],
)
def test_who_has_no_token_or_another_host_is_refused(tmp_path: Path, query: str, host: str, status: int) -> None:
    need("starlette")
    folder = begin(tmp_path, ConversationRequest("sfusd"))
    for path in ("/", "/state", "/picture.svg"):
        ((found, text, _),) = talking(folder, lambda app, path=path: asked(app, path, query=query, host=host))
        assert found == status
        assert TOKEN not in text


def test_a_page_of_another_origin_says_nothing_even_with_the_token(tmp_path: Path) -> None:
    need("starlette")
    folder = begin(tmp_path, ConversationRequest("sfusd"))
    for origin, status in (("http://evil.example", 403), ("http://127.0.0.1:80", 200)):
        ((found, _, _),) = talking(folder, lambda app, origin=origin: asked(app, "/state", origin=origin))
        assert found == status


def test_a_message_too_long_or_empty_is_refused(tmp_path: Path) -> None:
    need("starlette")
    found = talking(begin(tmp_path, ConversationRequest("sfusd")), say("x" * 30_000), say("   "))
    assert [one[0] for one in found] == [413, 400]


def test_the_page_runs_its_own_script_alone_and_builds_no_markup(tmp_path: Path) -> None:
    need("starlette")
    ((status, text, headers),) = talking(begin(tmp_path, ConversationRequest("sfusd")), lambda app: asked(app, "/"))
    assert status == 200
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "NONCE" not in text
    assert policy.count(text.partition('script nonce="')[2].partition('"')[0]) == 2
    source = PAGE.read_text()
    assert "innerHTML" not in source
    assert "put(opening, state.opening)" in source  # what the conversation opens with is shown
    assert "@media (max-width: 800px) { main { grid-template-columns: minmax(0, 1fr)" in source
    assert "insertAdjacent" not in source


def test_names_of_strangers_are_data(tmp_path: Path) -> None:
    need("starlette")
    name = "<script>alert(1)</script>\u202e"
    milp = Milp(
        (Variable(name, 0, 3, "integer"),),
        (Row("r", {name: 1}, Relation.AT_MOST, 2),),
        Objective({name: 1}),
        Sense.MAXIMIZE,
    )
    files.write(milp, tmp_path / "m.json")
    ((status, text, headers),) = talking(
        begin(tmp_path / "out", ConversationRequest(str(tmp_path / "m.json"))), lambda app: asked(app, "/state")
    )
    assert status == 200
    assert headers["content-type"] == "application/json"
    assert "\u202e" not in text


def test_without_its_packages_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def missing(name: str, *rest: Any):
        if name.startswith("starlette"):
            raise ImportError("No module named 'starlette'")
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", missing)
    session = ConversationSession(begin(tmp_path, ConversationRequest("sfusd")))
    with pytest.raises(ConfigError, match=r"needs Starlette and Uvicorn .*\[web\]'"):
        make_application(Room.__new__(Room), TOKEN)
    assert session.problem.name == "sfusd"

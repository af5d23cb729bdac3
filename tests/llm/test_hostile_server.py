"""A model server is untrusted: what it sends is bounded, and a field that makes no sense ends one attempt at most."""

import asyncio
import gzip
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from pydantic import SecretStr

from oragent.llm import endpoint
from oragent.llm.endpoint import AttemptFailed, Endpoint
from oragent.llm.gateway import Gateway
from oragent.llm.wire import MAX_CALLS, read_cached, read_calls, read_money, read_usage

REPLY = json.dumps({"choices": [{"message": {"content": "grüße"}}]}, ensure_ascii=False).encode()


@contextmanager
def serving(body: bytes, **headers: str) -> Iterator[str]:
    """A server that answers every request alike."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            for name, value in headers.items():
                self.send_header(name.replace("_", "-"), value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def sent(address: str) -> dict[str, object]:
    async def once() -> dict[str, object]:
        asked = Endpoint(address, Gateway(SecretStr("")), 60)
        try:
            return await asked.send({"model": "x", "messages": []})
        finally:
            await asked.close()

    return asyncio.run(once())


@pytest.mark.slow
def test_a_compressed_body_is_not_unpacked_beyond_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoint, "MAX_BODY_CHARACTERS", 1_000_000)
    unpacked = []
    loads = json.loads
    monkeypatch.setattr(endpoint.json, "loads", lambda body: unpacked.append(len(body)) or loads(body))
    bomb = gzip.compress(bytes(50_000_000))
    with (
        serving(bomb, Content_Encoding="gzip", Content_Type="application/json") as address,
        pytest.raises(AttemptFailed, match="1,000,000"),
    ):
        sent(address)
    assert unpacked == []


@pytest.mark.slow
@pytest.mark.parametrize("charset", ["utf-16", "idna", "zlib_codec", "undefined", "no-such"])
def test_a_body_is_utf_8_whatever_the_server_calls_it(charset: str) -> None:
    with serving(REPLY, Content_Type=f"application/json; charset={charset}") as address:
        choices = sent(address)["choices"]
    assert choices == [{"message": {"content": "grüße"}}]


@pytest.mark.parametrize("count", [-1, -(10**30), 10**30, True, 1.5, "7", None])
def test_a_number_of_tokens_that_no_call_has_is_not_believed(count: object) -> None:
    assert read_usage({"prompt_tokens": count, "completion_tokens": 5}) is None
    assert read_cached({"prompt_cache_hit_tokens": count}) == 0


@pytest.mark.parametrize("cost", [10**400, -1, float("nan"), float("inf"), 1e300, True, "1"])
def test_a_cost_that_no_call_has_is_not_believed(cost: object) -> None:
    assert read_money({"cost": cost}) is None


def test_many_calls_with_one_id_are_bounded_and_each_gets_its_own() -> None:
    call = {"id": "a" * 1000, "function": {"name": "f", "arguments": "{}"}}
    read = read_calls([call] * 8000, [f"call_{number}" for number in range(5000)])
    assert len(read) == MAX_CALLS
    assert len({one.id for one in read}) == MAX_CALLS
    assert max(len(one.id) for one in read) < 300

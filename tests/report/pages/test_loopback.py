"""Which requests a page answers, and at which address."""

import socket

import pytest

from oragent._base.errors import ConfigError
from oragent.report.pages.loopback import find_fault, open_server
from tests.extras import need

OURS = {"host": "127.0.0.1:80", "x-token": "secret"}


@pytest.mark.parametrize(
    ("changes", "in_address", "is_refused"),
    [
        ({}, "", False), ({"host": "localhost:80"}, "", False), ({"origin": "http://127.0.0.1:80"}, "", False),
        ({"x-token": ""}, "secret", False), ({"x-token": "wrong"}, "secret", True), ({"x-token": ""}, "", True),
        ({"host": "127.0.0.1"}, "", True), ({"host": "evil:80"}, "", True), ({"host": ""}, "", True),
        ({"origin": "http://127.0.0.1:81"}, "", True), ({"origin": "https://127.0.0.1:80"}, "", True),
        ({"origin": "null"}, "", True), ({"sec-fetch-site": "same-origin"}, "", False),
        ({"sec-fetch-site": "none"}, "", False), ({"sec-fetch-site": "cross-site"}, "", True),
        ({"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}, "", False),
        ({"sec-fetch-site": "cross-site", "sec-fetch-mode": "cors"}, "", True),
    ],
)  # fmt: skip
def test_only_this_machine_with_the_token_gets_an_answer(
    changes: dict[str, str], in_address: str, is_refused: bool
) -> None:
    assert bool(find_fault(OURS | changes, in_address, "secret")) is is_refused


def test_a_request_without_a_host_is_refused() -> None:
    assert find_fault({"x-token": "secret"}, "", "secret")


def test_the_address_is_that_of_the_socket_and_a_used_port_is_one_line() -> None:
    need("starlette")
    with open_server(None, 0) as (server, listening, address):
        port = listening.getsockname()[1]
        assert address == f"http://127.0.0.1:{port}/"
        assert (server.config.access_log, server.config.lifespan, server.config.log_level) == (False, "off", "warning")
        # A request waits until the server reads it.
        with socket.create_connection(("127.0.0.1", port), timeout=10):
            pass
        with pytest.raises(ConfigError), open_server(None, port):
            pass
    assert listening.fileno() == -1
    # A port that was used a moment ago is free.
    with open_server(None, port) as (_, again, _):
        assert again.getsockname()[1] == port

"""Gateways that demand headers, parameters and changing keys; keys are in no message, file or environment of a child."""

import asyncio
import json
import logging
import os
import shlex
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from pydantic import ValidationError

import oragent
from oragent._base.errors import ConfigError, ModelError, UntrustedError
from oragent.llm import Message, ModelSettings, Request
from oragent.llm.keys import expect_trusted, model_demands
from oragent.llm.model_settings import build_runtime
from tests.llm.chat_server import ok
from tests.llm.opened import models

ASK = Request("code", (Message("user", "?"),))
SECRET = "sk-secret-of-the-gateway"


class Gateway:
    """A server that refuses requests without its header, its parameter and its present key, and repeats the key."""

    def __init__(self) -> None:
        self.key, self.requests = SECRET, []
        gateway = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["Content-Length"]))
                parameters = parse_qs(urlsplit(self.path).query)
                gateway.requests.append((dict(self.headers), parameters))
                refusal = gateway.find_fault(self.headers, parameters)
                body = json.dumps({"error": {"message": refusal}}) if refusal else ok("fine").body
                self.send_response(401 if refusal else 200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body.encode())

            def log_message(self, *words: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/openai/v1"

    def find_fault(self, headers, parameters) -> str:
        if headers.get("api-key") != self.key:
            return f"wrong key {headers.get('api-key')}"
        if headers.get("cf-aig-authorization") != "Bearer cf-token-of-the-proxy":
            return "no token of the gateway"
        if parameters.get("api-version") != ["2025-04-01"]:
            return "no version"
        return "" if "Authorization" not in headers else "two keys"


@pytest.fixture
def gateway() -> Iterator[Gateway]:
    made = Gateway()
    thread = threading.Thread(target=made.server.serve_forever, daemon=True)
    thread.start()
    yield made
    made.server.shutdown()
    made.server.server_close()
    thread.join()


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_KEY", SECRET)
    monkeypatch.setenv("CF_TOKEN", "cf-token-of-the-proxy")


def settings(gateway: Gateway, **more: object) -> ModelSettings:
    named = {
        "headers": {"api-key": "{key}", "cf-aig-authorization": "Bearer ${CF_TOKEN}"},
        "query": {"api-version": "2025-04-01"},
        "api_key_env": "AZURE_KEY",
        "retries": 0,
    }
    return ModelSettings(name="m", base_url=gateway.url, **(named | more))


def ask(settings: ModelSettings, times: int = 1, between=lambda: None) -> list[str]:
    async def run() -> list[str]:
        async with models(settings) as made:
            assert "CF_TOKEN" not in os.environ
            texts = []
            for _ in range(times):
                texts.append((await made(ASK)).text)
                between()
            return texts

    return asyncio.run(run())


def test_headers_and_parameters_are_sent_with_their_variables(gateway: Gateway) -> None:
    assert ask(settings(gateway)) == ["fine"]
    assert os.environ["CF_TOKEN"] == "cf-token-of-the-proxy"


@pytest.mark.parametrize(
    "change",
    [{"query": {}}, {"headers": {"api-key": "{key}"}}, {"headers": {"cf-aig-authorization": "Bearer $CF_TOKEN"}}],
)
def test_the_server_refuses_calls_that_lack_one_of_them(gateway: Gateway, change: dict[str, object]) -> None:
    with pytest.raises(ModelError):
        ask(settings(gateway, **change))


def test_a_command_renews_a_key_that_the_server_refuses(gateway: Gateway, tmp_path: Path) -> None:
    (tmp_path / "key").write_text("first-key-of-the-command")
    command = tmp_path / "print-key"
    command.write_text(f"#!/bin/sh\necho called >> {tmp_path}/calls\ncat {tmp_path}/key\n")
    command.chmod(0o755)
    gateway.key = "first-key-of-the-command"

    def change() -> None:
        gateway.key = "second-key-of-the-command"
        (tmp_path / "key").write_text(gateway.key)

    model = settings(gateway, api_key_env=None, key_command=str(command))
    assert ask(model, 3, change) == ["fine"] * 3
    # One key for all calls until it was refused.
    assert (tmp_path / "calls").read_text().count("called") == 2
    gateway.key = "another-key"
    with pytest.raises(ModelError, match="key_command") as caught:
        ask(model)
    assert "second-key" not in str(caught.value)


@pytest.mark.parametrize("script", ["exit 3", "true", "echo two words", "printf 'a\\nb'", "printf '\\377'"])
def test_a_command_that_prints_no_key_is_one_line(gateway: Gateway, tmp_path: Path, script: str) -> None:
    command = tmp_path / "print-key"
    command.write_text(f"#!/bin/sh\n{script}\n")
    command.chmod(0o755)
    with pytest.raises(ModelError, match="key_command") as caught:
        ask(settings(gateway, api_key_env=None, key_command=str(command)))
    assert len(str(caught.value).splitlines()) == 1
    assert gateway.requests == []


def test_keys_are_in_no_message_and_no_log(gateway: Gateway, caplog: pytest.LogCaptureFixture, monkeypatch) -> None:
    monkeypatch.setenv("AZURE_KEY", "a-wrong-key-that-is-repeated")
    with caplog.at_level(logging.DEBUG), pytest.raises(ModelError) as caught:
        ask(settings(gateway))
    assert len(gateway.requests) == 1
    texts = f"{caught.value} {caplog.text}"
    assert "a-wrong-key-that-is-repeated" not in texts
    assert "cf-token-of-the-proxy" not in texts


def test_a_run_stores_names_of_variables_alone(gateway: Gateway, toy: Path, tmp_path: Path) -> None:
    model = {
        "name": "m", "base_url": gateway.url, "api_key_env": "AZURE_KEY", "retries": 0,
        "headers": {"api-key": "{key}", "cf-aig-authorization": "Bearer $CF_TOKEN"},
        "query": {"api-version": "2025-04-01"},
    }  # fmt: skip
    settings = {"model": model, "strategy": {"name": "random"}}
    run = oragent.run("toy", root=tmp_path, evaluations=2, workers=1, settings=settings)
    stored = b"".join(path.read_bytes() for path in run.folder.rglob("*") if path.is_file())
    assert b"$CF_TOKEN" in stored
    assert SECRET.encode() not in stored
    assert b"cf-token-of-the-proxy" not in stored


@pytest.mark.parametrize(
    "wrong",
    [
        {"headers": {"X-Api-Key": "sk-written-down"}},
        {"query": {"token": "sk-written-down"}},
        {"headers": {"Host": "elsewhere"}},
        {"headers": {"a b": "c"}},
        {"headers": {"X-Title": "a\r\nInjected: b"}},
        {"key_command": "print-key", "api_key_env": "AZURE_KEY"},
        {"command": "cat", "base_url": None, "headers": {"X-Title": "a"}},
    ],
)
def test_wrong_settings_are_refused_without_repeating_a_key(wrong: dict[str, object]) -> None:
    with pytest.raises((ValidationError, ConfigError, ValueError)) as caught:
        ModelSettings(**({"name": "m", "base_url": "http://localhost:1/v1"} | wrong))
    assert "sk-written-down" not in str(caught.value)
    tree = {"model": {"name": "m", "base_url": "http://localhost:1/v1"} | wrong}
    with pytest.raises(ConfigError) as told:
        build_runtime(tree)
    assert "sk-written-down" not in str(told.value)


def test_a_variable_that_is_not_set_is_named(gateway: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CF_TOKEN")
    with pytest.raises(ModelError, match="CF_TOKEN"):
        ask(settings(gateway))


def test_a_folder_of_another_person_names_no_command_or_variable_unseen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    for more, expected in (
        ({"key_command": "cat /etc/passwd"}, "cat /etc/passwd"),
        ({"headers": {"X-A": "$AWS_SECRET_ACCESS_KEY"}}, "AWS_SECRET_ACCESS_KEY"),
        ({"query": {"a": "${GITHUB_TOKEN}"}, "base_url": None}, "GITHUB_TOKEN"),
    ):
        model = ModelSettings(**({"name": "m", "base_url": "http://evil.example/v1"} | more))
        with pytest.raises(UntrustedError, match=expected):
            expect_trusted(tmp_path, model_demands([model]))


def test_the_child_of_a_key_command_is_this_python(gateway: Gateway) -> None:
    command = shlex.join([sys.executable, "-c", f"print('{SECRET}')"])
    assert ask(settings(gateway, api_key_env=None, key_command=command)) == ["fine"]

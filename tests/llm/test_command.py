"""A command as a model: what it gets, what its end means, and that nothing of it stays."""

import asyncio
import os
import time
from pathlib import Path

import pytest

from oragent._base.errors import ModelError
from oragent.llm import Message, ModelSettings, Reply, Request, Tool
from oragent.llm.callable import CommandModel, render_conversation
from oragent.sandbox.confinement_trial import explain_unconfined
from tests.llm.opened import models
from tests.processes import bearing

ASK = Request("code", (Message("user", "Improve `f`.\nNow."),))


def ask(command: str, request: Request = ASK, **settings: object) -> Reply:
    async def run() -> Reply:
        async with models(ModelSettings(command=command, **{"backoff_s": 0.01, "retries": 0, **settings})) as made:
            return await made(request)

    return asyncio.run(run())


def script(tmp_path: Path, text: str) -> str:
    file = tmp_path / "my-agent"
    file.write_text(f"#!/bin/sh\n{text}\n")
    file.chmod(0o755)
    return str(file)


def test_it_reads_the_prompt_and_writes_the_reply() -> None:
    reply = ask("cat")
    assert reply.text == ASK.messages[0].content
    assert (reply.model, reply.money, reply.estimated, reply.tokens_in) == ("cat", None, True, 5)


def test_a_conversation_is_one_text_under_titles() -> None:
    talk = Request("code", (Message("system", "Be terse."), Message("user", "a"), Message("assistant", "b")))
    assert ask("cat", talk).text == "# Instructions\n\nBe terse.\n\n# Request\n\na\n\n# Your answer\n\nb"
    assert render_conversation([Message("user", "alone")]) == "alone"


def test_arguments_are_split_as_a_shell_does_and_no_shell_runs(tmp_path: Path) -> None:
    agent = script(tmp_path, 'for word in "$@"; do echo "<$word>"; done')
    assert ask(f"{agent} --print 'two words' '$HOME;ls'").text == "<--print>\n<two words>\n<$HOME;ls>"


def test_it_is_called_in_an_empty_folder_that_goes_with_it(tmp_path: Path) -> None:
    folder = ask(script(tmp_path, "ls -A; touch left; pwd")).text
    assert folder.startswith("/")
    assert "\n" not in folder
    assert not Path(folder).exists()


def test_of_keys_it_gets_the_one_that_it_names(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-openai")
    monkeypatch.setenv("MY_KEY", "sk-mine")
    agent = script(tmp_path, 'echo "[$OPENAI_API_KEY][$MY_KEY]"')
    assert ask(agent, api_key_env="MY_KEY").text == "[][sk-mine]"
    assert ask(agent, api_key_env="OPENAI_API_KEY").text == "[sk-openai][sk-mine]"
    assert os.environ["MY_KEY"] == "sk-mine"


def test_a_failure_is_tried_again(tmp_path: Path) -> None:
    once = f"if [ -e {tmp_path}/met ]; then echo fine; else touch {tmp_path}/met; echo sorry >&2; exit 3; fi"
    reply = ask(script(tmp_path, once), retries=1)
    assert (reply.text, reply.retries) == ("fine", 1)


def test_a_failure_for_good_is_one_line_with_its_reason(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="quota") as caught:
        ask(script(tmp_path, "echo 'no quota\nleft' >&2; exit 3"), retries=1)
    assert "\n" not in str(caught.value)


def test_an_empty_reply_is_a_reply() -> None:
    assert ask("true").text == ""


def test_a_slow_one_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    agent = script(tmp_path, "setsid sleep 61.5151 & (trap '' TERM; sleep 61.5151) & wait")
    begin = time.monotonic()
    with pytest.raises(ModelError, match="timeout_s"):
        ask(agent, timeout_s=0.5)
    assert time.monotonic() - begin < 20
    for _ in range(200):
        if not bearing("sleep\00061.5151"):
            break
        time.sleep(0.02)
    else:
        pytest.fail("the child lives on")


@pytest.mark.skipif(bool(explain_unconfined()), reason="this machine has no namespaces for programs")
def test_it_sees_neither_other_processes_nor_what_is_in_their_environment(monkeypatch, tmp_path: Path) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-openai")
    assert "sk-openai" not in ask(script(tmp_path, "cat /proc/*/environ; cat /proc/$PPID/environ; echo end")).text


@pytest.mark.slow
def test_a_flood_is_refused_and_held_nowhere(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="4,000,000"):
        ask(script(tmp_path, "head -c 30000000 /dev/zero | tr '\\0' x"))


def test_one_that_does_not_read_its_prompt_still_answers() -> None:
    assert ask("echo fine", Request("code", (Message("user", "x" * 3_000_000),))).text == "fine"


def test_half_characters_and_bytes_that_are_none_are_survived(tmp_path: Path) -> None:
    reply = ask(script(tmp_path, "cat; printf '\\377'"), Request("code", (Message("user", "a\ud800b"),)))
    assert reply.text.startswith("a?b")


def test_tools_are_called_by_fenced_json(tmp_path: Path) -> None:
    request = Request("code", ASK.messages, tools=(Tool("solve", "Solve it."),))
    agent = script(tmp_path, """grep -q 'solve: Solve it.' && printf '{"tool": "solve", "arguments": {"n": 1}}'""")
    (call,) = ask(agent, request).tool_calls
    assert (call.name, dict(call.arguments)) == ("solve", {"n": 1})


def test_no_more_are_asked_at_once_than_the_settings_say(tmp_path: Path) -> None:
    agent = script(tmp_path, f"mkdir {tmp_path}/busy || exit 9; sleep 0.05; rmdir {tmp_path}/busy; echo ok")

    async def run() -> list[str]:
        model = CommandModel(ModelSettings(command=agent, concurrency=1, retries=0))
        return [reply.text for reply in await asyncio.gather(*(model(ASK) for _ in range(4)))]

    assert asyncio.run(run()) == ["ok"] * 4


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"command": ""}, "command must name a program"),
        ({"command": "a 'b"}, "cannot be read"),
        ({"command": "cat", "base_url": "http://localhost/v1"}, "not both"),
        ({}, "needs a name, or a command"),
        ({"name": "m", "extra_body": {"messages": []}}, "must not set 'messages'"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings: dict, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        ModelSettings(**settings)


def test_a_program_that_is_not_there_is_named() -> None:
    with pytest.raises(ModelError, match="no-such-agent"):
        ask("no-such-agent --print")

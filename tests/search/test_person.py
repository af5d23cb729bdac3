"""A person answers in place of the model: the reply is stored, found again by resume and replay, and can be left out."""

import json
import os
import threading
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from oragent._base.errors import ConfigError
from oragent.cli.app import app
from oragent.ledger import ReplayModel
from oragent.llm.model import Message, Reply, Request
from oragent.search.events import Progress
from oragent.search.folder import RunFolder
from oragent.search.round_context import RoundContext
from oragent.search.store import Store
from oragent.search.user_commands import FOLDER, PERSON, answer_prompt, list_open_prompts, post_act
from tests.search.test_engine import history, search


class Model:
    async def __call__(self, request: Request, /) -> Reply:
        text = f"def guess(x):\n    return {request.key}\n"
        return Reply(text, tokens_in=1, tokens_out=1, money=0.0, seconds=0.0, model="model")


async def ask(run: RoundContext) -> None:
    reply = await run.ask("code", [Message("user", f"round {run.number}: write guess")])
    await run.evaluate(reply.text, (), "code")


def answering(folder: Path, *texts: str) -> threading.Thread:
    """Give replies, one after the other, as soon as a prompt waits."""

    def work() -> None:
        for text in texts:
            deadline = time.monotonic() + 60
            while not list_open_prompts(folder / FOLDER) and time.monotonic() < deadline:
                time.sleep(0.02)
            key = answer_prompt(folder / FOLDER, text)
            while any(prompt.key == key for prompt in list_open_prompts(folder / FOLDER)):
                time.sleep(0.02)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


def models(folder: RunFolder) -> list[str]:
    with Store(folder.database, readonly=True) as store:
        return [reply.model for reply in store.replies.all_replies()]


MINE = "def guess(x):\n    return 77\n"


def test_a_persons_reply_is_stored_and_replayed(begun) -> None:
    first = begun("budget.evaluations=6", "strategy.window=1")

    def observe(progress: Progress) -> None:
        if progress.spent.evaluations == 2:
            post_act(first.path, "person")
            answering(first.path, MINE, "")
        elif progress.spent.evaluations == 4:
            post_act(first.path, "model")

    search(first, ask, model=Model(), observer=observe)
    assert sorted(set(models(first))) == ["model", PERSON]
    assert models(first).count(PERSON) == 1
    assert any(row[1] == MINE for row in history(first))
    assert not list_open_prompts(first.path / FOLDER)
    second = begun("budget.evaluations=6", "strategy.window=1")
    with Store(second.database) as store:
        store.replies.copy_from(first.database)
        store.take_start(first.database)
        model = ReplayModel(store.replies)
    search(second, ask, model=model)
    assert history(second) == history(first)


@pytest.mark.parametrize("act", ["model", "stop", "pause"])
def test_acts_that_end_a_round_leave_open_prompts_to_the_model(begun, act: str) -> None:
    folder = begun("budget.evaluations=5", "strategy.window=1")
    post_act_later = threading.Thread(target=lambda: _act_when_asked(folder, act), daemon=True)

    def observe(progress: Progress) -> None:
        if progress.spent.evaluations == 2:
            post_act(folder.path, "person")
            post_act_later.start()

    search(folder, ask, model=Model(), observer=observe)
    post_act_later.join(30)
    assert PERSON not in models(folder)


def _act_when_asked(folder: RunFolder, act: str) -> None:
    while not list_open_prompts(folder.path / FOLDER):
        time.sleep(0.02)
    post_act(folder.path, act)
    if act == "pause":
        post_act(folder.path, "model")
        post_act(folder.path, "continue")


def test_without_an_open_prompt_a_reply_is_refused_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(ConfigError):
        answer_prompt(tmp_path, "text")
    (tmp_path / "asked").mkdir()
    (tmp_path / "asked" / "a.json").write_text("no JSON")
    (tmp_path / "asked" / "b.json").write_text(json.dumps({"key": "1.0", "role": "code", "prompt": "[]"}))
    with pytest.raises(ConfigError):
        answer_prompt(tmp_path, "text", "2.0")
    with pytest.raises(ConfigError):
        answer_prompt(tmp_path, "x" * 500_000)
    assert answer_prompt(tmp_path, "text") == "1.0"


@pytest.mark.slow
def test_the_command_line_prints_prompts_and_gives_replies(tmp_path: Path) -> None:
    (tmp_path / FOLDER / "asked").mkdir(parents=True)
    empty = CliRunner().invoke(app, ["steer", str(tmp_path), "answer"])
    assert "no prompt waits" in empty.output
    prompt = json.dumps(
        [{"role": "system", "content": "be short"}, {"role": "user", "content": "write\nguess \x1b[31m"}]
    )
    (tmp_path / FOLDER / "asked" / "b.json").write_text(json.dumps({"key": "4.0", "role": "code", "prompt": prompt}))
    shown = CliRunner().invoke(app, ["steer", str(tmp_path), "answer"])
    assert shown.output.startswith("call 4.0, role code\n--- system\nbe short\n--- user\nwrite\nguess ")
    assert "\x1b" not in shown.output
    (tmp_path / "reply.md").write_text(MINE)
    given = CliRunner().invoke(app, ["steer", str(tmp_path), "answer", str(tmp_path / "reply.md")])
    assert "call 4.0 is answered" in given.output
    (answer,) = (tmp_path / FOLDER / "answers").iterdir()
    assert json.loads(answer.read_text())["text"] == MINE


def test_pipes_and_huge_files_among_prompts_are_left_out(tmp_path: Path) -> None:
    place = tmp_path / "steering" / "asked"
    place.mkdir(parents=True)
    os.mkfifo(place / "pipe.json")
    with (place / "huge.json").open("w") as file:
        file.truncate(1 << 36)
    (place / "link.json").symlink_to("/dev/zero")
    (place / "good.json").write_text('{"key": "1.0", "role": "code", "prompt": "[]"}')
    assert [prompt.key for prompt in list_open_prompts(tmp_path / "steering")] == ["1.0"]

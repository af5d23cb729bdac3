"""A search asks each role's own model, all with the one key that the environment held."""

import asyncio
import threading
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from oragent._base.errors import ConfigError
from oragent.search import launch
from oragent.search.launch import Evaluations, Notes
from oragent.search.strategy import Strategy
from tests.cli.test_cli import complaint, oragent
from tests.llm.chat_server import Answer, ChatServer, ok


def answer(request: dict[str, Any]) -> Answer:
    prompt = request["messages"][-1]["content"]
    if "JSON list" in prompt:
        return ok('[{"title": "broken", "idea": "Fail."}]')
    if "What went wrong" in prompt:
        return ok("```python\ndef guess(x):\n    return 70\n```")
    return ok("```python\ndef guess(x):\n    return 1 / 0\n```")


@pytest.mark.slow
def test_roles_may_have_models_of_their_own_and_who_writes_programs_mends_them(toy: Path, tmp_path: Path) -> None:
    with ChatServer(*[answer] * 40) as server:
        done = oragent(
            "run", "toy", "--model", "main", "--evaluations", 3, "or_agent.initial_ideas=1", "or_agent.rounds=tree", "strategy.window=1",
            "models={idea: {name: thinker}, code: {name: coder}}",
            cwd=tmp_path, OPENAI_BASE_URL=server.url, OPENAI_API_KEY="sk-secret",
        )  # fmt: skip
        asked = [(request["model"], request["messages"][-1]["content"]) for request in server.requests]
        keys = set(server.keys)
    assert done.returncode == 0, done.stderr
    assert {model for model, _ in asked[:3]} == {"thinker", "coder", "main"}  # each has shown that it answers
    tasks = zip(asked[3:6], ("You lead the research", "You write the next program", "What went wrong"), strict=True)
    assert [(model, words in prompt) for (model, prompt), words in tasks] == [
        ("thinker", True), ("coder", True), ("coder", True),
    ]  # fmt: skip
    assert keys == {"Bearer sk-secret"}


def test_a_role_that_nobody_plays_is_named_before_anything_begins(toy: Path, tmp_path: Path) -> None:
    done = oragent("run", "toy", "--model", "scripted", "models={ideas: {name: m}}", cwd=tmp_path)
    assert "models.ideas" in complaint(done)
    assert not (tmp_path / "outputs").exists()


def test_notes_of_other_threads_reach_the_listener_in_order() -> None:
    heard: list[str] = []

    async def listen() -> None:
        notes = Notes()
        notes("first")
        notes("second")
        notes.listen(heard.append)
        assert heard == ["first", "second"]
        thread = threading.Thread(target=notes, args=("third",))
        thread.start()
        thread.join()
        # It is told in the thread of the event loop.
        assert heard == ["first", "second"]
        await asyncio.sleep(0)
        assert heard == ["first", "second", "third"]
        notes("late")
        notes.stop()
        await asyncio.sleep(0)

    asyncio.run(listen())
    assert heard == ["first", "second", "third"]


def test_ctrl_c_stops_then_aborts_then_ends_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    course: list[Any] = []
    engine: Any = SimpleNamespace(
        stop=lambda reason: course.append(("stop", reason)),
        abort=lambda: course.append("abort"),
        under_way=([1, 2], [3]),
    )
    monkeypatch.setattr(launch.tqdm, "write", lambda text, file: course.append("told"))
    monkeypatch.setattr(launch.os, "_exit", lambda code: course.append(code))
    interrupt = launch._Interrupt(engine)
    for _ in range(4):
        interrupt()
    assert course == [("stop", launch.STOPPED), "told", "abort", 130, 130]


@pytest.mark.parametrize(
    ("evaluations", "calls", "words"),
    [
        (0, 0, "ending the run"),
        (1, 0, "ending 1 evaluation"),
        (2, 0, "ending 2 evaluations"),
        (0, 1, "ending 1 model call"),
        (3, 2, "ending 3 evaluations and 2 model calls"),
    ],
)
def test_what_is_ended_is_counted(evaluations: int, calls: int, words: str) -> None:
    assert launch._describe_ending(evaluations, calls) == words


def test_prompts_that_read_otherwise_are_counted() -> None:
    assert launch._reworded_remark(0) == ""
    assert launch._reworded_remark(1).startswith("1 prompt ")
    assert launch._reworded_remark(1234).startswith("1,234 prompts ")


@pytest.mark.parametrize(
    ("hosts", "at_once", "warning", "parts"),
    [
        (["a"], 1, "", ["1 evaluation at once, on 1 machine "]),
        (["a", "a"], 2, "", ["2 evaluations at once, on 1 machine "]),
        (["a", "b", "a"], 3, "careful", ["careful", "3 evaluations at once, on 2 machines "]),
    ],
)
def test_a_cluster_is_described_by_its_machines(hosts: list[str], at_once: int, warning: str, parts: list[str]) -> None:
    shaken = [SimpleNamespace(host=host) for host in hosts]
    cluster: Any = SimpleNamespace(handshakes=shaken, at_once=at_once, warning=warning)
    remarks = launch._cluster_remarks(cluster)
    assert len(remarks) == len(parts)
    assert all(remark.startswith(part) for remark, part in zip(remarks, parts, strict=True))


@pytest.mark.parametrize(("is_new", "window", "widened"), [(True, None, True), (False, None, False), (True, 3, False)])
def test_a_new_run_on_a_cluster_has_rounds_for_all_workers(
    begun, tmp_path: Path, is_new: bool, window: int | None, widened: bool
) -> None:
    logs: list[Path] = []
    folder = replace(begun(), is_new=is_new)
    config = replace(folder.config, strategy=replace(folder.config.strategy, window=window))
    cluster: Any = SimpleNamespace(log_to=logs.append, at_once=10)
    local, remote = Evaluations(lambda: None), Evaluations(lambda: None, cluster=cluster)
    assert local.fitted(folder, config) is folder
    fitted = remote.fitted(folder, config)
    assert logs == [folder.path / launch.LOG]
    assert (fitted is not folder) == widened
    if widened:
        assert fitted.config.strategy.window == 15
        assert "window: 15" in (folder.path / "config.yaml").read_text()


@pytest.mark.parametrize(
    ("languages", "language", "fits"), [((), "cpp", True), (("python",), "python", True), (("python",), "cpp", False)]
)
def test_a_strategy_of_another_language_is_refused(languages: tuple[str, ...], language: str, fits: bool) -> None:
    async def play(run: Any) -> None: ...

    strategy = Strategy(name="own", round=play, languages=languages)
    problem: Any = SimpleNamespace(name="toy", signature=SimpleNamespace(language=language))
    if fits:
        launch._expect_language(strategy, problem)
    else:
        with pytest.raises(ConfigError):
            launch._expect_language(strategy, problem)

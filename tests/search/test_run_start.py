"""What happens before a run begins: devices, offers, demands of a folder, and costs of connection checks."""

import asyncio
import hashlib
import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from oragent._base.budget import Budget, Spent
from oragent.llm.model import Reply
from oragent.search import checks, launch
from oragent.search.config import Config
from oragent.search.engine import Engine
from oragent.search.store import Store
from tests.search.test_act_log import Notes
from tests.search.test_engine import climb, search


class Remarks(Notes):
    """A store that takes each remark once."""

    def __init__(self) -> None:
        super().__init__()
        self.remarks: list[str] = []

    def remark(self, text: str) -> bool:
        is_new = text not in self.remarks
        self.remarks.append(text)
        return is_new


@pytest.mark.parametrize(
    ("remark", "careful", "again", "told"),
    [
        ("", False, False, []),
        ("words", False, False, ["words"]),
        ("words", True, False, ["careful: words"]),
        ("words", False, True, []),
    ],
)
def test_a_run_records_its_device_once(
    begun, monkeypatch: pytest.MonkeyPatch, remark: str, careful: bool, again: bool, told: list[str]
) -> None:
    folder, store, said, required = begun(), Remarks(), list[str](), list[Any]()
    plain: Any = store
    if again:
        store.remark(remark)
    pinned = SimpleNamespace(name="card", remark=remark, careful=careful)
    monkeypatch.setattr(launch, "pin_device", lambda requested, problem: pinned if requested == "cuda" else None)
    monkeypatch.setattr(launch, "require_device", lambda *given: required.append(given))
    config = replace(folder.config, device="cuda")
    launch._check_device(config, folder, plain, said.append)
    assert (dict(store), said, required) == ({"device": "card"}, told, [])
    launch._check_device(config, folder, plain, said.append)
    assert (dict(store), said) == ({"device": "card"}, told)
    assert required == [(folder.config.device, "card", folder.problem)]


@pytest.mark.parametrize(("has_job", "offers"), [(True, ["few", "size"]), (False, [])])
def test_options_of_an_evaluator_are_asked_for_once(
    begun, monkeypatch: pytest.MonkeyPatch, has_job: bool, offers: list[str]
) -> None:
    folder, store, asked = begun(), Notes(), list[Any]()
    monkeypatch.setattr(launch, "help_job", lambda *given: given if has_job else None)
    monkeypatch.setattr(launch, "parse_options", lambda text: {"size", "few"} if text == "help" else set())

    class Pool:
        async def evaluate(self, job: Any) -> str:
            asked.append(job)
            return "help"

    given: Any = (folder, store, Pool())
    for _ in range(2):
        assert asyncio.run(launch._ask_offers(*given)) == frozenset(offers)
    assert asked == [(folder.problem, folder.root, folder.config.limits)] * has_job
    assert json.loads(store["offers"]) == offers


def demands(config: Config) -> list[tuple[tuple[str, ...], bool]]:
    return [(demand.parts, demand.is_code) for demand in checks._list_demands(config)]


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_a_folder_demands_its_code_its_cluster_and_its_agent(begun, tmp_path: Path) -> None:
    config, file = begun().config, tmp_path / "own.py"
    file.write_text("STRATEGY = None\n")

    def changed(**values: Any) -> Config:
        return replace(config, strategy=replace(config.strategy, **values))

    assert demands(config) == []
    # Only a code that the user agreed to is run, whatever the command line names.
    code = [(("strategy", digest(file)), True)]
    assert demands(changed(name="own", file=str(file))) == code
    assert demands(changed(name=str(file))) == code
    assert demands(changed(name="own", file=str(tmp_path / "absent.py"))) == [(("strategy", ""), True)]
    assert demands(replace(config, cluster="local:3")) == []
    assert demands(replace(config, cluster="tcp://a:1")) == [(("cluster", "tcp://a:1"), False)]
    agent = changed(name="agent", options={"recipe": "b", "command": "a"})
    command = (("command", "[('command', 'a'), ('recipe', 'b')]"), False)
    assert demands(agent) == [command]
    prompts = tmp_path / "prompts"
    prompts.mkdir()
    (prompts / "evolve.txt").write_text("words")
    assert demands(replace(agent, prompts=str(prompts))) == [command]
    (prompts / "agent.txt").write_text("other words")
    assert demands(replace(agent, prompts=str(prompts))) == [
        command, (("prompt", digest(prompts / "agent.txt")), True)
    ]  # fmt: skip
    assert demands(replace(config, prompts=str(prompts))) == []


@pytest.mark.parametrize(
    ("bounds", "spent", "words"),
    [
        ({"evaluations": 10}, {"evaluations": 10}, ["budget.evaluations=20"]),
        ({"evaluations": 10}, {"evaluations": 9}, []),
        ({"evaluations": 10}, {"evaluations": 14}, ["budget.evaluations=20"]),
        ({"evaluations": 10}, {"evaluations": 15}, ["budget.evaluations=30"]),
        ({"seconds": 2.5, "model_calls": 4}, {"seconds": 2.5, "model_calls": 3}, ["budget.seconds=5"]),
        (
            {"seconds": 2.5, "model_calls": 4},
            {"seconds": 9.0, "model_calls": 4},
            ["budget.model_calls=8", "budget.seconds=12.5"],
        ),
    ],
)
def test_a_resumed_run_has_bounds_above_what_is_spent(
    bounds: dict[str, Any], spent: dict[str, Any], words: list[str]
) -> None:
    command = checks.way_on(Path("a b"), Budget(**bounds), Spent(**spent), "used up", "again")
    assert sorted(command.split()) == sorted(["oragent", "resume", "'a", "b'", *words])
    assert checks.way_on(Path("a b"), Budget(**bounds), Spent(**spent), checks.IDLE, "again").startswith(
        "oragent run again "
    )


def test_a_resumed_run_counts_its_repeated_connection_checks_with_the_seed(begun) -> None:
    folder = begun("budget.evaluations=6")
    search(folder)
    reply = Reply("OK", model="m", tokens_in=5, tokens_out=2, money=0.5, seconds=0.0)
    with Store(folder.database) as store:
        before = store.rounds()
        store.book([reply])
        cost = store.checks()
        assert cost.model_calls == 1
        for _ in range(2):
            Engine(folder, store, None, climb)
            assert store.rounds() == {**before, 0: before[0] + cost}
    fresh = begun("budget.evaluations=6")
    with Store(fresh.database) as store:
        store.book([reply])
        Engine(fresh, store, None, climb)
        assert store.rounds() == {}

"""Actions of a user: when they take effect, what they change, and which of them a resumed run repeats."""

import json
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from oragent._base.budget import Budget
from oragent._base.errors import ConfigError
from oragent.search import user_commands
from oragent.search.user_commands import (
    ANSWERS,
    ASKED,
    BASE,
    FOLDER,
    KEY,
    MAX_TEXT,
    Act,
    ActLog,
    answer_prompt,
    list_open_prompts,
    list_waiting_acts,
    read_messages,
    release_prompts,
    write_message,
)

BUDGET = Budget(evaluations=10)


class Notes(dict[str, str]):
    """A store with notes alone."""

    path = Path("run.db")

    def __init__(self, rounds: int = 0, acts: list[dict[str, Any]] | None = None, base: Any = None) -> None:
        super().__init__()
        self._rounds = rounds
        if acts is not None:
            self[KEY] = json.dumps(acts)
        if base is not None:
            self[BASE] = json.dumps(base)

    def rounds(self) -> int:
        return self._rounds

    def meta(self, key: str) -> str | None:
        return self.get(key)

    def note(self, key: str, text: str) -> None:
        self[key] = text


def act_log(folder: Path, store: Notes, budget: Budget = BUDGET) -> ActLog:
    plain: Any = store
    return ActLog(folder, plain, budget)


def post(folder: Path, *acts: tuple[str, str]) -> None:
    for act, value in acts:
        number = len(list((folder / FOLDER).glob("*.json"))) if (folder / FOLDER).is_dir() else 0
        write_message(folder / FOLDER, f"{number:020d}.json", {"act": act, "value": value})


def past(act: str, value: str = "", number: int = 1, horizon: int = 0) -> dict[str, Any]:
    return {"act": act, "value": value, "round": number, "horizon": horizon}


def take(log: ActLog, number: int, horizon: int, *, is_live: bool = True) -> list[str]:
    return [act.act for act in log.take(number, horizon, BUDGET, is_live=is_live)]


class Elites:
    """An archive that holds programs by name."""

    def __init__(self, names: set[str]) -> None:
        self.names = names

    def snapshot(self) -> "Elites":
        return Elites(set(self.names))

    def keep_only(self, keep: Any) -> None:
        self.names = {name for name in self.names if keep(name)}

    def elites(self) -> list[str]:
        return sorted(self.names)


def parents(log: ActLog, *names: str) -> set[str]:
    archive: Any = Elites(set(names))
    allowed: Any = log.restrict(archive)
    assert archive.names == set(names)
    return allowed.names


def test_a_new_act_is_recorded_with_its_round_and_its_file_removed(tmp_path: Path) -> None:
    store = Notes()
    log = act_log(tmp_path, store)
    post(tmp_path, ("hint", "odd"), ("add", "x = 1\n"), ("person", ""))
    assert [act.act for act in list_waiting_acts(tmp_path)] == ["hint", "add", "person"]
    assert take(log, 4, 3, is_live=False) == []
    taken = list(log.take(4, 3, BUDGET, is_live=True))
    assert taken == [Act("hint", "odd", 4, 3), Act("add", "x = 1\n", 4, 3), Act("person", "", 4, 3)]
    assert json.loads(store[KEY]) == [
        past("hint", "odd", 4, 3), past("add", "x = 1\n", 4, 3), past("person", "", 4, 3)
    ]  # fmt: skip
    assert BASE not in store
    assert log.hints == [(4, "odd")]
    assert list(log.programs(4)) == ["x = 1\n"]
    assert list(log.programs(3)) == []
    assert log.asks_person
    assert list_waiting_acts(tmp_path) == []
    post(tmp_path, ("model", ""))
    assert take(log, 5, 4) == ["model"]
    assert not log.asks_person
    assert [act["act"] for act in json.loads(store[KEY])] == ["hint", "add", "person", "model"]


def test_the_budget_before_its_first_change_is_recorded_once(tmp_path: Path) -> None:
    store = Notes()
    log = act_log(tmp_path, store)
    post(tmp_path, ("budget", "evaluations=30"))
    assert take(log, 1, 0) == ["budget"]
    post(tmp_path, ("budget", "evaluations=40"))
    list(log.take(2, 1, Budget(evaluations=30), is_live=True))
    assert json.loads(store[BASE]) == {"evaluations": 10}


def test_recorded_acts_take_effect_before_the_same_round_and_new_ones_after_all_of_them(tmp_path: Path) -> None:
    acts = [past("hint", "a", 2, 1), past("hint", "b", 3, 1), past("hint", "c", 3, 2), past("hint", "d", 5, 4)]
    log = act_log(tmp_path, Notes(acts=acts))
    post(tmp_path, ("hint", "new"))
    assert take(log, 1, 0) == []
    assert [act.value for act in log.take(2, 1, BUDGET, is_live=True)] == ["a"]
    assert [act.value for act in log.take(3, 1, BUDGET, is_live=True)] == ["b"]
    assert [act.value for act in log.take(3, 2, BUDGET, is_live=True)] == ["c"]
    assert [act.value for act in log.take(6, 5, BUDGET, is_live=True)] == ["d", "new"]
    assert log.hints == [(2, "a"), (3, "b"), (3, "c"), (6, "d"), (6, "new")]


def test_a_pause_waits_in_a_live_run_alone_unless_it_has_not_ended(tmp_path: Path) -> None:
    log = act_log(tmp_path, Notes())
    post(tmp_path, ("pause", ""))
    assert take(log, 1, 0) == ["pause"]
    assert log.paused
    post(tmp_path, ("continue", ""))
    assert take(log, 1, 0) == ["continue"]
    assert not log.paused
    repeated = act_log(tmp_path, Notes(acts=[past("pause"), past("hint", "a", 2, 1)]))
    for _ in repeated.take(1, 0, BUDGET, is_live=False):
        assert not repeated.paused
    ended = act_log(tmp_path, Notes(acts=[past("pause"), past("continue"), past("hint", "a", 2, 1)]))
    assert take(ended, 1, 0, is_live=False) == ["pause", "continue"]
    assert not ended.paused


@pytest.mark.parametrize(
    ("rounds", "base", "repeated"),
    [
        (0, {"evaluations": 99}, ["stop", "budget", "hint"]),
        (3, {"evaluations": 10}, ["budget", "hint"]),
        (3, {"evaluations": 99}, ["hint"]),
        (3, None, ["budget", "hint"]),
    ],
)
def test_a_resumed_run_ignores_stops_and_budgets_that_another_budget_replaced(
    tmp_path: Path, rounds: int, base: dict[str, int] | None, repeated: list[str]
) -> None:
    acts = [past("stop"), past("budget", "evaluations=30"), past("hint", "a")]
    assert take(act_log(tmp_path, Notes(rounds, acts, base)), 1, 0) == repeated


def test_parents_are_pinned_or_not_banned_and_all_if_none_were_left(tmp_path: Path) -> None:
    log = act_log(tmp_path, Notes())

    def do(act: str, value: str = "") -> None:
        post(tmp_path, (act, value))
        assert take(log, 1, 0) == [act]

    assert parents(log, "0.0", "1.0") == {"0.0", "1.0"}
    do("ban", "0.0")
    assert parents(log, "0.0", "1.0", "2.0") == {"1.0", "2.0"}
    assert parents(log, "0.0") == {"0.0"}
    do("pin", "2.0")
    assert parents(log, "0.0", "1.0", "2.0") == {"2.0"}
    do("pin", "1.0")
    assert parents(log, "0.0", "1.0", "2.0", "3.0") == {"1.0", "2.0"}
    # A pinned program that is no parent any more has no effect.
    assert parents(log, "0.0", "3.0") == {"3.0"}
    do("ban", "2.0")
    assert parents(log, "0.0", "1.0", "2.0", "3.0") == {"1.0"}
    do("pin")
    assert parents(log, "0.0", "1.0", "2.0", "3.0") == {"1.0", "3.0"}


def test_prompts_are_listed_from_the_oldest_answered_and_removed(tmp_path: Path) -> None:
    for number, key in enumerate(("second", "first")):
        path = tmp_path / ASKED / user_commands._file_name(key)
        write_message(path.parent, path.name, {"key": key, "role": "code", "prompt": f"prompt of {key}"})
        os.utime(path, ns=(2 - number, 2 - number))
    prompts = list_open_prompts(tmp_path)
    assert [(prompt.key, prompt.role, prompt.prompt) for prompt in prompts] == [
        ("first", "code", "prompt of first"), ("second", "code", "prompt of second"),
    ]  # fmt: skip

    def answer(key: str) -> str | None:
        return user_commands._read_answer(tmp_path / ANSWERS / user_commands._file_name(key))

    assert answer_prompt(tmp_path, "a reply") == "first"
    assert (answer("first"), answer("second")) == ("a reply", None)
    assert answer_prompt(tmp_path, "x" * MAX_TEXT, "second") == "second"
    assert answer("second") == "x" * MAX_TEXT
    for text, key in (("x" * (MAX_TEXT + 1), "first"), ("text", "third")):
        with pytest.raises(ConfigError):
            answer_prompt(tmp_path, text, key)
    release_prompts(tmp_path)
    assert (answer("first"), answer("second")) == ("", "")
    user_commands.clear_prompts(tmp_path)
    assert list_open_prompts(tmp_path) == []
    with pytest.raises(ConfigError):
        answer_prompt(tmp_path, "text")


@pytest.mark.parametrize(
    ("prompt", "messages"),
    [
        ('[{"role": "system", "content": "a"}, {"role": "user", "content": "b"}]', [("system", "a"), ("user", "b")]),
        ("[{}]", [("", "")]),
        ("plain", [("", "plain")]),
        ("[3]", [("", "[3]")]),
        ("3", [("", "3")]),
        ("[" * 90_000, [("", "[" * 90_000)]),
    ],
)
def test_messages_of_a_prompt_are_read(prompt: str, messages: list[tuple[str, str]]) -> None:
    assert read_messages(prompt) == messages


@pytest.mark.parametrize("value", ["12.0", "1234567890.1"])
def test_an_act_names_a_committed_candidate(tmp_path: Path, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    class Records:
        def __init__(self, path: Path, readonly: bool) -> None:
            assert (path, readonly) == (tmp_path / "run.db", True)

        def __enter__(self) -> "Records":
            return self

        def __exit__(self, *problem: Any) -> None: ...

        def records(self, number: int) -> list[Any]:
            asked.append(number)
            return [SimpleNamespace(id="12.0"), SimpleNamespace(id="12.1")] if number == 12 else []

    monkeypatch.setattr(user_commands, "Store", Records)
    if value == "12.0":
        user_commands._expect_candidate(tmp_path, value)
    else:
        with pytest.raises(ConfigError):
            user_commands._expect_candidate(tmp_path, value)
    assert asked == [int(value.partition(".")[0][:9])]

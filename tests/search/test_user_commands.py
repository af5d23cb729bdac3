"""Acts of a user: they take effect between rounds, and a replay with the same acts has the same archive."""

import json
import threading
import time
from pathlib import Path

import pytest

from oragent._base.budget import Budget
from oragent._base.errors import ConfigError, StoreError
from oragent.search.events import EventKind, Progress, RunEvent
from oragent.search.folder import RunFolder
from oragent.search.round_context import RoundContext
from oragent.search.running_work import read_running
from oragent.search.store import Store
from oragent.search.user_commands import ACTS, FOLDER, change_budget, check_act, post_act
from tests.search.test_engine import climb, history, scored, search

ADDED = "def guess(x):\n    return 99\n"
FIVE = {3: [("hint", "odd numbers are good"), ("ban", "1.0")], 5: [("add", ADDED), ("budget", "evaluations=30")],
        8: [("pause", ""), ("continue", "")], 9: [("pin", "2.0")]}  # fmt: skip


def acting(folder: RunFolder, acts: dict[int, list[tuple[str, str]]]):
    """An observer that acts after rounds."""
    rounds: list[int] = []

    def observe(progress: Progress) -> None:
        rounds.append(1)
        for act, value in acts.get(len(rounds) - 1, ()):
            post_act(folder.path, act, value)

    return observe


def recorded(folder: RunFolder) -> list[dict]:
    with Store(folder.database, readonly=True) as store:
        return json.loads(store.meta("steering") or "[]")


def test_an_unknown_candidate_is_neither_pinned_nor_banned(begun) -> None:
    folder = begun("budget.evaluations=4", "strategy.window=1")
    search(folder)
    for act, name in (("pin", "900.0"), ("ban", "1.77")):
        with pytest.raises(ConfigError, match=f"no candidate {name}"):
            post_act(folder.path, act, name)
    assert "ban is recorded" in post_act(folder.path, "ban", "1.0")
    assert "pin is recorded" in post_act(folder.path, "pin")


def test_a_replay_with_five_kinds_of_acts_has_the_same_archive(begun) -> None:
    first = begun("budget.evaluations=20", "strategy.window=3")
    search(first, observer=acting(first, FIVE))
    assert [act["act"] for act in recorded(first)] == ["hint", "ban", "add", "budget", "pause", "continue", "pin"]
    second = begun("budget.evaluations=20", "strategy.window=3")
    with Store(second.database) as store:
        store.take_start(first.database)
    search(second, workers=1)
    assert history(second) == history(first)
    plain = begun("budget.evaluations=20", "strategy.window=3")
    search(plain)
    assert history(plain) != history(first)


def test_a_resumed_run_keeps_its_acts(begun) -> None:
    whole, cut = begun("budget.evaluations=20"), begun("budget.evaluations=20")
    acts = {2: [("ban", "1.0"), ("budget", "evaluations=26")]}
    search(whole, observer=acting(whole, acts))

    with Store(cut.database) as store:
        store.take_start(whole.database)

    def stop(progress: Progress) -> None:
        if progress.spent.evaluations >= 9:
            post_act(cut.path, "stop")

    search(cut, observer=stop)
    assert len(history(cut)) < len(history(whole))
    search(cut)
    assert history(cut) == history(whole)


def test_an_act_that_is_being_written_is_left_alone(begun) -> None:
    folder = begun("budget.evaluations=3")
    (folder.path / FOLDER).mkdir()
    draft = folder.path / FOLDER / ".00000000000000000001.12.new.json"
    draft.write_text('{"act": "hi')
    search(folder)
    assert draft.is_file()


def test_a_hint_reaches_the_prompts_of_later_rounds_alone(begun) -> None:
    folder, briefs = begun("budget.evaluations=8"), {}

    async def noting(run: RoundContext) -> None:
        briefs[run.number] = run.problem.brief
        await climb(run)

    search(folder, noting, observer=acting(folder, {3: [("hint", "odd is good")]}))
    known = [number for number, brief in briefs.items() if "odd is good" in brief]
    assert known
    assert known == [number for number in briefs if number >= min(known)]
    assert min(known) > min(briefs)


def test_a_long_hint_of_any_script_is_not_lost(begun) -> None:
    hint = "é" * 150_000  # six characters each in the file
    folder = begun("budget.evaluations=10")
    search(folder, observer=acting(folder, {2: [("hint", hint)]}))
    assert [act["value"] for act in recorded(folder)] == [hint]


def test_an_added_program_is_scored_and_named(begun) -> None:
    folder = begun("budget.evaluations=10")
    search(folder, observer=acting(folder, {2: [("add", ADDED)]}))
    with Store(folder.database, readonly=True) as store:
        (record,) = [record for record in store.records() if record.candidate.origin == "user"]
    assert (record.score, record.candidate.parents) == (1.0, ())


def test_a_banned_parent_has_no_more_children(begun) -> None:
    folder = begun("budget.evaluations=25", "strategy.window=1")
    search(folder, observer=acting(folder, {1: [("ban", "0.0")]}))
    later = [parents for name, _, parents, *_ in history(folder) if int(name.split(".")[0]) >= 3]
    assert later
    assert "0.0" not in {parent for parents in later for parent in parents}


def test_a_stop_is_gentle_and_a_resume_goes_on(begun) -> None:
    folder = begun("budget.evaluations=12")
    outcome = search(folder, observer=acting(folder, {2: [("stop", "")]}))
    assert outcome.reason == "stopped by the user"
    assert search(folder).complete


def test_a_file_that_is_no_act_is_removed_and_changes_nothing(begun) -> None:
    folder, plain = begun("budget.evaluations=8"), begun("budget.evaluations=8")
    (folder.path / FOLDER).mkdir()
    for number, text in enumerate(("", "[]", "{}", '{"act": "explode", "value": ""}', "[" * 50_000)):
        (folder.path / FOLDER / f"{number}.json").write_text(text)
    search(folder), search(plain)
    assert history(folder) == history(plain)
    assert not list((folder.path / FOLDER).iterdir())


@pytest.mark.parametrize(
    ("act", "value"),
    [("explode", ""), ("hint", ""), ("budget", "evaluations"), ("budget", "evaluations=-1"), ("budget", "apples=3"),
     ("budget", "seconds=nan"), ("budget", "money=inf"), ("ban", "x"), ("pin", "1.0; rm"), ("add", " "), ("hint", "x" * 300_000)],
)  # fmt: skip
def test_what_is_no_act_is_one_line(act: str, value: str) -> None:
    with pytest.raises(ConfigError) as caught:
        check_act(act, value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 200


def test_every_act_is_accepted_with_its_value() -> None:
    values = {"budget": "evaluations=5 seconds=2.5", "hint": "text", "add": ADDED, "ban": "1.0", "pin": ""}
    assert [check_act(act, values.get(act, "")).act for act in ACTS] == list(ACTS)
    assert change_budget(Budget(evaluations=7), "money=1.5").named_bounds == {"evaluations": 7, "money": 1.5}


def test_the_reply_says_when_an_act_takes_effect(begun) -> None:
    folder = begun("budget.evaluations=4")
    search(folder)
    with folder.locked():
        assert "before the next round begins" in post_act(folder.path, "hint", "short")
    assert "when the run is resumed" in post_act(folder.path, "hint", "shorter")


@pytest.mark.parametrize(
    "record", ["{", "3", '[{"act": 3}]', '[{"act": [], "value": "", "round": 1, "horizon": 0}]', "[" * 90_000]
)
def test_a_damaged_record_of_acts_is_one_line(begun, record: str) -> None:
    folder = begun("budget.evaluations=4")
    with Store(folder.database) as store:
        store.note("steering", record)
    with pytest.raises(StoreError):
        search(folder)


def test_acts_on_what_is_no_run_are_one_line(tmp_path: Path) -> None:
    with pytest.raises(StoreError):
        post_act(tmp_path, "stop")


def test_events_tell_of_a_run_in_order(begun) -> None:
    import asyncio

    from oragent.evaluation.pool import JobPool
    from oragent.search.engine import Engine

    folder, events = begun("budget.evaluations=10"), list[RunEvent]()
    pool = JobPool(1, scored)
    with Store(folder.database) as store:
        asyncio.run(Engine(folder, store, pool, climb, on_event=events.append).run())
    pool.close()
    kinds = [event.kind for event in events]
    assert kinds[0] is EventKind.BEGUN
    assert kinds[-1] is EventKind.ENDED
    assert kinds.count(EventKind.EVALUATED) >= 10
    assert {EventKind.ACCEPTED, EventKind.BEST, EventKind.BUDGET} <= set(kinds)
    best = [event.data["score"] for event in events if event.kind is EventKind.BEST]
    assert best == sorted(best, reverse=True) or best == sorted(best)
    assert [event.at_s for event in events] == sorted(event.at_s for event in events)


def test_a_pause_is_among_the_running_tasks_until_the_run_goes_on(begun) -> None:
    folder = begun("budget.evaluations=6", "strategy.window=1")
    seen: list[str] = []

    def watch() -> None:
        end = time.monotonic() + 30
        while not seen and time.monotonic() < end:
            seen.extend(task.what for task in read_running(folder.path) if "paused" in task.what)
            time.sleep(0.05)
        post_act(folder.path, "continue", "")

    watcher = threading.Thread(target=watch)
    watcher.start()
    result = search(folder, observer=acting(folder, {2: [("pause", "")]}))
    watcher.join()
    assert seen == ["paused by its user"]
    assert result.complete
    assert read_running(folder.path) == []

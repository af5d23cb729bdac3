"""A study asks nothing twice, keeps its budget, and comes to the same at any number of workers."""

import asyncio
import contextlib
import json
import os
import signal
import sqlite3
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from oragent._base.budget import Budget
from oragent._base.errors import ModelError, OragentError, StoreError
from oragent.ledger import LedgerCase, Study
from oragent.ledger.case import wait_for_all
from oragent.ledger.database import FORMAT, Database
from oragent.ledger.study import KIND, SCHEMA, finished_results, read_finished
from oragent.llm.model import Message, Reply, Request

NAMES = tuple(f"set/{number}" for number in range(6))
ROOT = Path(__file__).parents[2]


class Oracle:
    """Answers with the number of the letters of a prompt; fails at the calls that it is told to."""

    def __init__(self, *failing: str) -> None:
        self.asked: list[str] = []
        self.failing = failing
        self.busy = self.most = 0

    async def __call__(self, request: Request, /) -> Reply:
        self.busy += 1
        self.most = max(self.most, self.busy)
        await asyncio.sleep(0)
        self.busy -= 1
        if request.key in self.failing:
            raise ModelError("the server is down")
        self.asked.append(request.key)
        text = str(sum(len(message.content) for message in request.messages))
        return Reply(text, tokens_in=10, tokens_out=5, money=0.25, seconds=0.0, model="oracle")


async def work(case: LedgerCase) -> dict[str, Any]:
    """Two calls, one after the other, then two side by side, and a number drawn."""
    first = await case.ask("writer", [Message("user", case.name)])
    second = await case.ask("critic", [Message("user", first.text * 3)])
    branches = case.open_branches([1, 1])
    both = await wait_for_all([branch.ask("writer", [Message("user", second.text)]) for branch in branches])
    case.used += sum((branch.used for branch in branches[1:]), branches[0].used)
    return {"texts": [first.text, second.text, *(one.text for one in both)], "drawn": case.rng.random()}


def study(folder: Path, model: Any, workers: int = 1, **bounds: Any) -> Study:
    return Study(folder, {"": model}, Budget(evaluations=None, **bounds), seed=3, workers=workers)


def results(folder: Path, model: Any, workers: int = 1, **bounds: Any) -> list[Any]:
    with study(folder, model, workers, **bounds) as opened:
        return [one and one.result for one in asyncio.run(opened.run_cases(NAMES, work))]


def test_cases_come_to_the_same_at_any_number_of_workers(tmp_path: Path) -> None:
    models = [Oracle() for _ in range(3)]
    found = [results(tmp_path / str(n), model, n) for n, model in zip((1, 2, 8), models, strict=True)]
    assert found[0] == found[1] == found[2]
    assert len({json.dumps(one) for one in found[0]}) == len(NAMES)  # each has numbers of its own
    assert models[0].most <= 2 < models[2].most  # a case alone asks two at once


def test_what_is_finished_is_not_asked_again(tmp_path: Path) -> None:
    first = results(tmp_path, Oracle())
    again = Oracle()
    assert results(tmp_path, again) == first
    assert again.asked == []


def test_a_server_that_dies_leaves_a_study_that_goes_on_and_asks_nothing_twice(tmp_path: Path) -> None:
    whole = results(tmp_path / "whole", Oracle())
    dying, reborn = Oracle("set/3.1"), Oracle()
    with study(tmp_path / "torn", dying) as opened:
        torn = [one and one.result for one in asyncio.run(opened.run_cases(NAMES, work))]
        assert opened.stop_reason == "the server is down"
    assert torn == [*whole[:3], None, None, None]
    assert results(tmp_path / "torn", reborn) == whole
    assert Counter(dying.asked + reborn.asked).most_common(1)[0][1] == 1


def test_a_budget_ends_a_study_and_a_larger_one_goes_on(tmp_path: Path) -> None:
    with study(tmp_path, Oracle(), model_calls=6) as opened:
        ended = asyncio.run(opened.run_cases(NAMES, work))
        assert [one is not None for one in ended] == [True] + 5 * [False]
        assert opened.stop_reason == "the budget of 6 model calls is used up"
        assert opened.spent.model_calls == 6
        assert opened.spent.money == 1.5
    rest = Oracle()
    assert None not in results(tmp_path, rest, model_calls=24)
    assert len(rest.asked) == 18


def test_another_study_can_be_done_again_from_its_replies_alone(tmp_path: Path) -> None:
    first = results(tmp_path / "first", Oracle())
    with study(tmp_path / "again", Oracle(*(f"{name}.{call}" for name in NAMES for call in range(2)))) as opened:
        opened.replies.copy_from(tmp_path / "first" / "run.db")
        assert [one.result for one in asyncio.run(opened.run_cases(NAMES, work))] == first


def test_a_thing_to_be_done_once_is_done_once_though_its_case_is_done_again(tmp_path: Path) -> None:
    done: list[str] = []

    async def solve(opened: Study, case: LedgerCase) -> Any:
        async def solved() -> dict[str, int]:
            done.append(case.name)
            return {"objective": len(done)}

        found = await opened.run_once(case, "solve", solved)
        await case.ask("writer", [Message("user", "Explain.")])
        return found

    for model in (Oracle("a.0"), Oracle()):
        with study(tmp_path, model) as opened:
            ended = asyncio.run(opened.run_cases(["a"], lambda case, opened=opened: solve(opened, case)))
    assert done == ["a"]
    assert ended[0].result == {"objective": 1}


def test_a_bug_of_the_work_is_raised_and_names_are_different(tmp_path: Path) -> None:
    async def broken(case: LedgerCase) -> None:
        raise ZeroDivisionError

    with study(tmp_path, Oracle()) as opened:
        with pytest.raises(ZeroDivisionError):
            asyncio.run(opened.run_cases(NAMES, broken))
        with pytest.raises(ValueError, match="different"):
            asyncio.run(opened.run_cases(["a", "a"], work))
        with (
            Study(tmp_path / "other", {"writer": Oracle()}, Budget()) as other,
            pytest.raises(OragentError, match="judge"),
        ):
            other.get_model("judge")


def test_the_database_of_a_search_is_no_study(tmp_path: Path) -> None:
    from oragent.search.store import Store

    Store(tmp_path / "run.db").close()
    with pytest.raises(StoreError):
        study(tmp_path, Oracle())


@pytest.mark.parametrize(("written", "named"), [("3", "format 3"), ("study 1", "format 1"), ("one", "unknown format")])
@pytest.mark.parametrize("readonly", [True, False])
def test_a_database_of_another_format_is_refused_and_stays_as_it_is(
    tmp_path: Path, written: str, named: str, readonly: bool
) -> None:
    study(tmp_path, Oracle()).close()
    with contextlib.closing(sqlite3.connect(tmp_path / "run.db")) as database, database:
        database.execute("UPDATE meta SET value = ? WHERE key = 'version'", (written,))
    before = (tmp_path / "run.db").read_bytes()
    for kind in (KIND, None) if readonly else (KIND,):
        with pytest.raises(StoreError, match=rf"made by (an )?{named}; this version reads {FORMAT}"):
            Database(tmp_path / "run.db", SCHEMA, kind, readonly=readonly)
    assert (tmp_path / "run.db").read_bytes() == before


KILLED = """
import asyncio, os, signal, sys
from pathlib import Path
from tests.ledger.test_study import NAMES, Oracle, study, work

class Dying(Oracle):
    async def __call__(self, request):
        if len(self.asked) == 9:
            os.kill(os.getpid(), signal.SIGKILL)
        return await super().__call__(request)

with study(Path(sys.argv[1]), Dying(), 2) as opened:
    asyncio.run(opened.run_cases(NAMES, work))
"""


@pytest.mark.slow
def test_a_study_that_was_killed_goes_on_and_asks_nothing_twice(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    died = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path / "killed")], env=environment, check=False)
    assert died.returncode == -signal.SIGKILL
    with study(tmp_path / "killed", Oracle()) as opened:
        paid = [reply.key for reply in opened.all_replies()]
    rest = Oracle()
    assert results(tmp_path / "killed", rest) == results(tmp_path / "whole", Oracle())
    assert len(paid) == 9
    assert not set(paid) & set(rest.asked)
    assert len(paid) + len(rest.asked) == 4 * len(NAMES)


def test_the_check_of_a_server_is_a_call_of_the_study(tmp_path: Path) -> None:
    reply = Reply("OK", tokens_in=8, tokens_out=1, money=0.5, seconds=0.0, model="served")
    with study(tmp_path, Oracle(), model_calls=5) as opened:
        opened.record_checks([reply])
        assert (opened.spent.model_calls, opened.spent.tokens, opened.spent.money) == (1, 9, 0.5)
        done = asyncio.run(opened.run_cases(NAMES[:2], work))
        assert [one is None for one in done] == [False, True]  # the first takes the four calls that are left
    with study(tmp_path, Oracle()) as opened:
        opened.record_checks([reply])  # it is asked again, and paid for again
        assert [one.role for one in opened.all_replies()].count("check") == 2
        assert opened.spent.model_calls == 2 + 4


@pytest.mark.parametrize("statement", ["", "PRAGMA journal_mode=WAL"])
def test_what_a_process_leaves_that_is_killed_before_it_writes_is_an_empty_study(
    statement: str, tmp_path: Path
) -> None:
    with contextlib.closing(sqlite3.connect(tmp_path / "run.db")) as database:
        database.execute(statement)
    assert (tmp_path / "run.db").is_file()
    assert read_finished(tmp_path) == []
    assert finished_results(tmp_path) == {}
    with Database(tmp_path / "run.db", SCHEMA, KIND, noun="study"):
        pass
    assert read_finished(tmp_path) == []

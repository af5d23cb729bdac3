"""A search for a caller: within event loops, stopped in every way, with nothing of the caller's changed."""

import asyncio
import gc
import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import oragent
from oragent.search.events import Progress
from tests.test_api import asking, step, writer

FIXED = ("strategy.tuning=0",)  # which rounds tune goes with the budget, and runs that are compared have several

LONG: dict[str, Any] = {"workers": 1, "evaluations": 5000, "settings": FIXED, "strategy": step}


def state() -> dict[str, Any]:
    """What belongs to the caller."""
    return {
        "environment": {name: text for name, text in os.environ.items() if name != "PYTEST_CURRENT_TEST"},
        "signals": [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD)],
        "gc": (gc.isenabled(), gc.get_threshold(), gc.get_freeze_count()),
        "folder": Path.cwd(),
        "threads": {thread.name for thread in threading.enumerate()} & {"oragent search"},
        "timer": signal.getitimer(signal.ITIMER_REAL),
    }


@pytest.fixture
def untouched(monkeypatch: pytest.MonkeyPatch):
    """The caller's state is the same before and after; with a key and thread settings in it."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-mine")
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    before = state()
    yield before
    assert state() == before


def raising(problem: BaseException, at: int = 2) -> Callable[[Progress], None]:
    def progress(progress: Progress) -> None:
        if progress.spent.evaluations >= at:
            raise problem

    return progress


def only(root: Path) -> Path:
    (folder,) = (root / "outputs" / "toy").iterdir()
    return folder


def goes_on(root: Path, **functions: Any) -> None:
    """What was stopped has kept all that it had, and is resumed to what it would have found anyway."""
    before = oragent.load(only(root))
    assert not before.complete
    assert before.reason == "stopped by the program that began it"
    after = oragent.resume(only(root), evaluations=before.spent.evaluations + 3, **functions)
    assert after.complete
    assert after.candidates[: len(before.candidates)] == before.candidates
    whole = oragent.run(
        "toy",
        root=root,
        workers=1,
        evaluations=after.spent.evaluations,
        outputs=root / "whole",
        settings=FIXED,
        **functions,
    )
    assert [one.source for one in whole.candidates] == [one.source for one in after.candidates]


@pytest.mark.slow
def test_a_run_leaves_the_caller_as_it_was(toy: Path, tmp_path: Path, untouched: Any) -> None:
    seen: list[Any] = []

    def model(messages: list[dict[str, str]]) -> str:
        seen.append(os.environ.get("OPENAI_API_KEY"))
        return writer(messages)

    def progress(progress: Progress) -> None:
        seen.append(threading.current_thread())
        assert state()["signals"] == untouched["signals"]

    oragent.run("toy", root=tmp_path, workers=1, evaluations=2, model=model, strategy=asking, progress=progress)
    assert set(seen) == {threading.main_thread(), "sk-mine"}
    oragent.evaluate("toy", root=tmp_path)
    with pytest.raises(oragent.OragentError):
        oragent.run("toy", root=tmp_path, model={"name": "m", "base_url": "http://127.0.0.1:9/v1", "retries": 0})


@pytest.mark.slow
@pytest.mark.parametrize("problem", [ValueError("mine"), KeyboardInterrupt()], ids=repr)
def test_what_progress_raises_stops_a_run_that_goes_on(
    toy: Path, tmp_path: Path, untouched: Any, problem: BaseException
) -> None:
    with pytest.raises(type(problem)) as raised:
        oragent.run("toy", root=tmp_path, workers=1, evaluations=500, strategy=step, progress=raising(problem))
    assert raised.value is problem
    goes_on(tmp_path, strategy=step)


@pytest.mark.slow
def test_ctrl_c_stops_a_run_that_goes_on(toy: Path, tmp_path: Path, untouched: Any) -> None:
    begun = threading.Event()

    def press() -> None:
        begun.wait()
        time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGINT)

    presser = threading.Thread(target=press)
    presser.start()
    with pytest.raises(KeyboardInterrupt):
        oragent.run("toy", root=tmp_path, **LONG, progress=lambda progress: begun.set())
    presser.join()
    goes_on(tmp_path, strategy=step)


async def forever(messages: list[dict[str, str]]) -> str:
    await asyncio.Event().wait()
    return ""


@pytest.mark.slow
def test_a_second_ctrl_c_does_not_wait_for_what_is_asked(toy: Path, tmp_path: Path, untouched: Any) -> None:
    asked = threading.Event()

    async def endless(messages: list[dict[str, str]]) -> str:
        asked.set()
        return await forever(messages)

    def press() -> None:
        asked.wait()
        for _ in range(2):
            time.sleep(0.3)
            os.kill(os.getpid(), signal.SIGINT)

    presser = threading.Thread(target=press)
    presser.start()
    with pytest.raises(KeyboardInterrupt):
        oragent.run("toy", root=tmp_path, workers=1, model=endless, strategy=asking)
        presser.join()
    presser.join()
    assert oragent.resume(only(tmp_path), model=writer, strategy=asking, evaluations=2).best.score == 39


@pytest.mark.slow
def test_a_run_within_a_running_loop_has_one_of_its_own(toy: Path, tmp_path: Path, untouched: Any) -> None:
    async def cell() -> oragent.SearchRun:
        run = oragent.run("toy", root=tmp_path, workers=1, evaluations=3, model=writer, strategy=asking)
        await asyncio.sleep(0)
        return run

    assert asyncio.run(cell()).best.score == 39


def test_a_run_is_awaited_in_the_callers_loop(toy: Path, tmp_path: Path, untouched: Any) -> None:
    async def program() -> oragent.SearchRun:
        loop = asyncio.get_running_loop()

        async def model(messages: list[dict[str, str]]) -> str:
            assert asyncio.get_running_loop() is loop
            return writer(messages)

        return await oragent.run_async("toy", root=tmp_path, workers=1, evaluations=2, model=model, strategy=asking)

    assert asyncio.run(program()).best.score == 39


@pytest.mark.slow
def test_two_runs_are_awaited_side_by_side(toy: Path, tmp_path: Path) -> None:
    async def program() -> list[oragent.SearchRun]:
        runs = [oragent.run_async("toy", root=tmp_path, workers=1, evaluations=3, seed=seed) for seed in (1, 2)]
        return await asyncio.gather(*runs)

    assert [run.complete for run in asyncio.run(program())] == [True, True]


@pytest.mark.slow
def test_cancelling_stops_a_run_that_goes_on(toy: Path, tmp_path: Path, untouched: Any) -> None:
    async def program() -> None:
        begun = asyncio.Event()
        task = asyncio.create_task(
            oragent.run_async("toy", root=tmp_path, **LONG, progress=lambda progress: begun.set())
        )
        await begun.wait()
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(program())
    goes_on(tmp_path, strategy=step)


@pytest.mark.slow
def test_cancelling_twice_does_not_wait_for_what_is_asked(toy: Path, tmp_path: Path, untouched: Any) -> None:
    async def program() -> None:
        asked = asyncio.Event()

        async def endless(messages: list[dict[str, str]]) -> str:
            asked.set()
            return await forever(messages)

        task = asyncio.create_task(oragent.run_async("toy", root=tmp_path, workers=1, model=endless, strategy=asking))
        await asked.wait()
        for _ in range(2):
            task.cancel()
            await asyncio.sleep(0)
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(program())
    assert oragent.resume(only(tmp_path), model=writer, strategy=asking, evaluations=2).best.score == 39


@pytest.mark.slow
def test_what_progress_raises_ends_an_awaited_run_too(toy: Path, tmp_path: Path, untouched: Any) -> None:
    problem = ValueError("mine")
    with pytest.raises(ValueError, match="mine") as raised:
        asyncio.run(
            oragent.run_async(
                "toy", root=tmp_path, workers=1, strategy=step, evaluations=500, progress=raising(problem)
            )
        )
    assert raised.value is problem
    goes_on(tmp_path, strategy=step)

"""What a search runs at this moment: written while it changes, read with care, and gone at the end."""

import asyncio
import json
import time
from pathlib import Path

import pytest

from oragent.evaluation.pool import RunningJob
from oragent.search import running_work
from oragent.search.running_work import MAX_TASKS, RUNNING, read_running, show_running


def test_running_tasks_are_written_with_the_time_of_their_start_and_removed_at_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running_work, "LOOK_S", 0.001)
    jobs = [RunningJob("sweep, round 7: setting 4 of 9, 120 of 309 CPU s", time.monotonic() - 30)]

    async def show() -> list[list[str]]:
        showing = asyncio.create_task(show_running(tmp_path, lambda: list(jobs)))
        seen = []
        for number in (1, 2):
            while len(tasks := read_running(tmp_path)) != number:
                await asyncio.sleep(0.001)
            seen.append([task.what for task in tasks])
            assert abs(time.time() - tasks[0].since - 30) < 10
            jobs.append(RunningJob("jitter of 3.0, round 8", time.monotonic()))
        showing.cancel()
        await asyncio.gather(showing, return_exceptions=True)
        return seen

    first, second = asyncio.run(show())
    assert second == [*first, "jitter of 3.0, round 8"]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "text", ["", "{", "[1]", '[{"what": "a"}]', '[{"what": "a", "since": "x"}]', "[" * 5000, '{"a": 1}', "\udcff"]
)
def test_a_damaged_file_is_as_none(tmp_path: Path, text: str) -> None:
    (tmp_path / RUNNING).write_text(text, errors="surrogateescape")
    assert read_running(tmp_path) == []


def test_neither_a_link_nor_more_tasks_than_the_limit_are_read(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere.json"
    elsewhere.write_text(json.dumps([{"what": "a", "since": 1}] * (MAX_TASKS + 5)))
    (tmp_path / RUNNING).symlink_to(elsewhere)
    assert read_running(tmp_path) == []
    (tmp_path / RUNNING).unlink()
    elsewhere.rename(tmp_path / RUNNING)
    assert len(read_running(tmp_path)) == MAX_TASKS

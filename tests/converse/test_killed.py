"""Four designs in one evaluation, killed by the kernel in the middle, and gone on with by the same command."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow
REPLIES_AT_THE_KILL, PATIENCE_S = 60, 300.0
OPTIONS = (
    "--agents", "T-P-P,C-P-P,C-P-R,C-N-R", "--decider", "llm", "--model", "scripted", "--paradigms", "conversation",
    "--styles", "vague", "--workers", "2",
)  # fmt: skip


def command(out: Path, utilities: str) -> list[str]:
    return [
        sys.executable,
        "-m",
        "oragent",
        "bench",
        "converse",
        *OPTIONS,
        "--utilities",
        utilities,
        "--outputs",
        str(out),
    ]


def rows(out: Path, query: str) -> list[tuple[Any, ...]]:
    found: list[tuple[Any, ...]] = []
    for place in sorted(out.rglob("run.db")):
        with (
            suppress(sqlite3.OperationalError),
            closing(sqlite3.connect(f"file:{place}?mode=ro", uri=True)) as database,
        ):
            found += [(str(place.relative_to(out)), *row) for row in database.execute(query)]
    return found


REPLIES = "SELECT rowid, key, prompt_hash, text FROM replies ORDER BY rowid"
RESULTS = "SELECT name, result FROM cases ORDER BY name"


def results(out: Path) -> list[tuple[str, str, Any]]:
    return [(place, name, json.loads(result) | {"seconds": 0}) for place, name, result in rows(out, RESULTS)]


def test_four_designs_killed_and_resumed_ask_nothing_twice(tmp_path: Path, few: str) -> None:
    out, whole = tmp_path / "out", tmp_path / "whole"
    running = subprocess.Popen(command(out, few), stdout=subprocess.DEVNULL, start_new_session=True)
    give_up = time.monotonic() + PATIENCE_S
    while len(rows(out, REPLIES)) < REPLIES_AT_THE_KILL and running.poll() is None and time.monotonic() < give_up:
        time.sleep(0.05)
    os.killpg(running.pid, signal.SIGKILL)
    assert running.wait() == -signal.SIGKILL
    before = rows(out, REPLIES)
    assert len(before) >= REPLIES_AT_THE_KILL
    again = subprocess.run(command(out, few), capture_output=True, text=True, check=False)
    assert again.returncode == 0, again.stderr
    after = rows(out, REPLIES)
    assert set(before) <= set(after)  # what was there is there as it was, in its place: nobody was asked for it again
    assert len({(place, key) for place, _, key, *_ in after}) == len(after)
    undisturbed = subprocess.run(command(whole, few), capture_output=True, text=True, check=False)
    assert undisturbed.returncode == 0, undisturbed.stderr
    assert len(rows(whole, REPLIES)) == len(after)
    assert results(out) == results(whole)
    for name in ("T-P-P", "C-P-P", "C-P-R", "C-N-R"):
        assert name in again.stdout
    page = (out / "report.html").read_text()
    for title in ("Agents by style and feedback", "One-sided tests", "Ends", "Audit", "Contestants"):
        assert title in page

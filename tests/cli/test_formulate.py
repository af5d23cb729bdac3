"""``oragent formulate`` with a server, killed and resumed, and ``oragent bench formulate``."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_cli import environment, oragent
from tests.formulate import pharmacy
from tests.formulate.pharmacy import speaks
from tests.llm.chat_server import Answer, ChatServer, ok


def serve(body: dict[str, Any]) -> Answer:
    return ok(speaks(body["messages"]))


def slow(body: dict[str, Any]) -> Answer:
    """A server that answers, from the checker on, only after the test has ended."""
    told = speaks(body["messages"])
    return ok(told, delay_s=60.0 if told.startswith("```python") else 0.0)


@pytest.mark.slow
def test_a_problem_is_formulated_with_a_model_behind_a_server(tmp_path: Path) -> None:
    (tmp_path / "pharmacy.md").write_text(pharmacy.TEXT)
    with ChatServer(then=serve) as server:
        done = oragent(
            "formulate", "pharmacy.md", "--model", "served", cwd=tmp_path, OPENAI_BASE_URL=server.url,
            OPENAI_API_KEY="sk-secret",
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert server.requests[-1]["temperature"] == 0.0
    (folder,) = (tmp_path / "outputs" / "formulate" / "pharmacy").iterdir()
    result = json.loads((folder / "result.json").read_text())
    assert (result["verdict"], result["objective"]) == ("checked", 735)
    assert result["calls"] == len(server.requests)
    assert all(b"sk-secret" not in path.read_bytes() for path in folder.rglob("*") if path.is_file())
    assert json.loads((folder / "formulate.json").read_text())["runtime"]["model"]["name"] == "served"
    shown = oragent("solve", folder / "milp.json", "--explain", cwd=tmp_path)
    assert "735" in shown.stdout
    (folder / "report.html").unlink()
    for verb in ("show", "report"):  # those of a search do for a formulation, too
        done = oragent(verb, folder, cwd=tmp_path, OPENAI_API_KEY="sk")
        assert done.returncode == 0, done.stderr
        assert "report" in done.stdout
    assert (folder / "report.html").is_file()


@pytest.mark.slow
def test_killed_and_resumed_nothing_is_asked_twice(tmp_path: Path) -> None:
    (tmp_path / "pharmacy.md").write_text(pharmacy.TEXT)
    command = [sys.executable, "-m", "oragent", "formulate", "pharmacy.md", "--model", "served"]
    with ChatServer(then=slow) as server:
        given = environment(OPENAI_BASE_URL=server.url, OPENAI_API_KEY="sk")
        begun = subprocess.Popen(command, cwd=tmp_path, env=given, stdout=subprocess.DEVNULL)
        while len(server.requests) < 3:  # the probe, the program, and the checker that waits
            time.sleep(0.05)
        os.kill(begun.pid, signal.SIGKILL)
        begun.wait()
    (folder,) = (tmp_path / "outputs" / "formulate" / "pharmacy").iterdir()
    with ChatServer(then=serve) as server:
        done = oragent("resume", folder, cwd=tmp_path, OPENAI_BASE_URL=server.url, OPENAI_API_KEY="sk")
        assert done.returncode == 0, done.stderr
        assert len(server.requests) == 3  # the probe, the checker, and the repair
    assert "735" in done.stdout


@pytest.mark.slow
def test_a_benchmark_is_run_from_the_command_line(tmp_path: Path) -> None:
    words = ("--set", "families", "--model", "oracle", "--limit", "2", "--workers", "1", "--outputs", "b")
    done = oragent("bench", "formulate", *words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "100.0" in done.stdout
    assert (tmp_path / "b" / "report.html").is_file()
    wrong = oragent(
        "bench", "formulate", "--set", "families", "--model", "oracle", "--temperatures", "warm", cwd=tmp_path
    )
    assert wrong.returncode == 1
    assert "expected numbers" in wrong.stderr

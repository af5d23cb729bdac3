"""The page beside a running search: it ends with the search, and events reach every entry point."""

import re
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest
from typer.testing import CliRunner

import oragent
from oragent._base.errors import ConfigError
from oragent.cli.app import app
from oragent.report.live.server import open_companion
from oragent.search.events import EventKind, RunEvent
from tests.extras import need
from tests.report.runs import describe, searched, write

need("starlette")


@pytest.fixture
def run(tmp_path: Path) -> Path:
    describe(tmp_path / "run")
    write(tmp_path / "run", searched(5))
    return tmp_path / "run"


def answers(address: str) -> bool:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(address.split("#")[0], timeout=10) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


@pytest.mark.slow
def test_the_page_is_there_while_a_search_runs_and_ends_with_it(run: Path) -> None:
    lines: list[str] = []
    with open_companion(run, lines.append):
        (address,) = re.findall(r"http://127\.0\.0\.1\S+", lines[0])
        assert address.endswith("#/run/run")
        assert answers(address)
    assert not answers(address)


@pytest.mark.slow
def test_the_page_ends_where_the_search_is_killed(run: Path) -> None:
    code = f"""if True:
        import os
        from pathlib import Path
        from oragent.report.live.server import open_companion
        with open_companion(Path({str(run)!r}), lambda line: print(line, flush=True)):
            os.kill(os.getpid(), 9)
    """
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    (address,) = re.findall(r"http://127\.0\.0\.1\S+", ended.stdout)
    deadline = time.monotonic() + 20
    while answers(address) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not answers(address)


@pytest.mark.slow
def test_a_page_that_cannot_be_served_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(ConfigError), open_companion(tmp_path / "nothing", print):
        pass


@pytest.mark.slow
def test_a_run_shows_its_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    words = ["run", "tsp_constructive", "--evaluations", "3", "--watch", "--outputs", str(tmp_path), "--workers", "1"]
    ended = CliRunner().invoke(app, words)
    assert ended.exit_code == 0, ended.output
    assert "page: http://127.0.0.1" in ended.output


@pytest.mark.slow
def test_resumed_and_compared_runs_report_their_events(tmp_path: Path) -> None:
    events: list[RunEvent] = []
    first = oragent.run("tsp_constructive", evaluations=3, outputs=tmp_path / "a", workers=1)
    oragent.resume(first.folder, evaluations=5, on_event=events.append)
    assert events[0].kind is EventKind.BEGUN
    assert events[-1].kind is EventKind.ENDED
    compared: list[RunEvent] = []
    found = oragent.comparison(
        "tsp_constructive", strategies=["gp"], seeds=2, evaluations=3, outputs=tmp_path / "b", on_event=compared.append
    )
    begun = [str(event.data["folder"]) for event in compared if event.kind is EventKind.BEGUN]
    assert len(set(begun)) == 2
    assert all(str(found.folder) in folder for folder in begun)

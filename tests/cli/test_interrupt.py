"""Ctrl-C as a person presses it: real signals to a real process, answered at once."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import typer

import oragent
from oragent.cli.app import ProductGroup
from oragent.search.folder import reopen
from oragent.search.store import Store
from tests.cli.test_cli import _committed, environment, only_run
from tests.processes import bearing


def begin(root: Path, toy: Path, *settings: str, seconds: float) -> subprocess.Popen[str]:
    """Begin a run whose evaluations take long once some candidates were committed."""
    text = (toy / "eval.py").read_text()
    slow = f"if value > 6.5:\n    import time; time.sleep({seconds})\n"
    (toy / "eval.py").write_text(text.replace("print(format_result", f"{slow}print(format_result"))
    command = [sys.executable, "-m", "oragent", "run", "toy", "--evaluations", "5000", "--workers", "2", *settings]
    return subprocess.Popen(
        command, cwd=root, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def until(process: subprocess.Popen[str], root: Path, candidates: int) -> None:
    while _committed(root) < candidates:
        time.sleep(0.05)
        assert process.poll() is None


@pytest.mark.slow
def test_the_first_is_answered_at_once_and_what_is_evaluated_is_kept(toy: Path, tmp_path: Path) -> None:
    process = begin(tmp_path, toy, seconds=3)
    until(process, tmp_path, 1)
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    assert process.stderr is not None
    answer = ""
    begun = time.monotonic()
    while "once more" not in answer:
        answer += process.stderr.readline()
    answered = time.monotonic() - begun
    said, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "ending 2 evaluations, once more to end now" in answer
    assert answered < time.monotonic() - begun  # before they had ended
    assert "stopped by Ctrl-C" in said
    folder = only_run(tmp_path)
    with Store(folder / "run.db", readonly=True) as store:
        kept = store._db.query_row("SELECT COUNT(*) AS number FROM evaluations WHERE wall_s > 2.5")["number"]
    assert kept >= 2


@pytest.mark.slow
def test_the_second_ends_now_and_still_leaves_the_report_and_the_way_on(toy: Path, tmp_path: Path) -> None:
    process = begin(tmp_path, toy, "limits.timeout_s=600", seconds=500)
    until(process, tmp_path, 1)
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    time.sleep(0.5)
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    said, complaints = process.communicate(timeout=60)
    folder = only_run(tmp_path)
    assert process.returncode == 130, complaints
    assert "Traceback" not in complaints
    assert "stopped by Ctrl-C" in said
    assert f"oragent resume {folder}" in said
    assert (folder / "report.html").is_file()
    assert (folder / "best.py").is_file()
    with Store(folder / "run.db", readonly=True) as store:
        assert store.meta("end") == "stopped by Ctrl-C"
        assert store.rounds()
    assert reopen(folder).config.budget.evaluations == 5000
    assert bearing(str(tmp_path)) == []


@pytest.mark.slow
@pytest.mark.parametrize("presses", [1, 2])
def test_a_press_before_the_seed_has_a_score_ends_in_one_line(toy: Path, tmp_path: Path, presses: int) -> None:
    (toy / "eval.py").write_text("# oragent\nimport time\ntime.sleep(2)\n" + (toy / "eval.py").read_text())
    command = [sys.executable, "-m", "oragent", "run", "toy", "--evaluations", "50"]
    process = subprocess.Popen(
        command, cwd=tmp_path, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    while not list(tmp_path.glob("outputs/toy/*/run.db")):
        time.sleep(0.05)
    time.sleep(3)  # asked for its help first
    for _ in range(presses):
        process.send_signal(signal.SIGINT)
        time.sleep(0.3)
    said, complaints = process.communicate(timeout=60)
    assert process.returncode == 130 if presses == 1 else process.returncode in (1, 130)
    assert "Traceback" not in complaints
    assert "stopped by Ctrl-C" in said + complaints
    if presses == 1:
        (folder,) = tmp_path.glob("outputs/toy/*")
        assert f"oragent resume {folder}" in said
        run = oragent.resume(folder, evaluations=2)
        assert run.spent.evaluations == 2


@pytest.mark.slow
@pytest.mark.parametrize("after_s", [0.0, 0.2, 0.5, 0.9, 1.5, 2.5])
def test_an_early_press_ends_in_one_line_that_says_whether_a_run_is_kept(
    toy: Path, tmp_path: Path, after_s: float
) -> None:
    # the interpreter itself prints a traceback until it has started
    begin = "from oragent.__main__ import main; print('up', flush=True); main()"
    command = [sys.executable, "-c", begin, "run", "toy", "--evaluations", "5000", "--workers", "1"]
    process = subprocess.Popen(
        command, cwd=tmp_path, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "up\n"
    time.sleep(after_s)
    process.send_signal(signal.SIGINT)
    said, complaints = process.communicate(timeout=60)
    assert "Traceback" not in complaints
    assert "stopped by Ctrl-C" in said + complaints
    if list(tmp_path.glob("outputs/toy/*/run.db")):
        assert "oragent resume" in said
    else:
        assert "toy by" not in said


def test_a_press_before_a_command_can_answer_it_ends_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    group = typer.Typer(cls=ProductGroup)

    @group.command()
    def first() -> None:
        raise KeyboardInterrupt

    @group.command()
    def second() -> None: ...

    with pytest.raises(SystemExit) as ended:
        group(["first"])
    assert ended.value.code == 130
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.slow
def test_a_press_that_the_import_system_ignores_is_heard(tmp_path: Path) -> None:
    """A callback of a weak reference swallows the exception, as one of the import system may."""
    begin = """
import os, signal, sys, types, weakref
from oragent.__main__ import main

class Dropped: ...

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "oragent.cli.app":
            dropped = Dropped()
            keep.append(weakref.ref(dropped, lambda _: [os.kill(os.getpid(), signal.SIGINT), *range(1000)]))
            del dropped
        return None

keep = []
sys.meta_path.insert(0, Finder())
main()
"""
    command = [sys.executable, "-c", begin, "problems"]
    ended = subprocess.run(command, cwd=tmp_path, env=environment(), capture_output=True, text=True, timeout=60)
    assert ended.stderr.splitlines() == ["oragent: stopped by Ctrl-C"]
    assert ended.returncode == 130

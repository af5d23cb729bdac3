"""Evaluations under a server: like by hand, whatever dies is replaced, and all of it ends with the engine."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from oragent._base.errors import SandboxError
from oragent._base.protocol import Result, Status, format_result
from oragent.evaluation import Evaluation, EvaluationRunner, Job
from oragent.sandbox import client
from oragent.sandbox.isolation.probe import probe_mechanisms
from oragent.sandbox.messages import EndReason, Limits
from tests.processes import bearing, lineage

BLOCK = format_result(Result({"a": 1.5}, (1, 2), 3.5))
PROJECT = Path(__file__).parents[2]


def job(folder: Path, script: str, cpu_s: float = 20) -> Job:
    (folder / "eval.py").write_text(script)
    return Job(folder / "eval.py", "", folder, Limits(cpu_s=cpu_s))


def waiting(folder: Path) -> str:
    """An evaluation that goes on when it is told to."""
    go = str(folder / "go")
    return f"import os, time\nwhile not os.path.exists({go!r}): time.sleep(0.01)\nprint('''{BLOCK}''')"


def strike(folder: Path, above: int, number: signal.Signals) -> None:
    """Send a signal to one of the processes of the evaluation that waits, then tell it to go on."""
    os.kill(generation(folder, above), number)
    (folder / "go").touch()


def family(folder: Path) -> dict[int, tuple[int, int]]:
    """All processes of a folder's server, with parent and session."""
    found = {}
    for process in bearing(f"--root-dir={folder}"):
        with suppress(OSError):
            found[process] = lineage(process)
    return found


def generation(folder: Path, above: int) -> int:
    """Once an evaluation is under way: itself (0), its worker (1), the zygote (2), the warden (3), the first (4)."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        members = family(folder)
        for process, (_, session) in members.items():
            line = [process]
            while line[-1] in members and members[line[-1]][0] in members:
                line.append(members[line[-1]][0])
            if session == process and len(line) == 5:
                return line[above]
        time.sleep(0.02)
    raise AssertionError("no evaluation was begun")


def gone(folder: Path) -> bool:
    deadline = time.monotonic() + 10
    while family(folder) and time.monotonic() < deadline:
        time.sleep(0.02)
    return not family(folder)


@pytest.fixture
def sandbox() -> Iterator[EvaluationRunner]:
    with EvaluationRunner() as made:
        yield made


def meanwhile(sandbox: EvaluationRunner, job: Job, act: Callable[[], None]) -> Evaluation:
    """Evaluate, and do something once the evaluation is under way."""
    found: list[Evaluation] = []
    thread = threading.Thread(target=lambda: found.append(sandbox(job)))
    thread.start()
    act()
    thread.join(60)
    return found[0]


@pytest.mark.slow
@pytest.mark.parametrize("number", [4, 3, 2, 1], ids=["first", "warden", "zygote", "worker"])
def test_a_server_that_is_killed_costs_nobody_a_result(tmp_path: Path, sandbox: EvaluationRunner, number: int) -> None:
    found = meanwhile(sandbox, job(tmp_path, waiting(tmp_path)), lambda: strike(tmp_path, number, signal.SIGKILL))
    assert (found.status, found.score) == (Status.OK, 3.5)
    assert sandbox(job(tmp_path, f"print('''{BLOCK}''')")).score == 3.5


def test_an_evaluation_that_is_killed_is_noticed_at_once(tmp_path: Path, sandbox: EvaluationRunner) -> None:
    found = meanwhile(
        sandbox, job(tmp_path, "import time; time.sleep(20)"), lambda: os.kill(generation(tmp_path, 0), signal.SIGKILL)
    )
    assert (found.status, found.end) == (Status.CRASHED, EndReason.SIGNALLED)
    assert found.wall_s < 10


def test_an_evaluation_that_always_takes_its_server_along_is_given_up(
    tmp_path: Path, sandbox: EvaluationRunner
) -> None:
    def kill_twice() -> None:
        first = generation(tmp_path, 1)
        os.kill(first, signal.SIGKILL)
        while (second := generation(tmp_path, 1)) == first:
            time.sleep(0.02)
        os.kill(second, signal.SIGKILL)

    found = meanwhile(sandbox, job(tmp_path, "import time; time.sleep(20)"), kill_twice)
    assert (found.status, found.end) == (Status.CRASHED, EndReason.LOST)
    assert found.was_started


@pytest.mark.slow
def test_a_server_that_stands_still_is_replaced(
    tmp_path: Path, sandbox: EvaluationRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "SILENT_S", 3)
    slow = job(tmp_path, waiting(tmp_path))
    assert meanwhile(sandbox, slow, lambda: strike(tmp_path, 1, signal.SIGSTOP)).score == 3.5


@pytest.mark.slow
def test_all_processes_end_when_the_engine_is_killed(tmp_path: Path) -> None:
    (tmp_path / "eval.py").write_text("import time; time.sleep(60)")
    engine = textwrap.dedent(f"""
        from pathlib import Path
        from oragent.evaluation import EvaluationRunner, Job
        from oragent.sandbox.messages import Limits
        from oragent.sandbox import client
        folder = Path({str(tmp_path)!r})
        EvaluationRunner()(Job(folder / "eval.py", "", folder, Limits(cpu_s=60)))
    """)
    environment = {**os.environ, "PYTHONPATH": str(PROJECT), "TMPDIR": str(tmp_path)}
    process = subprocess.Popen([sys.executable, "-c", engine], env=environment)
    generation(tmp_path, 0)
    process.kill()
    process.wait()
    assert gone(tmp_path)
    assert list(tmp_path.glob("oragent-*")) == []  # and no folder of temporary files either


def test_closing_a_sandbox_ends_what_runs(tmp_path: Path) -> None:
    sandbox, problems = EvaluationRunner(), []

    def evaluate() -> None:
        try:
            sandbox(job(tmp_path, "import time; time.sleep(60)"))
        except SandboxError as problem:
            problems.append(str(problem))

    thread = threading.Thread(target=evaluate)
    thread.start()
    generation(tmp_path, 0)
    sandbox.close()
    assert gone(tmp_path)
    thread.join(20)
    assert problems == ["the sandbox is closed"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "body",
    [
        "pass",
        "import sys; sys.exit(3)",
        "import sys; sys.exit('a reason')",
        "raise ValueError('boom')",
        "import atexit; atexit.register(print, 'at exit')",
        "import threading, time\nthreading.Thread(target=lambda: (time.sleep(0.2), print('thread'))).start()",
        "print(__name__, __file__.rsplit('/', 1)[1], len(__import__('sys').argv))",
        "import os, sys; print(sys.path[0] == os.getcwd(), sys.path[1:])",
        "import pickle\nclass Local: pass\nprint(type(pickle.loads(pickle.dumps(Local()))) is Local)",
        "import random, os\nprint(os.environ['PYTHONHASHSEED'], hash('text'))",
    ],
)
def test_a_forked_interpreter_does_what_a_fresh_one_does(tmp_path: Path, body: str) -> None:
    ends = []
    for warm in (True, False):
        with EvaluationRunner(warm=warm) as sandbox:
            found = sandbox(job(tmp_path, f"print('begin')\n{body}"))
            ends.append((found.status, found.message, found.output, found.log))
    assert ends[0] == ends[1]


@pytest.mark.slow
def test_a_problem_scores_the_same_either_way() -> None:
    folder = PROJECT / "problems" / "tsp_constructive"
    scores = []
    for warm in (True, False):
        with EvaluationRunner(warm=warm) as sandbox:
            source = (folder / "heuristic.py").read_text()
            scores.append(sandbox(Job(folder / "eval.py", source, PROJECT, Limits(), mode="train")).score)
    assert scores[0] == scores[1] is not None


def test_imports_that_start_threads_are_not_forked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "busy_import.py").write_text(
        "import threading\nthreading.Thread(target=threading.Event().wait, daemon=True).start()"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    script = f"import busy_import, threading\nprint(threading.active_count())\nprint('''{BLOCK}''')"
    with EvaluationRunner() as sandbox:
        found = sandbox(job(tmp_path, script))
    assert (found.score, found.output.split()[0]) == (3.5, "2")


@pytest.mark.slow
def test_an_evaluation_says_how_long_it_waited_and_why_it_ended(tmp_path: Path) -> None:
    with EvaluationRunner() as sandbox:
        found: list[Evaluation] = []
        one = job(tmp_path, f"import time; time.sleep(0.5)\nprint('''{BLOCK}''')")
        threads = [threading.Thread(target=lambda: found.append(sandbox(one))) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert max(one.queued_s for one in found) > 0.4
    assert {one.end for one in found} == {EndReason.EXITED}


@pytest.mark.slow
def test_scripts_are_forked_whatever_the_path_by_which_python_was_started(tmp_path: Path) -> None:
    folder, words = Path(sys.executable).parent, "import json, sys\nprint('colorsys' in sys.modules)\n"
    (tmp_path / "eval.py").write_text(f"import colorsys\n{words}")
    engine = f"""
        from pathlib import Path
        from oragent.sandbox.messages import PYTHON, Command
        from oragent.sandbox.sandbox import Sandbox
        with Sandbox() as sandbox:
            command = Command((PYTHON, "eval.py"), {{"eval.py": {words!r}}})
            print(sandbox(command, warm_up=Path({str(tmp_path / "eval.py")!r})).stdout)
    """
    python = folder / ".." / folder.name / Path(sys.executable).name
    asked = [str(python), "-c", textwrap.dedent(engine)]
    ended = subprocess.run(asked, capture_output=True, text=True, cwd=PROJECT, check=False)
    assert ended.stdout.split() == ["True"], ended.stderr
    assert "a new interpreter" not in ended.stderr


@pytest.mark.slow
def test_a_script_that_cannot_be_forked_is_reported_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "threads.py").write_text(
        "import threading, time\nthreading.Thread(target=time.sleep, args=(60,), daemon=True).start()\n"
    )
    (tmp_path / "eval.py").write_text(f"import threads\nprint({BLOCK!r})")
    lines: list[str] = []
    with EvaluationRunner(tell=lines.append) as run:
        assert run(Job(tmp_path / "eval.py", "", tmp_path, Limits(cpu_s=20))).status is Status.OK
    assert len(lines) == 1
    assert "imports start threads" in lines[0]


@pytest.mark.slow
def test_means_are_tried_once_where_all_work_and_again_when_a_server_dies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not all(report.works for report in probe_mechanisms()):
        pytest.skip("not held on this machine: a means that does not work is tried by every server")
    monkeypatch.setattr(client, "_ALL_MECHANISMS", set())
    commands: list[list[str]] = []
    start = subprocess.Popen

    def record(command: list[str], **options: object) -> subprocess.Popen[bytes]:
        commands.append(command)
        return start(command, **options)

    monkeypatch.setattr(client.subprocess, "Popen", record)
    for _ in range(2):
        with EvaluationRunner() as run:
            assert run(job(tmp_path, f"print('''{BLOCK}''')")).score == 3.5
    assert ["--all-mechanisms" in command for command in commands] == [False, True]
    monkeypatch.setenv("ORAGENT_ISOLATION", "limits")
    with EvaluationRunner() as run:
        assert run(job(tmp_path, f"print('''{BLOCK}''')")).score == 3.5
    assert "--all-mechanisms" not in commands[-1]
    monkeypatch.delenv("ORAGENT_ISOLATION")
    with EvaluationRunner() as run:
        assert run(job(tmp_path, f"print('''{BLOCK}''')")).score == 3.5
        os.kill(family_of(tmp_path), signal.SIGKILL)
        assert run(job(tmp_path, f"print('''{BLOCK}''')")).score == 3.5
    assert ["--all-mechanisms" in command for command in commands[-2:]] == [True, False]


def family_of(folder: Path) -> int:
    """The first process of a folder's server."""
    members = family(folder)
    (first,) = (process for process, (parent, _) in members.items() if parent not in members)
    return first

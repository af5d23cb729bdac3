"""On a system that is not Linux oragent starts, says what it does not hold, and searches, scores and stops as here.

Each test starts Pythons that lack what only Linux has (``sitecustomize.py`` beside this file).
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE, ROOT = Path(__file__).parent, Path(__file__).parents[2]
GUESTS = """
import os, sys, tempfile
from pathlib import Path
from oragent._base.errors import CandidateError
from oragent.harness import Guest
os.environ["ORAGENT_MEMORY_MB"] = "256"
for number, body in enumerate(sys.stdin.read().split(";;")):
    path = Path(tempfile.mkdtemp()) / "heuristic.py"
    path.write_text("def f(x):\\n    " + body + "\\n    return 2 * x")
    with Guest(path, "f", fresh_processes=bool(number % 2)) as guest:
        guest.limit_s = 20.0 if "held" in body else 2.0
        try:
            answers = [guest(x) for x in (1, 2)]
            guest.renew() if number % 2 else None
            print("ok", [*answers, guest(3)])
        except CandidateError as problem:
            print(problem.status, problem)
"""
MISBEHAVIOUR = {
    "pass": "ok [2, 4, 6]",
    "x = x": "ok [2, 4, 6]",
    "while True: pass": "timeout took too long for one call",
    "held = [b'x' * (64 << 20) for _ in range(40)]; import time; time.sleep(60)": "memory ran out of memory",
    "import os; open(f'/tmp/elsewhere-{os.getuid()}', 'wb', 0).write(b'x' * 100)": "error OSError: [Errno 27] File too large",
    "import os, signal; os.kill(os.getpid(), signal.SIGKILL)": "crashed ended its own process by SIGKILL",
}
PLAIN = """
{body}
print("__SANDBOX_RESULT__\\n__METRICS_START__\\n{{}}\\n__METRICS_END__\\n__FEATURES_START__\\nNone\\n__FEATURES_END__")
print("__SCORE_START__\\n1.0\\n__SCORE_END__\\n__SANDBOX_SUCCESS__")
"""


def elsewhere(*words: object, cwd: Path, code: bool = False, given: str = "") -> subprocess.CompletedProcess[str]:
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR", "NUMBA_CACHE_DIR") if name in os.environ}
    paths = os.pathsep.join([str(HERE), str(ROOT)])
    environment = {**kept, "PYTHONPATH": paths, "ORAGENT_ISOLATION": "portable", "COLUMNS": "200"}
    command = [sys.executable, "-c" if code else "-m", *([] if code else ["oragent"]), *map(str, words)]
    return subprocess.run(command, cwd=cwd, env=environment, input=given, capture_output=True, text=True, timeout=200)


def test_what_linux_alone_has_is_gone(tmp_path: Path) -> None:
    lines = (
        "import ctypes, os, socket, resource",
        "globals()['__name__'] = 'oragent.asking'",
        "print(os.path.exists('/proc/self'), hasattr(os, 'waitid'), hasattr(ctypes.CDLL(None), 'prctl'))",
        "open('/proc/self/statm')",
    )
    done = elsewhere("\n".join(lines), cwd=tmp_path, code=True)
    assert done.stdout == "False False False\n"
    assert "FileNotFoundError" in done.stderr


@pytest.mark.slow
def test_doctor_says_what_is_not_held(tmp_path: Path) -> None:
    done = elsewhere("doctor", cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    for words in ("only on Linux, and this is", "a few times a second", "NOT HELD  open a network"):
        assert words in done.stdout
    assert "held      print or patch its way to a score" in done.stdout


@pytest.mark.slow
def test_a_search_begins_by_saying_what_is_not_held_and_ends_with_a_report(toy: Path, tmp_path: Path) -> None:
    done = elsewhere("run", "toy", "--evaluations", 8, "--seed", 5, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "careful: on this machine nothing keeps a candidate from this" in done.stdout
    assert "8 evaluations" in done.stdout
    (run,) = (tmp_path / "outputs" / "toy").iterdir()
    assert (run / "report.html").is_file()
    assert elsewhere("resume", run, "budget.evaluations=10", cwd=tmp_path).returncode == 0


@pytest.mark.slow
def test_a_guest_is_held_by_limits_alone(tmp_path: Path) -> None:
    done = elsewhere(GUESTS, cwd=tmp_path, code=True, given=";;".join(MISBEHAVIOUR))
    assert done.stdout.splitlines() == list(MISBEHAVIOUR.values()), done.stderr


@pytest.mark.slow
def test_an_evaluator_with_guests_scores_and_ends_in_time(tmp_path: Path) -> None:
    assert elsewhere("new", "mine", cwd=tmp_path).returncode == 0
    done = elsewhere("eval", "mine", "--mode", "train", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "score" in done.stdout
    about = (tmp_path / "problems" / "mine" / "problem.yaml").read_text()
    (tmp_path / "problems" / "mine" / "problem.yaml").write_text(about.replace("timeout_s: 30", "timeout_s: 3"))
    endless = (
        (tmp_path / "problems" / "mine" / "heuristic.py")
        .read_text()
        .replace("return value", "while True:\n        pass")
    )
    (tmp_path / "mine.py").write_text(endless)
    done = elsewhere("eval", "mine", "--mode", "train", "--candidate", "mine.py", cwd=tmp_path)
    assert done.returncode == 1
    assert "timeout" in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("import time; time.sleep(0)", "score"),
        ("while True: pass", "timeout"),
        ("held = [b'x' * (64 << 20) for _ in range(80)]; import time; time.sleep(20)", "memory"),
        ("import subprocess; subprocess.run(['sleep', '0'])", "score"),
    ],
)
def test_a_plain_evaluator_is_held_by_limits_alone(toy: Path, tmp_path: Path, body: str, said: str) -> None:
    (toy / "eval.py").write_text(PLAIN.format(body=body))
    about = (toy / "problem.yaml").read_text().replace("timeout_s: 20", "timeout_s: 3\nmemory_mb: 128")
    (toy / "problem.yaml").write_text(about)
    done = elsewhere("eval", "toy", cwd=tmp_path)
    assert said in done.stdout, done.stdout + done.stderr
    assert done.returncode == (0 if said == "score" else 1)


def test_reading_a_strangers_text_has_its_bounds(tmp_path: Path) -> None:
    lines = (
        "from oragent.programs.inspection import inspect_program",
        "from oragent.programs.syntax import Signature",
        "from oragent.programs.inspection import signature_of",
        "print(inspect_program('def guess(x):\\n    return x\\n', signature_of('def guess(x):\\n    return 1\\n', 'guess')).problem)",
        "print(inspect_program('(' * 5000, signature_of('def guess(x):\\n    return 1\\n', 'guess')).problem != '')",
    )
    done = elsewhere("\n".join(lines), cwd=tmp_path, code=True)
    assert done.stdout == "\nTrue\n", done.stderr


@pytest.mark.slow
def test_a_model_is_solved_and_explained(tmp_path: Path) -> None:
    (tmp_path / "model.lp").write_text("maximize\n obj: 3 x + 2 y\nsubject to\n c1: x + y <= 4\nend\n")
    done = elsewhere("solve", "model.lp", "--explain", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "12" in done.stdout

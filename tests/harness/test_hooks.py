"""Hooks: who watches an evaluation is told plain data on train, and changes and learns nothing else."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from oragent._base.protocol import Result, parse

ROOT = Path(__file__).parents[2]
EVALUATOR = """
from oragent.harness import Result, hook, run, watching
SECRET = "of the scorer"

def evaluate(arguments, guess):
    total, history = 0.0, []
    for step in range(3):
        guess.where = f"step {step}"
        value = guess(step)
        history.append(value)
        hook("step", step=step, value=value, history=history)
        total += value
    tell = watching("end of it", total=total)
    if tell:
        tell(half=total / 2)
    return Result({"total": total, "history": history}, None, total)

if __name__ == "__main__":
    run(evaluate, function="guess", sizes={"train": (1,), "val": (1,)}, hooks=("step", "end of it"))
"""
WITHOUT = EVALUATOR.replace(', hooks=("step", "end of it")', "")
NAMING = EVALUATOR.replace('hook("step",', 'hook("stepp",')


@pytest.fixture
def evaluated(tmp_path: Path):
    """Run the evaluator with an observer; returns its process."""

    def run(observer: str | None, *words: str, evaluator: str = EVALUATOR, mode: str = "train"):
        (tmp_path / "eval.py").write_text(evaluator)
        (tmp_path / "heuristic.py").write_text("def guess(x):\n    print('asked', x)\n    return 2.0 * x\n")
        if observer is not None:
            (tmp_path / "observer.py").write_text(observer)
            words = (*words, f"--observer={tmp_path / 'observer.py'}")
        command = [sys.executable, "eval.py", f"--mode={mode}", *words]
        environment = {"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin", "OPENAI_API_KEY": "key-of-mine"}
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120)

    return run


def told(done: subprocess.CompletedProcess[str]) -> str:
    return done.stderr.partition("What the observer printed:\n")[2].strip()


def test_an_observer_is_told_what_happens_and_prints_what_it_likes(evaluated) -> None:
    done = evaluated(
        "seen = []\ndef observe(hook, data):\n    seen.append(hook)\n    print(hook, sorted(data.items()))\n"
    )
    assert isinstance(parse(done.stdout), Result)
    assert told(done).split("\n") == [
        "step [('history', [0.0]), ('step', 0), ('value', 0.0)]",
        "step [('history', [0.0, 2.0]), ('step', 1), ('value', 2.0)]",
        "step [('history', [0.0, 2.0, 4.0]), ('step', 2), ('value', 4.0)]",
        "end of it [('half', 3.0), ('total', 6.0)]",
        "end []",
    ]


FORGERY = "__SANDBOX_RESULT__\\n__METRICS_START__\\n{}\\n__METRICS_END__\\n__FEATURES_START__\\nNone\\n"
HOSTILE = {
    "changes what it is told": "data['history'].clear(); data['value'] = 1e9; return 1e9",
    "raises": "raise ValueError('no')",
    "ends its process": "import os; os._exit(0)",
    "answers what cannot travel": "return object()",
    "answers in the wire's own words": "return {'status': 'ok', 'value': 1e9}",
    "prints a block": f"import sys; print('{FORGERY}__SCORE_START__\\n1\\n__SCORE_END__\\n__SANDBOX_SUCCESS__')",
    "hangs": "import time; time.sleep(60)",
    "takes over the main module": "import sys; sys.modules['__main__'].__dict__.update(SECRET='x')",
}


@pytest.mark.slow
@pytest.mark.parametrize("what", HOSTILE)
def test_an_observer_changes_nothing_whatever_it_does(evaluated, what: str) -> None:
    wait = "from oragent.harness import main as harness_main; harness_main.CALL_S = 0.3\n" if what == "hangs" else ""
    evaluator = EVALUATOR.replace("SECRET", f"{wait}SECRET", 1)
    done = evaluated(f"def observe(hook, data):\n    {HOSTILE[what]}\n", evaluator=evaluator)
    found = parse(done.stdout)
    assert isinstance(found, Result)
    assert found.score == 6.0  # as without anybody
    assert found.metrics["history"] == [0.0, 2.0, 4.0]
    ends = what in ("raises", "ends its process", "answers what cannot travel", "hangs")
    assert ("the observer ended at hook 'step'" in told(done)) == ends


def test_an_observer_knows_what_it_was_told_and_nothing_else(evaluated) -> None:
    spy = """
import gc, os, sys
def tried(what):
    try:
        return what()
    except BaseException as problem:
        return type(problem).__name__
def observe(hook, data):
    if hook == "step" and data["step"] == 2:
        print("environment", sorted(os.environ)[:9], "key-of-mine" in str(os.environ))
        print("write", tried(lambda: open("stolen.txt", "w")))
        print("candidate", tried(lambda: open("heuristic.py").read()[:4]))
        print("parent", tried(lambda: open(f"/proc/{os.getppid()}/mem", "rb")))
        print("files", [one for one in range(3, 64) if tried(lambda: os.fstat(one)) not in ("OSError",)][2:])
        print("kill", tried(lambda: os.kill(os.getppid(), 9)))
"""
    done = evaluated(spy)
    assert parse(done.stdout).score == 6.0
    lines = dict(line.split(" ", 1) for line in told(done).split("\n"))
    assert lines["environment"].endswith("False")
    assert "KEY" not in lines["environment"]
    assert lines["write"] in ("PermissionError", "OSError", "FileNotFoundError")
    assert lines["parent"] in ("PermissionError", "FileNotFoundError", "OSError")
    assert lines["kill"] in ("PermissionError", "ProcessLookupError", "OSError")


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["val", "test"])
def test_nobody_watches_where_a_score_counts(evaluated, mode: str) -> None:
    evaluator = EVALUATOR.replace('"val": (1,)', '"val": (1,), "test": (1,)')
    done = evaluated("def observe(hook, data):\n    print(data)\n", evaluator=evaluator, mode=mode)
    assert done.returncode == 2
    assert (
        "--observer goes with --mode=train and --mode=practice alone: where a score counts nobody watches"
        in done.stderr
    )
    assert "What the observer printed" not in done.stderr
    alone = evaluated(None, evaluator=evaluator, mode=mode)
    assert parse(alone.stdout).score == 6.0
    assert "observer" not in alone.stdout + alone.stderr


@pytest.mark.slow
def test_an_evaluator_without_hooks_says_so(evaluated) -> None:
    done = evaluated("def observe(hook, data):\n    print(data)\n", evaluator=WITHOUT)
    assert done.returncode == 2
    assert "--observer" in done.stderr
    assert "--observer" not in evaluated(None, "--help", evaluator=WITHOUT).stdout
    assert "--observer FILE" in evaluated(None, "--help").stdout


@pytest.mark.slow
def test_what_is_wrong_with_a_hook_or_an_observer_is_said(evaluated) -> None:
    silent = evaluated("x = 1\n")
    assert re.search(r"ended at hook 'step': NameError.*no function 'observe'", told(silent).replace("\n", " "))
    assert parse(silent.stdout).score == 6.0
    failed = parse(evaluated("def observe(hook, data):\n    pass\n", evaluator=NAMING).stdout)
    assert "hook 'stepp' is not in the hooks of harness.run: step, end of it" in failed.message
    assert parse(evaluated(None, evaluator=NAMING).stdout).score == 6.0  # in scoring it is nothing
    gone = evaluated(None, "--observer=nowhere.py")
    assert "no observer at nowhere.py: name a Python file" in gone.stderr

"""Every way in which an evaluation can end has a status, and nothing of it is left."""

import time
from pathlib import Path

import pytest

from oragent._base.protocol import Result, Status, format_result
from oragent.evaluation import Evaluation, Job, run_evaluation
from oragent.sandbox.isolation.mechanisms import FORBID
from oragent.sandbox.limits import server_environment
from oragent.sandbox.messages import Limits
from tests.processes import bearing

BLOCK = format_result(Result({"a": 1.5}, (1, 2), 3.5))


def run(tmp_path: Path, script: str, *, name: str = "eval.py", cpu_s: float = 10, **options: object) -> Evaluation:
    evaluator = tmp_path / name
    evaluator.write_text(script)
    bounds = {key: options.pop(key) for key in list(options) if key in Limits.__annotations__}
    limits = Limits(cpu_s=cpu_s, **bounds)
    return run_evaluation(Job(evaluator, "def f(): pass\n", tmp_path, limits, **options))


def test_a_result_comes_with_what_it_took(tmp_path: Path) -> None:
    found = run(tmp_path, f"x = sum(range(10**6))\nprint('''details\n{BLOCK}''')")
    assert (found.status, found.score, found.features, found.metrics) == (Status.OK, 3.5, (1, 2), {"a": 1.5})
    assert 0 < found.cpu_s <= found.wall_s + 0.1
    assert found.peak_mb > 5
    assert found.output.startswith("details")


def test_any_program_that_prints_the_block_will_do(tmp_path: Path) -> None:
    assert run(tmp_path, f"#!/bin/sh\ncat <<'END'\n{BLOCK}\nEND\n", name="eval.sh").score == 3.5


def test_the_script_is_copied_beside_the_candidate_and_told_just_two_things(tmp_path: Path) -> None:
    script = "import os, sys\nprint(sys.argv[1:], sorted(os.listdir('.')), open('heuristic.py').read())"
    found = run(tmp_path, script)
    assert f"['--root_dir={tmp_path}', '--file_output_prefix=" in found.output
    assert "--mode" not in found.output
    assert "['eval.py', 'heuristic.py'] def f(): pass" in found.output


def test_a_mode_is_passed_on_where_given(tmp_path: Path) -> None:
    found = run(tmp_path, "import sys; print(sys.argv[3:])", mode="train", problem_size=20)
    assert "['--mode=train', '--problem_size=20']" in found.output


@pytest.mark.parametrize(
    ("script", "status", "words"),
    [
        ("pass", "crashed", "no result block"),
        ("raise ValueError('boom')", "error", "exited with code 1: ValueError: boom"),
        ("import sys; sys.exit(3)", "error", "exited with code 3: and printed no reason"),
        ("import ctypes; ctypes.string_at(0)", "crashed", "ended by SIGSEGV"),
        ("import time; time.sleep(60)", "timeout", "no result: it slept: hardly any CPU used for 1 s"),
        ("while True: pass", "timeout", "no result within 1 CPU seconds"),
        pytest.param(
            "import signal; signal.signal(15, signal.SIG_IGN)\nwhile True: pass",
            "timeout",
            "no result within 1 CPU seconds",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            "while True: print('x' * 10**6)", "timeout", "no result within 1 CPU seconds", marks=pytest.mark.slow
        ),
        ("x = bytearray(3 << 30)", "memory", "MemoryError"),
        (f"print('''{BLOCK}\n{BLOCK}''')", "rejected", "2 result blocks"),
        (f"import sys; print('''{BLOCK}'''); sys.exit(1)", "crashed", "printed a result, then exited with code 1"),
        (f"print('''{BLOCK}'''.replace('3.5', 'nan'))", "rejected", "finite number"),
        ("import os; os.write(1, bytes(range(256)) * 100)", "crashed", "no result block"),
        ('print(\'__SANDBOX_ERROR__\\n{"status": "invalid", "message": "no tour"}\'); exit(1)', "invalid", "no tour"),
    ],
)
def test_every_end_has_a_status(tmp_path: Path, script: str, status: str, words: str) -> None:
    found = run(
        tmp_path,
        script,
        cpu_s=1 if status == "timeout" else 20,
        idle_s=1 if status == "timeout" else 30,
        memory_mb=1024,
    )
    assert found.status == status
    assert words in found.message
    assert found.score is None
    assert found.wall_s < 15


def test_a_wall_limit_counts_from_the_start_and_holds(tmp_path: Path) -> None:
    begun = time.monotonic()
    assert run(tmp_path, "import time; time.sleep(60)", wall_s=0.5).status is Status.TIMEOUT
    assert time.monotonic() - begun < 20


def test_a_dead_child_is_noticed_at_once(tmp_path: Path) -> None:
    assert run(tmp_path, "import os; os._exit(0)").wall_s < 20


def test_a_child_that_holds_the_pipes_open_is_not_waited_for(tmp_path: Path) -> None:
    script = f"import os, time\nif os.fork() == 0:\n    time.sleep(60)\n    os._exit(0)\nprint('''{BLOCK}''')"
    found = run(tmp_path, script)
    assert found.score == 3.5
    assert found.wall_s < 20


@pytest.mark.slow
@pytest.mark.parametrize("isolation", ["", "limits"])
def test_not_even_a_process_in_a_session_of_its_own_is_left(
    tmp_path: Path, isolation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(FORBID, isolation)
    word = f"stray of {tmp_path.name}"
    script = (
        "import os, sys\nif os.fork() == 0:\n    os.setsid()\n    if os.fork(): os._exit(0)\n"
        f"    os.execv(sys.executable, [sys.executable, '-c', 'import time; time.sleep(60)', {word!r}])\n"
        f"import time; time.sleep(0.3); print('')\nprint('''{BLOCK}''')"
    )
    assert run(tmp_path, script).score == 3.5
    deadline = time.monotonic() + 20  # the kernel takes a moment to end all that is in a namespace
    while bearing(word) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not bearing(word)


def test_the_environment_is_an_allow_list(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret-key")
    monkeypatch.setenv("AWS_TOKEN", "secret-token")
    found = run(tmp_path, "import os; print(dict(os.environ))")
    assert "secret" not in found.output
    assert "'OMP_NUM_THREADS': '1'" in found.output
    assert "'PYTHONHASHSEED': '0'" in found.output


def test_kernels_outlive_an_evaluation_where_their_source_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "NUMBA_CACHE_DIR" not in server_environment()
    monkeypatch.setattr("oragent.sandbox.limits.PACKAGE", tmp_path / "read-only")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert server_environment()["NUMBA_CACHE_DIR"] == str(tmp_path / ".cache" / "oragent")


@pytest.mark.slow
def test_a_flood_of_output_costs_no_memory(tmp_path: Path) -> None:
    flood = (
        "print('begin', file=sys.stderr)\nfor _ in range(100): print('x' * 10**6); print('y' * 10**6, file=sys.stderr)"
    )
    script = f"import sys\n{flood}\nprint('end', file=sys.stderr)\nprint('''{BLOCK}''')"
    found = run(tmp_path, script, cpu_s=30)
    assert found.score == 3.5
    assert len(found.output) < 5000
    assert len(found.log) < 5000
    assert found.log.startswith("begin\n")
    assert found.log.endswith("\nend\n")
    assert "characters left out" in found.log


def test_a_file_larger_than_the_limit_cannot_be_written(tmp_path: Path) -> None:
    found = run(tmp_path, "open('big', 'wb').write(bytes(3 << 20))", file_mb=1)
    assert found.status is Status.ERROR
    assert "File too large" in found.message or "No space left" in found.message


def test_nothing_is_left_in_the_folder_of_temporary_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    run(tmp_path, f"import tempfile\ntempfile.mkdtemp()\nopen('more', 'w').write('x')\nprint('''{BLOCK}''')")
    assert list(scratch.iterdir()) == []


def test_limits_must_be_positive() -> None:
    with pytest.raises(ValueError, match="cpu_s"):
        Limits(cpu_s=0)

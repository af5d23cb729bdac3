"""A status is read off how a process ended, and a score off what it printed; without a process."""

import signal
from pathlib import Path

import pytest

from oragent._base.protocol import Result, Status, format_result
from oragent.evaluation import Evaluation, EvaluationRunner, Job
from oragent.evaluation.runner import judge_result
from oragent.sandbox.messages import FOLDER, PYTHON, Command, CommandResult, EndReason, Limits

BLOCK = format_result(Result({"a": 1.5}, (1, 2), 3.5))
LIMITS = Limits(cpu_s=7)


def judge(ended: CommandResult) -> Evaluation:
    return Evaluation.from_result(judge_result(ended, LIMITS), ended)


def test_a_result_that_was_printed_is_the_score() -> None:
    found = judge(
        CommandResult(EndReason.EXITED, 0, BLOCK, "log", wall_s=1.23456, cpu_s=0.98765, peak_mb=12.34, queued_s=0.5)
    )
    assert (found.status, found.score, found.features, found.metrics) == (Status.OK, 3.5, (1, 2), {"a": 1.5})
    assert (found.end, found.wall_s, found.cpu_s, found.peak_mb) == ("exited", 1.2346, 0.9877, 12.3)
    assert (found.output, found.log, found.queued_s) == (BLOCK, "log", 0.5)


@pytest.mark.parametrize(
    ("ended", "status", "words"),
    [
        (CommandResult(EndReason.LOST, -9), "crashed", "the process that supervises it was killed 2 times"),
        (CommandResult(EndReason.DEADLINE, -9, BLOCK, cpu_s=7.2), "timeout", "no result within 7 CPU seconds"),
        (CommandResult(EndReason.DEADLINE, -9, BLOCK, reason="it slept"), "timeout", "no result: it slept"),
        (
            CommandResult(EndReason.MEMORY, -9, reason="its processes hold it"),
            "memory",
            "ran out of memory: its processes hold it",
        ),
        (CommandResult(EndReason.SIGNALLED, -signal.SIGXCPU, cpu_s=7.5), "timeout", "no result within 7 CPU seconds"),
        (
            CommandResult(EndReason.SIGNALLED, -signal.SIGKILL, cpu_s=1),
            "crashed",
            "ended by SIGKILL; the kernel does that when memory",
        ),
        (CommandResult(EndReason.SIGNALLED, -signal.SIGSEGV, BLOCK), "crashed", "ended by SIGSEGV"),
        (CommandResult(EndReason.EXITED, 0), "crashed", "no result block"),
        (CommandResult(EndReason.EXITED, 3, BLOCK), "crashed", "printed a result, then exited with code 3"),
        (
            CommandResult(EndReason.EXITED, 2, "", "usage: eval.py\neval.py: error: no such size"),
            "error",
            "arguments: no such size",
        ),
        (
            CommandResult(EndReason.EXITED, 1, "", "Traceback\nMemoryError: all of it"),
            "memory",
            "MemoryError: all of it",
        ),
        (CommandResult(EndReason.EXITED, 127), "error", "exited with code 127: and printed no reason"),
    ],
)
def test_no_other_end_has_a_score(ended: CommandResult, status: str, words: str) -> None:
    found = judge(ended)
    assert (found.status, found.score) == (status, None)
    assert words in found.message


@pytest.mark.parametrize(
    ("log", "words"),
    [
        ("/m.mjs:1\nthrow new TypeError('x')\n^\n\nTypeError: no tour\n    at a.mjs:1:2\n\nNode.js v20.1.0", "TypeError: no tour"),
        ("node:internal/x\n  throw e\n\nError [ERR_X]: no such\n    at b {\n  code: 'ERR_X'\n}\n\nNode.js v22.3.1\n", "Error [ERR_X]: no such"),
        ("Traceback\n  File\nValueError: one\n\nDuring\n\nTraceback\nmy.own.KeyError: two\nlines", "my.own.KeyError: two"),
        ('Exception in thread "main" java.lang.RuntimeException: a\n\tat A.b\nCaused by: java.io.IOException: c\n\t... 1', "java.io.IOException: c"),
        ("panic: boom\n\ngoroutine 1 [running]:\nmain.main()\n\t/a.go:3", "panic: boom"),
        ("thread 'main' panicked at a.rs:2:5:\nx\nnote: run with `RUST_BACKTRACE=1`", "thread 'main' panicked at a.rs:2:5:"),
        ("cannot open it\nNode.js v20.1.0\n", "cannot open it"),
        ("KeyboardInterrupt", "KeyboardInterrupt"),
        ("Node.js v20.1.0", "and printed no reason"),
    ],
)  # fmt: skip
def test_a_failure_without_a_block_is_told_by_its_exception_in_any_language(log: str, words: str) -> None:
    assert judge(CommandResult(EndReason.EXITED, 1, "", log)).message == f"the evaluation exited with code 1: {words}"


def test_an_abort_says_what_was_thrown() -> None:
    log = "terminate called after throwing an instance of 'std::runtime_error'\n  what():  no tour\n"
    assert judge(CommandResult(EndReason.SIGNALLED, -signal.SIGABRT, "", log)).message.endswith(
        "ended by SIGABRT: what():  no tour"
    )


@pytest.mark.parametrize(
    ("program", "guarded"),
    [
        ("from oragent.harness import run", True),
        ("import oragent.harness.main", True),
        ("if 1:\n    from oragent import harness", True),
        ("# from oragent.harness import run\nimport heuristic", False),
        ("from oragent._base.protocol import Result\nname = 'oragent.harness'", False),
        ("import oragent.harnesses", False),
        ("this is no Python", False),
    ],
)
def test_an_evaluator_is_trusted_if_it_imports_the_harness(tmp_path: Path, program: str, guarded: bool) -> None:
    (tmp_path / "eval.py").write_text(program)
    (tmp_path / "eval.mjs").write_text(program)
    assert Job(tmp_path / "eval.py", "", tmp_path, LIMITS).make_command().trusted == guarded
    assert not Job(tmp_path / "eval.mjs", "", tmp_path, LIMITS).make_command().trusted


def test_a_job_becomes_a_command_that_knows_nothing_of_scores(tmp_path: Path) -> None:
    (tmp_path / "eval.py").write_text("score")
    (tmp_path / "eval.sh").write_text("score")
    places = (f"--root_dir={tmp_path}", f"--file_output_prefix={FOLDER}/")
    command = Job(tmp_path / "eval.py", "program", tmp_path, LIMITS, "val", 50, ("--more",)).make_command()
    assert command.argv == (PYTHON, "eval.py", *places, "--mode=val", "--problem_size=50", "--more")
    assert command.files == {"eval.py": "score", "heuristic.py": "program"}
    assert (command.script, command.folder, command.limits) == ("eval.py", None, LIMITS)
    assert Job(tmp_path / "eval.sh", "program", tmp_path, LIMITS).make_command().argv == ("eval.sh", *places)


class SlowOnce(EvaluationRunner):
    """Evaluations that use too much CPU time at first; each returns a score and a fresh set of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.words: list[tuple[str, ...]] = []

    def _run_in_sandbox(self, job: Job, command: Command, device_line: int | None = None) -> CommandResult:
        self.words.append(command.argv)
        number = len(self.words)
        result = Result({"fresh_seed": 1000 + number}, (0,), float(number))
        return CommandResult(EndReason.EXITED, 0, format_result(result), cpu_s=(10.5, 9.0)[number - 1])


@pytest.mark.parametrize(("mode", "score"), [("fresh", 1.0), ("val", 2.0)])
def test_a_program_that_takes_too_long_gets_no_other_fresh_set(tmp_path: Path, mode: str, score: float) -> None:
    (tmp_path / "eval.py").write_text("from oragent.harness import run")
    with SlowOnce() as run:
        evaluation = run(Job(tmp_path / "eval.py", "", tmp_path, Limits(cpu_s=10), mode=mode))
    assert (evaluation.status, evaluation.score, evaluation.cpu_s) == (Status.OK, score, 9.0)
    seeds = [[word for word in words if word.startswith("--fresh_seed")] for words in run.words]
    assert (seeds[0], bool(seeds[1])) == ([], mode == "fresh")

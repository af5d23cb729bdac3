"""Derive an evaluation's status from the end of its process; there is a score if and only if it is ``ok``."""

import re
import signal

from oragent._base.protocol import Failure, Result, Status, parse
from oragent.evaluation.job import USAGE
from oragent.sandbox.messages import CommandResult, EndReason, Limits
from oragent.sandbox.sandbox import LIVES

# How languages name an exception that nobody caught: Python and Node, Java, C++, Go, Rust, Julia.
EXCEPTION = re.compile(
    r"""(?:Exception\ in\ thread\ "[^"]*"\ |Caused\ by:\ |Uncaught\ )?
        (?P<line>(?:[A-Za-z_][\w.$]*)?(?:Error|Exception|Exit|Interrupt)(?:\ \[\w+\])?(?::.*)?
        |\ *what\(\):.*|panic:\ .*|thread\ '.*'\ panicked\ at.*|ERROR:\ .*|FATAL\ ERROR:\ .*)$""",
    re.VERBOSE,
)
VERSION = re.compile(r"Node\.js v[\d.]+|note: run with .RUST_BACKTRACE.*")
OUT_OF_MEMORY = "MemoryError", "std::bad_alloc", "java.lang.OutOfMemoryError", "what():  std::bad_alloc"


def judge_result(ended: CommandResult, limits: Limits) -> Result | Failure:
    """Read off the end of an evaluator's process what it found.

    Args:
        ended: End of the process, with its output.
        limits: Limits that it had to keep.
    """
    code = ended.code
    if ended.end is EndReason.LOST:
        return Failure(Status.CRASHED, f"the process that watches over it was killed, {LIVES} times")
    if ended.end is EndReason.MEMORY:
        return Failure(Status.MEMORY, f"ran out of memory: {ended.reason}")
    over = ended.cpu_s >= limits.cpu_s
    if (ended.end is EndReason.DEADLINE or code in (-signal.SIGXCPU, -signal.SIGKILL)) and over:
        return Failure(Status.TIMEOUT, f"no result within {limits.cpu_s:g} CPU seconds")
    if ended.end is EndReason.DEADLINE:
        return Failure(Status.TIMEOUT, f"no result: {ended.reason}")
    if code < 0:
        why = "; the kernel does that when memory runs out" if code == -signal.SIGKILL else ""
        exception = _find_exception(ended.stderr) if code == -signal.SIGABRT else ""
        name = signal.Signals(-code).name
        return Failure(Status.CRASHED, f"the evaluation was ended by {name}{why}{exception and f': {exception}'}"[:500])
    parsed = parse(ended.stdout)
    if code == 0:
        return parsed
    if isinstance(parsed, Result):
        return Failure(Status.CRASHED, f"the evaluation printed a result, then exited with code {code}")
    if parsed.status is not Status.CRASHED or "__SANDBOX_ERROR__" in ended.stdout:
        return parsed
    return _explain_failure(code, ended.stderr)


def _explain_failure(code: int, log: str) -> Failure:
    """Why an evaluator failed that printed no block, by its log."""
    if code == 2 and log.startswith(USAGE):
        last = log.rstrip().splitlines()[-1]
        return Failure(Status.ERROR, f"the evaluator refuses its arguments: {last.partition('error: ')[2]}"[:500])
    why = _find_exception(log) or _last_line(log) or "and printed no reason"
    status = Status.MEMORY if why.startswith(OUT_OF_MEMORY) else Status.ERROR
    return Failure(status, f"the evaluation exited with code {code}: {why}"[:500])


def _find_exception(log: str) -> str:
    """The line that names the exception, or what a language has in its place; the last one, as causes come first."""
    matches = [match for log_line in log.splitlines() if (match := EXCEPTION.match(log_line))]
    return (matches[-1]["line"].strip() or matches[-1][0].strip()) if matches else ""


def _last_line(log: str) -> str:
    """The last line that says anything, beside the version of what ran."""
    lines = (text.strip() for text in reversed(log.splitlines()))
    return next((text for text in lines if text and not VERSION.fullmatch(text)), "")

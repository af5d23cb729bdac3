"""What the end of an evaluator's process means: a status, and a score if and only if that is ``ok``."""

import signal

from oragent.evaluation.job import USAGE
from oragent.protocol import Failure, Result, Status, parse
from oragent.sandbox import End, Ended, Limits
from oragent.sandbox.border import LIVES

__all__ = ["verdict"]


def verdict(ended: Ended, limits: Limits) -> Result | Failure:
    """Read off the end of an evaluator's process what it found.

    Args:
        ended: End of the process, with its output.
        limits: Limits that it had to keep.
    """
    code = ended.code
    if ended.end is End.LOST:
        return Failure(Status.CRASHED, f"the process that watches over it was killed, {LIVES} times")
    if ended.end is End.DEADLINE:
        return Failure(Status.TIMEOUT, f"no result within {limits.wall_s:g} s")
    if code in (-signal.SIGXCPU, -signal.SIGKILL) and ended.cpu_s > limits.wall_s:
        return Failure(Status.TIMEOUT, f"more than {int(limits.wall_s) + 1} CPU seconds")
    if code < 0:
        why = "; the kernel does that when memory runs out" if code == -signal.SIGKILL else ""
        return Failure(Status.CRASHED, f"the evaluation was ended by {signal.Signals(-code).name}{why}")
    parsed = parse(ended.stdout)
    if code == 0:
        return parsed
    if isinstance(parsed, Result):
        return Failure(Status.CRASHED, f"the evaluation printed a result, then exited with code {code}")
    if parsed.status is not Status.CRASHED or "__SANDBOX_ERROR__" in ended.stdout:
        return parsed
    return _unexplained(code, ended.stderr)


def _unexplained(code: int, log: str) -> Failure:
    """Why an evaluator failed that printed no block, by the last line of its log."""
    last = next((line.strip() for line in reversed(log.splitlines()) if line.strip()), "and printed no reason")
    if code == 2 and log.startswith(USAGE):
        return Failure(Status.ERROR, f"the evaluator refuses its arguments: {last.partition('error: ')[2]}"[:500])
    status = Status.MEMORY if last.startswith("MemoryError") else Status.ERROR
    return Failure(status, f"the evaluation exited with code {code}: {last}"[:500])

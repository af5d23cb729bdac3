"""Early end of an evaluation: the first failure of the candidate decides, whatever the evaluator does afterwards.

An exception does not always reach the harness. Native code drops exceptions of its callbacks, threads keep theirs, and
an evaluator may catch all of them and compute a score without the missing answers. A failure therefore counts when it
is created: it is printed at once, and every later call of the candidate fails.
"""

import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

import numpy as np

from oragent._base.errors import CandidateError, OragentError
from oragent._base.protocol import Failure, format_failure
from oragent._base.text_format import escape_text
from oragent.harness.guest import Guest, is_failure_tolerated

# Wall seconds that an evaluator may go on after the candidate has failed, for example in a solver.
MAX_REST_S = 5.0


class EvaluatorError(Exception):
    """An exception of the evaluator that native code or a thread dropped."""


class FailureOutput:
    """Standard output for the block of a failure, also while an evaluator redirects it."""

    def __init__(self) -> None:
        sys.stdout.flush()
        self._descriptor = os.dup(sys.stdout.fileno())
        self.is_used = False

    def print_failure(self, failure: Failure) -> None:
        """Print the block of a failure, unless one is printed already."""
        if self.is_used:
            return
        self.is_used = True
        # Another thread or this one may be writing to the stream.
        with suppress(RuntimeError, ValueError, OSError):
            sys.stdout.flush()
        content = memoryview(f"\n{format_failure(failure)}\n".encode())
        with suppress(OSError):
            while content:
                content = content[os.write(self._descriptor, content) :]


class Ending:
    """Context of the evaluator's function. The first exception that ends the evaluation decides its result.

    Args:
        guest: The candidate.
        report: Function that prints a failure of the candidate. Arguments: the error, and the instance.

    Attributes:
        cause: First exception that ends the evaluation, or None.
    """

    def __init__(self, guest: Guest, report: Callable[[CandidateError, str], None]) -> None:
        self._guest, self._report = guest, report
        self.cause: Exception | None = None
        self._where = ""
        self._lock, self._process = threading.RLock(), os.getpid()
        self._timer: threading.Timer | None = None

    def settle(self, cause: Exception) -> None:
        """End the evaluation by an exception, unless it has ended already."""
        if os.getpid() != self._process or is_failure_tolerated():
            return
        with self._lock:
            if self.cause is not None:
                return
            self.cause = self._guest.end_cause = cause
            self._where = self._guest.where
        if isinstance(cause, CandidateError):
            self._report(cause, self._where)
            self._limit_rest()

    def __enter__(self) -> Self:
        self._guest.settle = self.settle
        CandidateError.on_creation = self.settle
        self._hooks = sys.unraisablehook, threading.excepthook
        sys.unraisablehook, threading.excepthook = self._handle_unraisable, self._handle_thread
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(problem, Exception):
            self._handle_fault(problem)
        self._guest.settle = CandidateError.on_creation = None
        sys.unraisablehook, threading.excepthook = self._hooks
        if self._timer is not None:
            self._timer.cancel()
        if self.cause is not None and problem is not self.cause and not isinstance(problem, KeyboardInterrupt):
            self._guest.where = self._where
            raise self.cause from None

    def _handle_unraisable(self, dropped: "sys.UnraisableHookArgs") -> None:
        is_finalizer = getattr(dropped.object, "__name__", "") == "__del__"
        if not is_finalizer and isinstance(dropped.exc_value, Exception):
            self._handle_dropped(dropped.exc_value)
        if not isinstance(dropped.exc_value, CandidateError):
            self._hooks[0](dropped)

    def _handle_thread(self, dropped: threading.ExceptHookArgs) -> None:
        if isinstance(dropped.exc_value, Exception):
            self._handle_dropped(dropped.exc_value)
        if not isinstance(dropped.exc_value, CandidateError):
            self._hooks[1](dropped)

    def _handle_dropped(self, problem: Exception) -> None:
        """End the evaluation, because what the evaluator computes without this exception cannot be trusted."""
        self._handle_fault(problem)
        self.settle(EvaluatorError(f"{type(problem).__name__}: {problem}"))

    def _handle_fault(self, problem: Exception) -> None:
        """Name the candidate if the evaluator fails at an answer that contains NaN or infinity."""
        value = find_non_finite(self._guest.last_answer)
        if self.cause is None and value is not None and not isinstance(problem, OragentError):
            self.settle(CandidateError(f"returned {value}, at which the evaluator failed: {problem}"))

    def _limit_rest(self) -> None:
        """End the process if the evaluator does not return soon, because nothing that it computes counts."""

        def end_process() -> None:
            log = self._guest.log
            with suppress(OSError):
                os.write(2, (escape_text(log) if os.isatty(2) else log).encode(errors="replace"))
            os._exit(1)

        self._timer = threading.Timer(MAX_REST_S, end_process)
        self._timer.daemon = True
        # If the machine starts no further thread, the limits of the evaluation apply.
        with suppress(RuntimeError):
            self._timer.start()


def find_non_finite(answer: Any) -> float | None:
    """Return the first NaN or infinity in an answer, or None."""
    if isinstance(answer, dict):
        answer = list(answer.values())
    if isinstance(answer, list | tuple | set) and not all(isinstance(item, float) for item in answer):
        values = (find_non_finite(item) for item in answer)
        return next((value for value in values if value is not None), None)
    array = np.asarray(list(answer) if isinstance(answer, set) else answer)
    if array.dtype.kind not in "fc":
        return None
    unusual = array[~np.isfinite(array)]
    return unusual[0].item() if unusual.size else None

"""Work of an evaluation: a deterministic count that the evaluator reports, such as moves, nodes or iterations.

CPU seconds differ from run to run, so a solver that ends by a clock gives other results on a busy machine. The count is
kept in the evaluator's process, and the candidate's process cannot change it.
"""

import math
import os
import threading
from numbers import Integral, Real
from typing import SupportsFloat

from oragent._base.errors import ProblemError

_lock = threading.Lock()
_units: int | float | None = None
_process_id = os.getpid()


def work(units: SupportsFloat = 0) -> float:
    """Add units of work to those of the evaluation.

    Take the units from counters of the solver, never from an answer of the candidate.

    Args:
        units: Number of units, 0 or more.

    Returns:
        All units so far.

    Raises:
        ValueError: The units are no number of 0 or more.
        ProblemError: The call comes from a child process, whose count would be lost.
    """
    global _units
    if isinstance(units, bool) or not isinstance(units, Real) or not 0 <= float(units) < math.inf:
        raise ValueError(f"units of work must be a number of 0 or more, not {units!r}")
    if os.getpid() != _process_id:
        raise ProblemError("harness.work counts only in the evaluator's own process: return units from child processes")
    with _lock:
        _units = (_units or 0) + (int(units) if isinstance(units, Integral) else float(units))
        return _units


def reset_work() -> None:
    """Begin the count of an evaluation."""
    global _units, _process_id
    _units, _process_id = None, os.getpid()


def reported_work() -> float | None:
    """Return the units of the evaluation; None if its evaluator does not report work."""
    return _units

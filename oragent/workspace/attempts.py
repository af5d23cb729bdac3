"""How a run of a program ended, and when an objective passes as the reference's."""

from dataclasses import dataclass
from enum import StrEnum

from oragent.workspace.objective import relative_error


class StopReason(StrEnum):
    """How a program ended."""

    ENDED = "ended"
    TIMEOUT = "timeout"
    MEMORY = "memory"
    ERROR = "error"


class ObjectiveSense(StrEnum):
    """Sense of the submitted model's objective; no file of the release gives the reference's."""

    MINIMIZE = "minimize"
    MAXIMIZE = "maximize"


@dataclass(frozen=True)
class ProgramAttempt:
    """What came of running a submitted program.

    Attributes:
        stop: Way in which it ended.
        stdout: Text of its standard output.
        stderr: Text of its standard error.
        status: Status of the last model solved, as the solver names it; empty where none was solved.
        objectives: Objectives of the models that were solved, None for one without a solution; None where nobody
            watched.
        direction: Direction of the last model; None where unknown.
    """

    stop: StopReason = StopReason.ENDED
    stdout: str = ""
    stderr: str = ""
    status: str = ""
    objectives: tuple[float | None, ...] | None = None
    direction: ObjectiveSense | None = None


def passes(value: float, reference: float, tolerance: float) -> bool:
    """The objective rule: whether a value lies within a relative tolerance of the reference."""
    return relative_error(value, reference) <= tolerance

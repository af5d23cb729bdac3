"""Exceptions of oragent: each has a one-line message with the error, the expectation and a remedy.

A candidate's failure leaves the sandbox as data, never as an exception.
"""

from collections.abc import Callable
from typing import ClassVar

from oragent._base.protocol import Status

# Statuses of an evaluation without a score.
FAILURES = tuple(status for status in Status if status is not Status.OK)


class OragentError(Exception):
    """Base of all exceptions that oragent raises on purpose, each with a one-line message."""


class ConfigError(OragentError):
    """A setting is unknown, has the wrong type, or contradicts another one."""


class UntrustedError(OragentError):
    """A folder requests code, a command, an address or a key that its user did not name."""


class ProblemError(OragentError):
    """A problem is unknown, or its folder breaks the contract."""


class CandidateError(OragentError):
    """A candidate returned an invalid value, raised, or died.

    Attributes:
        status: Status of the evaluation, a value of ``oragent._base.protocol.Status``.
        traceback: Traceback of the candidate; may be empty.

    Raises:
        ProblemError: ``status`` is unknown, or is ``ok``.
    """

    # Receives each new error during an evaluation, because native code, threads and evaluators can drop exceptions.
    on_creation: ClassVar[Callable[["CandidateError"], None] | None] = None

    def __init__(self, message: str, status: str = Status.INVALID, traceback: str = "") -> None:
        super().__init__(message)
        if status not in FAILURES:
            raise ProblemError(
                f"status of a CandidateError is {str(status)[:40]!r}: expected one of {', '.join(FAILURES)}"
            )
        self.status = Status(status)
        self.traceback = traceback
        if CandidateError.on_creation is not None:
            CandidateError.on_creation(self)


class ReplyError(OragentError):
    """A model's reply contains no usable program; the model gets the text once, to correct its reply."""


class ModelError(OragentError):
    """The model's endpoint cannot be used: no key, refused, unknown model, or unreachable."""


class ModelTimeout(ModelError):
    """A model sent nothing within its ``timeout_s``; the request is not repeated, because the reply may be paid."""


class ModellingError(OragentError):
    """An optimisation model contradicts itself, or a file does not contain one."""


class SandboxError(OragentError):
    """Evaluations cannot run, for a reason that no candidate causes."""


class TableError(OragentError):
    """A table cannot be read; the message gives the cause, the place and the expectation."""


class StoreError(OragentError):
    """A run's folder cannot be read or written."""


class FullDiskError(StoreError):
    """The disk of a run's folder has no room."""


class WorkspaceError(OragentError):
    """A folder is not a workspace, or one of its files, a label, an answer or a judgement has the wrong form."""


class BudgetExhausted(OragentError):
    """A budget of the run is used up: its regular end."""


class SearchFinished(BudgetExhausted):
    """The strategy has done all of its work before the budget is used up: a regular end too."""

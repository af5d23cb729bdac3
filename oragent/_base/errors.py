"""The exceptions of oragent: each is one clear line on what was wrong, what was expected, what to do.

A candidate's failure leaves the sandbox as data, never as an exception.
"""

from oragent._base.protocol import Status

# statuses that an evaluation without a score can have
FAILURES = tuple(status for status in Status if status is not Status.OK)


class OragentError(Exception):
    """Base of all exceptions that oragent raises on purpose, each with a one-line message."""


class ConfigError(OragentError):
    """A setting is unknown, has the wrong type, or contradicts another one."""


class UntrustedError(OragentError):
    """A folder asks for code, a command, an address or a key that its user did not name."""


class ProblemError(OragentError):
    """A problem is unknown, or its folder breaks the contract."""


class CandidateError(OragentError):
    """A candidate returned something wrong, raised, or died.

    Attributes:
        status: Status of the evaluation, a value of ``oragent._base.protocol.Status``.
        traceback: Traceback of the candidate; may be empty.

    Raises:
        ProblemError: ``status`` is none of these, or is ``ok``.
    """

    def __init__(self, message: str, status: str = Status.INVALID, traceback: str = "") -> None:
        super().__init__(message)
        if status not in FAILURES:
            raise ProblemError(
                f"status of a CandidateError is {str(status)[:40]!r}: expected one of {', '.join(FAILURES)}"
            )
        self.status = Status(status)
        self.traceback = traceback


class ReplyError(OragentError):
    """A model's reply holds no usable program; the text tells the model, once, what to correct."""


class ModelError(OragentError):
    """The model's endpoint cannot be used: no key, refused, unknown model, or unreachable."""


class ModelTimeout(ModelError):
    """A model sent nothing for as long as its ``timeout_s`` allows; it was not asked again, as a reply may be paid."""


class MilpError(OragentError):
    """An optimisation model contradicts itself, or a file does not hold one."""


class SandboxError(OragentError):
    """Evaluations cannot be run at all, for a reason that no candidate causes."""


class TableError(OragentError):
    """A table cannot be read: what it is, where, and what was expected."""


class StoreError(OragentError):
    """A run's folder cannot be read or written."""


class WorkspaceError(OragentError):
    """A folder is no workspace, or a file of one, a label, an answer or a judgement has the wrong form."""


class BudgetExhausted(OragentError):
    """A budget of the run is used up: its regular end."""

"""The exceptions of oragent.

::

    OragentError              one clear line: what was wrong, what was expected, what to do
    ├── ConfigError           a configuration file, or a setting on the command line
    ├── ProblemError          a problem folder, or a problem that nobody knows
    ├── CandidateError        a candidate did wrong: carries a status, becomes data at the border
    ├── ReplyError            nothing usable in a model's reply: told to the model once
    ├── ModelError            the model's endpoint: no key, refused, unreachable
    ├── MilpError             an optimisation model, or a file that should hold one
    ├── SandboxError          our own side of an evaluation: no server, no process to be had
    ├── StoreError            a run's folder: missing, corrupted, disk full
    ├── WorkspaceError        a workspace's folder, its labels, or what is to be scored against them
    └── BudgetExhausted       a budget is used up: the one clean way in which a run ends

A candidate's failure never crosses the sandbox as an exception: there it is data.
"""


class OragentError(Exception):
    """Base of every exception that oragent raises on purpose; its text is one line for a person."""


class ConfigError(OragentError):
    """A setting is unknown, has the wrong type, or contradicts another one."""


class UntrustedError(OragentError):
    """A folder asks for code, a command, an address or a key that its user did not name."""


class ProblemError(OragentError):
    """A problem is unknown, or its folder breaks the contract."""


class CandidateError(OragentError):
    """A candidate returned something wrong, raised, or died.

    Attributes:
        status: Status with which the evaluation ended, a value of ``oragent._base.protocol.Status``.
        traceback: Traceback of the candidate, empty where there is none.
    """

    def __init__(self, message: str, status: str = "invalid", traceback: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.traceback = traceback


class ReplyError(OragentError):
    """A model's reply holds no usable program; the text tells the model what to mend."""


class ModelError(OragentError):
    """The model's endpoint cannot be used: no key, refused, unknown model, or unreachable."""


class MilpError(OragentError):
    """An optimisation model contradicts itself, or a file does not hold one."""


class SandboxError(OragentError):
    """Evaluations cannot be run at all, through no fault of a candidate's."""


class StoreError(OragentError):
    """A run's folder cannot be read or written."""


class WorkspaceError(OragentError):
    """A folder is no workspace, or a file of one, a label, an answer or a judgement is not what it has to be."""


class BudgetExhausted(OragentError):
    """A budget of the run is used up."""

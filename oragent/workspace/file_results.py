"""Results of commands on files and versions, as typed data; ``--json`` prints them."""

from typing import Literal

from oragent.milp.operations.results import ResultPart


class FileInfo(ResultPart):
    """A file of a workspace."""

    path: str
    role: str
    bytes: int


class NewResult(ResultPart):
    """A workspace that was created."""

    verb: Literal["new"] = "new"
    folder: str
    files: tuple[str, ...]


class CheckResult(ResultPart):
    """Files of a workspace and their problems."""

    verb: Literal["check"] = "check"
    ok: bool
    files: tuple[FileInfo, ...]
    # Conversions of tables and texts that are not plain CSV in UTF-8.
    notes: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    # Path of the program. Empty without one.
    program: str = ""


class VersionInfo(ResultPart):
    """A version of a workspace."""

    id: str
    # Seconds since 1970.
    at: int
    author: str
    reason: str
    # Verb that wrote this version. Empty for a version outside of a verb.
    verb: str = ""
    # Id of the version that this one reverts.
    undoes: str = ""
    files: tuple[str, ...] = ()
    # Whether the version is from another clone.
    is_foreign: bool = False


class HistoryResult(ResultPart):
    """Versions in order of time."""

    verb: Literal["history"] = "history"
    versions: tuple[VersionInfo, ...]


class ChangeInfo(ResultPart):
    """File that a version changed; contents are ids of git blobs."""

    path: str
    before: str | None = None
    after: str | None = None


class VersionDiff(ResultPart):
    """Changes of one version."""

    verb: Literal["diff"] = "diff"
    version: str
    changes: tuple[ChangeInfo, ...]
    # Unified diff.
    diff: str

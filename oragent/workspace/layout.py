"""Layout of a workspace: documents, parameters, code, records; roles of files and their problems.

A workspace consists of documents, parameters, code, an execution environment and hidden evaluators (Zhou et al. 2026).
The first three are files of the folder. The folder never contains labels.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from oragent._base import table_dialects as dialects
from oragent._base.errors import WorkspaceError
from oragent.workspace import tables
from oragent.workspace.documents import FORMATS
from oragent.workspace.reading import (
    ENCODINGS,
    WORKBOOKS,
    decode_text,
    find_encoding,
    list_files,
    parse_json,
    read_bytes,
    read_json,
    read_text,
    shorten,
    shorten_path,
)

TABLES = (".csv", ".tsv", *WORKBOOKS)
TEXTS = {".md", ".txt", ".rst", ".tex", *FORMATS}
# Files that have no role and are not shown to agents.
SETTINGS_FILE = "workspace.yaml"
QUIET = {"README.md", ".gitkeep", SETTINGS_FILE}
# Tables that are read by other programs than this module.
BINARY_TABLES = {".db", ".sqlite", ".sqlite3", ".parquet"}
# Files that ``ask`` writes.
ANSWER = re.compile(r"answers/ask-\d{1,9}\.md")
MAGIC = {b"%PDF-": "PDF", b"PK\x03\x04": "Office or ZIP archive", b"\xd0\xcf\x11\xe0": "Office", b"\x89PNG": "PNG"}


class Mode(StrEnum):
    """Task of the agent that works in the folder."""

    BUILD = "build"
    REVISE = "revise"
    EXPLAIN = "explain"


class FileRole(StrEnum):
    """Role of a file in a workspace."""

    DOCUMENT = "document"
    PARAMETERS = "parameters"
    TABLE = "table"
    CODE = "code"
    FORMULATION = "formulation"
    LOG = "log"
    RECORD = "record"
    METADATA = "metadata"
    REQUEST = "request"
    OTHER = "other"


REQUIRED = {
    Mode.BUILD: ("docs", "data"),
    Mode.REVISE: ("original/docs", "original/data", "revised/docs", "revised/data"),
    Mode.EXPLAIN: ("original/docs", "original/data", "revised/docs", "revised/data", "metadata.json"),
}


@dataclass(frozen=True)
class FileFinding:
    """A problem of one file."""

    path: str
    # Rest of the sentence that begins with the path.
    what: str

    def __str__(self) -> str:
        return f"{shorten_path(self.path)} {self.what}"


@dataclass(frozen=True)
class WorkspaceLayout:
    """Files of one workspace, which may be in different folders."""

    mode: Mode
    # File by its path in the workspace.
    files: Mapping[str, Path]
    # Content of ``metadata.json``, which is never shown as it is. Empty if the file does not exist.
    metadata: Mapping[str, Any]
    # Patterns of ``workspace.yaml`` by role. Empty for a workspace whose folders have the usual names.
    patterns: Mapping[FileRole, Sequence[str]] = field(default_factory=dict)

    def role_of(self, path: str) -> FileRole:
        """Return the role of a file by the patterns, or by its folder and name."""
        if not self.patterns:
            return role_of(path)
        roles = (role for role, patterns in self.patterns.items() if any(fnmatch(path, each) for each in patterns))
        role = next(roles, FileRole.OTHER)
        name = path.rpartition("/")[2]
        return FileRole.PARAMETERS if role is FileRole.TABLE and name == tables.PARAMETERS_FILE else role

    def of_role(self, *roles: FileRole) -> dict[str, Path]:
        """Return the files with one of these roles."""
        return {path: file for path, file in self.files.items() if self.role_of(path) in roles}


def role_of(path: str) -> FileRole:
    """Return the role of a file by its folder and name."""
    parts = path.split("/")
    if parts == ["metadata.json"]:
        return FileRole.METADATA
    if parts[0] in {"original", "revised"}:
        parts = parts[1:]
    folder, name, suffix = parts[0], parts[-1], Path(parts[-1]).suffix.casefold()
    if len(parts) < 2:
        return FileRole.OTHER
    if folder == "data":
        if name == tables.PARAMETERS_FILE or suffix == ".json":
            return FileRole.PARAMETERS
        if suffix in TABLES:
            return FileRole.TABLE
        return FileRole.OTHER
    if folder == "src":
        return {".py": FileRole.CODE, ".tex": FileRole.FORMULATION}.get(suffix, FileRole.OTHER)
    roles = {
        "docs": FileRole.DOCUMENT,
        "requests": FileRole.REQUEST,
        "logs": FileRole.LOG,
        "solver_records": FileRole.RECORD,
    }
    return roles.get(folder, FileRole.OTHER)


def open_workspace(folder: Path, mode: Mode | None = None) -> WorkspaceLayout:
    """List the files of a workspace.

    The default mode is explain for a question, revise for two versions, and build otherwise.
    """
    if not folder.is_dir():
        raise WorkspaceError(f"no workspace at {shorten_path(folder)}: the folder does not exist")
    files = list_files(folder)
    metadata = read_json(files["metadata.json"]) if "metadata.json" in files else {}
    if mode is None:
        has_versions = any(path.startswith(("original/", "revised/")) for path in files)
        if "explain_task" in metadata:
            mode = Mode.EXPLAIN
        elif has_versions:
            mode = Mode.REVISE
        else:
            mode = Mode.BUILD
    missing = [
        need for need in REQUIRED[mode] if need not in files and not any(path.startswith(f"{need}/") for path in files)
    ]
    if missing:
        raise WorkspaceError(
            f"no workspace at {shorten_path(folder)}: no file in {', '.join(missing)}; expected docs/ and data/, "
            "or both in each of original/ and revised/"
        )
    return WorkspaceLayout(mode, files, metadata)


def sha256_of(content: bytes) -> str:
    """Return the SHA-256 of a file's content in hexadecimal digits."""
    return hashlib.sha256(content).hexdigest()


def _list_readings(path: str, text: str) -> Iterator[tuple[str, tables.TableReading]]:
    """Yield the tables of a text, each with the name of its sheet for messages. A file that is not a table has none."""
    if path.casefold().endswith(TABLES):
        for title, reading in tables.read_sheets(text).items():
            yield f"(sheet {shorten(title, 40)}) " if title else "", reading


def find_flaws(workspace: WorkspaceLayout) -> tuple[FileFinding, ...]:
    """List all problems of the files of a workspace, sorted by path; nothing is corrected or guessed."""
    findings = []
    for path, file in sorted(workspace.files.items()):
        try:
            content = read_bytes(file)
            findings += [FileFinding(path, flaw) for flaw in _file_flaws(path, content, workspace)]
        except WorkspaceError as error:
            findings.append(FileFinding(path, f"cannot be used: {error}"))
    findings += [
        FileFinding(SETTINGS_FILE, f"names {shorten(pattern)!r} as {role}, and no file has such a path")
        for role, patterns in workspace.patterns.items()
        for pattern in patterns
        if not any(fnmatch(path, pattern) for path in workspace.files)
    ]
    return tuple(finding for finding in findings if not _may_be_empty(finding, workspace))


def _may_be_empty(finding: FileFinding, workspace: WorkspaceLayout) -> bool:
    """Return True for an empty table of general parameters if other data exist. A formulation writes such a table."""
    folder, _, name = finding.path.rpartition("/")
    has_others = any(path.startswith(f"{folder}/") and path != finding.path for path in workspace.files)
    return name == tables.PARAMETERS_FILE and finding.what == tables.NO_ROWS and has_others


def find_notes(workspace: WorkspaceLayout) -> tuple[FileFinding, ...]:
    """List the conversions of tables and texts that are not plain CSV in UTF-8; unreadable files are skipped."""
    notes = []
    for path, file in sorted(workspace.of_role(FileRole.TABLE, FileRole.PARAMETERS, FileRole.DOCUMENT).items()):
        with suppress(WorkspaceError):
            content = read_bytes(file)
            text, steps = decode_text(content, path), list[str]()
            if not path.casefold().endswith(WORKBOOKS):
                encoding = ENCODINGS[find_encoding(content, path)]
                steps += [encoding] if encoding != "UTF-8" else []
            steps += [f"{sheet}{note}" for sheet, reading in _list_readings(path, text) for note in reading.notes]
            if steps:
                notes.append(FileFinding(path, f"is read so: {'; '.join(steps)}"))
    return tuple(notes)


def find_number_flaws(files: Mapping[str, Path]) -> Iterator[FileFinding]:
    """Find the columns of tables with ambiguous numbers; unreadable files are skipped."""
    for path, file in sorted(files.items()):
        if path.casefold().endswith(TABLES) and role_of(path) in (FileRole.TABLE, FileRole.PARAMETERS):
            with suppress(WorkspaceError):
                for sheet, reading in _list_readings(path, read_text(file)):
                    flaws = [flaw for flaw in reading.flaws if dialects.TWO_READINGS in flaw]
                    yield from (FileFinding(path, f"{sheet}{flaw}") for flaw in flaws)


def _file_flaws(path: str, content: bytes, workspace: WorkspaceLayout) -> tuple[str, ...]:
    part, suffix = workspace.role_of(path), Path(path).suffix.casefold()
    if workspace.patterns and (part in (FileRole.OTHER, FileRole.CODE) or suffix in BINARY_TABLES):
        return ()
    if suffix in {".xls", ".ods"}:
        return ("is a spreadsheet that is not read: save it as .xlsx or CSV",)
    if part is FileRole.OTHER and ANSWER.fullmatch(path):
        return ()
    if part is FileRole.OTHER:
        if path.rpartition("/")[2] in QUIET:
            return ()
        return ("is no kind of file that a workspace has",)
    if part is FileRole.DOCUMENT:
        return _document_flaws(content, suffix)
    if suffix in WORKBOOKS and not content.startswith(b"PK"):
        return ("is no Excel workbook; expected .xlsx or CSV",)
    text = decode_text(content, f"it{suffix}" if suffix in WORKBOOKS else "it")
    if suffix == ".json":
        parse_json(text, "it")
    readings = list(_list_readings(path, text))
    flaws = [f"{sheet}{flaw}" for sheet, reading in readings for flaw in reading.flaws]
    first = readings[0][1].table if readings else None
    return (*flaws, *(tables.parameter_flaws(first) if first and part is FileRole.PARAMETERS else ()))


def _document_flaws(content: bytes, suffix: str) -> tuple[str, ...]:
    for start, kind in MAGIC.items():
        if content.startswith(start) and suffix not in FORMATS:
            return (f"is of another kind ({kind}): it is not read; save it as Markdown or plain text",)
    if suffix not in TEXTS:
        return ("is no text document: expected Markdown or plain text; tables belong into data/",)
    if decode_text(content, f"it{suffix}" if suffix in FORMATS else "it").strip():
        return ()
    return ("is empty: expected requirements",)

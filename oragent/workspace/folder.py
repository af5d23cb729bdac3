"""A user's workspace: its files, drafts for agents, and the result of each verb in its ``run.db``."""

import csv
import io
import json
import re
import shlex
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal

from pydantic import TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass as checked

from oragent._base import table_dialects as dialects
from oragent._base.errors import WorkspaceError
from oragent._base.files import LockHeld, hold_lock, replace_file
from oragent.ledger.study import FinishedCase, read_finished
from oragent.modelling.convert import write_source
from oragent.modelling.opening import open_model
from oragent.workspace import tables
from oragent.workspace.layout import REQUIRED, FileFinding, FileRole, Mode, WorkspaceLayout, find_flaws
from oragent.workspace.reading import (
    LOCK,
    decode_text,
    line_ending,
    list_files,
    path_error,
    read_bytes,
    read_json,
    read_text,
    refuse_links,
    shorten,
    shorten_path,
)
from oragent.workspace.runner import OURS
from oragent.workspace.settings import NO_OPTIONS, EffortOptions, read_settings
from oragent.workspace.sources import find_program
from oragent.workspace.versions import IGNORED_TEXT, Versions

# Keys of a plan's parameters, in the order of the columns.
PARAMETER_KEYS = ("name", "value", "unit", "meaning")
PENDING_FILE = Path(".oragent") / "begun.json"
WELCOME = "# What is wanted\n\nSay here what is to be decided, what has to hold, and what is best.\n"
NO_FIGURES = f"{','.join(tables.PARAMETERS_HEADER)}\n"

REQUESTS = "requests"
REQUEST = re.compile(r"---\nstatus: *(?P<status>\w+) *\n---\n\n?(?P<text>.*)", re.DOTALL)


class RequestStatus(StrEnum):
    """Status of a request."""

    OPEN = "open"
    # The revision was written, and the requirement says what holds now.
    DONE = "done"
    # The revision was not written.
    REFUSED = "refused"


@dataclass(frozen=True)
class ChangeRequest:
    """A request of a change."""

    path: str
    status: RequestStatus
    text: str

    def render(self) -> str:
        """Return the content of its file."""
        return f"---\nstatus: {self.status}\n---\n\n{self.text.rstrip()}\n"


def list_requests(files: Mapping[str, Path]) -> list[ChangeRequest]:
    """Return the requests among some files; a file without a status is open."""
    requests = []
    for path, file in files.items():
        if path.startswith(f"{REQUESTS}/") and path.endswith(".md"):
            requests.append(read_request(path, read_text(file)))
    return requests


def read_request(path: str, content: str) -> ChangeRequest:
    """Read the file of a request."""
    match = REQUEST.fullmatch(content.replace("\r\n", "\n"))
    if match is None:
        return ChangeRequest(path, RequestStatus.OPEN, content)
    if match["status"] not in set(RequestStatus):
        expected = ", ".join(RequestStatus)
        raise WorkspaceError(f"{shorten_path(path)} has the status {match['status']!r}; expected {expected}")
    return ChangeRequest(path, RequestStatus(match["status"]), match["text"])


@dataclass(frozen=True)
class WorkspaceFolder:
    """Workspace of a user."""

    folder: Path

    def list_files(self) -> dict[str, Path]:
        """Return the files of the workspace without oragent's own files."""
        if not self.folder.is_dir():
            raise WorkspaceError(f"no workspace at {shorten_path(self.folder)}: {describe_next_step(self.folder)}")
        refuse_links(self.folder)
        return {
            path: file
            for path, file in list_files(self.folder, hidden=False).items()
            if path.partition("/")[0] not in OURS
        }

    def open_workspace(self) -> WorkspaceLayout:
        """Return the layout of the files, for building a program."""
        files = self.list_files()
        read = read_settings(self.folder)
        if read.program:
            roles = {FileRole.CODE: read.code_patterns[:1]}
            roles |= {FileRole.DOCUMENT: read.document_patterns if read.documents else ()}
            roles |= {FileRole.TABLE: read.data_patterns if read.data else ()}
            return WorkspaceLayout(Mode.BUILD, files, {}, roles)
        missing = [need for need in REQUIRED[Mode.BUILD] if not any(path.startswith(f"{need}/") for path in files)]
        if missing:
            where, needs = shorten_path(self.folder), f"no file in {' and '.join(missing)}"
            raise WorkspaceError(f"no workspace at {where}: {needs}; {describe_next_step(self.folder)}")
        return WorkspaceLayout(Mode.BUILD, files, {})

    def is_unwritten(self) -> bool:
        """Return True if the documents are still those of an empty workspace, so that they state no task."""
        documents = [file for path, file in self.list_files().items() if path.startswith("docs/")]
        return all(file.read_text(encoding="utf-8", errors="replace") == WELCOME for file in documents)

    def find_flaws(self) -> tuple[FileFinding, ...]:
        """List the problems of the files."""
        return find_flaws(self.open_workspace())

    def find_program(self) -> str:
        """Return the path of the program; empty if the workspace has no program."""
        return read_settings(self.folder).program or find_program(self.list_files())

    def write_answer(self, name: str, text: str) -> None:
        """Write the answer to a question into a file that git ignores."""
        path = self.folder / "answers" / f"{name}.md"
        if path.parent.is_symlink() or path.is_symlink():
            raise path_error(path, "is a link: delete it, so that nothing is written elsewhere")
        try:
            path.parent.mkdir(exist_ok=True)
            replace_file(path, text)
        except OSError as error:
            raise WorkspaceError(f"cannot write {shorten_path(path)}: {error.strerror}; make room for it") from None

    @contextmanager
    def locked(self, verb: str) -> Iterator[None]:
        """Lock the workspace for a command that writes. Two such commands at once would mix their records.

        Raises:
            WorkspaceError: Another process holds the lock; the message names it and its command.
        """
        refuse_links(self.folder)
        path, shown = self.folder / LOCK, shorten_path(self.folder)
        with ExitStack() as stack:
            try:
                path.parent.mkdir(exist_ok=True)
                stack.enter_context(hold_lock(path, verb))
            except LockHeld as held:
                holder = shorten(held, 200) or "another process"
                raise WorkspaceError(f"{holder} works in {shown}: wait until it ends, or end it") from None
            except OSError as problem:
                raise WorkspaceError(f"{shown} cannot be locked: {problem.strerror}; use a local disk") from None
            yield

    def draft_folder(self, name: str) -> Path:
        """Return the folder in which an agent works on its draft."""
        refuse_links(self.folder)
        return self.folder / ".oragent" / "drafts" / name


def describe_next_step(folder: Path) -> str:
    """Describe the next step towards a workspace: a command for an empty folder, missing files for another."""
    if folder.is_dir() and any(folder.iterdir()):
        return "put the requirement into docs/ and tables into data/"
    return f"'oragent workspace new {shlex.quote(str(folder))}' makes one; then say in its docs/ what is wanted"


def create_workspace(folder: Path) -> WorkspaceFolder:
    """Create an empty workspace."""
    contents = {"docs/business_requirement.md": WELCOME, f"data/{tables.PARAMETERS_FILE}": NO_FIGURES}
    home = _fill_folder(folder, contents, "new", "begun")
    (folder / "src").mkdir()
    return home


def create_from_model(source: Path, folder: Path) -> WorkspaceFolder:
    """Create a workspace from a model file, or from a run with documents, data and ``milp.json``.

    The model becomes a program.

    Raises:
        ModellingError: The file is not a model in a known format.
    """
    file = source / "milp.json" if source.is_dir() else source
    if not file.is_file() or file.is_symlink():
        expected = "expected a model file, such as .lp, .mps or .json, or a run of formulate or converse with milp.json"
        raise WorkspaceError(f"no model in {shorten_path(source)}: {expected}")
    model = open_model(file)
    contents: dict[str, str] = {}
    for path in sorted(source.iterdir()) if source.is_dir() else ():
        if path.suffix in {".md", ".txt"} and path.is_file() and not path.is_symlink():
            contents[f"docs/{path.name}"] = decode_text(read_bytes(path), path)
        elif path.name == "data.json" or path.suffix == ".csv":
            contents[f"data/{path.name}"] = decode_text(read_bytes(path), path)
    if not any(path.startswith("docs/") for path in contents):
        contents["docs/business_requirement.md"] = f"# {model.name or 'A model'}\n\n{model.meaning or WELCOME}\n"
    contents.setdefault(f"data/{tables.PARAMETERS_FILE}", NO_FIGURES)
    contents["src/optimization_model.py"] = write_source(model, "pulp")
    return _fill_folder(folder, contents, "from", f"taken from {source.name}")


def finished_verbs(folder: Path) -> list[FinishedCase]:
    """Return the finished verbs in order."""
    return read_finished(folder)


def add_parameters(text: str, new_parameters: list[dict[str, Any]]) -> str:
    """Append rows for missing parameters to a table of general parameters, in the CSV dialect of the text."""
    reading = tables.read_table(text) if text.strip() else None
    table = reading.table if reading else None
    titles = [title.strip().casefold() for title in (table.header if table else tables.PARAMETERS_HEADER)]
    keys = [title.casefold() for title in tables.PARAMETERS_HEADER]
    # Titles in any order; cells whose title is missing fill the other columns in order.
    rest = iter([key for key in keys if key not in titles])
    columns = [title if title in keys else next(rest, "") for title in titles]
    place = columns.index(keys[0]) if keys[0] in columns else 0
    names = {cell.strip() for row in (table.rows if table else ()) for cell in row[place : place + 1]}
    out = io.StringIO()
    writer = csv.writer(out, delimiter=reading.separator if reading else ",", lineterminator=line_ending(text))
    if reading is None:
        writer.writerow(tables.PARAMETERS_HEADER)
    for parameter in new_parameters:
        cells = [shorten(str(parameter.get(key) or "").replace("\n", " "), 300) for key in PARAMETER_KEYS]
        if cells[0].strip() and cells[0].strip() not in names:
            names.add(cells[0].strip())
            if reading and dialects.DECIMAL_COMMAS in reading.notes and tables.parse_number(cells[1]) is not None:
                cells[1] = cells[1].replace(",", "").replace(".", ",")
            cell_of = dict(zip(keys, cells, strict=True))
            writer.writerow([cell_of.get(column, "") for column in columns])
    joint = line_ending(text) if text and not text.endswith("\n") and out.getvalue() else ""
    return f"{text}{joint}{out.getvalue()}"


def _fill_folder(folder: Path, contents: Mapping[str, str], author: str, reason: str) -> WorkspaceFolder:
    """Make an empty folder a workspace whose first version has these files."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise WorkspaceError(f"{shorten_path(folder)} already exists and has files; name a new folder")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WorkspaceError(f"cannot create {shorten_path(folder)}: {error.strerror}") from None
    Versions(folder).write_version({**contents, ".gitignore": IGNORED_TEXT}, author, reason)
    return WorkspaceFolder(folder)


Verb = Literal["build", "revise", "ask"]


@checked(frozen=True)
class PendingVerb:
    """Verb with its arguments, stored until it finishes."""

    verb: Verb
    # Request of a revision, or question.
    text: str = ""
    # True if a revision uses the last run as its request.
    feedback: bool = False
    # True if a revision is written even if it does not preserve the former rules.
    accept: bool = False
    # Limits from the command line.
    effort: EffortOptions = NO_OPTIONS
    # Settings of the models, and the budget.
    runtime: dict[str, Any] = field(default_factory=dict)
    # Question of the agent to the person. Empty if no question waits for an answer.
    question: str = ""
    # Answers of the person so far, in order.
    answers: tuple[str, ...] = ()


def save_pending(folder: Path, pending: PendingVerb) -> None:
    """Store the verb that is running."""
    refuse_links(folder)
    try:
        (folder / PENDING_FILE).parent.mkdir(exist_ok=True)
        replace_file(folder / PENDING_FILE, json.dumps(asdict(pending), ensure_ascii=False) + "\n")
    except OSError as error:
        where = shorten_path(folder / PENDING_FILE)
        raise WorkspaceError(f"cannot write {where}: {error.strerror}; make room for it") from None


def clear_pending(folder: Path) -> None:
    """Delete the stored verb after it has finished."""
    with suppress(OSError):
        (folder / PENDING_FILE).unlink()


def read_pending(folder: Path) -> PendingVerb | None:
    """Return the interrupted verb; None if no verb was interrupted."""
    path = folder / PENDING_FILE
    refuse_links(folder)
    if not path.is_file():
        return None
    try:
        return TypeAdapter(PendingVerb).validate_python(read_json(path))
    except ValidationError:
        raise path_error(path, "is damaged: delete it, and give the verb again") from None

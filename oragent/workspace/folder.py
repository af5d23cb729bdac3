"""A person's workspace: its files, drafts in which agents work, and what came of each verb, in its own ``run.db``."""

import csv
import io
import json
import shlex
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from oragent._base.budget import Budget
from oragent._base.errors import WorkspaceError
from oragent.ledger import Study
from oragent.ledger.study import Finished
from oragent.milp.files import read as read_milp
from oragent.milp.naming import safe_names
from oragent.workspace import parameters
from oragent.workspace.facts import find_program
from oragent.workspace.layout import REQUIRED, FileFinding, Mode, Workspace, find_flaws
from oragent.workspace.program_codegen import write_program
from oragent.workspace.reading import decode_text, list_files, read_bytes, shorten_path
from oragent.workspace.recording import write_records
from oragent.workspace.records import inputs_hash
from oragent.workspace.runner import OURS, ProgramRun
from oragent.workspace.versions import Versions

PLACES = ("docs", "data", "src")
RECORDS = ("logs/", "solver_records/")
WELCOME = "# What is wanted\n\nSay here what is to be decided, what has to hold, and what is best.\n"


@dataclass(frozen=True)
class WorkspaceFolder:
    """A workspace of a person.

    Attributes:
        folder: Where it lies.
    """

    folder: Path

    def list_files(self) -> dict[str, Path]:
        """Its files, but for what is ours.

        Raises:
            WorkspaceError: if there is no workspace, or a link in it.
        """
        if not self.folder.is_dir():
            raise WorkspaceError(f"no workspace at {shorten_path(self.folder)}: {describe_next_step(self.folder)}")
        return {
            path: file
            for path, file in list_files(self.folder, hidden=False).items()
            if path.partition("/")[0] not in OURS
        }

    def open_workspace(self) -> Workspace:
        """It as a workspace to build in.

        Raises:
            WorkspaceError: if documents or data are missing.
        """
        files = self.list_files()
        missing = [need for need in REQUIRED[Mode.BUILD] if not any(path.startswith(f"{need}/") for path in files)]
        if missing:
            needs = f"no file in {' and '.join(missing)}"
            raise WorkspaceError(
                f"no workspace at {shorten_path(self.folder)}: {needs}; {describe_next_step(self.folder)}"
            )
        return Workspace(Mode.BUILD, files, {})

    def is_unwritten(self) -> bool:
        """Whether its documents are those that ``begin`` left, so that nobody has said what is wanted."""
        documents = [file for path, file in self.list_files().items() if path.startswith("docs/")]
        return all(file.read_text(encoding="utf-8", errors="replace") == WELCOME for file in documents)

    def find_flaws(self) -> tuple[FileFinding, ...]:
        """What is wrong with its files."""
        return find_flaws(self.open_workspace())

    def find_program(self) -> str:
        """Path of its program; empty where there is none."""
        return find_program(self.list_files())

    def read_texts(self) -> dict[str, str]:
        """Its texts by path, so that work that was cut off begins where it began.

        Raises:
            WorkspaceError: if a file is no text.
        """
        files = {path: file for path, file in self.list_files().items() if path.partition("/")[0] in PLACES}
        return {path: decode_text(read_bytes(file), path) for path, file in files.items()}

    def write_draft(self, name: str, texts: Mapping[str, str]) -> Path:
        """A fresh folder with these texts, in which an agent works.

        Raises:
            WorkspaceError: if it cannot be made.
        """
        folder = self.folder / ".oragent" / "drafts" / name
        try:
            shutil.rmtree(folder, ignore_errors=True)
            for path, text in texts.items():
                (folder / path).parent.mkdir(parents=True, exist_ok=True)
                (folder / path).write_text(text, encoding="utf-8")
            (folder / "src").mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise WorkspaceError(f"cannot write {shorten_path(folder)}: {error.strerror}; make room for it") from None
        return folder


def describe_next_step(folder: Path) -> str:
    """Say how a folder becomes a workspace: an empty one by a command, another one by its files."""
    if folder.is_dir() and any(folder.iterdir()):
        return "put the requirement into docs/ and tables into data/"
    return f"'oragent workspace new {shlex.quote(str(folder))}' makes one; then say in its docs/ what is wanted"


def create_workspace(folder: Path) -> WorkspaceFolder:
    """Make an empty workspace.

    Raises:
        WorkspaceError: if the folder has files.
    """
    _make_empty_folder(folder)
    head = io.StringIO()
    csv.writer(head, lineterminator="\n").writerow(parameters.HEADER)
    contents = {"docs/business_requirement.md": WELCOME, f"data/{parameters.FILE}": head.getvalue()}
    (folder / "src").mkdir()
    with Versions(folder) as versions:
        versions.write_version(contents, "new", "begun")
    return WorkspaceFolder(folder)


def create_from_run(source: Path, folder: Path) -> WorkspaceFolder:
    """Make a workspace of a run that left a model: documents, data, and the model as a program.

    Raises:
        WorkspaceError: if the run left none, or the folder has files.
        MilpError: if its model is broken.
    """
    if not (source / "milp.json").is_file():
        raise WorkspaceError(
            f"no model in {shorten_path(source)}: expected milp.json, as a run of formulate or converse leaves it"
        )
    milp, _ = safe_names(read_milp(source / "milp.json"))
    contents: dict[str, str] = {}
    for path in sorted(source.iterdir()):
        if path.suffix in {".md", ".txt"} and path.is_file() and not path.is_symlink():
            contents[f"docs/{path.name}"] = decode_text(read_bytes(path), path)
        elif path.name == "data.json" or path.suffix == ".csv":
            contents[f"data/{path.name}"] = decode_text(read_bytes(path), path)
    if not any(path.startswith("docs/") for path in contents):
        contents["docs/business_requirement.md"] = f"# {milp.name or 'A model'}\n\n{milp.meaning or WELCOME}\n"
    figures = io.StringIO()
    csv.writer(figures, lineterminator="\n").writerow(parameters.HEADER)
    contents.setdefault(f"data/{parameters.FILE}", figures.getvalue())
    contents["src/optimization_model.py"] = write_program(milp, milp.name or "A model")
    _make_empty_folder(folder)
    with Versions(folder) as versions:
        versions.write_version(contents, "from", f"taken from {source.name}")
    return WorkspaceFolder(folder)


def finished_verbs(folder: Path) -> list[Finished]:
    """The verbs that came to an end, in their order."""
    if not (folder / "run.db").is_file():
        return []
    with Study(folder, {}, Budget(evaluations=None)) as study:
        return study.finished()


def records_to_write(
    home: WorkspaceFolder, versions: Versions, ran: ProgramRun, inputs: Mapping[str, Path]
) -> dict[str, str | None]:
    """The records of a run as contents to be written; earlier ones that a command wrote go, a person's stay.

    Args:
        home: The workspace.
        versions: Its versions.
        ran: The run.
        inputs: Files that were run, by path.
    """
    old = [path for path in home.list_files() if path.startswith(RECORDS) and versions.was_written_by_command(path)]
    return dict.fromkeys(old) | dict(write_records(ran, inputs=inputs_hash(inputs)))


def row_figures(ran: ProgramRun) -> dict[str, list[float | None]]:
    """Slack and dual of each row of a run's model, for pages; duals of integer models with the integers fixed."""
    last = ran.last_model
    if last is None or last.milp is None or last.solution is None:
        return {}
    solution = last.solution
    return {row.name: [solution.slacks.get(row.name), solution.duals.get(row.name)] for row in last.milp.rows[:400]}


def add_parameters(text: str, new_parameters: list[dict[str, Any]]) -> str:
    """A table of general parameters with more rows; those that it has are left as they are."""
    rows = list(csv.reader(io.StringIO(text))) or [list(parameters.HEADER)]
    names = {row[0].strip() for row in rows if row}
    for parameter in new_parameters:
        if str(parameter.get("name", "")) and str(parameter["name"]) not in names:
            cells = [str(parameter.get(key) or "") for key in ("name", "value", "unit", "meaning")]
            rows.append([cell.replace("\n", " ")[:300] for cell in cells])
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue()


def with_values(text: str, values: Mapping[str, str]) -> str:
    """A table of general parameters with other values."""
    rows = list(csv.reader(io.StringIO(text)))
    for row in rows:
        if len(row) > 1 and row[0].strip() in values:
            row[1] = values[row[0].strip()]
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue()


def _make_empty_folder(folder: Path) -> None:
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise WorkspaceError(f"{shorten_path(folder)} is there already and has files; name a new folder")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WorkspaceError(f"cannot make {shorten_path(folder)}: {error.strerror}") from None


def dump_json(value: Any) -> str:
    """A value as JSON text for people."""
    return json.dumps(value, indent=1, ensure_ascii=False) + "\n"

"""A user's workspace: its files, drafts for agents, and the result of each verb in its ``run.db``.

A workspace can be created from a model; the model then becomes a PuLP program.
"""

import csv
import io
import json
import re
import shlex
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from oragent._base import table_dialects as dialects
from oragent._base.errors import WorkspaceError
from oragent._base.files import replace_file
from oragent.ledger.study import FinishedCase, read_finished
from oragent.milp.files import read as read_milp
from oragent.milp.model import Milp, Relation, Row, Sense, Variable, safe_names
from oragent.workspace import tables
from oragent.workspace.layout import REQUIRED, FileFinding, Mode, WorkspaceLayout, find_flaws, sha256_of
from oragent.workspace.reading import (
    decode_text,
    finite_number,
    list_files,
    path_error,
    read_bytes,
    read_json,
    refuse_links,
    shorten,
    shorten_path,
)
from oragent.workspace.records import RECORDS, hash_inputs, write_records
from oragent.workspace.runner import OURS, ProgramRun
from oragent.workspace.settings import read_settings
from oragent.workspace.sources import find_program
from oragent.workspace.versions import IGNORED_TEXT, Versions

# Keys of a plan's parameters, in the order of the columns.
PARAMETER_KEYS = ("name", "value", "unit", "meaning")
PENDING_FILE = Path(".oragent") / "begun.json"
WELCOME = "# What is wanted\n\nSay here what is to be decided, what has to hold, and what is best.\n"
NO_FIGURES = f"{','.join(tables.PARAMETERS_HEADER)}\n"


TEMPLATE = '''"""{title}"""

from pathlib import Path

import pulp

from oragent.workspace import read_table  # CSV in any dialect, and Excel workbooks

DATA = Path(__file__).resolve().parent.parent / "data"


def read_parameters():
    """General parameters by name; a cell that is no number is left out."""
    found = {{}}
    for row in read_table(DATA / "{file}"):
        try:
            found[row["Parameter_Name"]] = float(row["Value"].replace(",", ""))
        except (KeyError, ValueError):
            continue
    return found


def add_variables():
    """Decisions by name."""
    every = [
{variables}
    ]
    return {{one.name: one for one in every}}


def objective(x):
    """What is made small or large."""
    terms = [
{terms}
    ]
    return pulp.lpSum(terms) + {constant}


def add_rows(problem, x):
    """What has to hold."""
{rows}


def build_problem(p):
    """The whole model."""
    problem = pulp.LpProblem("{name}", pulp.{sense})
    x = add_variables()
    problem += objective(x)
    add_rows(problem, x)
    return problem


def main():
    """Solve it and print the objective."""
    problem = build_problem(read_parameters())
    problem.solve(pulp.HiGHS(msg=False))
    print("status:", pulp.LpStatus[problem.status])
    print("OBJECTIVE_VALUE:", pulp.value(problem.objective))


if __name__ == "__main__":
    main()
'''


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
        if read_settings(self.folder).program:
            return WorkspaceLayout(Mode.BUILD, files, {})
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


def create_from_run(source: Path, folder: Path) -> WorkspaceFolder:
    """Create a workspace from a run that has a model: documents, data, and the model as a program."""
    if not (source / "milp.json").is_file() or (source / "milp.json").is_symlink():
        expected = "expected milp.json, as a run of formulate or converse leaves it"
        raise WorkspaceError(f"no model in {shorten_path(source)}: {expected}")
    milp, _ = safe_names(read_milp(source / "milp.json"))
    contents: dict[str, str] = {}
    for path in sorted(source.iterdir()):
        if path.suffix in {".md", ".txt"} and path.is_file() and not path.is_symlink():
            contents[f"docs/{path.name}"] = decode_text(read_bytes(path), path)
        elif path.name == "data.json" or path.suffix == ".csv":
            contents[f"data/{path.name}"] = decode_text(read_bytes(path), path)
    if not any(path.startswith("docs/") for path in contents):
        contents["docs/business_requirement.md"] = f"# {milp.name or 'A model'}\n\n{milp.meaning or WELCOME}\n"
    contents.setdefault(f"data/{tables.PARAMETERS_FILE}", NO_FIGURES)
    contents["src/optimization_model.py"] = write_program(milp, milp.name or "A model")
    return _fill_folder(folder, contents, "from", f"taken from {source.name}")


def finished_verbs(folder: Path) -> list[FinishedCase]:
    """Return the finished verbs in order."""
    if (folder / "run.db").is_file():
        return read_finished(folder)
    return []


def write_records_of(home: WorkspaceFolder, ran: ProgramRun, inputs: Mapping[str, Path]) -> None:
    """Write the records of a run. Records of earlier runs are deleted; files of the user stay."""
    listing = home.folder / ".oragent" / "records.json"
    refuse_links(home.folder)
    known = read_json(listing) if listing.is_file() else {}
    records = write_records(ran, inputs=hash_inputs(inputs, ran.opened))
    written = {}
    try:
        for path in [*known, *records]:
            if not path.startswith(RECORDS) or ".." in path.split("/"):
                continue
            file = home.folder / path
            present = sha256_of(read_bytes(file)) if file.exists() or file.is_symlink() else ""
            if present not in ("", known.get(path)):
                continue
            file.unlink(missing_ok=True)
            if path in records:
                file.parent.mkdir(parents=True, exist_ok=True)
                replace_file(file, records[path])
                written[path] = sha256_of(records[path].encode())
        listing.parent.mkdir(exist_ok=True)
        replace_file(listing, json.dumps(written))
    except OSError as error:
        where = shorten_path(error.filename or home.folder)
        raise WorkspaceError(f"cannot write {where}: {error.strerror}; make room for it") from None


def add_parameters(text: str, new_parameters: list[dict[str, Any]]) -> str:
    """Append rows for missing parameters to a table of general parameters, in the CSV format of the text."""
    if text.strip():
        reading = tables.read_table(text)
    else:
        reading = None
    if reading and reading.table:
        names = {row[0].strip() for row in reading.table.rows}
    else:
        names = set()
    out = io.StringIO(newline="")
    if "\r\n" in text:
        ending = "\r\n"
    else:
        ending = "\n"
    writer = csv.writer(out, delimiter=reading.separator if reading else ",", lineterminator=ending)
    if reading is None:
        writer.writerow(tables.PARAMETERS_HEADER)
    for parameter in new_parameters:
        cells = [shorten(str(parameter.get(key) or "").replace("\n", " "), 300) for key in PARAMETER_KEYS]
        if cells[0].strip() and cells[0].strip() not in names:
            names.add(cells[0].strip())
            if reading and dialects.DECIMAL_COMMAS in reading.notes and tables.parse_number(cells[1]) is not None:
                cells[1] = cells[1].replace(",", "").replace(".", ",")
            writer.writerow(cells)
    if text and not text.endswith("\n") and out.getvalue():
        joint = ending
    else:
        joint = ""
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


@dataclass(frozen=True)
class PendingVerb:
    """Verb with its arguments, stored until it finishes."""

    # Name of the verb: build, revise or ask.
    verb: str
    # Text of the change request, or question.
    text: str = ""
    # Whether a revision uses the last run as its request.
    feedback: bool = False
    # Whether a revision is written even if it does not preserve the former rules.
    accept: bool = False
    # CPU seconds from the command line. None means the folder's setting.
    time: float | None = None
    # Relative gap at which a solve may end. None means the folder's setting.
    gap: float | None = None
    # Memory of a program in MiB. None means the folder's setting.
    memory: int | None = None
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
        (folder / PENDING_FILE).unlink(missing_ok=True)


def read_pending(folder: Path) -> PendingVerb | None:
    """Return the interrupted verb; None if no verb was interrupted."""
    path = folder / PENDING_FILE
    refuse_links(folder)
    if not path.is_file():
        return None
    plain = read_json(path)
    try:
        pending = PendingVerb(**plain | {"answers": tuple(map(str, plain.get("answers", ())))})
    except TypeError:
        raise path_error(path, "was not written by a verb: delete it, and repeat the verb") from None
    numbers = (pending.time, pending.gap, pending.memory)
    if (
        pending.verb not in ("build", "revise", "ask")
        or not isinstance(pending.text, str)
        or not isinstance(pending.runtime, dict)
        or not all(value is None or finite_number(value) is not None for value in numbers)
    ):
        raise WorkspaceError(f"{shorten_path(path)} names no verb: delete it, and repeat the verb")
    return pending


def write_program(milp: Milp, title: str) -> str:
    """Write a model as a program that prints its objective; its names must be identifiers."""
    variables = "\n".join(f"        {_variable_code(variable)}," for variable in milp.variables)
    terms = "\n".join(f"        {value!r} * x[{name!r}]," for name, value in milp.objective.terms.items())
    return TEMPLATE.format(
        title=title,
        file=tables.PARAMETERS_FILE,
        variables=variables,
        terms=terms,
        constant=repr(milp.objective.constant),
        rows="\n".join(map(_row_code, milp.rows)) or "    return",
        name=re.sub(r"\W+", "_", milp.name) or "model",
        sense="LpMinimize" if milp.sense is Sense.MINIMIZE else "LpMaximize",
    )


def _variable_code(variable: Variable) -> str:
    low, high = (None if abs(bound) == float("inf") else bound for bound in (variable.low, variable.high))
    if variable.is_integer:
        category = ', cat="Integer"'
    else:
        category = ""
    return f"pulp.LpVariable({variable.name!r}, {low!r}, {high!r}{category})"


def _row_code(row: Row) -> str:
    terms = ", ".join(f"{value!r} * x[{name!r}]" for name, value in row.terms.items()) or "0"
    if row.relation is Relation.EQUAL:
        relation = "=="
    else:
        relation = row.relation
    return f"    problem += pulp.lpSum([{terms}]) {relation} {row.rhs!r}, {row.name!r}"

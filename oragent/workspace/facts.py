"""What is known of two versions without asking anybody: documents, figures, code, records, and the models."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from oragent._base.errors import WorkspaceError
from oragent.milp.model import Milp
from oragent.workspace import parameters, tables
from oragent.workspace.layout import FileRole, role
from oragent.workspace.reading import read_bytes, read_json, read_text
from oragent.workspace.records import are_stale
from oragent.workspace.runner import ProgramRunner, SolvedModel

HELPERS = {"utils.py", "utility_code.py", "gurobi_pulp_compat.py", "gurobi_execution_record.py"}


@dataclass(frozen=True)
class VersionFacts:
    """One version of a workspace.

    Attributes:
        prefix: Folder of the version below the workspace, with ``/``; empty where there is one version alone.
        files: Files by path below the workspace.
        figures: General parameters by name, with the path of their table.
        program: Path of the program; empty where there is none.
        model: What the program solved, solved again; None where there is none.
        record: Path of the solver record of it; empty where there is none.
    """

    prefix: str
    files: Mapping[str, Path]
    figures: Mapping[str, tuple[str, parameters.Parameter]]
    program: str
    model: SolvedModel | None
    record: str

    @property
    def milp(self) -> Milp | None:
        """The model."""
        return self.model.milp if self.model else None

    def lines(self, *roles: FileRole) -> list[tuple[str, int, str]]:
        """Lines of its files of some roles: path, number, text."""
        found = []
        for path, place in self.files.items():
            if role(path) in roles:
                try:
                    found += [(path, number, line) for number, line in enumerate(read_text(place).split("\n"), 1)]
                except WorkspaceError:
                    continue
        return found


@dataclass(frozen=True)
class WorkspaceFacts:
    """Both versions; where there is one alone, the original is None.

    Attributes:
        original: Version before the revision.
        revised: Version that is asked about.
    """

    original: VersionFacts | None
    revised: VersionFacts

    @property
    def files(self) -> dict[str, Path]:
        """All files of both."""
        return {**(self.original.files if self.original else {}), **self.revised.files}


def known(folder: Path, files: Mapping[str, Path], runner: ProgramRunner) -> WorkspaceFacts:
    """Read both versions of a workspace, and run their programs.

    Args:
        folder: Folder of the workspace.
        files: Its files.
        runner: Runner of programs.

    Raises:
        WorkspaceError: if a file cannot be read.
    """
    if any(path.startswith("revised/") for path in files):
        original, revised = (_version(folder, files, f"{name}/", runner) for name in ("original", "revised"))
        return WorkspaceFacts(original, revised)
    return WorkspaceFacts(None, _version(folder, files, "", runner))


def main_program(files: Mapping[str, Path], prefix: str = "") -> str:
    """The program of a version: the file in its ``src/`` that prints an objective, or the first that is no helper."""
    found = [path for path in files if re.fullmatch(rf"{re.escape(prefix)}src/[^/]+\.py", path)]
    found = [path for path in found if path.rpartition("/")[2] not in HELPERS]
    printing = [path for path in found if b"OBJECTIVE_VALUE" in read_bytes(files[path])]
    return (printing or found or [""])[0]


def _version(folder: Path, files: Mapping[str, Path], prefix: str, runner: ProgramRunner) -> VersionFacts:
    own = {path: place for path, place in files.items() if path.startswith(prefix)}
    program = main_program(files, prefix)
    model = None
    if program:
        ran = runner.run(folder / prefix if prefix else folder, program.removeprefix(prefix))
        model = ran.last
    return VersionFacts(prefix, own, _figures(own), program, model, _record(own, prefix, model))


def _figures(files: Mapping[str, Path]) -> dict[str, tuple[str, parameters.Parameter]]:
    found = {}
    for path, place in files.items():
        if path.endswith(f"data/{parameters.FILE}"):
            table = tables.read(read_text(place)).table
            if table is not None:
                found = {one.name: (path, one) for one in parameters.read(table)[0]}
    return found


def _record(files: Mapping[str, Path], prefix: str, model: SolvedModel | None) -> str:
    """The record with the model's objective, the first one where none has it; stale records do not count."""
    if are_stale(files, prefix):
        return ""
    records = [path for path in files if path.endswith(".solution.json")]
    for path in records:
        value = read_json(files[path]).get("objective_value")
        wanted = model.objective if model else None
        if wanted is not None and isinstance(value, int | float) and abs(value - wanted) <= 1e-6 * max(1.0, abs(value)):
            return path
    return records[0] if records else ""

"""Collect the facts of two versions: documents, figures, code, records and models."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from oragent._base.errors import WorkspaceError
from oragent.milp.model import Milp
from oragent.milp.solution import Solution, SolveStatus
from oragent.workspace import tables
from oragent.workspace.layout import FileRole, role_of
from oragent.workspace.objective import is_within_tolerance
from oragent.workspace.reading import finite_number, read_bytes, read_json, read_text
from oragent.workspace.records import are_stale
from oragent.workspace.runner import ProgramRunner, SolvedModel

HELPERS = {"utils.py", "utility_code.py", "gurobi_pulp_compat.py", "gurobi_execution_record.py"}


@dataclass(frozen=True)
class VersionFacts:
    """One version of a workspace."""

    # folder of the version, with ``/``; empty where there is one version alone
    prefix: str
    # by path below the workspace
    files: Mapping[str, Path]
    # parameters, with the path of their table
    figures: Mapping[str, tuple[str, tables.Parameter]]
    # path; empty where there is none
    program: str
    # what the program solved, solved again; None where there is none
    model: SolvedModel | None
    # path of the solver record of it; empty where there is none
    record: str
    # in which its program runs
    folder: Path = Path()

    def read_record(self) -> dict[str, Any]:
        """Read its solver record; empty where there is none."""
        if self.record:
            return read_json(self.files[self.record])
        return {}

    @property
    def milp(self) -> Milp | None:
        """The model."""
        if self.model:
            return self.model.milp
        return None

    @property
    def solution(self) -> Solution | None:
        """What the model comes to."""
        if self.model:
            return self.model.solution
        return None

    def read_lines(self, *roles: FileRole) -> list[tuple[str, int, str]]:
        """Lines of its files of some roles: path, number, text."""
        lines = []
        for path, file in self.files.items():
            if role_of(path) in roles:
                try:
                    lines += [(path, number, text) for number, text in enumerate(read_text(file).split("\n"), 1)]
                except WorkspaceError:
                    continue
        return lines


@dataclass(frozen=True)
class WorkspaceFacts:
    """Both versions, before and after a revision; where there is one alone, the original is None."""

    original: VersionFacts | None
    revised: VersionFacts


def read_facts(folder: Path, files: Mapping[str, Path], runner: ProgramRunner) -> WorkspaceFacts:
    """Read both versions of a workspace, and run their programs."""
    if any(path.startswith("revised/") for path in files):
        original, revised = (_read_version(folder, files, f"{name}/", runner) for name in ("original", "revised"))
        return WorkspaceFacts(original, revised)
    return WorkspaceFacts(None, _read_version(folder, files, "", runner))


def find_program(files: Mapping[str, Path], prefix: str = "") -> str:
    """The program of a version: the file in its ``src/`` that prints an objective, or the first that is no helper."""
    programs = [path for path in files if re.fullmatch(rf"{re.escape(prefix)}src/[^/]+\.py", path)]
    programs = [path for path in programs if path.rpartition("/")[2] not in HELPERS]
    printing = [path for path in programs if b"OBJECTIVE_VALUE" in read_bytes(files[path])]
    return (printing or programs or [""])[0]


def _read_version(folder: Path, files: Mapping[str, Path], prefix: str, runner: ProgramRunner) -> VersionFacts:
    version_files = {path: file for path, file in files.items() if path.startswith(prefix)}
    program, folder = find_program(files, prefix), folder / prefix if prefix else folder
    if program:
        model = runner.run(folder, program.removeprefix(prefix)).last_model
    else:
        model = None
    record = _find_record(version_files, prefix, model)
    return VersionFacts(prefix, version_files, _read_figures(version_files), program, model, record, folder)


def _read_figures(files: Mapping[str, Path]) -> dict[str, tuple[str, tables.Parameter]]:
    figures = {}
    for path, file in files.items():
        if path.endswith(f"data/{tables.PARAMETERS_FILE}"):
            table = tables.read_table(read_text(file)).table
            if table is not None:
                figures = {parameter.name: (path, parameter) for parameter in tables.read_parameters(table)[0]}
    return figures


def _find_record(files: Mapping[str, Path], prefix: str, model: SolvedModel | None) -> str:
    """The record of the solve that an answer is about; empty where there is none.

    A plan that is not proven optimal differs from run to run: a record belongs to it only if it has the same plan.
    Stale records do not count. Where the program has no solution here, the first record stands for it.
    """
    if are_stale(files, prefix):
        return ""
    records = [path for path in files if path.endswith(".solution.json")]
    if model:
        solution = model.solution
    else:
        solution = None
    if solution is None or solution.status in (SolveStatus.INFEASIBLE, SolveStatus.UNBOUNDED):
        if records:
            return records[0]
        return ""
    for path in records:
        record = read_json(files[path])
        value = finite_number(record.get("objective_value"))
        if value is None or solution.objective is None or not is_within_tolerance(solution.objective, value, 1e-6):
            continue
        if solution.status is SolveStatus.OPTIMAL or _has_plan(record, solution.values):
            return path
    return ""


def _has_plan(record: Mapping[str, Any], values: Mapping[str, float]) -> bool:
    columns = record.get("variables")
    if not isinstance(columns, dict) or columns.keys() != values.keys():
        return False
    recorded = {
        name: finite_number(column.get("value")) if isinstance(column, dict) else None
        for name, column in columns.items()
    }
    return all(value is not None and is_within_tolerance(values[name], value, 1e-6) for name, value in recorded.items())

"""Records of the public release: what its own programs printed, and which models they solved."""

from dataclasses import dataclass
from pathlib import Path

from oragent.workspace.layout import Mode, WorkspaceLayout
from oragent.workspace.reading import finite_number, read_json
from oragent_benchmarks.workspace.grading import Prediction, workspace_id
from oragent_benchmarks.workspace.importing import Release
from oragent_benchmarks.workspace.printed import Backing, PrintedObjective, find_backing, parse_objective

# Version whose records should agree with the references of a mode.
VERSIONS = {Mode.BUILD: "original", Mode.REVISE: "revised"}


@dataclass(frozen=True)
class VersionRecords:
    """All records of one version."""

    # Objective of the execution record. None if the record has no objective.
    objective: float | None
    # Objective in the program's output.
    printed: PrintedObjective
    # Objectives of the solved models. Notes on the result of a program's own search do not count.
    solved_models: tuple[float | None, ...]

    @property
    def backing(self) -> Backing:
        """Return the backing of the printed objective."""
        return find_backing(self.printed, self.solved_models)


def read_version(workspace: WorkspaceLayout, version: str) -> VersionRecords | None:
    """Return the records of ``original`` or ``revised``; None if that version has no records."""
    execution = workspace.files.get(f"{version}/logs/execution_record.json")
    if execution is None:
        return None
    record = read_json(execution)
    prefix = f"{version}/solver_records/"
    paths = [path for path in workspace.files if path.startswith(prefix) and path.endswith(".solution.json")]
    solved = (_read_objective(workspace.files[path]) for path in paths)
    return VersionRecords(
        finite_number(record.get("objective_value")),
        parse_objective(str(record.get("stdout") or "")),
        tuple(objective for is_note, objective in solved if not is_note),
    )


def predict_from_records(release: Release, mode: Mode) -> dict[str, Prediction]:
    """Predict from the release's own records: of the original for build, of the revised version for revise."""
    predictions = {}
    for number, workspace in release.of_mode(Mode.EXPLAIN).items():
        records = read_version(workspace, VERSIONS[mode])
        if records is not None:
            name = workspace_id(mode, number)
            predictions[name] = Prediction(name, "Optimal", records.objective)
    return predictions


def _read_objective(file: Path) -> tuple[bool, float | None]:
    """Return whether a record is only a note, and its objective."""
    record = read_json(file)
    return "diagnostic_type" in record, finite_number(record.get("objective_value"))

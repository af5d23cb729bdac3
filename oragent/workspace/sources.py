"""Models of a workspace at a revision: the files of the folder in git, and the model that its program solves."""

import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from oragent._base.errors import ModellingError, WorkspaceError
from oragent.modelling.capture.program import CapturedModel, CapturedProgram, ProgramOutcome, capture_program
from oragent.modelling.data.display import plain
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.opening import is_program, open_model
from oragent.modelling.operations.outcomes import SolveLimits
from oragent.workspace.entries import NO_ENTRY
from oragent.workspace.program_search import rank_programs
from oragent.workspace.reading import check_inside, list_files, shorten, shorten_path
from oragent.workspace.repository import Repository
from oragent.workspace.runner import copied_folder
from oragent.workspace.settings import FILE, NO_OPTIONS, EffortOptions, WorkspaceSettings, read_settings

# Name of the working tree in place of a revision.
WORKING = "."
# Maximum number of characters shown of the last line of a program's errors.
SHOWN = 300
# Modules in a program's folder that are not main programs.
HELPERS = {"__init__.py", "utils.py", "utility_code.py"}
MODELS = (".json", ".lp", ".mps", ".rlp", ".ilp", ".gz", ".bz2", ".py")

Tell = Callable[[str], None]


def ignore_note(text: str) -> None:
    """Ignore a note."""


@dataclass(frozen=True)
class FolderState:
    """The files of a workspace at a revision."""

    # Revision as named on the command line; ``.`` for the working tree.
    revision: str
    # Id of the commit. Empty for the working tree and for a single file.
    commit: str
    folder: Path
    settings: WorkspaceSettings
    # Model or program that replaces the one in the folder's settings. Empty if not given.
    file: str = ""

    @property
    def program(self) -> str:
        """Path of the program or model file below the folder."""
        path = self.file or self.settings.program or find_program(self.list_files())
        if not path:
            raise WorkspaceError(
                f"no program in {shorten_path(self.folder)}: expected one in src/, or 'program: FILE' in workspace.yaml"
            )
        return path

    @property
    def solve_limits(self) -> SolveLimits:
        """Limits of a solve from the settings of the workspace."""
        names = ("gap", "solver", "confirm", "threads", "seed")
        return SolveLimits(seconds=self.settings.time, **{name: getattr(self.settings, name) for name in names})

    def list_files(self) -> dict[str, Path]:
        """Return the files by path below the folder, without hidden ones."""
        return list_files(self.folder, hidden=False)


@dataclass(frozen=True)
class OpenedModel:
    """A model of a workspace, and the run that created it."""

    state: FolderState
    model: IndexedModel
    # Name and version of the library that solved the model. Empty for a model file.
    framework: str = ""
    # Solve in which the program used the model. None for a model file.
    captured: CapturedModel | None = field(default=None, repr=False)


def find_program(files: Mapping[str, Path]) -> str:
    """Return the program in ``src``: the most likely main program, or the first one; empty without programs."""
    paths = [path for path in files if path.startswith("src/") and path.count("/") == 1 and path.endswith(".py")]
    programs = {path: files[path] for path in paths if path.rpartition("/")[2] not in HELPERS}
    return (rank_programs(programs) or [*programs, ""])[0]


@contextmanager
def open_state(folder: Path, revision: str = WORKING, options: EffortOptions = NO_OPTIONS) -> Iterator[FolderState]:
    """Yield the files of a workspace at a revision, of the working tree, or a single model file.

    Args:
        folder: The workspace, in a git repository if a revision is named.
        revision: ``.`` for the working tree, a revision of git, ``REVISION:FILE`` for another program or model of that
            revision, or the path of a model file.
        options: Limits of the command line.

    Raises:
        WorkspaceError: The folder, revision or file does not exist.
    """
    if not folder.is_dir():
        raise WorkspaceError(f"no workspace at {shorten_path(folder)}: the folder does not exist")
    if revision == WORKING:
        yield FolderState(WORKING, "", folder, read_settings(folder, options))
        return
    repository = Repository.find(folder)
    name, colon, file = revision.partition(":")
    path = Path(revision)
    if path.suffix in MODELS and path.is_file():
        yield FolderState(revision, "", path.parent, read_settings(folder, options), path.name)
        return
    if repository is None:
        raise WorkspaceError(
            f"{shorten_path(folder)} is not in a git repository, so revision {shorten(revision)!r} does not exist"
        )
    commit = repository.resolve(name)
    scratch = Path(tempfile.mkdtemp(prefix="oragent-revision-"))
    try:
        repository.check_out(commit, scratch)
        if colon:
            check_inside(file)
        # A folder adopted after this revision has its settings only in the working tree.
        holder = scratch if (scratch / FILE).exists() else folder
        yield FolderState(revision, commit, scratch, read_settings(holder, options), file)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


@contextmanager
def replaced_files(state: FolderState, contents: Mapping[str, bytes]) -> Iterator[FolderState]:
    """Yield a state in which some files have other contents; all other files are copies."""
    with copied_folder(state.folder, contents) as copy:
        yield FolderState(state.revision, state.commit, copy, state.settings, state.file)


def open_state_model(
    state: FolderState,
    tell: Tell = ignore_note,
    check_claim: bool = False,
    files: Mapping[str, str] | None = None,
) -> OpenedModel:
    """Read the model of a state. A program runs in the sandbox, and the last model that it solves is used.

    Objectives of earlier solves, which it holds by rows, come first among the objectives of the model.

    Args:
        state: Files of a workspace.
        tell: Function that is called with one line about the captured models.
        check_claim: Whether to solve the model here and compare the program's point with it.
        files: Texts that replace files of the state.

    Raises:
        ModellingError: The program fails, or solves no model that can be captured.
        WorkspaceError: The workspace has no program.
        SandboxError: The sandbox failed.
    """
    path = state.folder / state.program
    if not is_program(path):
        if not path.exists():
            raise WorkspaceError(f"no file {shorten_path(state.program)} in revision {shorten(state.revision)!r}")
        return OpenedModel(state, open_model(path))
    # Another program than that of the command has no arguments.
    entry = state.settings.entry if state.settings.entry.path == state.program else NO_ENTRY
    run = capture_program(
        path,
        data_folder=state.folder,
        arguments=entry.arguments,
        module=entry.module,
        import_folders=entry.import_folders,
        working_folder=entry.working_folder,
        environment=state.settings.variables,
        limits=state.settings.limits,
        solve_s=state.settings.time if check_claim else None,
        files=files,
    )
    captured = run.models[-1] if run.models else None
    if captured is None or captured.model is None:
        raise ModellingError(f"{plain(state.program, 160)}{_describe_revision(state)}: {describe_failure(run)}")
    count = f", the last of {len(run.models)}" if len(run.models) > 1 else ""
    tell(
        f"{plain(state.program, 160)}{_describe_revision(state)}: captured from {plain(captured.framework, 60)}{count}"
    )
    model = captured.model if run.joined_model is None else run.joined_model
    return OpenedModel(state, model, captured.framework, captured)


def describe_failure(run: CapturedProgram) -> str:
    """Describe in one line why a program left no model."""
    captured = run.models[-1] if run.models else None
    if run.outcome is not ProgramOutcome.ENDED:
        last = run.stderr.strip().splitlines()[-1:] or [run.reason or run.outcome]
        return f"the program ended with: {plain(last[0], SHOWN)}"
    return plain(captured.reason if captured else run.reason, SHOWN)


def _describe_revision(state: FolderState) -> str:
    return "" if state.revision == WORKING else f" of {plain(state.revision, 60)}"

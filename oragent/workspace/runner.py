"""Sandboxed runs of a workspace's program on a copy of the folder, and independent solves of captured models.

The program may read and change its copy. It sees no labels, no other workspaces and no files of the machine.
"""

import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from itertools import count
from pathlib import Path

from oragent._base.distribution import extra_install_command
from oragent._base.errors import ModellingError, WorkspaceError
from oragent.modelling.capture.program import CapturedModel, ProgramOutcome, capture_program
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.solution import Solution, SolveStatus
from oragent.modelling.solving.array_solving import PROVEN
from oragent.modelling.solving.model_solving import evaluate_point, solve
from oragent.sandbox.messages import Limits
from oragent.sandbox.sandbox import Sandbox
from oragent.workspace.entries import NO_ENTRY, ProgramEntry
from oragent.workspace.reading import RUN_FILES, list_files, shorten_path
from oragent.workspace.settings import LIMITS

# Oragent's own files in a user's workspace.
OURS = {".oragent", *RUN_FILES}
# Minimum share of a program's time limit for the second solve of its models.
MIN_SHARE = 0.25
# Maximum number of variables and rows for which duals and ranges are computed.
SENSITIVE = 4000
OUT_OF_TIME = "not solved again: no time was left"
# Extra of oragent for each modelling library.
EXTRAS = {
    "pulp": "workspace",
    "pandas": "workspace",
    "pyomo": "frameworks",
    "linopy": "frameworks",
    "ortools": "solvers",
    "gurobipy": "gurobi",
}
# Last error line of a program that imports a package that is not installed.
NO_MODULE = re.compile(r"^ModuleNotFoundError: No module named '(\w+)", re.MULTILINE)


@dataclass(frozen=True)
class SolvedModel:
    """A captured model with an independent solution."""

    # None if the program's model could not be captured.
    milp: IndexedModel | None
    # Solution with duals. None if the model was not solved again.
    solution: Solution | None = None
    # Reason why a part is missing. Empty if the result is complete.
    note: str = ""
    # Name and version of the library that solved the model.
    framework: str = ""

    @property
    def objective(self) -> float | None:
        """Objective of the solution."""
        if self.solution:
            return self.solution.objective
        return None

    @property
    def has_point(self) -> bool:
        """Return True if the solution has values."""
        return self.solution is not None and self.solution.status.has_point


@dataclass(frozen=True)
class ProgramRun:
    """Result of running a program."""

    stop: ProgramOutcome
    # Exit code, or minus the signal.
    code: int = 0
    # Head and tail of the output.
    stdout: str = ""
    # Head and tail of the errors.
    stderr: str = ""
    # The last models that the program solved, in order.
    models: tuple[SolvedModel, ...] = ()
    cpu_s: float = 0.0
    # Peak resident memory in MiB.
    peak_mb: float = 0.0
    # Reason why the program was stopped, or why no model was captured. Empty for neither.
    reason: str = ""
    # Files of the workspace that the program opened.
    opened: tuple[str, ...] = ()

    @property
    def last_model(self) -> SolvedModel | None:
        """Last captured model."""
        captured = [model for model in self.models if model.milp is not None]
        if captured:
            return captured[-1]
        return None

    @property
    def objective(self) -> float | None:
        """Objective of the last captured model, as solved by oragent; None without a point."""
        last = self.last_model
        if last is not None and last.has_point:
            return last.objective
        return None

    @property
    def is_cut_with_plan(self) -> bool:
        """Return True if the time limit ended the program, and its last model has a point."""
        return self.stop is ProgramOutcome.TIME and self.objective is not None

    @property
    def has_solution(self) -> bool:
        """Return True if the program ended, and its last model has a point."""
        return self.stop is ProgramOutcome.ENDED and self.objective is not None

    @property
    def standing(self) -> str:
        """Gap between the objective and the best bound, as text; empty without a solved model."""
        last = self.last_model
        if last is not None and last.solution:
            return last.solution.standing
        return ""


@dataclass(frozen=True)
class ProgramRunner:
    """Runner of workspace programs in a shared sandbox."""

    sandbox: Sandbox
    # Limits of one run. Its models are solved again in the time that remains.
    limits: Limits = LIMITS
    # Relative gap at which the second solve ends.
    gap: float = 0.0
    # Command line of the workspace's program, and its environment variables.
    entry: ProgramEntry = NO_ENTRY
    environment: Mapping[str, str] = field(default_factory=dict)

    def run(self, folder: Path, program: str, files: Mapping[str, str | bytes] | None = None) -> ProgramRun:
        """Run a program on a copy of a folder. The method is thread-safe.

        The program works in the folder that contains ``src``; that of the command works in the folder itself. ``files``
        replace or add files in the copy.

        Raises:
            WorkspaceError: The folder contains a link or device, or the program does not exist.
            SandboxError: The sandbox itself fails.
        """
        with copied_folder(folder, files or {}) as copy:
            if not (copy / program).is_file():
                missing = f"no program {shorten_path(program)} in {shorten_path(folder)}"
                raise WorkspaceError(f"{missing}; expected a Python file in src/")
            entry = self.entry if program == self.entry.path else NO_ENTRY
            above = "" if entry is self.entry else program.rpartition("src/")[0].strip("/")
            root = copy / above
            ended = capture_program(
                copy / program,
                data_folder=root,
                arguments=entry.arguments,
                module=entry.module,
                import_folders=entry.import_folders,
                working_folder=entry.working_folder,
                environment=self.environment,
                limits=self.limits,
                solve_s=None,
                sandbox=self.sandbox,
                works_in_folder=True,
            )
        models = self._solve_again(ended.models, ended.cpu_s)
        output = (ended.code, ended.stdout, ended.stderr, models)
        opened = tuple(f"{above}/{path}" if above else path for path in ended.opened)
        reason = _describe_missing_package(ended.stderr) or ended.reason
        return ProgramRun(ended.outcome, *output, ended.cpu_s, ended.peak_mb, reason, opened)

    def _solve_again(self, captured: tuple[CapturedModel, ...], used_s: float) -> tuple[SolvedModel, ...]:
        """Solve models, the last one first, in the time that the program left unused."""
        until = time.monotonic() + max(MIN_SHARE * self.limits.cpu_s, self.limits.cpu_s - used_s)
        solved = [solve_captured(model, until - time.monotonic(), self.gap) for model in reversed(captured)]
        return tuple(reversed(solved))


def _describe_missing_package(errors: str) -> str:
    """Return the command that installs the package that a program could not import; empty if no extra has it."""
    missing = [name for name in NO_MODULE.findall(errors) if name in EXTRAS and find_spec(name) is None]
    if not missing:
        return ""
    name = missing[-1]
    return f"the program imports {name}, which is not installed: {extra_install_command(EXTRAS[name])}"


def solve_captured(captured: CapturedModel, limit_s: float, gap: float) -> SolvedModel:
    """Solve a captured model within some seconds, with duals."""
    if captured.model is None:
        return SolvedModel(None, note=captured.reason, framework=captured.framework)
    milp = captured.model
    result = SolvedModel(milp, note=OUT_OF_TIME, framework=captured.framework)
    small = milp.shape[1] + milp.shape[0] <= SENSITIVE
    try:
        solution = solve(milp, limit_s, gap, duals=small) if limit_s > 0 else Solution(SolveStatus.UNKNOWN)
        solution = _use_claimed_point(milp, solution, captured, small)
        if limit_s <= 0:
            return replace(result, solution=solution if solution.status.has_point else None)
        return replace(result, solution=solution, note="")
    except ModellingError as problem:
        return replace(result, note=f"not solved again: {problem}")


def _use_claimed_point(milp: IndexedModel, solution: Solution, captured: CapturedModel, duals: bool) -> Solution:
    """Return the program's feasible point if it is better than an unproven solution."""
    values = captured.claim.values
    proven = (SolveStatus.OPTIMAL, SolveStatus.INFEASIBLE, SolveStatus.UNBOUNDED)
    if values is None or solution.status in proven:
        return solution
    named = {variable.name: float(value) for variable, value in zip(milp.variable_records, values, strict=True)}
    claimed = evaluate_point(milp, named, solution.bound, duals=duals)
    if not claimed or claimed.objective is None:
        return solution
    if solution.objective is not None:
        is_same = is_within_tolerance(claimed.objective, solution.objective, PROVEN)
        if is_same or milp.sense.sign * claimed.objective >= milp.sense.sign * solution.objective:
            return solution
    return replace(claimed, relaxation=solution.relaxation, seconds=solution.seconds)


@contextmanager
def copied_folder(folder: Path, files: Mapping[str, str | bytes]) -> Iterator[Path]:
    """Yield a temporary copy of a folder in which some files are replaced; oragent's own files are left out."""
    scratch = Path(tempfile.mkdtemp(prefix="oragent-workspace-"))
    copy = scratch / "workspace"
    try:
        copy.mkdir()
        for path, file in list_files(folder, hidden=False).items():
            if path.partition("/")[0] not in OURS and path not in files:
                (copy / path).parent.mkdir(parents=True, exist_ok=True)
                # Hard links would change the times of the file, and then git would have to read it again.
                shutil.copyfile(file, copy / path, follow_symlinks=False)
        for path, content in files.items():
            (copy / path).parent.mkdir(parents=True, exist_ok=True)
            (copy / path).write_bytes(content.encode() if isinstance(content, str) else content)
        yield copy
    except OSError as error:
        what = f"cannot copy {shorten_path(folder)} to be run"
        raise WorkspaceError(f"{what}: {error.strerror}; make room for it") from None
    finally:
        _remove_folder(scratch)


def _remove_folder(folder: Path) -> None:
    """Remove a folder with any depth of nesting. Inner folders are moved up before they are emptied."""
    waiting, numbers = [folder], count()
    while waiting:
        outer = waiting.pop()
        with suppress(OSError):
            outer.chmod(0o700)
            for entry in list(os.scandir(outer)):
                if entry.is_dir(follow_symlinks=False):
                    os.rename(entry.path, inner := folder / f".{next(numbers)}")
                    waiting.append(inner)
                else:
                    os.unlink(entry.path)
        if outer != folder:
            with suppress(OSError):
                outer.rmdir()
    with suppress(OSError):
        folder.rmdir()


def relative_error(objective: float, reference: float) -> float:
    """Return the difference divided by the size of the reference, which counts as at least one."""
    return abs(objective - reference) / max(1.0, abs(reference))


def is_within_tolerance(value: float, reference: float, tolerance: float) -> bool:
    """Return True if a value lies within a relative tolerance of the reference (the objective rule)."""
    return relative_error(value, reference) <= tolerance

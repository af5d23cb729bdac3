"""Sandboxed runs of a workspace's program on a copy of the folder, followed by a second solve of its models.

The published sandbox is a container without a network. This one is oragent's sandbox with a single folder: a copy of
the workspace, which the program may read and change. It contains no labels, other workspaces or files of the machine.
"""

import json
import math
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from oragent._base.distribution import require_pulp
from oragent._base.errors import MilpError, WorkspaceError
from oragent.milp import as_json
from oragent.milp.as_pulp import GAP
from oragent.milp.model import Milp
from oragent.milp.solution import Solution
from oragent.sandbox.messages import PYTHON, Command, CommandResult, EndReason, Limits
from oragent.sandbox.sandbox import Sandbox
from oragent.workspace.objective import (
    Backing,
    PrintedObjective,
    ProgramAttempt,
    StopReason,
    find_backing,
    parse_objective,
)
from oragent.workspace.reading import list_files, read_bytes, shorten_path
from oragent.workspace.settings import PROGRAM_LIMITS
from oragent.workspace.shim import POINT, SOLVES

STAGE = Path(__file__).with_name("stage.py")
# Folder of oragent in the working copy; it is not a part of the workspace.
HERE = ".oragent"
# Files of oragent in a user's workspace.
OURS = {HERE, "run.db", "run.db-wal", "run.db-shm", "report.html"}
# Minimum share of a program's time limit for the second solve of its models.
LEAST_SHARE = 0.25
# CPU seconds until the models are read, on a busy machine.
START_S = 2.0
LIMITS = PROGRAM_LIMITS


@dataclass(frozen=True)
class SolvedModel:
    """A model that a program solved, with an independent second solution."""

    # None if the captured data are not a model.
    milp: Milp | None
    # Solution with duals. None if the model was not solved again.
    solution: Solution | None = None
    # Solution of the relaxation. None for a model without integers.
    relaxed: Solution | None = None
    # Reason why a part is missing. Empty if the result is complete.
    note: str = ""

    @property
    def objective(self) -> float | None:
        """Objective of the solution."""
        if self.solution:
            return self.solution.objective
        return None


@dataclass(frozen=True)
class ProgramRun:
    """Result of running a program."""

    stop: StopReason
    # Exit code, or minus the signal.
    code: int = 0
    # Head and tail of the output.
    stdout: str = ""
    # Head and tail of the errors.
    stderr: str = ""
    # The last models that the program solved, in order.
    models: tuple[SolvedModel, ...] = ()
    # Files of the copy that the program created or changed.
    changed: Mapping[str, bytes] = field(default_factory=dict)
    # Files of the copy that the program removed.
    removed: tuple[str, ...] = ()
    wall_s: float = 0.0
    cpu_s: float = 0.0
    # Peak resident memory in MiB.
    peak_mb: float = 0.0
    # Reason why the sandbox ended the program. Empty if it ended by itself.
    reason: str = ""

    @property
    def printed_objective(self) -> PrintedObjective:
        """Objective in the program's output."""
        return parse_objective(self.stdout)

    @property
    def backing(self) -> Backing:
        """Backing of the printed objective; an enumeration or an invented value is not backed."""
        return find_backing(self.printed_objective, [model.objective for model in self.models])

    @property
    def last_model(self) -> SolvedModel | None:
        """Model with the printed objective; without one, the last solved model."""
        value = self.printed_objective.value
        with_milp = [model for model in self.models if model.milp is not None]
        if value is not None:
            for model in reversed(with_milp):
                if model.objective is not None and math.isclose(model.objective, value, rel_tol=1e-6, abs_tol=1e-6):
                    return model
        if with_milp:
            return with_milp[-1]
        return None

    @property
    def is_cut_with_plan(self) -> bool:
        """Return True if the time limit ended the program and its last model, solved again, has a plan."""
        if self.models:
            solution = self.models[-1].solution
        else:
            solution = None
        return self.stop is StopReason.TIMEOUT and solution is not None and solution.status.has_point

    @property
    def has_solution(self) -> bool:
        """Return True if the program printed an objective, and the model behind it, if any, has a point."""
        if self.stop is not StopReason.ENDED or self.printed_objective.value is None:
            return False
        last = self.last_model
        return last is None or last.solution is None or last.solution.status.has_point

    @property
    def standing(self) -> str:
        """Distance of the printed objective from the optimum, as text; empty if no model backs it."""
        last = self.last_model
        if last is None or last.solution is None or self.backing in (Backing.OTHER, Backing.NONE):
            return ""
        return last.solution.standing

    @property
    def attempt(self) -> ProgramAttempt:
        """Run as it is graded: status and models come from oragent, the printed value from the program."""
        last = self.last_model
        if last and last.solution:
            status = str(last.solution.status)
        else:
            status = ""
        if last and last.milp:
            direction = last.milp.sense
        else:
            direction = None
        objectives = tuple(model.objective for model in self.models)
        return ProgramAttempt(self.stop, self.stdout, self.stderr, status, objectives, direction)


@dataclass
class ProgramRunner:
    """Runner of workspace programs in a shared sandbox."""

    sandbox: Sandbox
    # Limits of one run. Its models are solved again in the time that the program leaves.
    limits: Limits = LIMITS
    # Relative gap at which a solve ends.
    gap: float = GAP

    def __post_init__(self) -> None:
        # With another version of PuLP, programs would fail for many different reasons.
        require_pulp("workspace")

    def run(self, folder: Path, program: str, files: Mapping[str, str | bytes] | None = None) -> ProgramRun:
        """Run a program on a copy of a folder; may be called from several threads.

        ``files`` replace or add files in the copy, such as an edited program.

        Raises:
            WorkspaceError: The folder contains a link or device, or the program does not exist.
            SandboxError: The sandbox itself fails.
        """
        with _copy_folder(folder, files or {}) as (copy, contents):
            if program not in contents:
                missing = f"no program {shorten_path(program)} in {shorten_path(folder)}"
                raise WorkspaceError(f"{missing}; expected a Python file in src/")
            ended = self.sandbox(self._run_command(copy, program), warm_up=STAGE)
        captured = {name: content for name, content in ended.files.items() if name.startswith(f"{SOLVES}/")}
        remaining = {name: content for name, content in ended.files.items() if name.partition("/")[0] != HERE}
        changed = {name: content for name, content in remaining.items() if contents.get(name) != content}
        gone = [name for name in contents if name not in remaining]
        removed = tuple(name for name in gone if not {name, "..."} & ended.left_out.keys())
        models = self._solve_captured(captured, ended.cpu_s)
        output, usage = (ended.code, ended.stdout, ended.stderr), (ended.wall_s, ended.cpu_s, ended.peak_mb)
        return ProgramRun(_stop_reason(ended), *output, models, changed, removed, *usage, ended.reason)

    def solve_milps(self, *milps: Milp) -> tuple[SolvedModel, ...]:
        """Solve models in the sandbox, with duals and relaxations."""
        models = {f"{index:06}": json.dumps({"milp": as_json.to_dict(milp)}) for index, milp in enumerate(milps)}
        return self._solve_captured({name: text.encode() for name, text in models.items()})

    def _run_command(self, copy: Path, program: str) -> Command:
        words = (PYTHON, f"{HERE}/stage.py", "run", program, str(0.9 * self.limits.cpu_s), str(self.gap))
        files = {f"{HERE}/stage.py": STAGE.read_text(encoding="utf-8")}
        return Command(words, files, limits=self.limits, folder=copy, bring=("**/*",), libraries_only=True)

    def _solve_captured(self, captured: Mapping[str, bytes], used_s: float = 0.0) -> tuple[SolvedModel, ...]:
        """Solve models again in the time that the program left, at least a quarter of its limit."""
        if not captured:
            return ()
        names = sorted(name for name in captured if not name.endswith(POINT))
        pairs = ((captured[name], captured.get(name.replace(".json", POINT), b"")) for name in names)
        texts = [[content.decode("utf-8", "replace") for content in pair] for pair in pairs]
        files = {"stage.py": STAGE.read_text(encoding="utf-8"), "models.json": json.dumps(texts)}
        remaining_s = max(LEAST_SHARE * self.limits.cpu_s, self.limits.cpu_s - used_s)
        words = (PYTHON, "stage.py", "resolve", str(0.9 * remaining_s), str(self.gap))
        # Duals and ranges are computed last.
        limits = replace(self.limits, cpu_s=START_S + 1.5 * remaining_s)
        ended = self.sandbox(Command(words, files, limits=limits, bring=("resolved.json",)), warm_up=STAGE)
        if "resolved.json" not in ended.files:
            why = f"not solved again: {ended.reason or ended.stderr.strip()[-200:] or ended.end}"
            return tuple(SolvedModel(None, note=why) for _ in texts)
        return tuple(_read_model(plain) for plain in json.loads(ended.files["resolved.json"]))


@contextmanager
def _copy_folder(folder: Path, files: Mapping[str, str | bytes]) -> Iterator[tuple[Path, dict[str, bytes]]]:
    """Yield a temporary copy of a folder and its contents; files of oragent are left out."""
    contents = {
        path: read_bytes(file)
        for path, file in list_files(folder, hidden=False).items()
        if path.partition("/")[0] not in OURS
    }
    contents |= {path: one.encode() if isinstance(one, str) else one for path, one in files.items()}
    scratch = Path(tempfile.mkdtemp(prefix="oragent-workspace-"))
    try:
        copy = scratch / "workspace"
        copy.mkdir()
        for path, content in contents.items():
            (copy / path).parent.mkdir(parents=True, exist_ok=True)
            (copy / path).write_bytes(content)
        yield copy, contents
    except OSError as error:
        what = f"cannot copy {shorten_path(folder)} to be run"
        raise WorkspaceError(f"{what}: {error.strerror}; make room for it") from None
    finally:
        _remove_folder(scratch)


def _remove_folder(folder: Path) -> None:
    """Remove a folder with any depth of nesting: inner folders are moved up before they are emptied."""
    waiting, moved = [folder], 0
    while waiting:
        outer = waiting.pop()
        with suppress(OSError):
            outer.chmod(0o700)
            for entry in list(os.scandir(outer)):
                if entry.is_dir(follow_symlinks=False):
                    moved += 1
                    os.rename(entry.path, inner := folder / f".{moved}")
                    waiting.append(inner)
                else:
                    os.unlink(entry.path)
        if outer != folder:
            with suppress(OSError):
                outer.rmdir()
    with suppress(OSError):
        folder.rmdir()


def _stop_reason(ended: CommandResult) -> StopReason:
    if ended.end is EndReason.DEADLINE:
        return StopReason.TIMEOUT
    if ended.end is EndReason.MEMORY or (ended.code and "MemoryError" in ended.stderr[-2000:]):
        return StopReason.MEMORY
    if ended.end is EndReason.EXITED and ended.code == 0:
        return StopReason.ENDED
    return StopReason.ERROR


def _read_model(plain: Mapping[str, Any]) -> SolvedModel:
    milp, solution, relaxed = (plain.get(key) for key in ("milp", "solution", "relaxed"))
    try:
        if milp:
            model = as_json.from_dict(milp)
        else:
            model = None
        solved, relaxed = (one and as_json.solution_from_dict(one) for one in (solution, relaxed))
        return SolvedModel(model, solved, relaxed, plain.get("note", ""))
    except (MilpError, KeyError, TypeError, ValueError) as problem:
        return SolvedModel(None, note=f"not solved again: {type(problem).__name__}")

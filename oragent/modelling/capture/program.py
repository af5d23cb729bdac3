"""Run an untrusted program in the sandbox and return its models, which are solved again outside of its process."""

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path

import numpy as np

from oragent._base.errors import ModellingError
from oragent.modelling.capture.assembling import assemble
from oragent.modelling.capture.reading import ClaimedPoint, ReadModel, read_model, read_point
from oragent.modelling.capture.recorder import POINT
from oragent.modelling.capture.sandbox_script import OPENED, SOLVES
from oragent.modelling.capture.solve_sequence import join_solves
from oragent.modelling.data.arrays import FEASIBLE
from oragent.modelling.data.display import plain
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.model_values import Sense
from oragent.modelling.data.solution import SolveStatus
from oragent.modelling.solving.model_solving import solve
from oragent.sandbox.messages import PYTHON, Command, CommandResult, CompanionFolder, EndReason, Limits
from oragent.sandbox.sandbox import Sandbox

STAGE = Path(__file__).with_name("sandbox_script.py")
STAGE_NAME = ".oragent_stage.py"
# Files of a program with values by variable.
SOLUTION_FILES = ("solution.json", "solution.csv")
# Maximum size of a program, in bytes.
MAX_PROGRAM_BYTES = 4 << 20
# Maximum bytes of the list of opened files.
MAX_BYTES = 1 << 20
# Maximum number of threads. Solvers start one per processor.
MAX_THREADS = 256
PROGRAM_LIMITS = Limits(
    cpu_s=120.0,
    memory_mb=4096,
    counts_used_memory=True,
    file_mb=256,
    processes=MAX_THREADS,
    output_kb=256,
    idle_s=30.0,
)
# Relative difference up to which two objectives are equal.
SAME = 1e-6
LEFT_OUT = "data left out of the model, so only the program can change them"
SOLVES_NOTHING = "the program solved no model that can be captured: what it prints is unverified"


class ProgramOutcome(StrEnum):
    """Way in which a program ended."""

    ENDED = "ended"
    ERROR = "error"
    TIME = "time"
    MEMORY = "memory"


class ClaimVerdict(StrEnum):
    """Result of comparing a program's claim with an independent solve of the captured model."""

    # The claimed point is feasible and as good as the optimum.
    OPTIMAL = "optimal"
    # The point is feasible, but a better one exists.
    WORSE = "worse"
    # The point is feasible, but neither solve proved it optimal.
    OPEN = "open"
    # The claimed point violates the model, or its objective differs from the claimed one.
    FALSE = "false"
    # The program has no point, and its status agrees with the independent solve.
    CONSISTENT = "consistent"
    # The solver gave no point to the program.
    NO_CLAIM = "no claim"
    # The model was not captured, or not solved independently.
    UNVERIFIED = "unverified"


@dataclass(frozen=True)
class CapturedModel:
    """A model that a program solved. All fields except the claim are computed outside of its process."""

    # Name and version of the library.
    framework: str
    # Captured model. None if it was not captured; ``reason`` then states why.
    model: IndexedModel | None
    claim: ClaimedPoint
    verdict: ClaimVerdict
    # Explanation of the verdict in one line. Empty if none is needed.
    reason: str = ""
    # Recomputed objective of the claimed point; None without a feasible point.
    claimed_objective: float | None = None
    # Status and objective of the solve outside of the program's process. None if the model was not solved again.
    status: SolveStatus | None = None
    objective: float | None = None
    # Names of parameters that were matched with figures of the model by value.
    matched: tuple[str, ...] = ()
    # Names of data of the program that the model lacks, because a figure of it cannot be linked with them.
    left_out: tuple[str, ...] = ()

    @property
    def data_notes(self) -> tuple[str, ...]:
        """One line for each kind of data that need attention."""
        notes = {"data matched by value, to be checked": self.matched, LEFT_OUT: self.left_out}
        return tuple(
            f"{note}: {', '.join(plain(name, 60) for name in names)}" for note, names in notes.items() if names
        )


@dataclass(frozen=True)
class CapturedProgram:
    """Result of running a program."""

    outcome: ProgramOutcome
    # Last models that the program solved, in order.
    models: tuple[CapturedModel, ...]
    # Exit code, or minus the signal.
    code: int
    # Start and end of the output.
    stdout: str
    stderr: str
    # Reason why the program was stopped, or why nothing is verified. Empty if neither holds.
    reason: str
    cpu_s: float = 0.0
    peak_mb: float = 0.0
    # Solution files that it wrote, by name.
    files: Mapping[str, bytes] = field(default_factory=dict)
    # Files of the data folder that the program opened, as it claims.
    opened: tuple[str, ...] = ()
    # Last model with the objectives of earlier solves that it holds; None if it holds none.
    joined_model: IndexedModel | None = None

    @property
    def last_model(self) -> IndexedModel | None:
        """Last captured model."""
        captured = [captured.model for captured in self.models if captured.model is not None]
        return captured[-1] if captured else None


def capture_program(
    path: Path,
    *,
    data_folder: Path | None = None,
    arguments: tuple[str, ...] = (),
    limits: Limits = PROGRAM_LIMITS,
    solve_s: float | None = 60.0,
    sandbox: Sandbox | None = None,
    works_in_folder: bool = False,
    files: Mapping[str, str] | None = None,
    module: str = "",
    environment: Mapping[str, str] | None = None,
    import_folders: tuple[str, ...] = (),
    working_folder: str = "",
) -> CapturedProgram:
    """Run a program in the sandbox, capture each model that it solves, and solve these models again here.

    The program may read its data folder, start threads, and write into a folder that is deleted. It may start no
    process and open no connection. It runs in the process that writes the captured model, so it can forge that model.
    It cannot forge what is computed here: the optimum of that model, and whether the claimed point is feasible.

    Args:
        path: The program, in Python.
        data_folder: Folder whose content is in the program's working folder; by default the folder of the program.
        arguments: Arguments of its command line.
        limits: Limits of the run.
        solve_s: Seconds for solving each captured model again; None for no solve.
        sandbox: Sandbox in which it runs; by default a new one.
        works_in_folder: Whether the data folder is a copy for this run. The program then works in it and may change it,
            and sees no other folders than Python's.
        files: Texts that replace files of the data folder.
        module: Name of the program's module, to run it as ``python -m``, or MODULE:FUNCTION, to call the function.
        environment: Variables added to the allow-listed ones.
        import_folders: Folders below the data folder in which the program finds modules, as in PYTHONPATH.
        working_folder: Folder below the data folder in which the program starts.

    Raises:
        ModellingError: The program cannot be read, or is not in the data folder.
        SandboxError: The sandbox failed.
    """
    source = _read_program(path)
    folder = (data_folder or path.parent).resolve()
    program = path.resolve()
    name = program.relative_to(folder).as_posix() if program.is_relative_to(folder) else program.name
    command = Command(
        (PYTHON, STAGE_NAME, name, str(limits.cpu_s), module, ":".join(import_folders), working_folder, *arguments),
        {name: source, **(files or {}), STAGE_NAME: STAGE.read_text(encoding="utf-8")},
        environment=environment or {},
        limits=limits,
        folder=folder if works_in_folder else None,
        bring=(f"{SOLVES}/*", *SOLUTION_FILES),
        libraries_only=works_in_folder,
    )
    with ExitStack() as stack:
        box = sandbox or stack.enter_context(Sandbox(warm=False))
        if works_in_folder:
            ended = box(command, warm_up=STAGE)
        else:
            # As ``root_dir``, the folder stays readable when root becomes another user.
            ended = box(command, root_dir=folder, companion_folder=CompanionFolder(folder, (name, *(files or {}))))
    models, joined = _read_models(ended, solve_s)
    reason = ended.reason
    if not reason and not models:
        reason = SOLVES_NOTHING
    output = (ended.code, ended.stdout, ended.stderr, reason, ended.cpu_s, ended.peak_mb)
    solutions = {name: ended.files[name] for name in SOLUTION_FILES if name in ended.files}
    return CapturedProgram(_outcome_of(ended), tuple(models), *output, solutions, _read_opened(ended), joined)


def _read_opened(ended: CommandResult) -> tuple[str, ...]:
    text = ended.files.get(f"{SOLVES}/{OPENED}", b"")[:MAX_BYTES].decode("utf-8", "surrogateescape")
    return tuple(dict.fromkeys(line for line in text.splitlines() if not line.startswith(SOLVES)))


def _read_program(path: Path) -> str:
    shown = plain(str(path), 200)
    try:
        if path.stat().st_size > MAX_PROGRAM_BYTES:
            raise ModellingError(f"{shown}: larger than {MAX_PROGRAM_BYTES:,} bytes; expected a Python program")
        return path.read_text(encoding="utf-8")
    except OSError as problem:
        raise ModellingError(f"{shown}: {problem.strerror}; expected a Python program") from None
    except UnicodeDecodeError:
        raise ModellingError(f"{shown}: not a text in UTF-8; expected a Python program") from None


def _outcome_of(ended: CommandResult) -> ProgramOutcome:
    if ended.end is EndReason.DEADLINE:
        return ProgramOutcome.TIME
    if ended.end is EndReason.MEMORY or (ended.code and "MemoryError" in ended.stderr[-2000:]):
        return ProgramOutcome.MEMORY
    if ended.end is EndReason.EXITED and ended.code == 0:
        return ProgramOutcome.ENDED
    return ProgramOutcome.ERROR


def _read_models(ended: CommandResult, solve_s: float | None) -> tuple[list[CapturedModel], IndexedModel | None]:
    """Return the recorded models, and the last one with the objectives of earlier solves that it holds."""
    names = sorted(
        name for name in ended.files if name.startswith(SOLVES) and name.endswith(".json") and not name.endswith(POINT)
    )
    models, joined = [], None
    reads: list[tuple[ReadModel, float | None]] = []
    for name in names:
        point = ended.files.get(name.removesuffix(".json") + POINT)
        try:
            read = read_model(ended.files[name])
        except ModellingError as problem:
            claim = ClaimedPoint("no point was recorded", None, None)
            models.append(CapturedModel("unknown", None, claim, ClaimVerdict.UNVERIFIED, f"not captured: {problem}"))
            continue
        captured = _read_captured(read, point, solve_s)
        models.append(captured)
        reads.append((read, captured.claim.objective))
    if len(reads) > 1 and models[-1].model is not None:
        sequence = join_solves([read for read, _ in reads], [claim for _, claim in reads])
        joined = assemble(sequence.read).model if sequence.held else None
    for name, why in ended.left_out.items():
        if name.startswith(SOLVES):
            claim = ClaimedPoint("unknown", None, None)
            models.append(CapturedModel("unknown", None, claim, ClaimVerdict.UNVERIFIED, f"not read: {why}"))
    return models, joined


def _read_captured(read: ReadModel, point: bytes | None, solve_s: float | None) -> CapturedModel:
    claim = read_point(point, len(read.columns)) if point else ClaimedPoint("no point was recorded", None, None)
    try:
        assembled = assemble(read)
    except ModellingError as problem:
        return CapturedModel(read.framework, None, claim, ClaimVerdict.UNVERIFIED, str(problem))
    captured = CapturedModel(
        read.framework,
        assembled.model,
        claim,
        ClaimVerdict.UNVERIFIED,
        matched=assembled.matched,
        left_out=assembled.left_out,
    )
    if solve_s is None:
        return replace(captured, reason="not solved again")
    try:
        return _verify(captured, read, solve_s)
    except ModellingError as problem:
        return replace(captured, reason=f"not solved again: {problem}")


def _verify(captured: CapturedModel, read: ReadModel, solve_s: float) -> CapturedModel:
    """Solve the model again and compare the program's claim with the result."""
    model = captured.model
    assert model is not None
    claim = captured.claim
    solution = solve(model.without_flat_names(), solve_s, duals=False)
    captured = replace(captured, status=solution.status, objective=solution.objective)
    if claim.values is None:
        return replace(captured, verdict=ClaimVerdict.NO_CLAIM, reason=f"the program got no point: {claim.status}")
    arrays = model.to_arrays()
    violation = arrays.largest_violation(claim.values)
    if violation > FEASIBLE * 10:
        reason = f"the claimed point breaks the model by {violation:.2g}"
        return replace(captured, verdict=ClaimVerdict.FALSE, reason=reason)
    value = arrays.objective_at(claim.values)
    captured = replace(captured, claimed_objective=value)
    if claim.objective is not None and not _is_same(claim.objective, value):
        reason = f"the program's objective is {claim.objective:.10g}; its point gives {value:.10g}"
        return replace(captured, verdict=ClaimVerdict.FALSE, reason=reason)
    if solution.objective is None:
        reason = solution.note or f"there is no optimum to compare with: the model is {solution.status}"
        return replace(captured, verdict=ClaimVerdict.OPEN, reason=reason)
    if any(goal.weight for goal in model.objectives[1:]):
        return replace(captured, verdict=ClaimVerdict.OPEN, reason="several objectives: only the first was compared")
    is_same = _is_same(value, solution.objective)
    if is_same and solution.status is SolveStatus.OPTIMAL:
        return replace(captured, verdict=ClaimVerdict.OPTIMAL)
    best_of = min if arrays.sense is Sense.MINIMIZE else max
    if not is_same and best_of(value, solution.objective) != value:
        reason = f"a point with {solution.objective:.10g} exists; the program's gives {value:.10g}"
        return replace(captured, verdict=ClaimVerdict.WORSE, reason=reason)
    return replace(captured, verdict=ClaimVerdict.OPEN, reason="not proven within the limit that no point is better")


def _is_same(first: float, second: float) -> bool:
    return bool(np.isclose(first, second, rtol=SAME, atol=SAME))

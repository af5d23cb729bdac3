"""Open a model of any form by its path: JSON, LP, MPS, a program, or the folder of a run."""

import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from oragent._base.errors import ModellingError
from oragent.modelling.data.display import plain
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.files.model_files import is_schedule, read, read_indexed

if TYPE_CHECKING:
    from oragent.modelling.capture.program import CapturedProgram

PROGRAM = ".py"
# Names of models in the folder of a run. The first existing file is used.
MODELS_OF_RUN = ("milp.json", "model.json")
# Maximum number of characters of a program's last error line.
SHOWN = 300


def open_model(
    path: Path,
    *,
    data_folder: Path | None = None,
    tell: Callable[[str], None] = lambda text: None,
    guesses_families: bool = True,
) -> IndexedModel:
    """Read a model.

    Args:
        path: ``.json``, ``.lp``, ``.mps`` (the last two also with ``.gz`` or ``.bz2``), a schedule (``.jsp``, or JSON
            with intervals; as a mixed-integer model), a Python program, or a run's folder. A program runs in the
            sandbox; its last solved model is returned.
        data_folder: Folder that a program may read; by default its own folder.
        tell: Function that is called with one line on the captured model and its comparison with the program's claim.
        guesses_families: Whether a flat file gets families from its names.

    Raises:
        ModellingError: The path has no model. The message begins with the path.
        SandboxError: The sandbox failed.
    """
    if path.is_dir():
        path = find_model_of_run(path)
    if is_program(path):
        return _capture(path, data_folder, tell)
    if is_schedule(path):
        return _schedule_rows(path)
    return read_indexed(path) if guesses_families else read(path)


def print_note(line: str) -> None:
    """Print a line on standard error, separate from results."""
    sys.stderr.write(f"{line}\n")


def is_program(path: Path) -> bool:
    """Return True for a path that ``open_model`` runs as a program."""
    return path.suffix.lower() == PROGRAM and not path.is_dir()


def find_model_of_run(folder: Path) -> Path:
    """Return the file of the model in a run's folder. Without one, raise ``ModellingError``."""
    for name in MODELS_OF_RUN:
        if (folder / name).is_file():
            return folder / name
    raise ModellingError(
        f"{plain(str(folder), 200)}: no {' or '.join(MODELS_OF_RUN)} in this folder; expected the folder of a run"
    )


def _schedule_rows(path: Path) -> IndexedModel:
    # Few models are schedules, and their rows come from capture.
    solving = import_module("oragent.modelling.scheduling.schedule_solving")
    files = import_module("oragent.modelling.scheduling.files")
    model: IndexedModel = solving.schedule_rows(files.read_schedule(path))
    return model


def _capture(path: Path, data_folder: Path | None, tell: Callable[[str], None]) -> IndexedModel:
    # Few models are programs, and capture imports the sandbox.
    capture = import_module("oragent.modelling.capture.program")
    captured: CapturedProgram = capture.capture_program(path, data_folder=data_folder)
    shown = plain(str(path), 200)
    solved = captured.models[-1] if captured.models else None
    if solved is None or solved.model is None:
        reason = captured.reason if solved is None else solved.reason
        if captured.outcome is not capture.ProgramOutcome.ENDED:
            last = captured.stderr.strip().splitlines()[-1:] or [captured.reason]
            reason = f"the program ended with: {plain(last[0], SHOWN)}"
        raise ModellingError(f"{shown}: {reason}")
    claim = f"{solved.verdict}{f': {solved.reason}' if solved.reason else ''}"
    count = f", the last of {len(captured.models)}" if len(captured.models) > 1 else ""
    tell(f"{shown}: captured from {plain(solved.framework, 60)}{count}; the program's point: {plain(claim, SHOWN)}")
    for note in solved.data_notes:
        tell(note)
    if captured.joined_model is None:
        return solved.model
    aims = ", ".join(plain(goal.name, 60) for goal in captured.joined_model.objectives[1:])
    tell(f"objectives of earlier solves are more important than the last one: {aims}")
    return captured.joined_model

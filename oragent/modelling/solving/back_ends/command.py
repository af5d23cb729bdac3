"""Back end for any program that reads an LP or MPS file and writes a solution file. It runs in the sandbox.

For example ``command:cbc {model.mps} solve solution {solution}``. ``{model.lp}`` or ``{model.mps}`` is the file with
the model, and ``{solution}`` the file that the program writes.
"""

import shlex
import shutil
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Self

import numpy as np

from oragent._base.errors import ModellingError
from oragent.modelling.data.arrays import Arrays, Vector
from oragent.modelling.data.display import plain, quoted
from oragent.modelling.data.model_values import Sense
from oragent.modelling.data.solution import SolveStatus
from oragent.modelling.files.sol_files import SolutionFile, read_sol
from oragent.modelling.solving.back_ends.protocol import Ability, Limit, SolverOptions, SolverResult, SolverStatus
from oragent.modelling.solving.highs import as_highs, quiet_engine
from oragent.sandbox.messages import Command, EndReason, Limits
from oragent.sandbox.sandbox import Sandbox

SOLUTION = "model.sol"
FORMS = ("lp", "mps")
# CPU seconds if the user sets no time limit.
DEFAULT_SECONDS = 600.0
# Seconds that a program may take beyond its own limit, for reading and writing. Other processes may slow it down.
MORE_CPU_SECONDS, WALL_FACTOR, MORE_WALL_SECONDS = 1.0, 2.0, 10.0
# Maximum relative difference of equal objectives, because files round them.
AGREED = 1e-6
# Limits of memory and of files, in MiB.
MEMORY, FILES = 4096, 512
STATUSES = {
    SolveStatus.OPTIMAL: SolverStatus.OPTIMAL,
    SolveStatus.INFEASIBLE: SolverStatus.INFEASIBLE,
    SolveStatus.UNBOUNDED: SolverStatus.UNBOUNDED,
}


class CommandSolver:
    """Adapter of a program."""

    name = "command"
    install = "install the program, or give its path"
    # The program claims an optimum. It reports no separate bound.
    abilities = frozenset({Ability.LINEAR, Ability.INTEGER, Ability.CONTINUOUS, Ability.TIME})

    def __init__(self, words: tuple[str, ...]) -> None:
        self.words = words

    @classmethod
    def from_line(cls, line: str) -> Self:
        """Return the adapter of a command line.

        Raises:
            ModellingError: The line has no program, or no place for the model or the solution.
        """
        try:
            words = tuple(shlex.split(line))
        except ValueError as problem:
            raise ModellingError(f"solver command {quoted(line)}: {plain(str(problem))}") from None
        text = " ".join(words)
        if "{solution}" not in text or not any(f"{{model.{form}}}" in text for form in FORMS):
            raise ModellingError(
                f"solver command {quoted(line)}: expected a program, with {{model.lp}} or {{model.mps}} and with "
                "{solution} among its arguments"
            )
        return cls(words)

    def version(self) -> str:
        """Return the name of the program."""
        return f"command {Path(self._find_program()).name}"

    def _find_program(self) -> str:
        program = shutil.which(self.words[0])
        if program is None:
            raise ModellingError(f"solver command: program {quoted(self.words[0])} is not installed: {self.install}")
        return program

    def solve(self, arrays: Arrays, options: SolverOptions, start: Vector | None = None) -> SolverResult:
        """Solve a model once; see ``Solver``."""
        program, version = self._find_program(), self.version()
        form = next(form for form in FORMS if any(f"{{model.{form}}}" in word for word in self.words))
        name = f"model.{form}"
        # Replace names of files by paths. The program runs in the folder of both files.
        words = tuple(word.replace(f"{{{name}}}", name).replace("{solution}", SOLUTION) for word in self.words)
        seconds = options.seconds or DEFAULT_SECONDS
        wall_s = WALL_FACTOR * seconds + MORE_WALL_SECONDS
        limits = Limits(cpu_s=seconds + MORE_CPU_SECONDS, memory_mb=MEMORY, file_mb=FILES, wall_s=wall_s)
        command = Command((program, *words[1:]), {name: _model_text(arrays, form)}, limits=limits, bring=(SOLUTION,))
        with Sandbox(1, warm=False) as sandbox:
            ended = sandbox(command, root_dir=Path(program).resolve().parent)
        if SOLUTION not in ended.files:
            if ended.end is EndReason.EXITED:
                words_of_it = ended.stderr.strip() or ended.stdout.strip()
                what = f"exit code {ended.code}: {plain(words_of_it[-300:], 300)}"
                raise ModellingError(f"{version} wrote no solution ({what}); check its arguments")
            limit = Limit.MEMORY if ended.end is EndReason.MEMORY else Limit.TIME
            return SolverResult(SolverStatus.STOPPED, version, limit=limit)
        solution = read_sol(ended.files[SOLUTION].decode(errors="replace"))
        return _result(arrays, solution, version)


def _model_text(arrays: Arrays, form: str) -> str:
    """Write a model with the names x0, x1, ... and r0, r1, ..., as a minimisation without a constant.

    Some programs ignore the sense or the constant of an MPS file.
    """
    arrays = replace(arrays, sense=Sense.MINIMIZE, cost=arrays.sense.sign * arrays.cost, constant=0.0)
    unused = np.flatnonzero((np.bincount(arrays.matrix.columns, minlength=len(arrays.cost)) == 0) & (arrays.cost == 0))
    # The LP format cannot state a column without terms.
    lp = as_highs(arrays.with_idle_row(unused) if len(unused) else arrays)
    lp.col_names_ = [f"x{index}" for index in range(lp.num_col_)]
    lp.row_names_ = [f"r{index}" for index in range(lp.num_row_)]
    engine = quiet_engine()
    engine.passModel(lp)
    with TemporaryDirectory() as folder:
        path = Path(folder) / f"model.{form}"
        engine.writeModel(str(path))
        return path.read_text()


def _result(arrays: Arrays, solution: SolutionFile, version: str) -> SolverResult:
    status = STATUSES.get(solution.status, SolverStatus.STOPPED)
    if status in (SolverStatus.INFEASIBLE, SolverStatus.UNBOUNDED) or not (solution.values or solution.is_sparse):
        return SolverResult(status, version)
    values = np.zeros(len(arrays.cost))
    for name, value in solution.values.items():
        if name.startswith("x") and name[1:].isdigit() and int(name[1:]) < len(values):
            values[int(name[1:])] = value
    bound = None
    if status is SolverStatus.OPTIMAL:
        cost = arrays.sense.sign * float(arrays.cost @ values)
        stated = cost if solution.objective is None else solution.objective
        # If the stated objective differs from that of the point, the program has misread the model.
        if abs(stated - cost) <= AGREED * max(1.0, abs(cost)):
            bound = arrays.objective_at(values)
    return SolverResult(status, version, values, bound)

"""Solvers that replace those of a workspace's program, in its process, and store every model.

Programs of the public release call Gurobi through PuLP or through their own helpers. They get HiGHS with one thread.
"""

import errno
import importlib.util
import json
import math
import os
import resource
import runpy
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

import highspy

from oragent.milp.as_pulp import GAP, SolverLimits, bring_solver
from oragent.sandbox.isolation import kernel, seccomp
from oragent.workspace.objective import MARKER

# Folder below the copy of the workspace.
SOLVES = ".oragent/solves"
# Maximum number of stored models; the last ones are kept.
KEPT = 20
# Suffix of the file with the point that a program received.
POINT = ".point.json"
# Maximum gap of a solve that counts as finished.
PROVEN = 1e-6
# Names of modules in questions and the names under which programs import them.
STEMS = {"utils": "utility_code"}
REFUSED = (
    "fork vfork clone clone3 execve execveat socket socketpair ptrace process_vm_readv process_vm_writev "
    "io_uring_setup userfaultfd bpf keyctl add_key request_key shmget msgget semget"
)


@dataclass(frozen=True)
class ProgramLimits:
    """Limits on the solves of a program."""

    # CPU seconds of the whole process, solves included.
    cpu_s: float
    # Relative gap at which a solve ends.
    gap: float = GAP

    def remaining_s(self) -> float:
        """Return the seconds left for a solve, but at least the smaller of one second and a tenth of the limit."""
        return max(min(1.0, 0.1 * self.cpu_s), self.cpu_s - time.process_time())


class ModelRecorder:
    """Recorder that writes each solved model into a new folder; only the last models are kept."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder, self.count = folder, 0
        # Whether the program itself runs HiGHS, not PuLP.
        self.native = True

    def record_model(self, model: dict[str, Any]) -> None:
        """Write a model, with the units that the program defines in ``UNITS``."""
        self.count += 1
        units = vars(sys.modules["__main__"]).get("UNITS")
        if isinstance(units, dict):
            model = {**model, "units": {str(name): str(unit) for name, unit in units.items()}}
        (self._folder / f"{self.count:06}.json").write_text(json.dumps(model), encoding="utf-8")
        for ending in (".json", POINT):
            (self._folder / f"{self.count - KEPT:06}{ending}").unlink(missing_ok=True)

    def record_point(self, values: list[Any] | dict[str, Any], solver: Any) -> None:
        """Write the point that the solve of the last model returned; it is checked when the model is solved again."""
        optimal = solver.getModelStatus() == highspy.HighsModelStatus.kOptimal
        gap = solver.getInfo().mip_gap
        stopped = not optimal or (PROVEN < gap < math.inf)
        text = json.dumps({"values": values, "stopped": stopped})
        (self._folder / f"{self.count:06}{POINT}").write_text(text, encoding="utf-8")


class HelperFinder:
    """Import finder that finds a helper of a program's folder under a second name."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """Implement the interface of ``importlib`` for import finders."""
        path_of_helper = self._folder / f"{STEMS.get(name, '')}.py"
        if name in STEMS and path_of_helper.is_file():
            return importlib.util.spec_from_file_location(name, path_of_helper)
        return None


def install_capture(folder: Path, program: Path, effort: ProgramLimits) -> ModelRecorder:
    """Install the capture of models once, before the program begins; models are stored below the working copy."""
    recorder = ModelRecorder(folder / SOLVES)

    def record_solved(problem: Any) -> None:
        values = {variable.name: variable.varValue for variable in problem.variables()}
        recorder.record_point(values, problem.solverModel)

    bring_solver(recorder.record_model, lambda: SolverLimits(effort.remaining_s(), effort.gap), record_solved)
    _watch_highs(recorder, effort)
    for name in ("gurobi_pulp_compat", "gurobi_execution_record"):
        sys.modules[name] = _make_stand_in(name)
    # This finder runs after Python's own finders, so that an existing helper has priority.
    sys.meta_path.append(HelperFinder(program.parent))
    return recorder


def _make_stand_in(name: str) -> ModuleType:
    import pulp

    module = ModuleType(name, "PuLP under another name: every solver is HiGHS.")
    vars(module).update({key: value for key, value in vars(pulp).items() if not key.startswith("__")})
    vars(module)["install_gurobi_objective_recorder"] = lambda *args, **kwargs: None
    return module


def _watch_highs(recorder: ModelRecorder, effort: ProgramLimits) -> None:
    """Record as text the models solved with HiGHS's Python interface; solves through PuLP are recorded elsewhere."""
    import pulp

    plain_run = highspy.Highs.run
    call_solver = pulp.apis.HiGHS.callSolver

    def run_recorded(self: Any) -> Any:
        if recorder.native:
            self.setOptionValue("threads", 1)
            self.setOptionValue("mip_rel_gap", effort.gap)
            self.setOptionValue("time_limit", min(effort.remaining_s(), self.getOptionValue("time_limit")[1]))
            path = recorder._folder / "model.mps"
            self.writeModel(str(path))
            recorder.record_model({"mps": path.read_text(encoding="utf-8", errors="replace")})
            path.unlink()
        status = plain_run(self)
        if recorder.native:
            recorder.record_point(list(self.getSolution().col_value), self)
        return status

    def solve_unrecorded(self: Any, lp: Any) -> Any:
        recorder.native = False
        try:
            return call_solver(self, lp)
        finally:
            recorder.native = True

    for name in ("run", "solve", "optimize"):
        setattr(highspy.Highs, name, run_recorded)
    pulp.apis.HiGHS.__mro__[1].callSolver = solve_unrecorded


def run_as_main(arguments: list[str]) -> None:
    """Run a program as if Python had been started with it.

    Arguments are the path relative to the working folder, the seconds for solving, and the gap at which a solve ends.
    """
    folder, program = Path.cwd(), Path.cwd() / arguments[0]
    recorder = install_capture(folder, program, ProgramLimits(float(arguments[1]), float(arguments[2])))
    os.chdir(program.parent.parent if program.parent != folder else folder)
    sys.argv, sys.path[0] = [str(program)], str(program.parent)
    _drop_rights()
    names = runpy.run_path(str(program), run_name="__main__")
    if not recorder.count:
        _solve_built_problem(names, recorder)


def _drop_rights() -> None:
    """Block new processes and network connections."""
    kernel.lower_limits({resource.RLIMIT_NPROC: 0})
    with suppress(OSError):
        seccomp.install_filter(compile_filter())


@cache
def compile_filter() -> bytes:
    """Compile the filter of system calls for a program of a workspace."""
    with seccomp.Filter(seccomp.ALLOW) as filter_rules:
        for name in REFUSED.split():
            filter_rules.add_rule(seccomp.refuse_with(errno.ENOSYS if name == "clone3" else errno.EPERM), name)
        return filter_rules.to_program()


def _solve_built_problem(names: dict[str, Any], recorder: ModelRecorder) -> None:
    """Solve a model that the program only builds, with ``build_problem()`` or as ``PROBLEM``."""
    import pulp

    build = names.get("build_problem")
    if callable(build):
        problem = build()
    else:
        problem = names.get("PROBLEM")
    if isinstance(problem, tuple):
        problem = problem[0]
    if isinstance(problem, pulp.LpProblem):
        problem.solve()
        if problem.status == pulp.LpStatusOptimal:
            print(f"{MARKER} {pulp.value(problem.objective)!r}")

"""The script that runs an untrusted program in the sandbox and records the models that it solves.

Arguments are the program's path below the working folder, the CPU seconds of the process, and the arguments of the
program. The program may start threads and no processes.
"""

import importlib
import os
import runpy
import sys
from contextlib import suppress
from pathlib import Path

from oragent.milp.capture.hooks import install_hooks
from oragent.milp.capture.recorder import Recorder, program_folder_of
from oragent.sandbox.isolation import seccomp

# below the working folder
SOLVES = ".oragent_solves"
RECORDERS = "oragent.milp.capture.recorders"
# module whose import installs a recorder, by the module of ``recorders`` that has it
LIBRARIES = {
    "pulp": "from_pulp",
    "pyomo.opt.base.solvers": "from_pyomo",
    "pyomo.contrib.appsi.base": "from_pyomo",
    "pyomo.contrib.solver.common.base": "from_pyomo",
    "gurobipy": "from_gurobi",
    "highspy": "from_highs",
    "linopy.model": "from_linopy",
    "ortools.linear_solver.pywraplp": "from_pywraplp",
    "ortools.math_opt.python.solve": "from_mathopt",
    "ortools.sat.python.cp_model": "from_cpsat",
    "scipy.optimize": "from_scipy",
}


def main(arguments: list[str]) -> None:
    """Run a program as if Python had been started with it."""
    program = Path.cwd() / arguments[0]
    recorder = Recorder(Path.cwd() / SOLVES, program_folder_of(program), float(arguments[1]))
    install_hooks({module: _installer(name, recorder) for module, name in LIBRARIES.items()})
    sys.argv = [str(program), *arguments[2:]]
    sys.path[0] = str(program.parent)
    os.environ["MPLBACKEND"] = "agg"
    with suppress(OSError):
        seccomp.install_filter(seccomp.thread_filter())
    runpy.run_path(str(program), run_name="__main__")


def _installer(name: str, recorder: Recorder):  # type: ignore[no-untyped-def]  # a hook
    def install(module: object) -> None:
        importlib.import_module(f"{RECORDERS}.{name}").install(module, recorder)

    return install


if __name__ == "__main__":
    main(sys.argv[1:])

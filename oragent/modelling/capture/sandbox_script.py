"""Script that runs an untrusted program in the sandbox and records the models that it solves.

Arguments are the program's path below the working folder, the CPU seconds of the process, the module for ``python -m``
(or MODULE:FUNCTION) or an empty text, folders of modules with colons between them, the folder in which it starts, and
the arguments of the program. The program may start threads and no processes.
"""

import importlib
import os
import runpy
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from operator import attrgetter
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any

from oragent.sandbox.isolation import seccomp

# Folder of recorded solves, below the working folder.
SOLVES = ".oragent_solves"
# File in that folder with the names of opened files, and their maximum number.
OPENED = "opened.log"
MAX_OPENED = 2000
CAPTURE = "oragent.modelling.capture"
# Modelling libraries: the module whose import installs a recorder, by the module of ``recorders``.
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
    """Run a program as if Python were started with it."""
    root = Path.cwd()
    program = root / arguments[0]
    _install_recorders(program, float(arguments[1]))
    module, folders, start = arguments[2], [folder for folder in arguments[3].split(":") if folder], root / arguments[4]
    sys.argv = [str(program), *arguments[5:]]
    sys.path[:1] = [str(start if module else program.parent), *(str(root / folder) for folder in folders)]
    os.environ["MPLBACKEND"] = "agg"
    sys.excepthook = _print_program_error
    _record_opened_files(root)
    os.chdir(start)
    with suppress(OSError):
        seccomp.install_filter(seccomp.thread_filter())
    name, _, function = module.partition(":")
    if function:
        sys.argv[0] = function
        sys.exit(attrgetter(function)(importlib.import_module(name))())
    elif module:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    else:
        runpy.run_path(str(program), run_name="__main__")


def _record_opened_files(folder: Path) -> None:
    """Write the names of files below a folder that the program opens, one per line."""
    (folder / SOLVES).mkdir(exist_ok=True)
    target = os.open(folder / SOLVES / OPENED, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    prefix = f"{folder}{os.sep}"
    seen: set[str] = set()

    def note(event: str, arguments: tuple[Any, ...]) -> None:
        if event not in ("open", "sqlite3.connect"):
            return
        name = arguments[0]
        if isinstance(name, str | bytes | os.PathLike):
            text = os.fsdecode(name).removeprefix("file:").partition("?")[0]
            path = os.path.normpath(os.path.join(os.getcwd(), text))
            if path.startswith(prefix) and path not in seen and len(seen) < MAX_OPENED:
                seen.add(path)
                os.write(target, f"{path.removeprefix(prefix)}\n".encode(errors="surrogateescape"))

    sys.addaudithook(note)


def _print_program_error(kind: type[BaseException], problem: BaseException, trace: TracebackType | None) -> None:
    """Print an error as Python does, without the frames of this script."""
    outside = __file__, runpy.__file__, "<frozen runpy>"
    while trace is not None and trace.tb_frame.f_code.co_filename in outside and trace.tb_next is not None:
        trace = trace.tb_next
    traceback.print_exception(kind, problem, trace)


def _install_recorders(program: Path, limit_s: float) -> None:
    """Import the recorders without their package, whose solvers may conflict with those of the program."""
    milp = ModuleType("oragent.modelling")
    milp.__path__ = [str(Path(seccomp.__file__).parents[2] / "modelling")]
    sys.modules["oragent.modelling"] = milp
    recorder = importlib.import_module(f"{CAPTURE}.recorder")
    hooks = importlib.import_module(f"{CAPTURE}.hooks")
    recorders = {
        name: importlib.import_module(f"{CAPTURE}.recorders.{name}") for name in dict.fromkeys(LIBRARIES.values())
    }
    del sys.modules["oragent.modelling"]
    recording = recorder.Recorder(Path.cwd() / SOLVES, recorder.program_folder_of(program), limit_s)
    hooks.install_hooks({module: _installer(recorders[name], recording) for module, name in LIBRARIES.items()})


def _installer(module: ModuleType, recording: Any) -> Callable[[ModuleType], None]:
    def install(library: ModuleType) -> None:
        module.install(library, recording)

    return install


if __name__ == "__main__":
    main(sys.argv[1:])

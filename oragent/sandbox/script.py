"""Run an evaluator in a process that has been forked for it, as if Python had been started with it."""

import atexit
import os
import sys
import threading
import traceback
import types
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

__all__ = ["run"]


def run(script: Path, arguments: Sequence[str]) -> NoReturn:
    """Be the main program, and end as Python ends: exit code, hooks, streams."""
    sys.argv = [str(script), *arguments]
    sys.path[0] = str(script.parent)
    for number, name in ((1, "stdout"), (2, "stderr")):
        setattr(sys, name, open(number, "w", encoding="utf-8", errors="backslashreplace", closefd=False))  # noqa: SIM115
    code = 1
    try:
        code = _execute(script)
        threading._shutdown()  # type: ignore[attr-defined]  # what Python does before its exit hooks
        atexit._run_exitfuncs()
    except BaseException:
        traceback.print_exc()
    finally:
        with suppress(Exception):
            sys.stdout.flush()
        with suppress(Exception):
            sys.stderr.flush()
        os._exit(code)


def _execute(script: Path) -> int:
    module = types.ModuleType("__main__")
    module.__file__ = str(script)
    sys.modules["__main__"] = module
    try:
        exec(compile(script.read_bytes(), str(script), "exec"), module.__dict__)
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return (end.code or 0) & 0xFF
        print(end.code, file=sys.stderr)
        return 1
    except BaseException:
        kind, problem, trace = sys.exc_info()
        traceback.print_exception(kind, problem, trace.tb_next if trace else None)
        return 1
    return 0

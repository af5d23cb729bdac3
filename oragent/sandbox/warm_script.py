"""Run a Python script in a process that has been forked for it, as if Python had been started with it."""

import atexit
import os
import sys
import threading
import traceback
import types
import warnings
from collections.abc import Sequence
from contextlib import suppress
from types import CodeType
from typing import NoReturn

_COMPILED: dict[str, tuple[bytes, CodeType]] = {}  # by its path, the one script that is run again and again


def compile_script(script: str, text: bytes) -> None:
    """Compile a script once for many commands, unless its own process has to say what is wrong with it."""
    with warnings.catch_warnings(), suppress(Exception):
        warnings.simplefilter("error")
        _COMPILED[script] = text, compile(text.decode(), script, "exec", dont_inherit=True)


def compiled_script(script: str) -> tuple[bytes, CodeType | None]:
    """A script that has been compiled for this path: its text, and its code; None for no code where there is none."""
    return _COMPILED.get(script, (b"", None))


def run_script(script: str, arguments: Sequence[str], program: CodeType | None) -> NoReturn:
    """Be the main program, and end as Python ends: exit code, hooks, streams.

    Args:
        script: Path of the script.
        arguments: Words of its command line.
        program: Code of the compiled file; None if it has not been compiled.
    """
    sys.argv = [script, *arguments]
    sys.path[0] = os.path.dirname(script)
    sys.dont_write_bytecode = True  # nobody will import from this folder again
    for number, name in ((1, "stdout"), (2, "stderr")):
        setattr(sys, name, open(number, "w", encoding="utf-8", errors="backslashreplace", closefd=False))  # noqa: SIM115
    code = 1
    try:
        code = _execute_script(script, program)
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


def _execute_script(script: str, program: CodeType | None) -> int:
    module = types.ModuleType("__main__")
    module.__file__ = script
    sys.modules["__main__"] = module
    try:
        if program is None:
            with open(script, "rb") as file:
                program = compile(file.read(), script, "exec", dont_inherit=True)
        exec(program, module.__dict__)
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

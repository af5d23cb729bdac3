"""Run Python scripts in forks of a warm interpreter that has already imported their modules."""

import ast
import atexit
import contextlib
import importlib
import os
import sys
import threading
import traceback
import types
import warnings
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from types import CodeType
from typing import NoReturn

from oragent.sandbox.messages import CompanionFolder

# Text and code of the compiled script, by path.
_COMPILED: dict[str, tuple[bytes, CodeType]] = {}


# Maximum number of helpers that are read for their imports.
MAX_HELPERS = 200


def compile_script(script: str, text: bytes) -> None:
    """Compile a script once for many commands; on errors its own process compiles and reports them."""
    with warnings.catch_warnings(), suppress(Exception):
        warnings.simplefilter("error")
        _COMPILED[script] = text, compile(text.decode(), script, "exec", dont_inherit=True)


def compiled_script(script: str) -> tuple[bytes, CodeType | None]:
    """Return the text and the code of the script compiled for this path; empty and None without one."""
    return _COMPILED.get(script, (b"", None))


def run_script(script: str, arguments: Sequence[str], program: CodeType | None) -> NoReturn:
    """Run a script as the main program, and end as Python does: exit code, hooks, streams."""
    sys.argv = [script, *arguments]
    # The server was started with ``-P``, so that its first entry is one of the user.
    sys.path.insert(0, os.path.dirname(script))
    # No process will import from this folder again.
    sys.dont_write_bytecode = True
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


def import_modules(script: Path, companion_folder: CompanionFolder | None) -> None:
    """Import the modules that a script and its helpers import at their top; failures are left to the script."""
    helpers = _find_helpers(script, companion_folder)
    for name in dict.fromkeys(name for path in (script, *helpers.values()) for name in _imported_modules(path)):
        if name.partition(".")[0] not in helpers and not _is_own_file(name, companion_folder):
            with contextlib.suppress(Exception):
                importlib.import_module(name)
    if "numba" in sys.modules:
        with contextlib.suppress(Exception):
            _prepare_compiler()


def _prepare_compiler() -> None:
    """Import what Numba needs to compile, once for all candidates; kernels that it has cached do without."""
    from numba.core.registry import cpu_target

    cpu_target.typing_context.refresh()
    cpu_target.target_context.refresh()


def import_helpers(script: Path, companion_folder: CompanionFolder) -> None:
    """Import the helper modules themselves, after the zygote has lost access to files that commands cannot read.

    Helpers that import, directly or indirectly, a file that each command replaces must be imported by each command.
    """
    helpers = _find_helpers(script, companion_folder)
    importable = [name for name in helpers if not _needs_own_file(name, helpers, companion_folder, set())]
    sys.path.insert(0, str(companion_folder.folder))
    try:
        for name in importable:
            with contextlib.suppress(Exception):
                importlib.import_module(name)
    finally:
        sys.path.remove(str(companion_folder.folder))
        for name in [name for name in sys.modules if _is_own_file(name, companion_folder)]:
            del sys.modules[name]


def _find_helpers(script: Path, companion_folder: CompanionFolder | None) -> dict[str, Path]:
    """Return the files next to a script that it imports, directly or indirectly, by module name in order."""
    helpers: dict[str, Path] = {}
    waiting = [script]
    while waiting and companion_folder and len(helpers) < MAX_HELPERS:
        for name in _imported_modules(waiting.pop(0)):
            top = name.partition(".")[0]
            for path in (companion_folder.folder / f"{top}.py", companion_folder.folder / top / "__init__.py"):
                if top not in helpers and path.is_file() and not _is_own_file(name, companion_folder):
                    helpers[top] = path
                    waiting.append(path)
    return helpers


def _needs_own_file(name: str, helpers: dict[str, Path], companion_folder: CompanionFolder, seen: set[str]) -> bool:
    seen.add(name)
    names = [helper.partition(".")[0] for helper in _imported_modules(helpers[name], anywhere=True)]
    if any(_is_own_file(helper, companion_folder) for helper in names):
        return True
    return any(
        _needs_own_file(helper, helpers, companion_folder, seen)
        for helper in names
        if helper in helpers and helper not in seen
    )


def _is_own_file(name: str, companion_folder: CompanionFolder | None) -> bool:
    return companion_folder is not None and f"{name.partition('.')[0]}.py" in companion_folder.brought


def _imported_modules(path: Path, *, anywhere: bool = False) -> Iterator[str]:
    """Yield the modules that a program imports at its top level, or anywhere, in order."""
    try:
        tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return
    for node in ast.walk(tree) if anywhere else tree.body:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)

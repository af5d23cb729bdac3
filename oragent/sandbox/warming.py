"""Import once, for all forked commands, what a script imports when it starts: modules and helper files."""

import ast
import contextlib
import importlib
import sys
from collections.abc import Iterator
from pathlib import Path

from oragent.sandbox.messages import CompanionFolder

MOST_HELPERS = 200  # files beside a script that are read for their imports


def import_modules(script: Path, beside: CompanionFolder | None) -> None:
    """Import what a script and its helpers import at their top; what cannot be imported the script will say itself.

    Args:
        script: Script on disk.
        beside: Folder in which its helpers lie; they themselves are left out here.
    """
    helpers = _find_helpers(script, beside)
    for name in dict.fromkeys(name for path in (script, *helpers.values()) for name in _imported_modules(path)):
        if name.partition(".")[0] not in helpers and not _is_own_file(name, beside):
            with contextlib.suppress(Exception):
                importlib.import_module(name)


def import_helpers(script: Path, beside: CompanionFolder) -> None:
    """Import the helpers themselves, where nothing can be reached any more that a command cannot reach.

    Those that import, at whatever remove, a file that each command brings itself have to be imported by each: what lies
    in its place in the folder is another one.
    """
    helpers = _find_helpers(script, beside)
    own = [name for name in helpers if not _needs_own_file(name, helpers, beside, set())]
    sys.path.insert(0, str(beside.folder))
    try:
        for name in own:
            with contextlib.suppress(Exception):
                importlib.import_module(name)
    finally:
        sys.path.remove(str(beside.folder))
        for name in [name for name in sys.modules if _is_own_file(name, beside)]:
            del sys.modules[name]


def _find_helpers(script: Path, beside: CompanionFolder | None) -> dict[str, Path]:
    """Files beside a script that it imports, at whatever remove, by the names of their modules, in order."""
    helpers: dict[str, Path] = {}
    waiting = [script]
    while waiting and beside and len(helpers) < MOST_HELPERS:
        for name in _imported_modules(waiting.pop(0)):
            top = name.partition(".")[0]
            for path in (beside.folder / f"{top}.py", beside.folder / top / "__init__.py"):
                if top not in helpers and path.is_file() and not _is_own_file(name, beside):
                    helpers[top] = path
                    waiting.append(path)
    return helpers


def _needs_own_file(name: str, helpers: dict[str, Path], beside: CompanionFolder, seen: set[str]) -> bool:
    seen.add(name)
    names = [helper.partition(".")[0] for helper in _imported_modules(helpers[name], anywhere=True)]
    if any(_is_own_file(helper, beside) for helper in names):
        return True
    return any(
        _needs_own_file(helper, helpers, beside, seen) for helper in names if helper in helpers and helper not in seen
    )


def _is_own_file(name: str, beside: CompanionFolder | None) -> bool:
    return beside is not None and f"{name.partition('.')[0]}.py" in beside.brought


def _imported_modules(path: Path, *, anywhere: bool = False) -> Iterator[str]:
    """The modules that a program imports when it starts, or anywhere in its text, in its order."""
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

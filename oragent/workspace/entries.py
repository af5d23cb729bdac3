"""Command lines of programs, such as ``python -m plan.main --week 12``, and the files that they run."""

import configparser
import posixpath
import re
import shlex
import tomllib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from oragent._base.errors import ConfigError, WorkspaceError
from oragent.workspace.reading import check_inside, read_bytes, shorten

PYTHON = re.compile(r"python(?:3(?:\.\d+)?)?")
# A module, or a function of a module as in the scripts of a package.
MODULE = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*(?::[A-Za-z_]\w*(?:\.\w+)*)?")
VARIABLE = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
CHANGE_FOLDER = re.compile(r"\s*cd\s+([\w./-]+)\s*&&\s*")
# Commands before Python that choose its environment, and options of Python that change no result.
RUNNERS = (["uv", "run"], ["poetry", "run"], ["pipenv", "run"], ["hatch", "run"], ["pdm", "run"], ["env"])
FLAGS = {"-u", "-B", "-O"}
COMMAND_FORM = "expected 'python FILE.py WORDS', 'python -m MODULE WORDS' or a command that pyproject.toml defines"
# Folder of packages in the layout of many projects, and files of a project that is installed.
SOURCES, PROJECT_FILES = "src", ("pyproject.toml", "setup.py", "setup.cfg")
# Maximum number of bytes of a file that are searched.
MAX_SEARCHED = 1 << 20


@dataclass(frozen=True)
class ProgramEntry:
    """Program of a command line."""

    path: str = ""
    # Name of its module if it runs as ``python -m``, or ``MODULE:FUNCTION``.
    module: str = ""
    arguments: tuple[str, ...] = ()
    # Folder in which it starts, below that of the workspace.
    working_folder: str = ""
    # Folders in which modules are searched, as in PYTHONPATH.
    import_folders: tuple[str, ...] = ()
    # Environment variables before the command.
    variables: tuple[tuple[str, str], ...] = ()


NO_ENTRY = ProgramEntry()


def parse_command(text: str, scripts: Mapping[str, str] | None = None) -> ProgramEntry:
    """Read a command such as ``python src/main.py --week 12`` or ``PYTHONPATH=src python -m plan.main``.

    Args:
        text: The command line.
        scripts: Commands that the project defines, each with its module and function.
    """
    start = CHANGE_FOLDER.match(text)
    try:
        words = shlex.split(text[start.end() :] if start else text)
    except ValueError as problem:
        raise ConfigError(f"command {shorten(text)!r}: {problem}; {COMMAND_FORM}") from None
    working_folder = start[1].rstrip("/").removeprefix("./") if start else ""
    variables: dict[str, str] = {}
    while words:
        assigned = VARIABLE.fullmatch(words[0])
        runner = next((runner for runner in RUNNERS if words[: len(runner)] == runner), [])
        if assigned:
            variables[assigned[1]] = assigned[2]
        elif not runner:
            break
        words = words[len(runner) or 1 :]
        if runner and words and words[0].endswith(".py"):
            # 'uv run FILE.py' calls Python.
            words = ["python", *words]
    parts = filter(None, variables.pop("PYTHONPATH", "").split(":"))
    folders = tuple(posixpath.normpath(posixpath.join(working_folder, part)) for part in parts)
    entry = _read_words(text, words, scripts or {})
    for path in (working_folder, *folders):
        if path not in ("", "."):
            check_inside(path)
    path = f"{working_folder}/{entry.path}" if working_folder and entry.path.endswith(".py") else entry.path
    return replace(
        entry, path=path, working_folder=working_folder, import_folders=folders, variables=tuple(variables.items())
    )


def _read_words(text: str, words: list[str], scripts: Mapping[str, str]) -> ProgramEntry:
    if words and words[0] in scripts and MODULE.fullmatch(scripts[words[0]]):
        return ProgramEntry("", scripts[words[0]], tuple(words[1:]))
    if len(words) < 2 or not PYTHON.fullmatch(words[0]):
        raise ConfigError(f"command {shorten(text)!r} does not call Python; {COMMAND_FORM}")
    words = words[1:]
    while words and words[0] in FLAGS:
        words = words[1:]
    if words[:1] == ["-m"] and len(words) > 1 and MODULE.fullmatch(words[1]):
        return ProgramEntry("", words[1], tuple(words[2:]))
    if not words or words[0].startswith("-") or not words[0].endswith(".py"):
        raise ConfigError(f"command {shorten(text)!r} names no program; {COMMAND_FORM}")
    check_inside(words[0])
    return ProgramEntry(words[0].removeprefix("./"), "", tuple(words[1:]))


def find_import_folders(folder: Path, entry: ProgramEntry) -> tuple[str, ...]:
    """Return the folders in which a program finds modules: those of the command, and those of an installed project."""
    folders = list(entry.import_folders)
    if any((folder / name).is_file() for name in PROJECT_FILES):
        has_sources = (folder / SOURCES).is_dir() and not (folder / SOURCES / "__init__.py").exists()
        folders += [SOURCES, "."] if has_sources else ["."]
    return tuple(dict.fromkeys(folders))


def find_program_path(folder: Path, entry: ProgramEntry) -> str:
    """Return the path of the file that an entry runs; of a module, the first one in its import folders."""
    if not entry.module:
        return entry.path
    name = entry.module.partition(":")[0].replace(".", "/")
    is_called = ":" in entry.module
    endings = (".py", "/__init__.py" if is_called else "/__main__.py")
    roots = (entry.working_folder, *find_import_folders(folder, entry), SOURCES)
    paths = [f"{root}/{name}{ending}".removeprefix("./").lstrip("/") for root in roots for ending in endings]
    return next((path for path in paths if (folder / path).is_file()), f"{name}.py")


def read_head(file: Path) -> str:
    """Return the first part of a text file."""
    return read_bytes(file)[:MAX_SEARCHED].decode("utf-8", "replace")


def find_scripts(folder: Path) -> dict[str, str]:
    """Return the commands that a Python project installs: the module and function of each name."""
    scripts: dict[str, str] = {}
    with suppress(WorkspaceError, tomllib.TOMLDecodeError, UnicodeDecodeError, AttributeError, TypeError):
        tree = tomllib.loads(read_bytes(folder / "pyproject.toml", MAX_SEARCHED).decode())
        tables = [tree.get("project", {}), tree.get("tool", {}).get("poetry", {})]
        for table in tables:
            scripts |= {name: value for name, value in table.get("scripts", {}).items() if isinstance(value, str)}
    with suppress(WorkspaceError, configparser.Error, UnicodeDecodeError):
        parser = configparser.ConfigParser(interpolation=None)
        parser.read_string(read_bytes(folder / "setup.cfg", MAX_SEARCHED).decode())
        lines = parser.get("options.entry_points", "console_scripts").splitlines()
        scripts |= {name.strip(): value.strip() for name, _, value in (line.partition("=") for line in lines) if value}
    with suppress(WorkspaceError):
        text = read_head(folder / "setup.py")
        scripts |= dict(re.findall(r"['\"]([\w.-]+)\s*=\s*([\w.]+:[\w.]+)['\"]", text))
    return scripts

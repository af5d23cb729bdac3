"""Programs of a folder that solve a model, and the command lines that run them in its scripts and texts."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from oragent._base.errors import ConfigError, WorkspaceError
from oragent.workspace.entries import find_program_path, find_scripts, parse_command, read_head

# Modelling libraries whose models oragent captures.
LIBRARIES = ("pyomo", "pulp", "gurobipy", "highspy", "linopy", "ortools", "scipy.optimize", "mip", "cvxpy")
FROM = re.compile(r"(?:^|;)[ \t]*from[ \t]+(\.*[\w.]*)[ \t]+import[ \t]*(?:\(([^)]*)\)|([^#;\n(]*))", re.MULTILINE)
IMPORT = re.compile(r"(?:^|;)[ \t]*import[ \t]+([\w. ,\t]+)", re.MULTILINE)
SOLVES = re.compile(r"\.(?:solve|optimize|Solve|run|minimize)\s*\(|\bSolverFactory\b|\b(?:linprog|milp)\s*\(")
MAIN = re.compile(r"__name__\s*==\s*['\"]__main__['\"]")
TESTS = re.compile(r"(?:^|/)(?:tests?|examples?)/|(?:^|/)test_[^/]*\.py$")
# Files that may state how the program is run.
SCRIPT = re.compile(r"(?:^|/)(?:Makefile|justfile|README[^/]*|[^/]*\.(?:sh|md|rst|txt|toml|ya?ml))$", re.IGNORECASE)
PROSE = re.compile(r"(?:^|/)(?:README[^/]*|[^/]*\.(?:md|rst|txt))$", re.IGNORECASE)
# Code in prose: in backticks, in an indented line, after a prompt, or in a fence.
CODE = re.compile(r"```[^\n]*\n(.*?)```|`([^`\n]+)`|^(?: {4}|\t| *[$>] )(.+)$", re.DOTALL | re.MULTILINE)
CALL = re.compile(
    r"(?:\bcd [\w./-]+ && )?(?:\b[A-Za-z_]\w*=[^\s`;&|]+ +)*(?:\b(?:uv|poetry|pipenv|hatch|pdm) run +)?"
    r"(?:(?:\bpython(?:3(?:\.\d+)?)?|\$[({]\w+[)}]) +(?:-[uBO]+ +)*(?:-m +[\w.]+|[\w./-]+\.py)"
    r"|(?<=run )[\w./-]+\.py)\b[^\n`|&;<>#\"]*"
)
# Maximum number of command lines that are read.
MAX_COMMANDS = 200


def list_imports(text: str, path: str) -> set[str]:
    """Return the names of modules that a program imports; those that it imports from its package are resolved."""
    names: set[str] = set()
    for clause in IMPORT.findall(text):
        names |= {part.split()[0] for part in clause.split(",") if part.split()}
    package = path.split("/")[:-1]
    for module, bracketed, plain in FROM.findall(text):
        dots = len(module) - len(module.lstrip("."))
        above = package[: len(package) - dots + 1] if dots else []
        base = ".".join([*above, *filter(None, [module.lstrip(".")])])
        names |= {base, *(f"{base}.{word.split()[0]}" for word in (bracketed or plain).split(",") if word.split())}
    return names


def rank_programs(programs: Mapping[str, Path]) -> list[str]:
    """Return the programs that use a modelling library, themselves or by modules of the folder.

    The most likely main program comes first: outside of tests, then programs that run as scripts, then programs that
    solve a model, then programs that no other one imports, then programs near the top folder.
    """
    texts = {path: read_head(file) for path, file in programs.items()}
    imports = {path: list_imports(text, path) for path, text in texts.items()}
    modules = {path: path.removesuffix(".py").removesuffix("/__init__").split("/") for path in programs}
    # A module is imported by its whole path, or without the folders above its package.
    by_name: dict[str, list[str]] = {}
    for path, parts in modules.items():
        for start in range(len(parts)):
            by_name.setdefault(".".join(parts[start:]), []).append(path)
    uses = {
        path: {other for name in names for other in by_name.get(name, ())} - {path} for path, names in imports.items()
    }
    reaching = {path for path, names in imports.items() if any(map(_is_library, names))}
    direct = set(reaching)
    while more := {path for path, used in uses.items() if path not in reaching and used & reaching}:
        reaching |= more
    imported = {other for path, used in uses.items() if not TESTS.search(path) for other in used}

    def rank(path: str) -> tuple[bool | int | str, ...]:
        has_main = MAIN.search(texts[path]) is not None or path.endswith("__main__.py")
        solves = SOLVES.search(texts[path]) is not None
        is_program = has_main or (path in direct and solves)
        return (
            bool(TESTS.search(path)),
            not is_program,
            path in imported,
            not solves,
            not has_main,
            path.count("/"),
            path,
        )

    return sorted(reaching, key=rank)


def _is_library(name: str) -> bool:
    return any(name == library or name.startswith(f"{library}.") for library in LIBRARIES)


def find_commands(folder: Path, files: Mapping[str, Path]) -> dict[str, str]:
    """Return the command lines in the scripts and texts of a folder that call a program of it, with its path."""
    scripts = find_scripts(folder)
    names = "|".join(map(re.escape, scripts))
    call = re.compile(rf"{CALL.pattern}|(?<![\w./-])(?:{names})(?![\w./:=-])[^\n`|&;<>#\"]*") if names else CALL
    commands: dict[str, str] = {}
    for path in filter(SCRIPT.search, files):
        for match in call.finditer("\n".join(_list_code(path, read_head(files[path])))):
            line = " ".join(re.sub(r"\$[({]\w+[)}]", "python", match[0], count=1).split())
            if len(commands) >= MAX_COMMANDS or "$" in line or line in commands:
                continue
            try:
                program = find_program_path(folder, parse_command(line, scripts))
            except (ConfigError, WorkspaceError):
                continue
            if program in files:
                commands[line] = program
    return commands


def _list_code(path: str, text: str) -> Iterator[str]:
    """Yield the parts of a file that can be commands: all of a script, and the code in prose."""
    text = text.replace("\\\n", " ")
    if not PROSE.search(path):
        yield text
        return
    for match in CODE.finditer(text):
        yield next(part for part in match.groups() if part is not None)

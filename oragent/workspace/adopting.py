"""Proposal of a ``workspace.yaml`` for an existing folder, with its program, documents and data. No file is moved."""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

import yaml

from oragent._base.errors import WorkspaceError
from oragent.workspace.reading import list_files, read_bytes, shorten_path
from oragent.workspace.settings import FILE

DOCUMENTS = (".md", ".txt", ".rst", ".docx", ".pdf", ".eml", ".msg")
DATA = (".csv", ".tsv", ".xlsx", ".xlsm", ".db", ".sqlite", ".sqlite3", ".json", ".parquet")
MODELS = (".lp", ".mps")
# Modelling libraries whose models oragent captures.
LIBRARY = re.compile(
    rb"^[ \t]*(?:import|from)[ \t]+(pyomo|pulp|gurobipy|highspy|linopy|ortools|scipy\.optimize|mip|cvxpy)\b",
    re.MULTILINE,
)
SOLVES = re.compile(rb"\.(?:solve|optimize|Solve|run|minimize)\s*\(|\bSolverFactory\b|\b(?:linprog|milp)\s*\(")
MAIN = re.compile(rb"__name__\s*==\s*['\"]__main__['\"]")
# Names that describe how a project is built, not what its model is about.
TOOLING = re.compile(
    r"(?:^|/)(?:requirements[^/]*\.txt|package(?:-lock)?\.json|tsconfig\.json|licen[cs]e[^/]*|changelog[^/]*|"
    r"contributing[^/]*|code_of_conduct[^/]*|setup\.py|conftest\.py|workspace\.yaml)$",
    re.IGNORECASE,
)
TESTS = re.compile(r"(?:^|/)(?:tests?|examples?)/|(?:^|/)test_[^/]*\.py$")
# Files that may state how the program is run, and environment variables in a program.
SCRIPT = re.compile(r"(?:^|/)(?:Makefile|justfile|README[^/]*|[^/]*\.(?:sh|md|toml))$", re.IGNORECASE)
VARIABLE = re.compile(r"""\bos\.(?:environ\[|environ\.get\(|getenv\()\s*["'](\w+)["']""")
# Maximum number of bytes of a program that are searched.
SEARCHED = 1 << 20
# Minimum number of files with the same folder and suffix that one pattern replaces.
MANY = 4


def propose_settings(folder: Path) -> dict[str, object]:
    """Return the keys of ``workspace.yaml`` for a folder."""
    if not folder.is_dir():
        raise WorkspaceError(f"no folder {shorten_path(folder)}; expected the folder of a model")
    files = {path: file for path, file in list_files(folder, hidden=False).items() if not TOOLING.search(path)}
    programs = rank_programs({path: file for path, file in files.items() if path.endswith(".py")})
    models = [path for path in files if path.endswith(MODELS)]
    chosen = [*programs, *models]
    if not chosen:
        raise WorkspaceError(
            f"{shorten_path(folder)} has no program that imports Pyomo, OR-Tools, gurobipy, PuLP, highspy, linopy or "
            "SciPy, and no .lp or .mps file; name the program in workspace.yaml: 'program: FILE'"
        )
    command = _find_command(chosen[0], files)
    settings: dict[str, object] = {"command": command} if command else {"program": chosen[0]}
    names = sorted(set(VARIABLE.findall(read_bytes(files[chosen[0]])[:SEARCHED].decode("utf-8", "replace"))))
    if names:
        settings["environment"] = dict.fromkeys(names, "")
    for key, endings in (("documents", DOCUMENTS), ("data", DATA)):
        found = (path for path in files if path.casefold().endswith(endings))
        # A revision may add a table beside the present ones, so one file in a folder of data is enough for a pattern.
        patterns = _patterns(found, 1 if key == "data" else MANY)
        if patterns:
            settings[key] = patterns
    return settings


def _find_command(program: str, files: Mapping[str, Path]) -> str:
    """Return the first command line with arguments for a program in the project's scripts and texts; empty if none."""
    module = program.removesuffix(".py").replace("/", ".")
    pattern = re.compile(rf"\bpython3? (?:{re.escape(program)}|-m {re.escape(module)}) [^\n|&;<>`$#]+")
    for path in filter(SCRIPT.search, files):
        match = pattern.search(read_bytes(files[path])[:SEARCHED].decode("utf-8", "replace"))
        if match:
            return " ".join(match[0].split())
    return ""


def rank_programs(programs: Mapping[str, Path]) -> list[str]:
    """Return the programs that use a modelling library, the most likely main program first.

    Programs that solve a model come first, then programs that run as scripts, then programs outside of tests and near
    the top folder.
    """
    ranked = []
    for path, file in programs.items():
        content = read_bytes(file)[:SEARCHED]
        if not LIBRARY.search(content):
            continue
        imported = Path(path).stem
        is_imported = any(
            re.search(rf"^\s*(?:from|import)\s+(?:[\w.]+\.)?{re.escape(imported)}\b", text, re.MULTILINE)
            for importing_name, text in (
                (name, read_bytes(program_path)[:SEARCHED].decode("utf-8", "replace"))
                for name, program_path in programs.items()
            )
            if importing_name != path and not TESTS.search(importing_name)
        )
        order = (
            bool(TESTS.search(path)),
            not SOLVES.search(content),
            not MAIN.search(content),
            is_imported,
            path.count("/"),
            path,
        )
        ranked.append((order, path))
    return [path for _, path in sorted(ranked)]


def _patterns(paths: Iterable[str], least: int) -> list[str]:
    """Return the paths; at least so many paths in one folder, or ``MANY`` in the top folder, become one pattern."""
    groups: dict[tuple[str, str], list[str]] = {}
    for path in paths:
        parent, _, name = path.rpartition("/")
        groups.setdefault((parent, Path(name).suffix), []).append(path)
    patterns = []
    for (parent, suffix), group in groups.items():
        if len(group) < (least if parent else MANY):
            patterns += group
        else:
            patterns.append(f"{parent}/*{suffix}" if parent else f"*{suffix}")
    return patterns


def adopt_folder(folder: Path, write: bool) -> str:
    """Propose ``workspace.yaml`` and return its text; write the file if ``write`` is True."""
    path = folder / FILE
    if write and (path.exists() or path.is_symlink()):
        raise WorkspaceError(f"{shorten_path(path)} is there already; edit it, or delete it first")
    head = "# Parts of this workspace for 'oragent workspace'; nothing was moved.\n"
    text = head + yaml.safe_dump(propose_settings(folder), sort_keys=False, allow_unicode=True, width=100)
    if write:
        try:
            path.write_text(text, encoding="utf-8")
        except OSError as problem:
            raise WorkspaceError(f"cannot write {shorten_path(path)}: {problem.strerror}") from None
    return text

"""Create the folder of a problem: from a template that works at once, or from another problem."""

import re
import shutil
from importlib.resources import files
from pathlib import Path

from oragent._base.errors import ProblemError
from oragent.evaluation.problem import Problem

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# Files of each template, by the name that they get.
FULL_FILES = {"problem.yaml": "problem.yaml", "eval.py": "eval.py.txt", "heuristic.py": "heuristic.py.txt"}
SOURCES = {
    "full": FULL_FILES,
    # Template in which ``eval.py`` imports no part of oragent.
    "plain": {**FULL_FILES, "eval.py": "plain_eval.py.txt"},
    # Template with one size, without features, drawing and fresh instances.
    "minimal": {
        "problem.yaml": "minimal_problem.yaml",
        "eval.py": "minimal_eval.py.txt",
        "heuristic.py": "minimal_heuristic.py.txt",
    },
}


def new(name: str, parent: Path, template: str = "full") -> Path:
    """Create the folder of a new problem in ``parent``. ``template`` is ``full``, ``plain`` or ``minimal``."""
    if not NAME.fullmatch(name):
        raise ProblemError(f"{name!r} is not a name for a problem: use letters, digits and _, such as my_problem")
    folder = parent / name
    try:
        parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir()
        for target, source in SOURCES[template].items():
            text = (files("oragent.authoring") / "template" / source).read_text(encoding="utf-8")
            (folder / target).write_text(text, encoding="utf-8")
    except FileExistsError as problem:
        raise ProblemError(f"{problem.filename} already exists: choose another name") from None
    except OSError as problem:
        raise ProblemError(f"{folder} cannot be created: {problem.strerror}") from None
    return folder


def copy(problem: Problem, parent: Path) -> Path:
    """Copy a problem's folder into ``parent``. There, its name then means the copy."""
    folder = parent / problem.name
    try:
        shutil.copytree(problem.folder, folder, ignore=shutil.ignore_patterns("__pycache__", "*.nb[ci]"))
    except FileExistsError:
        advice = "name another folder for the copy with --to FOLDER"
        raise ProblemError(f"{folder} already exists: {advice}") from None
    except (OSError, shutil.Error) as fault:
        raise ProblemError(f"{folder} cannot be created: {getattr(fault, 'strerror', None) or fault}") from None
    for path in (folder, *folder.rglob("*")):
        # Files installed by a package manager may be read-only.
        path.chmod(path.stat().st_mode | 0o200)
    return folder

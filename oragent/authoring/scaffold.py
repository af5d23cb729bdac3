"""Make the folder of a new problem from a small template that runs at once, or copy a problem."""

import re
import shutil
from importlib.resources import files
from pathlib import Path

from oragent._base.errors import ProblemError
from oragent.evaluation.problem import Problem

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def new(name: str, parent: Path, *, plain: bool = False) -> Path:
    """Make the folder of a new problem.

    Args:
        name: Name of the problem and of its folder.
        parent: Folder where it goes, usually the project's ``problems``; made if it is missing.
        plain: Whether to write an ``eval.py`` that imports nothing of ours; it runs the candidate in its own process.

    Returns:
        The folder, with ``problem.yaml``, ``eval.py`` and ``heuristic.py``.

    Raises:
        ProblemError: if the name is no name, something of that name exists, or the folder cannot be written.
    """
    if not NAME.fullmatch(name):
        raise ProblemError(f"{name!r} is no name for a problem: use letters, digits and _, such as my_problem")
    folder = parent / name
    sources = {
        "problem.yaml": "problem.yaml",
        "eval.py": "plain_eval.py.txt" if plain else "eval.py.txt",
        "heuristic.py": "heuristic.py.txt",
    }
    try:
        parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir()
        for target, source in sources.items():
            text = (files("oragent.authoring") / "template" / source).read_text(encoding="utf-8")
            (folder / target).write_text(text, encoding="utf-8")
    except FileExistsError as problem:
        raise ProblemError(f"{problem.filename} exists already and is left as it is: choose another name") from None
    except OSError as problem:
        raise ProblemError(f"{folder} cannot be made: {problem.strerror}") from None
    return folder


def copy(problem: Problem, parent: Path) -> Path:
    """Copy a problem's folder, to be changed.

    Args:
        problem: The problem.
        parent: Folder where the copy goes, usually the project's ``problems``; made if it is missing.

    Returns:
        The copy's folder, of the same name: in that project it is now what the name means.

    Raises:
        ProblemError: if something of that name exists there, or the folder cannot be written.
    """
    folder = parent / problem.name
    try:
        shutil.copytree(problem.folder, folder, ignore=shutil.ignore_patterns("__pycache__", "*.nb[ci]"))
    except FileExistsError:
        advice = "is left as it is: say where the copy goes, with --to FOLDER"
        raise ProblemError(f"{folder} exists already and {advice}") from None
    except (OSError, shutil.Error) as fault:
        raise ProblemError(f"{folder} cannot be made: {getattr(fault, 'strerror', None) or fault}") from None
    for path in (folder, *folder.rglob("*")):
        path.chmod(path.stat().st_mode | 0o200)  # what a package manager installed may be read-only
    return folder

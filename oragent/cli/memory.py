"""Lessons that outlive runs: ``memory``."""

import os
import shlex
import subprocess
from datetime import date
from pathlib import Path
from typing import Annotated

import typer

from oragent._base import files
from oragent._base.errors import ConfigError
from oragent._base.plain import escape_text
from oragent.cli.options import Root, console
from oragent.evaluation.problem import find_project_root
from oragent.report.run import load_run
from oragent.search.starting import family_of, lessons_of, memory_file


def memory(
    name: Annotated[
        str | None, typer.Argument(metavar="FAMILY", help="Common beginning of the names of problems, such as tsp.")
    ] = None,
    add: Annotated[Path | None, typer.Option(metavar="RUN", help="Add the lessons of this run.")] = None,
    edit: Annotated[bool, typer.Option("--edit", help="Open the lessons in $EDITOR.")] = False,
    forget: Annotated[bool, typer.Option("--forget", help="Drop all lessons of the family.")] = False,
    root: Root = None,
    outputs: Annotated[Path | None, typer.Option(help="Folder for runs (default: outputs/ in the root).")] = None,
) -> None:
    """Store, show and edit lessons by families of problems; --start memory begins a run with them."""
    folder = outputs or find_project_root(root) / "outputs"
    if add is not None:
        name = _add_lessons(folder, add, name)
    if name is None:
        _list_families(folder)
        return
    path = memory_file(folder, name)
    if not name.isidentifier():
        raise ConfigError(f"{name!r} is no family of problems: expected a plain word, such as tsp")
    if forget:
        path.unlink(missing_ok=True)
        return
    if edit:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        _open_editor(path)
    if not path.is_file():
        raise ConfigError(f"nothing is kept of {name}: oragent memory {name} --add RUN keeps what a run has learned")
    console.print(escape_text(path.read_text(encoding="utf-8", errors="replace")), markup=False, highlight=False)


def _add_lessons(outputs: Path, run: Path, name: str | None) -> str:
    """Append the lessons of a run to those of its family, and return the family."""
    data = load_run(run)
    learned = lessons_of(run)
    if not learned:
        raise ConfigError(
            f"{run} has no long-term memory: only or_agent keeps one, once its reports have come together"
        )
    name = name or family_of(data.about.problem)
    path = memory_file(outputs, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    earlier = path.read_text(encoding="utf-8") if path.is_file() else ""
    head = f"## {data.about.problem}, {date.today():%Y-%m-%d}: from {data.seed.score:.6g} to {data.best.score:.6g}"
    if learned not in earlier:
        files.replace_file(path, f"{earlier.rstrip()}\n\n{head}\n\n{learned}\n".lstrip())
    return name


def _list_families(outputs: Path) -> None:
    paths = sorted((outputs / "memory").glob("*.md"))
    if not paths:
        console.print("no lessons are kept yet: oragent memory --add RUN")
    for path in paths:
        words = len(path.read_text(encoding="utf-8", errors="replace").split())
        console.print(
            f"{escape_text(path.stem)}: {words} words in {escape_text(str(path))}", markup=False, highlight=False
        )


def _open_editor(path: Path) -> None:
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    if not editor:
        raise ConfigError(f"neither VISUAL nor EDITOR is set: edit {path} by hand")
    try:
        subprocess.run([*shlex.split(editor), str(path)], check=True)
    except (OSError, ValueError, subprocess.CalledProcessError) as problem:
        raise ConfigError(f"{editor!r} cannot edit {path}: {problem}") from None

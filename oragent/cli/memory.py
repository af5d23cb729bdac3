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
from oragent._base.plain import plain
from oragent.cli.options import Root, console
from oragent.evaluation.problem import find_project_root
from oragent.report.run import load_run
from oragent.search.starting import family_of, lessons_of, memory_file


def memory(
    name: Annotated[
        str | None, typer.Argument(metavar="FAMILY", help="What names of problems begin with, such as tsp.")
    ] = None,
    add: Annotated[Path | None, typer.Option(metavar="RUN", help="Keep what this run has learned.")] = None,
    edit: Annotated[bool, typer.Option("--edit", help="Open the lessons in $EDITOR.")] = False,
    forget: Annotated[bool, typer.Option("--forget", help="Drop all lessons of the family.")] = False,
    root: Root = None,
    outputs: Annotated[Path | None, typer.Option(help="Where runs go (default: outputs/ in the root).")] = None,
) -> None:
    """Keep lessons by families of problems, show and edit them; a run begins with them by --start memory."""
    place = outputs or find_project_root(root) / "outputs"
    if add is not None:
        name = _add(place, add, name)
    if name is None:
        _listed(place)
        return
    path = memory_file(place, name)
    if not name.isidentifier():
        raise ConfigError(f"{name!r} is no family of problems: expected a plain word, such as tsp")
    if forget:
        path.unlink(missing_ok=True)
        return
    if edit:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        _opened(path)
    if not path.is_file():
        raise ConfigError(f"nothing is kept of {name}: oragent memory {name} --add RUN keeps what a run has learned")
    console.print(plain(path.read_text(encoding="utf-8", errors="replace")), markup=False, highlight=False)


def _add(outputs: Path, run: Path, name: str | None) -> str:
    """Put what a run has learned behind what is kept; returns the family."""
    found = load_run(run)
    learned = lessons_of(run)
    if not learned:
        raise ConfigError(
            f"{run} has no long-term memory: only or_agent keeps one, once its reports have come together"
        )
    name = name or family_of(found.about.problem)
    path = memory_file(outputs, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    before = path.read_text(encoding="utf-8") if path.is_file() else ""
    head = f"## {found.about.problem}, {date.today():%Y-%m-%d}: from {found.seed.score:.6g} to {found.best.score:.6g}"
    if learned not in before:
        files.replace(path, f"{before.rstrip()}\n\n{head}\n\n{learned}\n".lstrip())
    return name


def _listed(outputs: Path) -> None:
    kept = sorted((outputs / "memory").glob("*.md"))
    if not kept:
        console.print("no lessons are kept yet: oragent memory --add RUN")
    for path in kept:
        words = len(path.read_text(encoding="utf-8", errors="replace").split())
        console.print(f"{plain(path.stem)}: {words} words in {plain(str(path))}", markup=False, highlight=False)


def _opened(path: Path) -> None:
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    if not editor:
        raise ConfigError(f"neither VISUAL nor EDITOR is set: edit {path} by hand")
    try:
        subprocess.run([*shlex.split(editor), str(path)], check=True)
    except (OSError, ValueError, subprocess.CalledProcessError) as problem:
        raise ConfigError(f"{editor!r} cannot edit {path}: {problem}") from None

"""What several commands share: the console, and the words that mean the same everywhere."""

from pathlib import Path
from typing import Annotated

import typer

from oragent.terminal import Terminal

__all__ = ["ProblemName", "Root", "RunPath", "Settings", "console"]

console = Terminal()

Root = Annotated[Path | None, typer.Option(help="Project root: where problems/ is (default: here or above).")]
Settings = Annotated[list[str] | None, typer.Argument(help="Settings, such as budget.money=2.5 archive.islands=4.")]
RunPath = Annotated[Path, typer.Argument(metavar="RUN", help="A run's folder: outputs/<problem>/<name>.")]
ProblemName = Annotated[str, typer.Argument(metavar="PROBLEM", help="A problem's name, or the path of its folder.")]

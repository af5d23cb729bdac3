"""The live page: ``watch``."""

from pathlib import Path
from typing import Annotated

import typer

from oragent.cli.options import console
from oragent.report.live.server import serve


def watch(
    folder: Annotated[
        Path, typer.Argument(metavar="[FOLDER|RUN]", help="A folder of runs, or the folder of one run.")
    ] = Path("outputs"),
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port on 127.0.0.1; 0 for any free one.")] = 0,
) -> None:
    """Show searches on a live page: progress, candidates, lineage, archive, model calls, evidence."""
    is_run = (folder / "run.db").is_file()
    root, run = (folder.resolve().parent, folder.resolve().name) if is_run else (folder, "")
    serve(root, lambda line: console.print(line, highlight=False, soft_wrap=True, markup=False), port, run=run)

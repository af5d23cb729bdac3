"""The live page and acts on a running search: ``watch``, ``steer``."""

from pathlib import Path
from typing import Annotated, Any

import typer

from oragent._base.errors import ConfigError
from oragent.cli.options import RunPath, console
from oragent.report.live.offline import write_offline
from oragent.report.live.server import serve
from oragent.search.acts import ACTS, post_act


def watch(
    folder: Annotated[
        Path, typer.Argument(metavar="[FOLDER|RUN]", help="A folder of runs, or the folder of one run.")
    ] = Path("outputs"),
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port on 127.0.0.1; 0 for any free one.")] = 0,
    out: Annotated[Path | None, typer.Option(help="Write the page of one run as a file, and start no server.")] = None,
    read_only: Annotated[bool, typer.Option("--read-only", help="Show runs without the means to steer them.")] = False,
) -> None:
    """Show searches on a live page: progress, candidates, lineage, archive, model calls, evidence."""
    if out is not None:
        _print_line(f"page: {write_offline(folder, out)}")
        return
    is_run = (folder / "run.db").is_file()
    root, run = (folder.resolve().parent, folder.resolve().name) if is_run else (folder, "")
    serve(root, _print_line, port, None if read_only else _steer_from_page, run)


def steer(
    run: RunPath,
    act: Annotated[str, typer.Argument(metavar="ACT", help=f"{', '.join(ACTS)}.")],
    value: Annotated[
        str, typer.Argument(help="Bounds (evaluations=500), a hint, a program's file, or a candidate's id.")
    ] = "",
) -> None:
    """Act on a running search: pause, continue, stop, change the budget, hint, add a program, pin or ban a parent."""
    if act == "add":
        try:
            value = Path(value).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as problem:
            raise ConfigError(f"add needs the file of a program: {problem}") from None
    _print_line(post_act(run, act, value))


def _steer_from_page(folder: Path, act: dict[str, Any]) -> str:
    return post_act(folder, str(act.get("act", "")), str(act.get("value", "")))


def _print_line(line: str) -> None:
    console.print(line, highlight=False, soft_wrap=True, markup=False)

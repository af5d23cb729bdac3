"""The live page and acts on a running search: ``watch``, ``steer``."""

from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

import typer

from oragent._base.errors import ConfigError
from oragent._base.folder_kinds import FolderKind, kind_of_folder
from oragent._base.plain import escape_text
from oragent.cli.options import RunPath, console
from oragent.report.live.offline import write_offline
from oragent.report.live.server import end_with_parent, serve
from oragent.sandbox.isolation import describe_isolation
from oragent.search.acts import ACTS, FOLDER, answer_prompt, list_open_prompts, post_act


def watch(
    folder: Annotated[
        Path, typer.Argument(metavar="[FOLDER|RUN]", help="A folder of runs, or the folder of one run.")
    ] = Path("outputs"),
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port on 127.0.0.1; 0 for any free one.")] = 0,
    out: Annotated[Path | None, typer.Option(help="Write the page of one run as a file, and start no server.")] = None,
    read_only: Annotated[bool, typer.Option("--read-only", help="Show runs without commands to steer them.")] = False,
) -> None:
    """Show searches on a live page."""
    if out is not None:
        _print_line(f"page: {write_offline(folder, out)}")
        return
    isolation = describe_isolation()  # before there is a second thread
    end_with_parent()
    kind = kind_of_folder(folder)
    root, view = folder, ""
    if kind is not None:
        root = folder.resolve().parent
        view = f"{'run' if kind is FolderKind.SEARCH else 'page'}/{quote(folder.resolve().name, safe='')}"
    serve(
        root, tell=_print_line, port=port, steer=None if read_only else _steer_from_page, view=view, isolation=isolation
    )


def steer(
    run: RunPath,
    act: Annotated[str, typer.Argument(metavar="ACT", help=f"{', '.join(ACTS)}, answer.")],
    value: Annotated[
        str,
        typer.Argument(help="Bounds (evaluations=500), a hint, a file (program, reply), or a candidate's id."),
    ] = "",
) -> None:
    """Act on a running search."""
    if act == "answer" and not value:
        _print_prompts(run)
        return
    if act in ("add", "answer"):
        try:
            value = Path(value).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as problem:
            raise ConfigError(f"{act} needs the file of a program or a reply: {problem}") from None
    _print_line(_steer(run, act, value))


def _print_prompts(run: Path) -> None:
    """Print the prompts that wait for a person."""
    prompts = list_open_prompts(run / FOLDER)
    for prompt in prompts:
        _print_line(f"call {prompt.key}, role {prompt.role}\n{escape_text(prompt.prompt)}")
    if not prompts:
        _print_line("no prompt waits for a person; 'oragent steer RUN person' has you asked from the next round on")


def _steer(folder: Path, act: str, value: str, call: str = "") -> str:
    if act == "answer":
        return f"call {answer_prompt(folder / FOLDER, value, call)} is answered"
    return post_act(folder, act, value)


def _steer_from_page(folder: Path, act: dict[str, Any]) -> str:
    return _steer(folder, *(str(act.get(name, "")) for name in ("act", "value", "call")))


def _print_line(text: str) -> None:
    console.print(text, highlight=False, soft_wrap=True, markup=False)

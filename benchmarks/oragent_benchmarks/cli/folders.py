"""Show, write and continue the folders of benchmarks."""

from pathlib import Path

from rich.console import Console

from oragent._base.files import FolderKind
from oragent.llm.model_settings import RuntimeWords
from oragent_benchmarks.converse import command as converse
from oragent_benchmarks.formulate import command as formulate
from oragent_benchmarks.requests import FormulateBenchRequest
from oragent_benchmarks.workspace import command as workspace


def show_bench(kind: FolderKind, folder: Path, console: Console, *, write: bool) -> int:
    """Show a benchmark, and write its page if asked; return the exit code."""
    match kind:
        case FolderKind.FORMULATE_BENCH:
            return formulate.show_bench(folder, console, write=write)
        case FolderKind.CONVERSE_BENCH:
            return converse.show_bench(folder, console, write=write)
        case _:
            return workspace.show_bench(folder, console, write=write)


def resume_bench(kind: FolderKind, folder: Path, console: Console, runtime: RuntimeWords) -> int:
    """Continue a benchmark; return the exit code."""
    match kind:
        case FolderKind.FORMULATE_BENCH:
            return formulate.run_bench(FormulateBenchRequest(folder, workers=2, words=runtime), console)
        case FolderKind.CONVERSE_BENCH:
            return converse.run_bench(converse.ConverseBenchRequest(folder, workers=2, words=runtime), console)
        case _:
            return workspace.run_bench(workspace.WorkspaceBenchRequest(folder, workers=2, words=runtime), console)

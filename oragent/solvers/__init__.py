"""Algorithms: arrays in, arrays out, blind to the problem folder that calls them.

Their kernels are compiled by numba and kept on disk beside the source. numba compiles one anew when the file it stands
in has changed, but not when a file that it calls into has: so kernels older than any source here are dropped on import.
"""

from contextlib import suppress
from pathlib import Path

__all__: list[str] = []


def _drop_stale_kernels(folder: Path) -> None:
    newest = max(source.stat().st_mtime_ns for source in folder.glob("*.py"))
    for kernel in folder.glob("__pycache__/*.nb[ic]"):
        with suppress(OSError):  # gone already, or an installation that nobody may write to, whose sources never change
            if kernel.stat().st_mtime_ns < newest:
                kernel.unlink()


_drop_stale_kernels(Path(__file__).parent)

"""Kernels: functions that numba compiles once and keeps on disk, beside their source."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from numba import njit, types

VECTOR, MATRIX, CUBE = (types.Array(types.float64, dimensions, "C", readonly=True) for dimensions in (1, 2, 3))


def kernel(signatures: Sequence[Any], **options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Compile a function for these signatures, or load it where that was done before.

    Args:
        signatures: Signatures of numba; the kernel is there after the import, and a process that forks evaluations has
            it.
        options: Options of ``numba.njit``.
    """
    drop_stale(Path(__file__).parent)
    return njit(list(signatures), cache=True, **options)


@cache
def drop_stale(folder: Path) -> None:
    """Delete what was compiled before any source changed; once in a process, and before a kernel is loaded.

    numba compiles a kernel anew when the file it stands in has changed, but not when a file that it calls into has.

    Args:
        folder: Folder of the sources; what was compiled lies in its ``__pycache__``.
    """
    newest = max(source.stat().st_mtime_ns for source in folder.glob("*.py"))
    for compiled in folder.glob("__pycache__/*.nb[ic]"):
        # gone already, or an installation that nobody may write to, whose sources never change
        with suppress(OSError):
            if compiled.stat().st_mtime_ns < newest:
                compiled.unlink()

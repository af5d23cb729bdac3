"""Kernels: functions that numba compiles once and caches on disk, next to their source."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from numba import njit, types

VECTOR, MATRIX, CUBE = (types.Array(types.float64, dimensions, "C", readonly=True) for dimensions in (1, 2, 3))


def kernel(signatures: Sequence[Any], **options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Compile a function for these signatures, or load it from the cache.

    Args:
        signatures: Signatures of numba. The kernel is compiled at import, so a process that forks evaluations has it.
        options: Options of ``numba.njit``.
    """
    drop_stale(Path(__file__).parent)
    return njit(list(signatures), cache=True, **options)


@cache
def drop_stale(folder: Path) -> None:
    """Delete compiled files older than any source; runs once per process, before a kernel is loaded.

    numba recompiles a kernel when its own file has changed, but not when a file with functions that it calls has.

    Args:
        folder: Folder of the sources; compiled files are in its ``__pycache__``.
    """
    newest = max(source.stat().st_mtime_ns for source in folder.glob("*.py"))
    for compiled in folder.glob("__pycache__/*.nb[ic]"):
        # The file is already deleted, or the installation is read-only, and then its sources never change.
        with suppress(OSError):
            if compiled.stat().st_mtime_ns < newest:
                compiled.unlink()

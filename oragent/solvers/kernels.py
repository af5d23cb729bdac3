"""Kernels: functions that numba compiles once and caches on disk, next to their source."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from numba import njit, types
from numba.core.caching import FunctionCache
from numba.core.runtime.nrt import rtsys

VECTOR, MATRIX, CUBE = (types.Array(types.float64, dimensions, "C", readonly=True) for dimensions in (1, 2, 3))


def kernel(signatures: Sequence[Any], **options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Compile a function for these signatures, or load it from the cache.

    Args:
        signatures: Signatures of numba. The kernel is compiled at import, so a process that forks evaluations has it.
        options: Options of ``numba.njit``.
    """
    drop_stale(Path(__file__).parent)

    def compile_kernel(function: Callable[..., Any]) -> Any:
        dispatcher = njit(**options)(function)
        # NUMBA_DISABLE_JIT leaves the function in Python.
        if dispatcher is function:
            return function
        # Without a folder that can be written, each process compiles.
        with suppress(RuntimeError):
            dispatcher._cache = _KernelCache(function)  # type: ignore[no-untyped-call]
        for signature in signatures:
            dispatcher.compile(signature)
        dispatcher.disable_compile()
        return dispatcher

    return compile_kernel


class _KernelCache(FunctionCache):
    """Cache that loads machine code without preparing the compiler, which takes as long as importing numba."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled function of a signature; None if it is not cached, so that it is compiled."""
        rtsys.initialize(target_context)
        try:
            with self._guard_against_spurious_io_errors():
                return self._load_overload(sig, target_context)  # type: ignore[no-untyped-call]
        except OSError:
            raise
        except Exception:
            # A machine that lost power leaves empty files, at which numba would fail each time.
            self.flush()  # type: ignore[no-untyped-call]
            return None


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

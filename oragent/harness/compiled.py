"""Pass the machine code of a candidate's numba functions from one guest to others.

Each decision of an audit has a guest of its own, and compilation takes seconds. So one guest that saw a few decisions
of another instance hands out the code that it compiled, and the guests of the audit begin with that. The scorer never
parses these bytes: only guests, which are confined, do. The candidate may put anything else into them, but nothing that
this one guest did not know, and no guest of an audit can change them.
"""

import hashlib
import pickle
from collections.abc import Mapping
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

MOST_BYTES = 8 << 20  # of code that is passed on

_code: dict[str, bytes] = {}  # by function and types of its arguments


def uses_numba(sources: Mapping[str, str]) -> bool:
    """Return True if the texts of a candidate mention numba."""
    return any("numba" in source for source in sources.values())


def enable_sharing() -> None:
    """Import numba, compile a function of ours, and let numba take and keep code here.

    A trusted process does this before any candidate is loaded, so that its forks need not set numba up again. Where
    this version of numba has other inner names than we know, guests compile as they would without this.
    """
    try:
        module, compiler = import_module("numba.core.dispatcher"), import_module("numba.core.compiler")
        serialize, dispatcher = import_module("numba.core.serialize"), module.Dispatcher
        original_init = dispatcher.__init__
        import_module("numba").njit(_compile_example)(np.zeros((2, 2)))
    except Exception:  # whatever keeps numba from being imported, the candidate's own import will report
        return

    def initialise(self: Any, py_func: Any, *args: Any, **kwargs: Any) -> None:
        original_init(self, py_func, *args, **kwargs)
        if not py_func.__module__.startswith("numba."):  # numba's functions are part of the code that calls them
            self._cache = _Cache(py_func, compiler.CompileResult, serialize)

    dispatcher.__init__ = initialise


def _compile_example(values: Any) -> Any:
    return values.max()


def exchange_code(code: NDArray[np.uint8] | None) -> NDArray[np.uint8] | None:
    """Take the code that another guest has compiled, or return the code that this one has.

    Args:
        code: ``(n,)`` bytes of an earlier answer; None to return code.

    Returns:
        ``(n,)`` bytes, empty where there is no code or too much; None if code was taken.
    """
    if code is not None:
        _code.update(pickle.loads(code.tobytes()))
        return None
    whole = pickle.dumps(_code) if _code else b""
    return np.frombuffer(whole if len(whole) <= MOST_BYTES else b"", np.uint8)


class _Cache:
    """What numba calls a cache of one function, in the memory of this process."""

    cache_path = None

    def __init__(self, function: Any, result: Any, serialize: Any) -> None:
        self._function, self._result, self._serialize = function, result, serialize

    def load_overload(self, signature: Any, context: Any) -> Any:
        """Return the function compiled for a signature, or None."""
        try:
            stored = _code.get(self._key(signature))
            context.refresh()  # numba's own caches do so as well: what the code calls must be there
            return None if stored is None else self._result._rebuild(context, *pickle.loads(stored))
        except Exception:  # code of another process that does not fit: compile
            return None

    def save_overload(self, signature: Any, compiled: Any) -> None:
        """Keep a function that was compiled, unless its code holds addresses of this process."""
        if compiled.library.has_dynamic_globals or any(not lifted.can_cache for lifted in compiled.lifted):
            return
        try:
            _code[self._key(signature)] = self._serialize.dumps(compiled._reduce())
        except Exception:
            return

    def enable(self) -> None:
        """Do nothing: it is always on."""

    def disable(self) -> None:
        """Do nothing."""

    def flush(self) -> None:
        """Do nothing."""

    def _key(self, signature: Any) -> str:
        code, cells = self._function.__code__, self._function.__closure__ or ()
        inner = self._serialize.dumps(tuple(cell.cell_contents for cell in cells)) if cells else b""
        digest = hashlib.sha256(code.co_code + inner).hexdigest()  # its text is that of the same candidate
        return f"{self._function.__module__}.{self._function.__qualname__}:{code.co_firstlineno} {signature} {digest}"

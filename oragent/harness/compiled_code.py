"""Machine code that Numba compiled for a candidate. It is kept for the next run of the program with other numbers.

This module runs in the candidate's processes. Machine code comes from a process without data (`CompilingProcess`). Each
process executes the whole text of its candidate, and uses code only for a function whose code, options, argument types
and all values that it uses are the same.
"""

import hashlib
import itertools
import types
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import numpy as np

from oragent.harness import wire_format
from oragent.harness.code_memory import CodeMemory

# Largest array in bytes that a function may use as a constant.
MAX_CONSTANT = 1 << 20
# Depth of functions and values that a key covers.
MAX_DEPTH = 20
# Numbers of functions that are compiled after others were taken over begin here, so that their symbols differ.
LATER_NUMBERS = 1_000_000
# Packages whose functions and types are identified by their names.
LIBRARIES = frozenset(("builtins", "cmath", "math", "numba", "numpy", "operator", "scipy"))
# Types whose values are described by their text.
PLAIN = (bool, int, float, complex, str, bytes, type(None))


class _NoKey(Exception):
    """A function uses a value whose content cannot be compared between processes."""


class CompiledCode:
    """Machine code of the functions of one candidate, by a key of all that it depends on."""

    def __init__(self, content: bytes = b"", output: CodeMemory | None = None) -> None:
        """Read content that other objects appended to ``output``; what is unreadable is left out."""
        self.entries: dict[str, bytes] = {}
        self._output = output
        self.load(content)

    def load(self, content: bytes) -> None:
        """Add the functions of a content."""
        with suppress(Exception):
            while content:
                length = wire_format.frame_length(content)
                entries = wire_format.decode_frame(content[:length])
                self.entries |= {key: value.tobytes() for key, value in entries.items()}
                content = content[length:]

    def add(self, key: str, code: bytes) -> None:
        """Add the machine code of a function."""
        self.entries[key] = code
        if self._output is not None:
            self._output.append(wire_format.encode({key: np.frombuffer(code, np.uint8)}))

    def install(self) -> None:
        """Make Numba look up functions here before it compiles them, if this version has the modules for that."""
        try:
            from numba.core import bytecode
            from numba.core.dispatcher import Dispatcher
        except ImportError:
            return
        # Numba has no hook for a cache of another kind.
        original: Callable[..., None] = Dispatcher.__init__

        def create(dispatcher: Any, *args: Any, **kwargs: Any) -> None:
            original(dispatcher, *args, **kwargs)
            dispatcher._cache = _FunctionCode(dispatcher, self)

        setattr(Dispatcher, "__init__", create)  # noqa: B010
        if self.entries:
            bytecode.FunctionIdentity._unique_ids = itertools.count(LATER_NUMBERS)


def ignore_cache_option() -> None:
    """Make Numba accept ``cache=True`` without effect, because a candidate cannot write the folder of its cache."""
    from numba.core.dispatcher import Dispatcher

    setattr(Dispatcher, "enable_caching", lambda dispatcher: None)  # noqa: B010


class _FunctionCode:
    """Cache of one function with the interface that Numba expects of a cache."""

    cache_path = None

    def __init__(self, dispatcher: Any, code: CompiledCode) -> None:
        self._dispatcher, self._code = dispatcher, code

    def load_overload(self, signature: Any, target: Any) -> Any:
        """Return the compiled function of a signature; None if it must be compiled."""
        from numba.core import compiler, serialize

        key = self._find_key(signature, target)
        if key not in self._code.entries:
            return None
        try:
            target.refresh()
            rebuild: Callable[..., Any] = compiler.CompileResult._rebuild
            return rebuild(target, *serialize.loads(self._code.entries[key]))
        except Exception:
            del self._code.entries[key]
            return None

    def save_overload(self, signature: Any, result: Any) -> None:
        """Keep a compiled function, if it can be used in another process."""
        from numba.core import serialize

        dump: Callable[[Any], bytes] = serialize.dumps
        is_portable = not (result.objectmode or result.lifted or result.library.has_dynamic_globals)
        key = self._find_key(signature, result.target_context)
        if is_portable and key:
            with suppress(Exception):
                self._code.add(key, dump(result._reduce()))

    def enable(self) -> None:
        """Do nothing: it is always in use."""

    disable = flush = enable

    def _find_key(self, signature: Any, target: Any) -> str:
        """Return a hash of all that the machine code depends on; empty if that is unknown."""
        try:
            text = str(signature)
            # The name of a function in a signature contains its address.
            if "0x" in text or _is_of_library(self._dispatcher.py_func.__module__ or ""):
                return ""
            machine = target.codegen().magic_tuple()
            parts = repr((text, machine, _describe(self._dispatcher, [])))
        except (_NoKey, AttributeError, NotImplementedError):
            return ""
        return hashlib.sha256(parts.encode()).hexdigest()


def _describe(value: Any, above: list[Any]) -> Any:
    """Return plain data that are equal in two processes only if a compiled function would use an equal value.

    ``above`` holds the functions and tuples that contain the value.

    Raises:
        _NoKey: The value has another type.
    """
    if len(above) > MAX_DEPTH:
        raise _NoKey
    if type(value) in PLAIN:
        return type(value).__name__, repr(value)
    if isinstance(value, np.ndarray | np.generic) and value.dtype.kind in wire_format.KINDS:
        if value.nbytes > MAX_CONSTANT:
            raise _NoKey
        digest = hashlib.sha256(value.tobytes()).hexdigest()
        return value.dtype.str, value.shape, value.strides, digest
    if type(value) is tuple:
        return tuple(_describe(member, [*above, value]) for member in value)
    if isinstance(value, types.ModuleType) and _is_of_library(value.__name__):
        return "module", value.__name__
    if any(value is known for known in above):
        return "recursion", [value is known for known in above].index(True)
    module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    if isinstance(module, str) and isinstance(name, str) and _is_of_library(module) and "<locals>" not in name:
        return type(value).__name__, module, name
    function = getattr(value, "py_func", value)
    if isinstance(function, types.FunctionType) and not _is_of_library(module or ""):
        options = getattr(value, "targetoptions", {})
        described = sorted((name, repr(option)) for name, option in options.items())
        if any("0x" in option for _, option in described) or getattr(value, "locals", None):
            raise _NoKey
        return type(value).__name__, described, _describe_function(function, [*above, value])
    raise _NoKey


def _is_of_library(module: str) -> bool:
    return module.partition(".")[0] in LIBRARIES


def _describe_function(function: types.FunctionType, above: list[Any]) -> Any:
    code = function.__code__
    names = _global_names(code)
    used = {name: _describe(function.__globals__[name], above) for name in names if name in function.__globals__}
    cells = [_describe(cell.cell_contents, above) for cell in function.__closure__ or ()]
    return function.__qualname__, _describe_code(code), used, cells, _describe(function.__defaults__, above)


def _global_names(code: types.CodeType) -> list[str]:
    """Return the names that a code and the codes within it may look up among globals."""
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= {*_global_names(constant)}
    return sorted(names)


def _describe_code(code: types.CodeType) -> Any:
    constants = [
        _describe_code(constant) if isinstance(constant, types.CodeType) else (type(constant).__name__, repr(constant))
        for constant in code.co_consts
    ]
    shape = code.co_argcount, code.co_kwonlyargcount, code.co_posonlyargcount, code.co_flags
    tables = code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars, code.co_exceptiontable
    return code.co_code.hex(), shape, tables, constants


def may_compile(sources: Mapping[str, str]) -> bool:
    """Return True if a candidate may use Numba."""
    return any("numba" in source for source in sources.values())


def may_ask_cache(sources: Mapping[str, str]) -> bool:
    """Return True if a candidate may use Numba's own cache."""
    return any("numba" in source and "cache" in source for source in sources.values())

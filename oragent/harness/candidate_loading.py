"""Load a candidate's functions from its text, of one file or several; render its tracebacks; share its machine code.

Each decision of an audit has a guest of its own, and compilation takes seconds. So one guest that saw a few decisions
of another instance hands out the code that numba compiled, and the guests of the audit begin with that. The scorer
never parses these bytes: only guests, which are confined, do. The candidate may put anything else into them, but
nothing that this one guest did not know, and no guest of an audit can change them.
"""

import hashlib
import importlib.abc
import importlib.machinery
import linecache
import pickle
import re
import sys
import traceback
import types
from collections.abc import Callable, Collection, Mapping, Sequence
from importlib import import_module
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oragent._base.errors import CandidateError
from oragent._base.protocol import Status
from oragent.programs.parts import file_names, split_files

Function = Callable[..., Any]
MOST_CHARACTERS = 4000
# of a line that are told
MOST_VALUES = 8
# no attribute of something else
NAME = re.compile(r"(?<![\w.])[A-Za-z_]\w*")
# of a whole number that is told
MOST_BITS = 100
# of a collection whose kinds are looked at
MOST_MEMBERS = 1000
PLAIN = frozenset({bool, int, float, complex, type(None)})
NUMBERS = frozenset({np.bool_, np.int32, np.int64, np.float32, np.float64})
COLLECTIONS: frozenset[type] = frozenset({list, tuple, set, frozenset, dict, str, bytes})


# of code that is passed on
MOST_BYTES = 8 << 20


class Callee:
    """A candidate of several functions: called itself it is the main one, ``of`` names another."""

    def __init__(self, call: Callable[[str, tuple[Any, ...], dict[str, Any]], Any]) -> None:
        self._call = call

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the main function."""
        return self._call("", args, kwargs)

    def of(self, name: str) -> Function:
        """Another of its functions, to be called."""
        return lambda *args, **kwargs: self._call(name, args, kwargs)


def read_candidate(candidate: Path, files: Sequence[str]) -> dict[str, str]:
    """Read a candidate: its file, and further ones out of that, where it holds them, or beside it.

    Raises:
        CandidateError: ``rejected``, if one is missing or no UTF-8 text.
    """
    main = candidate.name
    try:
        text = candidate.read_text(encoding="utf-8")
        if not files:
            return {main: text}
        if file_names(text):
            texts = split_files(text, (main, *files))
        else:
            texts = {main: text} | {name: (candidate.parent / name).read_text(encoding="utf-8") for name in files}
    except UnicodeDecodeError as problem:
        raise CandidateError(f"{main} is not UTF-8 text: {problem}", Status.REJECTED) from None
    except FileNotFoundError as problem:
        raise CandidateError(f"the candidate has no file {Path(problem.filename).name}", Status.REJECTED) from None
    if missing := [name for name in files if name not in texts]:
        raise CandidateError(f"the candidate has no file {missing[0]}", Status.REJECTED)
    return texts


def load_functions(path: Path, sources: Mapping[str, str], functions: Sequence[str]) -> dict[str, Function]:
    """Execute a candidate's text, in a guest.

    Raises:
        NameError: if it does not define one of the functions.
        BaseException: whatever its text raises.
    """
    main = next(iter(sources))
    if len(sources) > 1:
        texts = {Path(name).stem: (str(path.with_name(name)), text) for name, text in sources.items() if name != main}
        sys.meta_path.insert(0, _FileFinder(texts))
        for name in texts:
            # the scorer may have a module of that name
            sys.modules.pop(name, None)
    module = _make_module("candidate", str(path), sources[main])
    if len(sources) > 1:
        sys.modules[Path(main).stem] = module
    _execute_module(module, str(path), sources[main])
    functions_by_name = {name: getattr(module, name, None) or _find_in_files(name, sources) for name in functions}
    for name, function in functions_by_name.items():
        if not callable(function):
            raise NameError(f"the candidate defines no function {name!r}")
    return {name: function for name, function in functions_by_name.items() if callable(function)}


def _find_in_files(function: str, sources: Mapping[str, str]) -> Any:
    """A function that a further file defines, and the main one does not import."""
    for name in list(sources)[1:]:
        candidate_function = getattr(importlib.import_module(Path(name).stem), function, None)
        if candidate_function is not None:
            return candidate_function
    return None


def _make_module(name: str, path: str, source: str) -> types.ModuleType:
    module = types.ModuleType(name)
    module.__file__ = path
    sys.modules[name] = module
    linecache.cache[path] = (len(source), None, source.splitlines(keepends=True), path)
    return module


def _execute_module(module: types.ModuleType, path: str, source: str) -> None:
    exec(compile(source, path, "exec"), module.__dict__)


class _FileFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports a candidate's further files from their texts."""

    def __init__(self, texts: Mapping[str, tuple[str, str]]) -> None:
        self._texts = texts

    def find_spec(
        self, fullname: str, path: object = None, target: object = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname in self._texts:
            return importlib.machinery.ModuleSpec(fullname, self)
        return None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        path, text = self._texts[spec.name]
        return _make_module(spec.name, path, text)

    def exec_module(self, module: types.ModuleType) -> None:
        path, text = self._texts[module.__name__]
        _execute_module(module, path, text)


def render_traceback(problem: BaseException, path: str) -> str:
    """Render the frames from the candidate's own code on; the harness above it is of no help to anyone.

    Below it stands what the variables of its last line held: by kind, shape and size, and single numbers by value.

    Returns:
        The last ``MOST_CHARACTERS`` of it.
    """
    trace = problem.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename != path:
        trace = trace.tb_next
    frames = "".join(traceback.format_exception(type(problem), problem, trace))
    return (frames + _describe_values(problem, trace, path))[-MOST_CHARACTERS:]


def _describe_values(problem: BaseException, trace: TracebackType | None, path: str) -> str:
    """A line that says what the variables were where the candidate's own code failed; empty where it has none."""
    innermost = None
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == path:
            innermost = trace
        else:
            innermost = innermost
        trace = trace.tb_next
    if innermost is None:
        return ""
    frame = innermost.tb_frame
    # Those of a module, which are its imports and functions, tell nothing.
    variables: Mapping[str, Any] = {} if frame.f_code.co_name == "<module>" else frame.f_locals
    code_line = linecache.getline(path, innermost.tb_lineno)
    if type(problem) is NameError:
        names = [*variables]
    else:
        names = [*dict.fromkeys(NAME.findall(code_line))]
    descriptions = [f"{name}: {_describe_value(variables[name])}" for name in names if name in variables]
    if type(problem) is NameError:
        what = "Known there"
    else:
        what = "On that line"
    if descriptions:
        return f"{what}: {'; '.join(descriptions[:MOST_VALUES])}\n"
    return ""


def _describe_value(value: Any) -> str:
    """What a value is, without a call of anything that the candidate may have written."""
    kind = type(value)
    if kind is np.ndarray:
        return f"{value.dtype} array of shape {value.shape}"
    # Python refuses to write very long ones
    if kind is int and value.bit_length() > MOST_BITS:
        return f"int of {value.bit_length()} bits"
    if kind in PLAIN or kind in NUMBERS:
        if value is None:
            return "None"
        return f"{kind.__name__} {value}"
    name = str(type.__dict__["__name__"].__get__(kind))[:40]
    if kind not in COLLECTIONS:
        return name
    return f"{name} of {len(value)}{_describe_members(value)}"


def _describe_members(value: Collection[Any]) -> str:
    """Of what kind the members of a collection are, where they are of one."""
    if type(value) in (str, bytes):
        if type(value) is str:
            return " characters"
        return ""
    kinds = {str(type.__dict__["__name__"].__get__(type(member)))[:40] for member in islice(value, MOST_MEMBERS)}
    if len(kinds) == 1:
        return f" {kinds.pop()}"
    return ""


# by function and types of its arguments
_code: dict[str, bytes] = {}


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
    except Exception:
        # whatever keeps numba from being imported, the candidate's own import will report
        return

    def initialise(self: Any, py_func: Any, *args: Any, **kwargs: Any) -> None:
        original_init(self, py_func, *args, **kwargs)
        # numba's functions are part of the code that calls them
        if not py_func.__module__.startswith("numba."):
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
    if _code:
        whole = pickle.dumps(_code)
    else:
        whole = b""
    return np.frombuffer(whole if len(whole) <= MOST_BYTES else b"", np.uint8)


class _Cache:
    """What numba calls a cache of one function, in the memory of this process."""

    cache_path = None

    def __init__(self, function: Any, result: Any, serialize: Any) -> None:
        self._function, self._result, self._serialize = function, result, serialize

    def load_overload(self, signature: Any, context: Any) -> Any:
        try:
            stored = _code.get(self._key(signature))
            # numba's own caches do so as well: what the code calls must be there
            context.refresh()
            if stored is None:
                return None
            return self._result._rebuild(context, *pickle.loads(stored))
        except Exception:
            # code of another process that does not fit: compile
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
        if cells:
            inner = self._serialize.dumps(tuple(cell.cell_contents for cell in cells))
        else:
            inner = b""
        # its text is that of the same candidate
        digest = hashlib.sha256(code.co_code + inner).hexdigest()
        return f"{self._function.__module__}.{self._function.__qualname__}:{code.co_firstlineno} {signature} {digest}"

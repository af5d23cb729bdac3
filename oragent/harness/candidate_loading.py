"""Load a candidate's functions from its text, which has one file or several, and render its tracebacks."""

import importlib.abc
import importlib.machinery
import linecache
import re
import sys
import traceback
import types
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from oragent._base.errors import CandidateError
from oragent._base.protocol import Status
from oragent.programs.multi_file import file_names, split_files

Function = Callable[..., Any]
MAX_CHARACTERS = 4000
# Maximum number of variables of a line that are described.
MAX_VALUES = 8
# A name that is not an attribute.
NAME = re.compile(r"(?<![\w.])[A-Za-z_]\w*")
# Maximum number of bits of a whole number that is described by its value.
MAX_BITS = 100
# Maximum number of members of a collection whose types are examined.
MAX_MEMBERS = 1000
# Line of a program that is too long for a traceback.
LONG_LINE = re.compile(r"(.{600}).+")
PLAIN = frozenset({bool, int, float, complex, type(None)})
NUMBERS = frozenset({np.bool_, np.int32, np.int64, np.float32, np.float64})
COLLECTIONS: frozenset[type] = frozenset({list, tuple, set, frozenset, dict, str, bytes})


def read_candidate(candidate: Path, files: Sequence[str]) -> dict[str, str]:
    """Read a candidate: its main file, and further files that this file contains or that are in its folder.

    Raises:
        CandidateError: ``rejected``, if a file is missing or is not UTF-8 text.
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
    """Execute the text of a candidate in a guest.

    Raises:
        NameError: It does not define one of the functions.
        BaseException: Any exception that the text raises.
    """
    main = next(iter(sources))
    if len(sources) > 1:
        texts = {Path(name).stem: (str(path.with_name(name)), text) for name, text in sources.items() if name != main}
        sys.meta_path.insert(0, _FileFinder(texts))
        for name in texts:
            # The scorer may have a module of this name.
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
    """Return a function that a further file defines and the main file does not import."""
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
    """Importer of a candidate's further files from their texts."""

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
    """Render the frames of a traceback from the candidate's own code on, without those of the harness.

    The variables of the failed line follow: their types, shapes and sizes, and the values of single numbers.

    Returns:
        The last ``MAX_CHARACTERS`` characters of the text.
    """
    trace = problem.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename != path:
        trace = trace.tb_next
    text = "".join(traceback.format_exception(type(problem), problem, trace))
    # A line of a program may hold the content of an array.
    frames = "".join(LONG_LINE.sub(r"\1 ...", line) for line in text.splitlines(keepends=True))
    return (frames + _describe_values(problem, trace, path))[-MAX_CHARACTERS:]


def _describe_values(problem: BaseException, trace: TracebackType | None, path: str) -> str:
    """Return a line with the variables of the candidate's failed line; empty without variables."""
    innermost = None
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == path:
            innermost = trace
        trace = trace.tb_next
    if innermost is None:
        return ""
    frame = innermost.tb_frame
    # The variables of a module are imports and functions, which are not informative.
    variables: Mapping[str, Any] = {} if frame.f_code.co_name == "<module>" else frame.f_locals
    code_line = linecache.getline(path, innermost.tb_lineno)
    names = [*variables] if type(problem) is NameError else [*dict.fromkeys(NAME.findall(code_line))]
    descriptions = [f"{name}: {_describe_value(variables[name])}" for name in names if name in variables]
    what = "Known there" if type(problem) is NameError else "On that line"
    if descriptions:
        return f"{what}: {'; '.join(descriptions[:MAX_VALUES])}\n"
    return ""


def _describe_value(value: Any) -> str:
    """Describe a value without calling code of the candidate."""
    kind = type(value)
    if kind is np.ndarray:
        return f"{value.dtype} array of shape {value.shape}"
    # Python refuses to print very long whole numbers.
    if kind is int and value.bit_length() > MAX_BITS:
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
    """Return the type of the members of a collection, if all have the same type."""
    if type(value) in (str, bytes):
        if type(value) is str:
            return " characters"
        return ""
    kinds = {str(type.__dict__["__name__"].__get__(type(member)))[:40] for member in islice(value, MAX_MEMBERS)}
    if len(kinds) == 1:
        return f" {kinds.pop()}"
    return ""

"""Candidates in C++. They are compiled in isolation, loaded only in the guest, and called with numbers and arrays."""

import ctypes
import os
import re
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from oragent._base.errors import CandidateError, SandboxError
from oragent._base.protocol import Status
from oragent.sandbox.compiler import run_compiler

ENDINGS = (".cpp", ".cc")
COMPILERS = ("g++", "c++", "clang++")
GLUE, HEADER, RESULT = "oragent_glue.cpp", "oragent_native.hpp", "candidate.so"
FLAGS = ("-std=c++20", "-O2", "-fPIC", "-shared", "-w", "-fvisibility=hidden", "-Wl,--build-id=none,-z,defs")
# The compiler quotes no lines, because these could be lines of an included private file.
QUIET = {True: ("-fno-caret-diagnostics", "-fno-color-diagnostics"), False: ("-fno-diagnostics-show-caret",)}
VARIABLES = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C", "SOURCE_DATE_EPOCH": "0"}
COMPLAINT = re.compile(r"(?P<file>[\w./-]+):(?P<line>\d+):(?:\d+:)? (?:fatal )?error: (?P<text>.*)")
UNDEFINED = re.compile(r"undefined reference to [`'\"](?P<name>[^`'\"]{1,100})")
# Files that assembler text names and the assembler cannot read: messages of GNU as and of clang.
UNREADABLE = re.compile(
    r"(?:Error: file not found: |Error: can't open |Could not find inc(?:bin|lude) file ')(?P<file>[^\n']{1,200}?)"
    r"(?: for reading.*|'.*)?$",
    re.MULTILINE,
)
STOPPED = re.compile(r"(?:Killed|CPU time limit exceeded) signal terminated")
TOO_SLOW = "took too long to compile; write a simpler program"
# Exit codes above are signals.
SIGNALLED = 128
# Maximum length of the output that is read.
OUTPUT_BYTES = 64 << 10
MAX_COMPLAINTS, LINE_CHARACTERS = 5, 200
MESSAGE_BYTES = 512
# Maximum size of a library in bytes.
MAX_BYTES = 32 << 20


class _Value(ctypes.Structure):
    _fields_ = [
        ("whole", ctypes.c_int32),
        ("dimensions", ctypes.c_int32),
        ("shape", ctypes.c_int64 * 2),
        ("data", ctypes.c_void_p),
    ]


def build_library(sources: Mapping[str, str], functions: Sequence[str]) -> Path:
    """Compile a candidate to a shared library, in a process that can read only headers and this text.

    Returns:
        The library, in its own folder, which the caller must remove.

    Raises:
        CandidateError: ``rejected``, with the compiler's messages about the candidate's own lines, if it does not
            compile; ``timeout`` or ``memory``, if that takes too much.
        SandboxError: No compiler is installed, or it cannot be confined.
    """
    compiler = next(filter(None, map(shutil.which, COMPILERS)), None)
    if compiler is None:
        raise SandboxError(f"candidates in C++ need a compiler, {' or '.join(COMPILERS)}, and none is on the PATH")
    folder = Path(tempfile.mkdtemp(prefix="oragent-build-"))
    header = (files("oragent.harness") / "native.hpp").read_text(encoding="utf-8")
    for name, text in {**sources, HEADER: header, GLUE: _glue_source(next(iter(sources)), functions)}.items():
        (folder / name).write_text(text, encoding="utf-8")
        os.utime(folder / name, (0, 0))
    words = [compiler, *FLAGS, *QUIET["clang" in Path(compiler).resolve().name], "-o", RESULT, GLUE]
    try:
        built = run_compiler(words, folder, VARIABLES | {"TMPDIR": str(folder)})
        return _check_library(folder, built, sources, functions)
    except subprocess.TimeoutExpired:
        shutil.rmtree(folder, ignore_errors=True)
        raise CandidateError(TOO_SLOW, Status.TIMEOUT) from None
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _check_library(
    folder: Path, built: subprocess.CompletedProcess[bytes], sources: Mapping[str, str], functions: Sequence[str]
) -> Path:
    library = folder / RESULT
    if built.returncode:
        output = (built.stdout + built.stderr)[:OUTPUT_BYTES].decode(errors="replace")
        raise _explain_failure(built.returncode, output, sources, functions)
    if library.is_symlink() or not library.is_file() or library.stat().st_size > MAX_BYTES:
        raise CandidateError("the compiler made no library, or one that is too large", Status.REJECTED)
    folder.chmod(0o755)
    library.chmod(0o755)
    return library


def _glue_source(main: str, functions: Sequence[str]) -> str:
    cases = "\n".join(
        f"            case {number}: return oragent::call(&::{name}, given, count);"
        for number, name in enumerate(functions)
    )
    return f"""#include "{HEADER}"
#include "{main}"
#line 1 "{GLUE}"
extern "C" __attribute__((visibility("default"))) int oragent_call(
    int which, const oragent::Value* given, int count, oragent::Value* result, char* message, std::int64_t room) {{
    return oragent::answer([&]() -> oragent::Value {{
        switch (which) {{
{cases}
        }}
        throw std::invalid_argument("has no such function");
    }}, result, message, room);
}}
extern "C" __attribute__((visibility("default"))) void oragent_free(void* data) {{ std::free(data); }}
"""


def _explain_failure(code: int, output: str, sources: Mapping[str, str], functions: Sequence[str]) -> CandidateError:
    """Return the compiler's messages on lines of the candidate, each quoted from the candidate's text."""
    if code in (SIGNALLED + signal.SIGXCPU, SIGNALLED + signal.SIGKILL) or STOPPED.search(output):
        return CandidateError(TOO_SLOW, Status.TIMEOUT)
    if re.search(r"virtual memory exhausted|out of memory|cannot allocate memory", output, re.IGNORECASE):
        return CandidateError("took too much memory to compile; write a simpler program", Status.MEMORY)
    complaints: list[str] = []
    for match in COMPLAINT.finditer(output):
        name, number = match["file"].removeprefix("./"), int(match["line"])
        if name in sources and len(complaints) < MAX_COMPLAINTS:
            lines = sources[name].split("\n")
            quoted = lines[number - 1].strip()[:LINE_CHARACTERS] if 0 < number <= len(lines) else ""
            complaints.append(
                f"{name}, line {number}: {match['text'][:LINE_CHARACTERS]}{f': {quoted}' if quoted else ''}"
            )
    complaints += [f"nothing defines {match['name']}" for match in UNDEFINED.finditer(output)][:MAX_COMPLAINTS]
    text = "\n".join(sources.values())
    complaints += [
        f"its assembler text names the file {match['file']!r}, and a candidate is given no files"
        for match in UNREADABLE.finditer(output)
        if match["file"] in text
    ][:MAX_COMPLAINTS]
    if not complaints and "Assembler messages" in output:
        complaints.append("its assembler text has errors")
    if not complaints:
        named = " and ".join(functions)
        shown = "each defined once, outside of namespaces, with numbers, std::vector or std::span as parameters"
        complaints.append(f"{named} cannot be called: {shown}, and a number or a std::vector as the result")
    return CandidateError(f"does not compile: {complaints[0]}", Status.REJECTED, "\n".join(complaints))


class Library:
    """Functions of a library, which only a guest may load. If loading fails, `OSError` is raised."""

    def __init__(self, path: Path, functions: Sequence[str]) -> None:
        self._functions = tuple(functions)
        self._library = ctypes.CDLL(str(path))
        self._library.oragent_call.restype = ctypes.c_int
        self._library.oragent_free.restype = None

    def call_function(self, name: str, *args: Any, **kwargs: Any) -> Any:
        """Call a function by its name.

        Args:
            name: Name of the function.
            args: Numbers, and arrays of one or two dimensions.
            kwargs: Must be empty, because C++ has no arguments by name.

        Returns:
            A number, or an array of ``float64`` or ``int64``.
        """
        if kwargs:
            raise TypeError("a function in C++ takes no arguments by name")
        arrays = [_to_array(value) for value in args]
        values = (_Value * max(1, len(arrays)))(*(_to_value(array) for array in arrays))
        result, message = _Value(), ctypes.create_string_buffer(MESSAGE_BYTES)
        code = self._library.oragent_call(
            self._functions.index(name),
            values,
            len(arrays),
            ctypes.byref(result),
            message,
            ctypes.c_int64(MESSAGE_BYTES),
        )
        if code == 2:
            raise MemoryError
        if code:
            raise RuntimeError(f"{name} {message.value.decode(errors='replace')}")
        try:
            return _from_value(result)
        finally:
            self._library.oragent_free(ctypes.c_void_p(result.data))


def _to_array(value: Any) -> np.ndarray[Any, Any]:
    array = np.asarray(value)
    if array.dtype.kind not in "biuf" or array.ndim > 2:
        raise TypeError(f"an argument of {array.ndim} dimensions and type {array.dtype} cannot be passed to C++")
    return np.ascontiguousarray(array, dtype=np.float64 if array.dtype.kind == "f" else np.int64).reshape(array.shape)


def _to_value(array: np.ndarray[Any, Any]) -> _Value:
    shape = (*array.shape, 1, 1)[:2]
    return _Value(array.dtype.kind == "i", array.ndim, (ctypes.c_int64 * 2)(*shape), array.ctypes.data)


def _from_value(value: _Value) -> Any:
    kind = ctypes.c_int64 if value.whole else ctypes.c_double
    shape = tuple(value.shape)[: value.dimensions]
    count = int(np.prod(shape, dtype=np.int64)) if shape else 1
    array = np.ctypeslib.as_array(ctypes.cast(value.data, ctypes.POINTER(kind)), (count,)).copy()
    if not shape:
        return array[0].item()
    return array.reshape(shape)

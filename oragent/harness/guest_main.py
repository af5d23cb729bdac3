"""Main loop of a guest process. It confines itself, loads the candidate, and answers calls until the socket closes."""

import contextlib
import os
import random
import resource
import signal
import socket
import sys
import time
import traceback
import types
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

# Imported here and not at the first random number, so that a warm process has it when it forks.
import numpy.random

from oragent.harness import wire_format
from oragent._base.errors import CandidateError
from oragent._base.protocol import Status
from oragent.harness.candidate_loading import load_functions, render_traceback
from oragent.harness.code_memory import CodeMemory
from oragent.harness.compiled_code import CompiledCode, ignore_cache_option, may_ask_cache, may_compile
from oragent.harness.exact_values import CallBack, ExactArrays, SentFunctions, encode_callback, read_callback_answer
from oragent.harness.hardening import wrap_function
from oragent.harness.kept_arrays import read_kept
from oragent.harness.native import Library
from oragent.harness.program_streams import ProgramStreams
from oragent.harness.start_clock import StartClock, observe_compiler
from oragent.harness.virtual_files import VirtualFiles
from oragent.sandbox.isolation.guest import Confinement, confine_guest
from oragent.sandbox.isolation.mechanisms import FORBID
from oragent.sandbox.isolation.modules import find_hidden_modules
from oragent.sandbox.isolation.seccomp import WIRE

OUT_OF_MEMORY = "ran out of memory"
CHANGES_ARGUMENTS = "changes its arguments in place, and the evaluator does not see that in another process"
# Maximum number of open files that are closed if the limit on them is infinite.
MAX_FILES = 1 << 20
# Exit code of a guest that could not be confined. Its log contains the reason.
EXIT_UNCONFINED = 78
# Exit code of a guest without memory for a message.
EXIT_OF_MEMORY = 77
# Package of the harness.
PROJECT = "oragent"
# Message of Python 3.11 if a call finds no memory.
NO_FRAME = "error return without exception set"


def run_guest(
    wire: socket.socket,
    log: int,
    parent: int,
    confinement: Confinement,
    *,
    path: Path,
    sources: Mapping[str, str],
    functions: Sequence[str],
    library: Path | None = None,
    hardening: str = "",
    state: Callable[..., Any] | None = None,
    helpers: Collection[str] | None = None,
    compiled: bytes | None = None,
    code_memory: CodeMemory | None = None,
    start_clock: StartClock | None = None,
) -> NoReturn:
    """Run the guest process. This function never returns, and the process ends when its parent does.

    Args:
        wire: Guest's end of the connection to the scorer.
        log: File descriptor for standard output and error.
        parent: Process id of the parent, as seen from this process.
        confinement: Settings of its confinement.
        path: Path of the candidate's file, for tracebacks.
        sources: Texts of the candidate's files by name, the main one first.
        functions: Names of the functions that evolve, the main one first.
        library: Library that was compiled from it. None for Python.
        hardening: Python text that runs unusual arguments around the function of the library; empty for none.
        state: Class of the states that ``Guest.reveal`` uses, or None.
        helpers: Names of the evaluator's helper modules, which are removed first, with those of the project. None means
            that none are removed.
        compiled: Machine code for `CompiledCode`, or None.
        code_memory: Receives the machine code of each compiled function, if it is given.
        start_clock: Receives the seconds of imports and compilation, if it is given.
    """
    code = EXIT_UNCONFINED
    try:
        wire = _move_wire(wire)
        _confine_candidate(wire, log, parent, confinement)
        code = 0
        if helpers is not None:
            forget_project(helpers, state)
        machine_code = None
        if compiled is not None and may_compile(sources):
            machine_code = CompiledCode(compiled, code_memory)
        candidate = _Candidate(path, sources, functions, library, state, machine_code, hardening, start_clock)
        call_back = partial(_call_back, wire)
        while (request := _receive_request(wire, call_back)) is not None:
            answer = _answer_request(candidate, request)
            # The candidate may have closed or replaced the streams.
            with contextlib.suppress(Exception):
                sys.stdout.flush()
                sys.stderr.flush()
            wire.sendall(answer)
    except MemoryError:
        code = EXIT_OF_MEMORY
    except BaseException as problem:
        if code == EXIT_UNCONFINED:
            os.write(log, f"{type(problem).__name__}: {problem}".encode())
    finally:
        # This exit runs no hooks of ``atexit``, neither of the scorer nor of the candidate.
        os._exit(code)


def prepare_process() -> None:
    """Set up the process as a guest. A process that only forks guests does this once for all of them."""
    # Ctrl-C ends the scorer, and the end of the scorer ends this process.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for name in [*os.environ]:
        # Libraries that are imported later must not start threads either.
        if not (name.endswith("_NUM_THREADS") or name == FORBID):
            del os.environ[name]
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    # The streams are replaced, because the inherited ones may be anything. The new ones stay open as long as the
    # process.
    sys.stdout = open(1, "w", encoding="utf-8", errors="replace", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", errors="replace", closefd=False)  # noqa: SIM115


def _confine_candidate(wire: socket.socket, log: int, parent: int, confinement: Confinement) -> None:
    """Close inherited files, clear the environment and confine the process by all mechanisms of the kernel."""
    if not confinement.is_prepared:
        prepare_process()
    os.dup2(log, 1)
    os.dup2(log, 2)
    _close_all_but(wire.fileno(), confinement.rules, confinement.pid_namespace)
    confine_guest(confinement, parent)
    if confinement.pid_namespace >= 0:
        os.close(confinement.pid_namespace)


def forget_project(helpers: Collection[str], state: Callable[..., Any] | None) -> None:
    """Remove the modules that generate and score instances from this process.

    The files of `oragent` are hidden from guests, so no import brings these modules back. Other modules are not
    examined, because reading each would copy its memory from the parent, which takes milliseconds.

    Args:
        helpers: Names of the evaluator's helper modules, which are removed too.
        state: Class whose module must stay usable, or None.
    """
    kept = state.__module__ if state is not None else ""
    for name in (*find_hidden_modules(), *helpers, "__main__"):
        module = sys.modules.pop(name, None)
        if module is not None and name != kept:
            # Functions that are still referenced cannot run without their globals.
            module.__dict__.clear()
    sys.modules.pop(PROJECT, None)
    # Some packages look up this module.
    sys.modules["__main__"] = types.ModuleType("__main__")


def _move_wire(wire: socket.socket) -> socket.socket:
    """Move the connection to the descriptor whose system calls the filter allows."""
    if wire.fileno() == WIRE:
        return wire
    moved = socket.socket(fileno=os.dup2(wire.fileno(), WIRE))
    wire.close()
    return moved


def _close_all_but(*descriptors: int) -> None:
    below = 2
    for descriptor in sorted(descriptors):
        if descriptor >= 0:
            os.closerange(below + 1, descriptor)
            below = descriptor
    highest = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    os.closerange(below + 1, MAX_FILES if highest == resource.RLIM_INFINITY else min(highest, MAX_FILES))


class _Candidate:
    """Functions of the candidate. They are loaded at the first call, so that a failure is reported to the caller."""

    def __init__(
        self,
        path: Path,
        sources: Mapping[str, str],
        functions: Sequence[str],
        library: Path | None,
        state: Callable[..., Any] | None,
        machine_code: CompiledCode | None,
        hardening: str = "",
        start_clock: StartClock | None = None,
    ) -> None:
        self._start_clock = start_clock
        self.path, self._sources, self._names, self._library = str(path), sources, functions, library
        self._hardening = hardening
        # Seeding costs 15 microseconds per call, so programs without random numbers skip it.
        self.draws_numbers = library is None and any("random" in source for source in sources.values())
        self._functions: dict[str, Callable[..., Any]] = {}
        self._make_state = state
        self._states: list[Any] = []
        self.machine_code = machine_code
        # CPU seconds of this process at the end of the first call.
        self.first_s: float | None = None
        # CPU seconds at the end of the second call, which compiles nothing.
        self.second_s: float | None = None

    def call(self, *args: Any, **kwargs: Any) -> Any:
        """Call the main function."""
        return self.call_named("", args, kwargs)

    def begin(self, starts: Sequence[Sequence[Any]]) -> None:
        """Create the state of each instance, before any of its items is revealed."""
        if self._make_state is None:
            raise ValueError("no class of states")
        self._states = [self._make_state(*start) for start in starts]

    def decide(self, indices: Sequence[int], items: Sequence[Any]) -> list[Any]:
        """Receive the next item of some instances, and return a decision for each."""
        decisions = []
        for index, item in zip(indices, items, strict=True):
            state = self._states[index]
            arguments = state.arguments(item)
            if isinstance(arguments, dict):
                answer = self.call_named("", (), arguments)
            else:
                answer = self.call_named("", arguments, {})
            decision = state.choose(answer)
            state.apply(decision)
            decisions.append(decision)
        return decisions

    def seed_generators(self) -> None:
        """Seed the global generators, so that a heuristic that draws random numbers is a function of its arguments."""
        random.seed(0)
        np.random.seed(0)

    def call_named(self, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        function = self._functions.get(name or self._names[0]) or self._load_functions(name or self._names[0])
        if self.draws_numbers:
            self.seed_generators()
        value = function(*args, **kwargs)
        if self.second_s is None:
            now = time.process_time()
            if self.first_s is None:
                self.first_s = now
            else:
                self.second_s = now
        return value

    def _load_functions(self, name: str) -> Callable[..., Any]:
        if not self._functions:
            self.seed_generators()
            if self._start_clock is not None and may_compile(self._sources):
                observe_compiler(self._start_clock)
            if self.machine_code is not None:
                self.machine_code.install()
            if may_ask_cache(self._sources):
                ignore_cache_option()
            if self._library is None:
                self._functions = load_functions(Path(self.path), self._sources, self._names)
            else:
                library = Library(self._library, self._names)
                self._functions = {each: partial(library.call_function, each) for each in self._names}
                if self._hardening:
                    main = self._names[0]
                    self._functions[main] = wrap_function(self._hardening, main, self._functions[main])
            if self._start_clock is not None:
                self._start_clock.end_import()
        return self._functions[name]


def _answer_request(candidate: _Candidate, request: dict[str, Any]) -> bytes:
    """Answer one request. Any exception of the candidate becomes data."""
    try:
        value: Any = None
        if "step" in request:
            value = candidate.decide(*request["step"])
        elif "begin" in request:
            candidate.begin(request["begin"])
        elif "compiled" in request:
            if candidate.machine_code is not None:
                candidate.machine_code.load(request["compiled"].tobytes())
        elif "kept" in request:
            value = read_kept(sys.modules.get("candidate"))
        elif "run" in request:
            module, name = request["run"]
            value = getattr(sys.modules[module], name)(candidate.call, *request["args"])
        else:
            # Its generators go on from one call to the next.
            candidate.draws_numbers = candidate.draws_numbers and "exact" not in request
            before = _encode_arguments(request) if "trial" in request else b""
            with _open_files(request) as files:
                value = candidate.call_named(request["name"], request["args"], request["kwargs"])
            value = value if files is None else files.outputs()
            if before and before != _encode_arguments(request):
                raise CandidateError(CHANGES_ARGUMENTS, Status.INVALID)
        content = {"value": value, "first": candidate.first_s, "second": candidate.second_s}
        try:
            return wire_format.encode(content, ExactArrays() if "exact" in request else None)
        except wire_format.FrameError as problem:
            return _encode_failure(Status.INVALID, f"returned {problem}")
    except CandidateError as problem:
        # The state rejected the answer.
        return _encode_failure(Status(problem.status), str(problem))
    except MemoryError:
        return _encode_failure(Status.MEMORY, OUT_OF_MEMORY)
    except SyntaxError as problem:
        # Errors about null bytes have no line number.
        where = f" in line {problem.lineno}" if problem.lineno else ""
        return _encode_failure(Status.REJECTED, f"syntax error{where}: {problem.msg}")
    except BaseException as problem:
        if isinstance(problem, SystemError) and str(problem) == NO_FRAME:
            return _encode_failure(Status.MEMORY, OUT_OF_MEMORY)
        return _encode_exception(problem, candidate)


def _open_files(request: dict[str, Any]) -> contextlib.AbstractContextManager[VirtualFiles | ProgramStreams | None]:
    """Return the files or the standard streams of a call."""
    if "exchange" in request:
        return ProgramStreams(request["exchange"])
    if "files" in request:
        return VirtualFiles(*request["files"])
    return contextlib.nullcontext()


def _encode_arguments(request: dict[str, Any]) -> bytes:
    return wire_format.encode([request["args"], request["kwargs"]], ExactArrays(SentFunctions()))


def _encode_exception(problem: BaseException, candidate: _Candidate) -> bytes:
    """Encode an exception of the candidate. Its class may be the candidate's own, and printing it may fail."""
    # A metaclass of the candidate cannot change this name.
    name = str(type.__dict__["__name__"].__get__(type(problem)))
    try:
        message = "".join(traceback.format_exception_only(type(problem), problem)[-1:]).strip()[:500]
        return _encode_failure(Status.ERROR, message or name, render_traceback(problem, candidate.path))
    except MemoryError:
        return _encode_failure(Status.MEMORY, OUT_OF_MEMORY)
    except BaseException:
        return _encode_failure(Status.ERROR, f"{name}, which cannot be printed")


def _encode_failure(status: Status, message: str, trace: str = "") -> bytes:
    return wire_format.encode({"status": str(status), "message": message, "traceback": trace})


def _call_back(wire: socket.socket, number: int, method: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a function that the scorer sent with the request."""
    wire.sendall(encode_callback(number, method, args, kwargs))
    return read_callback_answer(_receive_request(wire, partial(_call_back, wire)))


def _receive_request(wire: socket.socket, call_back: CallBack) -> Any:
    """Receive the next request. Return None when the scorer has ended."""
    buffer = _fill_buffer(wire, bytearray(), wire_format.HEAD.size)
    if buffer is not None:
        buffer = _fill_buffer(wire, buffer, wire_format.frame_length(buffer))
    if buffer is None:
        return None
    return wire_format.decode_frame(buffer, ExactArrays(call_back=call_back))


def _fill_buffer(wire: socket.socket, buffer: bytearray, length: int) -> bytearray | None:
    """Read until the buffer has this many bytes. The scorer sends nothing further before it has the answer."""
    while len(buffer) < length:
        if not wire_format.receive_into(wire, buffer, length):
            return None
    return buffer

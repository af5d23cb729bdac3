"""Callable for a candidate that runs in its own process. The scorer never runs the candidate."""

import base64
import json
import os
import resource
import shutil
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from operator import itemgetter
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from oragent.harness import candidate_loading, guest_main, native, wire_format
from oragent._base.errors import CandidateError, ProblemError
from oragent._base.protocol import FIRST_S, Status
from oragent._base.text_format import one_line
from oragent.harness.answers import is_same_answer
from oragent.harness.code_memory import CodeMemory
from oragent.harness.compiled_code import may_compile
from oragent.harness.compiling import CompilingProcess, make_example
from oragent.harness.exact_values import ExactArrays, SentFunctions
from oragent.harness.hardening import read_mark
from oragent.harness.kept_arrays import write_arrays
from oragent.harness.process import DirectForker, GuestProcess, RunGuest, Spare
from oragent.harness.program_streams import Exchange
from oragent.harness.racing import Race
from oragent.harness.solutions import SolutionAlbum
from oragent.harness.start_clock import StartClock
from oragent.harness.states import SampleOfCalls, State, StepProgress, sample_decisions
from oragent.sandbox.isolation import process_usage
from oragent.sandbox.isolation.guest import Confinement

DEFAULT_MEMORY_MB = 2048
# Wall seconds between two readings of a guest's CPU time. Each may need a message to the process that forked it.
UNCOUNTED_S = 0.05
# Wall seconds for the answer to a request that calls no function of the candidate.
ANSWER_S = 10.0
# Maximum number of characters of the reason why no array is kept.
MAX_REASON = 200
# Name under which the time of imports and compilation is listed, next to the sizes.
START = "imports and compilation"
# Number of steps of the first instance that are computed to compile the candidate.
EXAMPLE_STEPS = 2
# CPU seconds of imports and compilation from which they are reported.
MIN_START_S = 0.5
_tolerance = threading.local()
T = TypeVar("T")


@contextmanager
def tolerate_failures() -> Iterator[None]:
    """Let the evaluation go on if a guest fails here in this thread, such as an observer."""
    before = is_failure_tolerated()
    _tolerance.is_on = True
    try:
        yield
    finally:
        _tolerance.is_on = before


def is_failure_tolerated() -> bool:
    """Return True within ``tolerate_failures``."""
    return getattr(_tolerance, "is_on", False)


class Guest:
    """A candidate in a forked and confined process. Calling the guest calls its function.

    Create the guest before you read data, so that its memory does not contain them.

    Attributes:
        where: Current instance, such as ``size 50, instance 3``, for messages about failures.
        seconds: Wall seconds spent in calls.
        limit_s: Wall seconds that one call may take. None means the time of the evaluation.
        heuristic_s: CPU seconds of all calls except the first one of each guest. None means no limit.
        look: Function that is called during calls. An exception in it ends the call.
        race: The race, or None.
        instance_range: Indices of the instances to use, for each size. None means all.
        call_count: Number of calls of the candidate's functions.
        done_count: Number of instances that were measured.
        planned_count: Number of all instances. 0 means unknown.
        place_counts: Number of instances that were measured, by the beginning of ``where``, such as ``size 50``.
        step_progress: Progress of the running ``reveal``, or None.
        values: Value of each instance so far, by size. Empty if the scorer does not use ``each``.
        album: Solutions to draw. None means no pictures.
        sample: Sample of calls for the check. None means no check.
        settle: Function that receives an exception that ends the evaluation, even if the evaluator catches it.
        end_cause: Exception that has ended the evaluation, which every further call raises. None before that.
        last_answer: Answer of the last call.
        callbacks: Names of the evaluator's functions that `call_exactly` may pass to the candidate.
        trial: Names of all functions that were passed, in a trial of `call_exactly`, which passes any function and
            refuses a candidate that changes its arguments. None otherwise.
    """

    limit_s: float | None = None
    heuristic_s: float | None = None
    look: Callable[[], None] | None = None
    race: Race | None = None
    instance_range: range | None = None
    call_count: int = 0
    done_count: int = 0
    planned_count: int = 0
    step_progress: StepProgress | None = None
    values: Mapping[int, Sequence[float]] = MappingProxyType({})
    album: SolutionAlbum | None = None
    sample: SampleOfCalls | None = None
    settle: Callable[[Exception], None] | None = None
    end_cause: Exception | None = None
    last_answer: Any = None
    callbacks: Collection[str] = ()
    trial: set[str] | None = None

    def __init__(
        self,
        candidate: Path,
        function: str,
        *,
        fresh_processes: bool = False,
        functions: Sequence[str] = (),
        files: Sequence[str] = (),
        state: Callable[..., State] | None = None,
        forgets_project: bool = False,
        compiled: Path | None = None,
        compiles_apart: bool = False,
    ) -> None:
        """Fork the guest.

        Args:
            candidate: File that defines the function, in Python or in C++. C++ is compiled here.
            function: Name of the function that evolves.
            fresh_processes: Whether to also fork a process without data that forks further guests. ``renew`` and the
                check need it.
            functions: Names of further functions that evolve with it.
            files: Names of the candidate's further files.
            state: Class of the states that ``reveal`` creates in the candidate's process.
            forgets_project: Whether to remove the modules of the project, such as generators of instances, from the
                candidate's process.
            compiled: File of the candidate's machine code. The first call writes it if it does not exist.
            compiles_apart: Whether a process without data compiles the candidate before its first call, if there is no
                machine code yet. Its time does not count as the candidate's.

        Raises:
            CandidateError: ``rejected``, if a file is missing, is not UTF-8 text, or does not compile.
        """
        self.where = ""
        self.seconds = 0.0
        # Calls from threads are answered one after the other, and only in this process.
        self._lock, self._process_id = threading.RLock(), os.getpid()
        self._names = (function, *functions)
        self._state, self._forgets_project = state, forgets_project
        sources = candidate_loading.read_candidate(candidate, files)
        self._memory_mb = int(os.environ.get("ORAGENT_MEMORY_MB", DEFAULT_MEMORY_MB))
        memory_now = process_usage.read_memory("self")
        begun = _children_s()
        self._library = native.build_library(sources, self._names) if candidate.suffix in native.ENDINGS else None
        # CPU seconds of the compiler, which are part of the time of an evaluation.
        self.build_s = _children_s() - begun
        confinement = Confinement.make(self._memory_mb, memory_now.private, (self._library,) if self._library else ())
        self._born_with = memory_now.resident
        run_guest = partial(
            guest_main.run_guest,
            path=candidate,
            sources=sources,
            functions=self._names,
            library=self._library,
            hardening=read_mark(sources[candidate.name], function) if self._library else "",
            state=state,
            helpers=_helper_modules() if forgets_project else None,
            compiled=self._read_compiled(compiled) or (b"" if compiles_apart else None),
        )
        # The process that compiles, before the first call, and machine code that later processes do not have yet.
        self._compiler, self._new_code = None, b""
        if compiles_apart and not self._first_start_s and may_compile(sources):

            def run_compiler(memory: CodeMemory, clock: StartClock) -> RunGuest:
                return partial(run_guest, code_memory=memory, start_clock=clock)

            self._compiler = CompilingProcess(run_compiler, confinement, self._memory_mb, memory_now.resident)
        self._spare = Spare(run_guest, confinement) if fresh_processes else None
        # Shared with the first guest alone, so that no guest can leave anything for a later one there.
        self._start_clock: StartClock | None = StartClock()
        forker = DirectForker(partial(run_guest, start_clock=self._start_clock), confinement)
        self._main: GuestProcess | None = GuestProcess(forker, self._memory_mb, memory_now.resident)
        if confinement.rules >= 0:
            os.close(confinement.rules)
        self._log = self._main.log
        # True while `call_exactly` waits for an answer.
        self._is_calling = False
        # CPU seconds of ended processes of the check.
        self.check_s = 0.0
        # CPU seconds of ended guests.
        self._ended_s = 0.0
        # CPU seconds of calls, by size as named in failures, and of imports and compilation.
        self._counted: dict[str, float] = defaultdict(float)
        # CPU seconds of imports and compilation, also those that do not count.
        self.start_seconds = 0.0
        self.place_counts: dict[str, int] = defaultdict(int)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()
        if self._compiler is not None:
            self._compiler.close()
        if self._spare is not None:
            self._spare.close()
        if self._library is not None:
            shutil.rmtree(self._library.parent, ignore_errors=True)

    def of(self, name: str) -> Callable[..., Any]:
        """Return another function of the candidate as a callable.

        Raises:
            ValueError: The function was not named when the guest was created.
        """
        if name not in self._names:
            raise ValueError(f"{name!r} is not in the functions of harness.run: {', '.join(self._names)}")
        return lambda *args, **kwargs: self._call_function(name, args, kwargs)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the candidate's function on copies of the arguments.

        Returns:
            The return value as plain data and new arrays, which are not checked yet.

        Raises:
            CandidateError: The function raised an exception, died, ran out of memory or time, or returned a value that
                cannot be sent.
        """
        return self._call_function("", args, kwargs)

    def _call_function(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        request = wire_format.encode({"name": name, "args": args, "kwargs": kwargs})
        with self._lock:
            self._check_may_call()
            if self._compiler is not None:
                self._compile({"name": name, "args": make_example(args), "kwargs": make_example(kwargs)})
            self.call_count += 1
            answer = self.last_answer = self._ask_process(self._living_process(), request)
            if type(answer) is float and answer != answer:
                raise CandidateError(self._locate("returned nan; expected a number"))
            if self.sample is not None:
                self.sample.add(self.where, request, partial(is_same_answer, answer))
            return answer

    def call_exactly(
        self,
        name: str,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        files: tuple[Mapping[str, bytes], Sequence[str]] | None = None,
        exchange: Exchange | None = None,
    ) -> Any:
        """Call a function of the candidate for an evaluator that was written for a candidate in its own process.

        Values keep their types (`exact_values`). The candidate's global random generators are seeded once per process,
        and not at each call. Nothing is compiled in advance, and the check does not repeat the call.

        Args:
            name: Name of the function.
            args: Positional arguments.
            kwargs: Keyword arguments.
            files: Contents of files that it may read, by path, and paths of files that it may write. With them, the
                answer is the contents of the latter.
            exchange: Other side of its standard input and output. With it, the answer is the output that was not sent.

        Raises:
            FrameError: An argument cannot be sent, or the call comes from a callback of another one.
            CandidateError: As for a call.
        """
        functions = SentFunctions(self._may_call)
        content = {"name": name, "args": args, "kwargs": kwargs, "exact": True}
        if files is not None:
            content["files"] = files
        if exchange is not None:
            content["exchange"] = exchange
        if self.trial is not None:
            content["trial"] = True
        request = wire_format.encode(content, ExactArrays(functions))
        with self._lock:
            self._check_may_call()
            if self._is_calling:
                raise wire_format.FrameError("its arguments while the candidate calls a function of the task")
            self.call_count += 1
            self._is_calling = True
            try:
                answer = self.last_answer = self._ask_process(self._living_process(), request, functions=functions)
            finally:
                self._is_calling = False
            return answer

    def _may_call(self, name: str) -> bool:
        if self.trial is not None:
            self.trial.add(name)
        return self.trial is not None or name in self.callbacks

    def _check_may_call(self) -> None:
        """Refuse calls after the end of the evaluation, and calls from other processes, which would mix up answers."""
        if self.end_cause is not None:
            raise self.end_cause.with_traceback(None)
        if os.getpid() != self._process_id:
            raise ProblemError("the candidate answers only in the evaluator's own process: use threads for its calls")

    def reveal(
        self, starts: Sequence[tuple[Any, ...]], items: Sequence[Sequence[Any] | NDArray[Any]]
    ) -> list[list[Any]]:
        """Reveal the items of several instances one by one, and return the decisions of the candidate.

        All instances advance in step: message k contains item k of every instance, and the answer a decision for each.
        The candidate's process therefore never has an item that its function may not know yet. The calls of the
        instances alternate in one process.

        Args:
            starts: Arguments of ``state`` for each instance, which the candidate may know from the beginning.
            items: Items of each instance, as plain data. If nothing is hidden, they are None for each step.

        Returns:
            Decisions of each instance, one per item. Check the resulting solution, because the candidate's process can
            send any plain data.

        Raises:
            CandidateError: As for a call, or if a decision is missing.
        """
        if self._state is None:
            raise ValueError("reveal needs the class of the states: harness.run(..., state=...)")
        with self._lock:
            self._check_may_call()
            return self._reveal_items(self._state, starts, items)

    def _reveal_items(
        self,
        state: Callable[..., State],
        starts: Sequence[tuple[Any, ...]],
        items: Sequence[Sequence[Any] | NDArray[Any]],
    ) -> list[list[Any]]:
        process, place = self._living_process(), self.where
        revealed = [item.tolist() if isinstance(item, np.ndarray) else list(item) for item in items]
        decisions: list[list[Any]] = [[] for _ in revealed]
        self.step_progress = StepProgress(decisions, sum(map(len, revealed)))
        if self._compiler is not None:
            first_items = revealed[0][:EXAMPLE_STEPS] if revealed else []
            examples = [{"step": [[0], [make_example(item)]]} for item in first_items]
            self._compile({"begin": make_example(list(starts[:1]))}, *examples)
        self._ask_process(process, wire_format.encode({"begin": list(starts)}), is_call=False)
        for step in range(max(map(len, revealed), default=0)):
            going = [index for index, own in enumerate(revealed) if step < len(own)]
            self.where = f"{place}, step {step}" if place else f"step {step}"
            request = wire_format.encode({"step": [going, [revealed[index][step] for index in going]]})
            answer = self._ask_process(process, request)
            if not isinstance(answer, list) or len(answer) != len(going):
                raise CandidateError(self._locate("returned no decision for each instance"), Status.REJECTED)
            self.call_count += len(going)
            for index, decision in zip(going, answer, strict=True):
                decisions[index].append(decision)
        self.where, self.step_progress = place, None
        if self.sample is not None:
            sample_decisions(self.sample, place, state, starts, revealed, decisions)
        return decisions

    def run(self, function: Callable[..., Any], *args: Any) -> Any:
        """Run ``function(candidate, *args)`` in the candidate's process. The candidate may know all arguments.

        Args:
            function: Function at the top level of an imported module.
            args: Further arguments, which are copied.

        Returns:
            The result of the function. Check it, because the candidate can change it.

        Raises:
            ValueError: The guest was created with ``forgets_project``, which removes the function's module.
        """
        if self._forgets_project:
            raise ValueError("the candidate's process has no modules of the project: use reveal")
        request = {"run": [function.__module__, function.__qualname__], "args": args}
        with self._lock:
            self._check_may_call()
            encoded = wire_format.encode(request)
            if self._compiler is not None:
                self._compile({**request, "args": make_example(args)})
            return self._ask_process(self._living_process(), encoded)

    def show(self, instance: Any, solution: Any, value: float) -> None:
        """Offer a checked solution to the ``draw`` of ``harness.run``. This does nothing unless pictures are requested.

        Args:
            instance: First argument of ``draw``.
            solution: Second argument of ``draw``.
            value: Objective of the solution, shown with the picture.
        """
        if self.album is not None:
            self.album.add(self.where, instance, solution, value)

    def used(self, use: T) -> T:
        """Report what you made of the answers since the last use, such as ranks or chosen items, and return it.

        Programs with equal uses count as equal (setting ``twins``), also if their answers differ. The score must depend
        on the answers through their uses alone.

        Args:
            use: Plain data or an array.
        """
        if self.race is not None:
            with self._lock:
                self.race.hear_use(use)
        return use

    def renew(self) -> None:
        """Continue in a new process, so that the candidate remembers nothing of the calls before."""
        if self._spare is None:
            raise ValueError("renew needs harness.run(..., renew=True)")
        with self._lock:
            # A process without any call is as good as a new one.
            if self._main is None or self._main.first_s is not None:
                self.end()

    def _read_compiled(self, file: Path | None) -> bytes | None:
        """Read the machine code of an earlier run, and the CPU seconds of imports and compilation that it saves."""
        self._compiled_file, self._first_start_s = file, 0.0
        if file is None:
            return None
        try:
            seconds, _, content = file.read_text(encoding="ascii").partition("\n")
            first_start_s, machine_code = float(seconds), base64.b64decode(content, validate=True)
        except (OSError, ValueError):
            # No run has written it yet, or it is damaged: this run compiles, and writes it.
            return b""
        self._compiled_file, self._first_start_s = None, first_start_s
        return machine_code

    def _compile(self, *requests: Mapping[str, Any]) -> None:
        """Compile in a process without data before the first call, and keep the machine code for later runs.

        The file begins with the CPU seconds of imports and compilation.
        """
        compiler, self._compiler = self._compiler, None
        if compiler is None:
            return
        with tolerate_failures():
            self._new_code = compiler.compile(requests, self.look or (lambda: None))
        self.build_s += compiler.cpu_s
        if self._new_code:
            self._first_start_s = round(compiler.start_s, 6)
            if self._compiled_file is not None:
                text = base64.b64encode(self._new_code).decode()
                self._compiled_file.write_text(f"{self._first_start_s:.6f}\n{text}", encoding="ascii")
            self._send_code(self._living_process())

    def _send_code(self, process: GuestProcess) -> None:
        if self._new_code:
            request = wire_format.encode({"compiled": np.frombuffer(self._new_code, np.uint8)})
            with suppress(CandidateError), tolerate_failures():
                process.ask(request, ANSWER_S, lambda: None, is_call=False)

    def keep_arrays(self, file: Path) -> None:
        """Write the arrays that the candidate keeps into a file, as JSON (`write_arrays`).

        After ``renew``, these are the arrays of the last process.
        """
        process = self._main
        if process is None:
            return
        try:
            kept = process.ask(wire_format.encode({"kept": True}), ANSWER_S, lambda: None, is_call=False)
            file.write_text(write_arrays(kept), encoding="ascii")
        except CandidateError as problem:
            file.write_text(json.dumps({"problem": one_line(str(problem), MAX_REASON)}), encoding="ascii")

    def end(self) -> None:
        """End the running guest, if there is one."""
        if self._main is not None:
            self._main.close()
            self._count_cpu(self._main)
            self._ended_s += self._main.cpu_s
            self._main = self._start_clock = None

    def make_fresh_process(self) -> GuestProcess:
        """Create a process with the candidate that has not answered any call."""
        if self._spare is None:
            raise ValueError("this guest was made without fresh_processes=True")
        process = GuestProcess(self._spare, self._memory_mb, self._born_with)
        self._send_code(process)
        return process

    def end_fresh_process(self, process: GuestProcess) -> None:
        """End a process of ``make_fresh_process``, and count its CPU time."""
        process.close()
        self.check_s += process.cpu_s

    def ask_fresh_process(self, process: GuestProcess, request: bytes) -> Any:
        """Send a request to a process of ``make_fresh_process``. Its time does not count as the heuristic's.

        Raises:
            CandidateError: As for a call.
        """
        try:
            return process.ask(request, self.limit_s, self.look or (lambda: None))
        except CandidateError as problem:
            raise CandidateError(self._locate(str(problem)), problem.status, problem.traceback) from None

    @property
    def log(self) -> str:
        """Head and tail of the candidate's output."""
        return self._log.text()

    @property
    def cpu_s(self) -> float:
        """CPU seconds of all guests that received calls."""
        return self._ended_s + (self._main.cpu_s if self._main is not None else 0.0)

    @property
    def heuristic_seconds(self) -> float:
        """CPU seconds of all calls, without up to ``FIRST_S`` of the first call of each guest.

        A guest that has answered one call counts its imports and compilation itself, so that only these are left out.
        """
        return sum(self._all_counted().values()) + self._single_call_s

    @property
    def place_seconds(self) -> dict[str, float]:
        """CPU seconds of all calls by the beginning of ``where``, such as ``size 50``, without compilation."""
        counted, single_s = dict(self._all_counted()), self._single_call_s
        if single_s and self._main is not None and self._main.first_size is not None:
            counted[self._main.first_size] += single_s
        return {size: spent for size, spent in counted.items() if size and size != START}

    @property
    def uncounted_s(self) -> float:
        """CPU seconds of the first of several calls that are not counted, without imports and compilation.

        The second call says how long a call is.
        """
        process = self._main
        if process is None or process.first_s is None or process.second_s is None:
            return 0.0
        call_s = min(max(process.second_s - process.first_s, 0.0), process.first_s)
        return min(max(FIRST_S - (process.first_s - call_s), 0.0), call_s)

    @property
    def _single_call_s(self) -> float:
        """CPU seconds of the only call of the guest that are not counted, without imports and compilation."""
        process = self._main
        if self._start_clock is None or process is None or process.free_s is None or process.second_s is not None:
            return 0.0
        start_s, _ = self._start_clock.measure(process.cpu_s)
        return max(process.free_s - start_s, 0.0)

    def _all_counted(self) -> dict[str, float]:
        if self._main is not None:
            self._count_cpu(self._main)
        return self._counted

    @property
    def progress(self) -> str:
        """Progress of the evaluation, beginning with a semicolon; empty if unknown."""
        if not self.planned_count:
            return ""
        progress = f"; {self.done_count} of {self.planned_count} instances were done"
        if self.step_progress is None:
            return progress
        steps = self.step_progress
        return f"{progress}, and {steps.decisions} of {steps.planned} decisions of the next {steps.instances}"

    def _living_process(self) -> GuestProcess:
        if self._main is None:
            self._main = self.make_fresh_process()
            self._main.log = self._log
        return self._main

    def _ask_process(
        self, process: GuestProcess, request: bytes, *, is_call: bool = True, functions: SentFunctions | None = None
    ) -> Any:
        begun = time.perf_counter()
        try:
            if process.size != (size := self.where.partition(",")[0]):
                self._count_cpu(process)
                process.size = size
            watch = partial(self._watch_call, process)
            answer = process.ask(request, self.limit_s, watch, is_call=is_call, functions=functions)
            if process.free_s is None or time.perf_counter() - process.counted_at > self._patience_s:
                self._count_cpu(process)
                self._check_heuristic_s(0.0)
            if is_call and self.race is not None:
                self.race.hear_answer(answer)
            return answer
        except CandidateError as problem:
            raise CandidateError(self._locate(str(problem)), problem.status, problem.traceback) from None
        finally:
            self.seconds += time.perf_counter() - begun

    @property
    def whole_start_s(self) -> float:
        """CPU seconds of imports and compilation, also in the process that compiled the machine code."""
        return max(self.start_seconds, self._first_start_s)

    @property
    def _patience_s(self) -> float:
        """Return the seconds between two readings of a guest's CPU time.

        Each may need a message to the process that forked it.
        """
        if self.heuristic_s is None:
            return UNCOUNTED_S
        return min(UNCOUNTED_S, self.heuristic_s / 100)

    def _count_cpu(self, process: GuestProcess) -> None:
        """Add the CPU time since the last reading to the size of these calls."""
        if process.first_s is None:
            return
        now = process.cpu_s
        spent, process.counted_s, process.counted_at = now - process.counted_s, now, time.perf_counter()
        if process.free_s is None:
            process.free_s = min(process.first_s, FIRST_S)
            process.first_size = process.size
            spent -= process.free_s
        self._counted[process.size] += max(spent, 0.0)
        if process.first_size is not None and process.second_s is not None:
            self._split_first_call(process, process.first_s, process.free_s, process.second_s)

    def _split_first_call(self, process: GuestProcess, first_s: float, free_s: float, second_s: float) -> None:
        """Count the part of the first call that exceeds the second one as compilation instead of time of its size."""
        call_s = min(max(second_s - first_s, 0.0), first_s)
        self.start_seconds += first_s - call_s
        size, process.first_size = process.first_size or "", None
        moved = min(max(first_s - call_s - free_s, 0.0), self._counted[size])
        if moved > 0:
            self._counted[size] -= moved
            self._counted[START] += moved

    def _watch_call(self, process: GuestProcess) -> None:
        if self.look is not None:
            self.look()
        if self.heuristic_s is not None:
            self._check_heuristic_s(process.cpu_s - process.counted_s - (FIRST_S if process.free_s is None else 0.0))

    def _check_heuristic_s(self, running: float) -> None:
        spent = sum(self._counted.values()) + max(running, 0.0)
        if self.heuristic_s is None or spent <= self.heuristic_s:
            return
        start = self._describe_start()
        # Its end has no further cost.
        if self._main is not None and self._main.first_s is None:
            self._counted[self._main.size] += max(running, 0.0)
        self.end()
        size, largest = max(self._counted.items(), key=itemgetter(1))
        place = start or (f", {'all' if largest >= spent else 'most'} of it at {size}" if size else "")
        message = f"your function took more than {self.heuristic_s:g} s of CPU time{place}{self.progress}"
        raise CandidateError(message, Status.TIMEOUT)

    def _describe_start(self) -> str:
        """Describe the imports and the compilation of a guest that did not end a second call; empty if they are short.

        Their seconds cannot be told from those of the first call by other means.
        """
        process = self._main
        if self._start_clock is None or process is None or process.second_s is not None:
            return ""
        start_s, goes_on = self._start_clock.measure(process.cpu_s)
        if start_s < MIN_START_S:
            return ""
        text = f", and {FIRST_S:g} s that do not count, "
        if goes_on:
            return f"{text}in which imports and compilation did not end: let it compile less code"
        return f"{text}of which imports and compilation took about {start_s:.1g} s"

    def _locate(self, message: str) -> str:
        if self.where:
            return f"{message} ({self.where})"
        return message


def _children_s() -> float:
    """Return the CPU seconds of ended child processes."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _helper_modules() -> frozenset[str]:
    """Return the names of imported modules in the evaluator's folder, which is hidden from the guest."""
    with suppress(OSError):
        names = os.listdir(os.path.dirname(os.path.realpath(sys.argv[0])))
        return frozenset(name.partition(".")[0] for name in names) & sys.modules.keys()
    return frozenset()

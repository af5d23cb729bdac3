"""Callable for a candidate that runs in its own process; the scorer never runs it."""

import os
import shutil
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from operator import itemgetter
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self, TypeVar

from oragent.harness import candidate_loading, frames, guest_main, native
from oragent._base.errors import CandidateError, ProblemError
from oragent._base.protocol import FIRST_S, Status
from oragent.harness.claims import CallSample, LoopClaim, Race, Replay, SolutionAlbum
from oragent.harness.process import DirectForker, GuestProcess, Spare
from oragent.sandbox.isolation import process_usage
from oragent.sandbox.isolation.guest import Cage

DEFAULT_MEMORY_MB = 2048
# between two looks at what a guest used: each may cost a question to who forked it
UNCOUNTED_S = 0.05


class Guest:
    """A candidate in a forked and confined process; a call of the guest calls its function.

    Make the guest before you read data, so that its memory does not contain them.

    Attributes:
        where: Instance at hand, such as ``size 50, instance 3``, for messages of failures.
        seconds: Wall seconds spent in calls.
        limit_s: Wall seconds that one call may take; None: the time of the evaluation.
        heuristic_s: CPU seconds of all calls without the first of each guest; None: no limit.
        look: Callback during calls; an exception in it ends the call.
        race: The race; None: no race.
        instance_range: Indices of the instances to use, for each size; None: all.
        call_count: Calls by the scorer, without those of loops.
        done_count: Instances that were measured.
        planned_count: Instances in all; 0: unknown.
        values: Value of each instance so far, by size; empty if the scorer does not use ``each``.
        album: Solutions to draw; None: no pictures.
        compiles: True if the candidate may compile functions with numba at its first call.
    """

    limit_s: float | None = None
    heuristic_s: float | None = None
    look: Callable[[], None] | None = None
    race: Race | None = None
    instance_range: range | None = None
    call_count: int = 0
    done_count: int = 0
    planned_count: int = 0
    values: Mapping[int, Sequence[float]] = MappingProxyType({})
    album: SolutionAlbum | None = None

    def __init__(
        self,
        candidate: Path,
        function: str,
        *,
        spare: bool = False,
        functions: Sequence[str] = (),
        files: Sequence[str] = (),
    ) -> None:
        """Fork the guest.

        Args:
            candidate: File that defines the function, in Python, or in C++, which is compiled here.
            function: Name of the function that evolves.
            spare: Whether to fork a process, too, that knows nothing and makes further guests: ``renew``, ``claim`` and
                audits need it.
            functions: Names of further functions that evolve with it.
            files: Names of the candidate's further files.

        Raises:
            CandidateError: ``rejected``, if a file is no UTF-8 text, is missing, or does not compile.
        """
        self.where = ""
        self.seconds = 0.0
        self._names = (function, *functions)
        sources = candidate_loading.read_candidate(candidate, files)
        self._memory_mb = int(os.environ.get("ORAGENT_MEMORY_MB", DEFAULT_MEMORY_MB))
        memory_now = process_usage.read_memory("self")
        self._library = native.build_library(sources, self._names) if candidate.suffix in native.ENDINGS else None
        cage = Cage.make(self._memory_mb, memory_now.private, (self._library,) if self._library else ())
        self._born_with = memory_now.resident
        live = partial(
            guest_main.run_guest, path=candidate, sources=sources, functions=self._names, library=self._library
        )
        self.compiles = self._library is None and candidate_loading.uses_numba(sources)
        prepare = candidate_loading.enable_sharing if self.compiles else (lambda: None)
        self._spare = Spare(live, cage, prepare) if spare else None
        self._main: GuestProcess | None = GuestProcess(DirectForker(live, cage), self._memory_mb, memory_now.resident)
        if cage.rules >= 0:
            os.close(cage.rules)
        self._log = self._main.log
        # CPU seconds of other guests that have ended
        self._others_s = 0.0
        # CPU seconds of guests that have ended
        self._ended_s = 0.0
        # CPU seconds of calls, by what failures call a size
        self._counted: dict[str, float] = defaultdict(float)
        self.claims: list[LoopClaim] = []
        self.calls: CallSample | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()
        if self._spare is not None:
            self._spare.close()
        if self._library is not None:
            shutil.rmtree(self._library.parent, ignore_errors=True)

    def of(self, name: str) -> Callable[..., Any]:
        """Return another function of the candidate as a callable.

        Raises:
            ValueError: It was not named when the guest was made.
        """
        if name not in self._names:
            raise ValueError(f"{name!r} is none of the functions {', '.join(self._names)} that harness.run was told")
        return lambda *args, **kwargs: self._call_function(name, args, kwargs)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the candidate's function on copies of the arguments.

        Returns:
            What it returned, as plain data and fresh arrays; nothing about it is checked yet.

        Raises:
            CandidateError: if it raised, died, ran out of memory or time, or returned what cannot travel.
        """
        return self._call_function("", args, kwargs)

    def _call_function(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        request = frames.encode({"loop": None, "name": name, "args": args, "kwargs": kwargs})
        self.call_count += 1
        answer = self._ask_process(self._living_process(), request)
        if self.calls is not None:
            self.calls.add(self.where, request, answer)
        return answer

    def run(self, loop: Callable[..., Any], *args: Any) -> Any:
        """Run ``loop(function, *args)`` in the candidate's process, for many calls.

        If several functions evolve, ``function.of(name)`` returns the others.

        Args:
            loop: Module-level function of ours, imported before the fork.
            args: Its other arguments, which are copied.

        Returns:
            The value of the loop. The candidate can change it: check it, and call ``claim``.
        """
        request = {"loop": [loop.__module__, loop.__qualname__], "name": "", "args": args, "kwargs": {}}
        return self._ask_process(self._living_process(), frames.encode(request))

    def claim(self, count: int, replay: Replay, checked: int = 20) -> None:
        """Register how fresh guests can repeat the decisions of a loop.

        They do so after ``evaluate`` returned and this guest ended: some decisions, more in an audit.

        Args:
            count: Number of decisions.
            replay: ``replay(witness, steps)`` asks the witness, which is called like the candidate's function, for the
                decisions of these ascending steps, and raises ``rejected`` at a difference.
            checked: Number of random decisions that every evaluation repeats.
        """
        if self._spare is None:
            raise ValueError("this guest was made without a spare: harness.run(..., spare=True)")
        self.claims.append(LoopClaim(self.where, count, replay, checked))

    def show(self, instance: Any, solution: Any, value: float) -> None:
        """Offer a checked solution to the ``draw`` of ``harness.run``; does nothing unless pictures are requested.

        Args:
            instance: First argument of ``draw``.
            solution: Second argument of ``draw``.
            value: Objective of the solution, shown with the picture.
        """
        if self.album is not None:
            self.album.add(self.where, instance, solution, value)

    def renew(self) -> None:
        """Continue with a new guest, so that the candidate remembers no earlier call."""
        if self._spare is None:
            raise ValueError("this guest was made without a spare: harness.run(..., spare=True)")
        # one that was never asked is as good as new
        if self._main is None or self._main.first_s is not None:
            self.end()

    def end(self) -> None:
        """End the guest that is alive, if one is."""
        if self._main is not None:
            self._main.close()
            self._count_cpu(self._main)
            self._ended_s += self._main.cpu_s
            self._main = None

    def make_stranger(self) -> GuestProcess:
        """Make a guest that knows nothing but what it is asked."""
        if self._spare is None:
            raise ValueError("this guest was made without a spare: harness.run(..., spare=True)")
        return GuestProcess(self._spare, self._memory_mb, self._born_with)

    def end_other(self, process: GuestProcess) -> None:
        """End a guest that ``make_stranger`` made, and count its CPU time."""
        process.close()
        self._others_s += process.cpu_s

    @property
    def checking_s(self) -> float:
        """CPU seconds of this process, of ended strangers, and of the process that forks them."""
        return time.process_time() + self._others_s + (self._spare.own_cpu_s if self._spare is not None else 0.0)

    def ask_other(self, process: GuestProcess, request: bytes) -> Any:
        """Ask another guest than one's own, without any count of its time.

        Raises:
            CandidateError: as a call does.
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
        """CPU seconds of all guests that calls went to."""
        return self._ended_s + (self._main.cpu_s if self._main is not None else 0.0)

    @property
    def heuristic_seconds(self) -> float:
        """CPU seconds of all calls, without up to ``FIRST_S`` of each guest's first one."""
        return sum(self._all_counted().values())

    @property
    def place_seconds(self) -> dict[str, float]:
        """CPU seconds of all calls by what ``where`` begins with, such as ``size 50``."""
        return {size: spent for size, spent in self._all_counted().items() if size}

    def _all_counted(self) -> dict[str, float]:
        if self._main is not None:
            self._count_cpu(self._main)
        return self._counted

    @property
    def progress(self) -> str:
        """Progress of the evaluation, after a semicolon; empty if unknown."""
        if self.planned_count:
            return f"; {self.done_count} of {self.planned_count} instances were done"
        return ""

    def _living_process(self) -> GuestProcess:
        if self._main is None:
            self._main = self.make_stranger()
            self._main.log = self._log
        return self._main

    def _ask_process(self, process: GuestProcess, request: bytes) -> Any:
        begun = time.perf_counter()
        try:
            if process.size != (size := self.where.partition(",")[0]):
                self._count_cpu(process)
                process.size = size
            answer = process.ask(request, self.limit_s, partial(self._watch_call, process))
            if process.free_s is None or time.perf_counter() - process.counted_at > self._patience_s:
                self._count_cpu(process)
                self._check_heuristic_s(0.0)
            if self.race is not None:
                self.race.hear_answer(answer)
            return answer
        except CandidateError as problem:
            raise CandidateError(self._locate(str(problem)), problem.status, problem.traceback) from None
        finally:
            self.seconds += time.perf_counter() - begun

    @property
    def _patience_s(self) -> float:
        """Seconds after which what a guest used is counted again: who forked it has to be asked."""
        if self.heuristic_s is None:
            return UNCOUNTED_S
        return min(UNCOUNTED_S, self.heuristic_s / 100)

    def _count_cpu(self, process: GuestProcess) -> None:
        """Count what calls took since the last time, where they were made."""
        if process.first_s is None:
            return
        now = process.cpu_s
        spent, process.counted_s, process.counted_at = now - process.counted_s, now, time.perf_counter()
        if process.free_s is None:
            process.free_s = min(process.first_s, FIRST_S)
            spent -= process.free_s
        self._counted[process.size] += max(spent, 0.0)

    def _watch_call(self, process: GuestProcess) -> None:
        if self.look is not None:
            self.look()
        if self.heuristic_s is not None:
            self._check_heuristic_s(process.cpu_s - process.counted_s - (FIRST_S if process.free_s is None else 0.0))

    def _check_heuristic_s(self, running: float) -> None:
        spent = sum(self._counted.values()) + max(running, 0.0)
        if self.heuristic_s is None or spent <= self.heuristic_s:
            return
        # its end counts nothing
        if self._main is not None and self._main.first_s is None:
            self._counted[self._main.size] += max(running, 0.0)
        self.end()
        size, largest = max(self._counted.items(), key=itemgetter(1))
        place = f", {'all' if largest >= spent else 'most'} of it at {size}" if size else ""
        message = f"your function took {spent:.3g} s of {self.heuristic_s:g} s of CPU time{place}{self.progress}"
        raise CandidateError(message, Status.TIMEOUT)

    def _locate(self, message: str) -> str:
        if self.where:
            return f"{message} ({self.where})"
        return message


T = TypeVar("T")


def each(
    guest: Guest, instances: Mapping[int, Sequence[T]], values: Mapping[int, list[float]]
) -> Iterator[tuple[int, int, T]]:
    """Iterate over the instances of all sizes, and name each in messages of failures.

    With ``--instances`` only those are used. In a race, sizes alternate in blocks, and values are compared after each
    block, so the last blocks may not be reached.

    Args:
        guest: The candidate.
        instances: Instances by size.
        values: Lists by size, to which the loop appends the value of each instance. The score must be the mean over
            sizes of the mean over instances.

    Yields:
        Size, index among the instances of that size, and the instance.

    Raises:
        ValueError: No value was appended for an instance.
        ProblemError: A size has none of the requested instances.
    """
    first = guest.instance_range.start if guest.instance_range is not None else 0
    at = {str(size): 0 for size in instances}
    planned = {str(size): _end_index(guest, size, of_size) - first for size, of_size in instances.items()}
    guest.done_count, guest.planned_count = 0, sum(planned.values())
    guest.values = values
    race = guest.race
    for step in [planned] if race is None else race.begin_race(planned):
        for size, of_size in instances.items():
            for index in range(at[str(size)], step[str(size)]):
                guest.where = f"size {size}, instance {first + index}"
                if race is not None:
                    race.attend_instance(index)
                yield size, first + index, of_size[first + index]
                guest.done_count += 1
                if race is not None and values[size]:
                    print(f"{guest.where}: {values[size][-1]:.6g}", flush=True)
        at = step
        if race is not None:
            race.check_standing(values, step)


def _end_index(guest: Guest, size: int, of_size: Sequence[T]) -> int:
    if guest.instance_range is None:
        return len(of_size)
    if guest.instance_range.start >= len(of_size):
        raise ProblemError(f"size {size} has no instance {guest.instance_range.start}: it has {len(of_size)}, from 0")
    return min(len(of_size), guest.instance_range.stop)

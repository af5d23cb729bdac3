"""Compilation of a candidate in a process without data, apart from the time limit of its function.

In experiments, runs of one program with several values of a number share its machine code. A process with data could
hide in the code what it has learned, so that later values get better scores. The code therefore comes from a process
that is forked before the evaluator reads data, and that receives a call with the types and shapes of the first one but
other content.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from oragent.harness import wire_format
from oragent._base.errors import CandidateError
from oragent._base.protocol import COMPILE_S
from oragent.harness.code_memory import CodeMemory
from oragent.harness.process import DirectForker, GuestProcess, RunGuest
from oragent.harness.start_clock import StartClock
from oragent.sandbox.isolation.guest import Confinement

# CPU seconds without compilation after which the call is ended.
MAX_IDLE_S = 1.0
# Wall seconds of one request.
MAX_WALL_S = 300.0


class _CompiledEnough(Exception):
    """The call computes, but compiles nothing more."""


class CompilingProcess:
    """Process without data that compiles the functions of a candidate. Create it before data are read.

    Args:
        run_guest: Function of the process; it takes the memory for the code and a clock by name.
        confinement: Settings of its confinement.
        memory_mb: Maximum private memory in MiB.
        born_with: Resident memory of this process in bytes.
    """

    def __init__(
        self,
        run_guest: Callable[[CodeMemory, StartClock], RunGuest],
        confinement: Confinement,
        memory_mb: int,
        born_with: int,
    ) -> None:
        self._memory, self._clock = CodeMemory(), StartClock()
        forker = DirectForker(run_guest(self._memory, self._clock), confinement)
        self._process = GuestProcess(forker, memory_mb, born_with)

    def compile(self, requests: Sequence[Mapping[str, Any]], look: Callable[[], None]) -> bytes:
        """Compile what some requests need, and end the process.

        Args:
            requests: Requests whose values are replaced by examples of the same types.
            look: Function that is called meanwhile. An exception in it ends the compilation.

        Returns:
            The machine code; empty if nothing was compiled.
        """
        process, last_start_s, since_s = self._process, -1.0, 0.0

        def watch() -> None:
            nonlocal last_start_s, since_s
            look()
            cpu_s = process.cpu_s
            start_s, goes_on = self._clock.measure(cpu_s)
            if goes_on or start_s != last_start_s:
                last_start_s, since_s = start_s, cpu_s
            if cpu_s - since_s > MAX_IDLE_S or cpu_s > COMPILE_S:
                raise _CompiledEnough

        try:
            # A call of such values may fail. What it compiled before that is of use.
            with suppress(CandidateError, _CompiledEnough):
                for request in requests:
                    process.ask(wire_format.encode(request), MAX_WALL_S, watch, is_call=False)
        finally:
            process.close()
        return self._memory.read()

    def close(self) -> None:
        """End the process."""
        self._process.close()

    @property
    def cpu_s(self) -> float:
        """CPU seconds of the process."""
        return self._process.cpu_s

    @property
    def start_s(self) -> float:
        """CPU seconds of its imports and compilation."""
        return self._clock.measure(self.cpu_s)[0]


def make_example(value: Any) -> Any:
    """Return a value of the same type and shape that depends on nothing else, so that it carries no data.

    Positive numbers and indices in range let most functions come to an end.
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool | int | float | complex | str):
        return type(value)(1) if not isinstance(value, str) else ""
    if isinstance(value, np.ndarray):
        return _make_array(value.shape, value.dtype)
    if isinstance(value, list) and all(type(item) is int for item in value):
        return [*range(len(value))]
    if isinstance(value, set | frozenset):
        return {*range(len(value))} if all(type(item) is int for item in value) else {*map(make_example, value)}
    if isinstance(value, list | tuple):
        examples = map(make_example, value)
        return [*examples] if isinstance(value, list) else (*examples,)
    if isinstance(value, dict):
        keys = (key if isinstance(key, str) else number for number, key in enumerate(value))
        return dict(zip(keys, map(make_example, value.values()), strict=True))
    if type(value).__module__ == "torch":
        return value.new_ones(value.shape)
    return value


def _make_array(shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    size = int(np.prod(shape))
    if dtype.kind in "iu":
        numbers: np.ndarray[Any, Any] = np.arange(size) % (shape[0] if shape else 2)
    elif dtype.kind == "b":
        numbers = np.ones(size)
    else:
        numbers = np.random.default_rng(0).random(size) + 0.5
    return numbers.reshape(shape).astype(dtype)

"""Hooks: events of an evaluator, passed to an observer's code, which may print about them.

An evaluator calls ``hook("step", ...)`` where something happens, with plain data. Nobody is told, and the call does
nothing, unless it was begun with ``--observer FILE``, which goes with ``--mode=train`` alone: where a score counts
there is no hook. The file defines ``observe(hook, data)`` and lives in a guest of its own, as a candidate does: it is
forked before any data is read, gets copies across the wire, and its answer is thrown away. So it can tell neither the
scorer nor the candidate anything; it may print, and what it printed stands at the end of the log.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from oragent._base.errors import CandidateError
from oragent._base.plain import shorten_middle
from oragent.harness.guest import Guest

OBSERVE = "observe"  # function that an observer defines
END = "end"  # hook that is called once more when all is over
CALL_S, ALL_S = 60.0, 30.0  # wall seconds of one call, and CPU seconds of all, that an observer may take
PRINTED, TRACE = 3000, 600  # characters that are told of what it printed, and of where it failed


class _Observer:
    """Whoever watches this evaluation; what it does wrong ends the watching and nothing else."""

    def __init__(self, guest: Guest, hooks: Sequence[str]) -> None:
        self._guest, self._hooks = guest, hooks
        self._guest.limit_s, self._guest.heuristic_s = CALL_S, ALL_S
        self._problem = ""

    def notify(self, name: str, data: dict[str, Any]) -> None:
        if name not in self._hooks and name != END:
            raise ValueError(f"hook {name!r} is none of those that harness.run was told: {', '.join(self._hooks)}")
        if self._problem:
            return
        try:
            self._guest(name, data)
        except CandidateError as problem:
            trace = f"\n{problem.traceback.strip()[-TRACE:]}" if problem.traceback else ""
            self._problem = f"\nthe observer ended at hook {name!r}: {problem}{trace}"

    @property
    def printed_text(self) -> str:
        """Head and tail of what it printed, and how it ended if it ended early."""
        text = shorten_middle(self._guest.log.strip(), PRINTED // 2, PRINTED // 2)
        return f"What the observer printed:\n{text or '(nothing)'}{self._problem}\n"


_observer: _Observer | None = None  # of this process, which is that of one evaluation


def hook(name: str, **data: Any) -> None:
    """Report an event to the observer; does nothing without one, as in all scoring.

    Args:
        name: One of the ``hooks`` of ``harness.run``.
        data: Numbers, texts, lists, dicts and arrays, which are copied.

    Raises:
        ValueError: The name is unknown, or the data is not plain.
    """
    if _observer is not None:
        _observer.notify(name, data)


def watching(name: str, **data: Any) -> Callable[..., None] | None:
    """Return ``hook`` with some arguments set, for a solver to call; None without an observer."""
    return None if _observer is None else partial(hook, name, **data)


@contextmanager
def start_observer(file: Path | None, hooks: Sequence[str]) -> Iterator[Callable[[], str]]:
    """Let the code of a file watch; begun before data is read.

    Yields:
        What says in the end what it printed; empty where nobody watched.
    """
    global _observer
    if file is None:
        yield lambda: ""
        return
    with Guest(file, OBSERVE) as guest:
        observer = _observer = _Observer(guest, hooks)

        def finish() -> str:
            observer.notify(END, {})
            guest.end()
            return observer.printed_text

        try:
            yield finish
        finally:
            _observer = None

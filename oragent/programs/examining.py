"""The child that reads what strangers wrote: ``examiner`` starts it, and puts one request after the other to it.

It has nothing: no file but Python's own, no network, an emptied environment, bounded memory, and for each request a
timer of the kernel's that ends it. What it answers is data, which ``examiner`` checks: a text that gets the better of
Python's parser has won this process, and whatever it says.
"""

import json
import os
import resource
import signal
import struct
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from oragent._base.errors import CandidateError, ReplyError
from oragent.programs import assembly, edits, likeness, looking, nearness, pulling, regions, syntax
from oragent.sandbox.isolation import credentials, kernel, landlock, seccomp
from oragent.sandbox.isolation.guest import DEVICES, surrender
from oragent.sandbox.isolation.means import Means, allowed

CPU_S = 2.0  # a request's; a usual program takes a thousandth of that
MEMORY_MB = 512
WORN_MB = 256  # a process that still holds so much after a request makes room for a fresh one
HEAD = struct.Struct("<Q")  # length of what follows


def _inspect(source: str, wanted: dict[str, Any]) -> dict[str, Any]:
    found = looking.look(source, _signature(**wanted))
    return {"problem": found.problem, "length": found.length, "canonical": found.canonical}


def _signature(
    function: str, parameters: list[str], text: str, others: list[dict[str, Any]], language: str, files: list[str]
) -> syntax.Signature:
    more = tuple(_signature(**one) for one in others)
    return syntax.Signature(function, tuple(parameters), text, more, language, tuple(files))


def _spread(source: str, frame: list[str]) -> dict[str, Any]:
    try:
        return {"blocks": regions.spread(source, frame)}
    except CandidateError as problem:
        return {"problem": str(problem)}


def _vet(source: str) -> dict[str, Any]:
    problem, length = looking.vet(source)
    return {"problem": problem, "length": length}


def _layout(source: str) -> dict[str, Any]:
    return {"text": looking.laid_out(source)}


def _expression(text: str) -> dict[str, Any]:
    return {"problem": looking.expression_problem(text)}


def _code(
    text: str, function: str, parent: str | None, wanted: dict[str, Any] | None = None, look: bool = False
) -> dict[str, Any]:
    try:
        source = pulling.pull_code(text, function, parent, _signature(**wanted) if wanted else None)
    except ReplyError as problem:
        return {"problem": str(problem)}
    found: dict[str, Any] = {"source": source}
    if wanted is not None and look:
        with suppress(MemoryError, RecursionError):  # who wants to look at the program is told so then
            found["inspected"] = _inspect(source, wanted)
    return found


def _edits(text: str, parent: str) -> dict[str, Any]:
    try:
        return {"source": edits.apply_edits(text, parent)}
    except ReplyError as problem:
        return {"problem": str(problem)}


def _json(text: str) -> dict[str, Any]:
    try:
        return {"value": json.dumps(pulling.pull_json(text))}
    except ReplyError as problem:
        return {"problem": str(problem)}
    except RecursionError:
        return {"problem": "the JSON in the reply is nested too deeply"}


def _nearest(tokens: list[str], known: list[list[str]], threshold: float) -> dict[str, Any]:
    return {"place": nearness.nearest(tokens, known, threshold)}


def _likeness(first: str, second: str) -> dict[str, Any]:
    return {"share": likeness.likeness(first, second)}


REQUESTS: Mapping[str, Callable[..., dict[str, Any]]] = {
    "inspect": _inspect,
    "vet": _vet,
    "layout": _layout,
    "expression": _expression,
    "code": _code,
    "edits": _edits,
    "json": _json,
    "likeness": _likeness,
    "nearest": _nearest,
    "spread": _spread,
}


def main() -> None:
    """Answer requests on standard input until there are none, or until this process is worn out."""
    resident = _Resident()
    out = os.fdopen(os.dup(1), "wb")
    confine()
    _send(out, {"ready": True})
    while head := sys.stdin.buffer.read(HEAD.size):
        request = json.loads(sys.stdin.buffer.read(HEAD.unpack(head)[0]))
        answer = _answer(request["kind"], request["fields"])
        worn = "trouble" in answer or resident.mb() > WORN_MB
        _send(out, {**answer, "last": worn})
        if worn:
            return


class _Resident:
    """The memory of this process; opened before it may open nothing more."""

    def __init__(self) -> None:
        path = "/proc/self/statm"
        self._file = os.open(path, os.O_RDONLY) if os.path.exists(path) else None

    def mb(self) -> int:
        """What is resident, MiB; 0 where the system does not say."""
        if self._file is None:
            return 0
        return int(os.pread(self._file, 200, 0).split()[1]) * resource.getpagesize() >> 20


def _answer(kind: str, fields: dict[str, Any]) -> dict[str, Any]:
    signal.setitimer(signal.ITIMER_PROF, CPU_S)  # nobody handles its signal, so that it ends also what never looks up
    try:
        return {"answer": REQUESTS[kind](**fields)}
    except MemoryError:
        return {"trouble": "memory"}
    except RecursionError:
        return {"trouble": "depth"}
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        for known in (assembly.parsed, syntax.check, syntax._canonical, syntax.length, syntax.outline):
            known.cache_clear()  # of a text that was dear nothing may stay


def _send(out: Any, message: dict[str, Any]) -> None:
    body = json.dumps(message).encode()
    out.write(HEAD.pack(len(body)) + body)
    out.flush()


def confine() -> None:
    """Give up, for good, what reading a text does not take; what the kernel lacks is left out."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever asks decides what an interrupt ends
    package = Path(__file__).parents[1]
    if kernel.LINUX:
        kernel.no_new_privileges()
    kernel.lower_limits(
        {
            resource.RLIMIT_DATA: MEMORY_MB << 20,
            resource.RLIMIT_AS: MEMORY_MB << 22,  # where that bounds nothing
            resource.RLIMIT_FSIZE: 0,
            resource.RLIMIT_CORE: 0,
            resource.RLIMIT_NOFILE: 64,
        }
    )
    surrender((package,))
    kernel.lower_limits({resource.RLIMIT_NPROC: 0})
    if allowed(Means.LANDLOCK):
        with suppress(OSError):
            readable = (*credentials.interpreter_paths(), package, *DEVICES)
            landlock.restrict(readable, (), network=False)
    if allowed(Means.SECCOMP):
        with suppress(OSError):
            seccomp.install(seccomp.guest_filter())

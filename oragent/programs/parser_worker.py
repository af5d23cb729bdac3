"""Process that parses untrusted text; ``parser_client`` starts it and sends it one request after the other.

It has no files but Python's own, no network, an empty environment and bounded memory; a kernel timer ends each request
that takes too long. ``parser_client`` checks its answers, because a text that exploits Python's parser controls this
process.
"""

import json
import os
import resource
import signal
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from oragent._base.errors import CandidateError, ReplyError
from oragent._base.frames import HEAD, pack_message
from oragent.programs import assembly, blocks, extract, local_inspection, regions, similarity, syntax
from oragent.sandbox.isolation import environment, kernel, landlock, seccomp
from oragent.sandbox.isolation.guest import DEVICES, drop_privileges
from oragent.sandbox.isolation.means import Means, is_allowed

CPU_S = 2.0  # a request's; a usual program takes a thousandth of that
MEMORY_MB = 512
WORN_MB = 256  # a process that still holds so much after a request makes room for a fresh one


def _inspect_program(source: str, signature: dict[str, Any]) -> dict[str, Any]:
    inspected = local_inspection.inspect_local(source, _read_signature(**signature))
    return {"problem": inspected.problem, "length": inspected.length, "canonical": inspected.canonical}


def _read_signature(
    function: str, parameters: list[str], text: str, others: list[dict[str, Any]], language: str, files: list[str]
) -> syntax.Signature:
    more = tuple(_read_signature(**fields) for fields in others)
    return syntax.Signature(function, tuple(parameters), text, more, language, tuple(files))


def _spread_blocks(source: str, frame: list[str]) -> dict[str, Any]:
    try:
        return {"blocks": regions.spread_program(source, frame)}
    except CandidateError as problem:
        return {"problem": str(problem)}


def _vet_program(source: str) -> dict[str, Any]:
    problem, length = local_inspection.vet_program(source)
    return {"problem": problem, "length": length}


def _lay_out_program(source: str) -> dict[str, Any]:
    return {"text": local_inspection.lay_out(source)}


def _check_expression(text: str) -> dict[str, Any]:
    return {"problem": local_inspection.expression_problem(text)}


def _extract_program(
    text: str, function: str, parent: str | None, signature: dict[str, Any] | None = None, look: bool = False
) -> dict[str, Any]:
    try:
        source = extract.extract_program(text, function, parent, _read_signature(**signature) if signature else None)
    except ReplyError as problem:
        return {"problem": str(problem)}
    answer: dict[str, Any] = {"source": source}
    if signature is not None and look:
        with suppress(MemoryError, RecursionError):  # who wants to look at the program is told so then
            answer["inspected"] = _inspect_program(source, signature)
    return answer


def _apply_reply_edits(text: str, parent: str) -> dict[str, Any]:
    try:
        return {"source": blocks.apply_edits(text, parent)}
    except ReplyError as problem:
        return {"problem": str(problem)}


def _extract_reply_json(text: str) -> dict[str, Any]:
    try:
        return {"value": json.dumps(extract.extract_json(text))}
    except ReplyError as problem:
        return {"problem": str(problem)}
    except RecursionError:
        return {"problem": "the JSON in the reply is nested too deeply"}


def _find_nearest(tokens: list[str], candidates: list[list[str]], threshold: float) -> dict[str, Any]:
    return {"place": similarity.find_nearest(tokens, candidates, threshold)}


def _compare_programs(first: str, second: str) -> dict[str, Any]:
    return {"share": similarity.likeness(first, second)}


REQUESTS: Mapping[str, Callable[..., dict[str, Any]]] = {
    "inspect": _inspect_program,
    "vet": _vet_program,
    "layout": _lay_out_program,
    "expression": _check_expression,
    "code": _extract_program,
    "edits": _apply_reply_edits,
    "json": _extract_reply_json,
    "likeness": _compare_programs,
    "nearest": _find_nearest,
    "spread": _spread_blocks,
}


def main() -> None:
    """Answer requests on standard input until there are none, or until this process is worn out."""
    resident = _Resident()
    out = os.fdopen(os.dup(1), "wb")
    confine_parser()
    _send_message(out, {"ready": True})
    while head := sys.stdin.buffer.read(HEAD.size):
        request = json.loads(sys.stdin.buffer.read(HEAD.unpack(head)[0]))
        answer = _answer_request(request["kind"], request["fields"])
        worn = "trouble" in answer or resident.read_mb() > WORN_MB
        _send_message(out, {**answer, "last": worn})
        if worn:
            return


class _Resident:
    """Reader of this process's resident memory; opened before the process is confined."""

    def __init__(self) -> None:
        path = "/proc/self/statm"
        self._file = os.open(path, os.O_RDONLY) if os.path.exists(path) else None

    def read_mb(self) -> int:
        """Return the resident memory, MiB; 0 if the system does not report it."""
        if self._file is None:
            return 0
        return int(os.pread(self._file, 200, 0).split()[1]) * resource.getpagesize() >> 20


def _answer_request(kind: str, fields: dict[str, Any]) -> dict[str, Any]:
    signal.setitimer(signal.ITIMER_PROF, CPU_S)  # nobody handles its signal, so that it ends also what never looks up
    try:
        return {"answer": REQUESTS[kind](**fields)}
    except MemoryError:
        return {"trouble": "memory"}
    except RecursionError:
        return {"trouble": "depth"}
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        for cached in (
            assembly.parse_piece,
            syntax.check_program,
            syntax._cached_canonical_form,
            syntax.count_nodes,
            syntax.outline_function,
        ):
            cached.cache_clear()  # of a text that was dear nothing may stay


def _send_message(out: Any, message: dict[str, Any]) -> None:
    out.write(pack_message(message))
    out.flush()


def confine_parser() -> None:
    """Give up, for good, all rights that parsing does not need; skip mechanisms that the kernel lacks."""
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
    drop_privileges((package,))
    kernel.lower_limits({resource.RLIMIT_NPROC: 0})
    if is_allowed(Means.LANDLOCK):
        with suppress(OSError):
            readable = (*environment.interpreter_paths(), package, *DEVICES)
            landlock.restrict_files(readable, (), network=False)
    if is_allowed(Means.SECCOMP):
        with suppress(OSError):
            seccomp.install_filter(seccomp.guest_filter())

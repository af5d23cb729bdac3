"""Process that parses untrusted text; ``parser_client`` starts it and sends it one request after the other.

It has no files but Python's own, no network, an empty environment and limited memory; a kernel timer ends each request
that takes too long. ``parser_client`` checks its answers, because a text that exploits Python's parser controls this
process.
"""

import ast
import hashlib
import json
import os
import resource
import signal
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from oragent._base.errors import CandidateError, ReplyError
from oragent._base.frames import HEAD, pack_message
from oragent.programs import blocks, extract, native, regions, similarity, syntax
from oragent.programs.layout import write_program
from oragent.programs.multi_file import join_files, split_files
from oragent.programs.normalise import drop_docstrings
from oragent.programs.syntax import Signature
from oragent.sandbox.isolation import environment, kernel, landlock, seccomp
from oragent.sandbox.isolation.guest import DEVICES, drop_privileges
from oragent.sandbox.isolation.mechanisms import Mechanism, is_allowed

# CPU limit of a request; a usual program takes a thousandth of it.
CPU_S = 2.0
MEMORY_MB = 512
# A process that still holds this much memory after a request is replaced.
WORN_MB = 256


@dataclass(frozen=True)
class Inspected:
    """Result of the inspection of a program."""

    # Reason why the program cannot be used, one line; empty if it can.
    problem: str
    # Canonical form, which is the same for equal programs; the unchanged text if it cannot be used.
    canonical: str
    # SHA-256 of the canonical form, hex digits: the key under which equal programs are scored once.
    fingerprint: str
    # Number of nodes of its syntax tree, without docstrings; 0 if it cannot be used.
    length: int


def inspect_local(source: str, signature: Signature) -> Inspected:
    """Inspect a program that must be callable as ``signature``, in this process; errors are returned as data.

    ``inspection`` also calls this for programs that are marked as safe.
    """
    try:
        if signature.language == "cpp":
            native.check_functions(source, signature.functions)
            canonical, length = native.canonical_text(source), native.count_words(source)
        elif signature.files:
            canonical, length = _inspect_files(source, signature)
        else:
            canonical, length = _inspect_single(source, signature)
    except CandidateError as complaint:
        return Inspected(str(complaint), source, hash_text(source), 0)
    return Inspected("", canonical, hash_text(canonical), length)


def _inspect_single(source: str, signature: Signature) -> tuple[str, int]:
    tree = syntax.compile_program(source)
    syntax.check_tree(tree, signature)
    nodes = drop_docstrings(tree)
    return syntax.reduce_tree(tree, source, signature.functions, nodes), len(nodes)


def _inspect_files(source: str, signature: Signature) -> tuple[str, int]:
    files = split_files(source, signature.files)
    canonical, length = list[str](), 0
    for name in signature.files:
        if name not in files:
            problem = f"the program has no file {name}: it begins below a line '# ---- file: {name} ----'"
            raise CandidateError(problem, "rejected")
        try:
            tree = syntax.compile_program(files[name])
            defined = [node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
            canonical.append(syntax.canonical_form(files[name], *defined))
            length += syntax.count_nodes(files[name])
        except CandidateError as complaint:
            raise CandidateError(f"{name}: {complaint}", "rejected") from None
    syntax.check_program(source, signature)
    return join_files(dict(zip(signature.files, canonical, strict=True))), length


def hash_text(text: str) -> str:
    """Return the SHA-256 of a text, hex digits."""
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()


def _inspect_program(source: str, signature: dict[str, Any]) -> dict[str, Any]:
    inspected = inspect_local(source, _read_signature(**signature))
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
    """Do everything that is ever done with a program's text, whatever it defines."""
    try:
        syntax.compile_program(source)
        syntax.canonical_form(source, "")
        return {"problem": "", "length": syntax.count_nodes(source)}
    except CandidateError as complaint:
        return {"problem": str(complaint), "length": 0}


def _lay_out_program(source: str) -> dict[str, Any]:
    try:
        return {"text": write_program(syntax.parse_program(source))}
    except (CandidateError, ValueError, RecursionError):
        return {"text": source}


def _check_expression(text: str) -> dict[str, Any]:
    """Return why a text cannot be used as an expression in a program; empty if it can."""
    problem = ""
    try:
        syntax.compile_program(f"({text.strip()}\n)")
        ast.parse(text.strip(), mode="eval")
    except CandidateError as complaint:
        problem = str(complaint)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as complaint:
        problem = getattr(complaint, "msg", "") or str(complaint) or type(complaint).__name__
    return {"problem": problem}


def _extract_program(
    text: str, function: str, parent: str | None, signature: dict[str, Any] | None = None, look: bool = False
) -> dict[str, Any]:
    try:
        source = extract.extract_program(text, function, parent, _read_signature(**signature) if signature else None)
    except ReplyError as problem:
        return {"problem": str(problem)}
    answer: dict[str, Any] = {"source": source}
    if signature is not None and look:
        # A failure of the inspection is reported when the program is inspected.
        with suppress(MemoryError, RecursionError):
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


REQUESTS: Mapping[str, Callable[..., dict[str, Any]]] = {
    "inspect": _inspect_program,
    "vet": _vet_program,
    "layout": _lay_out_program,
    "expression": _check_expression,
    "code": _extract_program,
    "edits": _apply_reply_edits,
    "json": _extract_reply_json,
    "likeness": lambda first, second: {"share": similarity.likeness(first, second)},
    "nearest": lambda **texts: {"place": similarity.find_nearest(**texts)},
    "spread": _spread_blocks,
}


def main() -> None:
    """Answer requests on standard input until it ends, or until this process holds too much memory."""
    resident = _Resident()
    out = os.fdopen(os.dup(1), "wb")
    confine_parser()
    _send_message(out, {"ready": True})
    while head := sys.stdin.buffer.read(HEAD.size):
        request = json.loads(sys.stdin.buffer.read(HEAD.unpack(head)[0]))
        answer = _answer_request(request["kind"], request["fields"])
        is_worn = "trouble" in answer or resident.read_mb() > WORN_MB
        _send_message(out, {**answer, "last": is_worn})
        if is_worn:
            return


class _Resident:
    """Reader of this process's resident memory; opened before the process is confined."""

    def __init__(self) -> None:
        path = "/proc/self/statm"
        self._file = os.open(path, os.O_RDONLY) if os.path.exists(path) else None

    def read_mb(self) -> int:
        if self._file is None:
            return 0
        return int(os.pread(self._file, 200, 0).split()[1]) * resource.getpagesize() >> 20


def _answer_request(kind: str, fields: dict[str, Any]) -> dict[str, Any]:
    # The signal of the timer has no handler, so it also ends code that never returns to the interpreter.
    signal.setitimer(signal.ITIMER_PROF, CPU_S)
    try:
        return {"answer": REQUESTS[kind](**fields)}
    except MemoryError:
        return {"trouble": "memory"}
    except RecursionError:
        return {"trouble": "depth"}
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        for cached in (
            extract.parse_piece,
            syntax.check_program,
            syntax._cached_canonical_form,
            syntax.count_nodes,
            syntax.outline_function,
        ):
            # Clear the caches, so that an expensive text does not stay in memory.
            cached.cache_clear()


def _send_message(out: Any, message: dict[str, Any]) -> None:
    out.write(pack_message(message))
    out.flush()


def confine_parser() -> None:
    """Irreversibly drop all rights that parsing does not need; skip mechanisms that the kernel lacks."""
    # The client decides about interrupts.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    package = Path(__file__).parents[1]
    if kernel.LINUX:
        kernel.no_new_privileges()
    kernel.lower_limits(
        {
            resource.RLIMIT_DATA: MEMORY_MB << 20,
            # A second limit, for systems on which RLIMIT_DATA has no effect.
            resource.RLIMIT_AS: MEMORY_MB << 22,
            resource.RLIMIT_FSIZE: 0,
            resource.RLIMIT_CORE: 0,
            resource.RLIMIT_NOFILE: 64,
        }
    )
    drop_privileges((package,))
    kernel.lower_limits({resource.RLIMIT_NPROC: 0})
    if is_allowed(Mechanism.LANDLOCK):
        with suppress(OSError):
            readable = (*environment.interpreter_paths(), package, *DEVICES)
            landlock.restrict_files(readable, (), network=False)
    if is_allowed(Mechanism.SECCOMP):
        with suppress(OSError):
            seccomp.install_filter(seccomp.guest_filter())

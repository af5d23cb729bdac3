"""All that is known of a program without running it; looked at where it can do no harm.

A text of a stranger's is parsed, compiled, normalised and measured in a child with limits (``examiner``). This process
parses a program itself in two cases: the child has passed the very same text before, or our own operators wrote it, out
of the trees of such programs (``vouch``). Who needs a tree asks ``tree`` for it, and nobody calls the parser.
"""

import ast
import hashlib
import os
import threading
from collections import OrderedDict
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

from oragent._base.errors import CandidateError, OragentError, ProblemError
from oragent._base.trees import tree_of
from oragent.programs import caps, examiner, looking, regions, syntax
from oragent.programs.examiner import Hopeless
from oragent.programs.looking import Inspected as Inspected
from oragent.programs.syntax import Signature

MOST_EXPRESSION = 2_000  # characters of a primitive
T = TypeVar("T")

_passed: OrderedDict[bytes, None] = OrderedDict()  # hashes of texts that may be parsed here
_MOST_PASSED = 100_000
# Asked for when a reply is read, when it is held against known ones, and when it is scored.
_inspected: OrderedDict[tuple[str, Signature], Inspected] = OrderedDict()
_MOST_INSPECTED = 512
_lock = threading.Lock()


def vouch(source: str) -> None:
    """Say that a text may be parsed here: the child has passed it, or we wrote it out of trees of such programs."""
    with _lock:
        _passed[_digest(source)] = None
        if len(_passed) > _MOST_PASSED:
            _passed.popitem(last=False)


def vouched(source: str) -> bool:
    """Whether a text may be parsed here, so that to look at it takes no other process."""
    return _digest(source) in _passed


def _digest(source: str) -> bytes:
    return hashlib.sha256(source.encode(errors="surrogatepass")).digest()


def inspect(source: str, wanted: Signature) -> Inspected:
    """Look at a program that must be callable as ``wanted``.

    A syntax error, another function or signature, or a text that is too long, nested too deeply or too dear to be read
    is no exception but the ``problem`` of what is returned.
    """
    with _lock:
        known = _inspected.get((source, wanted))
    return known or _kept(source, wanted, _looked_at(source, wanted))


def _looked_at(source: str, wanted: Signature) -> Inspected:
    if vouched(source) and wanted.language == "python":
        return looking.look(source, wanted)
    if problem := caps.text_problem(source):
        return Inspected(problem, source, looking.hashed(source), 0)
    try:
        return _told(examiner.ask("inspect", source=source, wanted=syntax.plain(wanted)), source, wanted)
    except Hopeless as hopeless:
        return Inspected(str(hopeless), source, looking.hashed(source), 0)


def foretold(source: str, wanted: Signature, answer: object) -> None:
    """Keep what the child said of a program when it took it out of a reply, so that it is not asked again."""
    if isinstance(answer, dict) and not caps.text_problem(source):
        _kept(source, wanted, _told(answer, source, wanted))


def _told(answer: dict[str, object], source: str, wanted: Signature) -> Inspected:
    if problem := _field(answer, "problem", str):
        return Inspected(problem, source, looking.hashed(source), 0)
    canonical, length = _field(answer, "canonical", str), _field(answer, "length", int)
    if wanted.language == "python":
        vouch(source)
    return Inspected("", canonical, looking.hashed(canonical), length)


def _kept(source: str, wanted: Signature, found: Inspected) -> Inspected:
    with _lock:
        _inspected[source, wanted] = found
        if len(_inspected) > _MOST_INSPECTED:
            _inspected.popitem(last=False)
    return found


def fitted(source: str, wanted: Signature) -> str:
    """A program with what its problem fixes as the seed has it; as it is where nothing is fixed.

    Args:
        source: Text of the program, or of what may change in it alone.
        wanted: Signature with the frame.

    Raises:
        CandidateError: ``rejected``: its markers are not those of the seed, or it cannot be read without any.
    """
    if not wanted.frame:
        return source
    if regions.has_markers(source):
        return regions.filled(wanted.frame, regions.blocks_in(source, wanted.frame))
    if wanted.language != "python":
        return regions.filled(wanted.frame, regions.blocks_in(source, wanted.frame))
    if vouched(source):
        made = regions.filled(wanted.frame, regions.spread(source, wanted.frame))
        vouch(made)
        return made
    if problem := caps.text_problem(source):
        raise CandidateError(problem, "rejected")
    try:
        answer = examiner.ask("spread", source=source, frame=list(wanted.frame))
    except Hopeless as hopeless:
        raise CandidateError(str(hopeless), "rejected") from None
    if isinstance(complaint := answer.get("problem"), str):
        raise CandidateError(complaint, "rejected")
    blocks = answer.get("blocks")
    if not isinstance(blocks, list) or len(blocks) != len(wanted.frame) // 2:
        raise CandidateError("the program cannot be read; write a simpler one", "rejected")
    return regions.filled(wanted.frame, [str(block) for block in blocks])


def tree(source: str) -> ast.Module:
    """Parse a program, once it is known that this does no harm.

    Raises:
        CandidateError: with status ``rejected``: it does not parse, or cannot be compiled within the limits.
    """
    _checked(source)
    return syntax.parse(source)


@lru_cache(maxsize=4096)  # a good program is shown, sorted and bred from again and again
def length(source: str) -> int:
    """Count the nodes of the syntax tree, without docstrings and load or store marks: the size of a program.

    Raises:
        CandidateError: with status ``rejected``: it does not parse, or cannot be compiled within the limits.
    """
    _checked(source)
    return syntax.length(source)


def layout(source: str) -> str:
    """A program in the layout of its syntax tree; as it is where it has none."""
    try:
        return _field(examiner.ask("layout", source=source), "text", str)
    except Hopeless:
        return source


def signature(source: str, function: str) -> Signature:
    """Read the signature of ``function`` off a problem's seed heuristic.

    Raises:
        ProblemError: the seed is no valid program, or has no plain function of that name.
    """
    try:
        _checked(source)
    except CandidateError as problem:
        raise ProblemError(f"the seed heuristic is no valid program: {problem}") from None
    return syntax.signature(source, function)


def outline(source: str, function: str, *, documented: bool = True) -> str:
    """The definition of ``function`` with ``...`` for a body, perhaps with its docstring: what a model must fill in.

    Raises:
        CandidateError: with status ``rejected``: the source is no valid program, or has no such function.
    """
    _checked(source)
    return syntax.outline(source, function, documented=documented)


@lru_cache(maxsize=64)  # of seeds, in every prompt
def documentation(source: str, function: str) -> str:
    """The docstring of a function at the top level; empty where it has none.

    Raises:
        CandidateError: with status ``rejected``: the source is no valid program.
    """
    named = [node for node in tree(source).body if isinstance(node, ast.FunctionDef) and node.name == function]
    return (ast.get_docstring(named[-1]) or "") if named else ""


def expression(text: str) -> ast.expr:
    """Parse an expression of a problem's author, once it is known that this does no harm.

    Raises:
        CandidateError: with status ``rejected``: it is no expression.
    """
    if problem := _expression_problem(text):
        raise CandidateError(problem, "rejected")
    return tree_of(text.strip(), mode="eval").body


@lru_cache(maxsize=1024)
def _expression_problem(text: str) -> str:
    if len(text) > MOST_EXPRESSION:
        return f"it has {len(text):,} characters, at most {MOST_EXPRESSION:,} are taken"
    try:
        return _field(examiner.ask("expression", text=text), "problem", str)
    except Hopeless as hopeless:
        return str(hopeless)


def read(path: Path, wanted: Signature) -> str:
    """Read a program that can be called as ``wanted`` from a file.

    Raises:
        CandidateError: with status ``rejected``, naming the file.
    """
    try:
        with path.open("rb") as file:
            content = file.read(caps.MAX_BYTES + 1)
            size = max(len(content), os.fstat(file.fileno()).st_size)
        source = content.decode("utf-8", "replace" if size > caps.MAX_BYTES else "strict")
        source = fitted(source.replace("\r\n", "\n").replace("\r", "\n"), wanted)
        found = caps.size_problem(size) or inspect(source, wanted).problem
        problem = f"{path}: {found}" if found else ""
    except OSError as complaint:
        problem = f"cannot read {path}: {complaint.strerror}"
    except UnicodeDecodeError:
        problem = f"{path} is not UTF-8 text"
    except CandidateError as complaint:
        problem = f"{path}: {complaint}"
    if problem:
        raise CandidateError(problem, "rejected")
    return source


def _checked(source: str) -> None:
    if not vouched(source):
        problem = caps.text_problem(source) or _vetted(source)
        if problem:
            raise CandidateError(problem, "rejected")
        vouch(source)


def _vetted(source: str) -> str:
    try:
        return _field(examiner.ask("vet", source=source), "problem", str)
    except Hopeless as hopeless:
        return str(hopeless)


def _field(answer: dict[str, object], name: str, kind: type[T]) -> T:
    """A field of an answer: the child reads hostile texts, so it may be one of them that answers."""
    value = answer.get(name)
    if type(value) is not kind:
        raise OragentError(f"the process that reads programs gave an answer without {name}: try again")
    return value

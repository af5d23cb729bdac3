"""Look at a program in this process: what the child of ``examiner`` does, and we with what we wrote ourselves."""

import ast
import hashlib
from dataclasses import dataclass

from oragent._base.errors import CandidateError
from oragent.programs import native, syntax
from oragent.programs.normalise import drop_docstrings
from oragent.programs.parts import files_of, joined
from oragent.programs.syntax import Signature


@dataclass(frozen=True)
class Inspected:
    """A program's text, looked at.

    Attributes:
        problem: Reason why the program cannot be used, one line; empty where it can.
        canonical: Form in which equal programs read the same; the text as it is where it cannot be used.
        fingerprint: SHA-256 of the canonical form, hex digits: the key under which equal programs are scored once.
        length: Number of nodes of its syntax tree, without docstrings; 0 where it cannot be used.
    """

    problem: str
    canonical: str
    fingerprint: str
    length: int


def look(source: str, wanted: Signature) -> Inspected:
    """Look at a program that must be callable as ``wanted``; what is wrong with it is no exception."""
    try:
        if wanted.language == "cpp":
            native.check(source, wanted.functions)
            canonical, length = native.canonical(source), native.length(source)
        elif wanted.files:
            canonical, length = _look_at_files(source, wanted)
        else:
            canonical, length = _look_at_one(source, wanted)
    except CandidateError as complaint:
        return Inspected(str(complaint), source, hashed(source), 0)
    return Inspected("", canonical, hashed(canonical), length)


def _look_at_one(source: str, wanted: Signature) -> tuple[str, int]:
    """Canonical form and length of a Python program, which is parsed once.

    Raises:
        CandidateError: ``rejected``.
    """
    tree = syntax.compiled(source)
    syntax.hold(tree, wanted)
    found = drop_docstrings(tree)
    return syntax.reduced(tree, source, wanted.functions, found), len(found)


def _look_at_files(source: str, wanted: Signature) -> tuple[str, int]:
    """Canonical form and length of a program of several Python files.

    Raises:
        CandidateError: ``rejected``, naming the file.
    """
    files = files_of(source, wanted.files)
    canonical, length = list[str](), 0
    for name in wanted.files:
        if name not in files:
            told = f"the program has no file {name}: it begins below a line '# ---- file: {name} ----'"
            raise CandidateError(told, "rejected")
        try:
            tree = syntax.compiled(files[name])
            defined = [node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
            canonical.append(syntax.canonical(files[name], *defined))
            length += syntax.length(files[name])
        except CandidateError as complaint:
            raise CandidateError(f"{name}: {complaint}", "rejected") from None
    syntax.check(source, wanted)
    return joined(dict(zip(wanted.files, canonical, strict=True))), length


def vet(source: str) -> tuple[str, int]:
    """Do all that is ever done with a program's text, whatever it defines.

    Returns:
        What is wrong with it, empty if nothing is; and its length.
    """
    try:
        syntax.compiled(source)
        syntax.canonical(source, "")
        return "", syntax.length(source)
    except CandidateError as complaint:
        return str(complaint), 0


def laid_out(source: str) -> str:
    """A program in the layout of its syntax tree; as it is where it has none."""
    try:
        return ast.unparse(syntax.parse(source))
    except (CandidateError, ValueError, RecursionError):
        return source


def expression_problem(text: str) -> str:
    """Why a text is no expression that can be put into a program; empty where it is one."""
    try:
        syntax.compiled(f"({text.strip()}\n)")
        ast.parse(text.strip(), mode="eval")
    except CandidateError as complaint:
        return str(complaint)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as complaint:
        return getattr(complaint, "msg", "") or str(complaint) or type(complaint).__name__
    return ""


def hashed(text: str) -> str:
    """SHA-256 of a text, hex digits."""
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()

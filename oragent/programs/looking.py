"""Look at a program in this process: what the child of ``examiner`` does, and we with what we wrote ourselves."""

import ast
import hashlib
from dataclasses import dataclass

from oragent.errors import CandidateError
from oragent.programs import syntax
from oragent.programs.normalise import drop_docstrings
from oragent.programs.syntax import Signature

__all__ = ["Inspected", "expression_problem", "hashed", "laid_out", "look", "vet"]


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
        tree = syntax.compiled(source)
        syntax.hold(tree, wanted)
        found = drop_docstrings(tree)
        canonical = syntax.reduced(tree, source, wanted.function, found)
    except CandidateError as complaint:
        return Inspected(str(complaint), source, hashed(source), 0)
    return Inspected("", canonical, hashed(canonical), len(found))


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

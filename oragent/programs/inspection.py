"""All that is known of a program without running it, in one value of plain data."""

import hashlib
from dataclasses import dataclass
from functools import lru_cache

from oragent.errors import CandidateError
from oragent.programs import syntax
from oragent.programs.syntax import Signature

__all__ = ["Inspected", "inspect"]


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


@lru_cache(maxsize=512)  # asked when a reply is read, when it is held against known ones, and when it is scored
def inspect(source: str, wanted: Signature) -> Inspected:
    """Look at a program that must be callable as ``wanted``.

    A syntax error, another function or signature, or a text that is too long or nested too deeply is no exception but
    the ``problem`` of what is returned.
    """
    try:
        syntax.check(source, wanted)
        canonical, length = syntax.canonical(source, wanted.function), syntax.length(source)
    except CandidateError as complaint:
        return Inspected(str(complaint), source, _hash(source), 0)
    return Inspected("", canonical, _hash(canonical), length)


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()

"""Arrays that a probe of a run keeps, and that later programs of the run load by name.

A program holds a reference: ``load_array("NAME", "DIGEST")``. The digest is that of the content, so two programs that
differ in an array alone have different texts. Before a program runs, and in the files that a run writes, each reference
is replaced by an expression with the content, so a program in a file needs nothing else. Pickle is never used.
"""

import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from oragent._base.errors import CandidateError

# Function that a program calls, and dictionary that a probe fills.
LOAD, KEPT = "load_array", "KEPT_ARRAYS"
# Maximum number of bytes and of arrays of one probe, of references of a program, and of arrays of a run.
MAX_BYTES, MAX_OF_PROBE, MAX_LOADS, MAX_OF_RUN = 1_000_000, 8, 8, 100
# Maximum number of characters of a program with the content of its arrays.
MAX_CHARACTERS = 3_500_000
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,39}")
DTYPE = re.compile(r"\|b1|[|<][iu][1248]|<f[48]")
_TEXT, _DIGEST = re.compile(r"[A-Za-z0-9+/]+={0,2}"), r"[0-9a-f]{16}"
_CALL = re.compile(rf"\b{LOAD}\(\s*([\"'])(\w+)\1\s*(?:,\s*([\"'])({_DIGEST})\3\s*)?,?\s*\)")
_EXPRESSION = re.compile(
    r'\("(?P<name>[A-Za-z_]\w{0,39})", __import__\("numpy"\)\.frombuffer\(__import__\("zlib"\)\.decompress\('
    r'__import__\("base64"\)\.b64decode\("(?P<text>[A-Za-z0-9+/]+={0,2})"\)\), "(?P<dtype>[<|]\w\d)"\)'
    r"\.reshape\(\((?P<shape>[\d, ]*)\)\)\)\[1\]"
)


@dataclass(frozen=True)
class KeptArray:
    """Content of an array."""

    # Type as numpy writes it, such as ``<f8``; numbers and bool only.
    dtype: str
    # Number of elements along each axis.
    shape: tuple[int, ...]
    # Bytes of the array in C order, compressed by zlib, in base 64.
    text: str

    @property
    def digest(self) -> str:
        """Digest of the content, 16 hexadecimal digits."""
        return hashlib.sha256(f"{self.dtype} {self.shape} {self.text}".encode()).hexdigest()[:16]

    def write_expression(self, name: str) -> str:
        """Return a Python expression whose value is the array, read-only."""
        return (
            f'("{name}", __import__("numpy").frombuffer(__import__("zlib").decompress(__import__("base64").b64decode('
            f'"{self.text}")), "{self.dtype}").reshape({self.shape!r}))[1]'
        )

    @classmethod
    def read(cls, tree: Any) -> "KeptArray":
        """Read the content from ``[dtype, shape, text]``; a ValueError if it is something else."""
        dtype, shape, text = tree
        is_plain = type(dtype) is str and type(text) is str and DTYPE.fullmatch(dtype) and _TEXT.fullmatch(text)
        if not is_plain or len(text) > 2 * MAX_BYTES or not all(type(size) is int and size > 0 for size in shape):
            raise ValueError("an array is kept as its type, its shape and its bytes")
        return cls(dtype, tuple(shape), text)


_OWN = re.compile(rf"\bdef\s+{LOAD}\b")
# Function that returns the content with a digest, or None.
FindArray = Callable[[str], KeptArray | None]


def loads_arrays(source: str) -> bool:
    """Return True if a program loads arrays of its run; its own function of that name is none of ours."""
    return LOAD in source and not _OWN.search(source)


def pin_references(source: str, digests: Mapping[str, str]) -> str:
    """Return a program whose references name the content that they load.

    Args:
        source: Text of the program.
        digests: Digest of the array that each name means at present.

    Raises:
        CandidateError: With status ``rejected``: a name is unknown, or the program has too many references.
    """
    if not loads_arrays(source):
        return source
    references = [(match[2], match[4] or "") for match in _CALL.finditer(source)]
    if len(references) != len(re.findall(rf"\b{LOAD}\s*\(", source)):
        raise CandidateError(f'{LOAD} takes the name of an array as a text, such as {LOAD}("table")', "rejected")
    if len(references) > MAX_LOADS:
        raise CandidateError(f"the program calls {LOAD} {len(references)} times, at most {MAX_LOADS}", "rejected")
    for name, digest in references:
        if not digest and name not in digests:
            known = ", ".join(sorted(digests)) or "none"
            raise CandidateError(f"no probe of this run kept an array {name!r}; there are: {known}", "rejected")
    return _CALL.sub(lambda match: f'{LOAD}("{match[2]}", "{match[4] or digests[match[2]]}")', source)


def expand_references(source: str, find: FindArray) -> str:
    """Return a program with the content of its arrays in place of its references. Lines keep their numbers.

    Raises:
        CandidateError: With status ``rejected``: the content of a reference is missing.
    """

    def expand(match: re.Match[str]) -> str:
        array = find(match[4]) if match[4] else None
        if array is None:
            raise CandidateError(
                f"array {match[2]!r} ({match[4] or 'without a digest'}) is not in this run: programs load arrays of "
                "their own run, and best.py of a run holds them",
                "rejected",
            )
        return array.write_expression(match[2])

    if not loads_arrays(source):
        return source
    expanded = _CALL.sub(expand, source)
    if len(expanded) > MAX_CHARACTERS:
        raise CandidateError(
            f"the program has {len(expanded):,} characters with its arrays, at most {MAX_CHARACTERS:,} are taken; "
            "load fewer or smaller arrays",
            "rejected",
        )
    return expanded


def contract_references(source: str) -> tuple[str, dict[str, KeptArray]]:
    """Return a program with references in place of the content of arrays, and the arrays by digest."""
    arrays: dict[str, KeptArray] = {}

    def contract(match: re.Match[str]) -> str:
        shape = tuple(int(size) for size in match["shape"].replace(",", " ").split())
        array = KeptArray(match["dtype"], shape, match["text"])
        if array.write_expression(match["name"]) != match[0]:
            return match[0]
        arrays[array.digest] = array
        return f'{LOAD}("{match["name"]}", "{array.digest}")'

    if "frombuffer" not in source:
        return source, {}
    return _EXPRESSION.sub(contract, source), arrays

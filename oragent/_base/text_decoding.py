"""Encoding of texts that other programs wrote: UTF-8, UTF-16 or Windows-1252, which includes Latin-1."""

import codecs
import re
from contextlib import suppress

MARKS = {b"\xef\xbb\xbf": "utf-8-sig", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
# Control characters that no text in Windows-1252 has.
CONTROLS = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f\x81\x8d\x8f\x90\x9d]")
# Number of bytes whose zeros show UTF-16 without a byte order mark, and minimum share of zeros.
SAMPLE, MIN_ZEROS = 4096, 0.4


def find_encoding(content: bytes) -> str:
    """Return the Python name of the encoding of a text; empty for binary content."""
    marked = [encoding for mark, encoding in MARKS.items() if content.startswith(mark)]
    for encoding in marked or _guess_encodings(content):
        with suppress(UnicodeDecodeError):
            text = content.decode(encoding)
            if "\0" not in text and (encoding != "cp1252" or not CONTROLS.search(text)):
                return encoding
    return ""


def _guess_encodings(content: bytes) -> list[str]:
    if b"\0" not in content:
        return ["utf-8", "cp1252"]
    # In UTF-16 without a mark, every second byte of ASCII letters is zero.
    sample = content[:SAMPLE]
    halves = {"utf-16-be": (sample[::2], sample[1::2]), "utf-16-le": (sample[1::2], sample[::2])}
    return [
        encoding
        for encoding, (high, low) in halves.items()
        if high.count(0) > MIN_ZEROS * len(high) and not low.count(0)
    ]


def decode_mixed(content: bytes) -> str:
    """Decode a text with parts in UTF-8 and parts in Windows-1252; empty for binary content.

    Gurobi writes names of variables in Latin-1, and those of general constraints in UTF-8, into one file.
    """
    try:
        text = content.decode("utf-8", errors=MIXED)
    except UnicodeDecodeError:
        return ""
    return "" if CONTROLS.search(text) else text


def _decode_rest(error: UnicodeError) -> tuple[str, int]:
    """Decode bytes that are not UTF-8."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return error.object[error.start : error.end].decode("cp1252"), error.end


MIXED = "oragent-windows-1252"
codecs.register_error(MIXED, _decode_rest)


def decode_leniently(content: bytes) -> str:
    """Decode a text in its encoding; bytes of binary content become replacement characters."""
    return content.decode(find_encoding(content) or "utf-8", errors="replace")

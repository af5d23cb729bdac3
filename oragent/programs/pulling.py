"""How a program, or JSON, is taken out of a reply: in the child of ``examiner``, as replies are not to be trusted.

Every failure is a ``ReplyError`` whose text can be sent back to the model as it is.
"""

import ast
import json
import re
from dataclasses import dataclass
from typing import Any

from oragent._base.errors import ReplyError
from oragent.programs import native
from oragent.programs.assembly import completed, defined, parsed
from oragent.programs.blocks import (
    FencedBlock,
    drop_thoughts,
    fenced_blocks,
    loose_code,
    outermost_block,
    without_edits,
)
from oragent.programs.edits import apply_edits, has_edits
from oragent.programs.parts import files_of, joined, named
from oragent.programs.syntax import Signature

# Strings are matched to be kept; one that never closes is matched to the end, so that the scan stays linear.
TRAILING_COMMA = re.compile(r'("(?:\\.|[^"\\])*+(?:"|\\?\Z))|,(?=\s*[}\]])', re.DOTALL)
MOST_MENDED = 20  # texts from which trailing commas are taken
MOST_BRACKETS = 200  # prose has few that open no JSON; the bound keeps a hostile reply cheap


@dataclass(frozen=True)
class _Piece:
    """A part of a reply that may be a program."""

    text: str
    tree: ast.Module | None
    error: str = ""

    @classmethod
    def read(cls, text: str, closed: bool = True) -> "_Piece":
        try:
            return cls(text, parsed(text))
        except ReplyError as problem:
            hint = "" if closed else " (the code block is never closed: was the reply cut off?)"
            return cls(text, None, f"{problem}{hint}")

    def names(self) -> list[str]:
        return defined(self.tree) if self.tree else []


def pull_code(text: str, function: str, parent: str | None = None, wanted: Signature | None = None) -> str:
    """Take the program out of a reply, as ``replies.extract_code`` describes it.

    Raises:
        ReplyError: there is no such program.
    """
    if wanted and wanted.language == "cpp":
        return native.pull(text, wanted.functions, parent)
    text = drop_thoughts(text.replace("\r\n", "\n").replace("\r", "\n"))
    if not text.strip():
        raise ReplyError(f"the reply is empty; {_wanted(function)}")
    if has_edits(text):
        try:
            return _edited(text, function, parent)
        except ReplyError:  # perhaps the whole program stands beside them
            text = without_edits(text)
            if not _holds([_Piece.read(block.text) for block in fenced_blocks(text)[0]], function):
                raise
    blocks, outside = fenced_blocks(text)
    fenced = [_Piece.read(block.text, block.closed) for block in blocks if block.text.strip()]
    if wanted and (wanted.others or wanted.files):
        return _of_several(fenced, wanted, parent)
    pieces = fenced if _holds(fenced, function) else [*fenced, *_loose(text, blocks, outside, function)]
    if not _holds(pieces, function):
        if parent is not None and (patched := _patched(fenced, parent)):
            return _finished(completed(patched, []), function)
        raise ReplyError(_why_not(fenced, pieces, function))
    *_, program = (piece for piece in pieces if function in piece.names())
    helpers = [piece.text for piece in pieces if piece.tree and piece is not program]
    return _finished(completed(program.text, _known(parent) + helpers), function)


def _of_several(fenced: list[_Piece], wanted: Signature, parent: str | None) -> str:
    """A program of several functions or files: what the reply leaves out is taken from the parent.

    Raises:
        ReplyError: it has none of the functions, or one is neither in it nor in the parent.
    """
    pieces = [piece for piece in fenced if piece.tree and piece.tree.body]
    if not any(name in piece.names() for piece in pieces for name in wanted.functions):
        raise ReplyError(_why_not(fenced, fenced, wanted.function))
    if wanted.files:
        files = files_of(parent or "", wanted.files)
        for piece in pieces:
            files |= _files_in(piece, wanted, files)
        return _finished(joined({name: files[name] for name in wanted.files if name in files}), wanted.function)
    known = _known(parent)
    program = pieces[-1].text if len(pieces) == 1 else "\n\n\n".join(piece.text for piece in pieces)
    return _finished(completed(program, known, frozenset(wanted.functions)), wanted.function)


def _files_in(piece: _Piece, wanted: Signature, known: dict[str, str]) -> dict[str, str]:
    """The files that a block holds; without a line that names one, it is the file whose function it defines."""
    files = files_of(piece.text, wanted.files)
    if named(piece.text):
        return {name: text for name, text in files.items() if text.strip()}
    homes = [name for name, text in known.items() if set(_Piece.read(text).names()) & set(piece.names())]
    return {homes[0] if homes else wanted.files[0]: piece.text}


def _edited(text: str, function: str, parent: str | None) -> str:
    if parent is None:
        raise ReplyError(f"the reply holds SEARCH/REPLACE edits, but there is no parent to edit; {_wanted(function)}")
    source = apply_edits(text, parent)
    try:
        return _finished(completed(source, []), function)
    except ReplyError as problem:
        raise ReplyError(f"after the edits: {problem}") from None


def _patched(pieces: list[_Piece], parent: str) -> str:
    """The parent with helpers of its own that a reply defines anew; empty where it defines none of them."""
    old = _Piece.read(parent)
    for piece in reversed(pieces):
        shared = set(piece.names()) & set(old.names())
        if shared and old.tree:
            gone = [node for node in old.tree.body if isinstance(node, ast.FunctionDef) and node.name in shared]
            starts = [min([node.lineno, *(one.lineno for one in node.decorator_list)]) for node in gone]
            dropped = {
                line for node, at in zip(gone, starts, strict=True) for line in range(at, (node.end_lineno or at) + 1)
            }
            kept = [line for number, line in enumerate(parent.split("\n"), 1) if number not in dropped]
            return f"{piece.text.strip()}\n\n\n" + "\n".join(kept).strip("\n")
    return ""


def _loose(text: str, blocks: list[FencedBlock], outside: str, function: str) -> list[_Piece]:
    """What may be code though no block has it: around fences, outside of them, or behind one that is never closed."""
    for whole in (_Piece.read(outermost_block(text)), _Piece.read(outside)):
        if function in whole.names():
            return [whole]
    unclosed = "\n".join(block.text for block in blocks if not block.closed)
    return [_Piece.read(text) for text in loose_code(outside)] + [
        _Piece.read(text, closed=False) for text in loose_code(unclosed)
    ]


def _holds(pieces: list[_Piece], function: str) -> bool:
    return any(function in piece.names() for piece in pieces)


def _known(parent: str | None) -> list[str]:
    return [parent] if parent is not None and _Piece.read(parent).tree else []


def _finished(source: str, function: str) -> str:
    source = source.strip("\n").rstrip() + "\n"
    if function not in defined(parsed(source)):
        raise ReplyError(f"the program does not define {function!r} at its top level; {_wanted(function)}")
    return source


def _wanted(function: str) -> str:
    return f"answer with one fenced Python block that holds the whole program with 'def {function}(...)'"


def _why_not(fenced: list[_Piece], pieces: list[_Piece], function: str) -> str:
    """Why no piece is the wanted program: the most telling reason that there is."""
    broken = [piece for piece in pieces if piece.error and re.search(r"\bdef\s", piece.text)]
    meant = [piece for piece in broken if re.search(rf"\bdef\s+{re.escape(function)}\b", piece.text)]
    names = [name for piece in pieces if piece.tree for name in defined(piece.tree, (ast.FunctionDef, ast.ClassDef))]
    if meant:
        return meant[-1].error
    if names:
        return f"the reply defines {', '.join(map(repr, names[:5]))}, expected a function {function!r} at the top level"
    if broken:
        return broken[-1].error
    if any(piece.tree and piece.tree.body for piece in fenced):
        return f"the reply holds statements but no function (only its body?); {_wanted(function)}"
    if fenced:
        return fenced[-1].error or f"the code block holds comments only; {_wanted(function)}"
    return f"the reply holds no code; {_wanted(function)}"


def pull_json(text: str) -> Any:
    """Take the first JSON object or array out of a reply, as ``replies.extract_json`` describes it.

    Raises:
        ReplyError: there is none, or it is cut off.
    """
    blocks, outside = fenced_blocks(drop_thoughts(text))
    fenced = sorted((block.text for block in blocks), key=lambda block: not block.lstrip().startswith(("{", "[")))
    mended = 0
    for part in [*fenced, outside]:
        for bracket in list(re.finditer(r"[{\[]", part))[:MOST_BRACKETS]:
            start = part[bracket.start() :]
            found, value, comma = _decoded(start)
            if not found and comma and mended < MOST_MENDED:
                found, value, _ = _decoded(TRAILING_COMMA.sub(lambda match: match[1] or "", start))
                mended += 1
            if found:
                return value
    raise ReplyError("the reply holds no JSON; answer with one JSON object or array in a fenced block")


def _decoded(text: str) -> tuple[bool, Any, bool]:
    """Decode the JSON at the start of ``text``.

    Returns:
        Whether there is any, its value, and whether it may be a trailing comma why there is none.
    """
    try:
        return True, json.JSONDecoder(strict=False).raw_decode(text)[0], False
    except json.JSONDecodeError as problem:
        if text[problem.pos : problem.pos + 1] in ("]", "}", ","):
            return False, None, True
        if problem.pos >= len(text.rstrip()) or problem.msg.startswith("Unterminated"):
            raise ReplyError("the JSON in the reply has no end: was the reply cut off?") from None
    except RecursionError:
        raise ReplyError("the JSON in the reply is nested too deeply") from None
    except ValueError:  # a number too long to convert
        pass
    return False, None, False

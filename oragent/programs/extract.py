"""Extract a program, or JSON, from a reply. Runs in the process of ``parser_worker``, because replies are untrusted.

Every failure is a ``ReplyError`` whose text can be sent back to the model. A program is completed with the imports and
helpers that it uses but does not define.
"""

import ast
import builtins
import json
import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from oragent._base.ast_utils import all_nodes, bound_names, first_line, names_of_statement, statement_text
from oragent._base.errors import ReplyError
from oragent.programs import native, size_limits
from oragent.programs.blocks import (
    FencedBlock,
    apply_edits,
    drop_thoughts,
    fenced_blocks,
    has_edits,
    loose_code,
    outermost_block,
    without_edits,
)
from oragent.programs.multi_file import file_names, join_files, split_files
from oragent.programs.syntax import Signature

TYPING = "Any Callable Dict Iterable List Optional Sequence Set Tuple Union"
FAMILIAR = {
    "np": "import numpy as np",
    "numpy": "import numpy",
    "math": "import math",
    "torch": "import torch",
    **{name: f"from typing import {name}" for name in TYPING.split()},
}
DEFINING = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef, ast.Assign, ast.AnnAssign, ast.If, ast.Try)
BUILTINS = frozenset(dir(builtins)) | {"__name__", "__file__", "__doc__"}


# Strings are matched and kept. An unclosed string is matched to the end, so that the scan stays linear.
TRAILING_COMMA = re.compile(r'("(?:\\.|[^"\\])*+(?:"|\\?\Z))|,(?=\s*[}\]])', re.DOTALL)
# Maximum number of texts from which trailing commas are removed.
MAX_MENDED = 20
# Prose contains few brackets that do not open JSON; the limit keeps hostile replies cheap.
MAX_BRACKETS = 200


# Cached because pieces of replies and parents are parsed repeatedly. Callers do not change the trees.
@lru_cache(maxsize=64)
def parse_piece(source: str) -> ast.Module:
    """Parse a program or a piece of a reply; a `ReplyError` gives the line and its text."""
    if complaint := size_limits.text_problem(source):
        raise ReplyError(complaint)
    try:
        with warnings.catch_warnings():
            # Warnings about strings of a candidate are suppressed.
            warnings.simplefilter("ignore")
            return ast.parse(source)
    except SyntaxError as problem:
        shown = (problem.text or "").strip()[:120]
        raise ReplyError(f"syntax error in line {problem.lineno}: {problem.msg}: {shown!r}") from None
    except ValueError as problem:
        # Null bytes or lone surrogates.
        raise ReplyError(f"the code cannot be read: {problem}") from None
    except (RecursionError, MemoryError):
        raise ReplyError("the code is nested too deeply to be read") from None


def defined_names(
    tree: ast.Module, kinds: tuple[type[ast.FunctionDef | ast.ClassDef], ...] = (ast.FunctionDef,)
) -> list[str]:
    """List the names of a program's top-level functions, or of definitions of other ``kinds``."""
    return [node.name for node in tree.body if isinstance(node, kinds)]


def complete_program(source: str, helpers: Sequence[str], needed: frozenset[str] = frozenset()) -> str:
    """Add missing imports and definitions to a valid program.

    Missing names are taken from helpers, which are other valid programs; the last definition of a name wins. ``needed``
    lists names that are required even if the program does not use them. Names that the added statements use are added
    in turn, and so are common imports such as ``np``.
    """
    tree = parse_piece(source)
    statements = [statement for helper in helpers for statement in _list_statements(helper)]
    home = {name: index for index, statement in enumerate(statements) for name in statement.names}
    inner = all_nodes(tree)
    bound = set(bound_names(inner))
    missing_names, chosen, familiar = (_used_names(inner) | needed) - bound, set[int](), set[str]()
    while missing_names:
        name = missing_names.pop()
        if name not in home:
            if name in FAMILIAR:
                familiar |= {FAMILIAR[name]}
        elif home[name] not in chosen:
            chosen.add(home[name])
            missing_names |= statements[home[name]].needs - bound
    picked = [statements[index] for index in sorted(chosen)]
    imports = sorted(familiar) + [statement.text for statement in picked if statement.is_import]
    return insert_statements(source, tree, imports, [statement.text for statement in picked if not statement.is_import])


@dataclass(frozen=True)
class _Statement:
    """Statement at the top level of a helper, with the names that it defines and needs."""

    text: str
    names: frozenset[str]
    needs: frozenset[str]
    is_import: bool


def _list_statements(helper: str) -> list[_Statement]:
    lines = helper.split("\n")
    statements = []
    for node in parse_piece(helper).body:
        if not isinstance(node, DEFINING) or (isinstance(node, ast.ImportFrom) and node.module == "__future__"):
            continue
        inner = all_nodes(node)
        bound = set(bound_names(inner))
        text = statement_text(lines, node)
        is_import = isinstance(node, ast.Import | ast.ImportFrom)
        statements.append(
            _Statement(text, frozenset(names_of_statement(node)), frozenset(_used_names(inner) - bound), is_import)
        )
    return statements


def _used_names(nodes: list[ast.AST]) -> set[str]:
    read = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    return read - BUILTINS


def insert_statements(source: str, tree: ast.Module, imports: list[str], definitions: list[str]) -> str:
    """Insert statements after the docstring and the ``__future__`` imports of ``source``."""
    lines = source.split("\n")
    head = 0
    for node in tree.body:
        is_docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and head == 0
        if not is_docstring and not (isinstance(node, ast.ImportFrom) and node.module == "__future__"):
            break
        head = node.end_lineno or head
    above, below = "\n".join(lines[:head]), "\n".join(lines[head:])
    if not imports and not definitions:
        return source
    return "\n\n\n".join(part for part in [above, "\n".join(imports), *definitions, below.lstrip("\n")] if part)


@dataclass(frozen=True)
class _Piece:
    """Part of a reply that may be a program."""

    text: str
    tree: ast.Module | None
    error: str = ""

    @classmethod
    def parse(cls, text: str, closed: bool = True) -> "_Piece":
        try:
            return cls(text, parse_piece(text))
        except ReplyError as problem:
            hint = "" if closed else " (the code block is never closed: was the reply cut off?)"
            return cls(text, None, f"{problem}{hint}")

    def function_names(self) -> list[str]:
        if self.tree:
            return defined_names(self.tree)
        return []


def extract_program(text: str, function: str, parent: str | None = None, signature: Signature | None = None) -> str:
    """Extract the program of a reply, as ``replies.extract_code`` describes; raise a `ReplyError` without one."""
    if signature and signature.language == "cpp":
        return native.extract_program(text, signature.functions, parent)
    text = drop_thoughts(text.replace("\r\n", "\n").replace("\r", "\n"))
    if not text.strip():
        raise ReplyError(f"the reply is empty; {_expected_answer(function)}")
    if has_edits(text):
        try:
            return _apply_program_edits(text, function, parent)
        except ReplyError:
            # The reply may contain the whole program in addition to the edits.
            text = without_edits(text)
            if not _has_function([_Piece.parse(block.text) for block in fenced_blocks(text)[0]], function):
                raise
    blocks, outside = fenced_blocks(text)
    fenced = [_Piece.parse(block.text, block.closed) for block in blocks if block.text.strip()]
    if signature and (signature.others or signature.files):
        return _extract_several(fenced, signature, parent)
    pieces = fenced if _has_function(fenced, function) else [*fenced, *_loose_pieces(text, blocks, outside, function)]
    if not _has_function(pieces, function):
        if parent is not None and (patched := _patch_parent(fenced, parent)):
            return _finish_program(complete_program(patched, []), function)
        raise ReplyError(_why_not(fenced, pieces, function))
    *_, program = (piece for piece in pieces if function in piece.function_names())
    helpers = [piece.text for piece in pieces if piece.tree and piece is not program]
    return _finish_program(complete_program(program.text, _parent_helpers(parent) + helpers), function)


def _extract_several(fenced: list[_Piece], signature: Signature, parent: str | None) -> str:
    """Extract a program of several functions or files; take parts that the reply omits from the parent."""
    pieces = [piece for piece in fenced if piece.tree and piece.tree.body]
    if not any(name in piece.function_names() for piece in pieces for name in signature.functions):
        raise ReplyError(_why_not(fenced, fenced, signature.function))
    if signature.files:
        files = split_files(parent or "", signature.files)
        for piece in pieces:
            files |= _files_in_piece(piece, signature, files)
        return _finish_program(
            join_files({name: files[name] for name in signature.files if name in files}), signature.function
        )
    helpers = _parent_helpers(parent)
    program = pieces[-1].text if len(pieces) == 1 else "\n\n\n".join(piece.text for piece in pieces)
    return _finish_program(complete_program(program, helpers, frozenset(signature.functions)), signature.function)


def _files_in_piece(piece: _Piece, signature: Signature, current_files: dict[str, str]) -> dict[str, str]:
    """Return the files in a block; a block without a file line is the file whose function it defines."""
    files = split_files(piece.text, signature.files)
    if file_names(piece.text):
        return {name: text for name, text in files.items() if text.strip()}
    defined = set(piece.function_names())
    homes = [name for name, text in current_files.items() if defined & set(_Piece.parse(text).function_names())]
    return {homes[0] if homes else signature.files[0]: piece.text}


def _apply_program_edits(text: str, function: str, parent: str | None) -> str:
    if parent is None:
        raise ReplyError(
            f"the reply holds SEARCH/REPLACE edits, but there is no parent to edit; {_expected_answer(function)}"
        )
    source = apply_edits(text, parent)
    try:
        return _finish_program(complete_program(source, []), function)
    except ReplyError as problem:
        raise ReplyError(f"after the edits: {problem}") from None


def _patch_parent(pieces: list[_Piece], parent: str) -> str:
    """Return the parent with the functions and constants of a reply in place of its own; empty without any.

    Each new definition takes the place of the old one, because it may need definitions above it. Other new definitions
    are inserted before the first of them, and imports at the top.
    """
    old = _Piece.parse(parent)
    for piece in reversed(pieces):
        if old.tree is None or piece.tree is None:
            continue
        places = {name: node for node in old.tree.body if (name := _bound_name(node))}
        written = piece.text.split("\n")
        changed = [node for node in piece.tree.body if _bound_name(node) in places]
        if not changed:
            continue
        new = [node for node in piece.tree.body if node not in changed]
        imports = [statement_text(written, node) for node in new if isinstance(node, ast.Import | ast.ImportFrom)]
        added = [statement_text(written, node) for node in new if isinstance(node, DEFINING) and _bound_name(node)]
        lines: list[str | None] = [*parent.rstrip("\n").split("\n")]
        first = min(first_line(places[_bound_name(node)]) for node in changed)
        for node in changed:
            start, end = first_line(places[_bound_name(node)]), places[_bound_name(node)].end_lineno or 0
            lines[start - 1 : end] = [statement_text(written, node), *[None] * (end - start)]
        lines[first - 1] = "\n\n\n".join([*added, lines[first - 1] or ""])
        text = "\n".join(text_line for text_line in lines if text_line is not None)
        if imports:
            return insert_statements(text, parse_piece(text), imports, [])
        return text
    return ""


def _bound_name(node: ast.stmt) -> str:
    """Return the name that a top-level statement defines; empty for no or several names."""
    match node:
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            return name
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            return name
    return ""


def _loose_pieces(text: str, blocks: list[FencedBlock], outside: str, function: str) -> list[_Piece]:
    """Return possible code outside of blocks: around fences, between them, or after an unclosed fence."""
    for whole in (_Piece.parse(outermost_block(text)), _Piece.parse(outside)):
        if function in whole.function_names():
            return [whole]
    unclosed = "\n".join(block.text for block in blocks if not block.closed)
    return [_Piece.parse(text) for text in loose_code(outside)] + [
        _Piece.parse(text, closed=False) for text in loose_code(unclosed)
    ]


def _has_function(pieces: list[_Piece], function: str) -> bool:
    return any(function in piece.function_names() for piece in pieces)


def _parent_helpers(parent: str | None) -> list[str]:
    if parent is not None and _Piece.parse(parent).tree:
        return [parent]
    return []


def _finish_program(source: str, function: str) -> str:
    source = source.strip("\n").rstrip() + "\n"
    if function not in defined_names(parse_piece(source)):
        raise ReplyError(f"the program does not define {function!r} at its top level; {_expected_answer(function)}")
    return source


def _expected_answer(function: str) -> str:
    return f"answer with one fenced Python block that holds the whole program with 'def {function}(...)'"


def _why_not(fenced: list[_Piece], pieces: list[_Piece], function: str) -> str:
    """Return the most specific reason why no piece is the requested program."""
    broken = [piece for piece in pieces if piece.error and re.search(r"\bdef\s", piece.text)]
    meant = [piece for piece in broken if re.search(rf"\bdef\s+{re.escape(function)}\b", piece.text)]
    kinds = ast.FunctionDef, ast.ClassDef
    names = [name for piece in pieces if piece.tree for name in defined_names(piece.tree, kinds)]
    if meant:
        return meant[-1].error
    if names:
        return f"the reply defines {', '.join(map(repr, names[:5]))}, expected a function {function!r} at the top level"
    if broken:
        return broken[-1].error
    if any(piece.tree and piece.tree.body for piece in fenced):
        return f"the reply holds statements but no function (only its body?); {_expected_answer(function)}"
    if fenced:
        return fenced[-1].error or f"the code block holds comments only; {_expected_answer(function)}"
    return f"the reply holds no code; {_expected_answer(function)}"


def extract_json(text: str) -> Any:
    """Extract the first JSON of a reply, as ``replies.extract_json`` describes; raise a `ReplyError` without any."""
    blocks, outside = fenced_blocks(drop_thoughts(text))
    fenced = sorted((block.text for block in blocks), key=lambda block: not block.lstrip().startswith(("{", "[")))
    mended = 0
    for part in [*fenced, outside]:
        for bracket in list(re.finditer(r"[{\[]", part))[:MAX_BRACKETS]:
            start = part[bracket.start() :]
            is_json, value, comma = _decode_json(start)
            if not is_json and comma and mended < MAX_MENDED:
                is_json, value, _ = _decode_json(TRAILING_COMMA.sub(lambda match: match[1] or "", start))
                mended += 1
            if is_json:
                return value
    raise ReplyError("the reply holds no JSON; answer with one JSON object or array in a fenced block")


def _decode_json(text: str) -> tuple[bool, Any, bool]:
    """Decode the JSON at the start of a text: success, value, and True if a trailing comma may cause a failure."""
    try:
        return True, json.JSONDecoder(strict=False).raw_decode(text)[0], False
    except json.JSONDecodeError as problem:
        if text[problem.pos : problem.pos + 1] in ("]", "}", ","):
            return False, None, True
        if problem.pos >= len(text.rstrip()) or problem.msg.startswith("Unterminated"):
            raise ReplyError("the JSON in the reply has no end: was the reply cut off?") from None
    except RecursionError:
        raise ReplyError("the JSON in the reply is nested too deeply") from None
    except ValueError:
        # The number is too long to convert.
        pass
    return False, None, False

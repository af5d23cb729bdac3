"""Programs with fixed parts: all text outside of the markers EVOLVE-BLOCK-START and EVOLVE-BLOCK-END.

Other frameworks use the same markers, each in a comment on its own line. A frame is the seed in pieces: fixed text,
block, fixed text, ..., fixed text; the marker lines belong to the fixed text. A candidate is the text between its own
markers, put into the frame. A candidate without markers is divided by the names that the frame defines
(``spread_program``, which parses).
"""

import ast
import re
from collections.abc import Sequence

from oragent._base.ast_utils import statement_text
from oragent._base.errors import CandidateError, ProblemError
from oragent.programs import syntax

MARK = re.compile(r"^[ \t]*(?:#|//)[ \t]*EVOLVE-BLOCK-(?P<end>START|END)\b[^\n]*\n?", re.MULTILINE)
KEEP = "keep the comment lines EVOLVE-BLOCK-START and EVOLVE-BLOCK-END, and change only what stands between them"


def split_frame(seed: str) -> tuple[str, ...]:
    """Split a seed into fixed text and blocks, alternating; empty without markers, `ProblemError` for unpaired ones."""
    pieces = _split_at_markers(seed)
    if pieces is None:
        raise ProblemError(
            "in the seed heuristic each EVOLVE-BLOCK-START needs its EVOLVE-BLOCK-END, one after the other"
        )
    if len(pieces) > 1:
        return tuple(pieces)
    return ()


def has_markers(source: str) -> bool:
    """Return True if a text contains any marker."""
    return MARK.search(source) is not None


def extract_blocks(source: str, frame: Sequence[str]) -> list[str]:
    """Return the texts between the markers; ``rejected`` if the markers differ from those of the frame."""
    pieces = _split_at_markers(source)
    if pieces is None or len(pieces) != len(frame):
        count = len(frame) // 2
        raise CandidateError(f"the program must have {count} block{'s' * (count > 1)} to change: {KEEP}", "rejected")
    return pieces[1::2]


def fill_frame(frame: Sequence[str], blocks: Sequence[str]) -> str:
    """Return the frame with these blocks inserted."""
    pieces = list(frame)
    pieces[1::2] = [block if not block or block.endswith("\n") else f"{block}\n" for block in blocks]
    return "".join(pieces)


def spread_program(source: str, frame: Sequence[str]) -> list[str]:
    """Divide a Python program without markers: statements that the frame fixes are dropped, others go to the blocks.

    A top-level statement goes to the block of the seed that defines its name. A new one goes to the block of the next
    statement, because helpers precede their users. Markers of the frame are at the top level.

    Raises:
        CandidateError: ``rejected``: a text does not parse.
    """
    fixed = {name for piece in frame[::2] for name in _names_in(piece)}
    homes = {name: index for index, block in enumerate(frame[1::2]) for name in _names_in(block)}
    lines, statements = source.split("\n"), list[tuple[int | None, str]]()
    for node in syntax.parse_program(source).body:
        names = _bound_names(node)
        # Skip fixed statements, docstrings, and code that runs at the end.
        if not names or names <= fixed:
            continue
        home = next((homes[name] for name in sorted(names) if name in homes), None)
        statements.append((home, statement_text(lines, node)))
    blocks: list[list[str]] = [[] for _ in frame[1::2]]
    index = next((home for home, _ in reversed(statements) if home is not None), 0)
    for home, text in reversed(statements):
        if home is not None:
            index = home
        blocks[index].insert(0, text)
    return ["\n\n\n".join(block) + "\n" if block else "" for block in blocks]


def _split_at_markers(source: str) -> list[str] | None:
    """Split a text into fixed text and blocks; None if markers are not paired."""
    pieces, begun = [], 0
    for index, mark in enumerate(MARK.finditer(source)):
        opens = mark["end"] == "START"
        if opens != (index % 2 == 0):
            return None
        cut = mark.end() if opens else mark.start()
        pieces.append(source[begun:cut])
        begun = cut
    pieces.append(source[begun:])
    if len(pieces) % 2:
        return pieces
    return None


def _names_in(text: str) -> set[str]:
    try:
        return {name for node in syntax.parse_program(text).body for name in _bound_names(node)}
    except CandidateError:
        # Part of a function, which defines nothing by itself.
        return set()


def _bound_names(node: ast.stmt) -> set[str]:
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return {name}
        case ast.Import(names=items) | ast.ImportFrom(names=items):
            return {(item.asname or item.name).partition(".")[0] for item in items}
        case ast.Assign(targets=targets):
            return {part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name)}
        case ast.AnnAssign(target=ast.Name(id=name)):
            return {name}
        case ast.Try() | ast.If() | ast.With():
            inner = [part for part in ast.walk(node) if isinstance(part, ast.stmt) and part is not node]
            main = isinstance(node, ast.If) and "__name__" in ast.unparse(node.test)
            if main:
                return set()
            return {name for part in inner for name in _bound_names(part)}
        case _:
            return set()

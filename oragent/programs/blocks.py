"""The parts of a model's reply: thoughts, fenced blocks, edits, and the prose around them."""

import re
import textwrap
from dataclasses import dataclass

SEARCH = re.compile(r"\s*<{5,9} ?SEARCH\b")  # the lines at which an edit begins and ends
REPLACE = re.compile(r"\s*>{5,9} ?REPLACE\b")
NEAREST = "The nearest lines of the parent are:"  # said of an edit that missed

OPENING = re.compile(r"(?P<before>[^`~]*)(?P<fence>`{3,}+|~{3,}+)(?P<tag>[^`]*)")
STATEMENT = re.compile(
    r"(from\s+[\w.]+\s+import\b|import\s+\w|(async\s+)?def\s+\w+|class\s+\w+\s*[:(]|@\w|[A-Za-z_]\w*\s*(:[^=]*)?=(?!=))"
)
INCLUDE = re.compile(r"^[ \t]*#[ \t]*include[ \t]*[<\"]", re.MULTILINE)
BACKTICKS = re.compile("`+")
DEFINITION = re.compile(r"^([ \t]+)(?:async\s+)?def\s", re.MULTILINE)


@dataclass(frozen=True)
class FencedBlock:
    """A fenced block.

    Attributes:
        text: Text inside, its common indentation removed.
        closed: Whether the closing fence is there; without it the reply may have been cut.
    """

    text: str
    closed: bool


def fence(text: str, tag: str = "") -> str:
    """Fence a text, with more backticks than it has anywhere, so that it cannot end its own block."""
    longest = max(map(len, BACKTICKS.findall(text)), default=0)
    mark = "`" * max(3, longest + 1)
    return f"{mark}{tag}\n{text}\n{mark}"


def tag(program: str) -> str:
    """The language of a program, as the opening of a fence names it: C++ includes headers, and Python does not."""
    return "cpp" if INCLUDE.search(program) else "python"


def drop_thoughts(text: str) -> str:
    """Remove ``<think>...</think>``, also where only one of the two tags is there."""
    *thoughts, answer = text.split("</think>")
    kept = [part.partition("<think>")[0] if "<think>" in part else "" for part in thoughts]
    return "".join(kept) + ("" if answer.lstrip().startswith("<think>") else answer)


def fenced_blocks(text: str) -> tuple[list[FencedBlock], str]:
    """Split a reply at its fences (three or more backticks or tildes, any or no language tag).

    Within a block a shorter fence is text, as whoever quotes fences puts longer ones around them.

    Returns:
        The blocks in their order, and the text outside of them.
    """
    blocks: list[FencedBlock] = []
    outside: list[str] = []
    inside: list[str] | None = None
    fence = ""
    for line in text.split("\n"):
        opening = OPENING.fullmatch(line)
        if opening and inside is not None and (len(opening["fence"]) < len(fence) or not opening["tag"].strip()):
            opening = None  # with a tag, and as long as the last one: that was not closed
        if opening:
            if inside is None:
                outside.append(opening["before"])
            else:
                blocks.append(FencedBlock(_dedented(inside), closed=False))
            inside, fence = [], opening["fence"]
        elif inside is None:
            outside.append(line)
        elif line.rstrip().endswith(fence):  # also right behind the last statement
            inside.append(line.rstrip().rstrip(fence[0]))
            blocks.append(FencedBlock(_dedented(inside), closed=True))
            inside = None
        else:
            inside.append(line)
    if inside is not None:
        blocks.append(FencedBlock(_dedented(inside), closed=False))
    return blocks, "\n".join(outside)


def _dedented(lines: list[str]) -> str:
    return textwrap.dedent("\n".join(lines)).strip("\n")


def outermost_block(text: str) -> str:
    """All between the first fence and the last one, for code whose docstring has fences of its own."""
    lines = text.split("\n")
    fences = [number for number, line in enumerate(lines) if line.lstrip().startswith(("```", "~~~"))]
    return _dedented(lines[fences[0] + 1 : fences[-1]]) if fences else ""


def loose_code(text: str) -> list[str]:
    """Find the statements in prose that has no fences around its code.

    Returns:
        Pieces of text, each beginning with a line that looks like a statement and taking in what is indented below.
        Some may be prose after all, and then do not parse.
    """
    pieces = _pieces(text)
    indented = DEFINITION.search(text)
    if indented and not any(re.match(r"(?:@|def|async|class)\b", piece) for piece in pieces):
        margin = indented[1]  # the whole program stands to the right, as Markdown has it
        pieces = _pieces("\n".join(line.removeprefix(margin) for line in text.split("\n")))
    return pieces


def _pieces(text: str) -> list[str]:
    pieces: list[list[str]] = []
    within = False
    for line in text.split("\n"):
        decorated = within and pieces[-1][-1].startswith("@")
        if STATEMENT.match(line) and not decorated:
            pieces.append([line])
            within = True
        elif within and (decorated or not line.strip() or line[0] in " \t)]}#"):
            pieces[-1].append(line)
        else:
            within = False
    return ["\n".join(piece).strip("\n") for piece in pieces]


def without_edits(text: str) -> str:
    """What a reply says beside its edits."""
    kept, inside = [], False
    for line in text.split("\n"):
        inside = inside or bool(SEARCH.match(line))
        if not inside:
            kept.append(line)
        inside = inside and not REPLACE.match(line)
    return "\n".join(kept)

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


def fence_text(text: str, tag: str = "") -> str:
    """Fence a text, with more backticks than it has anywhere, so that it cannot end its own block."""
    longest = max(map(len, BACKTICKS.findall(text)), default=0)
    mark = "`" * max(3, longest + 1)
    return f"{mark}{tag}\n{text}\n{mark}"


def language_tag(program: str) -> str:
    """Return the fence tag of a program: ``cpp`` if it includes headers, else ``python``."""
    return "cpp" if INCLUDE.search(program) else "python"


def drop_thoughts(text: str) -> str:
    """Remove ``<think>...</think>``, also where only one of the two tags is there."""
    *thoughts, answer = text.split("</think>")
    visible_parts = [part.partition("<think>")[0] if "<think>" in part else "" for part in thoughts]
    return "".join(visible_parts) + ("" if answer.lstrip().startswith("<think>") else answer)


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
    for text_line in text.split("\n"):
        opening = OPENING.fullmatch(text_line)
        if opening and inside is not None and (len(opening["fence"]) < len(fence) or not opening["tag"].strip()):
            opening = None  # with a tag, and as long as the last one: that was not closed
        if opening:
            if inside is None:
                outside.append(opening["before"])
            else:
                blocks.append(FencedBlock(_dedent_lines(inside), closed=False))
            inside, fence = [], opening["fence"]
        elif inside is None:
            outside.append(text_line)
        elif text_line.rstrip().endswith(fence):  # also right behind the last statement
            inside.append(text_line.rstrip().rstrip(fence[0]))
            blocks.append(FencedBlock(_dedent_lines(inside), closed=True))
            inside = None
        else:
            inside.append(text_line)
    if inside is not None:
        blocks.append(FencedBlock(_dedent_lines(inside), closed=False))
    return blocks, "\n".join(outside)


def _dedent_lines(lines: list[str]) -> str:
    return textwrap.dedent("\n".join(lines)).strip("\n")


def outermost_block(text: str) -> str:
    """Return the text between the first and the last fence, for code whose docstring contains fences."""
    lines = text.split("\n")
    fences = [number for number, text_line in enumerate(lines) if text_line.lstrip().startswith(("```", "~~~"))]
    return _dedent_lines(lines[fences[0] + 1 : fences[-1]]) if fences else ""


def loose_code(text: str) -> list[str]:
    """Find the statements in prose that has no fences around its code.

    Returns:
        Pieces of text, each beginning with a line that looks like a statement and taking in what is indented below.
        Some may be prose after all, and then do not parse.
    """
    pieces = _split_statements(text)
    indented = DEFINITION.search(text)
    if indented and not any(re.match(r"(?:@|def|async|class)\b", piece) for piece in pieces):
        margin = indented[1]  # the whole program stands to the right, as Markdown has it
        pieces = _split_statements("\n".join(text_line.removeprefix(margin) for text_line in text.split("\n")))
    return pieces


def _split_statements(text: str) -> list[str]:
    pieces: list[list[str]] = []
    within = False
    for text_line in text.split("\n"):
        decorated = within and pieces[-1][-1].startswith("@")
        if STATEMENT.match(text_line) and not decorated:
            pieces.append([text_line])
            within = True
        elif within and (decorated or not text_line.strip() or text_line[0] in " \t)]}#"):
            pieces[-1].append(text_line)
        else:
            within = False
    return ["\n".join(piece).strip("\n") for piece in pieces]


def without_edits(text: str) -> str:
    """Return a reply without its edits."""
    remaining_lines, inside = [], False
    for text_line in text.split("\n"):
        inside = inside or bool(SEARCH.match(text_line))
        if not inside:
            remaining_lines.append(text_line)
        inside = inside and not REPLACE.match(text_line)
    return "\n".join(remaining_lines)

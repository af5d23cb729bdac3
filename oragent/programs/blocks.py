"""Parts of a model's reply: thoughts, fenced blocks, the prose around them, and edits, applied to the parent."""

import re
import textwrap
from collections import Counter
from dataclasses import dataclass

from oragent._base.errors import ReplyError

# First and last lines of an edit.
SEARCH = re.compile(r"\s*<{5,9} ?SEARCH\b")
REPLACE = re.compile(r"\s*>{5,9} ?REPLACE\b")
# Hint for an edit whose lines are not in the parent.
NEAREST = "The nearest lines of the parent are:"

OPENING = re.compile(r"(?P<before>[^`~]*)(?P<fence>`{3,}+|~{3,}+)(?P<tag>[^`]*)")
STATEMENT = re.compile(
    r"(from\s+[\w.]+\s+import\b|import\s+\w|(async\s+)?def\s+\w+|class\s+\w+\s*[:(]|@\w|[A-Za-z_]\w*\s*(:[^=]*)?=(?!=))"
)
INCLUDE = re.compile(r"^[ \t]*#[ \t]*include[ \t]*[<\"]", re.MULTILINE)
BACKTICKS = re.compile("`+")
DEFINITION = re.compile(r"^([ \t]+)(?:async\s+)?def\s", re.MULTILINE)
DIVIDER = re.compile(r"\s*={5,9}\s*$")
WORD = re.compile(r"\w+|[^\w\s]")
# Maximum number of lines of a searched parent, and of shown lines.
MAX_LINES, MAX_SHOWN = 600, 20


@dataclass(frozen=True)
class FencedBlock:
    """Fenced block of a reply."""

    # Text inside, without common indentation.
    text: str
    # True if the closing fence is present; otherwise the reply may have been cut off.
    closed: bool


def fence_text(text: str, tag: str = "") -> str:
    """Fence a text with more backticks than it contains in a row, so that it cannot end its own block."""
    longest = max([2, *map(len, BACKTICKS.findall(text))])
    mark = "`" * (longest + 1)
    return f"{mark}{tag}\n{text}\n{mark}"


def language_tag(program: str) -> str:
    """Return the fence tag of a program: ``cpp`` if it includes headers, else ``python``."""
    if INCLUDE.search(program):
        return "cpp"
    return "python"


def drop_thoughts(text: str) -> str:
    """Remove ``<think>...</think>``, even if one of the two tags is missing."""
    *thoughts, answer = text.split("</think>")
    visible_parts = [part.partition("<think>")[0] if "<think>" in part else "" for part in thoughts]
    return "".join(visible_parts) + ("" if answer.lstrip().startswith("<think>") else answer)


def fenced_blocks(text: str) -> tuple[list[FencedBlock], str]:
    """Split a reply at its fences (three or more backticks or tildes, with any tag) into blocks and the text outside.

    A shorter fence within a block is text, because quoted fences need longer fences around them.
    """
    blocks: list[FencedBlock] = []
    outside: list[str] = []
    inside: list[str] | None = None
    fence = ""
    for text_line in text.split("\n"):
        opening = OPENING.fullmatch(text_line)
        if opening and inside is not None and (len(opening["fence"]) < len(fence) or not opening["tag"].strip()):
            # A fence with a tag and at least the same length starts a new block: the last one was not closed.
            opening = None
        if opening:
            if inside is None:
                outside.append(opening["before"])
            else:
                blocks.append(FencedBlock(_dedent_lines(inside), closed=False))
            inside, fence = [], opening["fence"]
        elif inside is None:
            outside.append(text_line)
        elif text_line.rstrip().endswith(fence):
            # The fence may follow the last statement on the same line.
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
    if fences:
        return _dedent_lines(lines[fences[0] + 1 : fences[-1]])
    return ""


def loose_code(text: str) -> list[str]:
    """Find statements in prose without fences.

    Each piece begins with a line that looks like a statement and includes the indented lines below. Some pieces may be
    prose, which does not parse.
    """
    pieces = _split_statements(text)
    indented = DEFINITION.search(text)
    if indented and not any(re.match(r"(?:@|def|async|class)\b", piece) for piece in pieces):
        # The whole program is indented, as in a Markdown code block.
        margin = indented[1]
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


@dataclass(frozen=True)
class TextEdit:
    """Lines to find in the parent, and their replacement."""

    search: list[str]
    replace: list[str]


def has_edits(text: str) -> bool:
    """Return True if a reply contains SEARCH/REPLACE edits."""
    return any(SEARCH.match(text_line) for text_line in text.split("\n"))


def apply_edits(text: str, parent: str) -> str:
    """Apply the edits of a reply to ``parent``, one after the other.

    Lines are compared exactly. If nothing matches, white space is ignored, and the replacement takes the indentation of
    the lines found. The first match is replaced. If no lines match, a text that occurs exactly once is replaced.

    Raises:
        ReplyError: An edit is incomplete, or its lines are not in the parent.
    """
    lines = parent.rstrip("\n").split("\n")
    edits = _parse_edits(text)
    for number, edit in enumerate(edits, 1):
        which = f"SEARCH/REPLACE block {number} of {len(edits)}"
        if not any(text_line.strip() for text_line in edit.search):
            raise ReplyError(f"{which}: the SEARCH part is empty; copy the lines to be replaced from the parent")
        changed = _replace_lines(lines, edit)
        if changed is None:
            first = next(text_line.strip() for text_line in edit.search if text_line.strip())
            raise ReplyError(
                f"{which}: its SEARCH lines are not in the parent (they begin with {first[:80]!r}); copy them exactly"
                f"{_describe_nearest_lines(lines, _trim_blank_lines(edit.search))}"
            )
        lines = changed
    return "\n".join(lines) + "\n"


def _parse_edits(text: str) -> list[TextEdit]:
    edits: list[TextEdit] = []
    search: list[str] = []
    replace: list[str] = []
    # The part to which lines are added.
    part: list[str] | None = None
    for text_line in text.split("\n"):
        if SEARCH.match(text_line):
            search, replace = [], []
            part = search
        elif part is search and DIVIDER.match(text_line):
            part = replace
        elif part is replace and REPLACE.match(text_line):
            edits.append(TextEdit(search, replace))
            part = None
        elif part is not None:
            part.append(text_line)
    if part is not None:
        raise ReplyError(
            f"SEARCH/REPLACE block {len(edits) + 1} has no end: it needs the lines <<<<<<< SEARCH, =======, "
            ">>>>>>> REPLACE, each on its own"
        )
    return edits


def _replace_lines(lines: list[str], edit: TextEdit) -> list[str] | None:
    """Return the lines after the edit; None if its SEARCH lines are not found."""
    start = _find_lines(lines, edit.search)
    if start is not None:
        return lines[:start] + edit.replace + lines[start + len(edit.search) :]
    search = _trim_blank_lines(edit.search)
    start = _find_lines(
        [_squeeze_spaces(text_line) for text_line in lines], [_squeeze_spaces(text_line) for text_line in search]
    )
    if start is None:
        return _replace_within_line(lines, edit)
    moved = _reindent_lines(_trim_blank_lines(edit.replace), _indentation_of(search[0]), _indentation_of(lines[start]))
    return lines[:start] + moved + lines[start + len(search) :]


def _replace_within_line(lines: list[str], edit: TextEdit) -> list[str] | None:
    """Return the lines after an edit whose text occurs exactly once in the parent, also inside a line; else None."""
    text, search = "\n".join(lines), "\n".join(_trim_blank_lines(edit.search)).strip()
    if text.count(search) != 1:
        return None
    return text.replace(search, "\n".join(_trim_blank_lines(edit.replace)).strip()).split("\n")


def _find_lines(lines: list[str], searched_lines: list[str]) -> int | None:
    starts = range(len(lines) - len(searched_lines) + 1)
    return next((start for start in starts if lines[start : start + len(searched_lines)] == searched_lines), None)


def _describe_nearest_lines(lines: list[str], searched_lines: list[str]) -> str:
    """Return a hint with the lines of the parent that are most similar to the SEARCH lines; empty if no lines are."""
    if len(lines) > MAX_LINES or len(searched_lines) > MAX_SHOWN:
        return ""
    sought = Counter(WORD.findall("\n".join(searched_lines)))

    def count_shared(start: int) -> int:
        window = "\n".join(lines[start : start + len(searched_lines)])
        return (Counter(WORD.findall(window)) & sought).total()

    start = max(range(max(len(lines) - len(searched_lines), 0) + 1), key=count_shared)
    if 2 * count_shared(start) < sought.total():
        return ""
    shown = "\n".join(text_line[:200] for text_line in lines[start : start + len(searched_lines)])
    return f". {NEAREST}\n{shown}"


def _trim_blank_lines(lines: list[str]) -> list[str]:
    filled = [number for number, text_line in enumerate(lines) if text_line.strip()]
    if filled:
        return lines[filled[0] : filled[-1] + 1]
    return []


def _squeeze_spaces(text_line: str) -> str:
    return " ".join(text_line.split())


def _indentation_of(text_line: str) -> str:
    return text_line[: len(text_line) - len(text_line.lstrip())]


def _reindent_lines(lines: list[str], old: str, new: str) -> list[str]:
    return [
        new + text_line.removeprefix(old) if text_line.strip() and text_line.startswith(old) else text_line
        for text_line in lines
    ]

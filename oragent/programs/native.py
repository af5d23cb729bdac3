"""C++ programs as text: signatures, canonical forms, and extraction from replies.

C++ is not parsed: one pattern, linear in the length, cuts a text into comments, strings and words. The compiler, in the
sandbox, decides about validity.
"""

import re

from oragent._base.errors import CandidateError, ProblemError, ReplyError
from oragent.programs import size_limits
from oragent.programs.blocks import apply_edits, drop_thoughts, fenced_blocks, has_edits

PIECE = re.compile(
    r"""(?P<comment>//[^\n]*|/\*(?:[^*]|\*(?!/))*+(?:\*/|\Z))
      |(?P<raw>R"(?P<tag>[^()\\\s"]{0,16})\((?:.|\n)*?(?:\)(?P=tag)"|\Z))
      |(?P<text>"(?:\\.|[^"\\\n])*+"?|'(?:\\.|[^'\\\n])*+'?)
      |(?P<word>[A-Za-z_]\w*|\.?\d(?:[eEpP][+-]|[\w.])*+)
      |(?P<space>\s+)|(?P<sign>::|->|[-+*/%<>=!&|^]=|<<|>>|&&|\|\||\+\+|--|.)""",
    re.VERBOSE | re.DOTALL,
)
DIRECTIVE = re.compile(r"^[ \t]*(?:#|%:)", re.MULTILINE)
CHANCE = re.compile(
    r"\b(?P<chance>random_device|getrandom|arc4random\w*|rdrand\w*|_rdrand\w*|rdtsc\w*|__rdtsc\w*)\b"
    r"|\b(?P<clock>system_clock|steady_clock|high_resolution_clock|clock_gettime|gettimeofday|time\s*\(\s*(?:0|NULL|nullptr)\s*\))"
)
# Maximum characters, as for Python programs.
MAX_CHARACTERS = 100_000


def signature_text(source: str, function: str) -> str:
    """Return the head of a function's definition on one line; a `ProblemError` if the seed does not define it."""
    plain = _without_comments(source)
    head = _head_pattern(function).search(plain)
    if head is None:
        shape = f"double {function}(...) {{"
        raise ProblemError(f"the seed heuristic has no function {function} that begins on a line, such as {shape}")
    return " ".join(head[1].split())


def documentation(source: str, function: str) -> str:
    """Return the comment directly above a function, without comment signs; empty without one."""
    head = _head_pattern(function).search(source)
    lines: list[str] = []
    for text_line in reversed(source[: head.start()].rstrip("\n").split("\n") if head else []):
        if not re.match(r"\s*(//|/\*|\*)", text_line):
            break
        lines.insert(0, re.sub(r"^\s*(?://+|/\*+|\*+/?)[ ]?|\s*\*/\s*$", "", text_line).rstrip())
    return "\n".join(lines).strip()


def check_functions(source: str, functions: tuple[str, ...]) -> None:
    """Reject a text that cannot be a program with these functions, without a compiler.

    Raises:
        CandidateError: The text is too large, or does not define a function.
    """
    if complaint := size_limits.text_problem(source):
        raise CandidateError(complaint, "rejected")
    plain = _without_comments(source)
    for function in functions:
        if not _head_pattern(function).search(plain):
            raise CandidateError(f"the program does not define the C++ function {function}", "rejected")


def canonical_text(source: str) -> str:
    """Return a program without comments and layout; directives keep their lines, and long raw strings all of it."""
    plain = _without_comments(source)
    if any("\n" in (match["raw"] or "") for match in PIECE.finditer(plain)):
        return plain
    text = ""
    for text_line in plain.replace("\\\n", " ").split("\n"):
        pieces = list(PIECE.finditer(text_line))
        if DIRECTIVE.match(text_line):
            # A macro has arguments only if no space stands before its parenthesis.
            line = "".join(" " if match["space"] else match[0] for match in pieces)
            text = f"{text.rstrip()}\n{line.strip()}\n"
        else:
            text += "".join(f"{match[0]} " for match in pieces if not match["space"])
    return text.strip()


def count_words(source: str) -> int:
    """Return the number of words and signs, without comments."""
    return sum(not (match["space"] or match["comment"]) for match in PIECE.finditer(source))


def find_randomness(source: str) -> str:
    """Find unseeded random numbers or a read of the clock in a program's text; empty if nothing was found."""
    match = CHANCE.search(_without_comments(source))
    if match is None:
        return ""
    random = "is random in each process: seed a std::mt19937 with a constant"
    return f"{match[0].strip()} {'reads the clock' if match['clock'] else random}"


def extract_program(text: str, functions: tuple[str, ...], parent: str | None) -> str:
    """Extract a C++ program from a reply; a `ReplyError` has a text for the model."""
    request = f"answer with one fenced C++ block that holds the whole program with {' and '.join(functions)}"
    text = drop_thoughts(text.replace("\r\n", "\n").replace("\r", "\n"))
    if not text.strip():
        raise ReplyError(f"the reply is empty; {request}")
    if has_edits(text):
        if parent is None:
            raise ReplyError(f"the reply holds SEARCH/REPLACE edits, but there is no parent to edit; {request}")
        source = apply_edits(text, parent)
    else:
        blocks, outside = fenced_blocks(text)
        texts = [block.text for block in blocks if block.text.strip()] or [outside]
        heads = [_head_pattern(name) for name in functions]
        fitting = [block for block in texts if all(head.search(_without_comments(block)) for head in heads)]
        if not fitting:
            raise ReplyError(f"the reply holds no program that defines {' and '.join(functions)}; {request}")
        source = fitting[-1]
    try:
        check_functions(source, functions)
    except CandidateError as problem:
        raise ReplyError(str(problem)) from None
    return source.strip("\n").rstrip() + "\n"


def _head_pattern(function: str) -> re.Pattern[str]:
    """Match a definition that begins on a line: type, name, parameters without braces, up to the opening brace."""
    name = re.escape(function)
    return re.compile(
        rf"^[ \t]{{0,40}}((?:[A-Za-z_][\w:<>,&* \t]{{0,200}}?[ \t&*>]){name}\s{{0,40}}\([^{{}};]{{0,2000}}\))"
        r"[^{};()]{0,80}\{",
        re.MULTILINE,
    )


def _without_comments(source: str) -> str:
    if len(source) > 4 * MAX_CHARACTERS:
        return ""
    return "".join(" " if match["comment"] else match[0] for match in PIECE.finditer(source))

"""Programs and remarks as a scripted model writes them: a number changed, a line wrong, in many dresses."""

import difflib
import io
import random
import re
import tokenize

from oragent.programs.blocks import fence_text, language_tag

OUTLINED = re.compile(r"^( +)\.\.\.\s*\Z", re.MULTILINE)
MENDED = re.compile(r"unknown_scale \* ")  # what ``broken`` puts in
DECIMAL = re.compile(r"(?<![\w.])\d+\.\d+(?!\w)")
QUOTED = re.compile(r"`([^`\n]+)`")
REMARKS = (
    "Prefer short edges, but keep some weight on the next best ones.",
    "The constant that scales the penalty mattered most; change one thing at a time.",
    "A rule that looks at the two nearest neighbours generalised better than one that looks at all of them.",
)


def with_new_number(source: str, rng: random.Random) -> str:
    """``source`` with one of its numbers scaled; a whole number only where there is no other."""
    if language_tag(source) == "cpp":
        places = list(DECIMAL.finditer(source))
        number = rng.choice(places) if places else None
        return (
            f"{source[: number.start()]}{_scale_number(number[0], rng)}{source[number.end() :]}" if number else source
        )
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(source).readline))
    except (tokenize.TokenError, SyntaxError):
        return source
    numbers = [token for token in tokens if token.type == tokenize.NUMBER]
    chosen = [token for token in numbers if "." in token.string or "e" in token.string] or numbers
    if not chosen:
        return source
    token = rng.choice(chosen)
    (row, start), (_, end) = token.start, token.end
    lines = source.split("\n")
    lines[row - 1] = lines[row - 1][:start] + _scale_number(token.string, rng) + lines[row - 1][end:]
    return "\n".join(lines)


def _scale_number(number: str, rng: random.Random) -> str:
    try:
        return str(int(number) + 1)
    except ValueError:
        pass
    try:
        return f"{float(number) * rng.uniform(0.5, 2.0):.4g}"
    except ValueError:  # complex, hexadecimal
        return number


def complete_outline(source: str, rng: random.Random) -> str | None:
    """The plainest program with an outline, a function whose body is ``...``: it returns one of its arguments."""
    body = OUTLINED.search(source)
    if body is None:
        return None
    header = source.partition("\n")[0]
    names = re.findall(r"(\w+): np\.ndarray", header) or re.findall(r"[(,]\s*(\w+)", header)
    return f"{source[: body.start()]}{body[1]}return 1.0 * {rng.choice(names)}\n" if names else None


def break_program(child: str) -> str:
    """A program that fails when it runs, as it uses a name that nothing defines."""
    return fenced_whole("", re.sub(r"^( +)return (?=\S)", r"\1return unknown_scale * ", child, flags=re.MULTILINE))


def fenced_whole(parent: str, child: str) -> str:
    """The whole program in a fenced block."""
    return fence_text(child.strip(), language_tag(child))


def fenced_edit(parent: str, child: str) -> str:
    """SEARCH/REPLACE edits of what changed between two programs; of their first lines where nothing did."""
    old, new = parent.strip("\n").split("\n"), child.strip("\n").split("\n")
    changes = [code for code in difflib.SequenceMatcher(None, old, new).get_opcodes() if code[0] != "equal"]
    blocks = [_write_edit(old[max(i - 1, 0) : j], new[max(k - 1, 0) : m]) for _, i, j, k, m in changes]
    return "\n".join(blocks or [_write_edit(old[:1], old[:1])])


def _write_edit(old: list[str], new: list[str]) -> str:
    return "\n".join(["<<<<<<< SEARCH", *old, "=======", *new, ">>>>>>> REPLACE"])


def _untagged_reply(parent: str, child: str) -> str:
    return f"I changed one thing:\n\n```\n{child}\n```\nIt should weigh near nodes more."


def _bare_reply(parent: str, child: str) -> str:
    return child


def _two_blocks(parent: str, child: str) -> str:
    return f"The parent was\n```python\n{parent}\n```\nand mine is\n```py\n{child}\n```\n"


def _reply_with_thoughts(parent: str, child: str) -> str:
    return f"<think>\nWhich constant matters?\n```python\ndef draft(\n```\n</think>\n```python\n{child}\n```"


def _cut_reply(parent: str, child: str) -> str:
    return f"```python\n{child[: child.rindex('(') + 1]}"


def _empty_reply(parent: str, child: str) -> str:
    return ""


STYLES = (
    *(fenced_whole, fenced_whole, _untagged_reply, _bare_reply, _two_blocks, _reply_with_thoughts),
    *(fenced_edit, fenced_edit, _cut_reply, _empty_reply),
)

"""Scripted model for the roles of all strategies. It needs no server and no key, and some of its replies are faulty."""

import difflib
import io
import json
import random
import re
import tokenize
from collections import Counter
from collections.abc import Callable, Sequence

from oragent.llm.callable import Scripted
from oragent.llm.model import Message, Request
from oragent.programs.blocks import fence_text, fenced_blocks, language_tag

# Roles that are answered without a program.
PROSE = ("lead", "reflect")
IDEAS = (
    ("steeper", "Raise the main term to a higher power, such as `x ** 2`, so that good choices stand out."),
    ("flatter", "Take the square root of the main term, so that the choice stays open longer."),
    ("relative", "Divide the main term by its mean along the row, so that scales do not matter."),
    ("penalty", "Subtract a small constant times the square of the rest, so that extremes are avoided."),
    ("threshold", "Give a bonus where the main term is within 10 % of the best."),
    ("decay", "Multiply by `np.exp(-x / 10)`, so that far options fade out smoothly."),
)
WATCHING = """```python
counts = {}

def observe(hook, data):
    counts[hook] = counts.get(hook, 0) + 1
    if hook == "end":
        print(counts)
```"""


HEADER = re.compile(r"`(def [^`\n]+:)`")
OUTLINED = re.compile(r"^( +)\.\.\.\s*\Z", re.MULTILINE)
# Text that ``break_program`` inserts.
MENDED = re.compile(r"unknown_scale \* ")
DECIMAL = re.compile(r"(?<![\w.])\d+\.\d+(?!\w)")
QUOTED = re.compile(r"`([^`\n]+)`")
REMARKS = (
    "Prefer short edges, but keep some weight on the next best ones.",
    "The constant that scales the penalty mattered most; change one thing at a time.",
    "A rule that looks at the two nearest neighbours generalised better than one that looks at all of them.",
)
# Number of variations that turn the completed outline into a first program.
FIRST_STEPS = 3


def requested_role(messages: Sequence[Message]) -> str:
    """Return the role by the form of reply that a prompt asks for: the roles "repair" and "idea" have several."""
    for word, role in (("JSON list", "idea"), ("ACTION:", "experiment")):
        if word in messages[-1].content:
            return role
    return "code"


def write_ideas(prompt: str, rng: random.Random) -> str:
    """Write the number of ideas that the prompt asks for, as a list, sometimes truncated, or as prose."""
    match = re.search(r"exactly (\d+)", prompt)
    count = int(match[1]) if match else 2
    blocks = QUOTED.findall(prompt.partition("Building blocks")[2])
    ideas = []
    for title, idea in (rng.choice(IDEAS) for _ in range(count)):
        ideas.append({"title": title, "idea": f"{idea} Use `{rng.choice(blocks)}` for it." if blocks else idea})
    text = json.dumps(ideas, indent=1)
    kind = rng.random()
    if kind < 0.1:
        return f"```json\n{text[: len(text) * 2 // 3]}"
    if kind < 0.15:
        return rng.choice(REMARKS)
    if kind < 0.6:
        return f"Here are my ideas:\n```json\n{text}\n```"
    return text


def write_action(prompt: str, parent: str, child: str, rng: random.Random) -> str:
    """Write one action: mostly an edit; sometimes a tuning, a probe, a stop or an unusable reply."""
    thought = f"THOUGHT: {rng.choice(REMARKS)}\n"
    kind = rng.random()
    names = re.findall(r"^(c\d+) = ", prompt, re.MULTILINE)
    if kind < 0.1 and names:
        return f"{thought}ACTION: TUNE\n{rng.choice(names)} 0.2 5.0\n"
    if kind < 0.2:
        probe = re.sub(r"^( +)return ", r'\1print("probe", 1)\n\1return ', parent, count=1, flags=re.MULTILINE)
        return f"{thought}ACTION: PROBE\n{fenced_whole(parent, probe)}"
    if kind < 0.24 and "INSTRUMENT" in prompt:
        return f"{thought}ACTION: INSTRUMENT\n{WATCHING}"
    if kind < 0.35:
        return f"{thought}ACTION: STOP"
    if kind < 0.42:
        return "I would look at the figures first."
    write = fenced_edit if rng.random() < 0.6 else fenced_whole
    return f"{thought}ACTION: EDIT\n{write(parent, child)}"


def count_parts(prompt: str) -> int:
    """Return the number of programs that a reply should contain; 0 if the prompt asks for something else."""
    match = re.search(r"\b[Ww]rite (?:up to (\d+) programs|one program)\b", prompt)
    if match and "PROGRAM: its title" in prompt:
        return int(match[1] or 1)
    return 0


def write_parts(programs: Sequence[str], rng: random.Random) -> str:
    """Write a reply with several programs, each below its title. Sometimes a program is missing."""
    titles = [f"PROGRAM: {rng.choice(IDEAS)[0]}\nIDEA: {rng.choice(REMARKS)}" for _ in programs]
    parts = [f"{title}\n{text}" for title, text in zip(titles, programs, strict=True) if rng.random() < 0.95]
    return "\n\n".join([f"LESSON: {rng.choice(REMARKS)}", *parts])


def with_new_number(source: str, rng: random.Random) -> str:
    """Scale one number of ``source``; an integer only if there is no decimal number."""
    if language_tag(source) == "cpp":
        places = list(DECIMAL.finditer(source))
        if not places:
            return source
        number = rng.choice(places)
        return f"{source[: number.start()]}{_scale_number(number[0], rng)}{source[number.end() :]}"
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
    except ValueError:
        # Complex or hexadecimal.
        return number


def complete_outline(source: str, rng: random.Random) -> str | None:
    """Complete an outline, a function whose body is ``...``, so that it returns one of its arguments."""
    body = OUTLINED.search(source)
    if body is None:
        return None
    header = source.partition("\n")[0]
    names = re.findall(r"(\w+): np\.ndarray", header) or re.findall(r"[(,]\s*(\w+)", header)
    if names:
        return f"{source[: body.start()]}{body[1]}return 1.0 * {rng.choice(names)}\n"
    return None


def break_program(child: str) -> str:
    """Insert an undefined name into a program, so that it fails when it runs."""
    return fenced_whole("", re.sub(r"^( +)return (?=\S)", r"\1return unknown_scale * ", child, flags=re.MULTILINE))


def fenced_whole(parent: str, child: str) -> str:
    """Write the whole program in a fenced block."""
    return fence_text(child.strip(), language_tag(child))


def fenced_edit(parent: str, child: str) -> str:
    """Write SEARCH/REPLACE edits from one program to another. Without a change, write an edit of the first line."""
    old, new = parent.strip("\n").split("\n"), child.strip("\n").split("\n")
    changes = [code for code in difflib.SequenceMatcher(None, old, new).get_opcodes() if code[0] != "equal"]
    blocks = [_write_edit(old[max(i - 1, 0) : j], new[max(k - 1, 0) : m]) for _, i, j, k, m in changes]
    return "\n".join(blocks or [_write_edit(old[:1], old[:1])])


def _write_edit(old: list[str], new: list[str]) -> str:
    return "\n".join(["<<<<<<< SEARCH", *old, "=======", *new, ">>>>>>> REPLACE"])


# Styles of replies; equal entries make a style more frequent.
STYLES: tuple[Callable[[str, str], str], ...] = (
    fenced_whole,
    fenced_whole,
    lambda parent, child: f"I changed one thing:\n\n```\n{child}\n```\nIt should weigh near nodes more.",
    lambda parent, child: child,
    lambda parent, child: f"The parent was\n```python\n{parent}\n```\nand mine is\n```py\n{child}\n```\n",
    lambda parent, child: (
        f"<think>\nWhich constant matters?\n```python\ndef draft(\n```\n</think>\n```python\n{child}\n```"
    ),
    fenced_edit,
    fenced_edit,
    lambda parent, child: f"```python\n{child[: child.rindex('(') + 1]}",
    lambda parent, child: "",
)


# Function that varies a program, given a seed and expressions from a prompt.
Breeder = Callable[[str, int, Sequence[str]], str]


def make_player(seed: int, breed: Breeder | None = None) -> Scripted:
    """Return a model that answers every role, with variations of the programs in a prompt and with prose.

    Replies have various styles, and some are faulty or empty, as with real models. They depend on the seed, the prompt
    and the key of the call, not on the order of calls. If a call has no key, they depend on how often that prompt was
    sent. ``breed`` varies a program; without it, one number of the program changes.
    """
    return Scripted(_Player(seed, breed), name="scripted-varied")


class _Player:
    def __init__(self, seed: int, breed: Breeder | None) -> None:
        self._seed, self._breed = seed, breed
        self._seen: Counter[str] = Counter()

    def __call__(self, request: Request, number: int) -> str:
        messages, role, name = request.messages, request.role, request.key
        prompt = "\n\n".join(f"{message.role}: {message.content}" for message in messages)
        self._seen[prompt] += not name
        # The seed is a text, so that equal prompts get equal random numbers in any order of calls.
        rng = random.Random(f"{self._seed} {name or self._seen[prompt]} {prompt}")
        played = requested_role(messages) if role in ("repair", "idea") else role
        parts = count_parts(messages[-1].content)
        if played == "idea" and not parts:
            return write_ideas(prompt, rng)
        blocks = QUOTED.findall(messages[-1].content)
        programs = _quoted_programs(messages)
        if not programs or played in PROSE or any(word in played for word in ("reflect", "describe")):
            return rng.choice(REMARKS)
        first = complete_outline(programs[-1], rng)
        parent = first or programs[-1]
        for _ in range(FIRST_STEPS if first else 0):
            parent = self._vary_program(parent, blocks, rng)
        if parts and programs:
            children = [self._vary_program(parent, blocks, rng) for _ in range(parts)]
            return write_parts([rng.choice(STYLES)(parent, child) for child in children], rng)
        child = self._vary_program(parent, blocks, rng)
        if played == "experiment":
            return write_action(prompt, parent, child, rng)
        if played == "debug":
            return fenced_whole(parent, MENDED.sub("", parent) if rng.random() < 0.7 else child)
        if played in ("", "code"):
            if name and rng.random() < 0.15:
                return break_program(child)
            return rng.choice(STYLES)(parent, child)
        # Thought and code, the form that many strategies ask for.
        return f"{{{rng.choice(REMARKS)}}}\n\n{fenced_whole(parent, child)}"

    def _vary_program(self, parent: str, blocks: Sequence[str], rng: random.Random) -> str:
        if self._breed is None or rng.random() < 0.3:
            return with_new_number(parent, rng)
        return self._breed(parent, rng.getrandbits(32), blocks)


def _quoted_programs(messages: Sequence[Message]) -> list[str]:
    for message in reversed(messages):
        blocks = fenced_blocks(message.content)[0] if message.role != "assistant" else []
        programs = [block.text for block in blocks if "def " in block.text or language_tag(block.text) == "cpp"]
        if programs:
            return programs
    # A prompt that shows no program names the function to write.
    return [f"{header}\n    ..." for header in HEADER.findall(messages[-1].content)]

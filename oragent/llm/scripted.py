"""A model that needs no server: its replies are given beforehand, or made from the prompt."""

import asyncio
import io
import random
import tokenize
from collections import Counter
from collections.abc import Callable, Sequence

from oragent.llm.blocks import fenced_blocks
from oragent.llm.model import Message, Reply, estimate_tokens

__all__ = ["Scripted"]


class Scripted:
    """A deterministic stand-in for a model: free of charge, and one token for every four characters.

    Args:
        replies: the replies, taken in turn and over again; or a function of the messages and the number of the call,
            counted from 0.
        name: the name that its replies carry.
    """

    def __init__(
        self, replies: Sequence[str] | Callable[[Sequence[Message], int], str], name: str = "scripted"
    ) -> None:
        if not callable(replies) and not replies:
            raise ValueError("replies must not be empty.")
        self._replies = replies
        self._name = name
        self.calls = 0

    @classmethod
    def varied(cls, seed: int) -> "Scripted":
        """A model that answers a prompt's last fenced program with one number of it changed.

        Its replies come in changing styles, some of them broken or empty, as real ones do. They depend on the seed, the
        prompt, and how often that prompt was put, and not on the order of calls.
        """
        return cls(_Varied(seed), name="scripted-varied")

    async def __call__(self, messages: Sequence[Message], *, temperature: float | None = None) -> Reply:
        """Give the next reply; the temperature does not matter."""
        number, self.calls = self.calls, self.calls + 1
        await asyncio.sleep(0)  # let others run, as a real call would
        replies = self._replies
        text = replies(messages, number) if callable(replies) else replies[number % len(replies)]
        return Reply(
            text=text,
            model=self._name,
            tokens_in=sum(estimate_tokens(message.content) for message in messages),
            tokens_out=estimate_tokens(text),
            cost=0.0,
            seconds=0.0,
            retries=0,
        )


class _Varied:
    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._seen: Counter[str] = Counter()

    def __call__(self, messages: Sequence[Message], number: int) -> str:
        prompt = "\n\n".join(f"{message.role}: {message.content}" for message in messages)
        self._seen[prompt] += 1
        # Text seeds the standard generator alike on every machine, and needs no state beside the prompt.
        rng = random.Random(f"{self._seed} {self._seen[prompt]} {prompt}")
        programs = [block.text for block in fenced_blocks(messages[-1].content)[0] if "def " in block.text]
        if not programs:
            return rng.choice(REMARKS)
        parent = programs[-1]
        return rng.choice(STYLES)(parent, _with_new_number(parent, rng))


def _with_new_number(source: str, rng: random.Random) -> str:
    """``source`` with one of its numbers scaled; a whole number only where there is no other."""
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
    lines[row - 1] = lines[row - 1][:start] + _scaled(token.string, rng) + lines[row - 1][end:]
    return "\n".join(lines)


def _scaled(number: str, rng: random.Random) -> str:
    try:
        return str(int(number) + 1)
    except ValueError:
        pass
    try:
        return f"{float(number) * rng.uniform(0.5, 2.0):.4g}"
    except ValueError:  # complex, hexadecimal
        return number


def _fenced(parent: str, child: str) -> str:
    return f"```python\n{child}\n```"


def _untagged(parent: str, child: str) -> str:
    return f"I changed one constant:\n\n```\n{child}\n```\nIt should weigh near nodes more."


def _bare(parent: str, child: str) -> str:
    return child


def _two_blocks(parent: str, child: str) -> str:
    return f"The parent was\n```python\n{parent}\n```\nand mine is\n```py\n{child}\n```\n"


def _thoughtful(parent: str, child: str) -> str:
    return f"<think>\nWhich constant matters?\n```python\ndef draft(\n```\n</think>\n```python\n{child}\n```"


def _edit(parent: str, child: str) -> str:
    pairs = zip(parent.split("\n"), child.split("\n"), strict=True)
    old, new = next((pair for pair in pairs if pair[0] != pair[1]), (parent.split("\n")[0],) * 2)
    return f"<<<<<<< SEARCH\n{old}\n=======\n{new}\n>>>>>>> REPLACE"


def _cut(parent: str, child: str) -> str:
    return f"```python\n{child[: child.rindex('(') + 1]}"


def _empty(parent: str, child: str) -> str:
    return ""


STYLES = (_fenced, _fenced, _untagged, _bare, _two_blocks, _thoughtful, _edit, _edit, _cut, _empty)
REMARKS = (
    "Prefer short edges, but keep some weight on the next best ones.",
    "The constant that scales the penalty mattered most; change one thing at a time.",
    "A rule that looks at the two nearest neighbours generalised better than one that looks at all of them.",
)

"""A model that needs no server: its replies are given beforehand, or made from the prompt."""

import asyncio
import json
import random
import re
from collections import Counter
from collections.abc import Callable, Sequence

from oragent.llm.model import Message, Reply, Request, estimate_tokens
from oragent.llm.scripted_programs import MENDED, STYLES, begun, broken, fenced_edit, fenced_whole, with_new_number
from oragent.programs.blocks import fenced_blocks

__all__ = ["Breeder", "Scripted"]

Breeder = Callable[[str, int, Sequence[str]], str]  # varies a program, by a seed, perhaps with expressions of a prompt


class Scripted:
    """A deterministic stand-in for a model: free of charge, and one token for every four characters.

    Args:
        replies: the replies, taken in turn and over again; or a function of the request and the number of the call,
            counted from 0.
        name: the name that its replies carry.
    """

    def __init__(self, replies: Sequence[str] | Callable[[Request, int], str], name: str = "scripted") -> None:
        if not callable(replies) and not replies:
            raise ValueError("replies must not be empty.")
        self._replies = replies
        self._name = name
        self.calls = 0

    @classmethod
    def varied(cls, seed: int, breed: Breeder | None = None) -> "Scripted":
        """A model that plays every role: it answers with variations of the programs in a prompt, and with prose.

        Its replies come in changing styles, some of them broken or empty, as real ones do. They depend on the seed, the
        prompt and the name of the call, and not on the order of calls; where a call has no name, on how often that
        prompt was put.

        Args:
            seed: of all replies.
            breed: varies a program; without it, one number of the program changes.
        """
        return cls(_Varied(seed, breed), name="scripted-varied")

    async def __call__(self, request: Request, /) -> Reply:
        """Give the next reply; the temperature does not matter."""
        number, self.calls = self.calls, self.calls + 1
        await asyncio.sleep(0)  # let others run, as a real call would
        replies = self._replies
        text = replies(request, number) if callable(replies) else replies[number % len(replies)]
        return Reply(
            text=text,
            tokens_in=sum(estimate_tokens(message.content) for message in request.messages),
            tokens_out=estimate_tokens(text),
            money=0.0,
            seconds=0.0,
            model=self._name,
        )


class _Varied:
    def __init__(self, seed: int, breed: Breeder | None) -> None:
        self._seed, self._breed = seed, breed
        self._seen: Counter[str] = Counter()

    def __call__(self, request: Request, number: int) -> str:
        messages, role, name = request.messages, request.role, request.key
        prompt = "\n\n".join(f"{message.role}: {message.content}" for message in messages)
        self._seen[prompt] += not name
        # Text seeds the standard generator alike on every machine, and needs no state beside the prompt.
        rng = random.Random(f"{self._seed} {name or self._seen[prompt]} {prompt}")
        played = _role(role, messages)
        if played == "idea":
            return _ideas(prompt, rng)
        blocks = QUOTED.findall(messages[-1].content)
        programs = _programs(messages)
        if not programs or played in PROSE or any(word in played for word in ("reflect", "describe")):
            return rng.choice(REMARKS)
        first = begun(programs[-1], rng)
        parent = first or programs[-1]
        for _ in range(FIRST_STEPS if first else 0):
            parent = self._varied(parent, blocks, rng)
        child = self._varied(parent, blocks, rng)
        if played == "experiment":
            return _experiment(prompt, parent, child, rng)
        if played == "debug":
            return fenced_whole(parent, MENDED.sub("", parent) if rng.random() < 0.7 else child)
        if played in ("", "code"):
            return broken(child) if name and rng.random() < 0.15 else rng.choice(STYLES)(parent, child)
        return f"{{{rng.choice(REMARKS)}}}\n\n{fenced_whole(parent, child)}"  # thought and code, as many methods want

    def _varied(self, parent: str, blocks: Sequence[str], rng: random.Random) -> str:
        if self._breed is None or rng.random() < 0.3:
            return with_new_number(parent, rng)
        return self._breed(parent, rng.getrandbits(32), blocks)


def _role(role: str, messages: Sequence[Message]) -> str:
    """The role that a prompt asks for; a repair, which shows the refused reply, asks for the same again."""
    if role != "repair":
        return role
    for word, asked in (("JSON list", "idea"), ("ACTION:", "experiment")):
        if word in messages[-1].content:
            return asked
    return "code"


def _programs(messages: Sequence[Message]) -> list[str]:
    """The fenced programs of the latest message that shows any; of what the model itself said, none."""
    for message in reversed(messages):
        blocks = fenced_blocks(message.content)[0] if message.role != "assistant" else []
        programs = [block.text for block in blocks if "def " in block.text]
        if programs:
            return programs
    return []


def _ideas(prompt: str, rng: random.Random) -> str:
    """As many ideas as the prompt wants, in a list that is now and then cut off, or in prose."""
    wanted = re.search(r"exactly (\d+)", prompt)
    count = int(wanted[1]) if wanted else 2
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
    return f"Here are my ideas:\n```json\n{text}\n```" if kind < 0.6 else text


def _experiment(prompt: str, parent: str, child: str, rng: random.Random) -> str:
    """One action: mostly an edit, sometimes a tuning, a probe or the end, sometimes nothing that can be used."""
    thought = f"THOUGHT: {rng.choice(REMARKS)}\n"
    kind = rng.random()
    names = re.findall(r"^(c\d+) = ", prompt, re.MULTILINE)
    if kind < 0.1 and names:
        return f"{thought}ACTION: TUNE\n{rng.choice(names)} 0.2 5.0\n"
    if kind < 0.2:
        probe = re.sub(r"^( +)return ", r'\1print("probe", 1)\n\1return ', parent, count=1, flags=re.MULTILINE)
        return f"{thought}ACTION: PROBE\n{fenced_whole(parent, probe)}"
    if kind < 0.35:
        return f"{thought}ACTION: STOP"
    if kind < 0.42:
        return "I would look at the figures first."
    write = fenced_edit if rng.random() < 0.6 else fenced_whole
    return f"{thought}ACTION: EDIT\n{write(parent, child)}"


FIRST_STEPS = 3  # variations that turn the plainest program into a first one
PROSE = ("lead", "reflect")
QUOTED = re.compile(r"`([^`\n]+)`")
REMARKS = (
    "Prefer short edges, but keep some weight on the next best ones.",
    "The constant that scales the penalty mattered most; change one thing at a time.",
    "A rule that looks at the two nearest neighbours generalised better than one that looks at all of them.",
)
IDEAS = (
    ("steeper", "Raise the main term to a higher power, such as `x ** 2`, so that good choices stand out."),
    ("flatter", "Take the square root of the main term, so that the choice stays open longer."),
    ("relative", "Divide the main term by its mean along the row, so that scales do not matter."),
    ("penalty", "Subtract a small constant times the square of the rest, so that extremes are avoided."),
    ("threshold", "Give a bonus where the main term is within 10 % of the best."),
    ("decay", "Multiply by `np.exp(-x / 10)`, so that far options fade out smoothly."),
)

"""A scripted model that plays every strategy's roles: no server, no key, and replies as odd as real ones."""

import random
from collections import Counter
from collections.abc import Callable, Sequence

from oragent.llm.model import Message, Request
from oragent.llm.scripted import Scripted
from oragent.programs.blocks import fenced_blocks, language_tag
from oragent.search.strategies.or_agent.scripted import (
    PROSE,
    count_parts,
    repaired_role,
    write_action,
    write_ideas,
    write_parts,
)
from oragent.search.strategies.scripted_programs import (
    MENDED,
    QUOTED,
    REMARKS,
    STYLES,
    break_program,
    complete_outline,
    fenced_whole,
    with_new_number,
)

Breeder = Callable[[str, int, Sequence[str]], str]  # varies a program, by a seed, perhaps with expressions of a prompt
FIRST_STEPS = 3  # variations that turn the plainest program into a first one


def make_player(seed: int, breed: Breeder | None = None) -> Scripted:
    """A model that plays every role: it answers with variations of the programs in a prompt, and with prose.

    Its replies come in changing styles, some of them broken or empty, as real ones do. They depend on the seed, the
    prompt and the key of the call, and not on the order of calls; where a call has no key, on how often that prompt was
    put.

    Args:
        seed: Seed of all replies.
        breed: Function that varies a program; without it, one number of the program changes.
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
        # Text seeds the standard generator alike on every machine, and needs no state beside the prompt.
        rng = random.Random(f"{self._seed} {name or self._seen[prompt]} {prompt}")
        played = repaired_role(messages) if role == "repair" else role
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
            return break_program(child) if name and rng.random() < 0.15 else rng.choice(STYLES)(parent, child)
        return f"{{{rng.choice(REMARKS)}}}\n\n{fenced_whole(parent, child)}"  # thought and code, as many methods want

    def _vary_program(self, parent: str, blocks: Sequence[str], rng: random.Random) -> str:
        if self._breed is None or rng.random() < 0.3:
            return with_new_number(parent, rng)
        return self._breed(parent, rng.getrandbits(32), blocks)


def _quoted_programs(messages: Sequence[Message]) -> list[str]:
    """The fenced programs of the latest message that shows any; of what the model itself said, none."""
    for message in reversed(messages):
        blocks = fenced_blocks(message.content)[0] if message.role != "assistant" else []
        programs = [block.text for block in blocks if "def " in block.text or language_tag(block.text) == "cpp"]
        if programs:
            return programs
    return []

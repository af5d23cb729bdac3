"""What a scripted model answers in the roles of ``or_agent``: ideas, experiments, and repairs of either."""

import json
import random
import re
from collections.abc import Sequence

from oragent.llm.model import Message
from oragent.search.strategies.scripted_programs import QUOTED, REMARKS, fenced_edit, fenced_whole

PROSE = ("lead", "reflect")  # roles that are answered without a program
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


def repaired_role(messages: Sequence[Message]) -> str:
    """The role that is asked again by a repair, which says what was wanted."""
    for word, role in (("JSON list", "idea"), ("ACTION:", "experiment")):
        if word in messages[-1].content:
            return role
    return "code"


def write_ideas(prompt: str, rng: random.Random) -> str:
    """As many ideas as the prompt wants, in a list that is now and then cut off, or in prose."""
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
    return f"Here are my ideas:\n```json\n{text}\n```" if kind < 0.6 else text


def write_action(prompt: str, parent: str, child: str, rng: random.Random) -> str:
    """One action: mostly an edit, sometimes a tuning, a probe or the end, sometimes nothing that can be used."""
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
    """Return the number of programs that one reply is to hold; 0 where the prompt asks for something else."""
    match = re.search(r"exactly (\d+)[^\n]* programs?\b", prompt)
    return int(match[1]) if match and "PROGRAM: its title" in prompt else 0


def write_parts(programs: Sequence[str], rng: random.Random) -> str:
    """A reply of several programs, each below its title; now and then one is left out."""
    titles = [f"PROGRAM: {rng.choice(IDEAS)[0]}\nIDEA: {rng.choice(REMARKS)}" for _ in programs]
    parts = [f"{title}\n{text}" for title, text in zip(titles, programs, strict=True) if rng.random() < 0.95]
    return "\n\n".join([f"LESSON: {rng.choice(REMARKS)}", *parts])

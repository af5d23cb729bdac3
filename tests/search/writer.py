"""A model for tests of strategies with one: it writes toy programs, with and without thoughts, and some of no use."""

import random
from collections.abc import Sequence

from oragent.llm.model import Message, Prompt, Reply

__all__ = ["Writer"]


class Writer:
    """Answers follow from the call's name and its prompt alone; prompts are kept by role."""

    def __init__(self) -> None:
        self.asked: list[Prompt] = []

    async def __call__(self, messages: Sequence[Message], *, temperature: float | None = None) -> Reply:
        assert isinstance(messages, Prompt)
        self.asked.append(messages)
        text = "\n".join(message.content for message in messages)
        rng = random.Random(f"{messages.name} {text}")
        return Reply(self._answer(text, rng), "writer", len(text) // 4, 20, None, 0.0, 0)

    def _answer(self, text: str, rng: random.Random) -> str:
        if "Python block" not in text:
            return f"Add {rng.randrange(90)} rather than multiply."
        number = rng.randrange(200)
        body = "1 / 0" if number < 10 else f"{number} - x * {rng.randrange(9)}"
        program = f"```python\ndef guess(x):\n    return {body}\n```"
        return rng.choice(
            [f"{{Take {number} off}}\n{program}"] * 6 + [f"Take {number}. Well.\n{program}", program, "No idea."]
        )

    def prompts(self, role: str) -> list[str]:
        """What was asked in a role, in the order of the calls: messages one below the other."""
        calls = sorted(
            (tuple(map(int, one.name.replace("/", ".").split("."))), one) for one in self.asked if one.role == role
        )
        return ["\n\n".join(f"--- {message.role}\n{message.content}" for message in one) for _, one in calls]

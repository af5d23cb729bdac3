"""A model for tests of strategies with one: it writes toy programs, with and without thoughts, and some of no use."""

import random

from oragent.llm.model import Reply, Request

__all__ = ["Writer"]


class Writer:
    """Answers follow from the call's name and its prompt alone; prompts are kept by role."""

    def __init__(self) -> None:
        self.asked: list[Request] = []

    async def __call__(self, request: Request) -> Reply:
        self.asked.append(request)
        text = "\n".join(message.content for message in request.messages)
        answer, length = self._answer(text, random.Random(f"{request.key} {text}")), len(text) // 4
        return Reply(answer, model="writer", tokens_in=length, tokens_out=20, money=None, seconds=0.0)

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
            (tuple(map(int, one.key.replace("/", ".").split("."))), one) for one in self.asked if one.role == role
        )
        return ["\n\n".join(f"--- {message.role}\n{message.content}" for message in one.messages) for _, one in calls]

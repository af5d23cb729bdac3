"""T-P-P: the agent changes the model through tools alone (Drossman et al. 2026, arXiv:2604.02666)."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from oragent.converse.agents import prompts
from oragent.converse.agents.agent import AgentAnswer, Asker, calls_of
from oragent.converse.tools import Toolbox
from oragent.llm.model import Message

ROLE = "agent"
MOST_ROUNDS = 15  # of tool calls in one turn
MOST_CALLS = 10  # in one reply
OUT_OF_ROUNDS = "No more calls in this turn: answer now, with what you have."


@dataclass
class ToolsAgent:
    """An agent with the problem in its prompt, tools in its hands and readable solutions.

    Attributes:
        asker: Asker of its language model.
        tools: Tools, and the model in force.
        temperature: Sampling temperature; None: the model's own.
        without: Parts of the prompt that are left out.
        name: Name of the design.
    """

    asker: Asker
    tools: Toolbox
    temperature: float | None = None
    without: frozenset[str] = frozenset()
    name: str = "T-P-P"
    messages: list[Message] = field(default_factory=list)

    def __post_init__(self) -> None:
        prompt = prompts.tools_prompt(self.tools.problem, self.tools.extended, self.without)
        self.messages = [Message("system", prompt)]

    async def answer(self, message: str) -> AgentAnswer:
        """Answer a message after as many tool calls as it takes, 15 rounds at most."""
        self.messages.append(Message("user", message))
        for _ in range(MOST_ROUNDS):
            reply = await self.asker.ask(ROLE, self.messages, self.temperature, self.tools.tools)
            response = calls_of(reply, self.messages, self.tools.tools)
            calls = response.tool_calls[:MOST_CALLS]
            self.messages.append(Message("assistant", response.content, calls))
            if not calls:
                return self._make_answer(response.content)
            results = [await asyncio.to_thread(self.tools, call) for call in calls]
            self.messages += _tool_messages(calls, results)
        self.messages.append(Message("user", OUT_OF_ROUNDS))
        reply = await self.asker.ask(ROLE, self.messages, self.temperature)
        self.messages.append(Message("assistant", reply.text))
        return self._make_answer(reply.text)

    def note(self, text: str) -> None:
        """Tell the agent what was done to its model by somebody else."""
        self.messages.append(Message("user", f"(The person changed the model directly: {text})"))

    def _make_answer(self, text: str) -> AgentAnswer:
        events, solved, calls = self.tools.taken()
        return AgentAnswer(text, events, solved, calls, self.tools.state)


def _tool_messages(calls: Sequence[object], results: Sequence[str]) -> list[Message]:
    return [Message("tool", result, tool_call_id=getattr(call, "id", ""))
            for call, result in zip(calls, results, strict=True)]  # fmt: skip

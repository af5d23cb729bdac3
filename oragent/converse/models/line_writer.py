"""Agent for a small language model: the JSON schema constrains its output to operations on the model, without prose."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from oragent._base.safe_load import parse_json
from oragent.converse.models.line_schema import MAX_LINES, lines_schema, write_lines
from oragent.converse.models.message_record import MessageRecord
from oragent.converse.models.model_agents import ROLE, LinesAgent
from oragent.converse.models.model_prompt import describe_model
from oragent.converse.models.workbench import Workbench
from oragent.converse.prompting import fill_template
from oragent.llm.dialogue import ReplyText
from oragent.llm.model import Message, Tool
from oragent.modelling.data.indexed import IndexedModel

# Maximum number of replies for one message: the first, and one after a refusal.
ATTEMPTS = 2
NO_LINE = "the reply has no line: expected a JSON object with lines"


class SchemaAsker(Protocol):
    """Sender of prompts whose replies follow a JSON schema."""

    async def ask(
        self,
        role: str,
        messages: Sequence[Message],
        temperature: float | None = None,
        tools: Sequence[Tool] = (),
        schema: Mapping[str, Any] | None = None,
    ) -> ReplyText:
        """Send a prompt to the model of a role."""


@dataclass
class LineWriter:
    """Turns a message into lines and shows their results; a refused line is returned once with the reason."""

    workbench: Workbench
    asker: SchemaAsker
    folder: Path

    async def answer(self, message: str) -> MessageRecord:
        """Answer a message with the results of the lines that the model writes."""
        model = self.workbench.model
        prompt = fill_template("line_writer", model=describe_model(self.workbench.session.study.base))
        schema = lines_schema(model)
        messages = [Message("system", prompt), Message("user", message)]
        agent = LinesAgent(self.workbench, self.folder)
        for _ in range(ATTEMPTS):
            reply = await self.asker.ask(ROLE, messages, 0.0, (), schema)
            lines = read_lines(reply.text, model)
            record = agent.answer("\n".join(lines))
            record = record.model_copy(update={"said": message, "note": record.note if lines else NO_LINE})
            if lines and not record.refused:
                break
            complaint = Message("user", f"Refused: {record.note}. Answer with other lines.")
            messages += [Message("assistant", reply.text[:2000]), complaint]
        return record


def read_lines(text: str, model: IndexedModel) -> list[str]:
    """Read the lines of a reply; empty if the reply is not an object of that form."""
    begin, end = text.find("{"), text.rfind("}")
    try:
        operations = parse_json(text[begin : end + 1])["lines"]
    except (ValueError, KeyError, TypeError):
        return []
    return list(write_lines(operations, model))[:MAX_LINES]

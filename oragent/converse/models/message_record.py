"""Records of messages, from which a conversation can be resumed."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from oragent.converse.models.result_text import markdown_result
from oragent.modelling.operations.results import AnyResult
from oragent.modelling.references.answer_text import AnswerPart, plain_answer


class MessageRecord(BaseModel):
    """A message of a person, what was done for it, and the answer."""

    model_config = ConfigDict(extra="forbid", frozen=True, ser_json_inf_nan="strings")
    said: str
    # Answer of a language model with evaluated references.
    parts: tuple[AnswerPart, ...] = ()
    # Answer with its references, as the language model wrote it.
    raw: str = ""
    # Answer of the program itself, such as a table of scenarios or the reason of a refusal.
    note: str = ""
    results: tuple[Annotated[AnyResult, Field(discriminator="kind")], ...] = ()
    # Number of refused lines.
    refused: int = 0
    # Changes in force after the message, and named scenarios with their changes.
    changes: tuple[str, ...] = ()
    scenarios: dict[str, tuple[str, ...]] = {}
    # Changes that `keep` would put in force; None without a trial.
    trial: tuple[str, ...] | None = None
    # Number of messages that the message undid.
    undone: int = 0
    # Line that needs a label, after a question to the user, and its ambiguous name.
    pending: tuple[str, str] | None = None

    @property
    def text(self) -> str:
        """Answer as plain text."""
        return "\n".join(text for text in (plain_answer(self.parts), self.note) if text)

    def markdown(self) -> str:
        """Return the message as Markdown: user text, answer, and each operation with its result."""
        quoted = "\n".join(f"> {line}" for line in self.said.splitlines() or [""])
        return "\n\n".join(part for part in (quoted, self.text, *map(markdown_result, self.results)) if part)

"""Options of commands that may ask a language model."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import typer

from oragent.cli.options import ModelFile
from oragent.llm.model_settings import RuntimeWords


@dataclass(frozen=True)
class LanguageModel:
    """Options of commands that may ask a language model."""

    model: Annotated[str, typer.Option(help="Model name, asked at OPENAI_BASE_URL with OPENAI_API_KEY.")] = ""
    config: ModelFile = None
    calls: Annotated[int | None, typer.Option(min=1, help="Budget: calls of the model.")] = None

    def name_settings(self, words: Sequence[str] | None, **more: object) -> RuntimeWords:
        """Return the settings of model and budget, with those of the command line and further ones of the model."""
        named = {f"model.{name}": value for name, value in more.items()}
        named |= {"model.name": self.model or None, "budget.model_calls": self.calls}
        return RuntimeWords(tuple(words or ()), named, self.config)

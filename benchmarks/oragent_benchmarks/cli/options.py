"""Options that several benchmarks share."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from oragent.cli.options import ModelFile, ReplySeconds, ReplyTokens
from oragent.cli.spending import Yes, make_confirm
from oragent.llm.estimates import SpendingEstimate
from oragent.llm.model_settings import RuntimeWords
from oragent.sandbox.limits import count_processors

Seeds = Annotated[int, typer.Option(min=1, help="Number of seeds, from 0.")]
LabelsReadable = Annotated[
    bool | None, typer.Option("--labels-readable", help="Run even if programs could read the labels.")
]
BenchFolder = Annotated[Path, typer.Option(help="Folder of the benchmark; given alone: continue it.")]


@dataclass(frozen=True)
class ModelCalls:
    """Options of benchmarks that ask language models."""

    config: ModelFile = None
    calls: Annotated[int | None, typer.Option(min=1, help="Budget: calls of models, a contestant.")] = None
    reply_tokens: ReplyTokens = None
    timeout_s: ReplySeconds = None
    yes: Yes = False

    def name_settings(self, words: Sequence[str] | None, **more: object) -> RuntimeWords:
        """Return the settings of models and budget of the command line, and further ones."""
        return RuntimeWords(tuple(words or ()), {"budget.model_calls": self.calls, **more}, self.config)

    @property
    def reply_limits(self) -> dict[str, float | None]:
        """Limits of a reply among the settings of a benchmark; None means the default."""
        return {"max_tokens": self.reply_tokens, "timeout_s": self.timeout_s}

    @property
    def confirm(self) -> Callable[[SpendingEstimate, float], None]:
        """Function that asks before much money is spent."""
        return make_confirm(yes=self.yes)


def bench_workers(cases: str) -> Any:
    """Return the option for the number of cases that run at the same time; 0 becomes a number here."""
    text = f"{cases} at once; 0 is as many as there are cores."
    return typer.Option(min=0, help=text, callback=_count_workers)


def _count_workers(workers: int) -> int:
    return workers or count_processors()

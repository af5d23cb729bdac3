"""What a run's folder would have the engine do that its user never asked for: run code, send keys, connect."""

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from oragent.llm import keys
from oragent.llm.keys import Demand, expect_trusted, model_demands, quote_shortened
from oragent.search.config import Config

MOST_BYTES = 1 << 20  # of a strategy's file


def expect_trust(path: Path, config: Config, overrides: Sequence[str] = ()) -> None:
    """See that a run's folder asks for nothing that its user did not name, now or when the run began on this machine.

    Raises:
        UntrustedError: it does, naming what.
    """
    expect_trusted(path, _list_demands(config), overrides)


def remember_demands(config: Config) -> None:
    """Remember what the user named; without a place to write nothing is, and the user is asked again."""
    keys.remember_demands(_list_demands(config))


def _list_demands(config: Config) -> Iterator[Demand]:
    file = config.strategy.file or (config.strategy.name if config.strategy.name.endswith(".py") else None)
    if file:
        text = ""
        with suppress(OSError), Path(file).open("rb") as source:
            text = hashlib.sha256(source.read(MOST_BYTES)).hexdigest()
        yield Demand(f"to run the code in {quote_shortened(file)}", ("strategy", text), is_code=True)
    if config.cluster and not config.cluster.startswith("local"):
        yield Demand(f"to use the cluster {quote_shortened(config.cluster)}", ("cluster", config.cluster))
    yield from model_demands(filter(None, (config.model, *config.models.values(), *config.ensemble)))

"""What a person asks of a comparison."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Order"]


@dataclass(frozen=True)
class Order:
    """A comparison as it is asked for.

    Attributes:
        words: problems and settings.
        strategies: names with commas in between; None: the usual ones.
        seeds: how many; None: three.
        overrides: settings that have options of their own.
        config: a file of settings.
        outputs: the comparison's folder.
    """

    words: Sequence[str]
    strategies: str | None
    seeds: int | None
    overrides: Sequence[str]
    config: Path | None
    outputs: Path

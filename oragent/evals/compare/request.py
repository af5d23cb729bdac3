"""Request for a comparison."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class CompareRequest:
    """A comparison as it is asked for.

    Attributes:
        words: Problems and settings.
        strategies: Names with commas in between; None: the usual ones.
        seeds: How many; None: three.
        overrides: Settings that have options of their own.
        config: A file of settings.
        outputs: The comparison's folder.
        variants: Files of variants, or their keys: strategies with settings of their own.
    """

    words: Sequence[str]
    strategies: str | None
    seeds: int | None
    overrides: Sequence[str]
    config: Path | None
    outputs: Path
    variants: Sequence[Path | Mapping[str, Any]] = ()

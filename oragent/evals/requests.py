"""Requests of comparisons and studies."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class CompareRequest:
    """Request of a comparison."""

    # Problems and settings.
    words: Sequence[str]
    # Comma-separated names. None means the default strategies.
    strategies: str | None
    # Number of seeds. None means three.
    seeds: int | None
    # Settings that have separate options.
    overrides: Sequence[str]
    config: Path | None
    outputs: Path
    # Files or mappings of variants: strategies with their own settings.
    variants: Sequence[Path | Mapping[str, Any]] = ()
    # Strategy with which each other one is compared. None means all pairs.
    against: str | None = None

"""Request of the command ``bench formulate``."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class FormulateBenchRequest:
    """What the command line says.

    Attributes:
        sets: As for ``read_set``; empty goes on with what the folder holds.
        methods, models: Names.
        temperatures: Of every call, each one a contestant.
        ablations: Whether the published ablations take part.
        seeds: How many, from 0 on.
        settings: Preset, tolerance, limit on problems, and whether labels may be readable.
        workers: Problems at once.
        outputs: Folder of the benchmark.
    """

    outputs: Path
    sets: Sequence[str] = ()
    methods: Sequence[str] = ("ormind",)
    models: Sequence[str] = ()
    temperatures: Sequence[float] = (0.0,)
    ablations: bool = False
    seeds: int = 1
    settings: Mapping[str, Any] = field(default_factory=dict)
    workers: int = 1

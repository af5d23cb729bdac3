"""Requests of the benchmark commands."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from oragent.llm.estimates import SpendingEstimate
from oragent.llm.model_settings import RuntimeWords


@dataclass(frozen=True)
class BenchRequest:
    """Common part of the requests of all benchmark commands."""

    # Folder of the benchmark; an existing benchmark is resumed.
    outputs: Path
    workers: int = field(default=1, kw_only=True)
    # Settings of models and budget for all contestants, such as ``model.base_url=URL``.
    words: RuntimeWords = field(default_factory=RuntimeWords, kw_only=True)
    # Called with the expected cost and the limit above which to ask, before the first call of a model.
    confirm: Callable[[SpendingEstimate, float], None] = field(default=lambda estimate, limit: None, kw_only=True)


@dataclass(frozen=True)
class FormulateBenchRequest(BenchRequest):
    """Request of ``bench formulate``."""

    # Sets in the form of ``read_set``. Empty resumes the benchmark in the folder.
    sets: Sequence[str] = ()
    methods: Sequence[str] = ("ormind",)
    models: Sequence[str] = ()
    # Sampling temperatures; each one is a separate contestant.
    temperatures: Sequence[float] = (0.0,)
    ablations: bool = False
    # Number of seeds, counted from 0.
    seeds: int = 1
    # Preset, tolerance, limit on problems, budget, and whether generated programs may be able to read labels.
    settings: Mapping[str, Any] = field(default_factory=dict)

"""Requests of the commands that measure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from oragent.llm.model_settings import RuntimeWords


@dataclass(frozen=True)
class CompareRequest:
    """A comparison as it is asked for."""

    words: Sequence[str]  # problems and settings
    strategies: str | None  # names with commas in between; None: the usual ones
    seeds: int | None  # how many; None: three
    overrides: Sequence[str]  # settings that have options of their own
    config: Path | None
    outputs: Path
    # Files of variants, or their keys: strategies with settings of their own.
    variants: Sequence[Path | Mapping[str, Any]] = ()


@dataclass(frozen=True)
class BenchRequest:
    """What the benchmark commands of all products take."""

    outputs: Path  # folder of the benchmark; one that was begun is resumed
    workers: int = field(default=1, kw_only=True)
    # Settings of models and budget for all contestants, such as ``model.base_url=URL``.
    words: RuntimeWords = field(default_factory=RuntimeWords, kw_only=True)


@dataclass(frozen=True)
class FormulateBenchRequest(BenchRequest):
    """Request of ``bench formulate``."""

    sets: Sequence[str] = ()  # as for ``read_set``; empty goes on with what the folder holds
    methods: Sequence[str] = ("ormind",)
    models: Sequence[str] = ()
    temperatures: Sequence[float] = (0.0,)  # of every call, each one a contestant
    ablations: bool = False
    seeds: int = 1  # number of seeds, from 0
    # Preset, tolerance, limit on problems, budget, and whether labels may be readable.
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class StudyRequest:
    """Request for a table or figure of the study."""

    name: str
    scale: float  # share of the study's budget
    seeds: int  # number of runs of each contestant on each problem; the study has one
    problems: Sequence[str]  # some of its problems; empty: all
    overrides: Sequence[str]
    outputs: Path

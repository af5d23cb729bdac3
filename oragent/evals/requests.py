"""Requests of the commands that measure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from oragent.llm.model_settings import RuntimeWords


@dataclass(frozen=True)
class CompareRequest:
    """A comparison as it is asked for."""

    # problems and settings
    words: Sequence[str]
    # names with commas in between; None: the usual ones
    strategies: str | None
    # how many; None: three
    seeds: int | None
    # settings that have options of their own
    overrides: Sequence[str]
    config: Path | None
    outputs: Path
    # Files of variants, or their keys: strategies with settings of their own.
    variants: Sequence[Path | Mapping[str, Any]] = ()


@dataclass(frozen=True)
class BenchRequest:
    """What the benchmark commands of all products take."""

    # folder of the benchmark; one that was begun is resumed
    outputs: Path
    workers: int = field(default=1, kw_only=True)
    # Settings of models and budget for all contestants, such as ``model.base_url=URL``.
    words: RuntimeWords = field(default_factory=RuntimeWords, kw_only=True)


@dataclass(frozen=True)
class FormulateBenchRequest(BenchRequest):
    """Request of ``bench formulate``."""

    # as for ``read_set``; empty goes on with what the folder holds
    sets: Sequence[str] = ()
    methods: Sequence[str] = ("ormind",)
    models: Sequence[str] = ()
    # of every call, each one a contestant
    temperatures: Sequence[float] = (0.0,)
    ablations: bool = False
    # number of seeds, from 0
    seeds: int = 1
    # Preset, tolerance, limit on problems, budget, and whether labels may be readable.
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class StudyRequest:
    """Request for a table or figure of the study."""

    name: str
    # share of the study's budget
    scale: float
    # number of runs of each contestant on each problem; the study has one
    seeds: int
    # some of its problems; empty: all
    problems: Sequence[str]
    overrides: Sequence[str]
    outputs: Path

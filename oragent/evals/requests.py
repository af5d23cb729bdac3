"""Requests of the commands that measure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from oragent.llm.model_settings import RuntimeWords


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


@dataclass(frozen=True)
class BenchRequest:
    """What the benchmark commands of all products take.

    Attributes:
        outputs: Folder of the benchmark; one that was begun is resumed.
        workers: Cases at once.
        words: Settings of models and budget for all contestants, such as ``model.base_url=URL``.
    """

    outputs: Path
    workers: int = field(default=1, kw_only=True)
    words: RuntimeWords = field(default_factory=RuntimeWords, kw_only=True)


@dataclass(frozen=True)
class FormulateBenchRequest(BenchRequest):
    """Request of ``bench formulate``.

    Attributes:
        sets: As for ``read_set``; empty goes on with what the folder holds.
        methods, models: Names.
        temperatures: Of every call, each one a contestant.
        ablations: Whether the published ablations take part.
        seeds: Number of seeds, from 0.
        settings: Preset, tolerance, limit on problems, budget, and whether labels may be readable.
    """

    sets: Sequence[str] = ()
    methods: Sequence[str] = ("ormind",)
    models: Sequence[str] = ()
    temperatures: Sequence[float] = (0.0,)
    ablations: bool = False
    seeds: int = 1
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class StudyRequest:
    """Request for a table or figure of the study.

    Attributes:
        name: Name of the table or figure.
        scale: Share of the study's budget.
        seeds: Number of runs of each contestant on each problem; the study has one.
        problems: Some of its problems; empty: all.
        overrides: Settings of all runs.
        outputs: Folder of the study.
    """

    name: str
    scale: float
    seeds: int
    problems: Sequence[str]
    overrides: Sequence[str]
    outputs: Path

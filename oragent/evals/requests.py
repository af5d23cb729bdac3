"""Requests of the commands that measure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
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


@dataclass(frozen=True)
class FormulateBenchRequest:
    """What the command line says.

    Attributes:
        sets: As for ``read_set``; empty goes on with what the folder holds.
        methods, models: Names.
        temperatures: Of every call, each one a contestant.
        ablations: Whether the published ablations take part.
        seeds: Number of seeds, from 0.
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

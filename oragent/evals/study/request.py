"""Request for a table or figure of the study."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


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

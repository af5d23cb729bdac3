"""Findings of a check of a problem."""

from dataclasses import dataclass
from enum import StrEnum


class Level(StrEnum):
    """Severity of a finding."""

    OK = "ok"
    WARNING = "warning"  # it runs, but a search will do less well than it could
    FAILURE = "failure"  # it breaks the contract: mend it before a search


@dataclass(frozen=True)
class ContractFinding:
    """Result of one check.

    Attributes:
        level: Level of the finding: how bad it is.
        title: Title: what was looked at.
        detail: Detail: what came out, and what to do about it; a failure's may have several lines.
    """

    level: Level
    title: str
    detail: str


def make_finding(title: str, complaint: str, praise: str, level: Level = Level.FAILURE) -> ContractFinding:
    """Make a finding of ``level`` where there is a complaint, and a good one where that is empty."""
    return ContractFinding(level, title, complaint) if complaint else ContractFinding(Level.OK, title, praise)

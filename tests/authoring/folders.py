"""Reading the findings of a check."""

from collections.abc import Callable, Iterator

from oragent.authoring import ContractFinding, Level

Checked = Callable[..., Iterator[ContractFinding]]


def about(title: str, findings: Iterator[ContractFinding]) -> ContractFinding:
    """The finding of that title; what comes after it is not computed."""
    return next(finding for finding in findings if finding.title == title)


def complaints(findings: Iterator[ContractFinding]) -> list[tuple[Level, str]]:
    return [(finding.level, finding.title) for finding in findings if finding.level is not Level.OK]

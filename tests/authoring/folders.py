"""Reading the findings of a check."""

from collections.abc import Callable, Iterator

from oragent.authoring import Finding, Level

Checked = Callable[..., Iterator[Finding]]


def about(title: str, findings: Iterator[Finding]) -> Finding:
    """The finding of that title; what comes after it is not computed."""
    return next(finding for finding in findings if finding.title == title)


def complaints(findings: Iterator[Finding]) -> list[tuple[Level, str]]:
    return [(finding.level, finding.title) for finding in findings if finding.level is not Level.OK]

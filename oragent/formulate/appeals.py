"""Appeals against a checker: findings that the author of a program rejects with a citation of the problem."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from oragent._base.text_format import escape_text, one_line
from oragent.formulate.checks import Checked, CheckFinding

# Minimum number of characters and words of a cited sentence.
MIN_CITED, MIN_WORDS = 12, 3
COMMENT = re.compile(r"#\s*(.+)$", re.MULTILINE)
QUOTED = re.compile(r"[\"\u201c\u201e\u00ab]([^\"\u201d\u00bb]+)[\"\u201d\u00bb]")


@dataclass(frozen=True)
class Citation:
    """A sentence and its place in the problem.

    Attributes:
        line: Number of its first line; None if the problem does not have it.
    """

    sentence: str
    line: int | None

    @property
    def text(self) -> str:
        """The sentence with its place."""
        sentence = escape_text(one_line(self.sentence, 300)) or "no sentence"
        return f"\u201c{sentence}\u201d" + (
            f" (line {self.line})" if self.line is not None else " (not in the problem)"
        )


@dataclass(frozen=True)
class Dispute:
    """A finding on which the authors of program and checker insist, with the sentence that each names."""

    reason: str
    name: str
    finding: str
    checker: Citation
    program: Citation

    @property
    def text(self) -> str:
        """The dispute in one sentence."""
        finding = escape_text(one_line(self.finding, 300))
        return f"{finding} The checker reads {self.checker.text}; the program reads {self.program.text}"


def find_line(sentence: str, problem: str) -> int | None:
    """Return the number of the line of the problem where a sentence begins, or None if the problem lacks it."""
    words = re.findall(r"\w+", sentence)
    if not words:
        return None
    match = re.search(r"\W+".join(map(re.escape, words)), problem, re.IGNORECASE)
    return None if match is None else problem.count("\n", 0, match.start()) + 1


def find_citation(program: str, problem: str) -> Citation | None:
    """Return the last sentence of the problem that a comment of a program cites; None if no comment cites one."""
    for comment in reversed(COMMENT.findall(program)):
        for part in (*QUOTED.findall(comment), comment, comment.partition(":")[2]):
            sentence = part.strip()
            if len(sentence) >= MIN_CITED and len(sentence.split()) >= MIN_WORDS:
                line = find_line(sentence, problem)
                if line is not None:
                    return Citation(sentence, line)
    return None


def repeated_findings(earlier: Checked | None, now: Checked | None) -> list[CheckFinding]:
    """Return findings that a revision of the program left as they were."""
    before = {(finding.reason, finding.name) for finding in earlier.findings} if earlier else set()
    return [finding for finding in (now.findings if now else ()) if (finding.reason, finding.name) in before]


def list_disputes(findings: Sequence[CheckFinding], citation: Citation, problem: str) -> tuple[Dispute, ...]:
    """Return the disputes about findings on which the checker insists."""
    return tuple(
        Dispute(
            str(finding.reason),
            finding.name,
            finding.text,
            Citation(finding.sentence, find_line(finding.sentence, problem)),
            citation,
        )
        for finding in findings
    )


def read_dispute(plain: Mapping[str, Any]) -> Dispute:
    """Read a dispute from plain data."""
    sides = {side: Citation(**plain[side]) for side in ("checker", "program")}
    return Dispute(str(plain["reason"]), str(plain["name"]), str(plain["finding"]), **sides)

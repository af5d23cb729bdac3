"""Verdict on a formulation: checked, contradicted, unchecked, or no answer.

Status and checks together give one verdict. Terminal, page, ``result.json`` and exit code show the same verdict.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from oragent._base.text_format import escape_text, one_line
from oragent.formulate.appeals import Dispute
from oragent.formulate.checks import CheckStatus

MAX_REASONS = 20
AIM_NOT_COMPARED = "the checker says nothing of the most important aim, so that a better plan may exist"


class Verdict(StrEnum):
    """Verdict on the answer to a problem."""

    # An independent reading of the text agrees with the model and its solution.
    CHECKED = "checked"
    # A check of the text, or a metamorphic test, disagrees with the model or its solution.
    CONTRADICTED = "contradicted"
    # Program and checker read a sentence differently, and each insists.
    DISPUTED = "disputed"
    # The problem has a solution, which was not compared with the text.
    UNCHECKED = "unchecked"
    # No model was solved, or the status is not proven.
    NO_ANSWER = "no answer"

    @property
    def exit_code(self) -> int:
        """Exit code of the command: 0, 4, 6, 5 and 3 in the order of the members."""
        return EXIT_CODES[self]


EXIT_CODES = {
    Verdict.CHECKED: 0,
    Verdict.NO_ANSWER: 3,
    Verdict.CONTRADICTED: 4,
    Verdict.UNCHECKED: 5,
    Verdict.DISPUTED: 6,
}


@dataclass(frozen=True)
class Judgement:
    """A verdict and its reasons.

    Attributes:
        reasons: One sentence each; untrusted text, escaped.
    """

    verdict: Verdict
    reasons: tuple[str, ...] = ()


def decide_verdict(
    *,
    is_answer: bool,
    has_model: bool,
    message: str,
    checks: Mapping[str, Any] | None,
    properties: Sequence[Mapping[str, Any]] = (),
    disputes: Sequence[Dispute] = (),
) -> Judgement:
    """Decide the verdict on a result.

    Args:
        is_answer: Whether the status is proven, or the solution lies within the accepted gap.
        has_model: Whether a model was solved.
        message: Reason why there is no answer; may be empty.
        checks: Fields of ``Checked``; None if nothing was checked.
        properties: Fields of each ``PropertyResult``.
        disputes: Findings on which the authors of program and checker insist.
    """
    if not has_model:
        return Judgement(Verdict.NO_ANSWER, _sentences([message]))
    contradictions = [finding["text"] for finding in checks["findings"]] if checks else []
    failed = [result for result in properties if result["holds"] is False]
    disputed = {(dispute.reason, dispute.name) for dispute in disputes}
    rejected = {(finding["reason"], finding["name"]) for finding in checks["findings"]} if checks else set()
    if rejected and rejected <= disputed and not failed:
        return Judgement(Verdict.DISPUTED, tuple(dispute.text for dispute in disputes[:MAX_REASONS]))
    contradictions += [f"{result['property']}: {result['datum']} {result['note']}" for result in failed]
    if contradictions:
        return Judgement(Verdict.CONTRADICTED, _sentences(contradictions))
    if not is_answer:
        return Judgement(Verdict.NO_ANSWER, _sentences([message]))
    if checks is not None and checks["state"] == CheckStatus.PASSED and checks["compared"]:
        if checks.get("compared_aims") != 0:
            return Judgement(Verdict.CHECKED)
        return Judgement(Verdict.UNCHECKED, (AIM_NOT_COMPARED,))
    note = checks["note"] if checks else "no checker read the text"
    return Judgement(Verdict.UNCHECKED, _sentences([note]))


def _sentences(texts: Sequence[str]) -> tuple[str, ...]:
    return tuple(escape_text(one_line(text, 600)) for text in texts[:MAX_REASONS] if text)

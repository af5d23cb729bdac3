"""What an answer states that can be held against the problem."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum


class RemarkKind(StrEnum):
    """What an answer may state that can be held against the problem."""

    FIGURE = "figure"
    COMPARISON = "comparison"  # a direction, an order, or whether a row binds
    IMPOSSIBLE = "impossible"  # that something cannot be had
    PROSE = "prose"  # nothing that can be recomputed


class ClaimStatus(StrEnum):
    """What a statement is worth."""

    TRUE = "true"
    FALSE = "false"
    UNKNOWN = "unknown"  # a supposition, or not understood


@dataclass(frozen=True)
class AnswerRemark:
    """Something that an answer states.

    Attributes:
        text: Words of it, a stranger's, with what shows that it is false where there is something to show.
    """

    kind: RemarkKind
    standing: ClaimStatus
    text: str


MOST_WRONG, MOST_UNKNOWN = 10, 3


def describe_remarks(remarks: Sequence[AnswerRemark]) -> tuple[str, ...]:
    """Return what a person is told of the checks of an answer: how many hold, what is wrong, what is not checked."""
    stated = [remark for remark in remarks if remark.kind is not RemarkKind.PROSE]
    wrong, unknown = ([remark.text for remark in stated if remark.standing is standing]
                      for standing in (ClaimStatus.FALSE, ClaimStatus.UNKNOWN))  # fmt: skip
    right, prose = len(stated) - len(wrong) - len(unknown), len(remarks) - len(stated)
    lines = [f"WRONG by the model: {text}" for text in wrong[:MOST_WRONG]]
    lines += [f"WRONG by the model: {len(wrong) - MOST_WRONG} more statements"] if len(wrong) > MOST_WRONG else []
    lines += [f"not checked: {text}" for text in unknown[:MOST_UNKNOWN]]
    rest = len(unknown) - len(unknown[:MOST_UNKNOWN]) + prose
    lines += [f"not checked: {rest} more sentence{'s' if rest > 1 else ''}"] if rest else []
    return (
        *lines,
        f"checked by the model: {right} statement{'s' if right != 1 else ''} hold{'s' if right == 1 else ''}",
    )

"""What an answer states that can be held against the problem."""

from dataclasses import dataclass
from enum import StrEnum


class RemarkKind(StrEnum):
    """What an answer may state that can be held against the problem."""

    FIGURE = "figure"
    IMPOSSIBLE = "impossible"  # that something cannot be had


class ClaimStatus(StrEnum):
    """What a statement is worth."""

    TRUE = "true"
    FALSE = "false"
    UNKNOWN = "unknown"  # a supposition, or not understood


@dataclass(frozen=True)
class AnswerRemark:
    """Something that an answer states.

    Attributes:
        kind: Kind of statement.
        standing: Whether it is so.
        text: Words of it, a stranger's, with what shows that it is false where there is something to show.
    """

    kind: RemarkKind
    standing: ClaimStatus
    text: str

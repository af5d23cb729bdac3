"""Recorded model calls: stored before they are used, within a budget, replayable and resumable."""

from oragent.ledger.case import CaseContext, Interrupted, LedgerCase
from oragent.ledger.replies import RecordedReply, ReplayModel, Replies
from oragent.ledger.study import FinishedCase, Study

__all__ = [
    "CaseContext",
    "FinishedCase",
    "Interrupted",
    "LedgerCase",
    "RecordedReply",
    "ReplayModel",
    "Replies",
    "Study",
]

"""Ledgers: what models were asked and what came of it, written before anyone reads it; budgeted, replayed, resumed."""

from oragent.ledger.case import CaseContext, Interrupted, LedgerCase
from oragent.ledger.replaying import Replaying
from oragent.ledger.replies import RecordedReply, Replies
from oragent.ledger.study import Finished, Study

__all__ = ["CaseContext", "Finished", "Interrupted", "LedgerCase", "RecordedReply", "Replaying", "Replies", "Study"]

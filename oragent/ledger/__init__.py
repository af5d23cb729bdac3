"""Ledgers: what models were asked and what came of it, written before anyone reads it; budgeted, replayed, resumed."""

from oragent.ledger.case import Case, Desk, Interrupted
from oragent.ledger.replaying import Replaying
from oragent.ledger.replies import RecordedReply, Replies
from oragent.ledger.study import Finished, Study

__all__ = ["Case", "Desk", "Finished", "Interrupted", "RecordedReply", "Replaying", "Replies", "Study"]

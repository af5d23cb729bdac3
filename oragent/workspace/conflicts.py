"""Conflicts of infeasible models in words: first what would mend them, then which parts cannot hold together."""

import time
from collections.abc import Iterator

from oragent.milp.explanation import Topic, explain_infeasible
from oragent.milp.model import Milp

CONFLICT_S = 20.0
MOST_PARTS = 20  # lines of a remedy, and of a conflict
TRIAL = "what is asked for"  # name of the row that a question adds


def describe_conflict(milp: Milp, most_s: float | None = None) -> Iterator[str]:
    """Describe changes of right-hand sides that would do, and the rows and bounds that cannot hold together.

    Args:
        milp: An infeasible model.
        most_s: Seconds after which no further remark is looked for; None for no such limit.
    """
    is_trial = any(row.name == TRIAL for row in milp.rows)  # no right-hand side is to be mended for it
    until = None if most_s is None else time.monotonic() + most_s
    remarks = []
    for remark in explain_infeasible(milp, CONFLICT_S if most_s is None else min(CONFLICT_S, most_s)):
        remarks.append(remark)
        if until is not None and time.monotonic() > until:
            break
    remedy = [remark.text for remark in remarks if remark.topic is Topic.NEAREST and not is_trial]
    parts = [remark.text for remark in remarks if remark.topic is not Topic.NEAREST]
    for texts, word in ((remedy, "changes"), (parts, "parts of the conflict")):
        yield from (f"- {text}" for text in texts[:MOST_PARTS])
        if len(texts) > MOST_PARTS:
            yield f"- and {len(texts) - MOST_PARTS} more {word}"

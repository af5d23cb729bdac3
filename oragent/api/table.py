"""The candidates of a run as rows of a table; ``docs/python.md`` says what the columns are."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from oragent.ledger import RecordedReply
from oragent.report.run import RunData
from oragent.search.candidate import Committed

COLUMNS = (
    "id", "round", "number", "island", "origin", "parents", "status", "score", "gain", "placed", "elapsed_s", "wall_s",
    "cpu_s", "queued_s", "peak_mb", "model", "tokens_in", "tokens_out", "money", "message", "fingerprint", "source",
)  # fmt: skip


def rows(data: RunData) -> tuple[list[str], list[dict[str, Any]]]:
    """The names of the columns, with one for each feature of the problem, and a row for each candidate, in order."""
    features = [f"feature_{axis.name}" for axis in data.about.axes]
    replies = {(reply.case, reply.branch, reply.call): reply for reply in data.replies}
    at = COLUMNS.index("placed")
    return [*COLUMNS[:at], *features, *COLUMNS[at:]], [_row(record, data, features, replies) for record in data.records]


def _row(
    record: Committed,
    data: RunData,
    features: Sequence[str],
    replies: Mapping[tuple[str, str, int], RecordedReply],
) -> dict[str, Any]:
    candidate, found = record.candidate, record.candidate.evaluation
    number = int(record.id.partition(".")[2])
    reply = None if candidate.call is None else replies.get((str(record.round), candidate.branch, candidate.call))
    scored = found.score is not None
    return {
        "id": record.id,
        "round": record.round,
        "number": number,
        "island": candidate.island,
        "origin": candidate.origin,
        "parents": candidate.parents,
        "status": str(found.status),
        "score": found.score if scored else math.nan,
        "gain": data.gain_of(found.score).amount if scored else math.nan,
        **dict(zip(features, found.features or [None] * len(features), strict=False)),
        "placed": record.placed,
        "elapsed_s": record.elapsed_s,
        **{name: getattr(found, name) for name in ("wall_s", "cpu_s", "queued_s", "peak_mb")},
        "model": reply.model if reply else None,
        "tokens_in": reply.tokens_in if reply else 0,
        "tokens_out": reply.tokens_out if reply else 0,
        "money": reply.money if reply and reply.money is not None else math.nan,
        "message": found.message,
        "fingerprint": candidate.fingerprint,
        "source": candidate.source,
    }

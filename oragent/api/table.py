"""The candidates of a run as rows of a table; ``docs/python.md`` describes the columns."""

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


def make_rows(data: RunData) -> tuple[list[str], list[dict[str, Any]]]:
    """Return the names of the columns, one for each feature included, and a row for each candidate, in order."""
    features = [f"feature_{axis.name}" for axis in data.about.axes]
    replies = {(reply.case, reply.branch, reply.call): reply for reply in data.replies}
    at = COLUMNS.index("placed")
    return [*COLUMNS[:at], *features, *COLUMNS[at:]], [
        _make_row(record, data, features, replies) for record in data.records
    ]


def _make_row(
    record: Committed,
    data: RunData,
    features: Sequence[str],
    replies: Mapping[tuple[str, str, int], RecordedReply],
) -> dict[str, Any]:
    candidate, evaluation = record.candidate, record.candidate.evaluation
    number = int(record.id.partition(".")[2])
    reply = None if candidate.call is None else replies.get((str(record.round), candidate.branch, candidate.call))
    scored = evaluation.score is not None
    return {
        "id": record.id,
        "round": record.round,
        "number": number,
        "island": candidate.island,
        "origin": candidate.origin,
        "parents": candidate.parents,
        "status": str(evaluation.status),
        "score": evaluation.score if scored else math.nan,
        "gain": data.gain_of(evaluation.score).amount if scored else math.nan,
        **dict(zip(features, evaluation.features or [None] * len(features), strict=False)),
        "placed": record.placed,
        "elapsed_s": record.elapsed_s,
        **{name: getattr(evaluation, name) for name in ("wall_s", "cpu_s", "queued_s", "peak_mb")},
        "model": reply.model if reply else None,
        "tokens_in": reply.tokens_in if reply else 0,
        "tokens_out": reply.tokens_out if reply else 0,
        "money": reply.money if reply and reply.money is not None else math.nan,
        "message": evaluation.message,
        "fingerprint": candidate.fingerprint,
        "source": candidate.source,
    }

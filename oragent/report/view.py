"""Bounded contents of page and terminal: differences, descent, failures, costs and elites."""

import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from oragent._base.protocol import Status
from oragent.report.audit import BestAudit
from oragent.report.fresh import Sets
from oragent.report.pages import text as in_words
from oragent.report.pages.text import DiffLine, diff_texts
from oragent.report.run import RunData
from oragent.search.candidate import Committed, Elite

REWRITTEN = 0.8  # share of the best program's lines that are not the seed's, from which on it is a rewrite


@dataclass(frozen=True)
class ProgramDiff:
    """Two programs compared: the lines to be shown, and how many were left out."""

    lines: tuple[DiffLine, ...]
    left_out: int


@dataclass(frozen=True)
class FailureRow:
    """A way of failing.

    Attributes:
        status: Status with which the evaluations ended.
        number: Number of candidates.
        share: Share of all candidates, in [0, 1].
        message: Most frequent message.
        alike: Number of candidates that have that message.
        example: Id of the latest of them.
    """

    status: Status
    number: int
    share: float
    message: str
    alike: int
    example: str


@dataclass(frozen=True)
class EliteRow:
    """An elite in a table.

    Attributes:
        id: Id of the candidate.
        score: Score of the candidate; None for a failure.
        change: Gain on the seed, above 0 is better.
        islands: Islands where it was kept.
        cell: Features of the candidate, its cell of the archive.
        size: Number of nodes of its syntax tree.
        origin: Operator of breeding, or model's role, that made it.
    """

    id: str
    score: float | None
    change: str
    islands: str
    cell: str
    size: str
    origin: str


def against_seed(data: RunData, lines: int = 300) -> ProgramDiff:
    """Compare the best program with the seed heuristic."""
    return ProgramDiff(*diff_texts(data.seed.candidate.source, data.best.candidate.source, lines))


def is_rewrite(data: RunData) -> bool:
    """Return whether hardly a line of the seed heuristic is left in the best program."""
    lines, _ = diff_texts(data.seed.candidate.source, data.best.candidate.source, sys.maxsize)
    new = sum(text.kind == "added" and bool(text.text[1:].strip()) for text in lines)
    line_count = sum(bool(text.strip()) for text in data.best.candidate.source.splitlines())
    return new >= REWRITTEN * line_count


def list_failures(data: RunData) -> tuple[FailureRow, ...]:
    """List the ways of failing, the most frequent first."""
    return tuple(_make_failure(status, group, data.spend.candidates) for status, group in data.failures.items())


def list_costs(data: RunData) -> tuple[tuple[str, str], ...]:
    """List name and value of each cost of the run."""
    spend, calls = data.spend, data.spend.calls
    probes = [("probes, which are none of them", f"{spend.probes:,}")] if spend.probes else []
    screened = [("of them ended before a full score", f"{spend.screened:,}")] if spend.screened else []
    audits = [("audits", str(data.audits))] if data.audits.number else []
    number, cpu_s = data.experiments
    sweeps = [
        ("sweeps and probes on training instances", f"{number:,} runs, {in_words.format_duration(cpu_s)} of CPU time")
    ]
    rows = [
        ("candidates", f"{spend.candidates:,}"),
        *screened,
        *probes,
        ("evaluations", f"{spend.evaluations:,}"),
        ("time", in_words.format_duration(spend.seconds)),
        ("CPU time of evaluations", in_words.format_duration(spend.cpu_s)),
        *audits,
        *(sweeps if number else []),
        (
            "median time of an evaluation",
            "–" if spend.wall_median_s is None else in_words.format_duration(spend.wall_median_s),
        ),
        ("evaluations an hour", "–" if spend.per_hour is None else f"{spend.per_hour:,.0f}"),
        ("model calls", f"{calls.number:,}"),
    ]
    if calls.number:
        rows.append(("tokens in, out", f"{calls.tokens_in:,}, {calls.tokens_out:,}"))
        rows.append(("money", in_words.format_money(calls.cost, calls.unpriced)))
    return tuple(rows)


def describe_trust(data: RunData) -> tuple[str, ...]:
    """List the evidence for the best program's score, in sentences."""
    return list_evidence(data.audit, data.sets, data.remarks)


def list_evidence(audit: BestAudit | None, sets: Sets | None, remarks: Sequence[str]) -> tuple[str, ...]:
    """List the sentences of an audit and of scores on other sets, and the remarks of the run."""
    return (*([audit.sentence] if audit else []), *(sets.sentences if sets else []), *remarks)


def list_elites(data: RunData, limit: int) -> tuple[tuple[EliteRow, ...], int]:
    """List the elites of all islands, each once, best first.

    Returns:
        At most ``most`` of them, and how many were left out.
    """
    homes: dict[str, list[int]] = {}
    for island, group in enumerate(data.islands):
        for record in group:
            homes.setdefault(record.id, []).append(island)
    ranked = [record for record in data.records if record.id in homes]
    ranked.sort(key=lambda record: -data.gain_of(record.candidate.evaluation.score).amount)
    rows = [_make_elite(data, record, homes[record.id]) for record in ranked[:limit]]
    return tuple(rows), len(ranked) - len(rows)


def _make_failure(status: Status, group: Sequence[Committed], candidates: int) -> FailureRow:
    message, alike = Counter(record.candidate.evaluation.message for record in group).most_common(1)[0]
    example = next(record.id for record in reversed(group) if record.candidate.evaluation.message == message)
    return FailureRow(status, len(group), len(group) / candidates, message, alike, example)


def _make_elite(data: RunData, record: Committed, islands: Sequence[int]) -> EliteRow:
    candidate, evaluation = record.candidate, record.candidate.evaluation
    share, nodes = data.gain_of(evaluation.score).share, Elite.of(record).length
    return EliteRow(
        id=record.id,
        score=evaluation.score,
        change="–" if share is None else f"{100 * share:+.2f} %",
        islands="all" if len(islands) == len(data.islands) > 1 else ", ".join(map(str, islands)),
        cell="–" if evaluation.features is None else ", ".join(map(str, evaluation.features)),
        size=f"{nodes:,}" if nodes else "–",
        origin=candidate.origin,
    )

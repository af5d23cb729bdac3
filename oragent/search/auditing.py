"""Audits: evaluate a program again, and put some of its decisions to guests that know one call's arguments alone.

A loop beside the candidate shows it the whole instance, so a program may decide by what it must not know. The best
program of a committed round is audited if it leads, while the search goes on; where it fails, it is withdrawn, and the
next best is audited. Its verdict takes effect at a fixed point: before the round is committed that is `lag` rounds
later, however long the audit takes. Which programs are audited depends on counts alone (`Scoring.audit_has_room`). So
any number of workers finds the same archive. Beginnings and withdrawals are stored with their rounds: a resumed or
replayed run repeats them. The winner of a run is audited at its end in any case.
"""

import asyncio
import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from oragent._base.plain import format_count
from oragent._base.protocol import Status
from oragent.evaluation import Evaluation
from oragent.search.archive import Archive
from oragent.search.candidate import Committed, Elite
from oragent.search.store import BEGUN, SETTLED, WITHDRAWN, AuditRow, Store

# relative difference of two scores up to which they are the same: sums on a GPU may round otherwise
SAME = 1e-9


def would_lead(source: str, evaluation: Evaluation, archive: Archive) -> bool:
    """Return whether a program would become the best of an archive."""
    if evaluation.score is None:
        return False
    challenger = Elite(id="", source=source, score=evaluation.score, features=evaluation.features, metrics={})
    return archive.best is None or archive.beats(challenger, archive.best)


def found_out(full: Evaluation, audit: Evaluation, hint: str = "") -> Evaluation | None:
    """Return the evaluation of a program that failed its audit, as a rejected one; None where it passed."""
    if audit.status is Status.OK:
        if math.isclose(audit.score or 0.0, full.score or 0.0, rel_tol=SAME):
            return None
        why = f"it got {full.score!r} first, and {audit.score!r} when it was evaluated again"
    elif audit.status is Status.REJECTED:
        why = audit.message
    else:
        why = f"the audit ended as {audit.status}: {audit.message}"
    message = f"audited, as it would have led: {why}{f'; {hint}' if hint else ''}"
    return replace(
        full, status=Status.REJECTED, score=None, features=None, message=message[:1000], traceback=audit.traceback
    )


Work = Callable[[Committed, int], Awaitable[Evaluation | None]]


@dataclass(frozen=True)
class PendingAudit:
    """Audit whose verdict has not taken effect."""

    # program that is audited
    record: Committed
    # number of the round before whose commitment the verdict takes effect
    due: int
    # task that returns the evaluation as a rejected program, or None
    task: asyncio.Task[Evaluation | None]


class AuditSchedule:
    """Audits of one run in the background.

    Verdicts take effect ``lag`` rounds later; with 0, rounds wait for their audits, and nothing is kept here. ``last``
    is the last committed round of a resumed run, -1 for a new one. ``work`` also gets the round in which the verdict is
    due.
    """

    def __init__(self, store: Store, lag: int, last: int, work: Work) -> None:
        self._store, self.lag, self._work = store, lag, work
        if lag:
            self._rows = store.background_audits()
        else:
            self._rows = []
        self._settled = max(last, int(store.meta(SETTLED) or -1))
        self._withdrawn = {row.fingerprint: row.round for row in self._rows if row.kind == WITHDRAWN}
        self._begun = {row.fingerprint for row in self._rows}
        # of the withdrawn ones
        self._effective: set[str] = set()
        self._pending: dict[str, PendingAudit] = {}

    def __str__(self) -> str:
        if not self._begun:
            return ""
        under_way, failed = len(self.under_way), len(self._effective)
        ended = len(self._begun) - under_way
        return (
            f"{format_count(ended, 'program')} audited, {failed or 'none'} withdrawn, {under_way or 'none'} under way"
        )

    @property
    def count(self) -> int:
        """Number of programs that were audited, or are, without those that failed."""
        return len(self._begun - self._withdrawn.keys())

    @property
    def under_way(self) -> list[str]:
        """Fingerprints of the programs whose audit has not ended; may be read in another thread."""
        return [name for name, pending in list(self._pending.items()) if not pending.task.done()]

    def is_recorded(self, number: int) -> bool:
        """Return whether an earlier sitting decided which audits began after a round."""
        return number < self._settled

    def has_begun(self, fingerprint: str) -> bool:
        """Return whether a program was audited, or is."""
        return fingerprint in self._begun

    def resume(self, records: dict[str, Committed]) -> None:
        """Begin after the seed's round, and begin the audits again that were under way when the run was ended."""
        self._begun |= self._store.audited_programs()
        for row in self._rows:
            undecided = row.kind == BEGUN and row.due > self._settled and row.fingerprint not in self._withdrawn
            if undecided and row.fingerprint in records:
                self._start(records[row.fingerprint], row.due)

    def begin(self, record: Committed, number: int) -> None:
        """Audit the program that leads after a round."""
        due = number + self.lag
        self._store.add_background_audit(AuditRow(number, due, BEGUN, record.candidate.fingerprint))
        self._begun.add(record.candidate.fingerprint)
        self._start(record, due)

    def _start(self, record: Committed, due: int) -> None:
        task = asyncio.ensure_future(self._work(record, due))
        self._pending[record.candidate.fingerprint] = PendingAudit(record, due, task)

    def recorded_withdrawals(self, number: int) -> list[str]:
        """Fingerprints of the programs that an earlier sitting withdrew before it committed a round."""
        return [fingerprint for fingerprint, at in self._withdrawn.items() if at == number]

    def withdrawn_later(self, number: int | None = None) -> list[str]:
        """Fingerprints that an earlier sitting withdrew, and that had a score when a round was committed, or now."""
        later = (name for name in self._withdrawn if name not in self._effective)
        if number is None:
            return [*later]
        return [name for name, at in self._withdrawn.items() if at > number]

    def mark_withdrawn(self, fingerprint: str) -> None:
        """Record that a program has no score any more."""
        self._effective.add(fingerprint)

    async def next_verdict(self, number: int | None) -> tuple[Committed, Evaluation | None] | None:
        """Wait for the next audit due before a round is committed: the program, and its rejection or None."""
        for fingerprint, pending in self._pending.items():
            if number is None or pending.due <= number:
                rejected = await asyncio.shield(pending.task)
                del self._pending[fingerprint]
                return pending.record, rejected
        return None

    def record_withdrawal(self, fingerprint: str, number: int) -> AuditRow:
        """Return the row by which a withdrawal is stored."""
        self._withdrawn[fingerprint] = number
        return AuditRow(number, number, WITHDRAWN, fingerprint)

    async def close(self) -> None:
        """End what is under way."""
        tasks = [pending.task for pending in self._pending.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

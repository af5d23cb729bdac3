"""Audits: evaluate a program again, and put some of its decisions to guests that know one call's arguments alone.

A loop beside the candidate shows it the whole instance, so a program may decide by what it must not know. When a round
is committed, the best of its programs is audited if it leads, while the search goes on (`search/background.py`); where
it fails, it is withdrawn, and the next best is audited. Which programs are audited depends on counts alone
(`Scoring.audit_has_room`), so it is the same at any number of workers. The winner of a run is audited at its end in any
case.
"""

import math
from dataclasses import dataclass, replace

from oragent._base.protocol import Status
from oragent.evaluation import Evaluation
from oragent.search.archive import Archive
from oragent.search.candidate import Elite

SAME = 1e-9  # relative difference of two scores up to which they are the same: sums on a GPU may round otherwise


@dataclass(frozen=True)
class Audits:
    """Cost of a run's audits."""

    number: int = 0  # number of programs that were audited
    failed: int = 0  # number of those that were rejected for it
    cpu_s: float = 0.0  # CPU seconds of the audits
    all_cpu_s: float = 0.0  # CPU seconds of all evaluations, the audits among them
    winner: str = ""  # what is known of the best program's own audit; empty where nothing is
    under_way: int = 0  # number of audits that began in the background and have not ended

    @property
    def share(self) -> float:
        """Share of the CPU time that went into audits, in [0, 1]."""
        return self.cpu_s / self.all_cpu_s if self.all_cpu_s > 0 else 0.0

    def __str__(self) -> str:
        programs = "1 program" if self.number == 1 else f"{self.number:,} programs"
        failed = f"{self.failed:,} of them rejected" if self.failed else "none rejected"
        winner = f"; {self.winner}" if self.winner else ""
        winner += f"; {self.under_way:,} under way" if self.under_way else ""
        return f"{programs} that would have led, {failed}; {100 * self.share:.1f} % of the CPU time{winner}"


def would_lead(source: str, evaluation: Evaluation, archive: Archive) -> bool:
    """Return whether a program would become the best of an archive."""
    if evaluation.score is None:
        return False
    challenger = Elite(id="", source=source, score=evaluation.score, features=evaluation.features, metrics={})
    return archive.best is None or archive.beats(challenger, archive.best)


def found_out(full: Evaluation, audit: Evaluation, hint: str = "") -> Evaluation | None:
    """Return the evaluation of a program that failed its audit, as a rejected one; None where it passed.

    ``full`` gave it its score; ``audit`` is the same again, with decisions put to guests; ``hint`` may say the reason.
    """
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

"""The archive of a run, placed again from its records."""

from collections import Counter
from collections.abc import Sequence

from oragent.errors import CandidateError, StoreError
from oragent.programs.syntax import length
from oragent.report.about import About
from oragent.search.archive import Archive, Elite
from oragent.search.store import Record

__all__ = ["replayed", "size"]


def replayed(about: About, records: Sequence[Record]) -> Archive:
    """Place again what was placed; the first one, the seed heuristic, began on every island.

    Migrations and resets are not in the records: what migrated stays where it was found, and nothing is forgotten.
    """
    placed = [record for record in records if record.placed in ("NEW", "IMPROVED")]
    count = max([about.islands, *(record.trial.island + 1 for record in placed)])
    archive = Archive(about.direction, count, about.population)
    alike = Counter(record.trial.evaluation.score for record in placed)
    for record in placed:
        elite = _elite(record, tied=alike[record.trial.evaluation.score] > 1)
        for island in [record.trial.island] if archive.best else range(count):
            archive.add(elite, island)
    return archive


def size(source: str) -> int | None:
    """Nodes of a program's syntax tree; None where this Python cannot read what another version wrote."""
    try:
        return length(source)
    except CandidateError:
        return None


def _elite(record: Record, tied: bool) -> Elite:
    found = record.trial.evaluation
    if found.score is None:
        raise StoreError(f"candidate {record.id} is in the archive without a score: the run's database is corrupted")
    nodes = (size(record.trial.source) or 0) if tied else 0  # it decides between equal scores alone, and it takes time
    return Elite(record.id, record.trial.source, found.score, found.features, found.metrics, nodes)

"""The archive of a run, as it was held at its end."""

from collections.abc import Collection, Sequence

from oragent._base.errors import StoreError
from oragent.report.about import About
from oragent.search.archive import Archive
from oragent.search.candidate import Committed
from oragent.search.history import ArchivePolicy, replay_archive


def replayed(about: About, records: Sequence[Committed], rounds: int, resets: Collection[int] = ()) -> Archive:
    """Place again what was placed, with all that migrated and was reset.

    Args:
        about: Configuration of the run.
        records: Every committed candidate, in order.
        rounds: Number of committed rounds.
        resets: Numbers of the rounds after which the clock had islands start anew.

    Raises:
        StoreError: if a candidate was placed without a score.
    """
    broken = next((record for record in records if record.placed and record.score is None), None)
    if broken:
        raise StoreError(f"candidate {broken.id} is in the archive without a score: the run's database is corrupted")
    tending = ArchivePolicy(
        direction=about.direction,
        islands=max([about.islands, *(record.candidate.island + 1 for record in records)]),
        population=about.population,
        migration_period=about.migration_period,
        reset_period=about.reset_period,
        resets=frozenset(resets),
        everywhere=about.everywhere,
        seed=about.seed,
    )
    return replay_archive(tending, records, rounds)

"""Archive of a run during the search: bins of measured features, resets by time, and placement."""

from collections.abc import Sequence
from dataclasses import replace

from oragent.evaluation.problem import Description
from oragent.search.archive import FIRST, AddStatus, Archive, Grid, replay_archive
from oragent.search.candidate import Candidate, Committed
from oragent.search.config import Config, archive_policy
from oragent.search.store import Store


class RunArchive:
    """Archive of a run and the rules of its updates.

    Attributes:
        archive: Archive of the committed rounds.
        resets: Numbers of the rounds after which islands were reset by time, with the run's seconds.
    """

    def __init__(self, config: Config, about: Description, store: Store) -> None:
        self._store = store
        self._period_s = config.archive.reset_s
        self.resets = store.resets()
        # Evaluators print bins, unless a feature is a measured number.
        measures = any(feature.kind == "number" for feature in about.features)
        grid = Grid.declared(about.features) if measures else None
        self._policy = replace(archive_policy(config, about.direction), grid=grid, resets=frozenset(self.resets))
        # Candidates that were committed before the bins of measured features were known.
        self._early: list[Committed] = []
        self.archive: Archive = self._policy.opened()

    @property
    def lacks_bins(self) -> bool:
        """True if the bins of measured features are not known yet."""
        return self.archive.grid is not None and not self.archive.grid.is_known

    def place(self, name: str, candidate: Candidate) -> AddStatus | None:
        """Add a candidate; return None for a probe or a failure."""
        return self._policy.place(self.archive, name, candidate)

    def tend(self, number: int) -> None:
        """Migrate and reset islands that are due after a round."""
        self._policy.tend(self.archive, number)

    def reset_by_clock(self, number: int, elapsed_s: float) -> bool:
        """Reset islands after this round if a reset is due by time. Record the reset, because a replay needs it.

        Returns:
            True if islands were reset.
        """
        since = max(self.resets.values(), default=0.0)
        if not self._period_s or elapsed_s - since < self._period_s:
            return False
        self.resets[number] = elapsed_s
        self._store.reset(number, elapsed_s)
        self._policy = replace(self._policy, resets=frozenset(self.resets))
        return True

    def choose_bins(self, number: int, records: Sequence[Committed]) -> None:
        """Choose the bins of measured features once enough candidates have a score, and rebuild the archive."""
        self._early += records
        solutions = [record.candidate for record in self._early if not record.candidate.is_probe]
        features = {
            candidate.fingerprint: candidate.evaluation.features
            for candidate in solutions
            if candidate.evaluation.features is not None
        }
        if len(features) < FIRST or self.archive.grid is None:
            return
        grid = self.archive.grid.chosen([*features.values()])
        self._policy = replace(self._policy, grid=grid)
        self.archive = replay_archive(self._policy, self._early, number + 1)
        self._early = []
        self._store.note("grid", grid.dumps())

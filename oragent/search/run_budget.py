"""Budget of a run: its bounds, its spending, the grants of rounds in flight, and the run's own clock."""

import time

from oragent._base.budget import Budget, Spent


class RunBudget:
    """Account of a run.

    Attributes:
        bounds: Bounds, which a user may change while the run goes on.
        spent: Spending of the committed rounds.
    """

    def __init__(self, bounds: Budget, elapsed_s: float, since: float | None = None) -> None:
        """Open the account of a run.

        Args:
            bounds: Bounds of the whole run.
            elapsed_s: Seconds that earlier sittings took.
            since: Reading of ``time.monotonic`` when this sitting began; None: now.
        """
        self.bounds = bounds
        self.spent = Spent(seconds=elapsed_s)
        if since is None:
            since = time.monotonic()
        self._begun = since - elapsed_s
        # what each round in flight may use, by its number
        self._granted: dict[int, Spent] = {}

    def elapsed_s(self) -> float:
        """Return the seconds of the run so far, without pauses."""
        return time.monotonic() - self._begun

    def exclude(self, seconds: float) -> None:
        """Leave out a pause from the run's own time."""
        self._begun += seconds

    def remaining(self) -> Spent:
        """Return the budget that is neither spent nor granted to a round in flight."""
        return self.bounds.remaining(self.spent, Spent().add_all(self._granted.values()))

    def allows_more(self) -> bool:
        """Return True if something is left that a further round may use."""
        return not Spent().reaches_any(self.remaining())

    def grant(self, number: int, places: int) -> Spent:
        """Grant a round an equal share of what remains for ``places`` rounds, and return it."""
        self._granted[number] = self.remaining().equal_part(0, places)
        return self._granted[number]

    def settle(self, number: int, used: Spent) -> None:
        """Add the spending of a committed round, and release its grant."""
        del self._granted[number]
        self.spent = self.spent + used
        self.spent = Spent(**{**vars(self.spent), "seconds": self.elapsed_s()})

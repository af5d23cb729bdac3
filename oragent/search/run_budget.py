"""Budget of a run: its limits, the used part, the shares of running rounds, and the run's own clock."""

import math
import time
from dataclasses import replace

from oragent._base.budget import Budget, Spent


class RunBudget:
    """Budget account of a run.

    Attributes:
        bounds: Limits of the run, which a user may change while it runs.
        spent: Budget used by the committed rounds.
    """

    def __init__(self, bounds: Budget, elapsed_s: float, since: float | None = None) -> None:
        """Open the account of a run.

        Args:
            bounds: Limits of the whole run.
            elapsed_s: Seconds of earlier sessions of this run.
            since: Value of ``time.monotonic`` at the start of this session; None means now.
        """
        self.bounds = bounds
        self.spent = Spent(seconds=elapsed_s)
        if since is None:
            since = time.monotonic()
        self._begun = since - elapsed_s
        # Budget granted to each running round, by its number, and the time at which it was granted.
        self._granted: dict[int, Spent] = {}
        self._granted_at: dict[int, float] = {}
        # Seconds of the shortest round with a model call; infinite before the first one.
        self._shortest_s = math.inf

    def elapsed_s(self) -> float:
        """Return the seconds of the run so far, without pauses."""
        return time.monotonic() - self._begun

    def exclude(self, seconds: float) -> None:
        """Exclude a pause from the run's own time."""
        self._begun += seconds

    def remaining(self) -> Spent:
        """Return the budget that is neither used nor granted to a running round."""
        return self.bounds.remaining(self.spent, Spent().add_all(self._granted.values()))

    def allows_more(self) -> bool:
        """Return True if some budget is left for a further round."""
        return not Spent().reaches_any(self.remaining())

    @property
    def lacks_time(self) -> bool:
        """True if less time is left than each round with a model call has taken so far."""
        bound_s = self.bounds.seconds
        return bound_s is not None and math.isfinite(self._shortest_s) and bound_s - self.elapsed_s() < self._shortest_s

    def grant(self, number: int, places: int, evaluation_work: float = 0.0) -> Spent:
        """Grant a round an equal share of the remaining budget, one of ``places``, and return it.

        Args:
            number: Number of the round.
            places: Number of shares of the remaining budget.
            evaluation_work: Units of work of an evaluation; 0 if unknown. The share has as much, if that remains, so
                that few rounds exceed a bound on work.
        """
        remaining = self.remaining()
        share = remaining.equal_part(0, places)
        work = min(max(share.work, evaluation_work), remaining.work)
        self._granted[number] = bound_evaluations(replace(share, work=work), evaluation_work)
        self._granted_at[number] = self.elapsed_s()
        return self._granted[number]

    def settle(self, number: int, used: Spent, *, is_live: bool) -> None:
        """Add the budget used by a committed round, and release its grant. A replayed round is not ``is_live``."""
        del self._granted[number]
        begun = self._granted_at.pop(number)
        if is_live and used.model_calls:
            self._shortest_s = min(self._shortest_s, self.elapsed_s() - begun)
        self.spent = self.spent + used
        self.spent = replace(self.spent, seconds=self.elapsed_s())


def bound_evaluations(share: Spent, evaluation_work: float) -> Spent:
    """Return a share with the evaluations that its work allows, so that parallel branches do not exceed it.

    The work of an evaluation is in units; 0 if unknown.
    """
    if not evaluation_work:
        return share
    return replace(share, evaluations=min(share.evaluations, math.ceil(share.work / evaluation_work)))

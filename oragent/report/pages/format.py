"""Figures in words: scores, durations, money, and what a run gained."""

from dataclasses import dataclass

from oragent._base.direction import Direction
from oragent._base.plain import count as count


@dataclass(frozen=True)
class Gain:
    """How much better one score is than another.

    Attributes:
        amount: Difference in the problem's natural units; above 0 is better, whatever the direction.
        share: Share of the size of the score that it is held against; None where that is 0.
        direction: Direction of the problem's scores.
    """

    amount: float
    share: float | None
    direction: Direction

    @property
    def sentence(self) -> str:
        """Such as ``0.82 lower than the seed (11.8 %)``."""
        if not self.amount:
            return "as good as the seed"
        lower = (self.amount > 0) == (self.direction is Direction.MINIMIZE)
        share = "" if self.share is None else f" ({percent(abs(self.share))})"
        return f"{abs(self.amount):.4g} {'lower' if lower else 'higher'} than the seed{share}"


def gain(direction: Direction, before: float, after: float) -> Gain:
    """Measure a step from one score to another."""
    amount = direction.sign * (after - before) + 0.0  # and not -0.0
    return Gain(amount, amount / abs(before) if before else None, direction)


def score(value: float | None) -> str:
    """A score with six digits that count, or a dash."""
    return "–" if value is None else f"{value:.6g}"


def percent(share: float) -> str:
    """A share in percent, three digits that count."""
    value = 100 * share
    return f"{value:.0f} %" if value >= 99.95 or not value else f"{value:.3g} %"


def duration(seconds: float) -> str:
    """Such as ``0.42 s``, ``4 min 12 s`` or ``2 h 05 min``."""
    if seconds < 9.995:
        return f"{seconds:.2f} s"
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02} s"
    return f"{minutes // 60} h {minutes % 60:02} min"


def money(dollars: float, unpriced: int = 0) -> str:
    """US dollars, with a word on calls whose price nobody knows."""
    known = f"${dollars:,.2f}" if dollars >= 1 else f"${dollars:.4f}"
    return f"{known} + {count(unpriced, 'call')} of unknown price" if unpriced else known

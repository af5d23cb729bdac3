"""Numbers in words: scores, durations, money and gains."""

from dataclasses import dataclass

from oragent._base.direction import Direction
from oragent._base.plain import format_count as format_count


@dataclass(frozen=True)
class Gain:
    """Difference between two scores.

    Attributes:
        amount: Difference in the problem's natural units; above 0 is better, whatever the direction.
        share: Amount relative to the size of the reference score; None if that is 0.
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
        share = "" if self.share is None else f" ({format_percent(abs(self.share))})"
        return f"{abs(self.amount):.4g} {'lower' if lower else 'higher'} than the seed{share}"


def measure_gain(direction: Direction, reference: float, after: float) -> Gain:
    """Measure a step from one score to another."""
    amount = direction.sign * (after - reference) + 0.0  # and not -0.0
    return Gain(amount, amount / abs(reference) if reference else None, direction)


def format_score(value: float | None) -> str:
    """Format a score with six significant digits; None is a dash."""
    return "–" if value is None else f"{value:.6g}"


def format_percent(share: float) -> str:
    """Format a share in percent with three significant digits."""
    value = 100 * share
    return f"{value:.0f} %" if value >= 99.95 or not value else f"{value:.3g} %"


def format_duration(seconds: float) -> str:
    """Format seconds, such as ``0.42 s``, ``4 min 12 s`` or ``2 h 05 min``."""
    if seconds < 9.995:
        return f"{seconds:.2f} s"
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02} s"
    return f"{minutes // 60} h {minutes % 60:02} min"


def format_money(dollars: float, unpriced: int = 0) -> str:
    """Format US dollars, with the number of calls of unknown price."""
    amount = f"${dollars:,.2f}" if dollars >= 1 else f"${dollars:.4f}"
    return f"{amount} + {format_count(unpriced, 'call')} of unknown price" if unpriced else amount

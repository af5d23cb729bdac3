"""A small production model, and its optima by enumeration."""

import itertools
from pathlib import Path

LP = """\\ a workshop
Maximize
 profit: 72 tables + 55 chairs
Subject To
 carpentry: 4 tables + 6 chairs <= 40
 finishing: 5 tables + 3 chairs <= 46
 chairs_sold: chairs <= 8
General
 tables chairs
End
"""


def best_profit(carpentry: float) -> float:
    """The optimum for so many hours of carpentry, by enumeration."""
    return max(
        72 * tables + 55 * chairs
        for tables, chairs in itertools.product(range(20), range(9))
        if 4 * tables + 6 * chairs <= carpentry and 5 * tables + 3 * chairs <= 46
    )


TRUTH = {hours: float(best_profit(hours)) for hours in (40, 50, 60)}


def write_workshop(folder: Path) -> Path:
    """Write the model as an LP file."""
    path = folder / "workshop.lp"
    path.write_text(LP)
    return path

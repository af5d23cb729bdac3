"""Draw what a terminal shows during a search, at 80 columns, as a picture for the site.

python docs/tools/draw_display.py
"""

import io
import re
from collections import Counter
from pathlib import Path

from oragent._base.budget import Budget, Spent
from oragent._base.protocol import Status
from oragent._base.terminal import Terminal
from oragent.cli.display import Best, DisplayedJob, Scene

__all__ = ["WIDTHS", "drawn"]

IMAGES = Path(__file__).parents[1] / "images"
WIDTHS = (80,)
SCENE = Scene(
    title="tsp_aco by or_agent",
    budget=Budget(evaluations=400, seconds=1800, money=2.0),
    spent=Spent(143, 61, 120_345, 0.4123, 602.0),
    best=Best(5.98123, "0.986 lower than the seed (14.2 %)", "17.2 by jitter of 12.0, after 139 evaluations", 44.0),
    evaluations=(DisplayedJob("jitter of 12.0, round 17", 31.2), DisplayedJob("check of program 18.0", 4.0)),
    calls=(DisplayedJob("idea, round 19", 12.0),),
    ends=Counter({Status.OK: 132, Status.ERROR: 7, Status.TIMEOUT: 3, Status.SCREENED: 1}),
    cpu_s=1180.0,
)
ELSEWHERE = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)  # a font that a page would load from somewhere else


def drawn(width: int) -> str:
    """The picture at so many columns, an SVG document."""
    console = Terminal(
        file=io.StringIO(),
        width=width,
        record=True,
        force_terminal=True,
        color_system="truecolor",
        legacy_windows=False,
    )
    console.print(SCENE)
    return ELSEWHERE.sub("", console.export_svg(title=f"{width} columns", unique_id=f"display-{width}"))


if __name__ == "__main__":
    for columns in WIDTHS:
        (IMAGES / f"display-{columns}.svg").write_text(drawn(columns))

"""The report of a comparison: one HTML file that needs nothing else, and its figures."""

import shlex
from collections.abc import Mapping
from pathlib import Path

from oragent import __version__
from oragent.bench.statistics import ALPHA, least_p, pairs_needed
from oragent.compare import tables
from oragent.compare.charts import draw
from oragent.compare.comparison import Comparison
from oragent.compare.manifest import FILE
from oragent.pages.figures import Drawing
from oragent.pages.files import save
from oragent.pages.html import environment
from oragent.pages.text import clip

__all__ = ["page", "write"]


def write(comparison: Comparison) -> Path:
    """Write ``report.html`` and ``figures/*.svg``, ``figures/*.png`` into a comparison's folder.

    Returns:
        The page.

    Raises:
        StoreError: if they cannot be written.
    """
    drawings = draw(comparison.summary)
    save(comparison.folder, drawings.values(), page(comparison, drawings))
    return comparison.folder / "report.html"


def page(comparison: Comparison, drawings: Mapping[str, Drawing]) -> str:
    """Write a comparison's report.

    Args:
        comparison: what is known of it.
        drawings: its figures by name.
    """
    summary = comparison.summary
    leader, shares = next(iter(summary.overall.items()), ("", {}))
    template = environment(Path(__file__).parent).get_template("page.html")
    return template.render(
        comparison=comparison,
        drawings=drawings,
        leader=leader,
        leader_words=", ".join(f"{share:.3f} on {mode}" for mode, share in shares.items()),
        overall=tables.overall(summary),
        problems=[
            {
                "summary": problem,
                "scales": tables.scales(problem),
                "finals": tables.finals(problem),
                "differences": tables.differences(problem),
                "target": tables.target(problem),
            }
            for problem in summary.problems
        ],
        test={"alpha": ALPHA, "least_p": least_p(len(comparison.plan.seeds)), "needs": pairs_needed()},
        resume=f"oragent compare --outputs {shlex.quote(str(comparison.folder))}",
        configuration=clip((comparison.folder / FILE).read_text(encoding="utf-8"))[0],
        version=__version__,
    )

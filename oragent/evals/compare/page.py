"""The report of a comparison: one HTML file that needs nothing else, and its figures."""

import shlex
from collections.abc import Mapping
from pathlib import Path

from oragent import __version__
from oragent.evals import bench
from oragent.evals.bench import tables
from oragent.evals.bench.charts import draw_benchmark
from oragent.evals.bench.leading import find_leader
from oragent.evals.compare.comparison import Comparison
from oragent.evals.compare.plan import MANIFEST
from oragent.evals.compare.settings import describe_equal_settings, differing_settings
from oragent.evals.compare.terminal import NORMALISED, describe_test_limits, describe_verdict
from oragent.report.pages.charts import Drawing, save_page
from oragent.report.pages.html import make_environment
from oragent.report.pages.text import clip_text

TEMPLATES = Path(__file__).parent, Path(bench.__file__).parent


def write_report(comparison: Comparison) -> Path:
    """Write ``report.html`` and ``figures/*.svg``, ``figures/*.png`` into a comparison's folder.

    Returns:
        The page.

    Raises:
        StoreError: They cannot be written.
    """
    drawings = draw_benchmark(comparison.summary)
    save_page(comparison.folder, drawings.values(), render_page(comparison, drawings))
    return comparison.folder / "report.html"


def render_page(comparison: Comparison, drawings: Mapping[str, Drawing]) -> str:
    """Write a comparison's report.

    Args:
        comparison: What is known of it.
        drawings: Its figures by name.
    """
    summary, terms = comparison.summary, comparison.summary.terms
    shares = next(iter(summary.overall.values()), {})
    ahead = find_leader(summary)
    template = make_environment(*TEMPLATES).get_template("page.html")
    return template.render(
        comparison=comparison,
        drawings=drawings,
        ahead=ahead,
        ahead_words=", ".join(f"{share:.3f} on {mode}" for mode, share in shares.items()),
        verdict=describe_verdict(summary),
        normalised=NORMALISED,
        name="" if comparison.folder.resolve().name == "comparison" else comparison.folder.resolve().name,
        overall=tables.overall_table(summary),
        alike=describe_equal_settings(comparison.plan),
        differing=differing_settings(comparison.plan),
        problems=[
            {
                "summary": problem,
                "scales": tables.describe_scales(problem, terms),
                "finals": tables.finals_table(problem, terms),
                "differences": tables.differences_table(problem, terms),
                "target": tables.target_table(problem, terms),
            }
            for problem in summary.subjects
        ],
        limits=describe_test_limits(comparison.plan),
        resume=f"oragent compare --outputs {shlex.quote(str(comparison.folder))}",
        configuration=clip_text((comparison.folder / MANIFEST.file).read_text(encoding="utf-8"))[0],
        version=__version__,
    )

"""A comparison as its folder holds it."""

from dataclasses import dataclass
from pathlib import Path

from oragent._base.errors import StoreError
from oragent.evals.bench.execute import CellRunner, gather_results
from oragent.evals.bench.plan import BenchCell, BenchPlan
from oragent.evals.bench.summary import BenchSummary, summarise_results
from oragent.evals.compare.settings import list_models


@dataclass(frozen=True)
class Comparison:
    """A comparison, as far as its runs are complete.

    Attributes:
        plan: What is compared.
        folder: Where it lives.
        summary: What the complete runs come to.
        unfinished: The runs that are left out, as they have not used up their budget.
    """

    plan: BenchPlan
    folder: Path
    summary: BenchSummary
    unfinished: tuple[BenchCell, ...]

    @property
    def budget(self) -> str:
        """Budget of each run, in words."""
        named = dict(self.plan.settings["budget"])
        both = named.pop("until", "first") == "both"
        bounds = {name: bound for name, bound in named.items() if bound is not None}
        words = [f"${bound:,.2f}" if name == "money" else f"{bound:,} {name}" for name, bound in bounds.items()]
        bounds_text = ", ".join(words).replace("_", " ") or "no bound"
        return f"{bounds_text}; until both evaluations and model calls are used up" if both else bounds_text

    @property
    def model(self) -> str:
        """Names of the models that strategies asked."""
        return ", ".join(list_models(self.plan)) or "none"


def load_comparison(plan: BenchPlan, runner: CellRunner, folder: Path) -> Comparison:
    """Read the complete runs of a comparison.

    Raises:
        StoreError: There is none, or one cannot be read.
        ConfigError: A run's configuration cannot be read.
    """
    results, unfinished = gather_results(plan, runner, folder)
    if not results:
        raise StoreError(f"no run in {folder} has used up its budget yet: nothing to compare; run the command again")
    return Comparison(plan, folder, summarise_results(plan, results), unfinished)

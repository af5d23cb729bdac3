"""A comparison as its folder holds it."""

from dataclasses import dataclass
from pathlib import Path

from oragent.compare.execute import folder_of, is_complete
from oragent.compare.plan import Cell, Plan
from oragent.compare.result import Result, read
from oragent.compare.summary import Summary, summarise
from oragent.errors import StoreError

__all__ = ["Comparison", "load"]


@dataclass(frozen=True)
class Comparison:
    """A comparison, as far as its runs are complete.

    Attributes:
        plan: what is compared.
        folder: where it lives.
        summary: what the complete runs come to.
        unfinished: the runs that are left out, as they have not used up their budget.
    """

    plan: Plan
    folder: Path
    summary: Summary
    unfinished: tuple[Cell, ...]

    @property
    def results(self) -> list[Result]:
        """The complete runs."""
        return self.summary.results

    @property
    def budget(self) -> str:
        """What each run may spend, in words."""
        bounds = {name: bound for name, bound in vars(self.plan.settings.budget).items() if bound is not None}
        words = [f"${bound:,.2f}" if name == "money" else f"{bound:,} {name}" for name, bound in bounds.items()]
        return ", ".join(words).replace("_", " ") or "no bound"

    @property
    def model(self) -> str:
        """Who was asked by strategies that ask."""
        settings = self.plan.settings
        return ", ".join(model.name for model in (settings.model, *settings.ensemble) if model) or "none"


def load(plan: Plan, folder: Path) -> Comparison:
    """Read the complete runs of a comparison.

    Raises:
        StoreError: if there is none, or one cannot be read.
        ConfigError: if a run's configuration cannot be read.
    """
    results: list[Result] = []
    unfinished: list[Cell] = []
    for cell in plan.cells:
        path = folder_of(folder, cell)
        if path is None or not is_complete(path):
            unfinished.append(cell)
        else:
            results.append(read(cell, path))
    if not results:
        raise StoreError(f"no run in {folder} has used up its budget yet: nothing to compare; run the command again")
    return Comparison(plan, folder, summarise(results), tuple(unfinished))

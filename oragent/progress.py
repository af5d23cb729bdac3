"""What a person sees of a search while it runs, and at its end."""

from collections import Counter
from pathlib import Path
from typing import Self

from rich.console import Console
from rich.markup import escape
from tqdm import tqdm

from oragent.protocol import Status
from oragent.search.budget import Budget
from oragent.search.engine import Outcome, Progress
from oragent.search.folder import RunFolder

__all__ = ["Bar", "gain", "summary"]


def gain(seed: float, best: float) -> str:
    """An improvement over the seed in percent of it, in words."""
    if seed == best:
        return "no better than the seed"
    amount = f"{abs((best - seed) / seed):.2%}" if seed else f"{abs(best - seed):.6g}"
    return f"{amount} better than the seed"


class Bar:
    """A progress bar over the budget, and a line for every new best.

    Args:
        budget: the bar runs over its evaluations, or over its seconds where those are not bounded.
    """

    def __init__(self, budget: Budget) -> None:
        self._by = "evaluations" if budget.evaluations else "seconds"
        unit = " eval" if budget.evaluations else " s"
        self._bar = tqdm(total=getattr(budget, self._by), unit=unit, dynamic_ncols=True, disable=None)
        self._failures: Counter[str] = Counter()
        self._best: str | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._bar.close()

    def __call__(self, progress: Progress) -> None:
        """Show a committed round."""
        self._failures.update(str(trial.evaluation.status) for trial in progress.trials)
        if progress.best.id != self._best:
            self._best = progress.best.id
            origin = progress.trials[-1].origin if progress.trials else ""
            words = "seed" if progress.best is progress.seed else gain(progress.seed.score, progress.best.score)
            self._bar.write(f"{progress.spent.evaluations:6d}  {progress.best.score:.6g}  {words}  ({origin})")
        failed = sum(self._failures.values()) - self._failures[Status.OK]
        self._bar.set_postfix_str(f"best {progress.best.score:.6g}, {failed} failed", refresh=False)
        self._bar.n = round(getattr(progress.spent, self._by), 1)
        self._bar.refresh()


def summary(console: Console, folder: RunFolder, outcome: Outcome, page: Path) -> None:
    """Say what a search found, and where it is."""
    progress = outcome.progress
    spent = progress.spent
    spending = f"{spent.evaluations} evaluations in {spent.seconds:.0f} s"
    if spent.model_calls:
        spending += f", {spent.model_calls} model calls, {spent.tokens} tokens, {spent.money:.4f} US dollars"
    more = f" budget.evaluations={2 * spent.evaluations}" if outcome.complete else ""
    lines = {
        "seed": f"{progress.seed.score:.6g}",
        "best": f"{progress.best.score:.6g}, {gain(progress.seed.score, progress.best.score)}",
        "spent": spending,
        "ended": outcome.reason,
        "program": folder.path / "best.py",
        "report": page,
        "go on": f"oragent resume {folder.path}{more}",
    }
    for name, text in lines.items():
        console.print(f"[bold]{name:<8}[/] {escape(str(text))}", highlight=False, soft_wrap=True)

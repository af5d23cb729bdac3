"""What a person sees of a search while it runs, and at its end."""

import shlex
from collections import Counter
from dataclasses import fields
from pathlib import Path
from typing import Self

from rich.console import Console
from rich.markup import escape
from tqdm import tqdm

from oragent.budget import Budget, Spent
from oragent.direction import Direction
from oragent.pages.format import count, duration, gain, money
from oragent.plain import plain
from oragent.protocol import Status
from oragent.search.engine import Outcome, Progress
from oragent.search.folder import RunFolder

__all__ = ["Bar", "summary"]


class Bar:
    """A progress bar over the budget, and a line for every new best.

    Args:
        budget: the bar runs over its evaluations, or over its seconds where those are not bounded.
        direction: of the problem.
    """

    def __init__(self, budget: Budget, direction: Direction) -> None:
        self._direction = direction
        self._by = "evaluations" if budget.evaluations else "seconds"
        unit = " eval" if budget.evaluations else " s"
        self._bar = tqdm(total=getattr(budget, self._by), unit=unit, dynamic_ncols=True, disable=None)
        self._ends: Counter[Status] = Counter()
        self._best: str | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._bar.close()

    def tell(self, line: str) -> None:
        """Show a line above the bar."""
        self._bar.write(f"note: {plain(line)}")

    def __call__(self, progress: Progress) -> None:
        """Show a committed round."""
        self._ends.update(candidate.evaluation.status for candidate in progress.candidates)
        if progress.best.id != self._best:
            self._best = progress.best.id
            place = int(progress.best.id.partition(".")[2])  # in the round that has just been committed, as it is new
            origin = progress.candidates[place].origin
            words = "seed" if progress.best is progress.seed else _gained(self._direction, progress)
            self._bar.write(f"{progress.spent.evaluations:6d}  {progress.best.score:.6g}  {words}, by {plain(origin)}")
        failed = sum(count for status, count in self._ends.items() if status.failed)
        screened = f", {self._ends[Status.SCREENED]} screened" if self._ends[Status.SCREENED] else ""
        self._bar.set_postfix_str(f"best {progress.best.score:.6g}{screened}, {failed} failed", refresh=False)
        self._bar.n = round(getattr(progress.spent, self._by), 1)
        self._bar.refresh()


def summary(console: Console, folder: RunFolder, outcome: Outcome, page: Path) -> None:
    """Say what a search found, and where it is."""
    progress = outcome.progress
    spent = progress.spent
    spending = f"{count(spent.evaluations, 'evaluation')} in {duration(spent.seconds)}"
    if spent.model_calls:
        spending += f", {count(spent.model_calls, 'model call')}, {count(spent.tokens, 'token')}"
    if spent.money:  # nothing is said of a model without a known price
        spending += f", {money(spent.money)}"
    lines = {
        "seed": f"{progress.seed.score:.6g}",
        "best": f"{progress.best.score:.6g}, {_gained(folder.problem.about.direction, progress)}",
        "spent": spending,
        **({"audited": outcome.audits} if outcome.audits.number else {}),
        "ended": outcome.reason,
        **({"note": outcome.remark} if outcome.remark else {}),
        "program": folder.best,
        "report": page,
        "go on": " ".join(["oragent resume", shlex.quote(str(folder.path)), *_more(folder.config.budget, spent)]),
    }
    for name, text in lines.items():
        console.print(f"[bold]{name:<8}[/] {escape(str(text))}", highlight=False, soft_wrap=True)


def _gained(direction: Direction, progress: Progress) -> str:
    return gain(direction, progress.seed.score, progress.best.score).sentence


def _more(budget: Budget, spent: Spent) -> list[str]:
    """The settings that double whatever bound ended the run."""
    bounds = {field.name: getattr(budget, field.name) for field in fields(budget)}
    used_up = {name: bound for name, bound in bounds.items() if bound is not None and getattr(spent, name) >= bound}
    return [f"budget.{name}={2 * bound:g}" for name, bound in used_up.items()]

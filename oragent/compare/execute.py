"""Do the runs of a comparison, one after the other: what is complete is kept, what was begun is resumed."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import reduce
from operator import add
from pathlib import Path

from oragent.budget import Spent
from oragent.compare.plan import Cell, Plan
from oragent.errors import ConfigError, OragentError, ProblemError, StoreError
from oragent.report import about
from oragent.report.files import write
from oragent.report.held_out import held_out
from oragent.search.engine import Observer
from oragent.search.folder import RunFolder, begin, reopen
from oragent.search.launch import STOPPED, launch
from oragent.search.store import Store

__all__ = ["HELD_OUT", "Done", "conduct", "folder_of", "is_complete"]

HELD_OUT = "test.yaml"


@dataclass(frozen=True)
class Done:
    """A run that has been seen to.

    Attributes:
        cell: which.
        path: its folder.
        end: why it ended, where that is not that its budget was used up; empty otherwise.
        fresh: whether anything had to be done for it.
        untested: why its best program has no score on the held-out set; empty if it has.
    """

    cell: Cell
    path: Path
    end: str
    fresh: bool
    untested: str

    @property
    def stopped(self) -> bool:
        """Whether a person stopped it."""
        return self.end == STOPPED


def conduct(plan: Plan, folder: Path, observer: Callable[[Cell], Observer]) -> Iterator[Done]:
    """See to every run of a plan; ends early where a person stops one.

    Args:
        plan: the comparison.
        folder: where it lives; run folders are ``seed<seed>/<problem>/<time>-<strategy>`` in it.
        observer: makes who is told of the rounds of a run.

    Yields:
        Each run, complete or not.

    Raises:
        OragentError: one line on what keeps a run from beginning or going on.
    """
    for cell in plan.cells:
        path = folder_of(folder, cell)
        fresh, end = path is None or not is_complete(path), ""
        if fresh:
            path, end = _searched(plan, folder, cell, path, observer(cell))
        assert path is not None
        if fresh:
            write(path)
        done = Done(cell, path, end, fresh, "" if end == STOPPED else _tested(path))
        yield done
        if done.stopped:
            return


def folder_of(folder: Path, cell: Cell) -> Path | None:
    """The folder of a run, if it was begun; what a kill left of one that had no configuration yet is none."""
    for path in sorted((folder / f"seed{cell.seed}" / cell.problem).glob("*/config.yaml")):
        try:
            if about.read(path).strategy == cell.strategy:
                return path.parent
        except (ConfigError, StoreError):
            continue  # killed while it was being written: nothing was paid for yet
    return None


def is_complete(path: Path) -> bool:
    """Whether a run has used up its budget."""
    if not (path / "run.db").is_file():
        return False
    config = reopen(path).config
    with Store(path / "run.db", readonly=True) as store:
        spent: Spent = reduce(add, store.rounds().values(), Spent())
        spent = Spent(spent.evaluations, spent.model_calls, spent.tokens, spent.money, store.elapsed_s())
    return config.budget.exceeded(spent) is not None


def _searched(plan: Plan, folder: Path, cell: Cell, path: Path | None, observer: Observer) -> tuple[Path, str]:
    """Do a run, or the rest of it; returns its folder, and why it ended before its budget was used up."""
    config = plan.config(cell)
    opened: list[RunFolder] = []

    def opening() -> RunFolder:
        outputs = folder / f"seed{cell.seed}"
        opened.append(reopen(path) if path else begin(plan.root, outputs, plan.problems[cell.problem], config))
        return opened[0]

    try:
        outcome = launch(config, plan.root, plan.problems[cell.problem], opening, observer)
    except OragentError as problem:
        raise OragentError(f"{cell}: {problem}") from None
    return opened[0].path, "" if outcome.complete else outcome.reason


def _tested(path: Path) -> str:
    """Score a run's best program on the held-out set, if that was not done since; returns why it cannot be."""
    found, best = path / HELD_OUT, path / "best.py"
    if found.is_file() and found.stat().st_mtime >= best.stat().st_mtime:
        return ""
    try:
        held_out(path)
    except ProblemError as problem:
        return str(problem)
    return ""

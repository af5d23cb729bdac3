"""A comparison in a terminal: while its runs are done, and what they came to."""

from collections.abc import Callable
from math import comb

from rich.console import Console
from rich.text import Text

from oragent._base.statistics import best_case
from oragent.evals.bench import tables
from oragent.evals.bench.board import Board, rich_table
from oragent.evals.bench.leading import leader
from oragent.evals.bench.plan import BenchCell, BenchPlan
from oragent.evals.bench.summary import BenchSummary
from oragent.evals.compare.comparison import Comparison
from oragent.evals.compare.settled import alike, differing
from oragent.evals.compare.variants import STRATEGY
from oragent.report.pages import format as in_words
from oragent.search.progress import Observer, Progress

NORMALISED = "0 is the seed heuristic, 1 the best published where that is known, else the best of these runs"


def watching(board: Board) -> Callable[[BenchCell], Observer]:
    """Show the rounds of every run on a board."""

    def watch(cell: BenchCell) -> Observer:
        def told(progress: Progress) -> None:
            spent, best = in_words.count(progress.spent.evaluations, "evaluation"), in_words.score(progress.best.score)
            board.note(cell, f"{spent}, best {best}")

        return told

    return watch


def announce(plan: BenchPlan, console: Console) -> None:
    """Say what all that are compared have alike, and in which settings they differ."""
    if told := alike(plan):
        console.print(Text(f"the same for all: {told}"))
    table = differing(plan)
    if any(key != STRATEGY for key, *_ in table.rows):
        console.print(rich_table(table))


def verdict(summary: BenchSummary) -> str:
    """Who is ahead, in one sentence; nobody is without evidence."""
    found = leader(summary)
    if found is None:
        return "No strategy has a score on every problem."
    if len(summary.contestants) == 1:
        return "There is one strategy only: nothing to hold it against."
    if found.is_shown:
        return f"{found.name} is ahead of all others (p = {found.p:.2g})."
    why = "too few runs for a test" if found.p is None else f"p = {found.p:.3g}"
    limits = f"; {found.limits}" if found.limits else ""
    return f"No strategy is shown to be ahead; {found.name} has the highest mean ({why}{limits})."


def limits_of(plan: BenchPlan) -> str:
    """What the tests between all pairs of strategies on one problem can show at best; empty where that is enough."""
    return best_case(len(plan.seeds), "seed", max(1, comb(len(plan.contestants), 2)))


def show(comparison: Comparison, console: Console) -> None:
    """Print final scores and differences of every problem, and the scores over all of them."""
    summary, terms = comparison.summary, comparison.summary.terms
    for problem in summary.subjects:
        hint = problem.direction.words
        console.print(Text(f"\n{problem.name}: final scores, {hint}", style="bold cyan"))
        console.print(rich_table(tables.finals(problem, terms).without(*tables.interval_heads(terms))))
        if problem.differences:
            console.print(Text(f"\n{problem.name}: differences in score, {hint}", style="bold cyan"))
            console.print(rich_table(tables.differences(problem, terms).without(tables.GAIN, "p")))
    console.print(Text(f"\nNormalised: {NORMALISED}", style="bold cyan"))
    console.print(rich_table(tables.overall(summary)))
    console.print(Text(f"\n{verdict(summary)}", style="bold"))
    if limits := limits_of(comparison.plan):
        console.print(Text(f"\nNo difference can be shown on one problem: {limits}.", style="yellow"))
    for cell in comparison.unfinished:
        console.print(Text(f"left out, as its budget is not used up: {cell}", style="yellow"))

"""The command ``oragent compare``: do the runs, sum them up, write the report."""

from pathlib import Path

from rich.console import Console
from rich.markup import escape

from oragent.compare.comparison import load
from oragent.compare.execute import conduct
from oragent.compare.manifest import keep, kept
from oragent.compare.page import write
from oragent.compare.plan import Plan, planned, split, without_own
from oragent.compare.request import Order
from oragent.compare.terminal import Board, show
from oragent.errors import ConfigError
from oragent.search.config import read

__all__ = ["run"]

COMPLETE, UNFINISHED, STOPPED = 0, 3, 130  # exit codes, as those of a single run


def run(order: Order, root: Path, console: Console) -> int:
    """Compare; a comparison that was begun in the same folder goes on.

    Returns:
        The exit code: 0, or 3 where runs are unfinished, or 130 where a person stopped it.

    Raises:
        OragentError: one line on what is wrong.
    """
    plan = _plan(order, root)
    keep(plan, order.outputs)
    console.print(f"[bold]{len(list(plan.cells))} runs[/] in {escape(str(order.outputs))}", soft_wrap=True)
    with Board(plan) as board:
        for done in conduct(plan, order.outputs, board.watch):
            board.done(done)
            if done.stopped:
                console.print(f"everything so far is kept: oragent compare --outputs {order.outputs}", soft_wrap=True)
                return STOPPED
    comparison = load(plan, order.outputs)
    show(comparison, console)
    console.print(f"[bold]report[/] {escape(str(write(comparison)))}", highlight=False, soft_wrap=True)
    return UNFINISHED if comparison.unfinished else COMPLETE


def _plan(order: Order, root: Path) -> Plan:
    problems, settings = split(order.words)
    asked = [*problems, *settings, *order.overrides, order.strategies, order.seeds, order.config]
    if not any(word is not None for word in asked):
        return kept(order.outputs)
    if not problems:
        raise ConfigError("name the problems to compare on; to go on with a comparison name nothing but --outputs")
    config = read(order.config, [*order.overrides, *without_own(settings)])
    return planned(problems, order.strategies or "gp,random,funsearch,or_agent", order.seeds or 3, config, root)

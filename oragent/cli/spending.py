"""Estimates of costs: print them, and ask on a terminal above ``budget.confirm``."""

import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from oragent._base.errors import ConfigError
from oragent._base.publishing import has_result_listener, publish_progress
from oragent.cli.options import print_wrapped
from oragent.llm.estimates import SpendingEstimate

Yes = Annotated[bool, typer.Option("--yes", help="Do not ask, whatever the estimate of its cost (budget.confirm).")]


def confirm_spending(estimate: SpendingEstimate, limit: float, *, yes: bool) -> None:
    """Print an estimate of paid calls; on a terminal ask if it is above the limit.

    Args:
        estimate: Expected spending.
        limit: US dollars above which to ask.
        yes: True if the user agreed already.

    Raises:
        ConfigError: The user does not agree.
    """
    if not estimate.is_paid:
        return
    publish_progress("estimate", {"calls": estimate.calls, "tokens": estimate.tokens, "money": estimate.money})
    roles = estimate.describe_roles() if len(estimate.roles) > 1 else []
    for line in (f"estimate: {estimate.describe()}", *(f"  {role}" for role in roles)):
        print_wrapped(line)
    is_asking = sys.stdin.isatty() and sys.stdout.isatty() and not has_result_listener()
    if yes or not is_asking or estimate.money is None or estimate.money <= limit:
        return
    if not typer.confirm(f"This may cost {estimate.money:.2f} US dollars (budget.confirm={limit:g}). Begin"):
        raise ConfigError("not started: lower the budget (--evaluations, budget.money), or agree with --yes")


def keep_estimate(estimate: SpendingEstimate, folder: Path) -> None:
    """Write the estimate with its prices into the folder of a command, if the command has a folder."""
    if estimate.roles and folder.is_dir():
        with suppress(OSError):
            estimate.write(folder)


def make_confirm(*, yes: bool) -> Callable[[SpendingEstimate, float], None]:
    """Return the function that a benchmark calls before it spends."""
    return lambda estimate, limit: confirm_spending(estimate, limit, yes=yes)

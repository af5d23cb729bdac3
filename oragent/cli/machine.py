"""This machine: ``doctor``."""

import typer

from oragent.cli.doctor import examine
from oragent.cli.options import console

__all__ = ["doctor"]


def doctor() -> None:
    """Say what this machine offers to hold a stranger's program, and what it does not; exit code 1 if anything."""
    raise typer.Exit(0 if examine(console) else 1)

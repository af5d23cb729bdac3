"""This machine and this copy: ``doctor``, ``settings``."""

import typer

from oragent import shipped
from oragent.cli.doctor import examine
from oragent.cli.options import console

__all__ = ["doctor", "settings"]


def doctor() -> None:
    """Say what this machine offers to hold a stranger's program, and what it does not; exit code 1 if anything."""
    raise typer.Exit(0 if examine(console) else 1)


def settings() -> None:
    """Print every setting with its default: a file for --config, to be changed."""
    console.print(
        (shipped.root() / "configs" / "default.yaml").read_text(encoding="utf-8").rstrip(),
        highlight=False,
        markup=False,
        soft_wrap=True,
    )

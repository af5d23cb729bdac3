"""This machine and this copy: ``doctor``, ``settings``."""

from typing import Annotated

import typer

from oragent._base import shipped
from oragent.cli.cluster import examine_cluster
from oragent.cli.doctor import examine
from oragent.cli.options import console


def doctor(
    cluster: Annotated[
        str | None, typer.Option(help="Look at each worker of a cluster, as --cluster of 'run' names it.")
    ] = None,
) -> None:
    """Say what this machine offers to hold a stranger's program, and what it does not; exit code 1 if anything."""
    raise typer.Exit(0 if (examine(console) if cluster is None else examine_cluster(cluster, console)) else 1)


def settings() -> None:
    """Print every setting with its default: a file for --config, to be changed."""
    console.print(
        (shipped.root() / "configs" / "default.yaml").read_text(encoding="utf-8").rstrip(),
        highlight=False,
        markup=False,
        soft_wrap=True,
    )

"""This machine and this copy: ``doctor``, ``settings``."""

from typing import Annotated

import typer

from oragent._base import shipped
from oragent.cli.cluster import examine_cluster
from oragent.cli.doctor import examine_machine
from oragent.cli.options import console


def doctor(
    cluster: Annotated[
        str | None, typer.Option(help="Report each worker of a cluster, named as in --cluster of 'run'.")
    ] = None,
) -> None:
    """Report which means of isolation this machine has, and which are missing; exit code 1 if any is."""
    raise typer.Exit(0 if (examine_machine(console) if cluster is None else examine_cluster(cluster, console)) else 1)


def settings() -> None:
    """Print every setting with its default: a file for --config, to be changed."""
    console.print(
        (shipped.shipped_root() / "configs" / "default.yaml").read_text(encoding="utf-8").rstrip(),
        highlight=False,
        markup=False,
        soft_wrap=True,
    )

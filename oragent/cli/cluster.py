"""Show the isolation that each worker of a cluster offers."""

import asyncio

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from oragent.evaluation.cluster.cluster_settings import parse_cluster
from oragent.evaluation.cluster.connect import connect_cluster
from oragent.evaluation.cluster.dask_client import KnownWorkers
from oragent.evaluation.problem import evaluation_root, find_problem, find_project_root

PROBLEM = "bpp_online"  # one that ships and needs nothing but us: what is sent to try the way


def examine_cluster(word: str, console: Console) -> bool:
    """Print each worker of a cluster, and the guarantees that it does not give.

    Args:
        word: What ``--cluster`` would say.
        console: Console to print on.

    Returns:
        Whether everything is held on every worker, and none had to be refused.

    Raises:
        ConfigError, SandboxError: if there is no such cluster, or it has no worker that can be used.
    """
    workers = asyncio.run(_connect_workers(word))
    table = Table("worker", "places", "oragent", "Python", "room", "not held there", box=None, header_style="bold")
    for address, (offer, places) in sorted(workers.workers.items()):
        missing = "; ".join(offer.not_held) or "[green]nothing: all is held[/]"
        room = f"{offer.room_mb / 1024:.1f} GiB"
        who = escape(f"{offer.host} {address}")
        table.add_row(who, str(places), escape(offer.version), escape(offer.python), room, missing)
    console.print(table)
    for address, (host, why) in sorted(workers.refused.items()):
        console.print(f"[bold yellow]not used:[/] {escape(f'{host} {address}: {why}')}", soft_wrap=True)
    return not workers.refused and not any(offer.not_held for offer, _ in workers.workers.values())


async def _connect_workers(word: str) -> KnownWorkers:
    problem = find_problem(PROBLEM, find_project_root())
    async with connect_cluster(parse_cluster(word), problem, evaluation_root(problem)) as cluster:
        assert cluster.dask_client is not None
        return cluster.dask_client.workers.take_snapshot()

"""Commands about this machine and this installation: ``doctor``, ``settings`` and ``prompts``."""

import asyncio
import platform
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from string import Template
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.text import Text

from oragent._base import package_data
from oragent._base.distribution import describe_name_conflict, unsupported_versions
from oragent._base.errors import ConfigError
from oragent._base.prompt_templates import SUFFIX, split_style
from oragent._base.publishing import publish_result
from oragent._base.settings import dump_settings
from oragent._base.terminal import text_table
from oragent.cli.options import console, print_text, print_wrapped
from oragent.evaluation.cluster.cluster_settings import parse_cluster
from oragent.evaluation.cluster.connect import connect_cluster
from oragent.evaluation.cluster.dask_client import KnownWorkers
from oragent.evaluation.devices import DeviceReport, find_devices
from oragent.evaluation.problem import evaluation_root, find_problem, find_project_root
from oragent.sandbox.confined_command import can_restrict_ports
from oragent.sandbox.confinement_trial import explain_unconfined
from oragent.sandbox.isolation.mechanisms import Guarantee
from oragent.sandbox.isolation.probe import missing_guarantees, probe_mechanisms
from oragent.search.config import read_config
from oragent.search.run_context import PROMPTS

# A problem of the package without further requirements, which is evaluated as a test.
PROBLEM = "bpp_online"
AGENT_GUARANTEE = "see files and processes that are not named, change files outside its folder, or leave a process"
AGENT_PORTS = "connect to TCP ports that are not named"


def examine_machine(console: Console) -> bool:
    """Try every isolation mechanism, print results and guarantees, and return True if all guarantees hold."""
    reports = probe_mechanisms()
    missing = missing_guarantees(reports)
    unconfined = explain_unconfined()
    publish_result(
        {
            "agents": {"confined": not unconfined, "reason": unconfined, "ports": can_restrict_ports()},
            "mechanisms": reports,
            "held": [str(guarantee) for guarantee in Guarantee if guarantee not in missing],
            "not_held": [str(guarantee) for guarantee in missing],
            "solvers": _describe_solvers(),
        }
    )
    console.print(f"{platform.system()} {platform.release()}, Python {platform.python_version()}", highlight=False)
    marks = {True: Text("yes", style="green"), False: Text("no", style="yellow")}
    rows = ((report.mechanism, marks[report.works], report.detail) for report in reports)
    console.print(text_table(("mechanism", "", "details"), rows))
    if mixed := describe_name_conflict():
        console.print(f"\n[bold yellow]careful:[/] {escape(mixed)}", soft_wrap=True)
    for text in unsupported_versions():
        console.print(f"[bold yellow]careful:[/] {escape(text)}", highlight=False, soft_wrap=True)
    for text in _describe_devices(find_devices()):
        print_text(text)
    console.print("\n[bold]A candidate cannot[/]")
    for guarantee in Guarantee:
        mark = "[yellow]NOT HELD [/]" if guarantee in missing else "[green]held     [/]"
        console.print(f"  {mark} {guarantee}", highlight=False)
    console.print("\n[bold]A coding agent cannot[/]")
    for text, is_held in {AGENT_GUARANTEE: not unconfined, AGENT_PORTS: can_restrict_ports()}.items():
        console.print(f"  {'[green]held     [/]' if is_held else '[yellow]NOT HELD [/]'} {text}", highlight=False)
    if unconfined:
        console.print(f"  {escape(unconfined)}", highlight=False)
        console.print(
            "  Agents are refused. Git and readers of files run with the mechanisms that work.", highlight=False
        )
    if missing:
        console.print(
            "\nRun searches whose model you do not trust in a container, or on a machine that offers more"
            f"{'' if sys.platform == 'linux' else ', such as one with Linux'}.",
            soft_wrap=True,
        )
    return not missing


def _describe_devices(report: DeviceReport) -> list[str]:
    lines = [f"driver: {report.driver}"] if report.driver else []
    if report.cards:
        lines += [f"PyTorch {report.torch}, built for {report.build}" if report.build else f"PyTorch {report.torch}"]
    for card in report.cards:
        memory = f"{card.memory_mb:,} MiB, " if card.memory_mb else ""
        low = "bfloat16" if card.bfloat16 else "no bfloat16"
        lines.append(f"--device {card.device}: {card.name}, {memory}{low}")
    return [*lines, f"networks compute on {report.cards[0].device if report.cards else f'the CPU: {report.why_not}'}"]


def isolation_warning(isolation: Mapping[str, Sequence[str]] | None) -> str:
    """Return one line about guarantees that do not hold on this machine; empty if all hold."""
    if isolation:
        missing = isolation["missing"]
    else:
        missing = [str(guarantee) for guarantee in missing_guarantees(probe_mechanisms())]
    if not missing:
        return ""
    return f"on this machine nothing keeps a candidate from this: {'; '.join(missing)} ('oragent doctor' says why)"


def examine_cluster(word: str, console: Console) -> bool:
    """Print the missing guarantees of each worker of a cluster.

    Return True if none is missing and no worker was refused.
    """
    workers = asyncio.run(_connect_workers(word))
    rows = []
    for address, (offer, places) in sorted(workers.workers.items()):
        missing = "; ".join(offer.not_held) or Text("nothing: all is held", style="green")
        room = f"{offer.room_mb / 1024:.1f} GiB"
        rows.append((f"{offer.host} {address}", str(places), offer.version, offer.python, room, missing))
    console.print(text_table(("worker", "places", "oragent", "Python", "room", "not held there"), rows, "lr"))
    for address, (host, why) in sorted(workers.refused.items()):
        console.print(f"[bold yellow]not used:[/] {escape(f'{host} {address}: {why}')}", soft_wrap=True)
    return not workers.refused and not any(offer.not_held for offer, _ in workers.workers.values())


async def _connect_workers(word: str) -> KnownWorkers:
    problem = find_problem(PROBLEM, find_project_root())
    async with connect_cluster(parse_cluster(word), problem, evaluation_root(problem)) as cluster:
        assert cluster.dask_client is not None
        return cluster.dask_client.workers.take_snapshot()


def print_solvers(console: Console) -> None:
    """Print the solvers of optimisation models, or how to install them."""
    from oragent.modelling.solving.back_ends.registry import list_solvers

    rows = ((listing.name, listing.state) for listing in list_solvers())
    console.print(text_table(("solver", "version, or how to install it"), rows))


def _describe_solvers() -> list[dict[str, object]]:
    from oragent.modelling.solving.back_ends.registry import list_solvers

    return [
        {"name": solver.name, "state": solver.state, "is_installed": solver.is_installed} for solver in list_solvers()
    ]


def doctor(
    cluster: Annotated[
        str | None, typer.Option(help="Report each worker of a cluster, named as in --cluster of 'run'.")
    ] = None,
) -> None:
    """Report isolation and solvers on this machine; exit code 1 if a part of the isolation is missing."""
    if cluster is None:
        print_solvers(console)
    is_complete = examine_machine(console) if cluster is None else examine_cluster(cluster, console)
    raise typer.Exit(0 if is_complete else 1)


def settings() -> None:
    """Print every setting with its default, as a file for --config."""
    publish_result(dump_settings(read_config(None)))
    print_text((package_data.shipped_root() / "configs" / "default.yaml").read_text(encoding="utf-8").rstrip())


def prompts(
    name: Annotated[str, typer.Argument(help="Prompt to print, such as reevo_mutation (default: list all).")] = "",
    out: Annotated[Path | None, typer.Option(help="New folder for copies, to be named by prompts=DIR.")] = None,
) -> None:
    """List the prompts of searches, print one, or copy all to change them."""
    names = PROMPTS.list_names()
    if name and name not in names:
        raise ConfigError(f"there is no prompt {name!r}: 'oragent prompts' lists all")
    shown = [name] if name else names
    texts = {each: PROMPTS.read(*split_style(each)).template for each in shown}
    publish_result({"prompts": texts})
    if out is not None:
        try:
            out.mkdir(parents=True)
        except OSError as problem:
            raise ConfigError(f"--out {out}: expected a new folder ({problem.strerror})") from None
        for each, text in texts.items():
            (out / f"{each}{SUFFIX}").write_text(text, encoding="utf-8")
        console.print(f"copied {len(texts)} prompts to {escape(str(out))}", soft_wrap=True)
    elif name:
        print_text(texts[name].rstrip())
    else:
        for each in names:
            fields = " ".join(f"${field}" for field in sorted(Template(texts[each]).get_identifiers()))
            print_wrapped(f"{each}  {fields}")

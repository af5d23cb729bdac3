"""What this machine offers to hold a stranger's program, in plain words."""

import platform
import sys
from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from oragent._base.distribution import intruder, unsupported_versions
from oragent.evaluation.devices import DeviceReport, find_devices
from oragent.evaluation.problem import Problem
from oragent.sandbox.isolation import Guarantee, MeansReport, list_not_held, probe_means


def examine(console: Console) -> bool:
    """Try every means of isolation, and print what there is and what follows.

    Returns:
        Whether everything is held that we promise where all means are at hand.
    """
    offers = probe_means()
    console.print(f"{platform.system()} {platform.release()}, Python {platform.python_version()}", highlight=False)
    table = Table("means", "", "what there is of it", box=None, header_style="bold")
    for offer in offers:
        table.add_row(offer.means, "[green]yes[/]" if offer.works else "[yellow]no[/]", escape(offer.detail))
    console.print(table)
    if mixed := intruder():
        console.print(f"\n[bold yellow]careful:[/] {escape(mixed)}", soft_wrap=True)
    for line in unsupported_versions():
        console.print(f"[bold yellow]careful:[/] {escape(line)}", highlight=False, soft_wrap=True)
    for line in _devices(find_devices()):
        console.print(line, highlight=False, markup=False, soft_wrap=True)
    missing = _missing(offers)
    console.print("\n[bold]A candidate cannot[/]")
    for guarantee in Guarantee:
        mark = "[yellow]NOT HELD [/]" if guarantee in missing else "[green]held     [/]"
        console.print(f"  {mark} {guarantee}", highlight=False)
    if missing:
        console.print(
            "\nRun searches whose model you do not trust in a container, or on a machine that offers more"
            f"{'' if sys.platform == 'linux' else ', such as one with Linux'}.",
            soft_wrap=True,
        )
    return not missing


def _devices(found: DeviceReport) -> list[str]:
    """What networks can compute on, a line each."""
    lines = [f"driver: {found.driver}"] if found.driver else []
    if found.cards:
        lines += [f"PyTorch {found.torch}, built for {found.build}" if found.build else f"PyTorch {found.torch}"]
    for card in found.cards:
        memory = f"{card.memory_mb:,} MiB, " if card.memory_mb else ""
        low = "bfloat16" if card.bfloat16 else "no bfloat16"
        lines.append(f"--device {card.device}: {card.name}, {memory}{low}")
    return [*lines, f"networks compute on {found.cards[0].device if found.cards else f'the CPU: {found.why_not}'}"]


def warning() -> str:
    """One line on what is not held here; empty where everything is."""
    missing = _missing(probe_means())
    if not missing:
        return ""
    return f"on this machine nothing keeps a candidate from this: {'; '.join(missing)} ('oragent doctor' says why)"


def unguarded(problem: Problem) -> str:
    """One line on an evaluator that runs candidates in its own process; empty for one that keeps them in guests."""
    if problem.is_guarded:
        return ""
    return (
        f"{problem.about.evaluator} of {problem.name} does not use oragent.harness: "
        "a candidate runs in its process and can forge its score"
    )


def _missing(offers: Sequence[MeansReport]) -> list[Guarantee]:
    return list_not_held(offer.means for offer in offers if offer.works)

"""What ``oragent workspace generate`` does."""

from collections import Counter
from pathlib import Path

from rich.console import Console
from rich.text import Text

from oragent.milp.families import FAMILIES
from oragent.workspace.generating.sets import Request, generate

__all__ = ["generate_command"]


def generate_command(families: list[str], count: int, seed: int, out: Path, console: Console) -> int:
    """Make a set and say what is in it.

    Raises:
        WorkspaceError: if it cannot be made.
    """
    names = tuple(FAMILIES) if families in ([], ["all"]) else tuple(families)
    made = generate(Request(names, count, seed), out)
    told = {
        "instances": f"{3 * len(made)}: {len(made)} build, {len(made)} revise, {len(made)} explain",
        "families": _counted(one.family for one in made),
        "revisions": _counted(f"{one.revised.operator} ({one.revised.type.name})" for one in made),
        "depths": _counted(one.revised.depth.name for one in made),
        "noise": _counted(step.operator for one in made for step in one.steps),
    }
    for name, text in told.items():
        console.print(Text(f"{name}: {text}"), soft_wrap=True)
    console.print(Text(f"views in {out}/views, labels in {out}/vault"), soft_wrap=True)
    return 0


def _counted(names: object) -> str:
    assert hasattr(names, "__iter__")
    return ", ".join(f"{count} {name}" for name, count in sorted(Counter(names).items()))

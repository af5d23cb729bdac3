"""What ``oragent workspace generate`` does."""

from collections import Counter
from pathlib import Path

from rich.console import Console
from rich.text import Text

from oragent._base.plain import plain
from oragent.evals.workspace.generating.sets import GenerateRequest, generate
from oragent.evals.workspace.generating.wording import Writing
from oragent.milp.families import FAMILIES


def generate_command(
    families: list[str], count: int, seed: int, out: Path, console: Console, writing: Writing | None = None
) -> int:
    """Make a set and say what is in it.

    Raises:
        OragentError: if it cannot be made, or the rewriting of its texts was cut off.
    """
    names = tuple(FAMILIES) if families in ([], ["all"]) else tuple(families)

    def note(text: str) -> None:
        console.print(Text(plain(text)), soft_wrap=True)

    made = generate(GenerateRequest(names, count, seed), out, (lambda text: None) if writing is None else note, writing)
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

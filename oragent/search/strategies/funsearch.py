"""FunSearch: a model is shown good programs, worse to better, and writes the next one.

Romera-Paredes et al. 2024 (doi:10.1038/s41586-023-06924-6). Where we differ: cells of the archive take the place of
clusters of equal scores, parents are drawn by rank, the model is asked in a chat and not to complete a text, and the
prompt may name one of the problem's building blocks. Set ``archive.reset_period`` for the paper's resets of the worse
half of the islands.
"""

from oragent.llm.model import Message
from oragent.search.archive import Elite
from oragent.search.run import Run
from oragent.search.selection import parents
from oragent.search.strategies.asking import ask_for_program, fill

__all__ = ["round"]

SHOTS = 2  # programs in a prompt (the paper's k)


async def round(run: Run) -> None:
    """Show the model two programs of an island, worse first, and score what it writes."""
    drawn = parents(run.archive, run.island, SHOTS, run.rng, run.desk.folder.config.strategy.temperature)
    shown = sorted(drawn, key=lambda elite: run.archive.fitness(elite.score))
    await ask_for_program(run, "code", [Message("user", prompt(run, shown))], shown)


def prompt(run: Run, shown: list[Elite]) -> str:
    """Write the best-shot prompt."""
    about = run.problem.about
    blocks = about.primitives
    hint = f"One building block that may help: `{blocks[int(run.rng.integers(len(blocks)))]}`." if blocks else ""
    return fill(
        "funsearch",
        description=about.description.strip(),
        better="lower" if about.direction == "minimize" else "higher",
        programs="\n\n".join(_shown(number, elite) for number, elite in enumerate(shown)),
        function=about.function,
        signature=run.problem.signature.text,
        hint=hint,
        knowledge=run.problem.knowledge.strip(),
    )


def _shown(number: int, elite: Elite) -> str:
    figures = ", ".join(f"{name}: {value}" for name, value in elite.metrics.items() if not name.endswith("seconds"))
    return f"Version {number}, score {elite.score:.6g} ({figures}):\n```python\n{elite.source.strip()}\n```"

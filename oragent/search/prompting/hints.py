"""What prompts of all strategies say beside the task, alike, where they ask for something new: an idea or a program.

``strategy.blocks`` and ``strategy.features`` say whether they do.
"""

from oragent.programs.inspection import inspect
from oragent.search.candidate import Elite
from oragent.search.prompting.templates import fill
from oragent.search.round_context import RoundContext

LANGUAGES = {"python": "Python", "cpp": "C++"}
LEFT_BEHIND = 3.0  # times the nodes of the seed heuristic
LEAST = 40  # nodes that a seed counts as at least


def blocks(run: RoundContext, parent: Elite | None = None) -> str:
    """A sentence that names building blocks of the problem; empty where none are to be named.

    Args:
        run: Round that asks.
        parent: Program that is to be changed; one that has grown well beyond the seed has left the blocks behind.
    """
    if parent is not None and parent.length > LEFT_BEHIND * max(
        inspect(run.problem.seed, run.problem.signature).length, LEAST
    ):
        return ""
    named = ", ".join(f"`{block}`" for block in run.blocks())
    return f"Building blocks that may help: {named}." if named else ""


def wanted(run: RoundContext) -> dict[str, str]:
    """What a prompt says of the program that it asks for: the language, and what it must define."""
    signature = run.problem.signature
    return {"signature": signature.shown, "language": LANGUAGES[signature.language]}


def bins(run: RoundContext) -> list[str]:
    """The features whose bins prompts tell of a program; empty where they tell none."""
    return [feature.name for feature in run.problem.about.features] if run.settings.strategy.features else []


def edits(run: RoundContext, base: str, line: str = "") -> str:
    """How to answer with edits of a program in place of all of it.

    Args:
        run: Round that asks.
        base: The program's text, as the prompt shows it.
        line: The line of it that the example changes: the last, where none is given.
    """
    return "\n\n" + fill("answer_edits", run.style, line=line or base.rstrip().split("\n")[-1])


def meanings(run: RoundContext) -> str:
    """What these bins mean, a line each with a blank one before; empty where prompts do not tell them."""
    features = run.problem.about.features if run.settings.strategy.features else ()
    lines = [f"Bins of {feature.name}: {feature.meaning}." for feature in features if feature.meaning]
    return "\n".join(["\n", *lines]) if lines else ""

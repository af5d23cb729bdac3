"""What prompts of all strategies say beside the task, alike, where they ask for something new: an idea or a program.

``strategy.blocks`` and ``strategy.features`` say whether they do.
"""

from oragent.search.run import Run

__all__ = ["bins", "blocks", "meanings", "wanted"]

LANGUAGES = {"python": "Python", "cpp": "C++"}


def blocks(run: Run) -> str:
    """A sentence that names building blocks of the problem; empty where none are to be named."""
    named = ", ".join(f"`{block}`" for block in run.blocks())
    return f"Building blocks that may help: {named}." if named else ""


def wanted(run: Run) -> dict[str, str]:
    """What a prompt says of the program that it asks for: the language, and what it must define."""
    signature = run.problem.signature
    return {"signature": signature.shown, "language": LANGUAGES[signature.language]}


def bins(run: Run) -> list[str]:
    """The features whose bins prompts tell of a program; empty where they tell none."""
    return [feature.name for feature in run.problem.about.features] if run.settings.strategy.features else []


def meanings(run: Run) -> str:
    """What these bins mean, a line each with a blank one before; empty where prompts do not tell them."""
    features = run.problem.about.features if run.settings.strategy.features else ()
    lines = [f"Bins of {feature.name}: {feature.meaning}." for feature in features if feature.meaning]
    return "\n".join(["\n", *lines]) if lines else ""

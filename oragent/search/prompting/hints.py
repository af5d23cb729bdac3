"""What prompts of all strategies say beside the task, alike, where they ask for something new: an idea or a program.

``strategy.blocks`` and ``strategy.features`` say whether they do.
"""

from oragent.programs.inspection import inspect_program
from oragent.search.candidate import Elite
from oragent.search.prompting.templates import fill_template
from oragent.search.round_context import RoundContext

LANGUAGES = {"python": "Python", "cpp": "C++"}
LEFT_BEHIND = 3.0  # times the nodes of the seed heuristic
LEAST = 40  # nodes that a seed counts as at least


def blocks_hint(run: RoundContext, parent: Elite | None = None) -> str:
    """A sentence that names building blocks of the problem; empty where none are to be named.

    Args:
        run: Round that asks.
        parent: Program that is to be changed; one that has grown well beyond the seed has left the blocks behind.
    """
    if parent is not None and parent.length > LEFT_BEHIND * max(
        inspect_program(run.problem.seed, run.problem.signature).length, LEAST
    ):
        return ""
    named = ", ".join(f"`{block}`" for block in run.blocks())
    return f"Building blocks that may help: {named}." if named else ""


def program_request(run: RoundContext) -> dict[str, str]:
    """Describe the program that a prompt asks for: its language, and what it must define."""
    signature = run.problem.signature
    return {"signature": signature.shown, "language": LANGUAGES[signature.language]}


def bin_names(run: RoundContext) -> list[str]:
    """The features whose bins prompts tell of a program; empty where they tell none."""
    return [feature.name for feature in run.problem.about.features] if run.settings.strategy.features else []


def edits_request(run: RoundContext, base: str, first_line: str = "") -> str:
    """Ask for edits of a program instead of the whole program.

    Args:
        run: Round that asks.
        base: The program's text, as the prompt shows it.
        first_line: The line of it that the example changes: the last, where none is given.
    """
    return "\n\n" + fill_template("answer_edits", run.style, line=first_line or base.rstrip().split("\n")[-1])


def bin_meanings(run: RoundContext) -> str:
    """Explain these bins, one line each after a blank line; empty where prompts do not show them."""
    features = run.problem.about.features if run.settings.strategy.features else ()
    lines = [f"Bins of {feature.name}: {feature.meaning}." for feature in features if feature.meaning]
    return "\n".join(["\n", *lines]) if lines else ""

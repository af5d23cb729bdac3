"""What every prompt of a run begins with, the same bytes each time, so that servers read it once and charge it once."""

import sys
from collections.abc import Sequence

from oragent.llm.context import LETTERS_A_TOKEN
from oragent.llm.model import Message
from oragent.search.prompting.hints import wanted
from oragent.search.prompting.templates import fill
from oragent.search.round_context import RoundContext


def asked(run: RoundContext, text: str) -> list[Message]:
    """The messages of a prompt: the problem, then what is asked."""
    return [system(run), Message("user", text)]


def system(run: RoundContext) -> Message:
    """The problem: description, direction, signature, what the function gets, how long it may take."""
    about = run.problem.about
    text = fill(
        "task",
        description=run.problem.brief,
        better=about.direction.comparative,
        **wanted(run),
        contract=contract(run),
        limits=limits(run),
    )
    return Message("system", text)


def room(run: RoundContext) -> int | None:
    """Tokens that are left to a prompt beside the problem; None where no model's context length is known."""
    if run.room is None:
        return None
    return max(run.room + -len(system(run).content) // LETTERS_A_TOKEN, 1)


def contract(run: RoundContext) -> str:
    """What the function gets and returns, in the words of the seed heuristic if it has any."""
    function, said = run.problem.about.function, run.problem.documentation
    return f"\nWhat `{function}` gets and must return:\n{said}\n" if said else ""


def limits(run: RoundContext) -> str:
    """How long an evaluation and the function in it may take, and which packages there are."""
    chosen = run.settings.limits
    whole, own = run.problem.limits(chosen).cpu_s, run.problem.heuristic_s(chosen)
    said = f"\nAn evaluation may take {whole:g} CPU seconds in all"
    said += f", and all calls of the function together {own:g} of them.\n" if own and own < whole else ".\n"
    packages = _listed(run.desk.packages)
    tells = packages and run.problem.signature.language == "python"
    return said + (f"Programs may import {packages}, in Python {_version()}.\n" if tells else "")


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:-1]) + f" and {names[-1]}" if len(names) > 1 else "".join(names)


def _version() -> str:
    return f"{sys.version_info.major}.{sys.version_info.minor}"

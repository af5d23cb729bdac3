"""What is kept with a program beside its score: the idea behind it, what its experiments taught, and their report.

Each is a note of the round that found the program: a mark of its text, then JSON. Who draws the program as a parent is
shown it.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from itertools import chain

from oragent.search.prompting.standing import mark
from oragent.search.round_context import RoundContext
from oragent.search.strategies.or_agent.tree import Idea

ACCOUNT = "account"  # kind of these notes


@dataclass(frozen=True)
class Account:
    """What is known of a program.

    Attributes:
        idea: Idea behind it, with its title.
        report: Report on the experiments that led to it, in words.
        lesson: Lesson of the last experiment that changed it; empty where nobody was asked.
    """

    idea: str
    report: str = ""
    lesson: str = ""


def remember(run: RoundContext, source: str, idea: Idea, *, report: str = "", lesson: str = "") -> None:
    """Keep with a program what is known of it; a later account takes the place of an earlier one."""
    said = Account(f"{idea.title}. {idea.text}" if idea.text != idea.title else idea.text, report, lesson)
    run.note(ACCOUNT, f"{mark(source)} {json.dumps(asdict(said))}")


def account_of(run: RoundContext, source: str) -> Account | None:
    """What is known of a program, by this round and those before it; None where nothing is."""
    wanted = f"{mark(source)} "
    own: Sequence[str] = [note.text for note in (*run.written, *run.notes) if note.kind == ACCOUNT]
    earlier = (note.text for note in reversed(run.memory) if note.kind == ACCOUNT)
    for text in chain(reversed(own), earlier):
        if text.startswith(wanted):
            kept = json.loads(text.removeprefix(wanted))
            return Account(**{field.name: str(kept.get(field.name, "")) for field in fields(Account)})
    return None

"""What is kept with a program beside its score: the idea behind it, what its experiments taught, and their report.

Each is a note of the round that found the program: a mark of its text, then JSON. Who draws the program as a parent is
shown it.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from itertools import chain

from oragent.search.prompting.standing import program_mark
from oragent.search.round_context import RoundContext
from oragent.search.strategies.or_agent.tree import Idea

ACCOUNT = "account"  # kind of these notes


@dataclass(frozen=True)
class Account:
    """Idea, report and lesson of a program.

    Attributes:
        idea: Idea behind it, with its title.
        report: Report on the experiments that led to it, in words.
        lesson: Lesson of the last experiment that changed it; empty where nobody was asked.
    """

    idea: str
    report: str = ""
    lesson: str = ""


def remember_account(run: RoundContext, source: str, idea: Idea, *, report: str = "", lesson: str = "") -> None:
    """Keep with a program what is known of it; a later account takes the place of an earlier one."""
    account = Account(f"{idea.title}. {idea.text}" if idea.text != idea.title else idea.text, report, lesson)
    run.note(ACCOUNT, f"{program_mark(source)} {json.dumps(asdict(account))}")


def account_of(run: RoundContext, source: str) -> Account | None:
    """Return the latest account of a program from this round and earlier ones; None without one."""
    prefix = f"{program_mark(source)} "
    latest: Sequence[str] = [note.text for note in (*run.written, *run.notes) if note.kind == ACCOUNT]
    others = (note.text for note in reversed(run.moment.notes) if note.kind == ACCOUNT)
    earlier = (note.text for note in reversed(run.memory) if note.kind == ACCOUNT)
    for text in chain(reversed(latest), others, earlier):
        if text.startswith(prefix):
            values = json.loads(text.removeprefix(prefix))
            return Account(**{field.name: str(values.get(field.name, "")) for field in fields(Account)})
    return None

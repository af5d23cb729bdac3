"""End a search without a model early if its new best programs get worse on practice instances.

Breeding can fit programs to the instances of ``val``. Each new best program is therefore also run on practice
instances, which are drawn like those of ``val`` but never select programs. If several consecutive best programs are
worse there than an earlier one, the search ends.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from oragent._base.direction import Direction
from oragent._base.safe_load import parse_json
from oragent.search.store import RoundNote

# Kind of notes; there is one for each new best program.
PRACTICE_NOTE = "practice"


@dataclass(frozen=True)
class PracticeScore:
    """Scores of a new best program."""

    # Id of the program.
    id: str
    val: float
    practice: float

    def to_note(self, number: int) -> RoundNote:
        """Return the note of round ``number``."""
        return RoundNote(number, PRACTICE_NOTE, json.dumps(vars(self)))

    @classmethod
    def from_note(cls, note: RoundNote) -> "PracticeScore":
        """Read a note."""
        tree = parse_json(note.text)
        return cls(str(tree["id"]), float(tree["val"]), float(tree["practice"]))


def find_disagreement(notes: Sequence[RoundNote], direction: Direction, patience: int) -> str:
    """Return the reason to end a run whose last ``patience`` best programs are worse on practice than an earlier one.

    Args:
        notes: Notes of all rounds so far, in order.
        direction: Direction of the scores.
        patience: Number of consecutive programs; 0: never.

    Returns:
        One line; empty if the run goes on.
    """
    scores = [PracticeScore.from_note(note) for note in notes if note.kind == PRACTICE_NOTE]
    if not patience or len(scores) <= patience:
        return ""
    earlier, latest = scores[:-patience], scores[-patience:]
    best = max(earlier, key=lambda score: direction.fitness(score.practice))
    if any(direction.fitness(score.practice) >= direction.fitness(best.practice) for score in latest):
        return ""
    last = latest[-1]
    return (
        f"practice instances disagree with val: the last {patience} best programs are worse there than candidate "
        f"{best.id} ({best.practice:.6g} on practice, {best.val:.6g} on val; the last one {last.practice:.6g} and "
        f"{last.val:.6g}); 'strategy.disagreement=0' goes on"
    )

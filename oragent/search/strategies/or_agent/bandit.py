"""The choice of an action for a round: by what each gained for its tokens.

UCB1 (Auer et al. 2002, doi:10.1023/A:1013689704352) over a sliding window (Garivier & Moulines 2011,
doi:10.1007/978-3-642-24412-4_16): gains shrink as a search goes on, so old ones say little. The value of an action is
its gain per token, as a share of that of the best action.
"""

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from enum import StrEnum

from oragent.search.round_context import RoundContext

ACTION = "action"  # kind of the notes that record rounds
WINDOW = 24  # latest rounds that count
EXPLORATION = 0.3  # weight of what was seldom tried
TOKENS_AN_EVALUATION = 200  # what an evaluation costs beside its tokens: a sweep needs no call at all


class ActionKind(StrEnum):
    """What a round does."""

    OPENING = "opening"  # write the first programs, all different
    IDEA = "idea"  # write programs of another kind, with the best one in view
    EDIT = "edit"  # change the best program, in several ways
    CROSSOVER = "crossover"  # join two programs
    RESTART = "restart"  # write programs without any in view
    SWEEP = "sweep"  # search values of the best program's parameters, without a call


PRIORS = {  # value of an action before it was tried, which counts as one round: small budgets cannot try all
    ActionKind.EDIT: 1.0,
    ActionKind.SWEEP: 0.8,
    ActionKind.CROSSOVER: 0.5,
    ActionKind.IDEA: 0.5,
    ActionKind.RESTART: 0.2,
}


@dataclass(frozen=True)
class ActionRecord:
    """An action of a round, and what came of it.

    Attributes:
        action: What was done.
        programs: Number of programs that were evaluated.
        tokens: Tokens of its calls, in and out.
        gain: Improvement of the best score, 0 or more.
    """

    action: ActionKind
    programs: int
    tokens: int
    gain: float

    @property
    def cost(self) -> float:
        """Tokens, and those that its evaluations count as."""
        return self.tokens + TOKENS_AN_EVALUATION * max(self.programs, 1)

    def dump(self) -> str:
        """The text of its note."""
        return json.dumps(asdict(self))

    @classmethod
    def load(cls, text: str) -> "ActionRecord":
        """Read a note.

        Raises:
            ValueError: if it is none.
        """
        values = json.loads(text)
        if not isinstance(values, dict) or set(values) != {field.name for field in fields(cls)}:
            raise ValueError("a note of an action is broken")
        return cls(ActionKind(values["action"]), int(values["programs"]), int(values["tokens"]), float(values["gain"]))


def choose_action(run: RoundContext, available: Sequence[ActionKind]) -> ActionKind:
    """Return the action of a round: the opening first, then by gain per token."""
    records = [ActionRecord.load(note.text) for note in run.recall(ACTION)]
    if not records:
        return ActionKind.OPENING
    latest = [record for record in records if record.action is not ActionKind.OPENING][-WINDOW:]
    return max(available, key=lambda action: upper_bound(action, latest, available))


def upper_bound(action: ActionKind, records: Sequence[ActionRecord], available: Sequence[ActionKind]) -> float:
    """Return the value of an action among those that are available, and what its uncertainty adds."""
    number = sum(record.action is action for record in records)
    rates = {kind: gain_per_token([record for record in records if record.action is kind]) for kind in available}
    share = rates[action] / (max(rates.values()) or 1.0)
    value = (PRIORS[action] + number * share) / (number + 1)
    return value + EXPLORATION * math.sqrt(math.log(len(records) + 1) / (number + 1))


def gain_per_token(records: Sequence[ActionRecord]) -> float:
    """Return the gain of some rounds per token; 0 without any."""
    cost = sum(record.cost for record in records)
    return sum(record.gain for record in records) / cost if cost else 0.0

"""Choice of the action of a round, and allocation of its budget to ideas.

UCB1 chooses an action by its gain per token (Auer et al. 2002, doi:10.1023/A:1013689704352) over a sliding window
(Garivier & Moulines 2011, doi:10.1007/978-3-642-24412-4_16). Gains shrink during a search, so old gains do not count.
The value of an action is its gain per token, as a share of that of the best action.
"""

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from enum import StrEnum

from oragent._base.budget import Spent, apportion
from oragent.search.round_context import RoundContext

# Model calls per idea, including an occasional repair.
CALLS_AN_IDEA = 2
# The opening, which fills the archive, may use 1/OPENING_PART of the budget.
OPENING_PART = 5
# Number of turns in which the experiments of ideas for one leaf are allocated.
TURNS = 4
# Minimum number of experiments of an idea in a turn.
FLOOR = 1
# Resolution of gains: this many parts per unit.
FINE = 10**6


# Kind of notes that record the action of a round.
ACTION = "action"
# Number of latest rounds in the sliding window.
WINDOW = 24
# Weight of exploration in UCB1.
EXPLORATION = 0.3
# Cost of an evaluation in tokens, so that a sweep, which needs no model call, has a cost too.
TOKENS_AN_EVALUATION = 200


class ActionKind(StrEnum):
    """Action of a round."""

    # Write the first programs, all different.
    OPENING = "opening"
    # Write programs of another kind; the prompt shows the best program for comparison.
    IDEA = "idea"
    # Change the best program in several ways.
    EDIT = "edit"
    # Combine two programs.
    CROSSOVER = "crossover"
    # Write programs from a prompt that shows none.
    RESTART = "restart"
    # Search values of the best program's parameters, without a model call.
    SWEEP = "sweep"


# Prior value of each action. It counts as one round, because small budgets cannot try all actions.
PRIORS = {
    ActionKind.EDIT: 1.0,
    ActionKind.SWEEP: 0.8,
    ActionKind.CROSSOVER: 0.5,
    ActionKind.IDEA: 0.5,
    ActionKind.RESTART: 0.2,
}


def affordable_ideas(run: RoundContext, ideas: int, *, opening: bool = False) -> int:
    """Return the number of ideas to ask for: at most as many as the remaining budget can implement.

    The opening, which fills the archive, leaves most of a small budget to later rounds.
    """
    if run.own.idea_count == "settings":
        return ideas
    remaining, whole = run.case.allowance - run.used, run.settings.budget.remaining(run.spent)
    bounds = [remaining.evaluations, (remaining.model_calls - 1) // CALLS_AN_IDEA]
    if opening:
        bounds += [whole.evaluations // OPENING_PART, whole.model_calls // (CALLS_AN_IDEA * OPENING_PART)]
    return max(1, min(ideas, *bounds))


def small_allowance(run: RoundContext) -> Spent:
    """Return the budget of a round that begins during the opening.

    Together, such rounds use at most the opening's share.

    Such a round knows only the seed, so it may repeat results of the opening.
    """
    allowance, whole = run.case.allowance, run.settings.budget.remaining(run.spent)
    parts = OPENING_PART * max(run.window - 1, 1)
    return replace(
        allowance,
        evaluations=min(allowance.evaluations, max(whole.evaluations // parts, 1)),
        model_calls=min(allowance.model_calls, max(whole.model_calls // parts, 1 + CALLS_AN_IDEA)),
    )


def experiment_turns(experiments: int) -> list[int]:
    """Return the mean number of experiments of each idea in each turn, for the allocation ``flow``.

    A turn has about a quarter of all experiments. After the first turn, it has at least two per idea if possible, so
    that some can be allocated by gains.
    """
    remaining = experiments
    sizes: list[int] = []
    while remaining:
        size = max(1, experiments // TURNS) if not sizes else max(FLOOR + 1, -(-experiments // TURNS))
        sizes.append(min(size, remaining))
        remaining -= sizes[-1]
    return sizes


def deal_experiments(gains: Sequence[float], each: int) -> list[int]:
    """Allocate the experiments of one turn to the remaining ideas, by their gains in the previous turn.

    Every idea gets ``FLOOR``. The rest is allocated in proportion to the gains by largest remainders; of equal ideas,
    the older one comes first. If no idea gained, as before the first turn, all get the same number.

    Args:
        gains: Relative gain of each idea over the earlier best of all ideas, 0 or more. An idea that improves but stays
            below that best has no gain.
        each: Mean number of experiments per idea.
    """
    largest = max(gains) or 1.0
    weights = [round(FINE * gain / largest) for gain in gains]
    floor = min(FLOOR, each)
    return [floor + more for more in apportion((each - floor) * len(weights), weights)]


@dataclass(frozen=True)
class ActionRecord:
    """Action of a round, with its tokens in and out and the gain of the best score."""

    action: ActionKind
    programs: int
    tokens: int
    gain: float

    @property
    def cost(self) -> float:
        """Cost in tokens, including the token equivalent of its evaluations."""
        return self.tokens + TOKENS_AN_EVALUATION * max(self.programs, 1)

    def dump(self) -> str:
        """Return the text of its note."""
        return json.dumps(asdict(self))

    @classmethod
    def load(cls, text: str) -> "ActionRecord":
        """Read a note. Another text raises ValueError."""
        values = json.loads(text)
        if not isinstance(values, dict) or set(values) != {field.name for field in fields(cls)}:
            raise ValueError("the note of an action is damaged")
        return cls(ActionKind(values["action"]), int(values["programs"]), int(values["tokens"]), float(values["gain"]))


def choose_action(run: RoundContext, available: Sequence[ActionKind]) -> ActionKind:
    """Return the action of a round: first the opening, then by gain per token."""
    records = [ActionRecord.load(note.text) for note in run.recall(ACTION)]
    if not records:
        return ActionKind.OPENING
    latest = latest_records(records)
    return max(available, key=lambda action: upper_bound(action, latest, available))


def latest_records(records: Sequence[ActionRecord]) -> list[ActionRecord]:
    """Return the records that count for the choice of an action."""
    return [record for record in records if record.action is not ActionKind.OPENING][-WINDOW:]


def upper_bound(action: ActionKind, records: Sequence[ActionRecord], available: Sequence[ActionKind]) -> float:
    """Return the upper confidence bound of an action: its relative value plus its uncertainty."""
    number = sum(record.action is action for record in records)
    rates = {kind: gain_per_token([record for record in records if record.action is kind]) for kind in available}
    share = rates[action] / (max(rates.values()) or 1.0)
    value = (PRIORS[action] + number * share) / (number + 1)
    return value + EXPLORATION * math.sqrt(math.log(len(records) + 1) / (number + 1))


def gain_per_token(records: Sequence[ActionRecord]) -> float:
    """Return the gain per token of some rounds; 0 without rounds."""
    cost = sum(record.cost for record in records)
    if cost:
        return sum(record.gain for record in records) / cost
    return 0.0

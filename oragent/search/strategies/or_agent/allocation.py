"""What a round does and how much of the budget its ideas get.

An action is chosen by what each gained for its tokens, with UCB1 (Auer et al. 2002, doi:10.1023/A:1013689704352) over
a sliding window (Garivier & Moulines 2011, doi:10.1007/978-3-642-24412-4_16): gains shrink as a search goes on, so
old ones say little. The value of an action is its gain per token, as a share of that of the best action.
"""

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from enum import StrEnum

from oragent._base.budget import Spent, apportion
from oragent.search.candidate import Elite
from oragent.search.round_context import RoundContext

# model calls that it takes at least, now and then with a repair
CALLS_AN_IDEA = 2
# one part in so many of the budget may go to the round that fills the archive
OPENING_PART = 5
# in which the experiments of ideas for one leaf are dealt out
TURNS = 4
# experiments that every one of them has in a turn, whatever it gained
FLOOR = 1
# parts of a gain that count
FINE = 10**6


# kind of the notes that record rounds
ACTION = "action"
# latest rounds that count
WINDOW = 24
# weight of what was seldom tried
EXPLORATION = 0.3
# what an evaluation costs beside its tokens: a sweep needs no call at all
TOKENS_AN_EVALUATION = 200


def affordable_ideas(run: RoundContext, ideas: int, *, opening: bool = False) -> int:
    """Number of ideas to ask for: no more than what is left can code, so that none is dropped.

    The opening, which fills the archive, leaves most of a small budget to rounds that learn from each other.
    """
    if run.own.idea_count == "settings":
        return ideas
    remaining, whole = run.case.allowance - run.used, run.settings.budget.remaining(run.spent)
    bounds = [remaining.evaluations, (remaining.model_calls - 1) // CALLS_AN_IDEA]
    if opening:
        bounds += [whole.evaluations // OPENING_PART, whole.model_calls // (CALLS_AN_IDEA * OPENING_PART)]
    return max(1, min(ideas, *bounds))


def small_allowance(run: RoundContext) -> Spent:
    """Return the allowance of a round that begins beside the opening: all such rounds together use no more than it.

    It sees nothing but the seed, so what it finds out may be known already when it ends.
    """
    allowance, whole = run.case.allowance, run.settings.budget.remaining(run.spent)
    parts = OPENING_PART * max(run.window - 1, 1)
    return replace(
        allowance,
        evaluations=min(allowance.evaluations, max(whole.evaluations // parts, 1)),
        model_calls=min(allowance.model_calls, max(whole.model_calls // parts, 1 + CALLS_AN_IDEA)),
    )


def allotted_experiments(run: RoundContext, solution: Elite | None, parents: Sequence[Elite]) -> int:
    """Most experiments on a solution.

    With dynamic allocation by a rule of ours: ``elite_factor`` times as many where it gained ``gain_threshold`` of the
    score of its best parent, or is better than the best of all; so much fewer where it lost, or has no score; within
    ``experiments_least`` and ``experiments_most``. Liu et al. 2026 (arXiv:2602.13769) have the thought, without a
    formula; in their study it was off, or its bounds left it nothing to decide.
    """
    agent = run.own
    if agent.allocation != "dynamic" or not agent.experiments:
        return int(agent.experiments)
    gain, factor, best = -1.0, 1.0, run.archive.best
    # the gain over the best parent, as a share of that one's score
    if solution is not None:
        bar = max(run.archive.fitness(parent.score) for parent in parents)
        gain = (run.archive.fitness(solution.score) - bar) / max(abs(bar), 1e-12)
    is_best = solution and best and run.archive.direction.better(solution.score, best.score)
    if gain < 0:
        factor = 1 / agent.elite_factor
    elif gain >= agent.gain_threshold or is_best:
        factor = agent.elite_factor
    return int(max(agent.experiments_least, min(agent.experiments_most, agent.experiments * factor)))


def experiment_turns(experiments: int) -> list[int]:
    """The turns in which ideas for one leaf have their experiments, where shares flow to those that gain.

    The number that each idea has in each turn on average: about a quarter of all, and but for the first turn at least
    two where that can be, so that there is something to deal beside the floor.
    """
    remaining = experiments
    sizes: list[int] = []
    while remaining:
        if not sizes:
            size = max(1, experiments // TURNS)
        else:
            size = max(FLOOR + 1, -(-experiments // TURNS))
        sizes.append(min(size, remaining))
        remaining -= sizes[-1]
    return sizes


def deal_experiments(gains: Sequence[float], each: int) -> list[int]:
    """The experiments of one turn, dealt to the ideas that go on: by what each gained in the turn before it.

    Every idea has ``FLOOR``; the others go to those that gained, in proportion, by largest remainders, to the older of
    equal ones first. Where none gained, as before the first turn, all have as many.

    Args:
        gains: Gain of each, 0 or more: what it has come to beyond the best that any of them had before, as a share.
            A step of one that is behind and stays behind is none, however large.
        each: Number of experiments that each has on average.
    """
    largest = max(gains) or 1.0
    weights = [round(FINE * gain / largest) for gain in gains]
    floor = min(FLOOR, each)
    return [floor + more for more in apportion((each - floor) * len(weights), weights)]


class ActionKind(StrEnum):
    """What a round does."""

    # write the first programs, all different
    OPENING = "opening"
    # write programs of another kind, with the best one in view
    IDEA = "idea"
    # change the best program, in several ways
    EDIT = "edit"
    # join two programs
    CROSSOVER = "crossover"
    # write programs without any in view
    RESTART = "restart"
    # search values of the best program's parameters, without a call
    SWEEP = "sweep"


# value of an action before it was tried, which counts as one round: small budgets cannot try all
PRIORS = {
    ActionKind.EDIT: 1.0,
    ActionKind.SWEEP: 0.8,
    ActionKind.CROSSOVER: 0.5,
    ActionKind.IDEA: 0.5,
    ActionKind.RESTART: 0.2,
}


@dataclass(frozen=True)
class ActionRecord:
    """An action of a round, and what came of it: tokens in and out, and how much better the best score got."""

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
        """Read a note; ValueError if it is none."""
        values = json.loads(text)
        if not isinstance(values, dict) or set(values) != {field.name for field in fields(cls)}:
            raise ValueError("a note of an action is broken")
        return cls(ActionKind(values["action"]), int(values["programs"]), int(values["tokens"]), float(values["gain"]))


def choose_action(run: RoundContext, available: Sequence[ActionKind]) -> ActionKind:
    """Return the action of a round: the opening first, then by gain per token."""
    records = [ActionRecord.load(note.text) for note in run.recall(ACTION)]
    if not records:
        return ActionKind.OPENING
    latest = latest_records(records)
    return max(available, key=lambda action: upper_bound(action, latest, available))


def latest_records(records: Sequence[ActionRecord]) -> list[ActionRecord]:
    """Return the records that count for the choice of an action."""
    return [record for record in records if record.action is not ActionKind.OPENING][-WINDOW:]


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
    if cost:
        return sum(record.gain for record in records) / cost
    return 0.0

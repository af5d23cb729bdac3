"""Portfolio: several strategies share a run. The worse ones are dropped at 25, 50 and 75 % of the budget.

No strategy is best on every problem, so a run can start several and drop those that gain least. All members share the
archive, so each uses the programs of the others. Each member has its own turns, notes and settings. When a program
improves on the best score, its member is credited with that step, as a share of the improvement from the seed to the
best so far. The gain of a member is its credit per evaluation. At each mark the better half continues, together with
all members whose gain is lower by no more than the noise of the rounds. The first population of a member is the shared
archive.

This strategy is not from a paper. Dropping half of the members is successive halving (Jamieson & Talwalkar 2016,
arXiv:1502.07943).
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from statistics import stdev
from typing import Annotated, NamedTuple

from annotated_types import MinLen
from pydantic.dataclasses import dataclass

from oragent._base.budget import Spent
from oragent._base.errors import ConfigError
from oragent._base.settings import STRICT
from oragent.llm.factory import Ensemble
from oragent.search.config import Blocks
from oragent.search.round_context import RoundContext
from oragent.search.strategies import ael, baselines, eoh, funsearch, levi, mcts_ahd, one_shot, or_agent, reevo, tide
from oragent.search.strategy import Strategy

PUBLISHED = [module.STRATEGY for module in (ael, eoh, funsearch, levi, mcts_ahd, or_agent, reevo, tide)]
BASELINES = [baselines.GP, baselines.HILL_CLIMB, baselines.RANDOM, one_shot.STRATEGY]
MEMBERS = {strategy.name: strategy for strategy in sorted([*PUBLISHED, *BASELINES], key=lambda strategy: strategy.name)}
# Shares of the budget after which the better half continues.
MARKS = (0.25, 0.5, 0.75)
# Smallest number of rounds of a member for an estimate of its noise.
MIN_NOISE_ROUNDS = 3
# Kinds of notes.
PLAYED, LEFT = "portfolio: who played", "portfolio: who is left"


@dataclass(frozen=True, config=STRICT)
class PortfolioSettings:
    """Settings under ``strategy.options``.

    Attributes:
        members: Strategies that begin, at least two different ones. ``eoh@gpt-4.1-nano`` uses that model, which is the
            run's own or one of its ensemble. Either all members name a model or none does.
    """

    members: Annotated[tuple[str, ...], MinLen(2)] = field(default=("or_agent", "eoh", "reevo", "funsearch"))

    def __post_init__(self) -> None:
        unknown = [name for name in map(_strategy_name, self.members) if name not in MEMBERS]
        if unknown:
            raise ConfigError(
                f"strategy.options.members: unknown strategy {unknown[0]!r}; expected some of {', '.join(MEMBERS)}"
            )
        if len(set(self.members)) < len(self.members):
            raise ConfigError("strategy.options.members must be different strategies, or name different models")
        if len({"@" in name for name in self.members}) > 1:
            raise ConfigError("strategy.options.members: either all or none must name a model, such as eoh@gpt-4.1")


async def play_round(run: RoundContext) -> None:
    """Run a round of the next member."""
    stage, alive = _decide_standing(run)
    name = _choose_member(run, alive)
    run.note(PLAYED, name)
    # With several members, running rounds can belong to others.
    flying = range(run.horizon + 1, run.number) if len(alive) == 1 else ()
    turns = [*(note.round for note in run.recall(PLAYED) if note.text == name), *flying, run.number]
    run.case.allowance = _cap_allowance(run, stage, len(alive))
    _give_to_its_model(run, name)
    strategy = MEMBERS[_strategy_name(name)]
    # If no other member has the same strategy, all notes of its kinds belong to it.
    is_single = sum(_strategy_name(member) == strategy.name for member in run.own.members) == 1
    memory = run.memory if is_single else [note for note in run.memory if note.round in turns]
    numbered = {number: turn for turn, number in enumerate(turns, 1)}

    def turn_of(number: int) -> int:
        return numbered.get(number, 0)

    await strategy.round(replace(run, acting=strategy.section(run.settings), turns=turn_of, memory=memory))


def budget_phase(run: RoundContext) -> int:
    """Return the number of marks that the committed part of the budget has passed; time does not count."""
    share = run.settings.budget.spent_share(run.spent)
    return sum(share >= mark for mark in MARKS)


class MemberGain(NamedTuple):
    """Gain of a member."""

    # Gain per evaluation, as a share of the gain from the seed to the best so far.
    mean: float
    # Standard error of the mean over the member's rounds; infinite below ``MIN_NOISE_ROUNDS`` rounds.
    error: float


def member_gains(run: RoundContext) -> dict[str, MemberGain]:
    """Return each member's gain per evaluation, with its noise."""
    played = {note.round: note.text for note in run.recall(PLAYED)}
    brought: dict[str, dict[int, float]] = {name: {} for name in run.own.members}
    spent = dict.fromkeys(run.own.members, 0)
    scored = [record for record in run.history if record.placed]
    begin = best = run.fitness(scored[0])
    for record in run.history:
        name = played.get(record.round)
        if name is None:
            continue
        spent[name] += record.candidate.evaluation.was_started and not record.candidate.is_probe
        rounds = brought[name]
        rounds.setdefault(record.round, 0.0)
        if record.placed and run.fitness(record) > best:
            rounds[record.round] += run.fitness(record) - best
            best = run.fitness(record)
    way = best - begin or 1.0
    return {name: _gain_with_noise(list(rounds.values()), way, spent[name]) for name, rounds in brought.items()}


def _gain_with_noise(rounds: Sequence[float], way: float, evaluations: int) -> MemberGain:
    each = way * max(evaluations, 1)
    error = stdev(rounds) * math.sqrt(len(rounds)) / each if len(rounds) >= MIN_NOISE_ROUNDS else math.inf
    return MemberGain(sum(rounds) / each, error)


def better_half(alive: Sequence[str], gained: Mapping[str, MemberGain]) -> list[str]:
    """Return the better half of the members, and all others whose lower gain is within the noise."""
    order = sorted(alive, key=lambda name: (-gained[name].mean, alive.index(name)))
    half = (len(alive) + 1) // 2
    last = gained[order[half - 1]]

    def is_close(name: str) -> bool:
        return last.mean - gained[name].mean <= math.hypot(last.error, gained[name].error)

    members = {*order[:half], *filter(is_close, order[half:])}
    return [name for name in alive if name in members]


def _decide_standing(run: RoundContext) -> tuple[int, Sequence[str]]:
    """Return the phase and its members. The first round of a phase decides on the members and stores the decision."""
    stage, alive = 0, list(run.own.members)
    for note in run.recall(LEFT):
        decided, those = json.loads(note.text)
        # Several rounds that run at the same time may decide; the first decision counts.
        if decided > stage:
            stage, alive = decided, those
    reached = budget_phase(run)
    if reached > stage:
        gained = member_gains(run)
        for _ in range(reached - stage):
            alive = better_half(alive, gained)
        run.note(LEFT, json.dumps([reached, alive]))
    return reached, alive


def _choose_member(run: RoundContext, alive: Sequence[str]) -> str:
    """Return the member with the fewest evaluations. Rounds that run at the same time take different members."""
    played = {note.round: note.text for note in run.recall(PLAYED)}
    had = dict.fromkeys(alive, 0)
    for record in run.history:
        if (name := played.get(record.round)) in had:
            had[name] += 1
    order = sorted(alive, key=lambda name: (had[name], alive.index(name)))
    return order[run.number % min(run.window, len(order))]


def _cap_allowance(run: RoundContext, stage: int, alive: int) -> Spent:
    """Limit a round to its member's share of the phase, so that no round uses up the phase."""
    budget, allowance = run.settings.budget, run.case.allowance
    parts = (len(MARKS) + 1) * alive

    def smallest_limit(name: str, value: int) -> int:
        limit = getattr(budget, name)
        return value if limit is None or stage == len(MARKS) else min(value, max(limit // parts, 1))

    calls = smallest_limit("model_calls", allowance.model_calls)
    return replace(allowance, evaluations=smallest_limit("evaluations", allowance.evaluations), model_calls=calls)


def _strategy_name(name: str) -> str:
    return name.partition("@")[0]


def _give_to_its_model(run: RoundContext, name: str) -> None:
    model_name, settings = name.partition("@")[2], run.settings
    if not model_name:
        return
    model_names = [model.name for model in (settings.model, *settings.ensemble) if model]
    if model_name not in model_names:
        raise ConfigError(
            f"strategy.options.members: unknown model {model_name!r}; expected one of "
            f"{', '.join(model_names) or 'none'}"
        )
    if isinstance(run.context.asked, Ensemble):
        run.context.asked.reassign_round(run.number, model_names.index(model_name))


STRATEGY = Strategy(
    name="portfolio",
    round=play_round,
    remembers=True,
    islands=4,
    window=2,
    blocks=Blocks.SOME,
    features=True,
    standing=True,
    history=True,
    live=True,
    settings=PortfolioSettings,
)

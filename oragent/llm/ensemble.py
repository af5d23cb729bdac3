"""Several models behind one: a bandit gives each round to the model that gains most for its cost."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from oragent.llm.model import Model, Reply, Request

CHEAPEST = 0.01  # of the dearest model's cost: no round is free, as it takes time and an evaluation too


@dataclass(frozen=True)
class EnsembleArm:
    """What a model has shown so far.

    Attributes:
        rounds: Number of rounds that were given to it, those in flight included.
        settled: Number of these rounds that have ended.
        reward: Sum of the rewards of the settled rounds, each in [0, 1].
        squares: Sum of the squared rewards.
        money: US dollars that the settled rounds took, where prices are known.
        tokens: Tokens that the settled rounds took.
    """

    rounds: int = 0
    settled: int = 0
    reward: float = 0.0
    squares: float = 0.0
    money: float = 0.0
    tokens: float = 0.0

    def cost(self, priced: bool) -> float:
        """The mean cost of a settled round: money where prices are known, else tokens."""
        return (self.money if priced else self.tokens) / self.settled

    def bonus(self, rounds: int) -> float:
        """How much better than its mean an arm may be after ``rounds`` of all arms: that of UCB1-tuned."""
        mean = self.reward / self.settled
        spread = self.squares / self.settled - mean**2 + math.sqrt(2 * math.log(rounds) / self.rounds)
        return math.sqrt(math.log(rounds) / self.rounds * min(0.25, spread))


def choose(arms: Sequence[EnsembleArm]) -> int:
    """Pick the arm with the highest reward for its cost, or one that may yet turn out to be it.

    The index is mean reward over mean cost, as in budgeted bandits (Tran-Thanh et al. 2012, arXiv:1204.1909), plus the
    bonus of UCB1-tuned (Auer et al. 2002, doi:10.1023/A:1013689704352). The bonus is not divided by the cost: a useless
    model is not worth more trials for being cheap, as a run has few rounds. A round in flight counts as a trial, and
    not yet as one that gained or cost anything. Costs are relative to the dearest arm's.

    Args:
        arms: Arms to choose from, at least one.

    Returns:
        The arm's place; the first of equal ones, and before anything else those that were never tried.
    """
    untried = [place for place, arm in enumerate(arms) if not arm.rounds]
    if untried:
        return untried[0]
    if not all(arm.settled for arm in arms):  # nothing is known of one of them: wait by taking turns
        return min(range(len(arms)), key=lambda place: arms[place].rounds)
    priced = all(arm.money > 0 for arm in arms)
    dearest, rounds = max(arm.cost(priced) for arm in arms), sum(arm.rounds for arm in arms)
    costs = [max(arm.cost(priced) / dearest, CHEAPEST) for arm in arms]
    indices = [arm.reward / arm.settled / cost + arm.bonus(rounds) for arm, cost in zip(arms, costs, strict=True)]
    return indices.index(max(indices))


class Ensemble:
    """A model made of models.

    A round is given to one model when it begins, and all that it asks goes there: a repair is the business of whoever
    made the mistake. What a round gained is told when it is committed. Both happen in round order, so that the choice
    follows from the history of the run alone, however calls overlap.

    Args:
        models: Models in the order in which they are tried first.
    """

    def __init__(self, models: Sequence[Model]) -> None:
        if not models:
            raise ValueError("models must not be empty.")
        self._models = list(models)
        self._arms = [EnsembleArm() for _ in self._models]
        self._flying: dict[int, int] = {}

    @property
    def arms(self) -> tuple[EnsembleArm, ...]:
        """What each model has shown so far."""
        return tuple(self._arms)

    def begin(self, number: int) -> None:
        """Give a round to a model."""
        place = self._flying[number] = choose(self._arms)
        self._arms[place] = replace(self._arms[place], rounds=self._arms[place].rounds + 1)

    def give(self, number: int, place: int) -> None:
        """Give a round that was begun to the model at a place, whatever the bandit would have.

        Args:
            number: Number of the round; it was begun.
            place: Place of the model, from 0, in the order in which they were given.
        """
        before = self._flying[number]
        for one, step in ((before, -1), (place, 1)):
            self._arms[one] = replace(self._arms[one], rounds=self._arms[one].rounds + step)
        self._flying[number] = place

    def settle(self, number: int, reward: float, money: float, tokens: int) -> None:
        """Take down what came of a round.

        Args:
            number: Number of the round; it was begun.
            reward: Reward of the round, in [0, 1].
            money: US dollars that the round took.
            tokens: Tokens that the round took.
        """
        place = self._flying.pop(number)
        arm = self._arms[place]
        if not money + tokens:  # it asked nothing
            self._arms[place] = replace(arm, rounds=arm.rounds - 1)
            return
        self._arms[place] = replace(
            arm,
            settled=arm.settled + 1,
            reward=arm.reward + reward,
            squares=arm.squares + reward**2,
            money=arm.money + money,
            tokens=arm.tokens + tokens,
        )

    async def __call__(self, request: Request, /) -> Reply:
        """Ask the model that the request's round was given to; the best so far, if it belongs to no round."""
        number = request.key.partition(".")[0]
        place = self._flying.get(int(number)) if number.isdigit() else None
        return await self._models[choose(self._arms) if place is None else place](request)

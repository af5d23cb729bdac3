"""Choose among several models: a bandit gives each round to the model with the best gain for its cost."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from oragent.llm.model import Model, Reply, Request

CHEAPEST = 0.01  # of the cost of the most expensive model: no round is free, as it takes time and an evaluation


@dataclass(frozen=True)
class EnsembleArm:
    """Record of a model of an ensemble."""

    rounds: int = 0  # number of rounds assigned to it, those in progress included
    settled: int = 0  # number of these rounds that have ended
    reward: float = 0.0  # sum of the rewards of the settled rounds, each in [0, 1]
    squares: float = 0.0  # sum of the squared rewards
    money: float = 0.0  # US dollars that the settled rounds took, where prices are known
    tokens: float = 0.0  # tokens that the settled rounds took

    def mean_cost(self, priced: bool) -> float:
        """Return the mean cost of a settled round: money if prices are known, else tokens."""
        return (self.money if priced else self.tokens) / self.settled

    def exploration_bonus(self, rounds: int) -> float:
        """Return the bonus of UCB1-tuned after ``rounds`` of all arms."""
        mean = self.reward / self.settled
        spread = self.squares / self.settled - mean**2 + math.sqrt(2 * math.log(rounds) / self.rounds)
        return math.sqrt(math.log(rounds) / self.rounds * min(0.25, spread))


def choose_arm(arms: Sequence[EnsembleArm]) -> int:
    """Choose the arm with the highest index.

    The index is mean reward over mean cost, as in budgeted bandits (Tran-Thanh et al. 2012, arXiv:1204.1909), plus the
    bonus of UCB1-tuned (Auer et al. 2002, doi:10.1023/A:1013689704352). The bonus is not divided by the cost: a run has
    few rounds, so a useless model does not deserve more trials because it is cheap. A round in progress counts as a
    trial without reward or cost. Costs are relative to those of the most expensive arm.

    Args:
        arms: Arms to choose from, at least one.

    Returns:
        Index of the arm, the first of equal ones; arms that were never tried come first.
    """
    untried = [index for index, arm in enumerate(arms) if not arm.rounds]
    if untried:
        return untried[0]
    if not all(arm.settled for arm in arms):  # one of them has no result yet: take turns
        return min(range(len(arms)), key=lambda index: arms[index].rounds)
    priced = all(arm.money > 0 for arm in arms)
    dearest, rounds = max(arm.mean_cost(priced) for arm in arms), sum(arm.rounds for arm in arms)
    costs = [max(arm.mean_cost(priced) / dearest, CHEAPEST) for arm in arms]
    indices = [
        arm.reward / arm.settled / cost + arm.exploration_bonus(rounds) for arm, cost in zip(arms, costs, strict=True)
    ]
    return indices.index(max(indices))


class Ensemble:
    """A model that consists of several models.

    Each round is assigned to one model when it begins, and all its calls go there, repairs included. Its reward is
    recorded when the round is committed. Both happen in the order of rounds, so the choice depends on the history of
    the run alone, not on the timing of calls.

    Args:
        models: Models in the order in which they are tried first.
    """

    def __init__(self, models: Sequence[Model]) -> None:
        if not models:
            raise ValueError("models must not be empty.")
        self._models = list(models)
        self._arms = [EnsembleArm() for _ in self._models]
        self._rounds_in_flight: dict[int, int] = {}

    @property
    def arms(self) -> tuple[EnsembleArm, ...]:
        """Records of the models."""
        return tuple(self._arms)

    def begin_round(self, number: int) -> None:
        """Assign a round to a model."""
        index = self._rounds_in_flight[number] = choose_arm(self._arms)
        self._arms[index] = replace(self._arms[index], rounds=self._arms[index].rounds + 1)

    def reassign_round(self, number: int, index: int) -> None:
        """Assign a round that has begun to another model, whatever the bandit chose.

        Args:
            number: Number of the round.
            index: Index of the model, from 0.
        """
        previous = self._rounds_in_flight[number]
        for arm, step in ((previous, -1), (index, 1)):
            self._arms[arm] = replace(self._arms[arm], rounds=self._arms[arm].rounds + step)
        self._rounds_in_flight[number] = index

    def settle_round(self, number: int, reward: float, money: float, tokens: int) -> None:
        """Record the reward and the cost of a round.

        Args:
            number: Number of the round, which has begun.
            reward: Reward of the round, in [0, 1].
            money: US dollars that the round took.
            tokens: Tokens that the round took.
        """
        index = self._rounds_in_flight.pop(number)
        arm = self._arms[index]
        if not money + tokens:  # it made no call
            self._arms[index] = replace(arm, rounds=arm.rounds - 1)
            return
        self._arms[index] = replace(
            arm,
            settled=arm.settled + 1,
            reward=arm.reward + reward,
            squares=arm.squares + reward**2,
            money=arm.money + money,
            tokens=arm.tokens + tokens,
        )

    async def __call__(self, request: Request, /) -> Reply:
        """Ask the model of the request's round; the best one so far if the request belongs to no round."""
        number = request.key.partition(".")[0]
        index = self._rounds_in_flight.get(int(number)) if number.isdigit() else None
        return await self._models[choose_arm(self._arms) if index is None else index](request)

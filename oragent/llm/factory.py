"""Make models from settings, check that each one answers, and choose among several by a bandit."""

import math
import os
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace

from pydantic import SecretStr

from oragent._base.errors import ConfigError
from oragent.llm.callable import CommandModel
from oragent.llm.client import ModelClient
from oragent.llm.keys import KEY, Keys, hide_keys
from oragent.llm.model import Model, Reply, Request
from oragent.llm.model_settings import ModelSettings, RuntimeSettings
from oragent.llm.prices import Prices, project_prices

# Minimum cost of a round as a share of the cost of the most expensive model. No round is free, because it takes time
# and an evaluation.
CHEAPEST = 0.01


@dataclass(frozen=True)
class EnsembleArm:
    """Record of a model of an ensemble."""

    # Number of rounds assigned to it, including those in progress.
    rounds: int = 0
    # Number of these rounds that have ended.
    settled: int = 0
    # Sum of the rewards of the settled rounds, each in [0, 1].
    reward: float = 0.0
    # Sum of the squared rewards.
    squares: float = 0.0
    # US dollars that the settled rounds cost, if prices are known.
    money: float = 0.0
    # Tokens that the settled rounds used.
    tokens: float = 0.0

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

    Returns:
        Index of the arm, the first of equal ones. Arms that were never tried come first.
    """
    untried = [index for index, arm in enumerate(arms) if not arm.rounds]
    if untried:
        return untried[0]
    # One of them has no result yet, so all arms take turns.
    if not all(arm.settled for arm in arms):
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

    Each round is assigned to one model when it begins, and all its calls go there, including repairs. Its reward is
    recorded when the round is committed. Both happen in the order of rounds, so the choice depends only on the history
    of the run, not on the timing of calls.
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
        """Assign a round that has begun to another model, regardless of the bandit's choice."""
        previous = self._rounds_in_flight[number]
        for arm, step in ((previous, -1), (index, 1)):
            self._arms[arm] = replace(self._arms[arm], rounds=self._arms[arm].rounds + step)
        self._rounds_in_flight[number] = index

    def settle_round(self, number: int, reward: float, money: float, tokens: int) -> None:
        """Record the reward and the cost of a round."""
        index = self._rounds_in_flight.pop(number)
        arm = self._arms[index]
        # The round made no call.
        if not money + tokens:
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
        """Ask the model of the request's round. If the request belongs to no round, ask the best one so far."""
        number = request.key.partition(".")[0]
        index = self._rounds_in_flight.get(int(number)) if number.isdigit() else None
        return await self._models[choose_arm(self._arms) if index is None else index](request)


Maker = Callable[[ModelSettings], Model]


@dataclass(frozen=True)
class Models:
    """Models by role. The object is itself a model, which passes each request to the model of its role."""

    # Model of all roles without an entry in ``roles``.
    main: Model
    # Models of single roles.
    roles: Mapping[str, Model] = field(default_factory=dict)
    # Replies to connection checks, which cost money like any other.
    checks: tuple[Reply, ...] = ()

    async def __call__(self, request: Request, /) -> Reply:
        """Ask the model of the request's role."""
        return await self.roles.get(request.role, self.main)(request)


@asynccontextmanager
async def open_models(
    runtime: RuntimeSettings,
    *,
    fallback_roles: Mapping[str, str] | None = None,
    makers: Mapping[str, Maker] | None = None,
    prices: Prices | None = None,
    key: SecretStr | None = None,
) -> AsyncIterator[Models]:
    """Create models, and close them at the end. Equal settings share one client, which is checked once.

    Args:
        runtime: Settings of the main model, of the models of single roles, and of the ensemble.
        fallback_roles: For roles without a model, the role whose model is used instead, if it has one.
        makers: Functions that create the models of certain names, instead of a client.
        prices: Prices of models. None means the price list of the project, or of the package.
        key: Key to use instead of ``OPENAI_API_KEY``; the environment is left unchanged. None: all keys that settings
            name are removed from the environment until the models are closed, so that no child process inherits them.

    Raises:
        ConfigError: No main model is named, or the price list is damaged.
        ModelError: A model has no key, cannot be reached, or refuses the call.
    """
    if runtime.model is None:
        raise ConfigError("no model is named: use --model or model.name")
    if prices is None:
        prices = project_prices()
    opened: dict[ModelSettings, Model] = {}
    checks: list[Reply] = []
    async with AsyncExitStack() as stack:
        named = [name for settings in runtime.every_model for name in settings.variables]
        keys = stack.enter_context(hide_keys(named)) if key is None else collect_keys(key, named)

        async def open_model(settings: ModelSettings) -> Model:
            if makers and settings.name in makers:
                return makers[settings.name](settings)
            if settings not in opened and settings.command is not None:
                opened[settings] = CommandModel(
                    settings, prices, keys.key_for(settings) if settings.api_key_env else None
                )
            elif settings not in opened:
                opened[settings] = client = await stack.enter_async_context(
                    ModelClient(settings, prices, keys.key_for(settings), keys.by_variable)
                )
                checks.append(await client.check())
            return opened[settings]

        by_role = {role: await open_model(settings) for role, settings in runtime.models.items()}
        for role, played in (fallback_roles or {}).items():
            if played in by_role:
                by_role.setdefault(role, by_role[played])
        first, *others = [await open_model(settings) for settings in (runtime.model, *runtime.ensemble)]
        yield Models(Ensemble([first, *others]) if others else first, by_role, tuple(checks))


def collect_keys(key: SecretStr, named: Sequence[str]) -> Keys:
    """Return the key of the caller and those that models name, without changing the environment."""
    return Keys({name: SecretStr(os.environ[name]) for name in named if name in os.environ} | {KEY: key})

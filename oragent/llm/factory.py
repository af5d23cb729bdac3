"""Make models from settings, and see that each answers before any work begins."""

import os
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field

from pydantic import SecretStr

from oragent._base.errors import ConfigError
from oragent.llm.client import ModelClient
from oragent.llm.command import CommandModel
from oragent.llm.ensemble import Ensemble
from oragent.llm.keys import KEY, Keys, taken_keys
from oragent.llm.model import Model, Reply, Request
from oragent.llm.model_settings import ModelSettings
from oragent.llm.prices import Prices, project_prices
from oragent.llm.runtime_settings import RuntimeSettings

Maker = Callable[[ModelSettings], Model]


@dataclass(frozen=True)
class Models:
    """The models of one piece of work; itself a model, which passes each request on by its role.

    Attributes:
        main: Model that answers all roles that have no model of their own.
        roles: Model of each role that has one.
        checks: Replies by which servers have shown that they answer; they were paid for.
    """

    main: Model
    roles: Mapping[str, Model] = field(default_factory=dict)
    checks: tuple[Reply, ...] = ()

    async def __call__(self, request: Request, /) -> Reply:
        """Ask the model that plays the request's role."""
        return await self.roles.get(request.role, self.main)(request)


@asynccontextmanager
async def open_models(
    runtime: RuntimeSettings,
    *,
    understudies: Mapping[str, str] | None = None,
    makers: Mapping[str, Maker] | None = None,
    prices: Prices | None = None,
    key: SecretStr | None = None,
) -> AsyncIterator[Models]:
    """Make models, and close them in the end; equal settings share one client, which is checked once.

    Args:
        runtime: Settings of the main model, of those of single roles, and of those beside the main one.
        understudies: Roles that are played by whoever plays another one, by that one's name, unless they have a model
            of their own.
        makers: Functions that make the models of certain names, in place of a client.
        prices: Prices of models; None: the price list of the project, or the shipped one.
        key: Key in place of that in ``OPENAI_API_KEY``, which leaves the environment as it is; None takes all keys that
            are named out of the environment until the models are closed, so that no child process inherits one.

    Raises:
        ConfigError: there is no main model, or the price list is broken.
        ModelError: a model has no key, cannot be reached, or refuses.
    """
    if runtime.model is None:
        raise ConfigError("nobody is asked: name a model with --model or model.name")
    prices = project_prices() if prices is None else prices
    made: dict[ModelSettings, Model] = {}
    checks: list[Reply] = []
    async with AsyncExitStack() as stack:
        named = [one.api_key_env for one in runtime.every_model if one.api_key_env]
        keys = stack.enter_context(taken_keys(named)) if key is None else _given(key, named)

        async def ready(one: ModelSettings) -> Model:
            if makers and one.name in makers:
                return makers[one.name](one)
            if one not in made and one.command is not None:
                made[one] = CommandModel(one, prices, keys.of(one) if one.api_key_env else None)
            elif one not in made:
                made[one] = client = await stack.enter_async_context(ModelClient(one, prices, keys.of(one)))
                checks.append(await client.check())
            return made[one]

        own = {role: await ready(one) for role, one in runtime.models.items()}
        for role, played in (understudies or {}).items():
            if played in own:
                own.setdefault(role, own[played])
        first, *others = [await ready(one) for one in (runtime.model, *runtime.ensemble)]
        yield Models(Ensemble([first, *others]) if others else first, own, tuple(checks))


def _given(key: SecretStr, named: Sequence[str]) -> Keys:
    """A key that the caller hands over, and those that models name, all left where they are."""
    return Keys({name: SecretStr(os.environ[name]) for name in named if name in os.environ} | {KEY: key})

"""Make models from settings, and check that each answers before any work begins."""

import os
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field

from pydantic import SecretStr

from oragent._base.errors import ConfigError
from oragent.llm.client import ModelClient
from oragent.llm.command import CommandModel
from oragent.llm.ensemble import Ensemble
from oragent.llm.keys import KEY, Keys, hide_keys
from oragent.llm.model import Model, Reply, Request
from oragent.llm.model_settings import ModelSettings
from oragent.llm.prices import Prices, project_prices
from oragent.llm.runtime_settings import RuntimeSettings

Maker = Callable[[ModelSettings], Model]


@dataclass(frozen=True)
class Models:
    """Models by role; itself a model, which passes each request to the model of its role."""

    main: Model  # model of all roles without an entry in ``roles``
    roles: Mapping[str, Model] = field(default_factory=dict)  # models of single roles
    checks: tuple[Reply, ...] = ()  # replies to the checks of servers, which cost as any other

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
    """Make models, and close them at the end; equal settings share one client, which is checked once.

    Args:
        runtime: Settings of the main model, of those of single roles, and of the ensemble.
        fallback_roles: For roles without a model: the role whose model is used instead, if it has one.
        makers: Functions that make the models of certain names, instead of a client.
        prices: Prices of models; None: the price list of the project, or the shipped one.
        key: Key to use instead of ``OPENAI_API_KEY``; the environment is left unchanged. None: all keys that settings
            name are removed from the environment until the models are closed, so that no child process inherits them.

    Raises:
        ConfigError: There is no main model, or the price list is broken.
        ModelError: A model has no key, cannot be reached, or refuses.
    """
    if runtime.model is None:
        raise ConfigError("nobody is asked: name a model with --model or model.name")
    prices = project_prices() if prices is None else prices
    opened: dict[ModelSettings, Model] = {}
    checks: list[Reply] = []
    async with AsyncExitStack() as stack:
        named = [one.api_key_env for one in runtime.every_model if one.api_key_env]
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
                    ModelClient(settings, prices, keys.key_for(settings))
                )
                checks.append(await client.check())
            return opened[settings]

        by_role = {role: await open_model(one) for role, one in runtime.models.items()}
        for role, played in (fallback_roles or {}).items():
            if played in by_role:
                by_role.setdefault(role, by_role[played])
        first, *others = [await open_model(one) for one in (runtime.model, *runtime.ensemble)]
        yield Models(Ensemble([first, *others]) if others else first, by_role, tuple(checks))


def collect_keys(key: SecretStr, named: Sequence[str]) -> Keys:
    """Return the key of the caller and those that models name, without changing the environment."""
    return Keys({name: SecretStr(os.environ[name]) for name in named if name in os.environ} | {KEY: key})

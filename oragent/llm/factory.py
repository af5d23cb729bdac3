"""Make models from settings, and see that each answers before any work begins."""

import os
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, nullcontext
from dataclasses import dataclass, field

from pydantic import SecretStr

from oragent.llm.client import Client
from oragent.llm.ensemble import Ensemble
from oragent.llm.model import Model, ModelSettings, Reply, Request
from oragent.llm.prices import Prices

__all__ = ["KEY", "Maker", "Models", "models", "taken_key"]

KEY = "OPENAI_API_KEY"
Maker = Callable[[ModelSettings], Model]


@dataclass(frozen=True)
class Models:
    """The models of one piece of work; itself a model, which passes each request on by its role.

    Attributes:
        main: Model that answers all roles that have no model of their own.
        roles: Model of each role that has one.
    """

    main: Model
    roles: Mapping[str, Model] = field(default_factory=dict)

    async def __call__(self, request: Request, /) -> Reply:
        """Ask the model that plays the request's role."""
        return await self.roles.get(request.role, self.main)(request)


@asynccontextmanager
async def models(
    settings: ModelSettings,
    *,
    roles: Mapping[str, ModelSettings] | None = None,
    ensemble: Sequence[ModelSettings] = (),
    understudies: Mapping[str, str] | None = None,
    makers: Mapping[str, Maker] | None = None,
    prices: Prices | None = None,
    key: SecretStr | None = None,
) -> AsyncIterator[Models]:
    """Make models, and close them in the end; equal settings share one client, which is checked once.

    Args:
        settings: Settings of the main model.
        roles: Settings of the models that are asked in single roles.
        ensemble: Settings of models beside the main one; a bandit chooses among them.
        understudies: Roles that are played by whoever plays another one, by that one's name, unless they have a model
            of their own.
        makers: Functions that make the models of certain names, in place of a client.
        prices: Prices of models; None: unknown.
        key: Key of all servers, which leaves the environment as it is; None takes it from ``OPENAI_API_KEY``, where it
            is missing until the models are closed, so that no child process inherits it.

    Raises:
        ModelError: a model has no key, cannot be reached, or refuses.
    """
    made: dict[ModelSettings, Client] = {}
    async with AsyncExitStack() as stack:
        taken = stack.enter_context(taken_key() if key is None else nullcontext(key))

        async def ready(one: ModelSettings) -> Model:
            if makers and one.name in makers:
                return makers[one.name](one)
            if one not in made:
                made[one] = await stack.enter_async_context(Client(one, prices, taken))
                await made[one].check()
            return made[one]

        own = {role: await ready(one) for role, one in (roles or {}).items()}
        for role, played in (understudies or {}).items():
            if played in own:
                own.setdefault(role, own[played])
        first, *others = [await ready(one) for one in (settings, *ensemble)]
        yield Models(Ensemble([first, *others]) if others else first, own)


@contextmanager
def taken_key() -> Iterator[SecretStr]:
    """The key of the environment, which lacks it within; empty where there is none.

    It may be entered several times at once, from any thread: all get the key, and the last to leave puts it back.
    """
    try:
        yield _SAFE.take()
    finally:
        _SAFE.give_back()


class _Safe:
    """Holds the key while it is out of the environment."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self._key: SecretStr | None = None

    def take(self) -> SecretStr:
        with self._lock:
            self._users += 1
            if KEY in os.environ:  # also one that was set since
                self._key = SecretStr(os.environ.pop(KEY))
            return self._key or SecretStr("")

    def give_back(self) -> None:
        with self._lock:
            self._users -= 1
            if self._users == 0 and self._key is not None:
                os.environ.setdefault(KEY, self._key.get_secret_value())
                self._key = None


_SAFE = _Safe()

"""Put a search together and see it through: model, store, pool, engine, Ctrl-C."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from oragent.errors import ConfigError
from oragent.llm.client import Client
from oragent.llm.model import Model
from oragent.llm.prices import Prices
from oragent.llm.scripted import Scripted
from oragent.sandbox import Pool, Sandbox
from oragent.search.config import Config
from oragent.search.engine import Engine, Observer, Outcome
from oragent.search.folder import RunFolder
from oragent.search.store import Store
from oragent.search.strategies import STRATEGIES

__all__ = ["STOPPED", "launch"]

STOPPED = "stopped by Ctrl-C"
MODEL_FREE = ("gp",)


def launch(config: Config, root: Path, open_folder: Callable[[], RunFolder], observer: Observer) -> Outcome:
    """Search until a budget, Ctrl-C or a failure ends it.

    Args:
        config: of the run.
        root: project root, for the price table.
        open_folder: begins or reopens the run; called once the model has answered, so that a wrong key leaves nothing.
        observer: told of every committed round.

    Raises:
        OragentError: one line on what keeps the search from beginning or going on.
        OSError: if the machine does (no room, no process to be had).
    """
    return asyncio.run(_search(config, root, open_folder, observer))


async def _search(config: Config, root: Path, open_folder: Callable[[], RunFolder], observer: Observer) -> Outcome:
    async with _model(config, root) as model:
        folder = open_folder()
        sandbox = Sandbox(config.cores, warm=config.zygote)
        pool = Pool(config.cores, sandbox)
        with sandbox, Store(folder.database) as store:
            engine = Engine(folder, store, pool, STRATEGIES[config.strategy_name], model, observer)
            loop = asyncio.get_running_loop()
            loop.add_signal_handler(signal.SIGINT, _Interrupt(engine))
            try:
                return await engine.run()
            finally:
                loop.remove_signal_handler(signal.SIGINT)
                pool.close()


class _Interrupt:
    """The first Ctrl-C lets what is being evaluated end; the second ends everything at once."""

    def __init__(self, engine: Engine) -> None:
        self._engine, self._count = engine, 0

    def __call__(self) -> None:
        self._count += 1
        if self._count > 1:
            os._exit(130)
        self._engine.stop(STOPPED)


@asynccontextmanager
async def _model(config: Config, root: Path) -> AsyncIterator[Model | None]:
    """The model that the strategy asks, once it has shown that it answers."""
    name = config.strategy_name
    if name in MODEL_FREE:
        yield None
    elif config.model is None:
        raise ConfigError(f"strategy {name!r} asks a model: name one with --model, or use --strategy gp")
    elif config.model.name == "scripted":
        yield Scripted.varied(config.seed)
    else:
        async with Client(config.model, Prices.load(root / "configs" / "prices.yaml")) as client:
            await client.check()
            yield client

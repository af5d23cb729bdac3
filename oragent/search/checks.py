"""Checks before a run: its budget can end it, and its folder demands nothing that the user did not name."""

import hashlib
import shlex
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from oragent._base import package_data
from oragent._base.budget import Budget, Spent
from oragent._base.errors import ConfigError
from oragent._base.files import MAX_ARGUMENT_BYTES, read_bounded_bytes
from oragent._base.prompt_templates import SUFFIX
from oragent.llm import keys
from oragent.llm.keys import Demand, expect_trusted, model_demands, quote_shortened, server_address
from oragent.llm.prices import Prices, price_package_hint
from oragent.search.config import Config
from oragent.search.strategy import Strategy

# Name of the strategy whose options name a command.
AGENT = "agent"
# Beginning of the reason if a search ends without new programs.
IDLE = "no new program to score"


def expect_an_end(config: Config, strategy: Strategy, root: Path) -> None:
    """Raise ConfigError if the budget cannot end a run. A run without any bound is allowed; the user ends it."""
    bounds = config.budget.named_bounds
    if config.budget.joint_bounds and not strategy.asks_model:
        raise ConfigError(
            f"budget.until=both would never end this search, because strategy {config.strategy_name!r} asks no model"
        )
    prices = Prices.load_prices(package_data.find_path(root, "configs/prices.yaml"))
    models = [model for model in (config.model, *config.ensemble, *config.models.values()) if model]
    counts = {"evaluations", "work", "seconds"} | ({"model_calls", "tokens"} if strategy.asks_model else set())
    if strategy.asks_model and any(prices.describe_price(model.name, server_address(model)) for model in models):
        counts.add("money")
    if not bounds or counts & set(bounds):
        return
    why = f"strategy {config.strategy_name!r} asks no model"
    if strategy.asks_model:
        names = " and ".join(dict.fromkeys(model.name for model in models))
        why = f"the price of {names} is not known (configs/prices.yaml{price_package_hint()})"
    raise ConfigError(f"budget.{next(iter(bounds))} would never end this search, as {why}: name --evaluations too")


def way_on(path: Path, budget: Budget, spent: Spent, end: str, again: str) -> str:
    """Return the shell command that resumes a run.

    Bounds that are used up are raised, because the run would end at once otherwise.
    """
    if end.startswith(IDLE):
        return f"oragent run {again}  # this one finds nothing new any more"
    more = []
    for name, used in vars(spent).items():
        bound = getattr(budget, name)
        if bound is not None and used >= bound:
            # The new bound is at least one and a half times the used amount.
            raised = bound * (int(used / bound + 0.5) + 1)
            more.append(f"budget.{name}={raised:.12g}" if isinstance(raised, float) else f"budget.{name}={raised}")
    return " ".join(["oragent resume", shlex.quote(str(path)), *more])


def expect_trust(path: Path, config: Config, overrides: Sequence[str] = ()) -> None:
    """Raise UntrustedError if a run's folder demands anything that its user did not name."""
    expect_trusted(path, _list_demands(config), overrides)


def remember_demands(config: Config) -> None:
    """Remember the demands that the user named. If they cannot be stored, the user is asked again next time."""
    keys.remember_demands(_list_demands(config))


def _list_demands(config: Config) -> Iterator[Demand]:
    file = config.strategy.file or (config.strategy.name if config.strategy.name.endswith(".py") else None)
    if file:
        yield Demand(f"to run the code in {quote_shortened(file)}", ("strategy", _digest(Path(file))), is_code=True)
    if config.cluster and not config.cluster.startswith("local"):
        yield Demand(f"to use the cluster {quote_shortened(config.cluster)}", ("cluster", config.cluster))
    if config.strategy.name == AGENT:
        options = config.strategy.options
        command = str(options.get("command") or options.get("recipe") or "")
        # Further options of the agent can widen what the command may read and change.
        text = f"to run the agent {quote_shortened(command)} with {quote_shortened(str(options))}"
        yield Demand(text, ("command", str(sorted(options.items(), key=str))))
        # An agent does what its prompt says; other prompts only ask for programs, which run in the sandbox.
        if config.prompts and (prompt := Path(config.prompts, f"{AGENT}{SUFFIX}")).is_file():
            text = f"to instruct the agent by {quote_shortened(str(prompt))}"
            yield Demand(text, ("prompt", _digest(prompt)), is_code=True)
    yield from model_demands(filter(None, (config.model, *config.models.values(), *config.ensemble)))


def _digest(path: Path) -> str:
    """Return the digest of a file; empty if it cannot be read."""
    with suppress(OSError):
        return hashlib.sha256(read_bounded_bytes(path, MAX_ARGUMENT_BYTES)).hexdigest()
    return ""

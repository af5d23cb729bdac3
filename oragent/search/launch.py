"""Compose and run a search: model, store, pool and engine. From the command line, handle Ctrl-C."""

import asyncio
import json
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypedDict, Unpack

from pydantic import SecretStr
from tqdm import tqdm

from oragent._base.errors import ConfigError
from oragent.evaluation import EvaluationRunner
from oragent.evaluation.capabilities import check_protocol, help_job, parse_options, require_all
from oragent.evaluation.cluster.cluster_settings import parse_cluster
from oragent.evaluation.cluster.connect import Cluster, connect_cluster, connect_executor
from oragent.evaluation.cluster.dispatch import JobExecutor
from oragent.evaluation.devices import pin_device, require_device
from oragent.evaluation.pool import EvaluationPool, JobPool
from oragent.evaluation.problem import Problem
from oragent.ledger import ReplayModel
from oragent.llm.factory import Maker, open_models
from oragent.llm.keys import server_address
from oragent.llm.model import Model, Reply
from oragent.llm.model_settings import RuntimeSettings
from oragent.llm.prices import Prices, project_prices
from oragent.search.checks import expect_an_end
from oragent.search.companions import Companion, make_companion
from oragent.search.config import Config
from oragent.search.core_speed import describe_core_speed
from oragent.search.engine import Engine
from oragent.search.events import Observer, OnEvent, SearchResult, call_both, ignore_event
from oragent.search.folder import RunFolder
from oragent.search.genetics.variation import breed_child
from oragent.search.genetics.variety import describe_missing_place
from oragent.search.prompting.instance_values import describe_noise
from oragent.search.starting import InitialPrograms
from oragent.search.store import CORE, ISOLATION, NOISE, REQUIRED_PACKAGES, Store
from oragent.search.strategies import FUNCTION, choose_strategy
from oragent.search.strategies.scripted import make_player
from oragent.search.strategies.submitted import SUBMITTED
from oragent.search.strategy import Strategy

# Name of the log of a cluster in a run's folder.
LOG = "cluster.log"


# Origin of the initial programs of a run.
STARTED = "start"
STOPPED = "stopped by Ctrl-C"
LANGUAGES = {"python": "Python", "cpp": "C++"}
# Roles of repairs, which use the model of the role that writes programs.
MENDERS = {"debug": "code", "repair": "code"}


@dataclass(frozen=True)
class Evaluations:
    """Where the evaluations of a run are computed: this machine or a cluster."""

    # Function that makes the run's pool.
    pool: Callable[[], EvaluationPool]
    # Messages at the beginning of a run.
    remarks: tuple[str, ...] = ()
    # Cluster of the evaluations; None means this machine.
    cluster: Cluster | None = None
    # Messages about requests that the machine cannot fulfil.
    notes: "Notes" = field(default_factory=lambda: Notes())

    def fitted(self, folder: RunFolder, config: Config) -> RunFolder:
        """Return the folder for this pool.

        A new run on a cluster gets enough rounds for all workers, and its folder has their log.
        """
        if self.cluster is None:
            return folder
        self.cluster.log_to(folder.path / LOG)
        free = folder.is_new and config.strategy.window is None
        if free:
            return folder.widened(self.cluster.at_once)
        return folder


class Notes:
    """Messages for the user from other threads. They are stored until there is a listener."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._listener: Callable[[str], None] | None = None
        self._waiting: list[str] = []

    def __call__(self, text: str) -> None:
        """Report a message. Any thread may call this."""
        if self._loop is None:
            self._waiting.append(text)
        else:
            self._loop.call_soon_threadsafe(self._pass_on, text)

    def listen(self, listener: Callable[[str], None]) -> None:
        """Pass all lines to a function, in this event loop. Earlier lines come first."""
        self._listener, self._loop = listener, asyncio.get_running_loop()
        while self._waiting:
            listener(self._waiting.pop(0))

    def _pass_on(self, text: str) -> None:
        if self._listener is not None:
            self._listener(text)

    def stop(self) -> None:
        """Pass no further lines."""
        self._listener = None


@asynccontextmanager
async def open_evaluations(
    config: Config, root: Path, problem: Problem, executor: JobExecutor | None = None
) -> AsyncIterator[Evaluations]:
    """Open the pool of a problem's evaluations as a context manager. A cluster must have at least one usable worker."""
    if executor is not None:
        async with connect_executor(executor, problem, root, config.workers) as cluster:
            yield Evaluations(lambda: cluster.make_pool(executor, whole=True), _cluster_remarks(cluster), cluster)
    elif config.cluster is not None:
        async with connect_cluster(parse_cluster(config.cluster), problem, root, config.workers) as cluster:
            dask_client = cluster.dask_client
            assert dask_client is not None
            yield Evaluations(lambda: cluster.make_pool(dask_client), _cluster_remarks(cluster), cluster)
    else:
        notes = Notes()
        with EvaluationRunner(config.cores, warm=config.zygote, tell=notes) as runner:
            # The server warms up while the client of the model is imported and tests the connection.
            runner.start_server(problem.make_job(problem.seed, root, problem.make_limits(config.limits)))
            yield Evaluations(lambda: JobPool(config.cores, runner), notes=notes)


def _cluster_remarks(cluster: Cluster) -> tuple[str, ...]:
    hosts = {handshake.host for handshake in cluster.handshakes}
    count, machines = cluster.at_once, "1 machine" if len(hosts) == 1 else f"{len(hosts)} machines"
    at_once = f"{count} evaluation{'s' if count > 1 else ''} at once, on {machines} of the cluster"
    return tuple(filter(None, (cluster.warning, at_once)))


Tell = Callable[[str], None]
Isolation = Mapping[str, Sequence[str]]
Watch = Callable[[Engine], AbstractContextManager[object]]


@dataclass(frozen=True)
class LaunchOptions:
    """Objects that a Python program passes, because a file cannot hold them."""

    # Strategy that replaces the configured one.
    strategy: Strategy | None = None
    # Functions that make models, by name.
    makers: Mapping[str, Maker] = field(default_factory=dict)
    # Key of the model servers. None means the key of the environment, which is removed from it during the search.
    key: SecretStr | None = None
    # Executor of evaluations. None means the one of the configuration.
    executor: JobExecutor | None = None


class SearchOptions(TypedDict, total=False):
    """Options of ``search`` that ``launch`` passes on."""

    overrides: LaunchOptions | None
    tell: Tell
    start: InitialPrograms | None
    on_event: OnEvent
    isolation: Isolation | None


def launch(
    config: Config,
    root: Path,
    problem: Problem,
    open_folder: Callable[[], RunFolder],
    observer: Observer,
    replay: Path | None = None,
    *,
    watch: Watch = nullcontext,
    **options: Unpack[SearchOptions],
) -> SearchResult:
    """Run ``search`` with its options in a new event loop, which Ctrl-C may end."""

    @contextmanager
    def steering(engine: Engine) -> Iterator[None]:
        with _ctrl_c(engine), watch(engine):
            yield

    return asyncio.run(search(config, root, problem, open_folder, observer, replay, steering=steering, **options))


async def search(
    config: Config,
    root: Path,
    problem: Problem,
    open_folder: Callable[[], RunFolder],
    observer: Observer,
    replay: Path | None = None,
    *,
    steering: Watch = nullcontext,
    overrides: LaunchOptions | None = None,
    tell: Tell = lambda line: None,
    start: InitialPrograms | None = None,
    on_event: OnEvent = ignore_event,
    isolation: Isolation | None = None,
) -> SearchResult:
    """Search in the running event loop until a budget or a failure ends the search. Signal handlers are not changed.

    Args:
        config: Configuration of the run.
        root: Project root, for data, checkpoints and the price table.
        problem: Problem to search.
        open_folder: Function that begins or reopens the run; called after the model answered, so that a wrong key
            leaves no folder.
        observer: Callback after every committed round.
        replay: Database of a run whose replies replace those of a model.
        steering: Context manager that is entered with the engine while it runs, for example to stop it from outside.
        overrides: Objects of the caller that replace names in the configuration.
        tell: Function that shows a line to the user.
        start: Initial programs and lessons of a new run.
        on_event: Callback for every event of the run, in the thread of the event loop.
        isolation: Isolation mechanisms of this machine; None if unknown.

    Raises:
        OragentError: The search cannot begin or continue; the message says why in one line.
        OSError: The machine has no disk space or no process left.
    """
    overrides, since = overrides or LaunchOptions(), time.monotonic()
    companion = None if replay else make_companion(config, tell)
    require_all(problem)
    _expect_language(overrides.strategy or choose_strategy(config), problem)
    async with open_evaluations(config, root, problem, overrides.executor) as places:
        prices = project_prices(root)
        async with _open_models(config, root, prices, replay, overrides, companion) as (model, cast, checks):
            folder = places.fitted(open_folder(), config)
            if companion is not None:
                companion.take_folder(folder)
                on_event = call_both(on_event, companion.take_event)
                observer = call_both(observer, companion.take_progress)
            try:
                with folder.locked(), folder.opened() as store:
                    if start is not None and not store.rounds():
                        store.add_initial_programs(start.sources, STARTED)
                        store.note("lessons", start.lessons)
                    _check_device(config, folder, store, tell)
                    if isolation is not None and config.cluster is None and store.meta(ISOLATION) is None:
                        store.note(ISOLATION, json.dumps(isolation))
                    if problem.packages and store.meta(REQUIRED_PACKAGES) is None:
                        store.note(REQUIRED_PACKAGES, json.dumps(problem.packages))
                    is_local = config.cluster is None and replay is None and not config.is_scripted
                    if config.model is not None and is_local and store.meta(CORE) is None:
                        store.note(CORE, describe_core_speed())
                    if not store.rounds() and (noise := describe_noise(problem)):
                        store.note(NOISE, noise)
                    if problem.about.forgeable:
                        store.remark(problem.unguarded_warning)
                    for message in filter(None, (*places.remarks, folder.remark)):
                        tell(message)
                    places.notes.listen(lambda message: tell(message) if store.remark(message) else None)
                    store.book(checks)
                    chosen = (
                        [*filter(None, [config.model]), *config.models.values(), *config.ensemble] if checks else []
                    )
                    for settings in chosen:
                        message = prices.describe_price(settings.name, server_address(settings))
                        if message and store.remark(message):
                            tell(message)
                    recorded = ReplayModel(store.replies)
                    if replay:
                        store.replies.copy_from(replay)
                        store.take_times(replay)
                        store.take_journal(replay)
                        store.take_start(replay)
                        model = recorded
                    pool = places.pool()
                    strategy = overrides.strategy or choose_strategy(folder.config)
                    if strategy.name == "gp" and not store.rounds():
                        lack = await asyncio.to_thread(describe_missing_place, folder.problem)
                        if lack and store.remark(lack):
                            tell(lack)
                    try:
                        lessons = filter(None, [folder.problem.knowledge.strip(), store.meta("lessons")])
                        learned = replace(folder, problem=replace(folder.problem, knowledge="\n\n".join(lessons)))
                        offers = await _ask_offers(learned, store, pool)
                        check_protocol(folder.config.protocol, offers)
                        engine = Engine(
                            learned, store, pool, strategy, model, observer, cast, offers, tell, since, on_event
                        )
                        if companion is not None:
                            companion.take_engine(engine)
                        with steering(engine):
                            outcome = await engine.run()
                    finally:
                        pool.close()
                        places.notes.stop()
                    return replace(outcome, remark=_reworded_remark(recorded.reworded))
            except (KeyboardInterrupt, asyncio.CancelledError):
                # The user stopped it before its seed had a score, and can resume it.
                raise
            except BaseException:
                # The run cannot be resumed, for example because its seed heuristic fails.
                folder.forget()
                raise


def _check_device(config: Config, folder: RunFolder, store: Store, tell: Tell) -> None:
    device, recorded = folder.config.device, store.meta("device")
    if recorded is not None:
        require_device(device, recorded, folder.problem)
        return
    chosen = pin_device(config.device, folder.problem)
    store.note("device", chosen.name)
    if chosen.remark and store.remark(chosen.remark):
        tell(f"careful: {chosen.remark}" if chosen.careful else chosen.remark)


async def _ask_offers(folder: RunFolder, store: Store, pool: EvaluationPool) -> frozenset[str]:
    recorded = store.meta("offers")
    if recorded is None:
        job = help_job(folder.problem, folder.root, folder.config.limits)
        recorded = json.dumps(sorted(parse_options(await pool.evaluate(job)) if job else ()))
        store.note("offers", recorded)
    return frozenset(json.loads(recorded))


def _expect_language(strategy: Strategy, problem: Problem) -> None:
    language = problem.signature.language
    if strategy.languages and language not in strategy.languages:
        breeds = " and ".join(LANGUAGES[language_name] for language_name in strategy.languages)
        raise ConfigError(
            f"{strategy.name} varies only {breeds}, and candidates of {problem.name} are written in "
            f"{LANGUAGES[language]}: name a model with --model NAME for a strategy that uses one"
        )


def _reworded_remark(count: int) -> str:
    if not count:
        return ""
    prompts = "1 prompt reads" if count == 1 else f"{count:,} prompts read"
    return f"{prompts} otherwise than when the run was recorded; the replies were the same"


@contextmanager
def _ctrl_c(engine: Engine) -> Iterator[None]:
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGINT, _Interrupt(engine))
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGINT)


class _Interrupt:
    """Handler of Ctrl-C.

    The first one lets running evaluations finish, the second ends them, and the third ends the process.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine, self._count = engine, 0

    def __call__(self) -> None:
        self._count += 1
        if self._count == 1:
            self._engine.stop(STOPPED)
            message = f"{_describe_ending(*map(len, self._engine.under_way))}, once more to end now"
            # Print above the progress bar, if there is one.
            tqdm.write(message, file=sys.stderr)
        elif self._count == 2:
            self._engine.abort()
        else:
            os._exit(130)


def _describe_ending(evaluations: int, calls: int) -> str:
    numbers = (evaluations, "evaluation"), (calls, "model call")
    parts = [f"{number} {noun}{'s' if number > 1 else ''}" for number, noun in numbers if number]
    return f"ending {' and '.join(parts) or 'the run'}"


@asynccontextmanager
async def _open_models(
    config: Config,
    root: Path,
    prices: Prices,
    replay: Path | None,
    overrides: LaunchOptions,
    companion: Companion | None,
) -> AsyncIterator[tuple[Model | None, Mapping[str, Model], Sequence[Reply]]]:
    name = config.strategy_name
    strategy = overrides.strategy or choose_strategy(config)
    expect_an_end(config, strategy, root)
    if replay or not strategy.asks_model:
        # In a replay, the store gives the replies.
        yield None, {}, ()
        return
    if companion is not None:
        async with companion.open_model() as model:
            yield model, {}, ()
        return
    if config.model is None:
        raise ConfigError(f"strategy {name!r} needs a model: name one with --model, or use --strategy gp")
    if name == SUBMITTED and SUBMITTED not in overrides.makers:
        raise ConfigError(
            "clients submit the programs of this run: continue it with the tool open_run of 'oragent mcp', or repeat "
            "it with 'oragent run --replay RUN'"
        )
    if config.model.name.endswith(FUNCTION) and config.model.name not in overrides.makers:
        raise ConfigError(
            f"the model {config.model.name} is a Python function, which cannot be stored: pass it again, "
            f"oragent.resume(RUN, model={config.model.name[: -len(FUNCTION)]}), or name "
            "another model with model.name=NAME"
        )
    by_role = {str(role): settings for role, settings in config.models.items()}
    async with open_models(
        RuntimeSettings(config.model, by_role, config.ensemble),
        fallback_roles=MENDERS,
        makers={"scripted": lambda settings: make_player(config.seed, breed_child), **overrides.makers},
        prices=prices,
        key=overrides.key,
    ) as opened:
        yield opened.main, opened.roles, opened.checks

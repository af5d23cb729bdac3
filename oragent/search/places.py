"""Where a run's evaluations take place: on this machine, or on a cluster's."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from oragent.evaluation import EvaluationRunner
from oragent.evaluation.cluster.cluster_settings import parse_cluster
from oragent.evaluation.cluster.connect import Cluster, connect_cluster, connect_executor
from oragent.evaluation.cluster.dispatch import JobExecutor
from oragent.evaluation.pool import EvaluationPool, JobPool
from oragent.evaluation.problem import Problem
from oragent.search.config import Config
from oragent.search.folder import RunFolder

LOG = "cluster.log"  # in a run's folder


@dataclass(frozen=True)
class Evaluations:
    """Where a run's evaluations take place."""

    pool: Callable[[], EvaluationPool]  # function that makes the run's pool
    remarks: tuple[str, ...] = ()  # lines that a run begins with
    cluster: Cluster | None = None  # cluster that they take place on; None: this machine
    # lines on what the machine could not do as asked, as they come
    notes: "Notes" = field(default_factory=lambda: Notes())

    def fitted(self, folder: RunFolder, config: Config) -> RunFolder:
        """A run's folder, which keeps what happens to workers; a new run has as many rounds in flight as they can use.

        ``config`` is as a person wrote it.
        """
        if self.cluster is None:
            return folder
        self.cluster.log_to(folder.path / LOG)
        free = folder.is_new and config.strategy.window is None
        return folder.widened(self.cluster.at_once) if free else folder


class Notes:
    """Lines for a person that other threads report; they wait until somebody listens."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._listener: Callable[[str], None] | None = None
        self._waiting: list[str] = []

    def __call__(self, text: str) -> None:
        """Report a line; may be called from any thread."""
        if self._loop is None:
            self._waiting.append(text)
        else:
            self._loop.call_soon_threadsafe(self._pass_on, text)

    def listen(self, listener: Callable[[str], None]) -> None:
        """Pass all lines to a function, in this event loop, those that have come before first."""
        self._listener, self._loop = listener, asyncio.get_running_loop()
        while self._waiting:
            listener(self._waiting.pop(0))

    def _pass_on(self, text: str) -> None:
        if self._listener is not None:
            self._listener(text)

    def stop(self) -> None:
        """Pass nothing more."""
        self._listener = None


@asynccontextmanager
async def open_evaluations(
    config: Config, root: Path, problem: Problem, executor: JobExecutor | None = None
) -> AsyncIterator[Evaluations]:
    """Evaluations of a problem, for as long as they are wanted.

    Raises:
        ConfigError: if the cluster that is named cannot be one.
        SandboxError: if it has no worker that can be used.
    """
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
            # It warms up while the model's client is imported and asks whether the model is there.
            runner.start_server(problem.make_job(problem.seed, root, problem.make_limits(config.limits)))
            yield Evaluations(lambda: JobPool(config.cores, runner), notes=notes)


def _cluster_remarks(cluster: Cluster) -> tuple[str, ...]:
    hosts = {handshake.host for handshake in cluster.handshakes}
    count, machines = cluster.at_once, "1 machine" if len(hosts) == 1 else f"{len(hosts)} machines"
    at_once = f"{count} evaluation{'s' if count > 1 else ''} at once, on {machines} of the cluster"
    return tuple(filter(None, (cluster.warning, at_once)))

"""Set up a cluster (certificates, Dask process, workers, places) and tear it down."""

import asyncio
import os
import shutil
import tempfile
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from importlib.util import find_spec
from pathlib import Path

from oragent._base import distribution
from oragent._base.errors import ConfigError, SandboxError
from oragent.evaluation.cluster import cluster_settings
from oragent.evaluation.cluster.batch import BatchJobs
from oragent.evaluation.cluster.cluster_settings import BATCH, Certificates, ClusterKind, ClusterSettings
from oragent.evaluation.cluster.content import Content, gather_content
from oragent.evaluation.cluster.dask_client import DaskClient
from oragent.evaluation.cluster.dispatch import ClusterPool, Dispatcher, JobExecutor, LatenessRule
from oragent.evaluation.cluster.handshake import (
    Handshake,
    describe_weakest,
    handshake_to_json,
    make_handshake,
    read_handshake,
    reason_to_refuse,
)
from oragent.evaluation.cluster.worker import LocalWorkers
from oragent.evaluation.cluster.worker_entry import handle_request, unpack_line
from oragent.evaluation.pool import Places
from oragent.evaluation.problem import Problem

# Time to wait for more workers after the first one, or after all of them were refused.
GRACE_S = 3.0
SLACK_S = 20.0
# Time within which the workers on this machine must have started.
LOCAL_S = 60.0
# One additional evaluation is submitted per this number of running ones.
AHEAD = 4
# Maximum number of events to remember.
EVENTS = 10_000
LOG_BYTES = 4 << 20


class Cluster:
    """Workers of one run, from their start to their end."""

    def __init__(self, content: Content, most_evaluations: int, patience: LatenessRule) -> None:
        self._most, self._loop = most_evaluations, asyncio.get_running_loop()
        self._news = asyncio.Event()
        self._content, self._patience = content, patience
        self._log_path: Path | None = None
        self.places, self.events = Places(), deque[str](maxlen=EVENTS)
        # Concurrent evaluations with the present workers.
        self.at_once = 0
        self.handshakes: list[Handshake] = []
        self.dask_client: DaskClient | None = None
        self.starter: LocalWorkers | BatchJobs | None = None
        self.dispatch: Dispatcher | None = None

    @property
    def warning(self) -> str:
        """Guarantees that do not hold on every worker, in one line; empty if all hold."""
        return describe_weakest(self.handshakes)

    def make_pool(self, executor: JobExecutor, *, whole: bool = False) -> ClusterPool:
        """Return the evaluation pool of a search that runs on an executor."""
        self.dispatch = Dispatcher(executor, self._content, self.places, self.log_event, self._patience, whole=whole)
        return ClusterPool(self.dispatch, self.places)

    def log_event(self, text: str) -> None:
        """Record an event; any thread may call this."""
        text = f"{time.strftime('%Y-%m-%d %H:%M:%S')} {text}"
        self.events.append(text)
        if self._log_path is not None:
            self._append_log([text])

    def log_to(self, path: Path) -> None:
        """Write all events to a file, earlier ones included."""
        self._log_path = path
        self._append_log(list(self.events))

    def _append_log(self, lines: list[str]) -> None:
        path = self._log_path
        with suppress(OSError):
            if path is not None and (not path.is_file() or path.stat().st_size < LOG_BYTES):
                with path.open("a", encoding="utf-8", errors="replace") as file:
                    file.writelines(f"{text}\n" for text in lines)

    def notify_changed(self) -> None:
        """Update the number of places after the workers changed; any thread may call this."""
        # The event loop may have ended.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._update_places)

    def _update_places(self) -> None:
        assert self.dask_client is not None
        workers = self.dask_client.workers
        self.at_once = min(workers.places, self._most or workers.places)
        # Some evaluations wait at the Dask process, so that a worker gets the next one without asking the engine.
        self.places.resize(self.at_once + self.at_once // AHEAD)
        if self.dask_client.fatal:
            self.places.fail(SandboxError(self.dask_client.fatal))
        self._news.set()

    async def wait_ready(self, cluster_config: ClusterSettings) -> None:
        """Wait for all workers if they are started here; otherwise for the first one, and shortly for others."""
        assert self.dask_client is not None
        # The Dask process knows more about the cause and gives up first.
        give_up = self._loop.time() + cluster_config.patience_s + SLACK_S
        until = self._loop.time() + LOCAL_S if cluster_config.kind is ClusterKind.LOCAL else give_up
        workers = self.dask_client.workers
        while workers.places < (cluster_config.expected or 1) and self._loop.time() < until:
            if self.dask_client.fatal:
                raise SandboxError(self.dask_client.fatal)
            local = cluster_config.kind is ClusterKind.LOCAL
            refused = not workers.workers and not workers.looked_at and len(workers.refused) >= cluster_config.joining
            if local and refused:
                break
            if not local and (workers.workers or refused):
                until = min(until, self._loop.time() + GRACE_S)
            elif not local:
                until = give_up
            self._news.clear()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._news.wait(), 0.25)
        while (
            not workers.workers and not workers.refused and self._loop.time() < give_up and not self.dask_client.fatal
        ):
            await asyncio.sleep(0.25)
        if not workers.workers:
            raise SandboxError(self.dask_client.fatal or self._describe_no_workers(cluster_config))
        self.handshakes = [handshake for handshake, _ in workers.workers.values()]
        not_held = frozenset(text for handshake in self.handshakes for text in handshake.not_held)
        self.dask_client.set_isolation_floor(not_held)

    def _describe_no_workers(self, cluster_config: ClusterSettings) -> str:
        assert self.dask_client is not None
        refusals = sorted({f"{host}: {reason}" for host, reason in self.dask_client.workers.refused.values()})
        details = "; ".join(refusals[:3])
        if not details:
            details = f"none came within {cluster_config.patience_s:g} s"
            if self.events:
                details += f"; last event: {self.events[-1][20:]}"
        return f"no worker of the cluster can be used: {details}"

    def close(self) -> None:
        """End all started processes and jobs."""
        for part in (self.starter, self.dask_client):
            if part is not None:
                part.close()


@asynccontextmanager
async def connect_cluster(
    cluster_config: ClusterSettings, problem: Problem, root: Path, most_evaluations: int = 0
) -> AsyncIterator[Cluster]:
    """Connect to a cluster whose workers have been checked and have received the problem.

    Raises:
        ConfigError: A package or a file is missing.
        SandboxError: No scheduler answers, or no worker can be used.
        OSError: This machine failed.
    """
    _require_dask(cluster_config)
    content = await asyncio.to_thread(gather_content, problem, root)
    cluster = Cluster(content, most_evaluations, LatenessRule(cluster_config.straggler_s))
    folder = await asyncio.to_thread(_make_folder, cluster_config)
    try:
        tls = cluster_config.tls if folder is None else cluster_settings.make_certificates(folder)
        cluster.starter = _make_starter(cluster_config, tls, folder, cluster.log_event)
        order = {
            "manifest": content.manifest,
            "packages": problem.packages,
            "places": {name: str(path) for name, path in content.paths.items()},
            "address": cluster_config.address,
            "host": "127.0.0.1" if cluster_config.kind is ClusterKind.LOCAL else None,
            "interface": cluster_config.interface,
            "wait_s": cluster_config.patience_s,
            "tls": tls and {"ca": str(tls.ca), "certificate": str(tls.certificate), "key": str(tls.key)},
            "handshake": handshake_to_json(await asyncio.to_thread(make_handshake)),
            "floor": None,
        }
        start = cluster.starter.start if cluster.starter else lambda address: None
        # Dask finds its own configuration through these variables.
        variables = {name: value for name, value in os.environ.items() if name.startswith("DASK_") or name == "HOME"}
        cluster.dask_client = DaskClient(order, cluster.log_event, cluster.notify_changed, start, variables)
        cluster.dask_client.start()
        await cluster.wait_ready(cluster_config)
        yield cluster
    finally:
        await asyncio.to_thread(cluster.close)
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)


@asynccontextmanager
async def connect_executor(
    executor: JobExecutor, problem: Problem, root: Path, most_evaluations: int = 0
) -> AsyncIterator[Cluster]:
    """Use an executor as a cluster, for workers that are managed elsewhere.

    Args:
        executor: Anything with ``submit``, such as a ``concurrent.futures.Executor``.
        problem: Problem of the search.
        root: Root of its project.
        most_evaluations: Maximum number of concurrent evaluations; 0: the number of workers of the executor.
    """
    places = most_evaluations or getattr(executor, "_max_workers", 0)
    if not places:
        raise ConfigError(f"the number of workers of a {type(executor).__name__} is unknown: give workers=N as well")
    cluster = Cluster(await asyncio.to_thread(gather_content, problem, root), places, LatenessRule())
    cluster.at_once = places
    cluster.places.resize(places)
    future = asyncio.wrap_future(executor.submit(handle_request, '{"do": "handshake"}'))
    answer = unpack_line(str(await future).encode() + b"\n") or {}
    handshake = read_handshake(answer.get("handshake"))
    if reason := reason_to_refuse(handshake, await asyncio.to_thread(make_handshake)):
        raise ConfigError(f"the workers of the {type(executor).__name__} cannot be used: {reason}")
    cluster.handshakes = [handshake]
    yield cluster


def _make_starter(
    cluster_config: ClusterSettings, tls: Certificates | None, folder: Path | None, event: Callable[[str], None]
) -> LocalWorkers | BatchJobs | None:
    if cluster_config.kind is ClusterKind.ADDRESS:
        return None
    assert tls is not None
    assert folder is not None
    if cluster_config.kind is ClusterKind.LOCAL:
        return LocalWorkers(cluster_config.workers, tls, event)
    return BatchJobs(cluster_config, tls, folder, event)


def _make_folder(cluster_config: ClusterSettings) -> Path | None:
    """Create a private folder for the files of workers; None if the workers are managed elsewhere."""
    if cluster_config.kind is ClusterKind.ADDRESS:
        return None
    if cluster_config.kind is ClusterKind.LOCAL:
        return Path(tempfile.mkdtemp(prefix="oragent-cluster-"))
    shared = cluster_config.shared or Path.home() / ".cache" / "oragent" / "cluster"
    shared.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="run-", dir=shared))
    (folder / "logs").mkdir()
    return folder


def _require_dask(cluster_config: ClusterSettings) -> None:
    required = ["distributed", *(["dask_jobqueue"] if cluster_config.kind in BATCH else ())]
    required += [] if cluster_config.kind is ClusterKind.ADDRESS else ["cryptography"]
    if missing := [name for name in required if find_spec(name) is None]:
        command = distribution.extra_install_command("cluster")
        raise ConfigError(f"a cluster needs {missing[0]}, which is not installed: {command}")

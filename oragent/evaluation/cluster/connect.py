"""A cluster put together: certificates, courier, workers, places; and all of it ended again."""

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
from typing import Protocol

from oragent._base import distribution
from oragent._base.errors import ConfigError, SandboxError
from oragent.evaluation.cluster import certificates, introduction
from oragent.evaluation.cluster.batch import BatchJobs
from oragent.evaluation.cluster.content import Content, as_plain, gather
from oragent.evaluation.cluster.courier import Courier
from oragent.evaluation.cluster.dispatch import Dispatch, Executor, Patience
from oragent.evaluation.cluster.introduction import Introduction, introduce, unfit, weakest
from oragent.evaluation.cluster.local import LocalWorkers
from oragent.evaluation.cluster.pool import ClusterPool
from oragent.evaluation.cluster.station import serve
from oragent.evaluation.cluster.where import BATCH, Certificates, ClusterKind, Where
from oragent.evaluation.cluster.wire import unpacked
from oragent.evaluation.places import Places
from oragent.evaluation.problem import Problem

GRACE_S = 3.0  # for further workers, once there is one, or all that there are cannot be used
SLACK_S = 20.0
LOCAL_S = 60.0  # in which the workers of this machine are there
AHEAD = 4  # one evaluation more is given out for so many that run
EVENTS = 10_000  # that are remembered
LOG_BYTES = 4 << 20


class Starter(Protocol):
    """Whoever starts workers."""

    def start(self, address: str) -> None:
        """Have workers for a scheduler at an address, in place of earlier ones."""

    def close(self) -> None:
        """End them."""


class Cluster:
    """The workers of one run, from where they begin to where they end.

    Args:
        content: Content that evaluations need.
        most: Evaluations at once, at most; 0: as many as there are places.
        patience: When an evaluation is late.
    """

    def __init__(self, content: Content, most: int, patience: Patience) -> None:
        self._most, self._loop = most, asyncio.get_running_loop()
        self._news = asyncio.Event()
        self._content, self._patience = content, patience
        self._log_path: Path | None = None
        self.places, self.events = Places(), deque[str](maxlen=EVENTS)
        self.at_once = 0  # evaluations, with the workers that there are now
        self.introductions: list[Introduction] = []
        self.courier: Courier | None = None
        self.starter: Starter | None = None
        self.dispatch: Dispatch | None = None

    @property
    def warning(self) -> str:
        """One line on what is not held on every worker; empty where all is."""
        return weakest(self.introductions)

    def pool(self, executor: Executor, *, whole: bool = False) -> ClusterPool:
        """The pool of a search, which evaluates on an executor."""
        self.dispatch = Dispatch(executor, self._content, self.places, self.event, self._patience, whole=whole)
        return ClusterPool(self.dispatch, self.places)

    def event(self, line: str) -> None:
        """Take down what happens; may be called in any thread."""
        line = f"{time.strftime('%Y-%m-%d %H:%M:%S')} {line}"
        self.events.append(line)
        if self._log_path is not None:
            self._write([line])

    def log_to(self, path: Path) -> None:
        """Write down what happens in a file, too, from the beginning on."""
        self._log_path = path
        self._write(list(self.events))

    def _write(self, lines: list[str]) -> None:
        path = self._log_path
        with suppress(OSError):
            if path is not None and (not path.is_file() or path.stat().st_size < LOG_BYTES):
                with path.open("a", encoding="utf-8", errors="replace") as file:
                    file.writelines(f"{line}\n" for line in lines)

    def changed(self) -> None:
        """There are other workers than before; may be called in any thread."""
        with suppress(RuntimeError):  # the loop may be over
            self._loop.call_soon_threadsafe(self._update)

    def _update(self) -> None:
        assert self.courier is not None
        known = self.courier.known
        self.at_once = min(known.places, self._most or known.places)
        # Some wait at the courier, so that who has ended one gets the next without asking the engine.
        self.places.resize(self.at_once + self.at_once // AHEAD)
        if self.courier.fatal:
            self.places.fail(SandboxError(self.courier.fatal))
        self._news.set()

    async def ready(self, where: Where) -> None:
        """Wait for workers: for all where they are started here; else for one, and a moment for others.

        Raises:
            SandboxError: if none comes that can be used, with the reason.
        """
        assert self.courier is not None
        give_up = self._loop.time() + where.patience_s + SLACK_S  # the courier knows better why, and says it first
        until = self._loop.time() + LOCAL_S if where.kind is ClusterKind.LOCAL else give_up
        known = self.courier.known
        while known.places < (where.expected or 1) and self._loop.time() < until:
            if self.courier.fatal:
                raise SandboxError(self.courier.fatal)
            local = where.kind is ClusterKind.LOCAL
            refused = not known.workers and not known.looked_at and len(known.refused) >= where.joining
            if local and refused:
                break
            if not local and (known.workers or refused):
                until = min(until, self._loop.time() + GRACE_S)
            elif not local:
                until = give_up
            self._news.clear()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._news.wait(), 0.25)
        while not known.workers and not known.refused and self._loop.time() < give_up and not self.courier.fatal:
            await asyncio.sleep(0.25)
        if not known.workers:
            raise SandboxError(self.courier.fatal or self._nobody(where))
        self.introductions = [found for found, _ in known.workers.values()]
        self.courier.settle(frozenset(text for found in self.introductions for text in found.not_held))

    def _nobody(self, where: Where) -> str:
        assert self.courier is not None
        why = "; ".join(sorted({f"{host}: {why}" for host, why in self.courier.known.refused.values()})[:3])
        latest = f"; the latest: {self.events[-1][20:]}" if self.events else ""
        return f"no worker of the cluster can be used: {why or f'none came within {where.patience_s:g} s{latest}'}"

    def close(self) -> None:
        """End everything that was started."""
        for part in (self.starter, self.courier):
            if part is not None:
                part.close()


@asynccontextmanager
async def connected(where: Where, problem: Problem, root: Path, most: int = 0) -> AsyncIterator[Cluster]:
    """A cluster, with workers that have been looked at and have the problem.

    Args:
        where: What was asked for.
        problem: Problem that is searched.
        root: Root of its project.
        most: Evaluations at once, at most; 0: as many as there are places.

    Raises:
        ConfigError: if what it takes is not installed, or not there.
        SandboxError: if there is no scheduler, or no worker that can be used.
        OSError: if the machine is at fault.
    """
    _expect_dask(where)
    content = await asyncio.to_thread(gather, problem, root)
    cluster = Cluster(content, most, Patience(where.straggler_s))
    folder = await asyncio.to_thread(_folder, where)
    try:
        tls = where.tls if folder is None else certificates.made(folder)
        cluster.starter = _starter(where, tls, folder, cluster.event)
        order = as_plain(content) | {
            "address": where.address, "host": "127.0.0.1" if where.kind is ClusterKind.LOCAL else None,
            "interface": where.interface, "wait_s": where.patience_s,
            "tls": tls and {"ca": str(tls.ca), "certificate": str(tls.certificate), "key": str(tls.key)},
            "introduction": introduction.as_plain(await asyncio.to_thread(introduce)), "floor": None,
        }  # fmt: skip
        start = cluster.starter.start if cluster.starter else lambda address: None
        cluster.courier = Courier(order, cluster.event, cluster.changed, start, _variables())
        cluster.courier.start()
        await cluster.ready(where)
        yield cluster
    finally:
        await asyncio.to_thread(cluster.close)
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)


@asynccontextmanager
async def on_executor(executor: Executor, problem: Problem, root: Path, most: int = 0) -> AsyncIterator[Cluster]:
    """Workers that are somebody else's business: whatever runs a function elsewhere.

    Args:
        executor: Anything with ``submit``, such as a ``concurrent.futures.Executor``.
        problem: Problem that is searched.
        root: Root of its project.
        most: Evaluations at once; 0: as many as the executor says that it has workers.

    Raises:
        ConfigError: if nobody knows how many evaluations it can run at once, or its workers cannot be used.
    """
    places = most or getattr(executor, "_max_workers", 0)
    if not places:
        raise ConfigError(f"a {type(executor).__name__} does not say how many workers it has: give workers=N as well")
    cluster = Cluster(await asyncio.to_thread(gather, problem, root), places, Patience())
    cluster.at_once = places
    cluster.places.resize(places)
    asked = asyncio.wrap_future(executor.submit(serve, '{"do": "introduce"}'))
    answer = unpacked(str(await asked).encode() + b"\n") or {}
    found = introduction.read(answer.get("introduction"))
    if why := unfit(found, await asyncio.to_thread(introduce)):
        raise ConfigError(f"the workers of the {type(executor).__name__} cannot be used: {why}")
    cluster.introductions = [found]
    yield cluster


def _starter(
    where: Where, tls: Certificates | None, folder: Path | None, event: Callable[[str], None]
) -> Starter | None:
    if where.kind is ClusterKind.ADDRESS:
        return None
    assert tls is not None
    assert folder is not None
    return (
        LocalWorkers(where.workers, tls, event)
        if where.kind is ClusterKind.LOCAL
        else BatchJobs(where, tls, folder, event)
    )


def _folder(where: Where) -> Path | None:
    """A new folder of this user's alone, for what workers are given; None where somebody else starts them."""
    if where.kind is ClusterKind.ADDRESS:
        return None
    if where.kind is ClusterKind.LOCAL:
        return Path(tempfile.mkdtemp(prefix="oragent-cluster-"))
    shared = where.shared or Path.home() / ".cache" / "oragent" / "cluster"
    shared.mkdir(mode=0o700, parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(prefix="run-", dir=shared))
    (made / "logs").mkdir()
    return made


def _expect_dask(where: Where) -> None:
    """See that what a cluster takes is installed.

    Raises:
        ConfigError: with what to install.
    """
    wanted = ["distributed", *(["dask_jobqueue"] if where.kind in BATCH else ())]
    wanted += [] if where.kind is ClusterKind.ADDRESS else ["cryptography"]
    if missing := [name for name in wanted if find_spec(name) is None]:
        raise ConfigError(f"a cluster needs {missing[0]}, which is not installed: {distribution.with_extra('cluster')}")


def _variables() -> dict[str, str]:
    """Where Dask's own configuration lies, and what of it stands in the environment."""
    return {name: value for name, value in os.environ.items() if name.startswith("DASK_") or name == "HOME"}

"""Process that connects an engine to a Dask cluster: Dask on one side, lines of JSON on the other.

Dask sends pickles, so the owner of a worker or a scheduler can run code in every process connected to it. So the engine
never connects. This process holds no key and no archive, reads only Python's files and the content, and can be
replaced.
"""

import asyncio
import json
import os
import resource
import socket
import sys
import tempfile
import time
from collections import defaultdict, deque
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from oragent._base.errors import OragentError, SandboxError
from oragent._base.text_format import one_line
from oragent.evaluation.cluster.content import Content
from oragent.evaluation.cluster.handshake import (
    Handshake,
    WorkerRegistry,
    describe_oddity,
    handshake_to_json,
    read_handshake,
    reason_to_refuse,
)
from oragent.evaluation.cluster.worker_entry import (
    MAX_LINE_BYTES,
    content_missing,
    handle_request,
    pack_line,
    unpack_line,
)
from oragent.evaluation.required_packages import describe_mixture
from oragent.sandbox.isolation import kernel, landlock
from oragent.sandbox.isolation.environment import interpreter_paths

# Interval between checks of the workers.
LOOK_S = 0.5
# Silence after which a scheduler counts as gone.
SILENT_S = 60.0
# Time limit for checking a worker and sending it the content; a slower worker is paused.
ADMIT_S = 600.0
# Maximum number of workers that receive the content at once.
SIDE_BY_SIDE = 16
NAMES = ("hosts", "resolv.conf", "nsswitch.conf", "host.conf", "gai.conf", "services", "passwd", "localtime", "ssl")
SYSTEM = (*(f"/etc/{name}" for name in NAMES), "/proc", "/sys/fs/cgroup", "/run/systemd/resolve", "/dev/urandom")

# Settings of our own scheduler: no web pages, and silent workers are not removed.
CONFIGURATION: dict[str, Any] = {
    "distributed.scheduler.http.routes": [],
    "distributed.scheduler.worker-ttl": None,
    "distributed.scheduler.allowed-failures": 1_000_000,
    "distributed.scheduler.work-stealing": False,
    "distributed.scheduler.active-memory-manager.start": False,
}


class ClusterBridge:
    """Connection of one engine to its cluster."""

    def __init__(self, order: Mapping[str, Any], writer: asyncio.StreamWriter) -> None:
        self._order, self._writer = order, writer
        self._roster = WorkerRegistry()
        # Number, key and request of copies that wait for a worker.
        self._waiting: deque[tuple[int, str, str]] = deque()
        self._flying: dict[int, asyncio.Task[None]] = {}
        self._admitting: dict[str, asyncio.Task[None]] = {}
        manifest = Content.from_manifest(order["manifest"])
        places = {name: Path(path) for name, path in order["places"].items()}
        self._content = Content(manifest.pieces, manifest.evaluator, places)
        self._engine = read_handshake(order["handshake"])
        floor = order.get("floor")
        self._floor = None if floor is None else frozenset(floor)
        self._gate = asyncio.Semaphore(SIDE_BY_SIDE)
        self._hosts: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._heard = self._served = time.monotonic()
        self._numbers = 0
        self._client: Any = None
        self._address = order["address"]

    async def run(self, reader: asyncio.StreamReader) -> None:
        """Serve the engine until it ends."""
        scheduler = await self._start_scheduler()
        self._client = await self._connect_client()
        self._send_engine(address=self._address)
        tasks = {asyncio.create_task(part) for part in (self._watch_workers(), self._read_requests(reader))}
        finished, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in finished:
            task.result()
        with suppress(OSError, TimeoutError):
            await asyncio.wait_for(self._client.close(), 2.0)
            if scheduler is not None:
                await asyncio.wait_for(scheduler.close(), 2.0)

    async def _read_requests(self, reader: asyncio.StreamReader) -> None:
        while (message := unpack_line(await reader.readline())) is not None:
            if message["do"] == "work":
                self._waiting.append((message["number"], message["key"], message["request"]))
                self._assign_waiting()
            else:
                self._floor = frozenset(message["floor"])

    async def _start_scheduler(self) -> Any:
        # Imported here because the package is optional and slow to import.
        from distributed import Scheduler

        if self._address:
            return None
        scheduler = await Scheduler(
            protocol="tls",
            host=self._order["host"],
            interface=self._order["interface"],
            port=0,
            dashboard_address="127.0.0.1:0",
            security=self._make_security(),
        )
        self._address = scheduler.address
        return scheduler

    def _make_security(self) -> Any:
        # Imported here because the package is optional and slow to import.
        from distributed.security import Security

        files = self._order["tls"]
        if files is None:
            # Settings of Dask's own configuration.
            return Security()
        kinds = {"cert": files["certificate"], "key": files["key"]}
        roles = {f"tls_{role}_{kind}": kinds[kind] for role in ("client", "scheduler", "worker") for kind in kinds}
        return Security(require_encryption=True, tls_ca_file=files["ca"], **roles)

    async def _connect_client(self) -> Any:
        # Imported here because the package is optional and slow to import.
        from distributed import Client

        give_up = time.monotonic() + self._order["wait_s"]
        while True:
            try:
                client = await Client(
                    self._address, asynchronous=True, security=self._make_security(), timeout=10, set_as_default=False
                )
                self._heard = time.monotonic()
                return client
            except (OSError, TimeoutError, ValueError, TypeError) as problem:
                if not isinstance(problem, OSError | TimeoutError) or time.monotonic() > give_up:
                    reason = f"no scheduler answers at {self._address}: {_one_line(problem)}"
                    if "ssl" in str(problem).lower():
                        reason += "; give certificates in a settings file (tls: ...), or in Dask's own configuration"
                    raise SandboxError(reason) from None
                await asyncio.sleep(1.0)

    async def _watch_workers(self) -> None:
        while True:
            now = time.monotonic()
            try:
                places = await asyncio.wait_for(self._client.nthreads(), SILENT_S)
                self._heard = time.monotonic()
                self._update_workers(places)
            except (OSError, TimeoutError) as problem:
                await self._start_over(f"the scheduler is gone ({_one_line(problem)})")
            for address in self._roster.wake_rested(now):
                self._begin_admission(address)
            if self._roster.places:
                self._served = now
            elif now - self._served > self._order["wait_s"]:
                raise SandboxError(f"no worker could be used for {self._order['wait_s']:g} s")
            await asyncio.sleep(LOOK_S)

    def _update_workers(self, places: Mapping[str, int]) -> None:
        gone = [address for address in self._roster.workers if address not in places]
        joined, lost = self._roster.update(places)
        for address in gone:
            self._send_engine(left=address)
            if task := self._admitting.pop(address, None):
                task.cancel()
        for number in lost:
            self._report_lost(number, "its worker is gone")
        for address in joined:
            self._begin_admission(address)

    async def _start_over(self, reason: str) -> None:
        """Report all running work as lost, and connect to the next scheduler."""
        self._report_event(f"{reason}: running evaluations are lost; waiting for it")
        self._update_workers({})
        for number in list(self._flying):
            self._report_lost(number, reason)
        with suppress(OSError, TimeoutError):
            await asyncio.wait_for(self._client.close(), 2.0)
        self._client = await self._connect_client()
        self._report_event("the scheduler is back")

    def _begin_admission(self, address: str) -> None:
        self._admitting[address] = asyncio.create_task(self._run_admission(address))
        self._send_engine(looked_at=len(self._admitting))

    async def _run_admission(self, address: str) -> None:
        try:
            await self._examine_worker(address)
        finally:
            self._admitting.pop(address, None)
            self._send_engine(looked_at=len(self._admitting))

    async def _examine_worker(self, address: str) -> None:
        try:
            async with asyncio.timeout(ADMIT_S):
                handshake = read_handshake((await self._request_worker(address, do="handshake"))["handshake"])
                reason = reason_to_refuse(handshake, self._engine) or self._describe_weaker_isolation(handshake)
                if not reason:
                    async with self._gate, self._hosts[handshake.host]:
                        reason = await self._send_content(address)
        except Exception as problem:
            # Dask passes on any exception that a worker of another version raises.
            self._report_event(f"{address} is paused: {_one_line(problem)}")
            self._roster.rest_worker(address, time.monotonic())
            return
        if reason:
            self._report_event(f"{handshake.host} ({address}) is not used: {reason}")
            self._roster.refuse_worker(address)
            self._send_engine(refused=address, host=handshake.host, why=reason)
            return
        if odd := describe_oddity(handshake, time.time()):
            self._report_event(f"{handshake.host} ({address}): {odd}")
        self._roster.accept_worker(address)
        places = self._roster.workers[address].places if address in self._roster.workers else 0
        self._send_engine(joined=address, places=places, handshake=handshake_to_json(handshake))
        self._assign_waiting()

    def _describe_weaker_isolation(self, handshake: Handshake) -> str:
        missing = set(handshake.not_held) - self._floor if self._floor is not None else set()
        if not missing:
            return ""
        return (
            f"it joined late and lacks guarantees that all others give; a candidate could: {'; '.join(sorted(missing))}"
        )

    async def _send_content(self, address: str) -> str:
        """Send a worker the files that it lacks, and return what its machine is missing, in one line."""
        content, manifest = self._content, self._content.manifest
        for number in (await self._request_worker(address, do="lacks", manifest=manifest))["lacks"]:
            for offset, part in content.read_parts(content.pieces[int(number)]):
                fields = {"content": content.digest, "number": number, "offset": offset}
                await self._request_worker(address, part, do="put", **fields)
        answer = await self._request_worker(address, do="finish", manifest=manifest)
        if mixture := describe_mixture(self._order.get("packages", {}), answer.get("packages", {})):
            return f"scores may differ, because the engine has {mixture} there"
        return "; ".join(_one_line(problem_text) for problem_text in answer["unmet"])

    async def _request_worker(self, address: str, *parts: bytes, **fields: Any) -> dict[str, Any]:
        answer = unpack_line((await self._call_worker(address, json.dumps(fields), *parts)).encode() + b"\n")
        if answer is None or "trouble" in answer:
            raise SandboxError(_one_line((answer or {}).get("trouble", "an answer of another form")))
        return answer

    async def _call_worker(self, address: str, request: str, *parts: bytes) -> str:
        self._numbers += 1
        future = self._client.submit(
            handle_request,
            request,
            *parts,
            workers=[address],
            allow_other_workers=False,
            pure=False,
            retries=0,
            key=f"oragent-{os.getpid()}-{id(self)}-{self._numbers}",
        )
        try:
            answer = await future
            if not isinstance(answer, str) or len(answer) >= MAX_LINE_BYTES:
                raise SandboxError("the answer is not a text, or too long")
            return answer
        finally:
            future.release()

    def _assign_waiting(self) -> None:
        for _ in range(len(self._waiting)):
            number, key, request = self._waiting.popleft()
            address = self._roster.assign_copy(number, key)
            if address is None:
                self._waiting.append((number, key, request))
                if not self._roster.has_free:
                    # The request stays first in the queue.
                    self._waiting.rotate(1)
                    return
            else:
                self._flying[number] = asyncio.create_task(self._run_copy(number, address, request))

    async def _run_copy(self, number: int, address: str, request: str) -> None:
        reason, well = "", True
        try:
            answer = await self._call_worker(address, request)
            if answer == content_missing(self._content.digest):
                reason, well = "its worker has lost the content", False
            else:
                well = not answer.startswith('{"trouble"')
                self._send_engine(number=number, answer=answer)
        except asyncio.CancelledError:
            reason = "the scheduler gave it up"
        except Exception as problem:
            reason = f"its worker failed: {_one_line(problem)}"
        if self._flying.pop(number, None) is None:
            # The loss has already been reported.
            return
        if reason:
            self._send_engine(number=number, lost=reason)
        self._roster.end_copy(number, well=well)
        if not well and address in self._roster.workers:
            self._roster.rest_worker(address, time.monotonic())
            self._send_engine(left=address)
        self._assign_waiting()

    def _report_lost(self, number: int, reason: str) -> None:
        task = self._flying.pop(number, None)
        if task is not None:
            self._send_engine(number=number, lost=reason)
            task.cancel()

    def _report_event(self, text: str) -> None:
        self._send_engine(event=_one_line(text))

    def _send_engine(self, **message: Any) -> None:
        self._writer.write(pack_line(message))


def _one_line(problem: object) -> str:
    return one_line(str(problem) or type(problem).__name__, 400, "")


def confine_process(readable: list[Path]) -> None:
    """Drop access to all other files if the kernel supports it, because the network may be hostile."""
    paths = [*interpreter_paths(), *map(Path, SYSTEM), *readable]
    with suppress(OSError):
        kernel.no_new_privileges()
        landlock.restrict_files(paths, [Path("/dev/null"), Path(tempfile.gettempdir())], network=True)


async def _serve_engine(connection: socket.socket) -> None:
    reader, writer = await asyncio.open_connection(sock=connection, limit=MAX_LINE_BYTES)
    order = unpack_line(await reader.readline())
    if order is None:
        return
    try:
        tls = order["tls"] or {}
        confine_process([Path(path) for path in (*order["places"].values(), *tls.values())])
        await ClusterBridge(order, writer).run(reader)
    except OragentError as problem:
        writer.write(pack_line({"fatal": _one_line(problem)}))
        await writer.drain()


def main(descriptor: int) -> None:
    """Serve the engine at the other end of an inherited socket."""
    # Imported here because the package is optional and slow to import.
    import dask.config
    import distributed  # noqa: F401  all of it, before files are given up

    dask.config.set(CONFIGURATION)
    file_limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    # Each worker needs one or two connections.
    resource.setrlimit(resource.RLIMIT_NOFILE, (file_limit, file_limit))
    with suppress(ConnectionError):
        asyncio.run(_serve_engine(socket.socket(fileno=descriptor)))
    # Do not wait for threads of libraries.
    os._exit(0)


if __name__ == "__main__":
    main(int(sys.argv[1]))

"""The courier's own program: it speaks Dask's language on one side and lines of JSON on the other.

Whoever owns a worker or a scheduler can run what they like in a process that speaks with it, as Dask sends pickles. So
none of that happens in the engine: this process holds no key and no archive, reads no files but Python's and the
content, and can be replaced.
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
from oragent._base.plain import plain
from oragent.evaluation.cluster import introduction
from oragent.evaluation.cluster.content import Content
from oragent.evaluation.cluster.introduction import Introduction
from oragent.evaluation.cluster.parcel import needs
from oragent.evaluation.cluster.roster import Roster
from oragent.evaluation.cluster.station import serve
from oragent.evaluation.cluster.wire import LONGEST, packed, unpacked
from oragent.sandbox.isolation import kernel, landlock
from oragent.sandbox.isolation.credentials import interpreter_paths

LOOK_S = 0.5  # between two looks at who is there
SILENT_S = 60.0  # a scheduler that answers nothing for so long is gone
ADMIT_S = 600.0  # a worker that cannot be introduced and given the content by then is left alone for a while
SIDE_BY_SIDE = 16  # workers that are given the content at once
NAMES = ("hosts", "resolv.conf", "nsswitch.conf", "host.conf", "gai.conf", "services", "passwd", "localtime", "ssl")
SYSTEM = (*(f"/etc/{name}" for name in NAMES), "/proc", "/sys/fs/cgroup", "/run/systemd/resolve", "/dev/urandom")

# Of a scheduler of ours: no pages for anybody, and no worker is given up because it was not heard of for a while.
CONFIGURATION: dict[str, Any] = {
    "distributed.scheduler.http.routes": [],
    "distributed.scheduler.worker-ttl": None,
    "distributed.scheduler.allowed-failures": 1_000_000,
    "distributed.scheduler.work-stealing": False,
    "distributed.scheduler.active-memory-manager.start": False,
}


class Bridge:
    """One engine's courier.

    Args:
        order: What the engine wants: the address, the certificates, the content.
        writer: Where answers go.
    """

    def __init__(self, order: Mapping[str, Any], writer: asyncio.StreamWriter) -> None:
        self._order, self._writer = order, writer
        self._roster = Roster()
        self._waiting: deque[tuple[int, str, str]] = deque()  # number, key and request of copies nobody could take yet
        self._flying: dict[int, asyncio.Task[None]] = {}
        self._admitting: dict[str, asyncio.Task[None]] = {}
        manifest = Content.read(order["manifest"])
        places = {name: Path(path) for name, path in order["places"].items()}
        self._content = Content(manifest.pieces, manifest.evaluator, places)
        self._engine = introduction.read(order["introduction"])
        floor = order.get("floor")
        self._floor = None if floor is None else frozenset(floor)
        self._gate = asyncio.Semaphore(SIDE_BY_SIDE)
        self._hosts: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._heard = self._served = time.monotonic()
        self._numbers = 0
        self._client: Any = None
        self._address = order["address"]

    async def run(self, reader: asyncio.StreamReader) -> None:
        """Serve the engine until it is gone.

        Raises:
            SandboxError: if there is no scheduler, or no worker for too long.
        """
        scheduler = await self._scheduler()
        self._client = await self._connected()
        self._tell(address=self._address)
        watching, listening = asyncio.create_task(self._watch()), asyncio.create_task(self._listen(reader))
        done, _ = await asyncio.wait({watching, listening}, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
        with suppress(OSError, TimeoutError):
            await asyncio.wait_for(self._client.close(), 2.0)
            if scheduler is not None:
                await asyncio.wait_for(scheduler.close(), 2.0)

    async def _listen(self, reader: asyncio.StreamReader) -> None:
        while (message := unpacked(await reader.readline())) is not None:
            if message["do"] == "work":
                self._waiting.append((message["number"], message["key"], message["request"]))
                self._pump()
            else:
                self._floor = frozenset(message["floor"])

    async def _scheduler(self) -> Any:
        """A scheduler of our own, where there is none yet."""
        from distributed import Scheduler  # heavy, and optional

        if self._address:
            return None
        made = await Scheduler(
            protocol="tls", host=self._order["host"], interface=self._order["interface"], port=0,
            dashboard_address="127.0.0.1:0", security=self._security(),
        )  # fmt: skip
        self._address = made.address
        return made

    def _security(self) -> Any:
        from distributed.security import Security  # heavy, and optional

        files = self._order["tls"]
        if files is None:
            return Security()  # what Dask's own configuration says
        kinds = {"cert": files["certificate"], "key": files["key"]}
        roles = {f"tls_{role}_{kind}": kinds[kind] for role in ("client", "scheduler", "worker") for kind in kinds}
        return Security(require_encryption=True, tls_ca_file=files["ca"], **roles)

    async def _connected(self) -> Any:
        """A client of the scheduler, which is waited for if it is away.

        Raises:
            SandboxError: if it stays away.
        """
        from distributed import Client  # heavy, and optional

        give_up = time.monotonic() + self._order["wait_s"]
        while True:
            try:
                made = await Client(
                    self._address, asynchronous=True, security=self._security(), timeout=10, set_as_default=False
                )
                self._heard = time.monotonic()
                return made
            except (OSError, TimeoutError, ValueError, TypeError) as problem:
                if not isinstance(problem, OSError | TimeoutError) or time.monotonic() > give_up:
                    remedy = (
                        "; certificates go into a file (tls: ...), or Dask's own configuration"
                        if _of_tls(problem)
                        else ""
                    )
                    raise SandboxError(f"no scheduler answers at {self._address}: {_line(problem)}{remedy}") from None
                await asyncio.sleep(1.0)

    async def _watch(self) -> None:
        """Look at who is there, again and again."""
        while True:
            now = time.monotonic()
            try:
                there = await asyncio.wait_for(self._client.nthreads(), SILENT_S)
                self._heard = time.monotonic()
                self._seen(there)
            except (OSError, TimeoutError) as problem:
                await self._start_over(f"the scheduler is gone ({_line(problem)})")
            for address in self._roster.rested(now):
                self._admit(address)
            if self._roster.places:
                self._served = now
            elif now - self._served > self._order["wait_s"]:
                raise SandboxError(f"there is no worker that can be used, for {self._order['wait_s']:g} s now")
            await asyncio.sleep(LOOK_S)

    def _seen(self, there: Mapping[str, int]) -> None:
        gone = [address for address in self._roster.workers if address not in there]
        joined, lost = self._roster.seen(there)
        for address in gone:
            self._tell(left=address)
            if task := self._admitting.pop(address, None):
                task.cancel()
        for number in lost:
            self._lose(number, "its worker is gone")
        for address in joined:
            self._admit(address)

    async def _start_over(self, why: str) -> None:
        """Everything under way is lost with a scheduler; connect to the one that takes its place."""
        self._event(f"{why}: what was under way is lost, and it is waited for")
        self._seen({})
        for number in list(self._flying):
            self._lose(number, why)
        with suppress(OSError, TimeoutError):
            await asyncio.wait_for(self._client.close(), 2.0)
        self._client = await self._connected()
        self._event("the scheduler is there again")

    def _admit(self, address: str) -> None:
        self._admitting[address] = asyncio.create_task(self._admitted(address))
        self._tell(looked_at=len(self._admitting))

    async def _admitted(self, address: str) -> None:
        try:
            await self._look_at(address)
        finally:
            self._admitting.pop(address, None)
            self._tell(looked_at=len(self._admitting))

    async def _look_at(self, address: str) -> None:
        """Look at a worker, give it the content, and use it; or say why not."""
        try:
            async with asyncio.timeout(ADMIT_S):
                known = introduction.read((await self._ask(address, do="introduce"))["introduction"])
                why = introduction.unfit(known, self._engine) or self._holds_less(known)
                if not why:
                    async with self._gate, self._hosts[known.host]:
                        why = await self._provided(address)
        except Exception as problem:  # whatever a worker of another version raises, Dask hands on
            self._event(f"{address} is left alone for a while: {_line(problem)}")
            self._roster.rest(address, time.monotonic())
            return
        if why:
            self._event(f"{known.host} ({address}) is not used: {why}")
            self._roster.refuse(address)
            self._tell(refused=address, host=known.host, why=why)
            return
        if odd := introduction.remark(known, time.time()):
            self._event(f"{known.host} ({address}): {odd}")
        self._roster.accept(address)
        places = self._roster.workers[address].places if address in self._roster.workers else 0
        self._tell(joined=address, places=places, introduction=introduction.as_plain(known))
        self._pump()

    def _holds_less(self, known: Introduction) -> str:
        missing = set(known.not_held) - self._floor if self._floor is not None else set()
        if not missing:
            return ""
        return f"it came late, and does not keep a candidate from this, as all others do: {'; '.join(sorted(missing))}"

    async def _provided(self, address: str) -> str:
        """Give a worker what it lacks of the content; one line on what its machine misses."""
        content, manifest = self._content, self._content.manifest
        for number in (await self._ask(address, do="lacks", manifest=manifest))["lacks"]:
            for offset, part in content.parts(content.pieces[int(number)]):
                await self._ask(address, part, do="put", content=content.digest, number=number, offset=offset)
        unmet = (await self._ask(address, do="finish", manifest=manifest))["unmet"]
        return "; ".join(_line(line) for line in unmet)

    async def _ask(self, address: str, *parts: bytes, **asked: Any) -> dict[str, Any]:
        """Have a worker do something, and read its answer.

        Raises:
            SandboxError: if its machine is in trouble, or it answers what none does.
        """
        answer = unpacked((await self._served_by(address, json.dumps(asked), *parts)).encode() + b"\n")
        if answer is None or "trouble" in answer:
            raise SandboxError(_line((answer or {}).get("trouble", "an answer of another form")))
        return answer

    async def _served_by(self, address: str, request: str, *parts: bytes) -> str:
        self._numbers += 1
        future = self._client.submit(
            serve, request, *parts, workers=[address], allow_other_workers=False, pure=False, retries=0,
            key=f"oragent-{os.getpid()}-{id(self)}-{self._numbers}",
        )  # fmt: skip
        try:
            answer = await future
            if not isinstance(answer, str) or len(answer) >= LONGEST:
                raise SandboxError("an answer that is no text, or too long")
            return answer
        finally:
            future.release()

    def _pump(self) -> None:
        """Give out what waits, to whoever is free."""
        for _ in range(len(self._waiting)):
            number, key, request = self._waiting.popleft()
            address = self._roster.begin(number, key)
            if address is None:
                self._waiting.append((number, key, request))
                if not self._roster.has_free:
                    self._waiting.rotate(1)  # it stays the first
                    return
            else:
                self._flying[number] = asyncio.create_task(self._work(number, address, request))

    async def _work(self, number: int, address: str, request: str) -> None:
        """Have one copy of an evaluation done, and tell what came of it."""
        why, well = "", True
        try:
            answer = await self._served_by(address, request)
            if answer == needs(self._content.digest):
                why, well = "its worker has lost the content", False
            else:
                well = not answer.startswith('{"trouble"')
                self._tell(number=number, answer=answer)
        except asyncio.CancelledError:
            why = "the scheduler gave it up"
        except Exception as problem:
            why = f"its worker failed: {_line(problem)}"
        if self._flying.pop(number, None) is None:
            return  # told before
        if why:
            self._tell(number=number, lost=why)
        self._roster.end(number, well=well)
        if not well and address in self._roster.workers:
            self._roster.rest(address, time.monotonic())
            self._tell(left=address)
        self._pump()

    def _lose(self, number: int, why: str) -> None:
        task = self._flying.pop(number, None)
        if task is not None:
            self._tell(number=number, lost=why)
            task.cancel()

    def _event(self, line: str) -> None:
        self._tell(event=_line(line))

    def _tell(self, **message: Any) -> None:
        self._writer.write(packed(message))


def _of_tls(problem: Exception) -> bool:
    return "ssl" in str(problem).lower()


def _line(problem: object) -> str:
    """One line of what somebody else says."""
    return " ".join(plain(str(problem) or type(problem).__name__).split())[:400]


def confine(readable: list[Path]) -> None:
    """Give up all files but these, where the kernel can see to it: the network may not be friendly."""
    paths = [*interpreter_paths(), *map(Path, SYSTEM), *readable]
    with suppress(OSError):
        kernel.no_new_privileges()
        landlock.restrict(paths, [Path("/dev/null"), Path(tempfile.gettempdir())], network=True)


async def _serve(connection: socket.socket) -> None:
    reader, writer = await asyncio.open_connection(sock=connection, limit=LONGEST)
    order = unpacked(await reader.readline())
    if order is None:
        return
    try:
        tls = order["tls"] or {}
        confine([Path(path) for path in (*order["places"].values(), *tls.values())])
        await Bridge(order, writer).run(reader)
    except OragentError as problem:
        writer.write(packed({"fatal": _line(problem)}))
        await writer.drain()


def main(descriptor: int) -> None:
    """Serve the engine at the other end of a socket, whose descriptor was inherited."""
    import dask.config  # heavy, and optional
    import distributed  # noqa: F401  all of it, before files are given up

    dask.config.set(CONFIGURATION)
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))  # each worker is a connection or two
    with suppress(ConnectionError):
        asyncio.run(_serve(socket.socket(fileno=descriptor)))
    os._exit(0)  # no thread of anybody's is waited for


if __name__ == "__main__":
    main(int(sys.argv[1]))

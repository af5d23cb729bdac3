"""Workers as the Dask process knows them: versions, isolation, free space, state, and running evaluations."""

import hashlib
import json
import os
import platform
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from enum import StrEnum
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import oragent
from oragent._base.errors import SandboxError
from oragent._base.text_format import escape_text
from oragent.sandbox.isolation.mechanisms import Guarantee
from oragent.sandbox.isolation.probe import missing_guarantees, probe_mechanisms
from oragent.sandbox.limits import count_processors, server_environment

# Packages whose version can change a score.
SCORING = ("numpy", "scipy", "numba", "torch")
MIN_ROOM_MB = 256
# Clock error from which it is reported; nothing depends on it.
CLOCK_S = 60.0
PATIENCE_S = 120.0
# Maximum length of a text from a worker.
SHOWN = 200


@dataclass(frozen=True)
class Handshake:
    """Description of a worker by itself."""

    host: str
    version: str
    # Hash of oragent's own code.
    code: str
    python: str
    # Versions of the packages that can change a score.
    packages: Mapping[str, str]
    machine: str
    # Number of processors that it may use.
    cores: int
    # Guarantees that do not hold there.
    not_held: tuple[str, ...]
    # Seconds since 1970, by its clock.
    clock: float
    # Free disk space for temporary files, in MiB.
    room_mb: float


def make_handshake() -> Handshake:
    """Inspect this machine in a separate process, because probing the isolation forks.

    Raises:
        SandboxError: The inspection failed.
    """
    try:
        completed = subprocess.run(
            [sys.executable, "-P", "-m", __name__],
            env=server_environment() | {"TMPDIR": tempfile.gettempdir()},
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            stdin=subprocess.DEVNULL,
            check=True,
        )
        return read_handshake(json.loads(completed.stdout))
    except (subprocess.SubprocessError, OSError, ValueError) as problem:
        raise SandboxError(f"a worker cannot inspect its machine: {problem}") from None


def inspect_machine() -> Handshake:
    """Inspect this machine in this process."""
    missing = missing_guarantees(probe_mechanisms())
    return Handshake(
        host=socket.gethostname(),
        version=oragent.__version__,
        code=_code_hash(),
        python=platform.python_version(),
        packages={name: version for name in SCORING if (version := _package_version(name))},
        machine=platform.machine(),
        cores=count_processors(),
        not_held=tuple(str(guarantee) for guarantee in missing),
        clock=time.time(),
        room_mb=shutil.disk_usage(tempfile.gettempdir()).free / (1 << 20),
    )


def read_handshake(tree: object) -> Handshake:
    """Parse the description of a worker; its texts are shortened and escaped.

    Raises:
        SandboxError: It has another form.
    """
    try:
        if not isinstance(tree, dict) or set(tree) != {field.name for field in fields(Handshake)}:
            raise TypeError("other fields")
        guarantees = set(map(str, Guarantee))
        texts = {name: _short_text(tree[name]) for name in ("host", "version", "code", "python", "machine")}
        return Handshake(
            **texts,
            packages={_short_text(name): _short_text(version) for name, version in tree["packages"].items()},
            cores=int(tree["cores"]),
            not_held=tuple(guarantee for guarantee in tree["not_held"] if guarantee in guarantees),
            clock=float(tree["clock"]),
            room_mb=float(tree["room_mb"]),
        )
    except (AttributeError, KeyError, TypeError, ValueError, OverflowError) as problem:
        raise SandboxError(f"invalid description of a worker: {type(problem).__name__}") from None


def reason_to_refuse(worker: Handshake, engine: Handshake) -> str:
    """Return in one line why a worker is not used; empty if it is."""
    if worker.version != engine.version:
        return f"it has oragent {worker.version}, and the engine {engine.version}: install the same there"
    if worker.code != engine.code:
        return f"its oragent {worker.version} differs from the engine's in the code: install the same copy"
    if worker.python.split(".")[:2] != engine.python.split(".")[:2]:
        return f"it has Python {worker.python}, and the engine {engine.python}: scores may differ"
    if worker.machine != engine.machine:
        return f"its machine type is {worker.machine}, and the engine's is {engine.machine}"
    for name, needed in engine.packages.items():
        if (worker_version := worker.packages.get(name, "none")) != needed:
            return f"it has {name} {worker_version}, and the engine {needed}: scores may differ"
    if worker.room_mb < MIN_ROOM_MB:
        return f"it has {worker.room_mb:.0f} MiB for temporary files, and at least {MIN_ROOM_MB} are needed"
    return ""


def describe_oddity(worker: Handshake, now: float) -> str:
    """Describe harmless oddities of a worker; empty for none."""
    off_s = worker.clock - now
    if abs(off_s) > CLOCK_S:
        return f"its clock is {off_s:+.0f} s off; no evaluation depends on it"
    return ""


def describe_weakest(workers: Sequence[Handshake]) -> str:
    """Return one line on guarantees that do not hold on every worker; empty if all hold."""
    missing = [text for text in map(str, Guarantee) if any(text in worker.not_held for worker in workers)]
    if not missing:
        return ""
    count = sum(bool(worker.not_held) for worker in workers)
    workers_text = f"on {count} of {len(workers)} workers" if len(workers) > 1 else "on its worker"
    return f"{workers_text} a candidate could: {'; '.join(missing)} (details: 'oragent doctor --cluster')"


def _short_text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("no text")
    return escape_text(value[:SHOWN])


def _package_version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


@cache
def _code_hash() -> str:
    package, digest = Path(oragent.__file__).parent, hashlib.sha256()
    for path in sorted(path for path in package.rglob("*.py") if "__pycache__" not in path.parts):
        digest.update(path.relative_to(package).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def handshake_to_json(handshake: Handshake) -> dict[str, Any]:
    """Return a handshake as JSON data."""
    return vars(handshake) | {"packages": dict(handshake.packages)}


class WorkerStatus(StrEnum):
    """State of a worker."""

    # Not checked yet.
    NEW = "new"
    FIT = "fit"
    # Its machine had a problem; it is checked again later.
    RESTING = "resting"
    REFUSED = "refused"


@dataclass
class WorkerEntry:
    """Worker with its state and its running evaluations."""

    address: str
    places: int
    standing: WorkerStatus = WorkerStatus.NEW
    # Keys of evaluations by the numbers of their copies.
    running: dict[int, str] = field(default_factory=dict)
    # Time of the next check if it rests.
    until: float = 0.0
    # Number of consecutive problems of its machine.
    troubles: int = 0

    @property
    def free(self) -> int:
        """Number of further evaluations that it can start."""
        if self.standing is WorkerStatus.FIT:
            return self.places - len(self.running)
        return 0


class WorkerRegistry:
    """Registry of a cluster's workers in the Dask process."""

    # Pause after a problem; doubled after each further one.
    REST_S = 15.0
    MAX_REST_S = 300.0

    def __init__(self) -> None:
        self.workers: dict[str, WorkerEntry] = {}
        # Workers with a free place, the longest free first.
        self._free: dict[str, None] = {}
        self._at: dict[int, str] = {}

    @property
    def places(self) -> int:
        """Number of concurrent evaluations of the workers in use."""
        return sum(worker.places for worker in self.workers.values() if worker.standing is WorkerStatus.FIT)

    @property
    def has_free(self) -> bool:
        """True if any worker has a free place."""
        return bool(self._free)

    def update(self, places: Mapping[str, int]) -> tuple[list[str], list[int]]:
        """Update the registry with the workers of a scheduler.

        Returns:
            Addresses of new workers, and numbers of the copies that are lost with workers that are gone.
        """
        joined = [address for address in places if address not in self.workers]
        for address in joined:
            self.workers[address] = WorkerEntry(address, places[address])
        gone = [address for address in self.workers if address not in places]
        return joined, [number for address in gone for number in self.remove_worker(address)]

    def remove_worker(self, address: str) -> list[int]:
        """Remove a worker and return the numbers of the copies that are lost with it."""
        worker = self.workers.pop(address, None)
        self._free.pop(address, None)
        lost = list(worker.running) if worker else []
        for number in lost:
            del self._at[number]
        return lost

    def accept_worker(self, address: str) -> None:
        """Mark a worker as usable."""
        if worker := self.workers.get(address):
            worker.standing = WorkerStatus.FIT
            self._update_free(worker)

    def refuse_worker(self, address: str) -> None:
        """Mark a worker as unusable for good."""
        if worker := self.workers.get(address):
            worker.standing = WorkerStatus.REFUSED
            self._free.pop(address, None)

    def rest_worker(self, address: str, now: float) -> None:
        """Pause a worker whose machine had a problem."""
        if worker := self.workers.get(address):
            worker.standing = WorkerStatus.RESTING
            worker.until = now + min(self.REST_S * 2.0**worker.troubles, self.MAX_REST_S)
            worker.troubles += 1
            self._free.pop(address, None)

    def wake_rested(self, now: float) -> list[str]:
        """Return the workers whose pause is over; they count as new."""
        resting = [worker for worker in self.workers.values() if worker.standing is WorkerStatus.RESTING]
        rested = [worker for worker in resting if worker.until <= now]
        for worker in rested:
            worker.standing = WorkerStatus.NEW
        return [worker.address for worker in rested]

    def assign_copy(self, number: int, key: str) -> str | None:
        """Assign a copy of an evaluation to a worker without another copy of it; None if no worker is free."""
        for address in self._free:
            worker = self.workers[address]
            if key not in worker.running.values():
                worker.running[number] = key
                self._at[number] = address
                del self._free[address]
                self._update_free(worker)
                return address
        return None

    def end_copy(self, number: int, *, well: bool = True) -> None:
        """Record the end of a copy; ``well`` means that its machine had no problem."""
        address = self._at.pop(number, None)
        worker = self.workers.get(address) if address else None
        if worker is not None:
            worker.running.pop(number, None)
            if well:
                worker.troubles = 0
            self._update_free(worker)

    def _update_free(self, worker: WorkerEntry) -> None:
        if worker.free > 0:
            self._free.setdefault(worker.address)
        else:
            self._free.pop(worker.address, None)


if __name__ == "__main__":
    os.write(1, json.dumps(handshake_to_json(inspect_machine())).encode())

"""Registry of workers: which exist, which are used, and which evaluation each runs."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class WorkerStatus(StrEnum):
    """What a worker is good for."""

    NEW = "new"  # nobody has looked at it yet
    FIT = "fit"
    RESTING = "resting"  # its machine was in trouble; it is looked at again later
    REFUSED = "refused"


@dataclass
class WorkerEntry:
    """One worker.

    Attributes:
        address: Address at which it is reached.
        places: Number of evaluations that it runs at once.
        standing: What it is good for.
        running: What it runs: keys of evaluations by the numbers of their copies.
        until: Time at which it is looked at again, where it rests.
        troubles: How often its machine was in trouble, one after the other.
    """

    address: str
    places: int
    standing: WorkerStatus = WorkerStatus.NEW
    running: dict[int, str] = field(default_factory=dict)
    until: float = 0.0
    troubles: int = 0

    @property
    def free(self) -> int:
        """Number of further evaluations that it can begin."""
        return self.places - len(self.running) if self.standing is WorkerStatus.FIT else 0


class WorkerRegistry:
    """The workers of a cluster, as the Dask process knows them."""

    REST_S = 15.0  # after a trouble; twice as long after each further one
    LONGEST_REST_S = 300.0

    def __init__(self) -> None:
        self.workers: dict[str, WorkerEntry] = {}
        self._free: dict[str, None] = {}  # who can begin something, the longest free first
        self._at: dict[int, str] = {}

    @property
    def places(self) -> int:
        """Evaluations that the workers in use can run at once."""
        return sum(worker.places for worker in self.workers.values() if worker.standing is WorkerStatus.FIT)

    @property
    def has_free(self) -> bool:
        """True if anybody can begin something."""
        return bool(self._free)

    def update(self, places: Mapping[str, int]) -> tuple[list[str], list[int]]:
        """Hold what a scheduler says against what was known.

        Args:
            places: Places by addresses of all workers that there are now.

        Returns:
            Addresses of those who are new; numbers of the copies that are lost with those who are gone.
        """
        joined = [address for address in places if address not in self.workers]
        for address in joined:
            self.workers[address] = WorkerEntry(address, places[address])
        gone = [address for address in self.workers if address not in places]
        return joined, [number for address in gone for number in self.remove_worker(address)]

    def remove_worker(self, address: str) -> list[int]:
        """A worker is gone; the numbers of the copies that are lost with it."""
        worker = self.workers.pop(address, None)
        self._free.pop(address, None)
        lost = list(worker.running) if worker else []
        for number in lost:
            del self._at[number]
        return lost

    def accept_worker(self, address: str) -> None:
        """Use a worker from now on."""
        if worker := self.workers.get(address):
            worker.standing = WorkerStatus.FIT
            self._update_free(worker)

    def refuse_worker(self, address: str) -> None:
        """Never use a worker."""
        if worker := self.workers.get(address):
            worker.standing = WorkerStatus.REFUSED
            self._free.pop(address, None)

    def rest_worker(self, address: str, now: float) -> None:
        """Leave a worker alone for a while, as its machine is in trouble."""
        if worker := self.workers.get(address):
            worker.standing = WorkerStatus.RESTING
            worker.until = now + min(self.REST_S * 2.0**worker.troubles, self.LONGEST_REST_S)
            worker.troubles += 1
            self._free.pop(address, None)

    def wake_rested(self, now: float) -> list[str]:
        """Those who are to be looked at again; they count as new."""
        rested = [
            worker
            for worker in self.workers.values()
            if worker.standing is WorkerStatus.RESTING and worker.until <= now
        ]
        for worker in rested:
            worker.standing = WorkerStatus.NEW
        return [worker.address for worker in rested]

    def assign_copy(self, number: int, key: str) -> str | None:
        """Give a copy of an evaluation to a worker that has no other copy of it.

        Args:
            number: Number of the copy.
            key: Key of the evaluation.

        Returns:
            The worker's address; None where nobody can take it.
        """
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
        """A copy has ended, however; ``well`` where its machine was not in trouble."""
        address = self._at.pop(number, None)
        worker = self.workers.get(address) if address else None
        if worker is not None:
            worker.running.pop(number, None)
            worker.troubles = 0 if well else worker.troubles
            self._update_free(worker)

    def _update_free(self, worker: WorkerEntry) -> None:
        if worker.free > 0:
            self._free.setdefault(worker.address)
        else:
            self._free.pop(worker.address, None)

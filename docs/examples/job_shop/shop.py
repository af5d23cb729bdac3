"""Job shops: read from CSV, scheduled by a rule, bounded from below. A helper of this problem's evaluator."""

import csv
from dataclasses import dataclass
from pathlib import Path

import numpy as np


@dataclass(frozen=True)
class Shop:
    """An instance.

    Attributes:
        machines: ``(jobs, operations)`` int array, machine of each operation, in the order of its job.
        durations: ``(jobs, operations)`` float array, time that it takes.
    """

    machines: np.ndarray
    durations: np.ndarray

    @property
    def bound(self) -> float:
        """No schedule is shorter than the busiest machine, or than the longest job."""
        busy = np.bincount(self.machines.ravel(), self.durations.ravel())
        return float(max(busy.max(), self.durations.sum(axis=1).max()))


def read(path: Path) -> Shop:
    """Read an instance: a line for each operation, with job, machine and duration."""
    rows = [(int(row["job"]), int(row["machine"]), float(row["duration"])) for row in csv.DictReader(path.open())]
    jobs = max(job for job, _, _ in rows) + 1
    machines = np.array([[machine for job, machine, _ in rows if job == one] for one in range(jobs)])
    durations = np.array([[duration for job, _, duration in rows if job == one] for one in range(jobs)])
    return Shop(machines, durations)


def offered(shop: Shop, ready: np.ndarray, done: np.ndarray, free: np.ndarray) -> tuple[float, np.ndarray]:
    """The next moment at which a machine can start something, and the jobs that it can choose from.

    Args:
        shop: The instance.
        ready: ``(jobs,)`` array, time at which the next operation of each job can begin.
        done: ``(jobs,)`` int array, number of its operations that have been started.
        free: ``(machines,)`` array, time from which each machine is free.
    """
    waiting = np.flatnonzero(done < shop.machines.shape[1])
    machine = shop.machines[waiting, done[waiting]]
    begins = np.maximum(ready[waiting], free[machine])
    now = begins.min()
    first = machine[begins == now].min()
    return float(now), waiting[(machine == first) & (begins == now)]


def seen(shop: Shop, now: float, jobs: np.ndarray, ready: np.ndarray, done: np.ndarray) -> tuple[np.ndarray, ...]:
    """What a rule is told of the operations that it can choose from."""
    count = shop.durations.shape[1]
    rest = np.cumsum(shop.durations[:, ::-1], axis=1)[:, ::-1]
    duration = shop.durations[jobs, done[jobs]]
    return duration, rest[jobs, done[jobs]] - duration, (count - 1.0 - done[jobs]), now - ready[jobs]


def start(shop: Shop, job: int, now: float, ready: np.ndarray, done: np.ndarray, free: np.ndarray) -> None:
    """Start the next operation of a job, in place."""
    machine, duration = shop.machines[job, done[job]], shop.durations[job, done[job]]
    ready[job] = free[machine] = now + duration
    done[job] += 1


def opened(shop: Shop) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The state before anything was started: ``ready``, ``done``, ``free``."""
    jobs = len(shop.durations)
    return np.zeros(jobs), np.zeros(jobs, dtype=int), np.zeros(shop.machines.max() + 1)

"""What an evaluation may use, and the environment that it sees."""

import os
import resource
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Limits", "environment", "restrict"]

# Everything else stays outside, above all keys and tokens.
ALLOWED = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "LD_LIBRARY_PATH", "PYTHONPATH", "CUDA_VISIBLE_DEVICES")
PACKAGE = Path(__file__).parents[1]
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


@dataclass(frozen=True)
class Limits:
    """Bounds of one evaluation.

    Attributes:
        wall_s: seconds by the clock, from its start; at the end of them the whole process group is killed.
        memory_mb: address space of each of its processes, in MiB.
        file_mb: size of any file that it writes, in MiB.
        processes: how many processes and threads the user may have beyond those of today (not held for root).
        output_kb: bytes kept of standard output and of standard error, in KiB; the rest is read and dropped.
    """

    wall_s: float = 60.0
    memory_mb: int = 2048
    file_mb: int = 64
    processes: int = 64
    output_kb: int = 1024

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if value <= 0:
                raise ValueError(f"{name} must be positive, not {value}")


def environment(folder: Path, limits: Limits) -> dict[str, str]:
    """Build the environment of an evaluation: an allow-list, its own folder as home, one thread a library."""
    allowed = {name: os.environ[name] for name in ALLOWED if name in os.environ}
    return allowed | {
        "HOME": str(folder),
        "TMPDIR": str(folder),
        "PYTHONHASHSEED": "0",  # the order of a set of strings must not change a score
        "MPLBACKEND": "agg",
        "ORAGENT_MEMORY_MB": str(limits.memory_mb),
        "ORAGENT_TIME_LIMIT_S": str(limits.wall_s),
        **dict.fromkeys(THREADS, "1"),
        **_kernel_cache(),
    }


def _kernel_cache() -> dict[str, str]:
    """Where compiled kernels are kept if not beside their source, as the evaluation's own home is gone after it."""
    if os.access(PACKAGE / "solvers", os.W_OK):
        return {}
    return {"NUMBA_CACHE_DIR": str(Path.home() / ".cache" / "oragent")}


def restrict(pid: int, limits: Limits) -> None:
    """Set the kernel's limits on a process that has just been started.

    From outside, right after the start: nothing runs between fork and exec, so a start is safe among threads.
    """
    if not hasattr(resource, "prlimit"):  # only Linux can; elsewhere the wall limit and the guest's own limits hold
        return
    cpu = int(limits.wall_s) + 1
    for limit, value in (
        (resource.RLIMIT_AS, limits.memory_mb << 20),
        (resource.RLIMIT_CPU, cpu),
        (resource.RLIMIT_FSIZE, limits.file_mb << 20),
        (resource.RLIMIT_NPROC, _tasks() + limits.processes),
        (resource.RLIMIT_CORE, 0),
    ):
        try:
            hard = resource.prlimit(pid, limit)[1]
            value = value if hard == resource.RLIM_INFINITY else min(value, hard)
            resource.prlimit(pid, limit, (value, value))
        except ProcessLookupError:
            return


def _tasks() -> int:
    """Count the user's processes and threads, since the kernel's limit counts all of them."""
    user, count = os.getuid(), 0
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            try:
                if entry.stat().st_uid == user:
                    count += len(os.listdir(f"/proc/{entry.name}/task"))
            except OSError:
                continue  # it ended while we looked
    return count

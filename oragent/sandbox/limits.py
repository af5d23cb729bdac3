"""Resource limits of a command's process, and its environment."""

import os
import resource
import sys
from pathlib import Path

from oragent.sandbox.isolation import process_usage
from oragent.sandbox.isolation.environment import allowed_environment
from oragent.sandbox.isolation.kernel import lower_limits
from oragent.sandbox.isolation.means import LINUX
from oragent.sandbox.messages import Limits

PACKAGE = Path(__file__).parents[1]
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


def server_environment() -> dict[str, str]:
    """Build the environment of an evaluation server: an allow-list, one thread a library."""
    return allowed_environment() | {
        **_import_path(),
        "PYTHONHASHSEED": "0",  # the order of a set of strings must not change a score
        "MPLBACKEND": "agg",
        **dict.fromkeys(THREADS, "1"),
        **({"OBJC_DISABLE_INITIALIZE_FORK_SAFETY": "YES"} if sys.platform == "darwin" else {}),  # its frameworks object
        **_kernel_cache_variable(),
    }


def _import_path() -> dict[str, str]:
    """Where to import us from, if we are not installed but run from a checkout."""
    if PACKAGE.parent.name in ("site-packages", "dist-packages"):
        return {}
    inherited = os.environ.get("PYTHONPATH")
    return {"PYTHONPATH": os.pathsep.join([*([inherited] if inherited else []), str(PACKAGE.parent)])}


def kernel_cache_path() -> Path:
    """Where compiled kernels are kept: beside their source, or in the user's cache where that cannot be written."""
    if "NUMBA_CACHE_DIR" in os.environ:
        return Path(os.environ["NUMBA_CACHE_DIR"])
    beside = os.access(PACKAGE / "solvers", os.W_OK)
    return PACKAGE / "solvers" / "__pycache__" if beside else Path.home() / ".cache" / "oragent"


def _kernel_cache_variable() -> dict[str, str]:
    """Name that place to a command, whose own home is gone after it."""
    cache = kernel_cache_path()
    return {} if cache.is_relative_to(PACKAGE) else {"NUMBA_CACHE_DIR": str(cache)}


def set_limits(limits: Limits, others: int, held: int) -> None:
    """Set the kernel's limits on this process and all that it will start.

    Memory that a program reserves and does not touch, or maps from files, is free; a program that is started anew has
    none of what is counted here as there already, and gets that much more.

    Args:
        limits: Limits of the command.
        others: Number of tasks that its user has already, as the kernel counts those too; -1 where nobody knows.
        held: Bytes of private memory, which can be written, that it has already.
    """
    lower_limits(
        {
            resource.RLIMIT_DATA if LINUX else resource.RLIMIT_AS: held + (limits.memory_mb << 20),
            **({} if others < 0 else {resource.RLIMIT_NPROC: others + limits.processes}),
            resource.RLIMIT_CPU: int(limits.cpu_s) + 1,
            resource.RLIMIT_FSIZE: limits.file_mb << 20,
            resource.RLIMIT_CORE: 0,
        }
    )


def count_processors() -> int:
    """Count the processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def count_tasks() -> int:
    """Count the user's processes and threads; elsewhere than on Linux its processes, and -1 where nobody tells."""
    user, count = os.getuid(), 0
    if not LINUX:
        return sum(row.user == user for row in process_usage.process_table().values()) or -1
    if not os.path.isdir("/proc/self"):
        return 0
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            try:
                if entry.stat().st_uid == user:
                    count += len(os.listdir(f"/proc/{entry.name}/task"))
            except OSError:
                continue  # it ended while we looked
    return count

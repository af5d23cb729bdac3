"""Program of a worker that we start: Dask's worker with our configuration. A worker started by hand works too."""

import os
import sys
import threading
from typing import Any

WITH_PARENT = "--with-parent"  # it ends when its standard input does, as that is its parent's
CONFIGURATION: dict[str, Any] = {"distributed.worker.http.routes": [], "distributed.admin.system-monitor.disk": False}


def main(words: list[str]) -> None:
    """Work until the scheduler is gone, or the parent is."""
    import dask.config  # heavy, and optional
    from distributed.cli import dask_worker

    if WITH_PARENT in words:
        words.remove(WITH_PARENT)
        threading.Thread(target=_end_with_parent, daemon=True).start()
    dask.config.set(CONFIGURATION)
    dask_worker.main([*words, "--no-nanny", "--dashboard-address", "127.0.0.1:0"])


def _end_with_parent() -> None:
    sys.stdin.buffer.read()
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])

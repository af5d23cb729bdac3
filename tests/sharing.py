"""What is made once in a run of the tests, however many processes share the work."""

import fcntl
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

__all__ = ["once"]


def once(shared: Path, name: str, make: Callable[[Path], Any]) -> Any:
    """Let the first process that asks make something; the others wait for it.

    Args:
        shared: a folder that all processes of the run share.
        name: of what is made.
        make: is given a folder of its own, and returns what JSON can hold.

    Returns:
        What was made, by whichever process.
    """
    made = shared / f"{name}.json"
    with (shared / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.exists():
            folder = shared / name
            folder.mkdir(exist_ok=True)
            made.write_text(json.dumps(make(folder)))
    return json.loads(made.read_text())

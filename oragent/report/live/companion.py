"""The live page of a search while that runs: a process of its own, which ends with the search."""

import os
import subprocess
import sys
import threading
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from oragent._base.errors import ConfigError

WATCHED = "ORAGENT_WATCHED"  # set for the page of a running search: it ends when its standard input does
START_S = 30.0  # longest wait for the address


@contextmanager
def open_companion(folder: Path, tell: Callable[[str], None]) -> Iterator[None]:
    """Serve the page of a run from another process, print its address, and open it where there is a screen.

    Args:
        folder: Folder of the run.
        tell: Callback that prints a line.

    Raises:
        ConfigError: if the page cannot be served.
    """
    command = [sys.executable, "-m", "oragent", "watch", str(folder)]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True,
        env={**os.environ, WATCHED: "1", "COLUMNS": "10000"},
    )  # fmt: skip
    try:
        line = _read_line(process)
        if not line:
            raise ConfigError("the page could not be opened: try 'oragent watch' beside the run")
        address = line.removeprefix("open ").split(" ")[0]
        tell(f"page: {address}")
        if sys.stdout.isatty() and (sys.platform == "darwin" or os.environ.get("DISPLAY")):
            webbrowser.open(address)
        yield
    finally:
        process.terminate()
        process.communicate()


def _read_line(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    timer = threading.Timer(START_S, process.kill)
    timer.start()
    try:
        return process.stdout.readline().strip()
    finally:
        timer.cancel()


def end_with_parent() -> None:
    """End this process when its standard input ends, if it is the page of a running search."""
    if os.environ.get(WATCHED):
        threading.Thread(target=_wait_for_end, daemon=True).start()


def _wait_for_end() -> None:
    sys.stdin.read()
    os._exit(0)

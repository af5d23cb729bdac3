"""``oragent`` and ``python -m oragent``."""

import gc
import os
import signal
import sys
from importlib import import_module
from types import FrameType, ModuleType

# Exit code of a command that Ctrl-C ended.
INTERRUPTED = 130


def main() -> None:
    """Import the command line, then run it; Ctrl-C ends it in one line."""
    try:
        _import_commands().main()
    except KeyboardInterrupt:
        print("oragent: stopped by Ctrl-C", file=sys.stderr)
        sys.exit(INTERRUPTED)
    finally:
        # The system frees the memory: Python would search all objects for garbage, several times, before it ends.
        gc.freeze()


def _import_commands() -> ModuleType:
    """Import the command line; a Ctrl-C during the import is raised after it.

    Python ignores an exception in a callback of its import system, so the program would go on.
    """
    presses: list[int] = []

    def note_press(number: int, frame: FrameType | None) -> None:
        presses.append(number)

    # A process in the background may ignore Ctrl-C, and goes on to do so.
    is_heard = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if is_heard:
        signal.signal(signal.SIGINT, note_press)
    # What is imported stays: looking for garbage in it takes a fifth of the time until a run begins.
    gc.disable()
    # Looking for plugins of pydantic among all installed packages is slow.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    commands = import_module("oragent.cli.app")
    gc.freeze()
    # Imported modules and large models are many objects that stay, which the default of 700 new objects would search
    # again and again. All objects are searched after 5 million new ones.
    gc.set_threshold(500_000, 10, 1)
    gc.enable()
    if is_heard:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if presses:
        raise KeyboardInterrupt
    return commands


if __name__ == "__main__":
    main()

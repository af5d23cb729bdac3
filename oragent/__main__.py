"""``oragent`` and ``python -m oragent``."""

import gc
import sys
from importlib import import_module

# exit code of a command that Ctrl-C ended
INTERRUPTED = 130


def main() -> None:
    """Import the command line, then run it; Ctrl-C ends it in one line."""
    try:
        # What is imported stays: looking for garbage in it takes a fifth of the time until a run begins.
        gc.disable()
        command = import_module("oragent.cli.app")
        gc.freeze()
        gc.enable()
        command.main()
    except KeyboardInterrupt:
        print("oragent: stopped by Ctrl-C", file=sys.stderr)
        sys.exit(INTERRUPTED)


if __name__ == "__main__":
    main()

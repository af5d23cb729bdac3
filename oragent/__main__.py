"""``oragent`` and ``python -m oragent``."""

import gc
from importlib import import_module


def main() -> None:
    """Import the command line, then run it."""
    # What is imported stays: looking for garbage in it takes a fifth of the time until a run begins.
    gc.disable()
    command = import_module("oragent.cli.app")
    gc.freeze()
    gc.enable()
    command.main()


if __name__ == "__main__":
    main()

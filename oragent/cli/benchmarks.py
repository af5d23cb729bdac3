"""Commands of the benchmarks, which are a distribution of their own."""

from typing import Any

from oragent._base.distribution import import_benchmarks
from oragent._base.errors import ConfigError


def moved_error(old: str, new: str) -> ConfigError:
    """Return the error for a command that is one of the benchmarks now."""
    return ConfigError(f"'oragent {old}' is in the benchmarks now (pip install ./benchmarks): oragent {new}")


def __getattr__(name: str) -> Any:
    """Import the group of commands ``bench`` at its first use."""
    if name == "bench":
        return import_benchmarks("cli.app").bench
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

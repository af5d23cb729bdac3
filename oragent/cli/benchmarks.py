"""Find the distribution of benchmarks, which is installed separately."""

from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from importlib.util import find_spec
from typing import Any

from oragent._base.errors import ConfigError

# Group of entry points, and the package to which its entry belongs.
GROUP, PACKAGE = "oragent.benchmarks", "oragent_benchmarks"


def moved_error(old: str, new: str) -> ConfigError:
    """Return the error for a command that is one of the benchmarks now."""
    return ConfigError(f"'oragent {old}' is in the benchmarks now (pip install ./benchmarks): oragent {new}")


@cache
def import_benchmarks(module: str) -> Any:
    """Import a module of the benchmarks, such as ``cli.app``.

    Raises:
        ConfigError: The benchmarks are not installed.
    """
    packages = [entry.value for entry in entry_points(group=GROUP)]
    # A checkout on the path needs no installation.
    if not packages and find_spec(PACKAGE) is not None:
        packages = [PACKAGE]
    if not packages:
        raise ConfigError("the benchmarks are a distribution of their own: pip install ./benchmarks")
    return import_module(f"{packages[0]}.{module}")


def __getattr__(name: str) -> Any:
    """Import the group of commands ``bench`` at its first use."""
    if name == "bench":
        return import_benchmarks("cli.app").bench
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

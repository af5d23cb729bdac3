"""Commands of the benchmarks, which are a distribution of their own."""

from typing import Any

from oragent._base.distribution import import_benchmarks


def __getattr__(name: str) -> Any:
    """Import the group of commands ``bench`` at its first use."""
    if name == "bench":
        return import_benchmarks("cli.app").bench
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

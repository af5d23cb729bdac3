"""Confinement by the kernel, for evaluations and for candidates."""

from oragent.sandbox.isolation.mechanisms import Guarantee, Means, list_not_held
from oragent.sandbox.isolation.probe import MeansReport, describe_isolation, missing_guarantees, probe_means

__all__ = [
    "Guarantee",
    "Means",
    "MeansReport",
    "describe_isolation",
    "list_not_held",
    "missing_guarantees",
    "probe_means",
]

"""Confinement of evaluations and candidates by the kernel."""

from oragent.sandbox.isolation.mechanisms import Guarantee, Mechanism, list_not_held
from oragent.sandbox.isolation.probe import MechanismReport, describe_isolation, missing_guarantees, probe_mechanisms

__all__ = [
    "Guarantee",
    "Mechanism",
    "MechanismReport",
    "describe_isolation",
    "list_not_held",
    "missing_guarantees",
    "probe_mechanisms",
]

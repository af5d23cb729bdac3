"""Confinement by the kernel, for evaluations and for candidates."""

from oragent.sandbox.isolation.means import Guarantee, Means, list_not_held
from oragent.sandbox.isolation.probe import MeansReport, probe_means

__all__ = ["Guarantee", "Means", "MeansReport", "list_not_held", "probe_means"]

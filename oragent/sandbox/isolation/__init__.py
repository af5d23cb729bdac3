"""Confinement by the kernel: what both the evaluation's border and a candidate's guest are held with."""

from oragent.sandbox.isolation.means import Guarantee, Means, not_held
from oragent.sandbox.isolation.probe import Offer, probe

__all__ = ["Guarantee", "Means", "Offer", "not_held", "probe"]

"""Reports: what a run's folder holds, as figures, a page and a terminal summary."""

from oragent.report.files import write
from oragent.report.run import load
from oragent.report.terminal import show

__all__ = ["load", "show", "write"]

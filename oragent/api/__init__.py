"""Python interface: the names of ``import oragent``. See ``docs/python.md``.

``comparison`` is not imported here, because statistics and plotting libraries load slowly.
"""

from oragent.api.experiments import evaluate, probe, problems, sweep
from oragent.api.results import SearchRun, load
from oragent.api.searching import resume, run, run_async

__all__ = ["SearchRun", "evaluate", "load", "probe", "problems", "resume", "run", "run_async", "sweep"]

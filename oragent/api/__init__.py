"""oragent from Python: what ``import oragent`` offers, one file a subject. See ``docs/python.md``.

``comparison`` is imported by itself, as statistics and drawing take longer than all else.
"""

from oragent.api.evaluating import evaluate, problems
from oragent.api.experiments import probe, sweep
from oragent.api.results import SearchRun, load
from oragent.api.searching import resume, run, run_async

__all__ = ["SearchRun", "evaluate", "load", "probe", "problems", "resume", "run", "run_async", "sweep"]

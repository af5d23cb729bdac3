"""The held-out set: what no search ever reads, and reports only when they are asked to."""

from pathlib import Path
from typing import Any

import yaml

from oragent.errors import ProblemError, StoreError
from oragent.evaluation import Job, evaluate
from oragent.protocol import Status
from oragent.sandbox import Limits
from oragent.search.folder import RunFolder, reopen
from oragent.search.store import Store

__all__ = ["held_out"]

PATIENCE = 10  # the test set may be that many times slower than what a search is patient with


def held_out(path: Path) -> dict[str, dict[str, Any]]:
    """Score a run's seed and best program in mode ``test``, and keep the figures in its folder as ``test.yaml``.

    A run at one size alone is tested at that size.

    Returns:
        For ``seed`` and ``best``: their metrics, and the score.

    Raises:
        StoreError: if there is no such run, or no best program.
        ProblemError: if the problem changed since, or has no test mode.
    """
    folder = reopen(path)
    best = folder.path / "best.py"
    if not best.is_file():
        raise StoreError(f"{path} has no best.py: nothing was scored")
    found = {"seed": _figures(folder, _seed(folder)), "best": _figures(folder, best.read_text(encoding="utf-8"))}
    (folder.path / "test.yaml").write_text(yaml.safe_dump(found, sort_keys=False), encoding="utf-8")
    return found


def _seed(folder: RunFolder) -> str:
    with Store(folder.database, readonly=True) as store:
        return store.records(0)[0].candidate.source


def _figures(folder: RunFolder, source: str) -> dict[str, Any]:
    about = folder.problem.about
    limits = Limits(PATIENCE * about.timeout_s, about.memory_mb)
    job = Job(folder.problem.evaluator, source, folder.root, limits, "test", folder.config.problem_size)
    found = evaluate(job)
    if found.status is not Status.OK:
        raise ProblemError(f"{folder.problem.name} in mode test: {found.status}: {found.message}")
    plain = {name: list(value) if isinstance(value, tuple) else value for name, value in found.metrics.items()}
    return {**plain, "score": found.score}

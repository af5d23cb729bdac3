"""Score a run's stored programs again, by its problem as it is today: an evaluator that was mended changes figures."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import yaml

from oragent._base import files
from oragent._base.errors import StoreError
from oragent._base.protocol import Status
from oragent.evaluation import Evaluation, Job, evaluate
from oragent.report.held_out import HeldOutScorer
from oragent.search.candidate import Committed
from oragent.search.folder import RunFolder, reopen
from oragent.search.store import Store

FILE = "rescored.yaml"


@dataclass(frozen=True)
class Rescored:
    """A program with its two scores.

    Attributes:
        id: Id of the candidate; the seed heuristic, as the run began with it, is ``0.0``.
        before: Score that the run gave it.
        now: Score of today; None where it has none.
        status: How today's evaluation ended.
        message: Reason where it has no score.
    """

    id: str
    before: float
    now: float | None
    status: str
    message: str = ""


def rescore(path: Path, most: int = 20, run: Callable[[Job], Evaluation] = evaluate) -> list[Rescored]:
    """Score the seed and the best programs of a run again, and keep the figures in its folder as ``rescored.yaml``.

    The run itself stays as it was.

    Args:
        path: Folder of the run.
        most: Number of programs beside the seed, the best ones.
        run: Function that runs a job.

    Returns:
        The programs in the order of their scores before, the seed first.

    Raises:
        StoreError: it has no scored program.
    """
    folder = reopen(path, changed=True, only_read=True)
    scorer = HeldOutScorer(folder, run)
    programs = _programs(folder, most)
    scorer.offers  # noqa: B018 asked once, before several threads ask
    with ThreadPoolExecutor(folder.config.cores) as pool:
        ends = list(pool.map(lambda one: scorer.evaluate(one.source, None, patience=1), programs))
    found = [_rescored(one, end) for one, end in zip(programs, ends, strict=True)]
    tree = [vars(one) for one in found]
    files.replace(path / FILE, yaml.safe_dump(tree, sort_keys=False, allow_unicode=True))
    return found


def _rescored(one: Committed, end: Evaluation) -> Rescored:
    assert one.score is not None
    if end.status is Status.OK:
        return Rescored(one.id, one.score, end.score, str(end.status))
    return Rescored(one.id, one.score, None, str(end.status), end.message)


def _programs(folder: RunFolder, most: int) -> list[Committed]:
    with Store(folder.database, readonly=True) as store:
        records = [one for one in store.records() if one.score is not None and not one.candidate.is_probe]
    if not records:
        raise StoreError(f"{folder.path} has no scored program")
    seed, *others = records
    distinct = {one.candidate.fingerprint: one for one in reversed(others) if one.source != seed.source}
    fitness = folder.problem.about.direction.fitness
    ranked = sorted(distinct.values(), key=lambda one: -fitness(one.score or 0.0))
    return [seed, *ranked[:most]]

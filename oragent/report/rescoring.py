"""Scoring a run's stored programs again by the present evaluator, for evaluators that were corrected."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import yaml

from oragent._base import files
from oragent._base.errors import StoreError
from oragent._base.protocol import Status
from oragent.evaluation import Evaluation, Job, run_evaluation
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
        recorded_score: Score that the run gave it.
        new_score: New score; None if it has none.
        status: How the new evaluation ended.
        message: Reason where it has no score.
    """

    id: str
    recorded_score: float
    new_score: float | None
    status: str
    message: str = ""


def rescore_run(path: Path, limit: int = 20, run: Callable[[Job], Evaluation] = run_evaluation) -> list[Rescored]:
    """Score the seed and the best programs of a run again, and keep the figures in its folder as ``rescored.yaml``.

    The run itself stays as it was.

    Args:
        path: Folder of the run.
        limit: Number of programs beside the seed, the best ones.
        run: Function that runs a job.

    Returns:
        The programs in the order of their scores before, the seed first.

    Raises:
        StoreError: it has no scored program.
    """
    folder = reopen(path, changed=True, only_read=True)
    scorer = HeldOutScorer(folder, run)
    programs = _choose_programs(folder, limit)
    scorer.offers  # noqa: B018 asked once, before several threads ask
    with ThreadPoolExecutor(folder.config.cores) as pool:
        ends = list(pool.map(lambda record: scorer.evaluate(record.source, None, patience=1), programs))
    rescored = [_make_rescored(record, end) for record, end in zip(programs, ends, strict=True)]
    renamed = {"recorded_score": "before", "new_score": "now"}  # names in the file
    tree = [{renamed.get(name, name): value for name, value in vars(record).items()} for record in rescored]
    files.replace_file(path / FILE, yaml.safe_dump(tree, sort_keys=False, allow_unicode=True))
    return rescored


def _make_rescored(record: Committed, end: Evaluation) -> Rescored:
    assert record.score is not None
    if end.status is Status.OK:
        return Rescored(record.id, record.score, end.score, str(end.status))
    return Rescored(record.id, record.score, None, str(end.status), end.message)


def _choose_programs(folder: RunFolder, limit: int) -> list[Committed]:
    with Store(folder.database, readonly=True) as store:
        records = [record for record in store.records() if record.score is not None and not record.candidate.is_probe]
    if not records:
        raise StoreError(f"{folder.path} has no scored program")
    seed, *others = records
    distinct = {record.candidate.fingerprint: record for record in reversed(others) if record.source != seed.source}
    fitness = folder.problem.about.direction.fitness
    ranked = sorted(distinct.values(), key=lambda record: -fitness(record.score or 0.0))
    return [seed, *ranked[:limit]]

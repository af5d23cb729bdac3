"""A search as one cell of a comparison: run or resumed, scored on the held-out set, and read."""

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from operator import add
from pathlib import Path
from typing import Any

import yaml

from oragent._base.bounded import load_yaml
from oragent._base.budget import Spent
from oragent._base.errors import ConfigError, ProblemError, StoreError
from oragent.evals.bench.execute import CellEnd
from oragent.evals.bench.plan import BenchCell, BenchPlan
from oragent.evals.bench.result import BenchResult, Cost, Measure, ModeScore, ProgressStep
from oragent.evals.compare.plan import cell_config
from oragent.evals.compare.variants import STRATEGY
from oragent.evaluation.problem import Problem, evaluation_root, find_problem
from oragent.ledger import RecordedReply
from oragent.report import about
from oragent.report.held_out import score_held_out
from oragent.report.live.offline import write_report
from oragent.report.run import RunData, load_run
from oragent.search.config import Config
from oragent.search.folder import RunFolder, best_file, make_folder, reopen
from oragent.search.launch import STOPPED, launch
from oragent.search.progress import Observer, SearchResult
from oragent.search.store import Store

HELD_OUT = "test.yaml"
Launch = Callable[[Config, Path, Problem, Callable[[], RunFolder], Observer], SearchResult]


class SearchRunner:
    """Runs searches, each in a run's folder ``seed<seed>/<problem>/<time>-<strategy>`` of the comparison's.

    Those of a variant have a folder of their own for that, ``variants/<name>``.

    Args:
        plan: The comparison.
        observer: Makes what is told of the rounds of a run.
        launching: Sees a search through, as ``launch`` does.

    Raises:
        ProblemError: A problem of the plan is gone or broken.
    """

    def __init__(
        self,
        plan: BenchPlan,
        observer: Callable[[BenchCell], Observer] = lambda cell: lambda progress: None,
        launching: Launch = launch,
    ) -> None:
        self._plan, self._observer, self._launch = plan, observer, launching
        self._problems = {name: find_problem(str(folder), plan.root) for name, folder in plan.subjects.items()}

    def is_complete(self, cell: BenchCell, folder: Path) -> bool:
        """Return True if a run has used up its budget."""
        path = self._find_begun(cell, folder)
        if path is None or not (path / "run.db").is_file():
            return False
        settings = reopen(path, only_read=True).config
        with Store(path / "run.db", readonly=True) as store:
            spent: Spent = reduce(add, store.rounds().values(), Spent())
            spent = Spent(spent.evaluations, spent.model_calls, spent.tokens, spent.money, store.elapsed_s())
        return settings.budget.name_reached_bound(spent) is not None

    def run(self, cell: BenchCell, folder: Path) -> CellEnd:
        """Do a run, or the rest of it, and write its report."""
        path, settings, problem = (
            self._find_begun(cell, folder),
            cell_config(self._plan, cell),
            self._problems[cell.subject],
        )
        opened, home = list[RunFolder](), evaluation_root(problem)

        def open_folder() -> RunFolder:
            outputs = self._runs_folder(cell, folder)
            opened.append(reopen(path) if path else make_folder(home, outputs, problem, settings))
            return opened[0]

        outcome = self._launch(settings, home, problem, open_folder, self._observer(cell))
        write_report(opened[0].path)
        return CellEnd() if outcome.complete else CellEnd(outcome.reason, stopped=outcome.reason == STOPPED)

    def finish(self, cell: BenchCell, folder: Path) -> str:
        """Score a run's best program on the held-out set, if that was not done since."""
        path = self._begun_folder(cell, folder)
        path_of_scores, best = path / HELD_OUT, best_file(path)
        if path_of_scores.is_file() and path_of_scores.stat().st_mtime >= best.stat().st_mtime:
            return ""
        try:
            score_held_out(path)
        except ProblemError as problem:
            return f"no score on the held-out set: {problem}"
        return ""

    def read(self, cell: BenchCell, folder: Path) -> BenchResult:
        """Read a run."""
        return read_run(cell, self._begun_folder(cell, folder))

    def _runs_folder(self, cell: BenchCell, folder: Path) -> Path:
        """Where a contestant's runs with a seed are."""
        varied = STRATEGY in self._plan.contestants[cell.contestant]
        return (folder / "variants" / cell.contestant if varied else folder) / f"seed{cell.seed}"

    def _find_begun(self, cell: BenchCell, folder: Path) -> Path | None:
        strategy = str(self._plan.contestants[cell.contestant].get(STRATEGY, cell.contestant))
        return _find_run(strategy, self._runs_folder(cell, folder) / cell.subject)

    def _begun_folder(self, cell: BenchCell, folder: Path) -> Path:
        path = self._find_begun(cell, folder)
        if path is None:
            raise StoreError(f"no run of {cell} in {folder}: run the comparison again to have it made")
        return path


def read_run(cell: BenchCell, path: Path) -> BenchResult:
    """Read a run out of its own folder.

    Raises:
        StoreError: It cannot be read.
        ConfigError: Its configuration cannot.
    """
    data, tested = load_run(path), _read_held_out(path / HELD_OUT)
    candidates = {name: record.candidate.evaluation for name, record in (("best", data.best), ("seed", data.seed))}
    val = {name: _make_score(evaluation.score, evaluation.metrics) for name, evaluation in candidates.items()}
    calls = data.spend.calls
    return BenchResult(
        cell=cell,
        measure=Measure(data.about.title, data.about.direction, data.about.references.get("best")),
        scores={"val": val["best"]} | ({"test": tested["best"]} if tested else {}),
        baselines={"val": val["seed"]} | ({"test": tested["seed"]} if tested else {}),
        tried=data.spend.candidates - 1,  # programs, and replies that held none; the seed heuristic is not among them
        failed=sum(len(group) for group in data.failures.values()),
        spent=Cost(data.spend.evaluations, calls.tokens, calls.cost, calls.unpriced, calls.number),
        seconds=data.spend.seconds,
        curve=_progress_curve(data),
        folder=path,
    )


def _find_run(strategy: str, folder: Path) -> Path | None:
    """The folder of a run, if it was begun; what a kill left of one that had no configuration yet is none."""
    for path in sorted(folder.glob("*/config.yaml")):
        try:
            if about.read_about(path).strategy_name == strategy:
                return path.parent
        except (ConfigError, StoreError):
            continue  # killed while it was being written: nothing was paid for yet
    return None


def _progress_curve(data: RunData) -> tuple[ProgressStep, ...]:
    """The way to the best over evaluations; replies are counted by whole rounds, until and with that of a candidate."""
    first: dict[float, int] = {}
    for record in data.records:
        if (score := record.score) is not None and not record.candidate.is_probe:
            first.setdefault(score, record.round)
    replies = sorted(data.replies, key=lambda reply: int(reply.case))
    rounds, paid = [int(reply.case) for reply in replies], _make_cost_function(replies)
    return tuple(
        ProgressStep(point.score, point.best, paid(int(point.at), bisect_right(rounds, first[point.score])))
        for point in data.by_evaluations
    )


def _make_cost_function(replies: Sequence[RecordedReply]) -> Callable[[int, int], Cost]:
    """Return a function that gives the cost of a number of evaluations and of the first replies."""
    sums = [(0, 0.0, 0)]
    for reply in replies:
        tokens, money, unpriced = sums[-1]
        tokens += reply.tokens_in + reply.tokens_out
        sums.append((tokens, money + (reply.money or 0.0), unpriced + (reply.money is None)))
    return lambda evaluations, count: Cost(evaluations, *sums[count], calls=count)


def _read_held_out(path: Path) -> dict[str, ModeScore]:
    """Scores of seed and best on the held-out set; empty where there are none."""
    if not path.is_file():
        return {}
    try:
        scores = load_yaml(path)
        return {name: _make_score(scores[name]["score"], scores[name]) for name in ("seed", "best")}
    except (OSError, yaml.YAMLError, KeyError, TypeError, ValueError, ArithmeticError, AttributeError) as problem:
        raise StoreError(
            f"cannot read {path}: {' '.join(str(problem).split())}; remove it to have it made anew"
        ) from None


def _make_score(score: Any, metrics: Mapping[str, Any]) -> ModeScore:
    return ModeScore(float(score), _half_width(metrics.get("ci95")))


def _half_width(interval: Any) -> float | None:
    """Of ``(low, high)``; None for anything else that an evaluator may call ``ci95``."""
    if isinstance(interval, Sequence) and len(interval) == 2 and all(type(end) in (int, float) for end in interval):
        return abs(float(interval[1]) - float(interval[0])) / 2
    return None

"""Searches as cells of a comparison: they are run or resumed, scored on the held-out set, and read."""

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from pathlib import Path
from typing import Any

import yaml

from oragent._base.budget import NO_BOUNDS, Spent
from oragent._base.errors import ConfigError, ProblemError, StoreError
from oragent._base.files import expect_room
from oragent._base.safe_load import load_yaml
from oragent._base.settings import dump_settings, flatten_tree
from oragent.evals.bench.plan import BenchCell, BenchPlan
from oragent.evals.bench.result import (
    BenchResult,
    CellEnd,
    CellRunner,
    Cost,
    Measure,
    ModeScore,
    ProgressStep,
    gather_results,
)
from oragent.evals.bench.summary import BenchSummary, summarise_results
from oragent.evals.bench.tables import TextTable
from oragent.evals.compare.plan import FAIR, FILE, STRATEGY, StrategyVariant, cell_config, configure_variant
from oragent.evaluation.problem import Problem, evaluation_root, find_problem
from oragent.ledger import RecordedReply
from oragent.report import run_configuration
from oragent.report.held_out import score_held_out
from oragent.report.live.offline import write_report
from oragent.report.pages.text import clip_text
from oragent.report.run import RunData, load_run
from oragent.search.config import Config
from oragent.search.events import Observer, SearchResult
from oragent.search.folder import RunFolder, best_file, make_folder, reopen
from oragent.search.launch import STOPPED, launch
from oragent.search.store import Store
from oragent.search.strategies import resolve_strategy

HELD_OUT = "test.yaml"
Launch = Callable[[Config, Path, Problem, Callable[[], RunFolder], Observer], SearchResult]


WORDS = {
    "strategy.window": "rounds in flight",
    "strategy.blocks": "building blocks shown",
    "strategy.features": "meanings of features in prompts",
    "strategy.standing": "state of the search in prompts",
    "strategy.history": "origins of programs in prompts",
    "strategy.tuning": "share of evaluations for tuning",
    "archive.islands": "islands",
}


class SearchRunner:
    """Runner of searches, each in a folder ``seed<seed>/<problem>/<time>-<strategy>`` of the comparison.

    Runs of a variant are below ``variants/<name>``.

    Args:
        observer: Function that creates the observer of a run's rounds.
        launching: Function that runs a search to its end, as ``launch`` does.
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
        """Return True if a run has used its whole budget."""
        path = self._find_begun(cell, folder)
        if path is None or not (path / "run.db").is_file():
            return False
        settings = reopen(path, only_read=True).config
        with Store(path / "run.db", readonly=True) as store:
            spent: Spent = reduce(add, store.rounds().values(), Spent())
            spent = replace(spent, seconds=store.elapsed_s())
        return settings.budget.name_reached_bound(spent) is not None

    def run(self, cell: BenchCell, folder: Path) -> CellEnd:
        """Run a search, or the rest of it, and write its report."""
        expect_room(folder)
        path, problem = self._find_begun(cell, folder), self._problems[cell.subject]
        settings = cell_config(self._plan, cell)
        opened, home = list[RunFolder](), evaluation_root(problem)

        def open_folder() -> RunFolder:
            outputs = self._runs_folder(cell, folder)
            opened.append(reopen(path) if path else make_folder(home, outputs, problem, settings))
            return opened[0]

        outcome = self._launch(settings, home, problem, open_folder, self._observer(cell))
        write_report(opened[0].path)
        if outcome.complete:
            return CellEnd()
        return CellEnd(outcome.reason, stopped=outcome.reason == STOPPED)

    def finish(self, cell: BenchCell, folder: Path) -> str:
        """Score a run's best program on the held-out set, unless that was done after the run."""
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
        """Return the folder of a contestant's runs with a seed."""
        varied = STRATEGY in self._plan.contestants[cell.contestant]
        return (folder / "variants" / cell.contestant if varied else folder) / f"seed{cell.seed}"

    def _find_begun(self, cell: BenchCell, folder: Path) -> Path | None:
        strategy = str(self._plan.contestants[cell.contestant].get(STRATEGY, cell.contestant))
        return _find_run(strategy, self._runs_folder(cell, folder) / cell.subject)

    def _begun_folder(self, cell: BenchCell, folder: Path) -> Path:
        path = self._find_begun(cell, folder)
        if path is None:
            raise StoreError(f"no run of {cell} in {folder}: repeat the command to run it")
        return path


def read_run(cell: BenchCell, path: Path) -> BenchResult:
    """Read a run from its folder."""
    data, tested = load_run(path), _read_held_out(path / HELD_OUT)
    candidates = {name: record.candidate.evaluation for name, record in (("best", data.best), ("seed", data.seed))}
    val = {name: _make_score(evaluation.score, evaluation.metrics) for name, evaluation in candidates.items()}
    calls = data.spend.calls
    return BenchResult(
        cell=cell,
        measure=Measure(data.about.title, data.about.direction, data.about.references.get("best")),
        scores={"val": val["best"]} | ({"test": tested["best"]} if tested else {}),
        baselines={"val": val["seed"]} | ({"test": tested["seed"]} if tested else {}),
        # Programs, and replies without a program. The seed heuristic is not counted.
        tried=data.spend.candidates - 1,
        failed=sum(len(group) for group in data.failures.values()),
        spent=Cost(data.spend.evaluations, calls.tokens, calls.cost, calls.unpriced, calls.number),
        seconds=data.spend.seconds,
        curve=_progress_curve(data),
        folder=path,
    )


def _find_run(strategy: str, folder: Path) -> Path | None:
    """Return the folder of an existing run. Folders of killed runs without a configuration are ignored."""
    for path in sorted(folder.glob("*/config.yaml")):
        try:
            if run_configuration.read_about(path).strategy_name == strategy:
                return path.parent
        except (ConfigError, StoreError):
            # The run was killed during its first write, before it had any cost.
            continue
    return None


def _progress_curve(data: RunData) -> tuple[ProgressStep, ...]:
    """Return the progress of the best score over evaluations. Each candidate includes all replies up to its round."""
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
    """Return a function that computes the cost of a number of evaluations and of the first replies."""
    sums = [(0, 0.0, 0)]
    for reply in replies:
        tokens, money, unpriced = sums[-1]
        tokens += reply.tokens_in + reply.tokens_out
        sums.append((tokens, money + (reply.money or 0.0), unpriced + (reply.money is None)))
    return lambda evaluations, count: Cost(evaluations, *sums[count], calls=count)


def _read_held_out(path: Path) -> dict[str, ModeScore]:
    """Return the scores of seed and best on the held-out set; empty if there are none."""
    if not path.is_file():
        return {}
    try:
        scores = load_yaml(path)
        return {name: _make_score(scores[name]["score"], scores[name]) for name in ("seed", "best")}
    except (OSError, yaml.YAMLError, KeyError, TypeError, ValueError, ArithmeticError, AttributeError) as problem:
        raise StoreError(
            f"cannot read {path}: {' '.join(str(problem).split())}; remove it and repeat the command"
        ) from None


def _make_score(score: Any, metrics: Mapping[str, Any]) -> ModeScore:
    return ModeScore(float(score), _half_width(metrics.get("ci95")))


def _half_width(interval: Any) -> float | None:
    """Return half the width of ``(low, high)``; None for another value that an evaluator reports as ``ci95``."""
    if isinstance(interval, Sequence) and len(interval) == 2 and all(type(end) in (int, float) for end in interval):
        return abs(float(interval[1]) - float(interval[0])) / 2
    return None


def differing_settings(plan: BenchPlan) -> TextTable:
    """Tabulate the settings that differ between contestants, one per row, including defaults of strategies."""
    trees = _settings_by_contestant(plan)
    keys = dict.fromkeys(key for tree in trees.values() for key in tree)
    texts = {key: [_format_value(tree.get(key)) for tree in trees.values()] for key in keys}
    rows = [(key, *values) for key, values in texts.items() if len(set(values)) > 1 and key != FILE]
    return TextTable(("setting", *trees), tuple(rows))


def describe_equal_settings(plan: BenchPlan) -> str:
    """Describe settings that are equal here although strategies have different defaults; empty if there are none."""
    trees = list(_settings_by_contestant(plan).values())
    shared = [key for key in FAIR if len({_format_value(tree.get(key)) for tree in trees}) == 1]
    return ", ".join(f"{WORDS[key]}: {_format_value(trees[0].get(key))}" for key in shared)


def list_models(plan: BenchPlan) -> list[str]:
    """Return the names of all models that are used, each once, in the order of the contestants."""
    names: dict[str, None] = {}
    for name in plan.contestants:
        config = configure_variant(StrategyVariant(name, plan.contestants[name]), plan.settings, "settings")
        names |= dict.fromkeys(
            model.name for model in (config.model, *config.ensemble, *config.models.values()) if model
        )
    return list(names)


def _settings_by_contestant(plan: BenchPlan) -> dict[str, Mapping[str, Any]]:
    """Return the settings of each contestant's runs by ``section.key``, including defaults of strategies."""
    configs = {
        name: configure_variant(StrategyVariant(name, settings), plan.settings, "settings")
        for name, settings in plan.contestants.items()
    }
    return {name: flatten_tree(dump_settings(resolve_strategy(config))) for name, config in configs.items()}


def _format_value(value: Any) -> str:
    words = {None: "–", True: "yes", False: "no"}
    text = words[value] if value is None or isinstance(value, bool) else str(value)
    return clip_text(text)[0]


@dataclass(frozen=True)
class Comparison:
    """A comparison with its complete runs. An unfinished run has not used its whole budget."""

    plan: BenchPlan
    folder: Path
    summary: BenchSummary
    unfinished: tuple[BenchCell, ...]

    @property
    def budget(self) -> str:
        """Budget of each run, as text."""
        named = dict(self.plan.settings["budget"])
        both = named.pop("until", "first") == "both"
        bounds = {name: bound for name, bound in named.items() if bound is not None and name not in NO_BOUNDS}
        words = [f"${bound:,.2f}" if name == "money" else f"{bound:,} {name}" for name, bound in bounds.items()]
        bounds_text = ", ".join(words).replace("_", " ") or "no bound"
        if both:
            return f"{bounds_text}; until both evaluations and model calls are used up"
        return bounds_text

    @property
    def model(self) -> str:
        """Names of the models that strategies used."""
        return ", ".join(list_models(self.plan)) or "none"


def load_comparison(plan: BenchPlan, runner: CellRunner, folder: Path) -> Comparison:
    """Read the complete runs of a comparison."""
    results, unfinished = gather_results(plan, runner, folder)
    if not results:
        raise StoreError(f"no run in {folder} has used up its budget yet; repeat the command to continue")
    return Comparison(plan, folder, summarise_results(plan, results), unfinished)

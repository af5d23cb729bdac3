"""The held-out set: what no search ever reads, and reports only when they are asked to."""

import hashlib
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

import yaml

from oragent._base import files
from oragent._base.errors import ProblemError, StoreError
from oragent._base.protocol import Status
from oragent.evaluation import Evaluation, Job, evaluate
from oragent.evaluation.devices import AUTO, CPU
from oragent.evaluation.offers import ask, options
from oragent.report.paired import kept
from oragent.search.folder import RunFolder, best_file, reopen
from oragent.search.store import Store

FILE = "test.yaml"
PATIENCE = 10  # the test set may be that many times slower than what a search is patient with


@dataclass(frozen=True)
class HeldOutScorer:
    """Scores programs of a run beside the search, with all the patience that larger sets need.

    Attributes:
        folder: Folder of the run.
        run: Function that runs a job.
        device: Device that networks compute on; None: the one that the run is pinned to.
    """

    folder: RunFolder
    run: Callable[[Job], Evaluation] = evaluate
    device: str | None = None

    @property
    def where(self) -> str:
        """Device that networks compute on."""
        return self.device or self.folder.config.device

    @cached_property
    def offers(self) -> frozenset[str]:
        """Options that the evaluator has beyond the contract."""
        return ask(self.folder.problem, self.folder.root, self.run)

    @cached_property
    def seed(self) -> str:
        """Text of the seed heuristic, as the run began with it."""
        with Store(self.folder.database, readonly=True) as store:
            return store.records(0)[0].candidate.source

    def evaluate(self, source: str, mode: str | None, *arguments: str, patience: float = PATIENCE) -> Evaluation:
        """Evaluate a program in a mode, with options of the evaluator's; at one size where the run was."""
        problem, config = self.folder.problem, self.folder.config
        own = options(
            problem, config.limits, self.offers, patience=patience, device=self.where, protocol=config.protocol
        )
        limits, size = problem.limits(config.limits, patience), config.problem_size
        return self.run(problem.job(source, self.folder.root, limits, mode, size, (*own, *arguments)))

    def score(self, source: str, mode: str, *arguments: str) -> dict[str, Any]:
        """The metrics of a program, and its score.

        Raises:
            ProblemError: if it has none.
        """
        found = self.evaluate(source, mode, *arguments)
        if found.status is not Status.OK:
            raise ProblemError(f"{self.folder.problem.name} in mode {mode}: {found.status}: {found.message}")
        plain = {name: list(value) if isinstance(value, tuple) else value for name, value in found.metrics.items()}
        return {**plain, "score": found.score}


def best_text(path: Path) -> str:
    """Text of a run's best program.

    Raises:
        StoreError: if there is none.
    """
    best = best_file(path)
    if not best.is_file():
        raise StoreError(f"{path} has no {best.name}: nothing was scored")
    return best.read_text(encoding="utf-8")


def digest(text: str) -> str:
    """SHA-256 of a program's text, hex digits: by which a figure is known to be that program's."""
    return hashlib.sha256(text.encode()).hexdigest()


def held_out(path: Path, scorer: HeldOutScorer | None = None) -> dict[str, Any]:
    """Score a run's seed and best program in mode ``test``, once for what they are; kept as ``test.yaml``.

    A run at one size alone is tested at that size. What is kept goes by the content of both programs and of the
    evaluator: equal ones are not evaluated anew.

    Args:
        path: Folder of the run.
        scorer: Scorer of its programs; None: one of its own.

    Returns:
        For ``seed`` and ``best``: their metrics, and the score; under ``paired`` the test of one against the other, or
        None.

    Raises:
        StoreError: if there is no such run, or no best program.
        ProblemError: if the problem changed since, or has no test mode.
    """
    scorer = scorer or HeldOutScorer(reopen(path, only_read=True))
    best, known = best_text(path), read(path)
    about = identity(scorer)
    if known is not None and known.get("about") == about:
        return {name: known[name] for name in ("seed", "best", "paired")}
    found: dict[str, Any] = {"seed": scorer.score(scorer.seed, "test"), "best": scorer.score(best, "test")}
    found["paired"] = paired_figures(scorer, found["seed"], found["best"])
    files.replace(path / FILE, yaml.safe_dump({"program": digest(best), "about": about, **found}, sort_keys=False))
    return found


def identity(scorer: HeldOutScorer) -> str:
    """Hash of all but the best program that figures depend on: evaluator, seed heuristic, size, device."""
    problem = scorer.folder.problem
    evaluator = problem.evaluator.read_text(encoding="utf-8", errors="replace")
    device = [] if scorer.where in (AUTO, CPU) else [scorer.where]  # figures of before there was a choice stay known
    return digest("\0".join([evaluator, scorer.seed, str(scorer.folder.config.problem_size), *device]))


def paired_figures(scorer: HeldOutScorer, seed: dict[str, Any], best: dict[str, Any]) -> dict[str, Any] | None:
    """The paired test of a best program against its seed, as files keep it; None where the metrics do not allow it."""
    # Statistics take long to import, and only who has just evaluated two programs needs them.
    found = import_module("oragent.report.pairing").pair(scorer.folder.problem.about.direction, seed, best)
    return None if found is None else asdict(found)


def read(path: Path) -> dict[str, Any] | None:
    """What a run's folder holds of the held-out set, for its best program of today; None where that is nothing."""
    file = path / FILE
    try:
        found = yaml.safe_load(file.read_text(encoding="utf-8"))
        if found["program"] != digest(best_text(path)):
            return None
        kept(found.get("paired"))
        own = {name: {**found[name], "score": float(found[name]["score"])} for name in ("seed", "best")}
        return {**own, "paired": found.get("paired"), "about": found.get("about")}
    except (StoreError, OSError, UnicodeDecodeError, yaml.YAMLError, KeyError, TypeError, ValueError, AttributeError):
        return None

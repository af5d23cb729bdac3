"""The held-out set, which no search reads and reports read only on request."""

import hashlib
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

from oragent._base import files
from oragent._base.bounded_yaml import load_yaml
from oragent._base.errors import ProblemError, StoreError
from oragent._base.protocol import Status
from oragent.evaluation import Evaluation, Job, run_evaluation
from oragent.evaluation.devices import AUTO, CPU
from oragent.evaluation.offers import HELD_OUT_PATIENCE, evaluator_arguments, find_options
from oragent.report.chance import compare_pairs, read_paired
from oragent.search.folder import RunFolder, best_file, reopen
from oragent.search.store import Store

FILE = "test.yaml"
MOST_BYTES = 4 << 20  # of a program


@dataclass(frozen=True)
class HeldOutScorer:
    """Scores programs of a run outside of the search, with the longer limits that larger sets need.

    Attributes:
        folder: Folder of the run.
        run: Function that runs a job.
        device: Device that networks compute on; None: the one that the run is pinned to.
    """

    folder: RunFolder
    run: Callable[[Job], Evaluation] = run_evaluation
    device: str | None = None

    @property
    def device_name(self) -> str:
        """Device that networks compute on."""
        return self.device or self.folder.config.device

    @cached_property
    def offers(self) -> frozenset[str]:
        """Options that the evaluator has beyond the contract."""
        return find_options(self.folder.problem, self.folder.root, self.run)

    @cached_property
    def seed(self) -> str:
        """Text of the seed heuristic, as the run began with it."""
        with Store(self.folder.database, readonly=True) as store:
            return store.records(0)[0].candidate.source

    def evaluate(
        self, source: str, mode: str | None, *arguments: str, patience: float = HELD_OUT_PATIENCE
    ) -> Evaluation:
        """Evaluate a program in a mode, with options of the evaluator's; at one size where the run was."""
        problem, config = self.folder.problem, self.folder.config
        evaluator_options = evaluator_arguments(
            problem, config.limits, self.offers, patience=patience, device=self.device_name, protocol=config.protocol
        )
        limits, size = problem.make_limits(config.limits, patience), config.problem_size
        return self.run(
            problem.make_job(source, self.folder.root, limits, mode, size, (*evaluator_options, *arguments))
        )

    def score(self, source: str, mode: str, *arguments: str) -> dict[str, Any]:
        """The metrics of a program, and its score.

        Raises:
            ProblemError: if it has none.
        """
        evaluation = self.evaluate(source, mode, *arguments)
        if evaluation.status is not Status.OK:
            raise ProblemError(f"{self.folder.problem.name} in mode {mode}: {evaluation.status}: {evaluation.message}")
        plain = {name: list(value) if isinstance(value, tuple) else value for name, value in evaluation.metrics.items()}
        return {**plain, "score": evaluation.score}


def best_text(path: Path) -> str:
    """Text of a run's best program.

    Raises:
        StoreError: if there is none, or it cannot be read.
    """
    best = best_file(path)
    if not best.is_file():
        raise StoreError(f"{path} has no {best.name}: nothing was scored")
    try:
        return files.read_bounded(best, MOST_BYTES)
    except (OSError, UnicodeDecodeError) as problem:
        raise StoreError(f"cannot read {best}: {' '.join(str(problem).split())[:300]}") from None


def hash_text(text: str) -> str:
    """Return the SHA-256 of a program's text as hex digits; it names the program that figures belong to."""
    return hashlib.sha256(text.encode()).hexdigest()


def score_held_out(path: Path, scorer: HeldOutScorer | None = None) -> dict[str, Any]:
    """Score a run's seed and best program in mode ``test``, and write ``test.yaml``.

    A run at a single size is tested at that size. Stored figures are used again while both programs and the evaluator
    are the same.

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
    best, recorded = best_text(path), read_held_out(path)
    about = hash_identity(scorer)
    if recorded is not None and recorded.get("about") == about:
        return {name: recorded[name] for name in ("seed", "best", "paired")}
    figures: dict[str, Any] = {"seed": scorer.score(scorer.seed, "test"), "best": scorer.score(best, "test")}
    figures["paired"] = paired_figures(scorer, figures["seed"], figures["best"])
    files.replace_file(
        path / FILE, yaml.safe_dump({"program": hash_text(best), "about": about, **figures}, sort_keys=False)
    )
    return figures


def hash_identity(scorer: HeldOutScorer) -> str:
    """Return a hash of what figures depend on beside the best program: evaluator, seed heuristic, size, device."""
    problem = scorer.folder.problem
    evaluator = problem.evaluator.read_text(encoding="utf-8", errors="replace")
    device = (
        [] if scorer.device_name in (AUTO, CPU) else [scorer.device_name]
    )  # figures of before there was a choice stay known
    return hash_text("\0".join([evaluator, scorer.seed, str(scorer.folder.config.problem_size), *device]))


def paired_figures(scorer: HeldOutScorer, seed: dict[str, Any], best: dict[str, Any]) -> dict[str, Any] | None:
    """Return the paired test of the best program against the seed as a tree, or None without metrics by instance."""
    paired = compare_pairs(scorer.folder.problem.about.direction, seed, best)
    return None if paired is None else asdict(paired)


def read_held_out(path: Path) -> dict[str, Any] | None:
    """Return the stored figures of the held-out set for the present best program, or None."""
    file = path / FILE
    try:
        tree = load_yaml(file)
        if tree["program"] != hash_text(best_text(path)):
            return None
        read_paired(tree.get("paired"))
        figures = {name: {**tree[name], "score": float(tree[name]["score"])} for name in ("seed", "best")}
        return {**figures, "paired": tree.get("paired"), "about": tree.get("about")}
    except (StoreError, OSError, yaml.YAMLError, KeyError, TypeError, ValueError, ArithmeticError, AttributeError):
        return None

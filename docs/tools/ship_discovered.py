"""Ship a program with its problem: ``ship_discovered.py RUN ID TITLE "why it works" [--no-fresh] [--sizes=N,...]``.

``ship_discovered.py PROBLEM FILE TITLE "why it works"`` ships a program that was written without a run. ``--sizes`` leaves
out the sizes whose evaluation takes too long; the duel then has the first of these sizes.

It scores seed and program on ``val`` (of a run: takes the scores of the run), on the held-out and on a fresh set, side by side,
tests the program with unusual arguments, decides a duel on new instances against the best published rule of
``reevo_rules.py``, or the seed, and writes ``problems/NAME/discovered/TITLE.py`` and its entry in ``evidence.yaml``.
"""

import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from datetime import date
from functools import cached_property
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory
from typing import Any

import reevo_rules
import yaml
from harden_rules import RULES

import oragent
from oragent._base import files
from oragent._base.errors import ProblemError
from oragent._base.racing import BY_INSTANCE, read_instance_values
from oragent.api.experiments import source_of
from oragent.evaluation import EvaluationRunner
from oragent.evaluation.capabilities import FRESH_SEED, PRACTICE, evaluator_arguments, find_options, mode_patience
from oragent.evaluation.discovered import EVIDENCE, Evidence, SetEvidence
from oragent.evaluation.job import DISCOVERED
from oragent.evaluation.problem import LimitSettings, Problem, find_problem
from oragent.report.run import load_run
from oragent.report.significance import compare_pairs
from oragent.search.experiment_runner import ExperimentRunner
from oragent.search.folder import reopen

ROOT = Path(__file__).parents[2]
# Instances of each size in a round of the duel.
DUEL_INSTANCES = 8
Figures = dict[str, Any]


@dataclass(frozen=True)
class Scorer:
    """Scores programs of a problem."""

    problem: Problem
    run: EvaluationRunner
    settings: LimitSettings = field(default_factory=LimitSettings)

    @cached_property
    def offers(self) -> frozenset[str]:
        """Options of the evaluator beyond the contract."""
        return find_options(self.problem, ROOT, self.run)

    def __call__(self, source: str, mode: str, *arguments: str, sizes: Sequence[int] = ()) -> Figures:
        """Return the metrics of a program, and its score: on all sizes, or the mean of one evaluation for each size.

        Raises:
            ProblemError: The program has no score.
        """
        if not sizes:
            return self._score(source, mode, None, arguments)
        parts = [self._score(source, mode, size, arguments) for size in sizes]
        values = {size: means for part in parts for size, means in (read_instance_values(part) or {}).items()}
        seconds = sum(part.get("heuristic_seconds") or 0.0 for part in parts)
        score = fmean(part["score"] for part in parts)
        return {**parts[0], BY_INSTANCE: values, "heuristic_seconds": seconds, "score": score}

    def _score(self, source: str, mode: str, size: int | None, arguments: tuple[str, ...]) -> Figures:
        patience = mode_patience(mode)
        options = evaluator_arguments(self.problem, self.settings, self.offers, patience=patience, mode=mode, root=ROOT)
        limits = self.problem.make_limits(self.settings, patience, mode)
        outcome = self.run(self.problem.make_job(source, ROOT, limits, mode, size, (*options, *arguments)))
        if outcome.score is None:
            raise ProblemError(f"{self.problem.name} in mode {mode}: {outcome.status}: {outcome.message}")
        return {**outcome.metrics, "score": outcome.score}


def set_evidence(problem: Problem, seed: Figures, best: Figures) -> SetEvidence:
    """Return the scores of a set, rounded as reports show them."""
    sizes = {size: round(fmean(values), 6) for size, values in (read_instance_values(best) or {}).items()}
    pair = compare_pairs(problem.about.direction, seed, best)
    interval = None
    if pair is not None and pair.low is not None and pair.high is not None:
        interval = (round(pair.low, 6), round(pair.high, 6))
    return SetEvidence(round(seed["score"], 6), round(best["score"], 6), interval, sizes, best.get("fresh_seed"))


def decide(problem: Problem, source: str, offers: frozenset[str], sizes: Sequence[int] = ()) -> str:
    """Return the sentence of a duel on new instances: of the sizes of ``val``, where the evaluator draws such.

    With ``sizes`` the instances have the first of these sizes.
    """
    published = next((rule for rule in RULES.get(problem.name, ()) if rule.__module__ == reevo_rules.__name__), None)
    name, rule = "the seed", problem.seed
    if published is not None:
        name = f"the rule {published.__name__} of ReEvo"
        rule = source_of(published).replace(f"def {published.__name__}(", f"def {problem.about.function}(")
    few = PRACTICE in offers
    instances: Figures = {"on": PRACTICE, "instances": DUEL_INSTANCES} if few else {"on": "fresh"}
    settings = {"problem_size": sizes[0]} if sizes else None
    with TemporaryDirectory() as outputs:
        duel = oragent.duel(source, rule, problem=problem, seeds=4, outputs=outputs, settings=settings, **instances)
    sentence = duel.verdict.sentence.replace("first", "the program").replace("second", name)
    drawn = f"{DUEL_INSTANCES} new instances of each size" if few else "a fresh set"
    if sizes:
        drawn += f" of size {sizes[0]}"
    return f"on {drawn} in a round: {sentence}"


def main(first: str, second: str, title: str, why: str, draws: bool, sizes: Sequence[int]) -> None:
    """Write the program and its evidence."""
    origin: Figures = {"origin": "written", "strategy": "none", "seed": 0, "evaluations": 0, "calls": 0, "tokens": 0}
    scored = None
    if (run := Path(first)).is_dir():
        data, folder = load_run(run), reopen(run, changed=True, only_read=True)
        record, problem = next(record for record in data.records if record.id == second), folder.problem
        source, spend = record.candidate.source, data.spend
        origin = {"origin": "searched" if spend.calls.number else "bred", "strategy": folder.config.strategy_name}
        origin |= {"seed": folder.config.seed, "evaluations": spend.evaluations}
        origin |= {"calls": spend.calls.number, "tokens": spend.calls.tokens}
        scored = [{**each.candidate.evaluation.metrics, "score": each.score} for each in (data.seed, record)]
    else:
        problem, source = find_problem(first, ROOT), Path(second).read_text(encoding="utf-8")
    fresh = None
    with EvaluationRunner(2) as evaluate, ThreadPoolExecutor(2) as pool:
        score = Scorer(problem, evaluate)
        score.offers  # noqa: B018 asked once, before two threads ask
        texts = (problem.seed, source)
        val = scored or list(pool.map(lambda text: score(text, "val", sizes=sizes), texts))
        test = list(pool.map(lambda text: score(text, "test", sizes=sizes), texts))
        if draws:
            first_size = score(source, "fresh", sizes=sizes[:1])
            drawn = f"{FRESH_SEED}={first_size['fresh_seed']}"
            best = score(source, "fresh", drawn, sizes=sizes) if sizes else first_size
            fresh = set_evidence(problem, score(problem.seed, "fresh", drawn, sizes=sizes), best)
    with ExperimentRunner(problem, ROOT) as runner:
        hardened = runner.harden(source)
    evidence = Evidence(
        why=why,
        **origin,
        seconds=round(float(val[1].get("heuristic_seconds") or 0.0), 2),
        limit_s=problem.heuristic_s(LimitSettings()),
        val=set_evidence(problem, *val),
        test=set_evidence(problem, *test),
        fresh=fresh,
        harden=hardened.sentence,
        date=date.today().isoformat(),
        packages=problem.packages,
        duel=decide(problem, source, score.offers, sizes),
    )
    write(problem, title, source, evidence)


def write(problem: Problem, title: str, source: str, evidence: Evidence) -> None:
    """Write a program and its entry."""
    folder = ROOT / "problems" / problem.name / DISCOVERED
    folder.mkdir(exist_ok=True)
    body = source if source.startswith('"""') else f'"""{evidence.why}"""\n\n{source.strip()}\n'
    (folder / f"{title}.py").write_text(body, encoding="utf-8")
    write_evidence(problem, title, plain(asdict(evidence)))


def write_evidence(problem: Problem, title: str, change: Figures) -> None:
    """Add or replace fields of the evidence of a program."""
    path = problem.folder / DISCOVERED / EVIDENCE
    entries = yaml.safe_load(path.read_text(encoding="utf-8")) if path.is_file() else {}
    entries[title] = {**entries.get(title, {}), **change}
    files.replace_file(path, yaml.safe_dump(entries, sort_keys=False, allow_unicode=True, width=110))


def plain(value: Any) -> Any:
    """Return a value without tuples, for a file."""
    if isinstance(value, dict):
        return {name: plain(part) for name, part in value.items()}
    return list(value) if isinstance(value, tuple) else value


if __name__ == "__main__":
    chosen = next((word.removeprefix("--sizes=") for word in sys.argv if word.startswith("--sizes=")), "")
    main(
        *sys.argv[1:5],
        draws="--no-fresh" not in sys.argv,
        sizes=[int(size) for size in chosen.split(",") if size],
    )

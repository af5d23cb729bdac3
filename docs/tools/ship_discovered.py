"""Ship a program of a run with its problem: ``ship_discovered.py RUN ID TITLE "why it works" [--no-fresh]``.

It scores seed and program on the held-out and on a fresh set, side by side, tests the program with unusual arguments, and writes
``problems/NAME/discovered/TITLE.py`` and its entry in ``evidence.yaml``.
"""

import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from datetime import date
from pathlib import Path
from statistics import fmean
from typing import Any

import yaml

from oragent._base import files
from oragent._base.racing import read_instance_values
from oragent.evaluation import EvaluationRunner
from oragent.evaluation.capabilities import FRESH_SEED
from oragent.evaluation.discovered import EVIDENCE, Evidence, SetEvidence
from oragent.evaluation.job import DISCOVERED
from oragent.report.held_out import HeldOutScorer
from oragent.report.run import load_run
from oragent.report.significance import compare_pairs
from oragent.search.experiment_runner import ExperimentRunner
from oragent.search.folder import reopen

ROOT = Path(__file__).parents[2]


def set_evidence(scorer: HeldOutScorer, seed: dict[str, Any], best: dict[str, Any]) -> SetEvidence:
    """Return the scores of a set, rounded as reports show them."""
    sizes = {size: round(fmean(values), 6) for size, values in (read_instance_values(best) or {}).items()}
    pair = compare_pairs(scorer.folder.problem.about.direction, seed, best)
    interval = None
    if pair is not None and pair.low is not None and pair.high is not None:
        interval = (round(pair.low, 6), round(pair.high, 6))
    drawn = best.get("fresh_seed")
    return SetEvidence(round(seed["score"], 6), round(best["score"], 6), interval, sizes, drawn)


def read_evidence(run: Path, name: str, why: str, draws: bool) -> tuple[Evidence, str]:
    """Return the evidence for a candidate of a run, and its text."""
    data, folder = load_run(run), reopen(run, changed=True, only_read=True)
    record = next(record for record in data.records if record.id == name)
    source = record.candidate.source
    fresh = None
    with EvaluationRunner(2) as evaluate, ThreadPoolExecutor(2) as pool:
        scorer = HeldOutScorer(folder, evaluate)
        scorer.offers  # noqa: B018 asked once, before two threads ask
        test = set_evidence(scorer, *pool.map(lambda text: scorer.score(text, "test"), (scorer.seed, source)))
        if draws:
            best = scorer.score(source, "fresh")
            drawn = scorer.score(scorer.seed, "fresh", f"{FRESH_SEED}={best['fresh_seed']}")
            fresh = set_evidence(scorer, drawn, best)
    seed, found = ({**each.candidate.evaluation.metrics, "score": each.score} for each in (data.seed, record))
    with ExperimentRunner(folder.problem, folder.root) as runner:
        hardened = runner.harden(source)
    evidence = Evidence(
        why=why,
        origin="searched" if data.spend.calls.number else "bred",
        strategy=folder.config.strategy_name,
        seed=folder.config.seed,
        evaluations=data.spend.evaluations,
        calls=data.spend.calls.number,
        tokens=data.spend.calls.tokens,
        seconds=round(float(found.get("heuristic_seconds") or 0.0), 2),
        limit_s=folder.problem.heuristic_s(folder.config.limits),
        val=set_evidence(scorer, seed, found),
        test=test,
        fresh=fresh,
        harden=hardened.sentence,
        date=date.today().isoformat(),
        packages=folder.problem.packages,
    )
    return evidence, source


def main(run: Path, name: str, title: str, why: str, draws: bool) -> None:
    """Write the program and its evidence."""
    problem = reopen(run, changed=True, only_read=True).problem
    evidence, source = read_evidence(run, name, why, draws)
    folder = ROOT / "problems" / problem.name / DISCOVERED
    folder.mkdir(exist_ok=True)
    (folder / f"{title}.py").write_text(f'"""{why}"""\n\n{source.strip()}\n', encoding="utf-8")
    path = folder / EVIDENCE
    entries = yaml.safe_load(path.read_text(encoding="utf-8")) if path.is_file() else {}
    entries[title] = _plain(asdict(evidence))
    files.replace_file(path, yaml.safe_dump(entries, sort_keys=False, allow_unicode=True, width=110))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items()}
    return list(value) if isinstance(value, tuple) else value


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:5], draws="--no-fresh" not in sys.argv)

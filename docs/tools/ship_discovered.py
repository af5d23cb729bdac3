"""Ship the best program of a run with its problem: ``ship_discovered.py RUN TITLE "why it works"``.

Needs ``oragent report RUN --test`` and ``oragent harden RUN`` before. Writes ``problems/NAME/discovered/TITLE.py`` and its
entry in ``evidence.yaml``.
"""

import sys
from dataclasses import asdict
from datetime import date
from pathlib import Path
from statistics import fmean
from typing import Any

import yaml

from oragent._base import files
from oragent._base.racing import read_instance_values
from oragent.evaluation.discovered import EVIDENCE, Evidence, SetEvidence
from oragent.evaluation.job import DISCOVERED
from oragent.report.fresh import read_fresh
from oragent.report.hardened import read_hardened
from oragent.report.held_out import best_text, read_held_out
from oragent.report.run import load_run
from oragent.search.folder import reopen
from oragent.search.program_header import drop_head

ROOT = Path(__file__).parents[2]


def set_evidence(seed: dict[str, Any], best: dict[str, Any], pair: Any = None, drawn: int | None = None) -> SetEvidence:
    """Return the scores of a set, rounded as reports show them."""
    sizes = {size: round(fmean(values), 6) for size, values in (read_instance_values(best) or {}).items()}
    interval = None
    if pair is not None and pair["low"] is not None:
        interval = (round(pair["low"], 6), round(pair["high"], 6))
    return SetEvidence(round(seed["score"], 6), round(best["score"], 6), interval, sizes, drawn)


def read_evidence(run: Path, why: str) -> Evidence:
    """Return the evidence of a run; ends the program if a report or a test is missing."""
    data, held_out, fresh, hardened = load_run(run), read_held_out(run), read_fresh(run), read_hardened(run)
    if held_out is None or hardened is None:
        sys.exit(f"run 'oragent report {run} --test' and 'oragent harden {run}' first")
    folder = reopen(run, changed=True, only_read=True)
    seed, best = ({**each.candidate.evaluation.metrics, "score": each.score} for each in (data.seed, data.best))
    drawn = None
    if fresh is not None:
        drawn = set_evidence(fresh["seed"], fresh["best"], fresh.get("paired"), int(fresh["fresh_seed"]))
    return Evidence(
        why=why,
        origin="searched" if data.spend.calls.number else "bred",
        strategy=folder.config.strategy_name,
        seed=folder.config.seed,
        evaluations=data.spend.evaluations,
        calls=data.spend.calls.number,
        tokens=data.spend.calls.tokens,
        seconds=round(float(best.get("heuristic_seconds") or 0.0), 2),
        limit_s=folder.problem.heuristic_s(folder.config.limits),
        val=set_evidence(seed, best),
        test=set_evidence(held_out["seed"], held_out["best"], held_out["paired"]),
        fresh=drawn,
        harden=hardened.sentence,
        date=date.today().isoformat(),
    )


def main(run: Path, title: str, why: str) -> None:
    """Write the program and its evidence."""
    problem = reopen(run, changed=True, only_read=True).problem
    evidence = read_evidence(run, why)
    folder = ROOT / "problems" / problem.name / DISCOVERED
    folder.mkdir(exist_ok=True)
    (folder / f"{title}.py").write_text(f'"""{why}"""\n\n{drop_head(best_text(run)).lstrip()}', encoding="utf-8")
    path = folder / EVIDENCE
    entries = yaml.safe_load(path.read_text(encoding="utf-8")) if path.is_file() else {}
    # Sequences instead of tuples, which YAML has no form for.
    entries[title] = yaml.safe_load(yaml.dump(_plain(asdict(evidence))))
    files.replace_file(path, yaml.safe_dump(entries, sort_keys=False, allow_unicode=True, width=110))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items()}
    return list(value) if isinstance(value, tuple) else value


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3])

"""How many leaders that a run names above the noise a new set of instances does not confirm.

    python tests/benchmarks/bench_leaders.py FOLDER EVALUATIONS PROBLEM...

Runs ``gp`` on each problem. Each step of the leader that is named above the noise is scored again on at least 200 practice
instances; it is confirmed if the new leader is better there.
"""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

import oragent  # noqa: E402
from oragent.evals.duel.contestants import Contestant  # noqa: E402
from oragent.evals.duel.runner import DuelPlan, run_duel  # noqa: E402
from oragent.report.run import load_run  # noqa: E402
from oragent.report.significance import is_above_noise  # noqa: E402
from oragent.search.candidate import Committed  # noqa: E402
from oragent.search.folder import reopen  # noqa: E402

LEAST = 200


def steps(folder: Path) -> list[tuple[Committed, Committed, bool | None]]:
    """Leaders and the leaders before them, with what the run says about the step."""
    data, found, tried = load_run(folder), [], 0
    leader: Committed | None = None
    for record in data.records:
        tried += record.candidate.evaluation.was_started
        if record.score is None or record.candidate.is_probe:
            continue
        if leader is not None and leader.score is not None:
            if not data.about.direction.better(record.score, leader.score):
                continue
            metrics = [each.candidate.evaluation.metrics for each in (leader, record)]
            found.append((leader, record, is_above_noise(data.about.direction, metrics[0], metrics[1], tried)))
        leader = record
    return found


def main(outputs: Path, evaluations: int, problems: list[str]) -> None:
    for problem in problems:
        run = oragent.run(
            problem, strategy="gp", evaluations=evaluations, seed=1, workers=1, root=ROOT, outputs=outputs
        )
        folder = reopen(run.folder, only_read=True)
        found = steps(run.folder)
        named = [step for step in found if step[2]]
        confirmed = 0
        for former, leader, _ in named:
            pair = Contestant(leader.id, leader.source), Contestant(former.id, former.source)
            rounds = 1
            while True:
                plan = DuelPlan(folder.problem, folder.root, pair, folder.config, "practice", rounds, level=1e-9)
                gains = run_duel(plan).verdict.fixed
                if gains.pairs >= LEAST:
                    break
                rounds = -(-LEAST * rounds // gains.pairs)
            confirmed += gains.mean > 0
        print(
            f"{problem}: {len(found)} steps, {len(named)} above the noise, {confirmed} of these confirmed", flush=True
        )


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])

"""How many leaders that a run names above the noise a new set of instances does not confirm.

    python tests/benchmarks/bench_leaders.py FOLDER EVALUATIONS SEEDS PROBLEM[:SIZE]...

Runs ``gp`` with each seed on each problem. Each step of the leader that is named above the noise is scored again on at
least 200 instances that are drawn as those of val; it is confirmed if the new leader is better there in the mean.
"""

import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

import oragent  # noqa: E402
from oragent._base.racing import read_instance_values  # noqa: E402
from oragent.evals.duel.contestants import Contestant  # noqa: E402
from oragent.evals.duel.runner import MIN_LEVEL, DuelPlan, run_duel  # noqa: E402
from oragent.report.run import load_run  # noqa: E402
from oragent.search.candidate import Committed  # noqa: E402
from oragent.search.folder import reopen  # noqa: E402
from oragent.search.leader_race import is_above_noise  # noqa: E402

LEAST = 200


@dataclass(frozen=True)
class Step:
    """A new leader of a run, and the leader before it."""

    former: Committed
    leader: Committed
    # Whether the run names it above the noise.
    is_named: bool


def list_steps(folder: Path) -> list[Step]:
    """Return the steps of the leader of a run."""
    data, steps, tried = load_run(folder), [], 0
    leader: Committed | None = None
    for record in data.records:
        tried += record.candidate.evaluation.was_started
        if record.score is None or record.candidate.is_probe:
            continue
        if leader is not None and leader.score is not None:
            if not data.about.direction.better(record.score, leader.score):
                continue
            metrics = [each.candidate.evaluation.metrics for each in (leader, record)]
            steps.append(Step(leader, record, is_above_noise(data.about.direction, *metrics, tried) is True))
        leader = record
    return steps


def is_confirmed(folder: Path, step: Step) -> bool:
    """Score both programs of a step on new instances; return whether the leader is better in the mean."""
    run = reopen(folder, only_read=True)
    values = read_instance_values(step.leader.candidate.evaluation.metrics) or {}
    rounds = -(-LEAST // sum(map(len, values.values())))
    pair = Contestant(step.leader.id, step.leader.source), Contestant(step.former.id, step.former.source)
    # The duel ends early only where nothing is left to confirm.
    plan = DuelPlan(run.problem, run.root, pair, run.config, "practice", rounds, level=MIN_LEVEL, first_seed=10**6)
    return run_duel(plan).verdict.fixed.mean > 0


def main(outputs: Path, evaluations: int, seeds: int, problems: list[str]) -> None:
    totals = [0, 0, 0]
    print("| problem, size | new leaders | above the noise | of these not confirmed |\n|---|---|---|---|", flush=True)
    for word in problems:
        problem, _, size = word.partition(":")
        counts = [0, 0, 0]
        for seed in range(seeds):
            sizes = {"problem_size": int(size)} if size else {}
            given = {"root": ROOT, "outputs": outputs, "workers": 1, "seed": seed, **sizes}
            run = oragent.run(problem, strategy="gp", evaluations=evaluations, **given)
            steps = list_steps(run.folder)
            named = [step for step in steps if step.is_named]
            missed = sum(not is_confirmed(run.folder, step) for step in named)
            counts = [sum(pair) for pair in zip(counts, (len(steps), len(named), missed), strict=True)]
        print(f"| {word.replace(':', ', ')} | {' | '.join(map(str, counts))} |", flush=True)
        totals = [sum(pair) for pair in zip(totals, counts, strict=True)]
    print(f"| all | {' | '.join(map(str, totals))} |")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:])

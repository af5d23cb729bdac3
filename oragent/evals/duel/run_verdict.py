"""Verdicts at the end of a run: its best program against the seed, the previous best and references."""

import math
from collections.abc import Sequence
from pathlib import Path

from oragent._base.errors import OragentError
from oragent._base.safe_load import parse_json
from oragent._base.statistics import ALPHA
from oragent.evals.duel.contestants import REFERENCE, Contestant
from oragent.evals.duel.runner import Duel, DuelPlan, run_duel
from oragent.evaluation.capabilities import PRACTICE
from oragent.report.held_out import hash_best
from oragent.report.run import RunData, load_run
from oragent.report.run_verdicts import MAX_NAME, RunVerdict, write_verdicts
from oragent.search.candidate import Committed
from oragent.search.folder import reopen
from oragent.search.store import Store

# Maximum share of the CPU time of a run that its verdict may take.
MAX_SHARE = 0.1
# Maximum number of rounds of a duel.
MAX_ROUNDS = 10
# Number of hexadecimal digits of the hash that is the seed of the instances.
SEED_DIGITS = 12


def find_previous_best(data: RunData) -> Committed | None:
    """Return the program that led before the best one of a run; None if the best is the seed."""
    leader: Committed | None = None
    for record in data.records:
        if record.id == data.best.id:
            return leader
        if record.score is None or record.candidate.is_probe:
            continue
        if leader is None or leader.score is None or data.about.direction.better(record.score, leader.score):
            leader = record
    return leader


def judge_run(path: Path) -> Sequence[RunVerdict]:
    """Compare the best program of a run with the previous best, the seed and references, and store the verdicts.

    The duels draw practice instances until a difference is shown. They take at most a tenth of the CPU time of the
    run; references that do not fit into it are left out. There is no verdict if that is too little for one round,
    without practice instances, and on a cluster.

    Raises:
        OragentError: A program has no score on new instances. The verdicts on the others are stored.
    """
    data = load_run(path)
    previous = find_previous_best(data)
    if previous is None or data.about.settings.get("cluster"):
        return []
    with Store(path / "run.db", readonly=True) as store:
        if PRACTICE not in parse_json(store.meta("offers") or "[]"):
            return []
        best, *rivals = (
            (record.id, store.complete_program(record.source))
            for record in {record.id: record for record in (data.best, previous, data.seed)}.values()
        )
    folder = reopen(path, changed=True, only_read=True)
    cost = 2 * data.best.candidate.evaluation.cpu_s
    duels = MAX_SHARE * data.spend.cpu_s / cost if cost > 0 else 0.0
    references = [(f"{REFERENCE}/{name}", "") for name in folder.problem.about.references]
    # References are left out where one round against all would take too long.
    rivals += references if len(rivals) + len(references) <= duels else []
    rounds = min(MAX_ROUNDS, int(duels / len(rivals)))
    if not rounds:
        return []
    verdicts: list[RunVerdict] = []
    problems: list[OragentError] = []
    for name, source in rivals:
        try:
            text = source or folder.problem.read_reference(name.removeprefix(f"{REFERENCE}/"))[0]
            plan = DuelPlan(
                folder.problem,
                folder.root,
                (Contestant(*best), Contestant(name, text)),
                folder.config,
                PRACTICE,
                rounds,
                level=ALPHA,
                # The instances follow from the program, which is older than they are, so that a run can be repeated.
                first_seed=int(hash_best(path)[:SEED_DIGITS], 16),
            )
            verdicts.append(_describe(run_duel(plan), "seed" if name == data.seed.id else name[:MAX_NAME]))
        except OragentError as problem:
            problems.append(problem)
    write_verdicts(path, verdicts)
    if problems:
        raise problems[0]
    return verdicts


def _describe(duel: Duel, rival: str) -> RunVerdict:
    verdict = duel.verdict
    is_bounded = math.isfinite(verdict.high - verdict.low)
    return RunVerdict(
        rival=rival,
        gain=verdict.fixed.mean,
        low=verdict.low if is_bounded else None,
        high=verdict.high if is_bounded else None,
        p=verdict.p,
        level=verdict.rule.level,
        instances=verdict.fixed.pairs,
        by_size={size: test.mean for size, test in verdict.by_size.items()},
    )

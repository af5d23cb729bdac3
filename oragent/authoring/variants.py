"""Check that small changes of the seed change score and features, which a search needs."""

from collections.abc import Iterator, Sequence
from itertools import islice

import numpy as np

from oragent.authoring.bench import ScoringBench, Seed
from oragent.authoring.finding import ContractFinding, Level, make_finding
from oragent.evaluation import Evaluation
from oragent.programs.inspection import inspect_program

COUNT, QUICK_COUNT, MAX_COUNT = 8, 3, 16
TRIES = 80


def check_variants(bench: ScoringBench, seed: Seed, quick: bool) -> ContractFinding:
    """Breed offspring of the seed, score them in mode train, and tell whether they differ."""
    title, declared = "variants of the seed", bench.problem.about.features
    ended = _score_offspring(bench, seed, QUICK_COUNT if quick else COUNT)
    scored = [evaluation for evaluation in ended if evaluation.score is not None]
    complaint = ""
    if not ended:
        complaint = "the seed cannot be varied; give primitives in problem.yaml"
    elif not scored:
        first = f"the first ended as {ended[0].status}: {ended[0].message}"
        complaint = f"none of {len(ended)} small changes gets a score; {first}"
    elif len(_distinct_scores(seed, scored)) == 1:
        advice = "the score does not depend on the function: is the candidate called, and its answer used?"
        complaint = f"all {len(scored)} have the seed's score {seed.train.score}; {advice}"
    elif declared and len(_distinct_cells(seed, scored)) == 1:
        advice = "features that hardly change keep a single elite: describe behaviour more finely, or move the bins"
        complaint = f"all {len(scored)} fall into the seed's cell {seed.train.features}; {advice}"
    reached = f" in {len(_distinct_cells(seed, scored))} cells" if declared else ""
    scores = len(_distinct_scores(seed, scored))
    praise = f"{len(scored)} of {len(ended)} get a score; with the seed's {scores} scores{reached}"
    return make_finding(title, complaint, praise, Level.WARNING)


def _score_offspring(bench: ScoringBench, seed: Seed, count: int) -> list[Evaluation]:
    """Score ``count`` offspring, and some more where all are alike so far."""
    ended: list[Evaluation] = []
    for source in islice(_breed_offspring(bench), MAX_COUNT):
        scored = [evaluation for evaluation in ended if evaluation.score is not None]
        one_cell = bool(bench.problem.about.features) and len(_distinct_cells(seed, scored)) == 1
        if len(ended) >= count and len(_distinct_scores(seed, scored)) > 1 and not one_cell:
            break
        ended.append(bench.run(source, mode="train", cpu_s=seed.patience_s))
    return ended


def _distinct_scores(seed: Seed, scored: Sequence[Evaluation]) -> set[float | None]:
    return {evaluation.score for evaluation in (seed.train, *scored)}


def _distinct_cells(seed: Seed, scored: Sequence[Evaluation]) -> set[tuple[float, ...] | None]:
    return {evaluation.features for evaluation in (seed.train, *scored)}


def _breed_offspring(bench: ScoringBench) -> Iterator[str]:
    """Different programs, each one change away from the seed."""
    signature, rng = bench.problem.signature, np.random.default_rng(0)
    seen = {inspect_program(bench.problem.seed, signature).fingerprint}
    for _ in range(TRIES):
        child = bench.breed_child(rng).source
        inspection = inspect_program(child, signature)
        if not inspection.problem and inspection.fingerprint not in seen:
            seen.add(inspection.fingerprint)
            yield child

"""Whether a search has something to hold on to: small changes of the seed must show in score and features."""

from collections.abc import Iterator, Sequence
from itertools import islice

import numpy as np

from oragent.authoring.bench import ScoringBench, Seed
from oragent.authoring.finding import ContractFinding, Level, verdict
from oragent.evaluation import Evaluation
from oragent.programs.inspection import inspect_program

COUNT, QUICK_COUNT, MAX_COUNT = 8, 3, 16
TRIES = 80


def variants(bench: ScoringBench, seed: Seed, quick: bool) -> ContractFinding:
    """Breed offspring of the seed, score them in mode train, and tell whether they differ."""
    title, declared = "variants of the seed", bench.problem.about.features
    ended = _bred(bench, seed, QUICK_COUNT if quick else COUNT)
    scored = [one for one in ended if one.score is not None]
    complaint = ""
    if not ended:
        complaint = "the seed cannot be varied; give primitives in problem.yaml"
    elif not scored:
        first = f"the first ended as {ended[0].status}: {ended[0].message}"
        complaint = f"none of {len(ended)} small changes gets a score; {first}"
    elif len(_scores(seed, scored)) == 1:
        told = "the score does not depend on the function: is the candidate called, and its answer used?"
        complaint = f"all {len(scored)} have the seed's score {seed.train.score}; {told}"
    elif declared and len(_cells(seed, scored)) == 1:
        told = "features that hardly change keep a single elite: describe behaviour more finely, or move the bins"
        complaint = f"all {len(scored)} fall into the seed's cell {seed.train.features}; {told}"
    reached = f" in {len(_cells(seed, scored))} cells" if declared else ""
    praise = f"{len(scored)} of {len(ended)} get a score; with the seed's {len(_scores(seed, scored))} scores{reached}"
    return verdict(title, complaint, praise, Level.WARNING)


def _bred(bench: ScoringBench, seed: Seed, count: int) -> list[Evaluation]:
    """Score ``count`` offspring, and some more where all are alike so far."""
    ended: list[Evaluation] = []
    for source in islice(_offspring(bench), MAX_COUNT):
        scored = [one for one in ended if one.score is not None]
        one_cell = bool(bench.problem.about.features) and len(_cells(seed, scored)) == 1
        if len(ended) >= count and len(_scores(seed, scored)) > 1 and not one_cell:
            break
        ended.append(bench.run(source, mode="train", cpu_s=seed.patience_s))
    return ended


def _scores(seed: Seed, scored: Sequence[Evaluation]) -> set[float | None]:
    return {one.score for one in (seed.train, *scored)}


def _cells(seed: Seed, scored: Sequence[Evaluation]) -> set[tuple[float, ...] | None]:
    return {one.features for one in (seed.train, *scored)}


def _offspring(bench: ScoringBench) -> Iterator[str]:
    """Different programs, each one change away from the seed."""
    wanted, rng = bench.problem.signature, np.random.default_rng(0)
    seen = {inspect_program(bench.problem.seed, wanted).fingerprint}
    for _ in range(TRIES):
        child = bench.child(rng).source
        found = inspect_program(child, wanted)
        if not found.problem and found.fingerprint not in seen:
            seen.add(found.fingerprint)
            yield child

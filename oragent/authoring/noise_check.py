"""Measure the noise of a problem: its seed heuristic, and a variant of it, on sets that are drawn as val."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from statistics import fmean, pstdev, stdev

from oragent._base.racing import read_instance_values
from oragent._base.sequential import detectable_effect
from oragent._base.statistics import describe_shortage, pairs_needed, relative_gain
from oragent.authoring.bench import ContractFinding, Level, ScoringBench, Seed
from oragent.evaluation.capabilities import FRESH_SEED, PRACTICE
from oragent.evaluation.noise import ProblemNoise, SizeNoise

TITLE = "noise"
# Number of sets.
SETS = 4
# Maximum number of variants that are tried until one has other values than the seed.
MAX_VARIANTS = 8
# CPU seconds of all evaluations together.
MAX_CPU_S = 120.0

Values = Mapping[str, Sequence[float]]


def check_noise(bench: ScoringBench, seed: Seed, offers: frozenset[str], variants: Iterable[str]) -> ContractFinding:
    """Score the seed and a variant on some sets of practice instances, which are drawn as those of val.

    Args:
        bench: Evaluations.
        seed: Evaluations of the seed.
        offers: Options of the evaluator.
        variants: Programs that differ little from the seed; the first one with other values is used.
    """
    if PRACTICE not in offers:
        return ContractFinding(Level.OK, TITLE, "not measured: the evaluator has no mode practice")
    if 2 * SETS * seed.val.cpu_s > MAX_CPU_S:
        return ContractFinding(Level.OK, TITLE, f"not measured: the seed takes {seed.val.cpu_s:.0f} CPU s on val")
    evaluations = [bench.run(mode=PRACTICE, arguments=(f"{FRESH_SEED}={number}",)) for number in range(1, SETS + 1)]
    scores = [evaluation.score for evaluation in evaluations if evaluation.score is not None]
    values = [read_instance_values(evaluation.metrics) for evaluation in evaluations]
    if len(scores) < SETS or None in values:
        return ContractFinding(Level.WARNING, TITLE, "the seed has no score, or no values of instances, on practice")
    sets = [of_set for of_set in values if of_set is not None]
    count = sum(map(len, (read_instance_values(seed.val.metrics) or sets[0]).values()))
    noise = _measure(scores, sets, _differ(bench, sets, variants), count)
    praise = f"score {fmean(scores):.6g}, standard deviation {noise.spread:.3g} between {SETS} sets like val"
    if noise.paired_spread is not None:
        spread = f"{100 * noise.paired_spread:.3g} %"
        praise += f"; a variant of the seed differs by a standard deviation of {spread} on an instance"
    if noise.shown is not None:
        praise += f", so val shows a difference of {100 * noise.shown:.3g} % with probability 80 %"
    if shortage := describe_shortage(count, pairs_needed()):
        praise += f"; on val, {shortage}"
    return ContractFinding(Level.OK, TITLE, praise, noise)


def _measure(scores: Sequence[float], sets: Sequence[Values], gains: Sequence[float], count: int) -> ProblemNoise:
    pooled = {size: [value for of_set in sets for value in of_set[size]] for size in sets[0]}
    sizes = {size: SizeNoise(len(values), fmean(values), pstdev(values)) for size, values in pooled.items()}
    spread = stdev(gains) if len(gains) > 1 else None
    return ProblemNoise(
        scores=list(scores),
        spread=stdev(scores),
        sizes=sizes,
        paired_spread=spread,
        shown=None if spread is None or count < pairs_needed() else spread * detectable_effect(count),
    )


def _differ(bench: ScoringBench, sets: Sequence[Values], variants: Iterable[str]) -> list[float]:
    """Return the relative differences of the first variant that has other values than the seed, on all instances."""
    direction = bench.problem.about.direction
    for source in islice(variants, MAX_VARIANTS):
        gains: list[float] = []
        for number, of_seed in enumerate(sets, 1):
            ended = bench.run(source, mode=PRACTICE, arguments=(f"{FRESH_SEED}={number}",))
            values = read_instance_values(ended.metrics)
            if ended.score is None or values is None:
                break
            pairs = (zip(values[size], of_seed[size], strict=True) for size in of_seed)
            gains += [relative_gain(direction, *pair) for of_size in pairs for pair in of_size]
            if not any(gains):
                break
        else:
            return gains
    return []

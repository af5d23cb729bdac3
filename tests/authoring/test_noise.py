"""The noise of a problem, of which every value is known."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from oragent._base.protocol import Status
from oragent._base.sequential import pairs_for
from oragent._base.statistics import relative_gain
from oragent.authoring.bench import Level, ScoringBench, Seed
from oragent.authoring.noise_check import MAX_CPU_S, SETS, check_noise
from oragent.evaluation import Evaluation, Job
from oragent.evaluation.noise import read_noise, write_noise
from oragent.evaluation.problem import load_problem
from oragent.search.caching import hash_conditions
from oragent.search.genetics.variation import child_of_seed

OFFERS = frozenset({"practice", "--fresh_seed"})
COUNT = 5


def evaluate(job: Job) -> Evaluation:
    """Score a program: ``same`` has the values of the seed, ``else`` others, ``fails`` none."""
    seed = int(job.arguments[0].partition("=")[2])
    values = values_of(job.source, seed)
    if job.source == "fails":
        return Evaluation(Status.ERROR, None, None, {}, "")
    return Evaluation(Status.OK, float(np.mean([*values.values()])), None, {"by_instance": values}, "", cpu_s=0.1)


def values_of(kind: str, seed: int) -> Mapping[str, list[float]]:
    shift = np.random.default_rng([seed, 99]).normal(size=(2, COUNT)) if kind == "else" else np.zeros((2, COUNT))
    base = np.random.default_rng(seed).normal(100, 5, size=(2, COUNT)).round(3)
    return {size: (base[row] + shift[row]).round(3).tolist() for row, size in enumerate(("a", "b"))}


@pytest.fixture
def bench(toy: Path) -> ScoringBench:
    return ScoringBench(load_problem(toy), toy, 20.0, child_of_seed, evaluate)


def measured(bench: ScoringBench, *variants: str, cpu_s: float = 0.1, offers: frozenset[str] = OFFERS):
    val = Evaluation(Status.OK, 1.0, None, {"by_instance": values_of("seed", 0)}, "", cpu_s=cpu_s)
    return check_noise(bench, Seed(val, val), offers, variants)


def test_scores_and_values_of_the_seed_are_those_of_four_sets(bench: ScoringBench) -> None:
    noise = measured(bench).noise
    sets = [values_of("seed", number) for number in range(1, SETS + 1)]
    scores = [np.mean([*of_set.values()]) for of_set in sets]
    assert noise.scores == pytest.approx(scores)
    assert noise.spread == pytest.approx(np.std(scores, ddof=1))
    for size in ("a", "b"):
        pooled = np.concatenate([of_set[size] for of_set in sets])
        assert noise.sizes[size].instances == SETS * COUNT
        assert (noise.sizes[size].mean, noise.sizes[size].spread) == pytest.approx((pooled.mean(), pooled.std()))
    assert (noise.paired_spread, noise.shown) == (None, None)


def test_the_first_variant_with_other_values_and_a_score_gives_the_paired_noise(bench: ScoringBench) -> None:
    noise = measured(bench, "same", "fails", "else").noise
    direction = bench.problem.about.direction
    gains = [
        relative_gain(direction, *pair)
        for number in range(1, SETS + 1)
        for size in ("a", "b")
        for pair in zip(values_of("else", number)[size], values_of("seed", number)[size], strict=True)
    ]
    assert noise.paired_spread == pytest.approx(np.std(gains, ddof=1))
    # With the instances of val, this difference is shown, and no smaller one.
    assert pairs_for(noise.shown * 1.001, noise.paired_spread) == 2 * COUNT
    assert pairs_for(noise.shown * 0.99, noise.paired_spread) > 2 * COUNT


def test_what_val_shows_is_unknown_if_it_has_fewer_instances_than_any_test_needs(bench: ScoringBench) -> None:
    for count, is_known in ((5, False), (6, True)):
        val = Evaluation(Status.OK, 1.0, None, {"by_instance": {"a": [1.0] * count}}, "", cpu_s=0.1)
        finding = check_noise(bench, Seed(val, val), OFFERS, ["else"])
        assert finding.noise.paired_spread > 0
        assert (finding.noise.shown is not None) is is_known
        assert ("at least" in finding.detail) is not is_known


def test_nothing_is_measured_without_practice_or_if_it_takes_too_long(bench: ScoringBench) -> None:
    for finding in (measured(bench, offers=frozenset()), measured(bench, cpu_s=MAX_CPU_S / SETS)):
        assert (finding.noise, finding.level) == (None, Level.OK)
    assert measured(bench, cpu_s=MAX_CPU_S / SETS / 2.01).noise is not None


def test_noise_is_stored_beside_the_problem_and_changes_no_conditions(bench: ScoringBench, toy: Path) -> None:
    problem, noise = bench.problem, measured(bench, "else").noise
    before = hash_conditions(problem, toy), problem.companions.digest
    assert read_noise(toy) is None
    write_noise(toy, noise)
    assert read_noise(toy) == noise
    assert (hash_conditions(problem, toy), load_problem(toy).companions.digest) == before
    (toy / "noise.yaml").write_text("scores: [x]")
    assert read_noise(toy) is None

"""Races: do programs rank as their full scores rank them, and at which share of the CPU time?

Programs are bred one after the other from an archive, as ``gp`` does, each scored to its end; then all of them once
more in the same order, each in a race against the archive of those that came to their end. Who was ended is ranked by
its estimate. Wanted: Spearman's coefficient 0.95 or more over 200 programs, at a third of the CPU time.

    python tests/benchmarks/bench_races.py --problem tsp_constructive --size 50 --programs 200
"""

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.stats import spearmanr

from oragent._base.errors import CandidateError
from oragent._base.protocol import Status
from oragent._base.racing import RACED, RaceTerms
from oragent.evaluation import Evaluation, EvaluationRunner
from oragent.evaluation.capabilities import RACE
from oragent.evaluation.problem import LimitSettings, Problem, load_problem
from oragent.programs.inspection import inspect_program, program_length
from oragent.search.archive import AddStatus, Archive
from oragent.search.candidate import Elite
from oragent.search.genetics.variation import vary_unit
from oragent.search.screening import terms_of
from oragent.search.selection import draw_parents

ROOT = Path(__file__).parents[2]


@dataclass
class Track:
    """Evaluates programs of a problem in races, and counts what they take."""

    problem: Problem
    run: EvaluationRunner
    size: int | None
    cpu_s: float = 0.0

    def __call__(self, source: str, terms: RaceTerms) -> Evaluation:
        limits = self.problem.make_limits(LimitSettings())
        found = self.run(
            self.problem.make_job(source, ROOT, limits, size=self.size, arguments=(f"{RACE}={terms.dumps()}",))
        )
        self.cpu_s += found.cpu_s
        return found


def bred(track: Track, count: int, seed: int) -> list[tuple[str, Evaluation]]:
    """Breed programs that run, the seed first, and score each to its end."""
    problem, rng = track.problem, np.random.default_rng(seed)
    archive, met, found = Archive(problem.about.direction), set[str](), list[tuple[str, Evaluation]]()
    source = problem.seed
    while len(found) < count:
        fingerprint = inspect_program(source, problem.signature).fingerprint
        if fingerprint not in met:
            met.add(fingerprint)
            ended = track(source, terms_of(archive, 0, None, 0))
            if ended.status is Status.OK:
                found.append((source, ended))
                placed(archive, source, ended)
        parent, *mates = draw_parents(archive, 0, 2, rng)
        mate = mates[0].source if mates else None
        source = vary_unit(
            parent.source, mate, problem.signature, problem.seed, primitives=problem.about.primitives, rng=rng
        ).source
    return found


def placed(archive: Archive, source: str, ended: Evaluation) -> AddStatus:
    """Give a scored program to an archive."""
    assert ended.score is not None
    name = str(len(archive.elites()))
    elite = Elite(id=name, source=source, score=ended.score, features=ended.features, metrics=ended.metrics)
    return archive.add(elite, 0)


def raced(track: Track, sources: list[str], quantile: float, probes: int) -> list[tuple[Evaluation, float | None]]:
    """Score programs in races; beside each its score, or what it would about be."""
    archive, found = Archive(track.problem.about.direction), []
    for source in sources:
        try:
            nodes = program_length(source)
        except CandidateError:  # of another language
            nodes = 0
        ended = track(source, terms_of(archive, nodes, quantile, probes))
        if ended.status is Status.OK:
            placed(archive, source, ended)
        found.append((ended, ended.metrics.get(RACED, {}).get("estimate") if ended.score is None else ended.score))
    return found


def main() -> None:
    """Measure, and say what came out."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--problem", default="tsp_constructive")
    parser.add_argument("--size", type=int, default=20)
    parser.add_argument("--programs", type=int, default=30)
    parser.add_argument("--quantile", type=float, default=0.9)
    parser.add_argument("--twins", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    problem = load_problem(ROOT / "problems" / given.problem)
    with EvaluationRunner() as run:
        full = Track(problem, run, given.size or None)
        programs = bred(full, given.programs, given.seed)
        spent = sum(ended.cpu_s for _, ended in programs)
        race = Track(problem, run, given.size or None)
        found = raced(race, [source for source, _ in programs], given.quantile, given.twins)
    pairs = [
        (ended.score, reached) for (_, ended), (_, reached) in zip(programs, found, strict=True) if reached is not None
    ]
    scores, reached = zip(*pairs, strict=True)
    rank = spearmanr(scores, reached).statistic
    ended = sum(one.status is Status.SCREENED for one, _ in found)
    direction = problem.about.direction
    kept = direction.best([one.score for one, _ in found if one.score is not None])
    best = direction.best([one.score for _, one in programs if one.score is not None])
    print(f"{given.problem}, size {given.size or 'all'}, {len(programs)} programs, quantile {given.quantile:g}")
    print(f"  ended early: {ended}; twins that have no estimate: {len(programs) - len(pairs)}")
    print(f"  Spearman's coefficient over {len(pairs)} programs: {rank:.3f} (wanted: 0.95)")
    print(f"  CPU: {race.cpu_s:.1f} s of {spent:.1f} s, a share of {race.cpu_s / spent:.2f} (wanted: 0.33)")
    print(f"  best: {kept:.6g}, and {best:.6g} of those scored to the end")


if __name__ == "__main__":
    main()

"""The nine classical problems: CPU seconds beside ReEvo's own evaluators, quality, an evaluation's cost, and growth.

Times are CPU seconds, the least of several runs, without imports and compilation.
"""

import statistics
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from oragent.domains import bpp, tsp
from oragent.solvers.constructive import construct_tour, pack_online

sys.path.insert(0, str(Path(__file__).parents[2] / "docs" / "tools"))  # the gallery measures the same work
import reevo_rules as rules
from classical import WORKS, Heuristic, Work, seed_of
from launch import evaluated

REPEATS, SEEDS = 3, 10
SIZES = (50, 100, 200, 500, 1000)  # for growth
MEMORY_MB = 300  # wanted of an evaluation, at most


def cpu_seconds(work: Callable[[], object], repeats: int = REPEATS) -> float:
    """The least of several runs: others use the machine too."""
    seconds = []
    for _ in range(repeats):
        begun = time.process_time()
        work()
        seconds.append(time.process_time() - begun)
    return min(seconds)


def values(work: Work, heuristic: Heuristic, instances: Sequence[Any], seed: int = 0) -> float:
    """Mean value of all instances."""
    return statistics.fmean(
        work.solve(heuristic, one, np.random.default_rng([seed, index])) for index, one in enumerate(instances)
    )


def show_work() -> None:
    """ReEvo's work in a search, by its seed."""
    print("ReEvo's train work: CPU seconds, ReEvo's own, times fewer (wanted)")
    for name, work in WORKS.items():
        instances = work.instances()
        spent = cpu_seconds(partial(values, work, work.seed, instances))
        wanted = f"at least {work.wanted}" if work.wanted else "most is the candidate's own"
        print(f"  {name:17s} {work.effort:42s} {spent:8.4f} {work.seconds:6.1f} {work.seconds / spent:6.0f} ({wanted})")


def show_quality() -> None:
    """Quality on the same work."""
    print(f"Quality on that work: mean over {SEEDS} solver seeds (least to most), and ReEvo's own")
    for name, work in WORKS.items():
        instances = work.instances()
        for what, heuristic, published in (("seed", work.seed, work.seed_score), ("best", work.best, work.best_score)):
            if heuristic is not None:
                found = [values(work, heuristic, instances, seed) for seed in range(SEEDS)]
                told = f"{statistics.fmean(found):.6f} ({min(found):.4f} to {max(found):.4f})"
                print(f"  {name:17s} {what} {told:40s} {published}")


def show_evaluations() -> None:
    """What one evaluation of the seed costs as a whole: ``eval.py`` in mode val, imports and processes included."""
    print(
        f"An evaluation of the seed, mode val: CPU s with imports, s in the candidate, MB (at most {MEMORY_MB} wanted)"
    )
    for name in WORKS:
        result, spent, memory = evaluated(name, "val")
        print(f"  {name:17s} {spent:7.2f} {result.metrics['candidate_seconds']:7.2f} {memory:5.0f}")


def show_shares() -> None:
    """How much of a construction is the candidate's own time."""
    print("Share of a construction inside the candidate (85 % wanted): microseconds a decision, share")
    city = tsp.stream(tsp.CONSTRUCTIVE_STREAM, "val", 100)[0].distances
    items = bpp.weibull_stream("train", 5000)[0].items
    for what, rule in (
        ("nearest neighbour", seed_of("tsp_constructive")),
        ("ReEvo's best", rules.constructive_weighed),
    ):
        show_share(f"tsp_constructive, n=100, {what}", rule, lambda rule: construct_tour(rule, city))
    for what, rule in (("best fit", seed_of("bpp_online")), ("FunSearch's rule", rules.funsearch)):
        show_share(f"bpp_online, 5,000 items, {what}", rule, lambda rule: pack_online(rule, items, 100))


def show_share(what: str, rule: Heuristic, loop: Callable[[Heuristic], object]) -> None:
    """Wall time, as the clock is read within the loop: whoever else uses the machine takes from both parts alike."""
    shares, decisions = [], []
    for _ in range(REPEATS * 5):
        inside, calls = 0.0, 0

        def timed(*args: Any, **kwargs: Any) -> Any:
            nonlocal inside, calls
            begun = time.perf_counter()
            answer = rule(*args, **kwargs)
            inside += time.perf_counter() - begun
            calls += 1
            return answer

        begun = time.perf_counter()
        loop(timed)
        whole = time.perf_counter() - begun
        shares.append(inside / whole)
        decisions.append(whole / calls)
    print(f"  {what:42s} {1e6 * min(decisions):7.1f} {statistics.median(shares):5.0%}")


def show_growth() -> None:
    """How time grows with the size."""
    print(f"Growth: CPU milliseconds of one instance of n = {', '.join(map(str, SIZES))}; exponent of n")
    for name, work in WORKS.items():
        if work.drawn is None or work.brief is None:
            continue
        seed, spent = seed_of(name), []
        for size in SIZES:
            run = partial(work.brief, seed, work.drawn(np.random.default_rng(size), size), np.random.default_rng(0))
            spent.append(cpu_seconds(run, 10))
        exponent = np.polyfit(np.log(SIZES), np.log(spent), 1)[0]
        print(f"  {name:17s} {' '.join(f'{1e3 * one:9.2f}' for one in spent)}   {exponent:.2f}")


if __name__ == "__main__":
    for show in (show_work, show_quality, show_evaluations, show_shares, show_growth):
        show()
        print()

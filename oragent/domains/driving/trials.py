"""All simulations of an evaluation: in blocks that end early for who cannot win, and what they sum up to."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Any

from oragent.domains.driving import metrics
from oragent.domains.driving.drive import Drive
from oragent.domains.driving.scenario import Scenario

BLOCK = 4  # demands a case that are simulated before one looks whether the rest is worth its time
HOPELESS = 60.0  # points; the seed has 85: whose mean is two standard errors below that cannot win any more


@dataclass(frozen=True)
class Trial:
    """A simulation and what it is compared with."""

    ended: Drive  # the simulation
    reference: int  # throughput of SUMO's own drivers on the same demand

    @property
    def score(self) -> float:
        """The true score."""
        return metrics.score(self.ended.figures, self.reference)

    @property
    def selected(self) -> float:
        """The score as a search counts it."""
        return metrics.selected(self.ended.figures, self.reference)


def blocks(demands: Mapping[int, Sequence[Scenario]], size: int = BLOCK) -> Iterator[list[tuple[int, Scenario]]]:
    """Cut the demands of all cases into blocks in which every case has the same number of them.

    Yields:
        Demands, each after its case.
    """
    count = min(map(len, demands.values()))
    for begin in range(0, count, size):
        yield [(case, scenario) for case, of_case in demands.items() for scenario in of_case[begin : begin + size]]


def run(
    demands: Mapping[int, Sequence[Scenario]], simulate: Callable[[Scenario], Trial], *, floor: float | None
) -> dict[int, list[Trial]]:
    """Simulate demands block by block.

    Args:
        demands: for each case equally many.
        simulate: does one.
        floor: end after a block if the mean so far is two standard errors below it; None: never.

    Returns:
        For each case its trials, equally many.
    """
    seen: dict[int, list[Trial]] = {case: [] for case in demands}
    for block in blocks(demands):
        for case, scenario in block:
            seen[case].append(simulate(scenario))
        if floor is not None and is_below(seen, floor):
            break
    return seen


def is_below(seen: Mapping[int, Sequence[Trial]], floor: float) -> bool:
    """Return True if the mean so far is two standard errors below a floor."""
    scores = [trial.selected for of_case in seen.values() for trial in of_case]
    return len(scores) > 1 and fmean(scores) + 2.0 * stdev(scores) / math.sqrt(len(scores)) < floor


def summary(seen: Mapping[int, Sequence[Trial]], names: Mapping[int, str], planned: int) -> dict[str, Any]:
    """Sum up what a person or a model should see, beside the score itself.

    Args:
        seen: for each case its trials.
        names: of the cases.
        planned: how many simulations there would have been.
    """
    every = [trial for of_case in seen.values() for trial in of_case]
    worst = min(every, key=lambda trial: trial.score)
    summary_metrics: dict[str, Any] = {
        "standard_error": _standard_error(seen),
        "true_score": _mean_of_means(seen, lambda trial: trial.score),
        "simulations": {"done": len(every), "planned": planned},
        "worst": {
            "demand": worst.ended.scenario.name,
            "score": round(worst.score, 3),
            "paper_score": round(metrics.paper_score(worst.ended.figures), 3),
        },
        "paper_score": _mean_of_means(seen, lambda trial: metrics.paper_score(trial.ended.figures)),
        "lost_by": _mean_losses(every),
    }
    return summary_metrics | {names[case]: _case_metrics(of_case) for case, of_case in seen.items()}


def cell(seen: Mapping[int, Sequence[Trial]]) -> tuple[int, int, int]:
    """The cell of the archive."""
    return metrics.features([(trial.ended.figures, trial.reference) for of_case in seen.values() for trial in of_case])


def _standard_error(seen: Mapping[int, Sequence[Trial]]) -> float | None:
    """Of the mean over cases of the mean over demands; None where a case has a single demand."""
    if any(len(of_case) < 2 for of_case in seen.values()):
        return None
    variances = [stdev(trial.selected for trial in of_case) ** 2 / len(of_case) for of_case in seen.values()]
    return round(math.sqrt(sum(variances)) / len(variances), 3)


def _mean_of_means(seen: Mapping[int, Sequence[Trial]], figure: Callable[[Trial], float]) -> float:
    return round(fmean(fmean(map(figure, of_case)) for of_case in seen.values()), 3)


def _mean_losses(every: Sequence[Trial]) -> dict[str, float]:
    """Mean points that a simulation lost, by what they were lost for."""
    losses = [vars(metrics.loss(trial.ended.figures, trial.reference)) for trial in every]
    return {name: round(fmean(loss[name] for loss in losses), 3) for name in losses[0]}


def _case_metrics(of_case: Sequence[Trial]) -> dict[str, float]:
    """Means over the demands of a case."""
    measured = [vars(trial.ended.figures) for trial in of_case]
    papers = [metrics.paper_score(trial.ended.figures) for trial in of_case]
    return {
        "paper_score": round(fmean(papers), 3),
        "paper_score_worst": round(min(papers), 3),
        **{name: round(fmean(row[name] for row in measured), 3) for name in measured[0]},
        "throughput_of_sumo": round(fmean(trial.reference for trial in of_case), 3),
    }

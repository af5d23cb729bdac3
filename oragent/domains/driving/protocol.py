"""The published protocol: one light and one heavy demand, and the mean of their two scores."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from oragent._base.errors import ProblemError
from oragent.domains.driving import metrics, rules
from oragent.domains.driving.scenario import CASES, Scenario, read
from oragent.domains.driving.trials import Drive

COUNTED = (
    "critical_ttc",
    "collisions",
    "emergency_stops",
    "emergency_braking",
    "teleports",
    "mean_speed",
    "speed_variance",
)


def drawn(seed: int) -> dict[int, Scenario]:
    """Draw one pair of demands from the published distribution."""
    return {trials: Scenario(trials, seed, rules=rules.PUBLISHED) for trials in CASES}


def files(folder: Path) -> dict[int, Scenario]:
    """Read the published pair of demands: ``light.txt`` and ``heavy.txt`` in a folder that the user provides.

    Raises:
        ProblemError: if a file is missing or not as expected.
    """
    if not folder.is_dir():
        raise ProblemError(
            f"the folder {folder} does not exist; --data must name a folder with light.txt and heavy.txt"
        )
    routes = len(rules.PUBLISHED.plan.routes)
    return {
        trials: Scenario(trials, 0, rules=rules.PUBLISHED, read_departures=read(folder / f"{name}.txt", routes))
        for trials, name in CASES.items()
    }


def summary(pairs: Sequence[Mapping[int, Scenario]], simulate: Callable[[Scenario], Drive]) -> dict[str, Any]:
    """Simulate at least one pair of demands and return the published score.

    Returns:
        ``score``, the mean over pairs, with its ``standard_error`` if there are several pairs. For each case, its score
        and the measurements behind it, as means over pairs.
    """
    ended = [{trials: simulate(scenario) for trials, scenario in pair.items()} for pair in pairs]
    scores = [fmean(metrics.paper_score(drive.figures) for drive in pair.values()) for pair in ended]
    summary_metrics: dict[str, Any] = {"score": round(fmean(scores), 3)}
    if len(scores) > 1:
        summary_metrics["standard_error"] = round(stdev(scores) / len(scores) ** 0.5, 3)
    for trials, name in CASES.items():
        measured = [pair[trials].figures for pair in ended]
        summary_metrics[name] = {
            "score": round(fmean(map(metrics.paper_score, measured)), 3),
            **{key: round(fmean(vars(measured_figures)[key] for measured_figures in measured), 3) for key in COUNTED},
        }
    return summary_metrics

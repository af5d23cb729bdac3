"""What the gallery tells in figures: the seed on all instances of a problem, and the padding of the original."""

import statistics
from collections.abc import Callable
from typing import Any

import numpy as np
import padding
import reevo_rules as rules
import yaml
from classical import seed_of
from gallery_pictures import CAPTIONS
from launch import evaluated

from oragent.domains import cvrp

__all__ = ["measure"]

HEAD = "# What the gallery tells in figures. Made by docs/tools/make_gallery.py --measure; not to be edited.\n"
MODES = ("train", "val", "test")


def measure(names: list[str]) -> str:
    """Evaluate all seeds in all modes: minutes of computing."""
    figures: dict[str, dict[str, Any]] = {}
    for name in names:
        figures[name] = {"caption": CAPTIONS[name]} | {mode: of_seed(name, mode) for mode in MODES}
    figures["cvrp_aco"]["padding"] = padded_rows()
    return HEAD + yaml.safe_dump(figures, sort_keys=False, width=110)


def of_seed(name: str, mode: str) -> dict[str, Any]:
    """What ``eval.py`` prints for the seed, and the CPU seconds of all of its processes."""
    found = evaluated(name, mode)
    means: dict[int, float] = {}
    for key, value in found.result.metrics.items():  # the first figure of a size is the one that is scored
        stem, _, size = key.rpartition("_")
        if size.isdigit() and not stem.startswith("gap"):
            means.setdefault(int(size), value)
    return {"score": round(found.result.score, 6), "means": means, "cpu_seconds": round(found.cpu_seconds, 1)}


def padded_rows() -> list[dict[str, Any]]:
    """ReEvo's count beside the true cost, for its seed and for the best heuristic that it ships."""
    rows = []
    for work, iterations, parts in (
        ("train, 50 customers, 100 iterations", 100, (("train", 50),)),
        ("val, 20 and 50 customers, 50 iterations", 50, (("val", 20), ("val", 50))),
    ):
        for told, heuristic in (("seed", seed_of("cvrp_aco")), ("ReEvo's best", rules.cvrp_never_home)):
            means = {}
            for step in (1.0, 0.0):
                means[step] = statistics.fmean(
                    statistics.fmean(
                        padding.reported(one, promise(one, heuristic), np.random.default_rng(k), iterations, step)
                        for k, one in enumerate(cvrp.stream(*part))
                    )
                    for part in parts
                )
            rows.append({"work": work, "heuristic": told, "padded": round(means[1.0], 3), "true": round(means[0.0], 3)})
    return rows


def promise(instance: cvrp.CvrpInstance, heuristic: Callable[..., np.ndarray]) -> np.ndarray:
    """Edge promises, from what the problem shows a heuristic."""
    distances = instance.distances + np.eye(len(instance))
    return heuristic(distances, instance.coordinates, instance.demands.astype(float), instance.capacity)

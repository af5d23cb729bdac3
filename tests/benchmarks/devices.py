"""Seconds that the val instances take, by network, size and device: python tests/benchmarks/devices.py cpu cuda."""

import sys
import time
from pathlib import Path

import torch

from oragent.solvers.attention_bias.scoring import ROUTES, TOURS
from oragent.solvers.neural.solve import solve
from oragent.solvers.neural.weights import NETWORKS, load

ROOT = Path(__file__).parents[2]
INSTANCES, SIZES = 10, (200, 500, 1000)


def seconds(problem: str, size: int, device: torch.device, *, biased: bool, low: bool) -> float:
    """Time of the second of two solutions of the same instances."""
    kind = TOURS if problem.startswith("tsp") else ROUTES
    columns = zip(*map(kind.inputs, kind.stream("val", size, None)[:INSTANCES]), strict=True)
    points, *rest = (torch.tensor(list(map(list, column)), dtype=torch.float32).to(device) for column in columns)
    model = load(problem, ROOT, device).model
    bias = -torch.cdist(points, points) if biased else None
    for _ in range(2):
        begun = time.perf_counter()
        solve(model, points, rest[0] if rest else None, bias, bfloat16=low).cpu()
    return time.perf_counter() - begun


def main() -> None:
    """Print a table."""
    print("| network | device | bias | bfloat16 | " + " | ".join(map(str, SIZES)) + " |")
    for problem in NETWORKS:
        for name in sys.argv[1:] or ["cpu"]:
            for biased in (False, True):
                for low in (False, True) if problem.endswith("lehd") else (False,):
                    device = torch.device(name)
                    took = [seconds(problem, size, device, biased=biased, low=low) for size in SIZES]
                    print(
                        f"| {problem} | {name} | {biased} | {low} | " + " | ".join(f"{one:.1f}" for one in took) + " |"
                    )


if __name__ == "__main__":
    main()

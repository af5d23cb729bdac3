"""Neural solvers on ReEvo's work (n=200, 10 instances): CPU seconds beside ReEvo's own, and beside bare matrix products.

The baselines are ReEvo's evaluators (github.com/ai4co/reevo, 1f080bf; torch on one core of the machine where this was
written), imports included. Weights are random: only their shapes matter here.
"""

from oragent.harness import startup  # noqa: F401

# isort: split
# The harness pins numerical libraries to one thread, so it comes before them.

import time
from collections.abc import Callable

import torch

from oragent.domains.network_instances import CAPACITIES, cvrp_stream, tsp_stream
from oragent.solvers.neural.attention import HIDDEN, WIDTH
from oragent.solvers.neural.solve import solve
from oragent.solvers.neural.weights import NETWORKS

SIZE = 200
BASELINE_SECONDS = {"tsp_pomo": 3.2, "cvrp_pomo": 2.6, "tsp_lehd": 14.8, "cvrp_lehd": 13.8}
TARGETS = {"pomo": 2.0, "lehd": 12.5}
DECODER_LAYERS = 6


def cpu_seconds(work: Callable[[], object]) -> float:
    """Of one call."""
    begun = time.process_time()
    work()
    return time.process_time() - begun


def products(batch: int, size: int, dtype: torch.dtype) -> None:
    """The matrix products of LEHD's decoder, from all nodes left to none: shapes as in the network, nothing else."""
    weights = [torch.randn(shape, dtype=dtype) for shape in 4 * [(WIDTH, WIDTH)] + [(HIDDEN, WIDTH), (WIDTH, HIDDEN)]]
    for left in range(size + 1, 2, -1):
        rows = {width: torch.randn(batch, left, width, dtype=dtype) for width in (WIDTH, HIDDEN)}
        heads = torch.randn(batch, 8, left, WIDTH // 8, dtype=dtype)
        for _ in range(DECODER_LAYERS):
            for weight in weights:
                torch.nn.functional.linear(rows[weight.shape[1]], weight)
            (heads @ heads.transpose(-1, -2)) @ heads


def main() -> None:
    """Print the table."""
    points = torch.tensor([one.coordinates.tolist() for one in tsp_stream("val", SIZE)])
    depots = torch.tensor([one.coordinates.tolist() for one in cvrp_stream("val", SIZE)])
    demands = torch.tensor([one.demands.tolist() for one in cvrp_stream("val", SIZE)]) / CAPACITIES[SIZE]
    print(f"neural solvers, n={SIZE}, {len(points)} instances, one core")
    torch.manual_seed(0)
    for problem, baseline in BASELINE_SECONDS.items():
        model = NETWORKS[problem]().eval().requires_grad_(False)
        inputs = (points, None) if problem.startswith("tsp") else (depots, demands)
        bias = torch.zeros(len(points), inputs[0].shape[1], inputs[0].shape[1])
        spent = cpu_seconds(lambda model=model, inputs=inputs, bias=bias: solve(model, *inputs, bias))
        low = cpu_seconds(lambda model=model, inputs=inputs, bias=bias: solve(model, *inputs, bias, bfloat16=True))
        target = TARGETS[problem.partition("_")[2]]
        print(f"  {problem:9s} {spent:6.2f} CPU s (bfloat16 {low:.2f}); aim {target}, ReEvo {baseline} with imports")
    for dtype in (torch.float32, torch.bfloat16):
        spent = cpu_seconds(lambda dtype=dtype: products(len(points), SIZE, dtype))
        print(f"  bare matrix products of LEHD's decoder, {str(dtype).removeprefix('torch.')}: {spent:.2f} CPU s")


if __name__ == "__main__":
    main()

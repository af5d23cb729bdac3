"""A scripted writer that reads its prompts: what ``or_agent``, ``funsearch`` and ``random`` come to with as many calls.

With 200 calls and ten seeds, November 2026 (median of the best; lower is better): bowl 3.5, 6.1 and 43.1; valley 5.1, 12.1
and 65.0; hills 12.8, 16.8 and 44.0. Before prompts showed the state at the moment of the call, ``or_agent`` came to 4.7, 9.2
and 17.7.

python tests/benchmarks/bench_attentive.py --calls 200 --seeds 10
"""

import argparse
import sys
import tempfile
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).parents[2]))  # the writer is the tests' own
from tests.search.attentive import LANDSCAPES, played

STRATEGIES = "or_agent", "funsearch", "random"


def main() -> None:
    """Search each landscape by each strategy and seed, and print the course of the best."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--calls", type=int, default=40)
    parser.add_argument("--seeds", type=int, default=1)
    given = parser.parse_args()
    for landscape in LANDSCAPES:
        for strategy in STRATEGIES:
            best = []
            for seed in range(given.seeds):
                with tempfile.TemporaryDirectory() as root:
                    best.append(played(Path(root), landscape, strategy, given.calls, seed)[1].progress.best.score)
            told = ", ".join(f"{one:.3f}" for one in best)
            print(
                f"{landscape:8s} {strategy:10s} median of the best after {given.calls} calls {median(best):8.3f} ({told})"
            )


if __name__ == "__main__":
    main()

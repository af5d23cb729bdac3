"""Gaps by instance are those of the lengths that an evaluation measured."""

import json
import sys
from pathlib import Path

TOOLS = Path(__file__).parents[1] / "docs" / "tools"
sys.path.insert(0, str(TOOLS))
try:
    import routing_gaps
finally:
    sys.path.remove(str(TOOLS))

# Four customers at the corners of a square around the depot, 14 from it and 20 from each other.
SQUARE = """EDGE_WEIGHT_TYPE : EUC_2D
CAPACITY : {}
NODE_COORD_SECTION
1 10 10
2 0 0
3 0 20
4 20 20
5 20 0
DEMAND_SECTION
1 0
2 1
3 1
4 1
5 1
DEPOT_SECTION
1
-1
EOF
"""


def test_gaps_by_instance_of_two_amounts_of_work(tmp_path: Path) -> None:
    # One route of 14 + 3 * 20 + 14, and two routes of 14 + 20 + 14.
    lengths = {"X-a": (4, 88), "X-b": (2, 96)}
    estimates = []
    for name, (capacity, best) in lengths.items():
        (tmp_path / f"{name}.vrp").write_text(SQUARE.format(capacity))
        (tmp_path / f"{name}.sol").write_text(f"Route #1: 1 2 3 4\nCost {best}\n")
        estimates.append(2 * 4 * 14 / capacity + 0.7124 * (400 * 4) ** 0.5)
    found = {"1": (88, 112), "5": (110, 96)}
    printed = {
        work: {
            "metrics": {
                "by_instance": {"4": [round(x / y, 6) for x, y in zip(pair, estimates, strict=True)]},
                "work_factor": float(work),
            }
        }
        for work, pair in found.items()
    }
    ratios = routing_gaps.read_ratios(json.dumps({"result": printed}))
    assert routing_gaps.read_ratios(json.dumps({"result": printed["5"]})) == {5.0: ratios[5.0]}
    gaps = {(work, "swept"): routing_gaps.measure_gaps(values, tmp_path) for work, values in ratios.items()}
    table = routing_gaps.format_table(gaps).splitlines()
    assert table[2:] == ["| a | 0.00 | 25.00 |", "| b | 16.67 | 0.00 |", "| mean | 8.33 | 12.50 |"]

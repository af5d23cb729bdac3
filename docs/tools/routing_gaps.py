"""Print gaps to best known routes by instance: ``routing_gaps.py NAME=FILE ...``.

A file is what ``oragent eval cvrp_solver --set x --work 1,5,25 --candidate PROGRAM --json`` prints; several files of one name
are joined. Best known lengths are in the files ``X-*.sol`` of CVRPLIB beside the instances, in ``problems/cvrp_solver/data/x``.
The table has a row for each instance, and for each amount of work a column of each name.
"""

import argparse
import json
import re
import runpy
from collections.abc import Mapping
from pathlib import Path
from statistics import fmean
from typing import Any

FOLDER = Path(__file__).parents[2] / "problems" / "cvrp_solver"
read = runpy.run_path(str(FOLDER / "instances.py"))["read"]


def read_ratios(text: str) -> dict[float, dict[int, list[float]]]:
    """Return the ratios of an evaluation, by amount of work and size."""
    result: Mapping[str, Any] = json.loads(text)["result"]
    evaluations = [result] if "metrics" in result else result.values()
    ratios = {}
    for metrics in (evaluation["metrics"] for evaluation in evaluations):
        ratios[float(metrics.get("work_factor", 1))] = {int(n): values for n, values in metrics["by_instance"].items()}
    return ratios


def read_best(path: Path) -> int:
    """Return the length of the best known routes of an instance."""
    cost = re.search(r"^Cost\s+(\d+)\s*$", path.with_suffix(".sol").read_text(), re.MULTILINE)
    if cost is None:
        raise ValueError(f"{path.with_suffix('.sol')}: expected a line such as 'Cost 27591'")
    return int(cost[1])


def measure_gaps(ratios: Mapping[int, list[float]], folder: Path) -> dict[str, float]:
    """Return gaps in percent by instance.

    Args:
        ratios: Length over the estimate of the evaluator, by size, in the order of the files of that size.
        folder: Instances ``*.vrp`` with best known routes ``*.sol``.
    """
    by_size: dict[int, list[Path]] = {}
    for path in sorted(folder.glob("*.vrp")):
        by_size.setdefault(read(path).size, []).append(path)
    gaps = {}
    for size, values in ratios.items():
        for path, ratio in zip(by_size[size], values, strict=True):
            # Ratios are rounded to six decimals, and lengths are whole numbers.
            length = round(ratio * read(path).estimate_length())
            gaps[path.stem] = 100 * (length / read_best(path) - 1)
    return gaps


def format_table(gaps: Mapping[tuple[float, str], Mapping[str, float]]) -> str:
    """Write gaps, by work and name and then by instance, as a table in Markdown; the last row has means."""
    columns = sorted(gaps, key=lambda column: column[0])
    lines = [
        "| instance |" + "".join(f" `{name}` {work:g}x |" for work, name in columns),
        "|---|" + "---|" * len(columns),
    ]
    instances = sorted({instance for column in gaps.values() for instance in column})
    for instance in instances:
        cells = (f"{gaps[column][instance]:.2f}" if instance in gaps[column] else "" for column in columns)
        lines.append(f"| {instance.removeprefix('X-')} |" + "".join(f" {cell} |" for cell in cells))
    lines.append("| mean |" + "".join(f" {fmean(gaps[column].values()):.2f} |" for column in columns))
    return "\n".join(lines)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("evaluations", nargs="+", metavar="NAME=FILE")
    gaps: dict[tuple[float, str], dict[str, float]] = {}
    for name, _, file in (argument.partition("=") for argument in parser.parse_args().evaluations):
        for work, ratios in read_ratios(Path(file).read_text()).items():
            gaps.setdefault((work, name), {}).update(measure_gaps(ratios, FOLDER / "data" / "x"))
    print(format_table(gaps))


if __name__ == "__main__":
    main()

"""Score seeds, published rules and shipped programs on files of published instances, and print a table.

    python docs/tools/published_tests.py tsp_aco=FOLDER tsp_gls=FOLDER2 ...

A folder has files that ``oragent.domains.instance_files`` reads, such as those of TSPLIB (``*.tsp``), of CVRPLIB (``*.vrp``,
each with its ``*.sol``), of the bin packing of the OR-Library (``*.txt``), or of github.com/zz1358m/MCTS-AHD-master
(``test50_dataset.npy``). They are not part of this project. The evaluator of the problem reads them as a named set, without the
problem's own limits of time.

Columns are mean gaps in percent, and the mean score of the shipped program. The gap of a packing is to total size over
capacity. Gaps of files of TSPLIB are to the published optimum, whose distances are rounded to whole numbers, as papers
compute them; ours are not rounded, so the row has the gap of LKH too. Gaps of routes are to the routes of the ``*.sol`` file.
Tours of arrays are compared with those of ``reference_solvers.shortest_tour``, which are kept in the file ``--tours``.
Without any of these, columns are mean scores.
"""

import argparse
import hashlib
import json
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np
import yaml
from baselines import BASELINES
from numpy.typing import NDArray
from out_of_distribution import RULES_ONLY, read_rule
from ship_discovered import ROOT, Scorer

from oragent._base.errors import ProblemError
from oragent._base.racing import read_instance_values
from oragent.domains import bpp, cvrp, tsp
from oragent.domains.instance_files import read_coordinates, read_packings, read_routes, read_tours, scale_to_square
from oragent.evaluation import EvaluationRunner
from oragent.evaluation.discovered import find_discovered, list_discovered
from oragent.evaluation.problem import Problem, find_problem

SET = "files"
# CPU seconds.
LIMIT_S = 7200
# LKH takes minutes beyond this.
LKH_CITIES = 200
# Sizes are put together up to these where there are more than a few.
MAX_SIZES, BOUNDS = 6, (200, 500, 1000)
READERS = {
    "tsp_constructive": read_tours,
    "tsp_aco": read_tours,
    "tsp_gls": read_tours,
    "cvrp_aco": read_routes,
    "bpp_offline_aco": lambda folder: read_packings(folder, bpp.UNIFORM_CAPACITY),
    "bpp_online": lambda folder: read_packings(folder, bpp.WEIBULL_CAPACITY),
    "bpp_online_informed": lambda folder: read_packings(folder, bpp.WEIBULL_CAPACITY),
}
# Lengths of shortest tours with distances rounded to whole numbers (Reinelt 1991, DOI 10.1287/ijoc.3.4.376, and its list of
# optimal values).
OPTIMA = {
    "eil51": 426, "rat99": 1211, "kroB100": 22141, "kroC100": 20749, "bier127": 118282, "ch130": 6110, "kroA150": 26524,
    "ts225": 126643, "pr226": 80369, "pr264": 49135, "pr299": 48191, "lin318": 42029, "fl417": 11861, "pr439": 107217,
    "d493": 35002, "d657": 48912, "u724": 41910, "fl1577": 22249, "d1655": 62128, "u1817": 57201, "rl1889": 316536,
}  # fmt: skip
HEAD = (
    "| problem | files | size | instances | seed | published rule | classical | shipped program | its mean |",
    "|---|---|---|---|---|---|---|---|---|",
)
Instances = Mapping[int, Sequence[Any]]
References = Mapping[int, Sequence[float]]
# Values of all instances, by name of the program.
Values = Mapping[str, Mapping[int, Sequence[float]]]


class Row(NamedTuple):
    """Figures of a group of instances: gaps in percent, or scores without references.

    Attributes:
        sizes: Sizes of the group, such as ``51 to 200``.
        count: Number of instances.
        figures: Mean of each program.
        best_mean: Mean score of the shipped program.
        unit: ``" %"`` for gaps.
    """

    sizes: str
    count: int
    figures: dict[str, float]
    best_mean: float
    unit: str


def with_files(name: str, files: Path, folder: Path) -> Problem:
    """Copy a problem to ``folder/problems``, with files as the data of a named set, and return it."""
    copied = folder / "problems" / name
    shutil.copytree(ROOT / "problems" / name, copied)
    shutil.copytree(files, copied / "data" / SET)
    described = yaml.safe_load((copied / "problem.yaml").read_text(encoding="utf-8"))
    described.setdefault("sets", {})[SET] = {
        "data": f"data/{SET}",
        "kind": "ood",
        "timeout_s": LIMIT_S,
        "heuristic_s": LIMIT_S,
    }
    (copied / "problem.yaml").write_text(yaml.safe_dump(described, sort_keys=False), encoding="utf-8")
    return find_problem(name, folder)


def digest(instance: Any) -> str:
    """Return a key of the places of an instance."""
    return hashlib.sha256(np.ascontiguousarray(instance.coordinates).tobytes()).hexdigest()[:16]


def read_solution(path: Path) -> NDArray[np.int64]:
    """Return the routes of a ``*.sol`` file as one sequence of nodes, the depot before, between and after them."""
    routes = re.findall(r"^Route #\d+: ([\d ]+)", path.read_text(encoding="utf-8"), re.MULTILINE)
    return np.array([0, *(node for route in routes for node in (*map(int, route.split()), 0))])


def published_references(files: Path, instances: Instances) -> Iterator[tuple[str, float]]:
    """Yield key and reference of the instances of libraries: optima of TSPLIB, and best known routes of CVRPLIB."""
    by_key = {digest(each): each for of_size in instances.values() for each in of_size}
    for path in [*files.glob("*.tsp"), *files.glob("*.vrp")]:
        points = read_coordinates(path)
        key = digest(tsp.TspInstance(scale_to_square(points)))
        if key not in by_key:
            continue
        if path.stem in OPTIMA:
            yield key, OPTIMA[path.stem] / float(np.ptp(points, axis=0).max())
        elif (solution := path.with_suffix(".sol")).is_file():
            yield key, cvrp.objective(by_key[key], cvrp.check(by_key[key], read_solution(solution)))


def find_tours(instances: Instances, kept: Path) -> dict[str, float]:
    """Return the lengths of the shortest known tours by key; those that the file lacks are computed, and added to it.

    Instances of more than `LKH_CITIES` cities are left out.
    """
    known: dict[str, float] = json.loads(kept.read_text()) if kept.is_file() else {}
    for size, of_size in instances.items():
        for instance in of_size if size <= LKH_CITIES else ():
            if digest(instance) not in known:
                # Needs packages that other tables do not.
                from reference_solvers import shortest_tour

                known[digest(instance)] = shortest_tour(instance).value
                kept.write_text(json.dumps(known))
    return known


def score_all(problem: Problem, score: Scorer, instances: Instances) -> Iterator[tuple[str, Any]]:
    """Yield name and values of the seed, the published rule, classical heuristics and the shipped program."""
    shipped = {title: find_discovered(problem, title).read_text(encoding="utf-8") for title in list_discovered(problem)}
    for name, source in {"seed": problem.seed, "rule": read_rule(problem), **shipped}.items():
        if source is None:
            continue
        try:
            scored = score(source, SET)
        except ProblemError as failure:
            print(failure, file=sys.stderr)
            continue
        values = {int(size): found for size, found in (read_instance_values(scored) or {}).items()}
        print(f"{problem.name} {name}: {scored['heuristic_seconds']:.1f} s", file=sys.stderr)
        yield name, values
    for name, solve in BASELINES[problem.name][1].items():
        yield name, {size: [solve(instance) for instance in of_size] for size, of_size in instances.items()}


def list_groups(sizes: Sequence[int]) -> list[list[int]]:
    """Return the sizes, each alone, or put together where there are many."""
    if len(sizes) <= MAX_SIZES:
        return [[size] for size in sizes]
    edges = np.searchsorted(BOUNDS, sizes)
    return [[size for size, at in zip(sizes, edges, strict=True) if at == group] for group in sorted(set(edges))]


def make_rows(values: Values, references: References | None, best: str) -> Iterator[Row]:
    """Yield a row for each group of sizes."""
    for group in list_groups(sorted(values[best])):
        figures = {}
        for name, of_program in values.items():
            if not of_program.keys() >= set(group):
                continue
            found = [value for size in group for value in of_program[size]]
            if references is not None:
                bounds = [bound for size in group for bound in references[size]]
                found = [100 * (value / bound - 1) for value, bound in zip(found, bounds, strict=True)]
            figures[name] = fmean(found)
        sizes = str(group[0]) if len(group) == 1 else f"{group[0]} to {group[-1]}"
        mean = fmean(fmean(values[best][size]) for size in group)
        count = sum(len(values[best][size]) for size in group)
        yield Row(sizes, count, figures, mean, "" if references is None else " %")


def find_references(
    name: str, files: Path, instances: Instances, tours: Path | None
) -> tuple[References | None, References | None]:
    """Return references by size, and tours of LKH by size if the references are optima of rounded distances."""
    if name.startswith("bpp"):
        return {size: [bpp.lower_bound(each) for each in of_size] for size, of_size in instances.items()}, None
    known = dict(published_references(files, instances))
    best = find_tours(instances, tours) if tours is not None and name.startswith("tsp") else {}
    published, found = (
        {
            size: [table[digest(each)] for each in of_size]
            for size, of_size in instances.items()
            if all(digest(each) in table for each in of_size)
        }
        for table in (known, best)
    )
    if published.keys() == instances.keys():
        return published, found
    return (found if found.keys() == instances.keys() else None), None


def show(name: str, files: Path, row: Row, title: str) -> str:
    """Return a row of the table."""
    cells = {key: f"{value:.2f} %" if row.unit else f"{value:.6g}" for key, value in row.figures.items()}
    classical = ", ".join(f"{key} {cell}" for key, cell in cells.items() if key not in ("seed", "rule", title))
    simpler = (value for key, value in row.figures.items() if key not in (title, "LKH"))
    marks = ("" if name in RULES_ONLY else " ⚙") + (" ↓" if min(simpler) < row.figures[title] else "")
    best = f"**{cells[title]}**{marks}"
    head = f"| `{name}` | {files.name} | {row.sizes} | {row.count} | {cells['seed']} | {cells.get('rule', '-')}"
    return f"{head} | {classical} | {best} | {row.best_mean:.6g} |"


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", metavar="PROBLEM=FOLDER")
    parser.add_argument("--tours", type=Path, metavar="FILE", help="JSON file of lengths of best known tours")
    options = parser.parse_args()
    print("\n".join(HEAD))
    for word in options.folders:
        name, _, given = word.partition("=")
        if name not in READERS or not given:
            parser.error(f"{word!r}: expected PROBLEM=FOLDER with one of {', '.join(READERS)}")
        files = Path(given)
        instances = READERS[name](files)
        (title,) = list_discovered(find_problem(name, ROOT))
        references, tours = find_references(name, files, instances, options.tours)
        with tempfile.TemporaryDirectory() as place, EvaluationRunner(1) as run:
            problem = with_files(name, files, Path(place))
            values = dict(score_all(problem, Scorer(problem, run), instances))
        if tours is not None:
            values["LKH"] = tours
        for row in make_rows(values, references, title) if title in values else ():
            print(show(name, files, row, title), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

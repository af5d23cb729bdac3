"""Score seeds, shipped programs and published rules on named sets, and write the table of ``docs/results.md``.

    python docs/tools/out_of_distribution.py               # all problems: some 40 minutes on one core
    python docs/tools/out_of_distribution.py op_aco --sets=grid,twice
    python docs/tools/out_of_distribution.py --table       # the table alone, from what is recorded

Scores of seeds and shipped programs are recorded in ``evidence.yaml``; those of published rules, such as ReEvo's, and of
classical heuristics, in ``references.yaml``, or ``baselines.yaml`` where a problem has no references.
"""

import argparse
import sys
from collections.abc import Iterator
from dataclasses import asdict
from statistics import fmean
from typing import Any, NamedTuple

from baselines import BASELINES, drawn_sets, read_references, score_classical, set_sizes, write_references
from harden_rules import RULES
from ship_discovered import ROOT, Scorer, plain, set_evidence, write_evidence

from oragent._base.errors import ProblemError
from oragent.api.experiments import source_of
from oragent.evaluation import EvaluationRunner
from oragent.evaluation.discovered import find_discovered, list_discovered
from oragent.evaluation.problem import Problem, find_problem, list_problems

RESULTS = ROOT / "docs" / "results.md"
BEGIN, END = "<!-- Made by docs/tools/out_of_distribution.py. -->\n", "<!-- End of what it made. -->\n"
# Problems whose shipped program is a rule; the others contain a solver.
RULES_ONLY = ("bpp_online", "bpp_online_informed", "dpp_ga", "driving", "driving_long", "milp_branching")
PROBLEMS = ROOT / "problems"
# Networks alone.
NO_BIAS = "import torch\n\n\ndef heuristics(distance_matrix):\n    return torch.zeros_like(distance_matrix)\n"
# Simple programs, by problem and title.
SIMPLE = {name: {"no bias": NO_BIAS} for name in ("tsp_pomo", "tsp_lehd")} | {
    name: {title: (PROBLEMS / name / "references" / file).read_text(encoding="utf-8") for title, file in files.items()}
    for name, files in {
        "milp_branching": {"SCIP's own rule": "default.py", "reliability": "reliability.py"},
        "cvrp_solver": {"swept settings": "swept.py", "widening": "widening.py"},
    }.items()
}
# Problems without a shipped program that can use that of another problem.
BORROWED = {"driving_long": ("driving", "opened_gaps")}
# Distance-aware bias (Wang et al. 2024, arXiv:2401.06979), which is the seed of the problems about tours.
AWARE = (PROBLEMS / "tsp_pomo" / "heuristic.py").read_text(encoding="utf-8")
AWARE_OF_ROUTES = AWARE.replace(
    "distance_matrix: torch.Tensor)", "distance_matrix: torch.Tensor, demands: torch.Tensor)"
)
# Published rules of problems that ``RULES`` lacks.
PUBLISHED = {
    "cvrp_pomo": AWARE_OF_ROUTES,
    "cvrp_lehd": AWARE_OF_ROUTES,
    "bpp_online_informed": (PROBLEMS / "bpp_online_informed" / "references" / "sum_of_squares.py").read_text(
        encoding="utf-8"
    ),
}
HEAD = (
    "| problem | set | seed | published rule | classical | shipped program | gap to the reference |",
    "|---|---|---|---|---|---|---|",
)


class Row(NamedTuple):
    """Scores on one set of a problem; None for a program without one.

    Attributes:
        problem: Name of the problem.
        mode: Name of the set.
        sign: 1 if larger scores are better, else -1.
        program: Title of the shipped program; empty if there is none.
        seed: Score of the seed.
        best: Score of the shipped program.
        rule: Score of the published rule.
        classical: Scores of classical baselines, by name.
        reference: Best known value, or a bound.
    """

    problem: str
    mode: str
    sign: int
    program: str
    seed: float | None
    best: float | None
    rule: float | None
    classical: dict[str, float]
    reference: float | None

    @property
    def better(self) -> list[str]:
        """Names of what is better than the shipped program."""
        others: dict[str, float | None] = {**self.classical, "the seed": self.seed, "the published rule": self.rule}
        scores = {name: score for name, score in others.items() if score is not None}
        if self.best is None:
            return list(scores) if self.program and self.seed is not None else []
        return [name for name, score in scores.items() if self.sign * (score - self.best) > 0]


def read_rule(problem: Problem) -> str | None:
    """Return the text of the published rule; None if there is none, or if it is the seed."""
    if problem.name not in RULES:
        return PUBLISHED.get(problem.name)
    rule = RULES[problem.name][0]
    return source_of(rule).replace(f"def {rule.__name__}(", f"def {problem.about.function}(")


def read_borrowed(problem: Problem) -> str | None:
    """Return the text of a shipped program of another problem; None if there is none."""
    if problem.name not in BORROWED:
        return None
    name, title = BORROWED[problem.name]
    return find_discovered(find_problem(name, ROOT), title).read_text(encoding="utf-8")


def try_score(score: Scorer, source: str | None, mode: str) -> float | None:
    """Return the score of a program; None if there is no program, or if it has none."""
    if source is None:
        return None
    try:
        return round(float(score(source, mode)["score"]), 6)
    except ProblemError as failure:
        print(f"{score.problem.name}: {failure}", flush=True)
        return None


def measure(problem: Problem, score: Scorer, modes: list[str]) -> None:
    """Score seed, rule and programs on sets, and record the scores."""
    programs = list_discovered(problem)
    entries: dict[str, Any] = {}
    sizes = set_sizes(problem)
    classical = score_classical(problem.name, {mode: sizes[mode] for mode in modes})
    for mode in modes:
        for title, source in SIMPLE.get(problem.name, {}).items():
            simple = try_score(score, source, mode)
            classical[mode] |= {} if simple is None else {title: simple}
        rule = try_score(score, read_rule(problem), mode)
        write_references(problem.name, {"baselines": {mode: {"classical": classical[mode], "rule": rule}}})
        seed = score(problem.seed, mode)
        if not programs:
            known = {"seed": round(seed["score"], 6)}
            if (borrowed := try_score(score, read_borrowed(problem), mode)) is not None:
                known["borrowed"] = borrowed
            write_references(problem.name, {"baselines": {mode: known}})
        for title, evidence in programs.items():
            sets = entries.setdefault(title, dict(evidence.sets))
            sets.pop(mode, None)
            try:
                best = score(find_discovered(problem, title).read_text(encoding="utf-8"), mode)
                sets[mode] = set_evidence(problem, seed, best)
                print(
                    f"{problem.name} {mode}: {sets[mode]}, rule {rule}, {best.get('heuristic_seconds')} s", flush=True
                )
            except ProblemError as failure:
                print(f"{problem.name} {title}: {failure}", flush=True)
                write_references(problem.name, {"baselines": {mode: {"seed": round(seed["score"], 6)}}})
            write_evidence(problem, title, {"sets": plain({name: asdict(each) for name, each in sets.items()})})


def list_rows(problem: Problem) -> Iterator[Row]:
    """Yield what is recorded of each set."""
    references = read_references(problem.folder)
    sign = 1 if problem.about.direction == "maximize" else -1
    _, borrowed = BORROWED.get(problem.name, ("", ""))
    for title, evidence in (list_discovered(problem) or {borrowed: None}).items():
        for mode in drawn_sets(problem):
            known = references["baselines"].get(mode, {})
            scores = evidence.sets.get(mode) if evidence else None
            means = [of_size["mean"] for of_size in references["sets"].get(mode, {}).values()]
            yield Row(
                problem.name,
                mode,
                sign,
                title,
                scores.seed if scores else known.get("seed"),
                scores.best if scores else known.get("borrowed"),
                known.get("rule"),
                known.get("classical", {}),
                fmean(means) if means else None,
            )


def tabulate(rows: list[Row]) -> str:
    """Return the table, and the list of rows in which something simpler is better than the shipped program."""
    lines = []
    for row in rows:
        classical = ", ".join(f"{name} {show(score)}" for name, score in row.classical.items())
        best = "not measured" if row.seed is None else "no score within the limits"
        if not row.program:
            best = "-"
        if row.best is not None:
            best = f"**{show(row.best)}**"
        gap = ""
        if row.reference and row.best is not None:
            # Without a sign where it is 0.
            gap = f"{round(100 * row.sign * (1 - row.best / row.reference), 2) + 0.0:.2f} %"
        upward = " ↑" if row.sign > 0 else ""
        solver = "" if row.problem in RULES_ONLY or not row.program else " ⚙"
        better = " ↓" if row.better else ""
        lines.append(
            f"| `{row.problem}`{upward} | {row.mode} | {show(row.seed)} | {show(row.rule)} | {classical} | {best}{solver}{better} | {gap} |"
        )
    losses = [f"- `{row.problem}`, {row.mode}: {', '.join(row.better)}" for row in rows if row.better] or ["- none"]
    heading = "Something simpler is better than the shipped program (↓) here:"
    return "\n".join((*HEAD, *lines, "", heading, "", *losses)) + "\n"


def show(score: float | None) -> str:
    """Return a score in six digits, and a dash for none."""
    return "-" if score is None else f"{score:.6g}"


def all_rows() -> list[Row]:
    """Return the rows of all problems with sets that evaluators draw."""
    problems = [problem for problem in list_problems(ROOT) if problem.name in BASELINES]
    return [row for problem in problems for row in list_rows(problem)]


def write_table() -> None:
    """Replace the table in the page of results."""
    before, found, rest = RESULTS.read_text(encoding="utf-8").partition(BEGIN)
    _, ended, after = rest.partition(END)
    if not (found and ended):
        raise SystemExit(f"{RESULTS} has no place for the table: add {BEGIN.strip()} and {END.strip()}")
    RESULTS.write_text(f"{before}{BEGIN}\n{tabulate(all_rows())}\n{END}{after}", encoding="utf-8")


def main() -> int:
    """Score what is named, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("problems", nargs="*", metavar="PROBLEM")
    parser.add_argument("--sets", default="")
    parser.add_argument("--table", action="store_true")
    options = parser.parse_args()
    if not options.table:
        with EvaluationRunner(1) as run:
            for name in options.problems or BASELINES:
                problem = find_problem(name, ROOT)
                modes = [mode for mode in options.sets.split(",") if mode] or drawn_sets(problem)
                measure(problem, Scorer(problem, run), modes)
    write_table()
    return 0


if __name__ == "__main__":
    sys.exit(main())

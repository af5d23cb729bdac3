"""Make ``docs/suites.md``: import the tasks of other frameworks' repositories, and list what was isolated.

    .venv/bin/python docs/tools/make_suites_page.py LLM4AD=DIR EoH=DIR OpenEvolve=DIR ShinkaEvolve=DIR

Tasks of CO-Bench and HeuriGym need their data in the tasks' folders, problems of ALE-Bench their built tools and a program.

Each suite is imported into a temporary folder. The outcome is kept in ``docs/tools/suites.json``, so that a command for
one suite leaves the others as they are; without a suite, only the page is written.
"""

import json
import sys
import tempfile
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from statistics import median
from typing import Any

from oragent.authoring.importing import import_suite

DOCS = Path(__file__).resolve().parents[1]
ROWS, PAGE = DOCS / "tools" / "suites.json", DOCS / "suites.md"
VERSIONS = {
    "ALE-Bench": """Problems in the layout of ALE-Bench's archives. Its archives and tools were not at hand: statement and inputs
follow two contests of AtCoder, `ahc001` (batch) and `ahc003` (reactive), and we wrote testers, generators and programs. Scores
cannot be compared with those of the contests""",
    "CO-Bench": """The 36 evaluators of CO-Bench as LLM4AD's repository ships them, in CO-Bench's layout. Its data were not at hand.
We made small data in OR-Library's formats; flow shop and job shop are Taillard's instances, by his generator. The tables of best
known values belong to other data, so the scores compare ways of evaluation only: 1 is not the optimum. The seeds are plain rules
of ours, because the placeholders of the tasks give no valid solution""",
    "HeuriGym": """HeuriGym, all folders of its repository. Its data were not at hand: the instances are small ones of ours in its
formats, without costs of experts. The score is therefore the mean cost, and all tasks are imported with `direction: minimize`.
That is wrong for `protein_sequence_design`, whose value is the percentage of agreement: change its `problem.yaml` to `maximize`,
or import it with HeuriGym's data and `baseline.json`. The seeds are plain rules of ours""",
    "LLM4AD_Next": """LLM4AD_Next 1.1, the examples whose files could be had: two of its mathematical cases, and its TSP example on
five instances of ours""",
    "LLM4AD": "LLM4AD 1.11, folder `llm4ad/task` of its package",
    "EoH": "EoH, folder `examples` of its repository",
    "OpenEvolve": "OpenEvolve, folder `examples` of its repository",
    "ShinkaEvolve": "ShinkaEvolve, folder `examples` of its repository",
}
HEAD = """# Task suites of other frameworks

This page shows which tasks of other frameworks oragent runs, and what their isolation costs.
[Import a task](how-to/coming-from.md#import-a-task) describes the commands. The page is written by
`docs/tools/make_suites_page.py`, which imports all tasks of a repository:

```
oragent import-suite examples --parent problems
```

The evaluator of a task runs unchanged. The seed is scored with a stand-in and in the evaluator's process. A task is

- *isolated* if the candidate runs in its own process, so that it cannot forge its score, and the seed has the same score;
- *noisy* if the candidate runs in its own process too, but chance changes the score of the seed: the evaluator is random, or the
  seed draws from the global random generators, which are not shared;
- *forgeable* if it needs the evaluator's process;
- refused if a package or data are missing, if the program is not a function in Python, or if the seed has no score.

The numbers of tasks are those in the repositories in November 2026, on a machine without a GPU and without packages that only
single tasks need. The text above each table says which tasks and data are not those of the framework.

{summary}

The cost of a call is the median over the tasks of the suite with 100 calls or more: the CPU time that an evaluation takes more
than in the evaluator's process, divided by the number of calls. It contains the copies of arguments and answers and the start of
the candidate's process. CPU times that were measured on a busy machine are left out, as are costs of suites without such tasks.

Programs written for the tasks have the scores of the frameworks too: `tests/authoring/test_framework_scores.py` compares five
programs each of two tasks of LLM4AD and of one task of ShinkaEvolve with the evaluation by the installed packages, to the last
digit. For CO-Bench and HeuriGym, the seed and five programs of a p-median task and of operator scheduling were scored by the
frameworks' own code once, on both sets: 24 scores, all equal to the last digit.

## Limits of imported tasks

An imported task has the modes `train` and `val`, and `test` if the task has or draws other data. It has no mode `practice`, as its
evaluator draws no new instances on request. So there is no verdict at the end of a run and no `strategy.leader_rounds`. A duel needs
`--on test`, and has an interval where the evaluator reports the value of each instance (CO-Bench, ALE-Bench, LLM4AD_Next, and
HeuriGym without `baseline.json`).

A parameter that is the amount of work (`# param: ROUNDS work`) keeps its value. For other problems `or_agent` sets it so that a
program fills its time limit. That needs practice instances and `heuristic_s`, a limit on the CPU seconds of all calls of an
evaluation. The limits of these tasks are others: wall seconds of one call (CO-Bench, ALE-Bench, LLM4AD_Next), so that the slowest
instance decides and not the sum, or seconds of the whole evaluation, the evaluator's own among them. Let programs declare a range
instead, such as `ROUNDS = 100  # param: ROUNDS = 100, 10..1000`, which sweeps tune on `train`. Mode `train` has the instances of
`val`; for tasks of OpenEvolve it is `evaluate_stage1` if there is one, and for ALE-Bench the seeds `public_lite`.

## Searched tasks

On 30 November 2026 a strong model answered the prompts of `or_agent` for four tasks of OpenEvolve's repository, which restate
problems of AlphaEvolve (Novikov et al. 2025), and saw nothing else. The evaluators divide by AlphaEvolve's figures, so 1 is as good.

| task | seed | `gp` | after the first reply | best, replies | share of AlphaEvolve's | CPU s of the best |
|---|---|---|---|---|---|---|
| `circle_packing_rect`: sum of 21 radii, rectangle of perimeter 4 ↑ | 0 | not valid | 2.358011 | 2.365832, 4 | 1.0000001 | 34 |
| `heilbronn_triangle`: least triangle of 11 points ↑ | 0 | 0 | 0.034491 | 0.036530, 2 | 1.0000000 | 207 |
| `minimizing_max_min_dist`, 16 points in the plane: (least / greatest distance)² ↑ | 0.001535 | 0.008411 | 0.077584 | 0.077584, 1 | 1.0000028 | 22 |
| the same, 14 points in space ↑ | 0.004319 | 0.029845 | 0.240051 | 0.240051, 1 | 1.0000159 | 14 |

All programs are constrained optimisation (SLSQP with exact derivatives) from many starts. The prompts name AlphaEvolve's figures; the
programs contain no known solution. The evaluator of circles accepts overlaps up to 1e-6; the program removes all of them.
[How six other tasks were played](how-to/for-coding-agents.md#fresh-problems-in-three-ways), of CO-Bench, HeuriGym and LLM4AD, stands beside
an agent with the MCP server and one with a shell.

The column `gp` is genetic programming without a model, for two to three minutes of the clock on a third of a core. It changes
expressions of the seed and writes no algorithm. In `circle_packing_rect` it got a score of 7.5e307 within two minutes: the evaluator
accepts infinite coordinates, because every comparison with their difference, NaN, is false. An imported evaluator is only as strict
as its author made it, so read the program of a score that is too good. In `heilbronn_triangle` all of 1,262 programs score 0 or fail. Of
the six other tasks, `gp` prints before the search of `jssp_construct` and `bp_1d_construct` of LLM4AD that it finds next to nothing to
vary; it bred 1 and 3 programs, none better than the seed (-5872.7 and -218). The same note stands before the searches of flow shop and
p-median of CO-Bench and of operator scheduling of HeuriGym, on small data of ours: 0.776 to 0.817 (↑), 1.647 to 1.871 (↑), and nothing
better. These seeds sort by one expression. For pickup and delivery of HeuriGym, whose seed serves each pair by a route of its own, none of
1,214 programs was better.
"""
TABLE = """
## {name}

{version}.

| task | outcome | score of the seed | in the evaluator's process | calls | CPU s, isolated | CPU s, in process |
|---|---|---|---|---|---|---|
{rows}
"""


def measure(name: str, folder: Path) -> list[dict[str, Any]]:
    """Import a suite, and return the outcome of each task."""
    with tempfile.TemporaryDirectory() as parent:
        rows = []
        for row in import_suite(folder, Path(parent)):
            print(name, row.name, row.trial, flush=True)
            rows.append({"name": row.name, **asdict(row.trial), "call_us": row.trial.call_us})
    return rows


def write_page(suites: dict[str, list[dict[str, Any]]]) -> str:
    """Return the text of the page."""
    summary = [
        "| suite | tasks | imported | isolated | noisy | forgeable | cost of a call |",
        "|---|---|---|---|---|---|---|",
        *(summarise(name, rows) for name, rows in suites.items()),
    ]
    tables = [
        TABLE.format(name=name, version=VERSIONS.get(name, name), rows="\n".join(map(show_row, rows)))
        for name, rows in suites.items()
    ]
    return HEAD.format(summary="\n".join(summary)) + "".join(tables)


def summarise(name: str, rows: list[dict[str, Any]]) -> str:
    """Return the line of a suite."""
    counts = Counter(row["status"] for row in rows)
    # Few calls tell the start of a process from a call only roughly.
    costs = [row["call_us"] for row in rows if row["calls"] >= 100 and row["call_us"] is not None]
    cost = f"{median(costs):.0f} µs" if costs else ""
    outcomes = [counts[status] for status in ("isolated", "noisy", "forgeable")]
    return f"| {' | '.join(map(str, [name, len(rows), sum(outcomes), *outcomes, cost]))} |"


def show_row(row: dict[str, Any]) -> str:
    """Return the line of a task."""
    reason = " ".join(row["reason"].replace("|", "/").split())
    if row["status"] == "refused":
        return f"| {row['name']} | refused: {reason.removeprefix(row['name'] + ': ')} | | | | | |"
    outcome = f"{row['status']}{': ' if reason else ''}{reason}"
    figures = [f"{row['score']!r}", f"{row['shared_score']!r}", f"{row['calls']:,}"]
    times = ["" if row[key] is None else f"{row[key]:.2f}" for key in ("seconds", "shared_seconds")]
    return f"| {row['name']} | {outcome} | {' | '.join([*figures, *times])} |"


def main() -> None:
    """Measure the named suites, and write the page."""
    for word in sys.argv[1:]:
        name, _, folder = word.partition("=")
        rows = measure(name, Path(folder))
        suites = json.loads(ROWS.read_text(encoding="utf-8")) if ROWS.is_file() else {}
        ROWS.write_text(f"{json.dumps(suites | {name: rows}, indent=1)}\n", encoding="utf-8")
    suites = json.loads(ROWS.read_text(encoding="utf-8"))
    PAGE.write_text(write_page({name: suites[name] for name in sorted(suites)}), encoding="utf-8")


if __name__ == "__main__":
    main()

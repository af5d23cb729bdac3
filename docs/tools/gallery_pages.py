"""The text of ``docs/problems/``: a page for each classical problem, from its folder and from what was measured."""

from pathlib import Path
from typing import Any

import yaml

from oragent.evaluation.problem import Problem, load

__all__ = ["FIGURES", "GALLERY", "ROOT", "SOLVERS", "pages"]

ROOT = Path(__file__).parents[2]
GALLERY = ROOT / "docs" / "problems"
FIGURES = GALLERY / "figures.yaml"
SOLVERS = {
    "tsp_constructive": "greedy construction, a random decision of each tour put to a guest that knows nothing else (`solvers/constructive.py`)",
    "tsp_aco": "Ant System, 30 ants, 80 iterations (`solvers/aco.py`, `aco_tsp.py`)",
    "tsp_gls": "guided local search: 2-opt and relocation, 1200 perturbations of 30 moves (`solvers/gls.py`)",
    "cvrp_aco": "Ant System, 30 ants, 50 iterations (`solvers/aco.py`, `aco_cvrp.py`)",
    "op_aco": "Ant System, 20 ants, 50 iterations (`solvers/aco.py`, `aco_op.py`)",
    "mkp_aco": "Ant System, 30 ants, 50 iterations (`solvers/aco.py`, `aco_mkp.py`)",
    "bpp_offline_aco": "Ant System, 20 ants, 15 iterations (`solvers/aco.py`, `aco_bpp.py`)",
    "bpp_online": "online packing, twenty random decisions of each list put to a guest that knows nothing else (`solvers/constructive.py`)",
    "dpp_ga": "genetic algorithm, population 20, 10 generations, 5 in mode train (`solvers/genetic.py`)",
}
NOTES = {
    "cvrp_aco": """\
## The padding of the original, measured

ReEvo's evaluator pads the paths of all ants to the longest of the iteration with steps from the depot to the depot, and
its distance matrix has ones on the diagonal: each such step counts 1. So what it reports is nearly always the path of
the ant with the most returns, and a heuristic gains most by forbidding returns. A copy of that rule, run beside the true
cost (`docs/tools/padding.py`), gives:

| instances | heuristic | with padding | true length |
|---|---|---|---|
{padding}

For the seed, ReEvo's own evaluator reports 18.48 to 18.55 on the train instances, and published searches start from 13.74
on val. The true lengths are those of ants that are also led by them.
""",
}
KINDS = {
    "best known": "The mean of the best values known. A gap below zero is possible: it would be a new best.",
    "lower bound": "A lower bound: no solution is better, so the gap to the optimum is smaller still.",
    "upper bound": "An upper bound: no solution is better; where all are proven, it is the optimum.",
}


def page(name: str, measured: dict[str, Any]) -> str:
    """The text of a problem's page."""
    problem = load(ROOT / "problems" / name)
    about, references = problem.about, yaml.safe_load((problem.folder / "references.yaml").read_text())
    better = "less" if about.direction == "minimize" else "more"
    parts = [
        f"<!-- Made by docs/tools/make_gallery.py; not to be edited. -->\n# {name}: {about.title}",
        f"![{name}](../images/problems/{name}.png)\n\n*{measured['caption']}*",
        f"## What evolves\n\n{about.description}\n\nThe score: {better} is better. The seed:\n\n"
        f"```python\n{problem.seed.strip()}\n```",
        f"## Around it\n\n{SOLVERS[name][0].upper()}{SOLVERS[name][1:]}, under `oragent/`. An evaluation of the seed in "
        f"mode `val` takes {measured['val']['cpu_seconds']} CPU seconds, processes and imports included; "
        f"{about.timeout_s:g} CPU seconds are allowed.",
        f"## Sizes, the seed, and what is known\n\n{sizes(problem, measured, references)}\n\n{provenance(references)}",
        NOTES[name].format(padding=padding(measured)) if name in NOTES else "",
        "## Features\n\nThe archive keeps the best of every combination of:\n\n"
        + "\n".join(f"- `{one.name}`, {one.bins} bins: {one.meaning}" for one in about.features),
        "## Published\n\n" + "\n".join(f"- {key}: {value}" for key, value in about.published.items()),
        f"## Notes\n\n{about.notes}\n\n[All problems](README.md)",
    ]
    return "\n\n".join(part.strip() for part in parts if part) + "\n"


def sizes(problem: Problem, measured: dict[str, Any], references: dict[str, Any]) -> str:
    """The table of modes and sizes."""
    rows = ["| mode | size | instances | seed | reference | gap |", "|---|---|---|---|---|---|"]
    sign = 1 if problem.about.direction == "minimize" else -1
    for mode, numbers in problem.about.sizes.items():
        for size in numbers:
            seed, known = measured[mode]["means"][size], references["sets"].get(mode, {}).get(size)
            told = ("", seed, "", "")
            if known:
                gap = 100 * sign * (seed / known["mean"] - 1)
                told = (known["instances"], seed, known["mean"], f"{gap:.2f} %")
            rows.append(f"| {mode} | {size} | {' | '.join(map(str, told))} |")
    return "\n".join(rows)


def provenance(references: dict[str, Any]) -> str:
    """What the references are, and who found them."""
    known = [one for sizes in references["sets"].values() for one in sizes.values()]
    proven, total = (sum(one[key] for one in known) for key in ("proven", "instances"))
    effort = f", {references['effort']}" if "effort" in references else ""
    told = f"Proven optimal: {proven} of {total} instances. " if proven else ""
    return f"{KINDS[references['kind']]} {told}By {references['solver']}{effort}; made on {references['date']}."


def padding(measured: dict[str, Any]) -> str:
    """Rows of the table of padded and true lengths."""
    return "\n".join("| {work} | {heuristic} | {padded} | {true} |".format(**row) for row in measured["padding"])


def index(figures: dict[str, Any]) -> str:
    """The text of the gallery's first page."""
    rows = []
    for name in SOLVERS:
        about = load(ROOT / "problems" / name).about
        published = about.published.get("best", "")
        rows.append(f"| [{name}]({name}.md) | {about.title} | {figures[name]['val']['score']:g} | {published} |")
    return "\n".join([
        "<!-- Made by docs/tools/make_gallery.py; not to be edited. -->",
        "# The classical problems",
        "",
        "Nine problems whose instances and protocols are those of ReEvo (Ye et al. 2024, arXiv:2402.01145).",
        "",
        "| problem | what evolves | seed (val) | best published |",
        "|---|---|---|---|",
        *rows,
        "",
    ])  # fmt: skip


def pages() -> dict[str, str]:
    """All files of the gallery, by name."""
    figures = yaml.safe_load(FIGURES.read_text())
    return {"README.md": index(figures)} | {f"{name}.md": page(name, figures[name]) for name in SOLVERS}

"""Write the text of ``docs/problems/``: one page per classical problem, from its folder and from measured figures."""

import ast
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml

from oragent.evaluation.discovered import list_discovered
from oragent.evaluation.problem import Problem, load_problem

__all__ = ["FIGURES", "GALLERY", "ROOT", "SOLVERS", "pages"]

ROOT = Path(__file__).parents[2]
GALLERY = ROOT / "docs" / "problems"
FIGURES = GALLERY / "figures.yaml"
SOLVERS = {
    "tsp_constructive": "greedy construction, one city at a time",
    "tsp_aco": "Ant System with 30 ants and 80 iterations",
    "tsp_gls": "guided local search: 2-opt and relocation, 1200 perturbations of 30 moves",
    "cvrp_aco": "Ant System with 30 ants and 50 iterations",
    "op_aco": "Ant System with 20 ants and 50 iterations",
    "mkp_aco": "Ant System with 30 ants and 50 iterations",
    "bpp_offline_aco": "Ant System with 20 ants and 15 iterations",
    "bpp_online": "online packing; items are revealed one at a time",
    "dpp_ga": "genetic algorithm with population 20 and 10 generations (5 in mode `train`)",
}
NOTES = {
    "cvrp_aco": """\
## Padding in the original evaluator

In ReEvo's evaluator (see the notes) a heuristic gains most by forbidding returns to the depot. `docs/tools/padding.py` computes
both costs; for the true lengths, true lengths guide the ants too:

| instances | heuristic | with padding | true length |
|---|---|---|---|
{padding}

ReEvo's own evaluator gives the seed 18.48 to 18.55 on train; published searches start from 13.74 on val.
""",
}
# Calls of the heuristic in mode `val`, and the reason for the limit on their CPU seconds.
LOOPS = "enough for three nested loops over 100 nodes in plain Python"
PAIRS = "enough for loops over all pairs in plain Python"
CALLS = {
    "tsp_constructive": (10_688, "the seed needs 0.03"),
    "tsp_aco": (192, LOOPS),
    "tsp_gls": (192, PAIRS),
    "cvrp_aco": (128, LOOPS),
    "op_aco": (128, LOOPS),
    "mkp_aco": (10, "enough for loops over all items and knapsacks in plain Python"),
    "bpp_offline_aco": (128, PAIRS),
    "bpp_online": (25_000, "the seed needs 0.014"),
    "dpp_ga": (50, "enough for loops over all pairs of genes in plain Python"),
}
LABELS = {"whose best is": "source of the best", "printed": "as published"}  # of keys of ``published``
# Problems that share a page, by its name.
OTHERS = {
    "neural": ("tsp_pomo", "cvrp_pomo", "tsp_lehd", "cvrp_lehd"),
    "driving": ("driving", "driving_long", "driving_stateful"),
    "routing-solver": ("cvrp_solver",),
    "branching": ("milp_branching",),
    "informed-packing": ("bpp_online_informed",),
}
# columns of the grid of pictures
COLUMNS = 2
KINDS = {
    "best known": "Reference: mean of the best known values.",
    "lower bound": "Reference: a lower bound, so the gap to the optimum is smaller.",
    "upper bound": "Reference: an upper bound; the optimum if all instances are proven.",
}


def page(name: str, measured: dict[str, Any]) -> str:
    """Return the text of a problem's page."""
    problem = load_problem(ROOT / "problems" / name)
    about, references = problem.about, yaml.safe_load((problem.folder / "references.yaml").read_text())
    better = "lower" if about.direction == "minimize" else "higher"
    parts = [
        f"<!-- Made by docs/tools/make_gallery.py; not to be edited. -->\n# {name}: {about.title}",
        f"![{name}](../images/problems/{name}.png)\n\n*{measured['caption']}*",
        f"## What evolves\n\n{about.description.partition('. ')[0]}. A {better} score is better. The seed:"
        f"\n\n```python\n{without_docstrings(problem.seed)}\n```\n\n"
        f"[Its docstring](../../problems/{name}/heuristic.py) describes arguments and result.",
        f"## Solver and time\n\nSolver: {SOLVERS[name]}. The seed takes {measured['val']['cpu_seconds']} CPU seconds on `val`; the "
        f"limit is {about.timeout_s:g}. {time_limits(problem)}",
        f"## Sizes and reference values\n\n{sizes(problem, measured, references)}\n\n"
        f"{provenance(references, problem.about.sizes)}",
        f"## Named sets\n\n[Scores out of distribution](../results.md#out-of-distribution); `oragent eval {name} --set NAME` "
        "scores a program on a set:\n\n"
        + "\n".join(f"- `{mode}`: {chosen.meaning}" for mode, chosen in about.named_sets.items()),
        NOTES[name].format(padding=padding(measured)) if name in NOTES else "",
        "## Features\n\n"
        + "\n".join(f"- `{one.name}`, {one.bins} bins: {one.meaning.partition('; ')[0]}" for one in about.features),
        "## Published scores\n\n"
        + "\n".join(f"- {LABELS.get(key, key)}: {value}" for key, value in about.published.items()),
        discovered(problem),
        f"## Notes\n\n{about.notes}",
    ]
    return "\n\n".join(part.strip() for part in parts if part) + "\n"


def discovered(problem: Problem) -> str:
    """Describe the programs that ship with a problem; empty without any."""
    programs = list_discovered(problem)
    if not programs:
        return ""
    rows = [
        "| program | val: seed, best | test: seed, best | fresh: seed, best | time on val, of the limit |",
        "|---|---|---|---|---|",
    ]
    for title, one in programs.items():
        sets = [f"{each.seed:.6g}, **{each.best:.6g}**" if each else "" for each in (one.val, one.test, one.fresh)]
        limit = "" if one.limit_s is None else f" of {one.limit_s:g} s"
        link = f"[`{title}`](../../problems/{problem.name}/discovered/{title}.py)"
        rows.append(f"| {link} | {' | '.join(sets)} | {one.seconds:g} s{limit} |")
    why = "\n".join(
        f"- `{title}`: {one.why}" + (f" Duel {one.duel}." if one.duel else "") for title, one in programs.items()
    )
    command = f"`oragent eval {problem.name} --candidate discovered/{next(iter(programs))}` scores it again"
    return "\n\n".join(
        ["## Discovered programs", "\n".join(rows), why, f"{command}; `oragent discovered` shows the evidence."]
    )


def without_docstrings(source: str) -> str:
    """Return a program without its docstrings; comments stay."""
    lines = source.strip().splitlines()
    for node in reversed(list(ast.walk(ast.parse(source.strip())))):
        if isinstance(node, ast.FunctionDef) and ast.get_docstring(node):
            del lines[node.body[0].lineno - 1 : node.body[0].end_lineno]
    return "\n".join(lines)


def time_limits(problem: Problem) -> str:
    """Return the limit on all calls of the heuristic."""
    calls, reason = CALLS[problem.name]
    limit = problem.about.heuristic_s or 0.0
    return (
        f"[Guided track](README.md): {limit:g} CPU seconds for all {calls:,} calls, {round(1000 * limit / calls, 2):g} ms each "
        f"({reason})."
    )


def sizes(problem: Problem, measured: dict[str, Any], references: dict[str, Any]) -> str:
    """Return the table of modes and sizes."""
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


def provenance(references: dict[str, Any], modes: Iterable[str]) -> str:
    """Return the kind and the source of the reference values of some modes."""
    known = [one for mode in modes for one in references["sets"].get(mode, {}).values()]
    proven, total = (sum(one[key] for one in known) for key in ("proven", "instances"))
    effort = f", {references['effort']}" if "effort" in references else ""
    told = f"Proven optimal: {proven} of {total} instances. " if proven else ""
    return (
        f"{KINDS[references['kind']]} {told}Source: {references['solver']}{effort}; computed on {references['date']}."
    )


def padding(measured: dict[str, Any]) -> str:
    """Return the rows of the table of padded and true lengths."""
    return "\n".join("| {work} | {heuristic} | {padded} | {true} |".format(**row) for row in measured["padding"])


def index(figures: dict[str, Any]) -> str:
    """Return the text of the gallery's first page."""
    rows, others = [], []
    links = {name: f"{name}.md" for name in SOLVERS}
    links |= {name: f"../{target}.md" for target, names in OTHERS.items() for name in names}
    for name, link in links.items():
        about = load_problem(ROOT / "problems" / name).about
        if name in SOLVERS:
            published = about.published.get("best", "")
            rows.append(f"| [{name}]({link}) | {about.title} | {figures[name]['val']['score']:g} | {published} |")
        else:
            others.append(f"| [{name}]({link}) | {about.title} |")
    cells = [f"[![{name}](../images/problems/{name}.png)]({link}) [{name}]({link})" for name, link in links.items()]
    grid = [f"| {' | '.join(cells[start : start + COLUMNS])} |" for start in range(0, len(cells), COLUMNS)]
    grid = ["| " * COLUMNS + "|", "|---" * COLUMNS + "|", *grid]
    return "\n".join([
        "<!-- Made by docs/tools/make_gallery.py; not to be edited. -->",
        "# Problems",
        "",
        "Choose one of the nineteen problems that ship. The pictures show a solution by the seed beside one by a better program; for",
        "networks, the gap during training; for driving, vehicles in heavy traffic; for PyVRP, SCIP and informed packing, the gain on each instance.",
        "",
        *grid,
        "",
        "## The classical problems",
        "",
        "The nine problems use the instances and protocols of ReEvo (Ye et al. 2024, arXiv:2402.01145), with the differences",
        "that their notes name.",
        "",
        "- The *guided* track (default) limits the CPU seconds of the heuristic's calls (`heuristic_s`). On the *open* track",
        "  (`limits.heuristic_s=null`) the calls may take all of the time that the solver leaves.",
        "- A gap is the difference to the reference in percent; a negative gap is a new best value.",
        "- The archive keeps the best candidate of each combination of features. `problems/NAME/problem.yaml` has their bins, and the",
        "  description that models read.",
        "",
        "| problem | what evolves | seed (val) | best published |",
        "|---|---|---|---|",
        *rows,
        "",
        "## Networks, driving and solvers",
        "",
        "[Neural solvers](../neural.md) evolve a bias on the attention of POMO or LEHD. [Driving](../driving.md) evolves one",
        "controller for all vehicles on a weaving road. [A routing solver](../routing-solver.md) is steered by its neighbour lists,",
        "and [SCIP](../branching.md) by where it branches.",
        "",
        "| problem | what evolves |",
        "|---|---|",
        *others,
        "",
        "```{toctree}",
        ":hidden:",
        ":glob:",
        "",
        "*",
        "```",
        "",
    ])  # fmt: skip


def pages() -> dict[str, str]:
    """Return all files of the gallery, by name."""
    figures = yaml.safe_load(FIGURES.read_text())
    return {"README.md": index(figures)} | {f"{name}.md": page(name, figures[name]) for name in SOLVERS}

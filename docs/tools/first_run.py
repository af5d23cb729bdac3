"""Make the example of the README: run its first command, and write data, picture and the marked blocks of pages.

python docs/tools/first_run.py           # run the command anew, score the held-out set, write everything
python docs/tools/first_run.py --pages   # picture and blocks alone, from docs/images/run.json
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from hashlib import sha256
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "docs" / "images" / "run.json"
PICTURE = DATA.with_suffix(".png")
PAGES = ("README.md", "docs/index.md", "docs/start.md")
COMMAND = "run cvrp_aco --seed 0 --evaluations 60"
BLOCK = re.compile(r"(<!-- begin (\w+): made by docs/tools/first_run.py -->\n).*?(<!-- end -->\n)", re.DOTALL)


def search(outputs: Path, *options: str) -> dict[str, Any]:
    """Run the command, and return what it printed and found: the part that a seed reproduces."""
    import oragent

    environment = {name: value for name, value in os.environ.items() if not name.startswith("OPENAI_")}
    environment |= {"COLUMNS": "200", "PYTHONPATH": str(ROOT)}

    def command(*words: str) -> list[str]:
        process = subprocess.run(
            [sys.executable, "-m", "oragent", *words], cwd=ROOT, env=environment, capture_output=True, text=True
        )
        if process.returncode:
            raise SystemExit(process.stdout + process.stderr)
        return process.stdout.splitlines()

    printed = command(*COMMAND.split(), "--outputs", str(outputs), *options)
    (folder,) = (outputs / COMMAND.split()[1]).iterdir()
    shown = command("show", str(folder))
    run = oragent.load(folder)
    return {
        "printed": [line.rstrip() for line in printed if re.match(r" *\d+  \S|seed  |best  ", line)],
        "difference": shown[shown.index("Against the seed") + 1 : shown.index("Archive") - 1],
        "scores": [record.candidate.evaluation.score for record in run.candidates],
        "val": {"seed": measures(run.seed.candidate.evaluation), "best": measures(run.best.candidate.evaluation)},
    }


def measures(evaluation: Any) -> dict[str, float]:
    """Return the score of an evaluation and its gap to PyVRP by size."""
    gaps = {name: value for name, value in evaluation.metrics.items() if name.startswith("gap_percent_")}
    return {"score": evaluation.score} | gaps


def held_out(folder: Path) -> dict[str, Any]:
    """Score seed and best of a run on the held-out set."""
    import oragent

    scored = oragent.load(folder).test()
    return {
        who: {name: value for name, value in {**scored[who], **scored[who].get("metrics", {})}.items()
              if name == "score" or name.startswith("gap_percent_")}
        for who in ("seed", "best")
    }  # fmt: skip


def published() -> float:
    """Return the score of the best published program on the same instances."""
    return float(references()["best"])


def references() -> dict[str, Any]:
    """Return what the problem states of published programs."""
    description = yaml.safe_load((ROOT / "problems" / COMMAND.split()[1] / "problem.yaml").read_text())
    return dict(description["published"])


def blocks(data: dict[str, Any]) -> dict[str, str]:
    """Return the marked blocks of pages by name."""
    seed, best = data["val"]["seed"]["score"], data["val"]["best"]["score"]
    gain = f"{100 * (seed - best) / seed:.0f} %"
    rows = [
        f"| {mode} | {size} | {data[key]['seed'][f'gap_percent_{size}']:.1f} % | {data[key]['best'][f'gap_percent_{size}']:.1f} % |"
        for key, mode in (("val", "`val`, which the search reads"), ("test", "`test`, held out"))
        for size in (20, 50, 100)
        if f"gap_percent_{size}" in data[key]["seed"]
    ]
    output = "\n".join([f"$ oragent {COMMAND}", *data["printed"]])
    return {
        "result": (
            f"Mean route length on `val`: {seed:.3f} with the seed heuristic, {best:.3f} with the evolved one ({gain} lower).\n"
            f"The best published program ({references()['whose best is']}) has {published():.3f} on the same instances.\n"
        ),
        "table": "\n".join(
            ["| instances | customers | seed, above PyVRP | evolved, above PyVRP |", "|---|---|---|---|", *rows, ""]
        ),
        "caption": (
            f"*One run of `oragent {COMMAND}`, without a language model: mean route length {seed:.3f} with the seed,\n"
            f"{best:.3f} with the evolved heuristic, {published():.3f} with the best published program.*\n"
        ),
        "output": f"```text\n{output}\n```\n",
        "program": "```diff\n" + "\n".join(data["difference"]) + "\n```\n",
    }


def filled(text: str, content: dict[str, str]) -> str:
    """Return a page with its marked blocks replaced."""
    return BLOCK.sub(lambda match: match[1] + content[match[2]] + match[3], text)


def digest(data: dict[str, Any]) -> str:
    """Return what the picture records of the data that it was drawn from."""
    return sha256(json.dumps([data["scores"], published()]).encode()).hexdigest()


def draw(data: dict[str, Any]) -> None:
    """Draw the scores of the candidates and the best so far."""
    from oragent.report.pages.charts import BEST, FAILED, INK, MUTED, apply_style, new_figure

    scores = [value for value in data["scores"] if value is not None]
    numbers = [number for number, value in enumerate(data["scores"], 1) if value is not None]
    best = [min(scores[: count + 1]) for count in range(len(scores))]
    with apply_style("run"):
        figure = new_figure(7.0, 3.2)
        axes = figure.subplots()
        axes.plot(numbers, scores, "o", color=MUTED, alpha=0.35, markersize=4, markeredgewidth=0)
        axes.step([*numbers, len(data["scores"])], [*best, best[-1]], where="post", color=BEST, linewidth=1.8)
        lines = (
            (scores[0], "seed", INK, "--"),
            (published(), "best published", FAILED, ":"),
            (best[-1], "best", BEST, ""),
        )
        for height, name, color, style in lines:
            if style:
                axes.axhline(height, color=color, linewidth=0.9, linestyle=style)
            lift = {"best": -5, "best published": 5}.get(name, 0)
            axes.annotate(
                f"{name} {height:.3f}", (1.015, height), xycoords=("axes fraction", "data"), xytext=(0, lift),
                textcoords="offset points", va="center", color=color, annotation_clip=False,
            )  # fmt: skip
        axes.set_ylim(0.93 * best[-1], 1.1 * scores[0])
        axes.set_xlim(0, 1.02 * len(data["scores"]))
        axes.set_xlabel("candidates")
        axes.set_ylabel("mean route length (lower is better)")
        axes.grid(axis="y")
        figure.savefig(PICTURE, dpi=150, metadata={"Description": digest(data)})


def main() -> None:
    """Write data, picture and pages."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", action="store_true", help="from the data that is there")
    if not parser.parse_args().pages:
        with tempfile.TemporaryDirectory() as outputs:
            data = search(Path(outputs))
            (folder,) = (Path(outputs) / COMMAND.split()[1]).iterdir()
            data["test"] = held_out(folder)
        DATA.write_text(json.dumps(data, indent=1) + "\n")
    data = json.loads(DATA.read_text())
    draw(data)
    for page in PAGES:
        path = ROOT / page
        path.write_text(filled(path.read_text(), blocks(data)))


if __name__ == "__main__":
    main()

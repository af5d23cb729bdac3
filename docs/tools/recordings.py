"""Record what searches do, so that a change which should change nothing can be held against it.

::

    python docs/tools/recordings.py record DIR        # runs every strategy by the command line, about three minutes
    python docs/tools/recordings.py again DIR NEW     # the same runs by today's code, and DIR's pages drawn again
    python docs/tools/recordings.py compare DIR NEW   # says what differs; exit code 1 if anything does

A recording has, for every strategy a run with the scripted model, for ``gp`` runs on three problems at one and two
workers, a comparison, and a run's report. Of a run are compared: candidates with their parents, origins, islands,
scores, features and what became of them; prompts and replies in the order of their calls; notes; what each round
spent; ``best.py`` and the elites' files. Masked is what differs between two runs of the same code:

- times: columns ``queued_s wall_s cpu_s elapsed_s seconds`` and metrics that end in ``seconds``;
- memory: ``peak_mb``;
- dates and paths: names of run folders, and the folder of the recording wherever it stands in a text;
- in pages: the version of oragent.

Pages are drawn from the recorded folders themselves, whose times are then the same.
"""

import argparse
import hashlib
import json
import re
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
STRATEGIES = ("random", "funsearch", "eoh", "reevo", "mcts_ahd", "or_agent")
BRED = ("bpp_online", "mkp_aco", "tsp_constructive")
TIMES = ("queued_s", "wall_s", "cpu_s", "elapsed_s", "seconds", "peak_mb")
FOLDER = re.compile(r"\d{8}-\d{6}-(\w+)")
PATIENT = "limits.timeout_s=900"  # a busy machine must not decide what times out
SIZES = {"mkp_aco": "problem_size=100", "tsp_constructive": "problem_size=20"}


def main() -> None:
    """Do what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("verb", choices=("record", "again", "compare"))
    parser.add_argument("folders", nargs="+", type=Path)
    given = parser.parse_args()
    if given.verb == "compare":
        sys.exit(1 if compare(*(json.loads((folder / "facts.json").read_text()) for folder in given.folders)) else 0)
    *earlier, folder = (path.resolve() for path in given.folders)
    folder.mkdir(parents=True)
    facts = searches(folder)
    facts |= pages(earlier[0] if earlier else folder, folder)
    (folder / "facts.json").write_text(json.dumps(facts, indent=1, sort_keys=True))


def searches(folder: Path) -> dict[str, Any]:
    """Run every search, and read what came of it."""
    facts: dict[str, Any] = {}
    for strategy in STRATEGIES:
        args = ["bpp_online", f"--strategy={strategy}", "--model=scripted", "--evaluations=24", "--workers=2"]
        facts[strategy] = searched(folder / "runs" / strategy, *args)
    rich = ["or_agent.initial_ideas=3", "or_agent.tuning_evaluations=8", "strategy.novelty=0.05"]
    rich += ["archive.migration_period=2", "or_agent.reflection_period=2", "or_agent.elitist_period=3"]
    facts["or_agent_rich"] = searched(
        folder / "runs" / "or_agent_rich", "mkp_aco", "--model=scripted", "--evaluations=40", SIZES["mkp_aco"], *rich
    )
    ensemble = ["ensemble=[{name: scripted}]", "archive.reset_period=3", "archive.migration_period=2", "cascade=0.5"]
    facts["ensemble"] = searched(
        folder / "runs" / "ensemble",
        "bpp_online",
        "--strategy=funsearch",
        "--model=scripted",
        "--evaluations=16",
        *ensemble,
    )
    for problem in BRED:
        size = [SIZES[problem]] if problem in SIZES else []
        for workers in (1, 2):
            name = f"gp_{problem}_{workers}"
            facts[name] = searched(
                folder / "runs" / name, problem, "--strategy=gp", "--evaluations=30", f"--workers={workers}", *size
            )
    oragent(
        "compare", "bpp_online", "--strategies=gp,random,or_agent", "--seeds=2", "--evaluations=8", "--model=scripted",
        PATIENT, f"--outputs={folder / 'comparison'}",
    )  # fmt: skip
    for run in sorted((folder / "comparison").glob("*/*/*/run.db")):
        facts[f"comparison/{named(str(run.parent.relative_to(folder)))}"] = read(run.parent)
    return facts


def pages(source: Path, folder: Path) -> dict[str, Any]:
    """Draw the report of a recorded run, and the page of the recorded comparison, from copies of what was recorded."""
    drawn = folder / "pages"
    run = next((source / "runs" / "or_agent_rich").glob("*/*/run.db")).parent
    shutil.copytree(run, drawn / "run")
    shutil.copytree(source / "comparison", drawn / "comparison")
    oragent("report", str(drawn / "run"))
    shown = oragent("show", str(drawn / "run"))
    compared = oragent("compare", f"--outputs={drawn / 'comparison'}")
    texts = {"show": shown, "compare": compared}
    for page in (drawn / "run" / "report.html", drawn / "comparison" / "report.html"):
        texts[f"{page.parent.name}.html"] = page.read_text(encoding="utf-8")
    return {f"page {name}": masked(text, drawn).splitlines() for name, text in texts.items()}


def searched(outputs: Path, *words: str) -> dict[str, Any]:
    """Run one search, and read what came of it."""
    oragent("run", *words, PATIENT, f"--outputs={outputs}", allowed=(0, 3))
    (database,) = outputs.glob("*/*/run.db")
    return read(database.parent)


def oragent(*words: str, allowed: tuple[int, ...] = (0,)) -> str:
    """Run the command line, and return what it prints."""
    print("oragent", *words, file=sys.stderr)
    done = subprocess.run(
        [sys.executable, "-m", "oragent", *words], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if done.returncode not in allowed:
        sys.exit(f"oragent {' '.join(words)} ended with {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done.stdout


def read(run: Path) -> dict[str, Any]:
    """Everything of a run that must not change."""
    with closing(sqlite3.connect(run / "run.db")) as database:
        database.row_factory = sqlite3.Row

        def rows(query: str) -> list[dict[str, Any]]:
            return [{name: plain(name, row[name], run) for name in row.keys()} for row in database.execute(query)]  # noqa: SIM118

        candidates = rows(
            "SELECT round, number, fingerprint, source, parents, origin, island, call, branch, placed, status, score, "
            "features, metrics, message, traceback, log, end FROM candidates LEFT JOIN evaluations USING (fingerprint) "
            "ORDER BY round, number"
        )
        older = any(row["name"] == "branch" for row in database.execute("PRAGMA table_info(replies)"))
        columns = "round || '.' || branch || call AS key, reply AS text, cost AS money" if older else "key, text, money"
        replies = rows(
            f"SELECT {columns}, role, prompt_hash, prompt, model, tokens_in, tokens_out, retries FROM replies "
            "ORDER BY key"
        )
        notes = rows("SELECT round, number, kind, text FROM notes ORDER BY round, number")
        rounds = rows("SELECT round, spent FROM rounds ORDER BY round")
    files = {
        str(path.relative_to(run)): masked(path.read_text(encoding="utf-8"), run)
        for path in sorted([run / "best.py", *(run / "candidates").glob("*/*.*")])
    }
    return {"candidates": candidates, "replies": replies, "notes": notes, "rounds": rounds, "files": files}


def plain(name: str, value: Any, run: Path) -> Any:
    """A column's value, with what may differ masked."""
    if name in ("metrics", "spent") and value:
        fields = json.loads(value)
        return {key: "TIME" if key.endswith("seconds") else inner for key, inner in fields.items()}
    if isinstance(value, str):
        return masked(value, run)
    return value


def masked(text: str, folder: Path) -> str:
    """A text without times, dates and paths."""
    from oragent import __version__

    text = named(text.replace(str(folder.resolve()), "FOLDER").replace(str(ROOT), "ROOT"))
    text = re.sub(r"oragent-\w{8}", "SCRATCH", text)
    text = re.sub(r"\b(\w*seconds): [\d.e-]+", r"\1: TIME", text)
    return text.replace(__version__, "VERSION")


def named(text: str) -> str:
    """A text in which run folders have no date."""
    return FOLDER.sub(r"DATE-\1", text)


def compare(old: Any, new: Any, where: str = "") -> int:
    """Print the first difference of every part, and count them."""
    if old == new:
        return 0
    if isinstance(old, dict) and isinstance(new, dict):
        return sum(compare(old.get(name), new.get(name), f"{where}/{name}") for name in sorted({*old, *new}))
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        places = [place for place, pair in enumerate(zip(old, new, strict=True)) if pair[0] != pair[1]]
        compare(old[places[0]], new[places[0]], f"{where}[{places[0]}]")
        return len(places)
    sizes = f" ({len(old)} and {len(new)} items)" if isinstance(old, list) and isinstance(new, list) else ""
    print(f"{where}{sizes}\n  - {shown(old)}\n  + {shown(new)}")
    return 1


def shown(value: Any) -> str:
    """A value on one line."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) < 400 else f"{text[:400]}... ({hashlib.sha256(text.encode()).hexdigest()[:12]})"


if __name__ == "__main__":
    main()

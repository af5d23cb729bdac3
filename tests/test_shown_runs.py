"""Every search that a page shows, and that needs no server, finds a better program than the seed."""

import re
import shlex
from itertools import pairwise
from pathlib import Path

import pytest

import oragent
from oragent.cli.options import list_overrides
from oragent.search.events import Progress

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = (ROOT / "README.md", *sorted(DOCS.glob("*.md")), *sorted((DOCS / "how-to").glob("*.md")))
# names of problems, models and files that stand for a reader's own, and problems that need a GPU, SUMO or minutes a program
OTHERS = (
    "PROBLEM",
    "NAME",
    "my_problem",
    "~/hard_items",
    "~/hard_tours",
    "~/bpp_protected",
    "function_minimization",
    "driving",
    "tsp_pomo",
    "tsp_lehd",
    "cvrp_solver",
    "milp_branching",
)
# evaluations within which a reader sees the first gain, of a command that names no number
SOON = 20
OPTIONS = {"--seed": "seed", "--strategy": "strategy.name", "--model": "model.name"}


def blocks(language: str, text: str) -> list[str]:
    found = re.findall(r"^```(\w*)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    return [block for name, block in found if name == language]


def shown_runs() -> list[tuple[str, ...]]:
    """The words after ``oragent run`` of each shown search that asks no server, each once."""
    lines = [
        line
        for page in PAGES
        for block in blocks("", page.read_text())
        for line in block.replace("\\\n", " ").splitlines()
    ]
    runs = [tuple(shlex.split(line, comments=True)[2:]) for line in lines if line.startswith("oragent run ")]
    return sorted(
        {
            words for words in runs
            if words[0] not in OTHERS and not words[0].startswith("--")
            and ("--model" not in words or "scripted" in words)
            and not {"--cluster", "--start", "--workers"} & set(words)
            and not any(word.startswith("model") for word in words)
        }
    )  # fmt: skip


class Gained(Exception):
    """The search has found a better program."""


def gains(problem: str, folder: Path, settings: list[str], evaluations: int = SOON) -> bool:
    def watch(progress: Progress) -> None:
        if progress.best.score != progress.seed.score:
            raise Gained

    bounds = [f"budget.evaluations={evaluations}", "budget.seconds=null"]
    try:
        oragent.run(problem, settings=[*settings, *bounds], outputs=folder, progress=watch)
    except Gained:
        return True
    return False


def test_pages_show_searches() -> None:
    assert len(shown_runs()) >= 4
    assert {words[0] for words in shown_runs()} <= {"cvrp_aco", "mkp_aco"}


@pytest.mark.slow
@pytest.mark.parametrize("words", shown_runs(), ids=" ".join)
def test_a_shown_search_gains(words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for page in PAGES:
        for block in blocks("python", page.read_text()):
            if name := re.search(r'^STRATEGY = Strategy\(name="(\w+)"', block, re.MULTILINE):
                (tmp_path / f"{name[1]}.py").write_text(block)
    monkeypatch.chdir(tmp_path)
    given = dict(pairwise(words))
    named = {key: given.get(option) for option, key in OPTIONS.items()}
    settings = [word for word in words[1:] if re.match(r"[a-z_.]+=", word)]
    evaluations = int(given.get("--evaluations", SOON))
    assert gains(words[0], tmp_path / "outputs", [*list_overrides(named), *settings], evaluations)


@pytest.mark.slow
def test_the_python_blocks_gain(tmp_path: Path) -> None:
    shown = [re.findall(r'oragent\.run\("(\w+)", evaluations=', page.read_text()) for page in PAGES[:1]]
    shown.append(re.findall(r'oragent\.run\("(\w+)", evaluations=', (DOCS / "python.md").read_text()))
    problems = {name for names in shown for name in names}
    assert problems
    assert all(gains(name, tmp_path, []) for name in problems)

"""The command as a person meets it: real processes, real runs of a toy."""

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml
from rich.console import Console

from oragent._base.errors import ConfigError, OragentError, StoreError
from oragent.evals.compare.command import run as run_comparison
from oragent.evals.compare.plan import MANIFEST, USUAL, list_left_out, make_plan, read_request, reopen_plan
from oragent.evals.compare.runner import SearchRunner, load_comparison
from oragent.evals.requests import CompareRequest
from oragent.evaluation.problem import find_project_root
from oragent.search.config import read_config
from tests.cli.test_cli import complaint, environment, oragent
from tests.conftest import write_toy
from tests.sharing import once

SEED = "def guess(x):\n    return x * 2.0\n"
GOLDEN = Path(__file__).parent / "report.txt"
BASIC = ("toy", "--strategies", "gp,random", "--seeds", 2, "--evaluations", 8, "--model", "scripted", "--outputs", "c")


def evaluated(database: Path) -> dict[str, tuple]:
    """What was paid for in a run, and when."""
    try:
        with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as db:
            return {row[0]: row[1:] for row in db.execute("SELECT fingerprint, score, elapsed_s FROM evaluations")}
    except sqlite3.OperationalError:  # it is just being made
        return {}


def databases(folder: Path) -> list[Path]:
    return sorted(folder.glob("seed*/*/*/run.db"))


class Skeleton(HTMLParser):
    """Headings, table heads and figures of a page, one a line."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.lines: list[str] = []
        self.inside = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        if tag in ("section", "figure"):
            self.lines.append(tag)
        if tag in ("h1", "h2", "h3", "thead", "dt"):
            self.inside = tag
            self.lines.append(f"{tag}:")

    def handle_endtag(self, tag: str) -> None:
        self.inside = "" if tag == self.inside else self.inside

    def handle_data(self, data: str) -> None:
        if self.inside and data.strip():
            self.lines[-1] += f" {data.strip()} |" if self.inside == "thead" else f" {data.strip()}"


@pytest.fixture(scope="module")
def compared(shared: Path) -> tuple[Path, subprocess.CompletedProcess]:
    """A comparison that is done: its folder, and what was said."""
    done = once(shared, "compared", comparing)
    return shared / "compared" / "c", subprocess.CompletedProcess(**done)


def comparing(root: Path) -> dict[str, object]:
    write_toy(root)
    return vars(oragent("compare", *BASIC, cwd=root))


@pytest.mark.slow
def test_all_runs_are_done_and_told(compared: tuple[Path, subprocess.CompletedProcess]) -> None:
    folder, done = compared
    assert done.returncode == 0, done.stderr
    assert [len(evaluated(database)) for database in databases(folder)] == [8] * 4
    assert "4 of 4  toy by random, seed 1: complete" in done.stdout
    assert "gp − random" in done.stdout or "random − gp" in done.stdout
    assert "with 2 seeds the smallest possible p is 0.5; at least 6 seeds are needed" in " ".join(done.stdout.split())
    assert f"report {folder.name}/report.html" in done.stdout


@pytest.mark.slow
def test_a_killed_comparison_goes_on_where_it_was(toy: Path, tmp_path: Path) -> None:
    (toy / "eval.py").write_text((toy / "eval.py").read_text() + "\nimport time; time.sleep(0.1)\n")
    words = [str(1 if word == 2 else word) for word in BASIC]
    process = subprocess.Popen(
        [sys.executable, "-m", "oragent", "compare", *words], cwd=tmp_path, env=environment(),
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    while sum(map(len, map(evaluated, databases(tmp_path / "c")))) < 10:  # early in the second run
        time.sleep(0.05)
        assert process.poll() is None
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    before = {database: evaluated(database) for database in databases(tmp_path / "c")}
    assert sorted(map(len, before.values()))[-1] == 8
    done = oragent("compare", "--outputs", "c", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("complete before") == 1
    after = {database: evaluated(database) for database in databases(tmp_path / "c")}
    assert [len(found) for found in after.values()] == [8, 8]
    for database, found in before.items():
        assert found.items() <= after[database].items()


@pytest.mark.slow
def test_ctrl_c_ends_it_and_says_how_to_go_on(toy: Path, tmp_path: Path) -> None:
    words = [str(8000 if word == 8 else word) for word in BASIC]
    process = subprocess.Popen(
        [sys.executable, "-m", "oragent", "compare", *words], cwd=tmp_path, env=environment(),
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    while sum(map(len, map(evaluated, databases(tmp_path / "c")))) < 3:
        time.sleep(0.05)
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "unfinished: stopped by Ctrl-C" in said
    assert "oragent compare --outputs c" in said


@pytest.mark.slow
def test_the_report_has_the_parts_that_it_had(compared: tuple[Path, subprocess.CompletedProcess]) -> None:
    """To write them anew, set ORAGENT_WRITE_GOLDEN and read the difference."""
    folder, _ = compared
    text = (folder / "report.html").read_text()
    skeleton = "\n".join(Skeleton(text).lines) + "\n"
    if os.environ.get("ORAGENT_WRITE_GOLDEN"):
        GOLDEN.write_text(skeleton)
    assert skeleton == GOLDEN.read_text()
    assert "<script" not in text
    assert (
        "No difference can be shown on one problem here: with 2 seeds the smallest possible p is 0.5; at least 6"
        in text
    )
    for name in ("curves", "finals"):
        assert (folder / "figures" / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        ElementTree.parse(folder / "figures" / f"{name}.svg")


def test_every_run_is_an_ordinary_run_that_the_page_leads_to(
    compared: tuple[Path, subprocess.CompletedProcess],
) -> None:
    folder, _ = compared
    text = (folder / "report.html").read_text()
    for database in databases(folder):
        assert f'href="{database.parent.relative_to(folder)}/report.html"' in text
        assert (database.parent / "report.html").is_file()
        assert yaml.safe_load((database.parent / "test.yaml").read_text())["best"]["score"] is not None
    shown = oragent("show", database.parent, cwd=folder.parent)
    assert shown.returncode == 0, shown.stderr


@pytest.mark.slow
def test_a_strategy_may_be_added_and_what_is_done_is_not_done_again(
    compared: tuple[Path, subprocess.CompletedProcess], tmp_path: Path
) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(compared[0], folder)
    before = {database: evaluated(database) for database in databases(folder)}
    words = ["gp,random,funsearch" if word == "gp,random" else word for word in BASIC[:-1]]
    more = oragent("compare", *words, folder, cwd=compared[0].parent)
    assert more.returncode == 0, more.stderr
    assert (more.stdout.count("complete before"), more.stdout.count(": complete\n")) == (4, 2)
    assert before.items() <= {database: evaluated(database) for database in databases(folder)}.items()


BAD = {
    "a strategy that nobody knows": (["toy"], "gp,or_agnet", "unknown strategy 'or_agnet': did you mean 'or_agent'?"),
    "a problem that nobody knows": (["toyy"], "gp", "unknown problem 'toyy': did you mean toy?"),
    "no model where one is asked": (["toy"], "gp,eoh", "strategy 'eoh' needs a model: name one with --model"),
    "something twice": (["toy", "toy"], "gp", "problem 'toy' is named twice"),
    "a setting of its own": (["toy", "seed=3"], "gp", "'seed=3': a comparison sets this by --seeds"),
    "a setting that nobody knows": (["toy", "budget.evaluation=3"], "gp", "did you mean 'evaluations'?"),
    "no problem": ([], "gp", "name the problems to compare on"),
    "nothing that was begun": ([], None, "is not a comparison"),
}


def refused(root: Path, words: list[str], **given: object) -> str:
    """The one line with which a request is refused."""
    asked = {"strategies": None, "seeds": None, "overrides": [], "config": None, "outputs": root / "c"} | given
    with pytest.raises(OragentError) as caught:
        run_comparison(CompareRequest(words, **asked), root, Console(quiet=True))
    return str(caught.value)


@pytest.mark.parametrize(("words", "strategies", "said"), BAD.values(), ids=BAD)
def test_bad_input_is_one_clear_line(
    toy: Path, tmp_path: Path, words: list[str], strategies: str | None, said: str
) -> None:
    line = refused(tmp_path, words, strategies=strategies)
    assert said in line
    assert "\n" not in line
    assert not (tmp_path / "c").exists()


def test_the_folder_of_another_comparison_is_left_alone(
    compared: tuple[Path, subprocess.CompletedProcess],
) -> None:
    folder, _ = compared
    root, kept = folder.parent, (folder / "comparison.yaml").read_text()
    given = {"strategies": "gp,random", "seeds": 2, "overrides": ["model.name=scripted"]}
    assert "was begun with budget.evaluations=8, not 9" in refused(root, ["toy", "budget.evaluations=9"], **given)
    given |= {"strategies": "gp"}
    assert "is another comparison: it has strategy 'random'" in refused(root, ["toy", "budget.evaluations=8"], **given)
    assert (folder / "comparison.yaml").read_text() == kept
    stray = refused(root, ["toy"], **given, outputs=root / "problems")
    assert "problems is not a comparison: it has files but no comparison.yaml" in stray


def test_more_seeds_and_another_number_of_workers_are_the_same_comparison(toy: Path, tmp_path: Path) -> None:
    MANIFEST.write_plan(make_plan(["toy"], ["gp"], 2, read_config(None, ["workers=2"]), tmp_path), tmp_path / "c")
    MANIFEST.write_plan(make_plan(["toy"], ["gp"], 3, read_config(None, ["workers=1"]), tmp_path), tmp_path / "c")
    plan = reopen_plan(tmp_path / "c")
    assert (plan.seeds, plan.settings["workers"]) == ((0, 1, 2), 1)
    with pytest.raises(ConfigError, match="seed"):
        MANIFEST.write_plan(make_plan(["toy"], ["gp"], 2, read_config(None), tmp_path), tmp_path / "c")


EARLIER = """
oragent: 0.1.0
root: ROOT
problems: {toy: ROOT/problems/toy}
strategies: [gp, random]
seeds: [0, 1]
settings:
  seed: 0
  workers: 0
  budget: {evaluations: 8, seconds: null}
  strategy: {name: auto, window: null}
  model: {name: scripted}
"""


@pytest.mark.slow
def test_a_comparison_of_an_earlier_version_goes_on(
    compared: tuple[Path, subprocess.CompletedProcess], tmp_path: Path
) -> None:
    """Its file has the same keys; settings that it does not know have their defaults, and are not made alike since."""
    folder, root = tmp_path / "copy", compared[0].parent
    shutil.copytree(compared[0], folder)
    (folder / "comparison.yaml").write_text(EARLIER.replace("ROOT", str(root)))
    before = {database: evaluated(database) for database in databases(folder)}
    done = oragent("compare", "--outputs", folder, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("complete before") == 4
    assert {database: evaluated(database) for database in databases(folder)} == before
    written, begun = (yaml.safe_load((one / "comparison.yaml").read_text()) for one in (folder, compared[0]))
    assert list(written) == ["oragent", "root", "problems", "strategies", "seeds", "settings"]
    level = {"window": 2, "blocks": "all", "features": True, "standing": True, "history": True, "tuning": 0.0}
    assert {name: begun["settings"]["strategy"].pop(name) for name in level} == level
    assert {name: written["settings"]["strategy"].pop(name) for name in level} == dict.fromkeys(level)
    assert (begun["settings"]["archive"].pop("islands"), written["settings"]["archive"].pop("islands")) == (4, None)
    assert written == begun


def test_on_the_command_line_too_it_is_one_line(toy: Path, tmp_path: Path) -> None:
    line = complaint(oragent("compare", "toyy", "--strategies", "gp", cwd=tmp_path))
    assert "unknown problem 'toyy': did you mean toy?" in line


def test_when_no_run_is_finished_there_is_nothing_to_compare(toy: Path, tmp_path: Path) -> None:
    plan = make_plan(["toy"], ["gp"], 1, read_config(None), tmp_path)
    begun = tmp_path / "c" / "seed0" / "toy" / "20260101-000000-gp"
    begun.mkdir(parents=True)
    (begun / "config.yaml").write_text("problem: {na")  # killed while it was being written
    with pytest.raises(StoreError):
        load_comparison(plan, SearchRunner(plan), tmp_path / "c")


def test_a_comparison_without_a_model_leaves_out_the_strategies_that_need_one(tmp_path: Path) -> None:
    def planned(**given: Any) -> tuple[list[str], list[str]]:
        values = {"strategies": None, "seeds": None, "overrides": [], "config": None, "outputs": tmp_path}
        request = CompareRequest(["tsp_constructive"], **values | given)
        plan = read_request(request, find_project_root(None))
        return list(plan.contestants), list_left_out(request, plan)

    names, left_out = planned()
    assert names == ["gp"]
    assert "random" in left_out
    assert [*names, *left_out] == USUAL.split(",")
    assert planned(overrides=["model.name=scripted"]) == (USUAL.split(","), [])
    assert planned(strategies="gp") == (["gp"], [])
    with pytest.raises(ConfigError, match="model"):
        planned(strategies="gp,random")

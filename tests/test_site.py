"""What the documentation says of the code is what the code says, and its examples run."""

import json
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

import oragent
from oragent import harness, modelling
from oragent.authoring import scaffold
from oragent.cli.model import SOLVED, UNSOLVED
from oragent.evals.bench.driver import COMPLETE, STOPPED, UNFINISHED

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
sys.path.insert(0, str(DOCS / "tools"))
try:
    PAGES = runpy.run_path(str(DOCS / "tools" / "reference_pages.py"))["pages"]()
    CHECK = runpy.run_path(str(DOCS / "tools" / "check_site.py"))
    PUBLISH = runpy.run_path(str(DOCS / "tools" / "publish_versions.py"))["publish"]
finally:
    sys.path.remove(str(DOCS / "tools"))


@pytest.mark.parametrize("name", PAGES)
def test_a_page_of_the_reference_is_made_from_the_code_of_today(name: str) -> None:
    assert (DOCS / "reference" / name).read_text() == PAGES[name], "run python docs/tools/make_reference_pages.py"


def test_the_reference_has_every_command_setting_and_name() -> None:
    for command in ("run", "resume", "compare", "eval", "report", "problems", "doctor", "formulate"):
        assert f"## oragent {command}\n" in PAGES["cli.md"]
    for key in (
        "budget.evaluations",
        "archive.islands",
        "limits.heuristic_s",
        "model.context_tokens",
        "or_agent.depth",
    ):
        assert f"| `{key}` |" in PAGES["settings.md"]
    for module in (oragent, harness, modelling):
        for name in module.__all__:
            full_name = getattr(getattr(module, name), "function_name", f"{module.__name__}.{name}")
            page = PAGES.get(f"api/{full_name}.md", PAGES["api.md"])
            assert re.search(rf"^\.\. (?:auto\w+|py:data):: {full_name}$", page, re.MULTILINE)


def test_no_key_of_the_settings_is_without_a_meaning() -> None:
    rows = [line for line in PAGES["settings.md"].splitlines() if line.startswith("| `")]
    assert len(rows) > 50
    assert [line for line in rows if line.endswith("|  |")] == []


@pytest.mark.slow
def test_the_strategy_of_the_recipe_is_one(tmp_path: Path) -> None:
    text = (DOCS / "how-to" / "own-strategy.md").read_text()
    program = re.search(r"```python\n(.*?)\n```\n\n```\noragent run", text, re.DOTALL)
    assert program
    (tmp_path / "improve.py").write_text(program[1])
    problem = scaffold.new("sack", tmp_path / "problems")
    run = oragent.run(problem, strategy=tmp_path / "improve.py", model="scripted", evaluations=3, root=tmp_path)
    assert run.spent.evaluations == 3


def test_every_link_between_pages_and_files_leads_somewhere() -> None:
    pages = [
        ROOT / "README.md",
        ROOT / "AGENTS.md",
        *(path for path in DOCS.rglob("*.md") if "_build" not in path.parts),
    ]
    broken = [
        f"{page.relative_to(ROOT)}: {target}"
        for page in pages
        for target in re.findall(
            r"\]\(([^)#\s]+)(?:#[^)\s]*)?\)", re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
        )
        if not re.match(r"[a-z]+:", target) and not (page.parent / target).exists()
    ]
    assert broken == []


def test_a_site_with_a_dead_link_or_a_request_to_elsewhere_is_found_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "searchindex.js").write_text('Search.setIndex({docnames:["index"]})')
    (tmp_path / "style.css").write_text("@import 'https://fonts.org/a.css'; body { background: url(here.png) }")
    (tmp_path / "index.html").write_text(
        '<link rel="stylesheet" href="style.css"><script src="https://cdn.org/x.js"></script><h1 id="top">x</h1>'
        '<a href="#top">fine</a><a href="#gone">a</a><a href="gone.html">b</a><a href="https://elsewhere.org">fine</a>'
    )
    (tmp_path / "lost.html").write_text("x")
    with pytest.raises(SystemExit):
        CHECK["main"](tmp_path)
    assert sorted(capsys.readouterr().out.splitlines()) == [
        "index.html: links to #gone, and there is no such heading",
        "index.html: links to gone.html, which is not there",
        "index.html: loads https://cdn.org/x.js",
        "search does not know lost.html",
        "style.css: loads https://fonts.org/a.css",
    ]


def test_sites_of_several_versions_lie_side_by_side(tmp_path: Path) -> None:
    site, folder = tmp_path / "site", tmp_path / "all"
    site.mkdir()
    (site / "index.html").write_text("first")
    (site / "gone.html").write_text("first")
    for version in ("0.9.0", "0.10.0", "1.0rc1"):
        PUBLISH(site, folder, version)
    (site / "index.html").write_text("second")
    (site / "gone.html").unlink()
    # 0.10 is newer than 0.9, and the preview of 1.0 is no release.
    assert PUBLISH(site, folder, "0.9.0") == ["0.10.0", "1.0rc1", "0.9.0"]
    assert json.loads((folder / "versions.json").read_text()) == ["0.10.0", "1.0rc1", "0.9.0"]
    assert 'href="0.10.0/index.html"' in (folder / "index.html").read_text()
    assert [path.name for path in (folder / "0.9.0").iterdir()] == ["index.html"]
    assert (folder / "0.9.0" / "index.html").read_text() == "second"
    assert (folder / "0.10.0" / "index.html").read_text() == "first"


def test_every_path_that_agents_are_given_exists() -> None:
    text = re.sub(r"<\w+>", "*", (ROOT / "AGENTS.md").read_text())
    paths = set(re.findall(r"(?:^|[\s`])((?:oragent|docs|tests|problems)/[\w./*]*[\w*])", text)) - {"docs/_build/html"}
    assert len(paths) > 20
    assert {path for path in paths if not any(ROOT.glob(path))} == set()


def test_the_sidebar_has_at_most_twenty_entries_and_every_product_is_one() -> None:
    text = (DOCS / "index.md").read_text()
    trees = re.findall(r"```\{toctree\}\n(.*?)```", text, re.DOTALL)
    lines = [line for tree in trees for line in tree.splitlines() if line and not line.startswith(":")]
    # An entry is a page, or a name and a page in angle brackets.
    entries = [re.sub(r".*<(.+)>", r"\1", line) for line in lines]
    assert len(entries) <= 20
    assert {"start", "heuristics", "formulate", "converse", "workspace"} <= set(entries)
    assert all((DOCS / f"{entry}.md").is_file() for entry in entries)
    # A page of such a name would be replaced by a page that the builder makes.
    assert not any((DOCS / f"{name}.md").exists() for name in ("search", "genindex", "py-modindex"))


@pytest.mark.slow
def test_the_example_of_the_index_runs(tmp_path: Path) -> None:
    (block,) = re.findall(r"```python\n(.*?)```", (DOCS / "index.md").read_text(), re.DOTALL)
    assert len(block.splitlines()) <= 10
    script = re.sub(r"evaluations=\d+", "evaluations=3", block)
    ended = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(ROOT)},
                           capture_output=True, text=True, check=False)  # fmt: skip
    assert ended.returncode == 0, ended.stderr


def test_exit_codes_of_commands_are_those_of_their_page() -> None:
    text = (DOCS / "reference" / "exit-codes.md").read_text()
    described = {int(code) for code in re.findall(r"^\| (\d+) \|", text, re.MULTILINE)}
    assert {COMPLETE, UNFINISHED, STOPPED, SOLVED, UNSOLVED} <= described
    pages = " ".join(PAGES["cli.md"].split())
    assert {int(code) for code in re.findall(r"exit code (\d+)", pages)} <= described

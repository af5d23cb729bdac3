"""The gallery's pages are what their sources say today, and its pictures show programs that beat the seed."""

import inspect
import runpy
from pathlib import Path

import pytest

import oragent
from oragent.evaluation import EvaluationRunner
from oragent.evaluation.problem import load_problem
from oragent.sandbox.messages import Limits

ROOT = Path(__file__).parents[1]
GALLERY = ROOT / "docs" / "problems"
TOOL = runpy.run_path(str(ROOT / "docs" / "tools" / "gallery_pages.py"))
PAGES, CALLS = TOOL["pages"](), TOOL["CALLS"]


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_made_from_what_the_problem_says_today(name: str) -> None:
    assert (GALLERY / name).read_text() == PAGES[name], "run python docs/tools/make_gallery.py"


def test_there_is_a_page_and_a_picture_for_each_link_and_no_other() -> None:
    assert {path.name for path in GALLERY.glob("*.md")} == set(PAGES)
    pictures = {path.stem for path in (ROOT / "docs" / "images" / "problems").glob("*.png")}
    shipped = {path.parent.name for path in (ROOT / "problems").glob("*/problem.yaml")}
    assert pictures == shipped
    assert all(f"](../images/problems/{name}.png)" in PAGES["README.md"] for name in shipped)
    assert {Path(name).stem for name in PAGES} - {"README"} < shipped


def test_the_table_of_results_links_to_every_page() -> None:
    results = (ROOT / "docs" / "results.md").read_text()
    assert all(f"(problems/{name})" in results for name in PAGES)


@pytest.mark.slow
def test_ours_is_better_than_the_seed_in_every_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "docs" / "tools")
    rules = runpy.run_path(str(ROOT / "docs" / "tools" / "gallery_pictures.py"))["RULES"]
    for name, rule in rules.items():
        problem = load_problem(ROOT / "problems" / name)
        ours = inspect.getsource(rule).replace(f"def {rule.__name__}(", f"def {problem.about.function}(")
        with EvaluationRunner() as run:
            limits = Limits(problem.about.timeout_s, problem.about.memory_mb)
            seed, found = (
                run(problem.make_job(text, ROOT, limits)) for text in (problem.seed, f"import numpy as np\n\n\n{ours}")
            )
        assert found.score is not None, f"{name}: {found.message}"
        assert problem.about.direction.better(found.score, seed.score), name


@pytest.mark.parametrize("name", [name for name, (calls, _) in CALLS.items() if calls < 1000])
def test_the_guided_track_leaves_a_rule_in_plain_python_its_time(name: str) -> None:
    calls, _ = CALLS[name]
    assert (load_problem(ROOT / "problems" / name).about.heuristic_s or 0) / calls >= 0.09


@pytest.mark.slow
def test_three_nested_loops_over_the_cities_are_admitted() -> None:
    rule = """
import numpy as np

def heuristics(distance_matrix):
    d, n = distance_matrix.tolist(), len(distance_matrix)
    promise = np.ones((n, n))
    for i in range(n):
        for j in range(n):
            detour = 9.0
            for k in range(n):
                through = d[i][k] + d[k][j]
                if through < detour:
                    detour = through
            promise[i, j] = detour / d[i][j] ** 3
    return promise
"""
    ended = oragent.evaluate("tsp_aco", rule)
    assert ended.status == "ok", ended.message
    assert ended.metrics["heuristic_calls"] == CALLS["tsp_aco"][0]

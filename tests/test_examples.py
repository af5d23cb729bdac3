"""Every worked example keeps the contract, from a folder that lies anywhere, and can be searched."""

import shutil
from pathlib import Path

import pytest

from oragent.authoring import Level, check_problem
from oragent.evaluation import EvaluationRunner
from oragent.evaluation.capabilities import list_unmet
from oragent.evaluation.problem import LimitSettings, evaluation_root, load_problem
from oragent.search.config import build_config
from oragent.search.folder import make_folder
from oragent.search.genetics.variation import child_of_seed
from oragent.search.launch import launch

EXAMPLES = Path(__file__).parent.parent / "docs" / "examples"
FOLDERS = sorted(path.parent for path in EXAMPLES.glob("*/problem.yaml"))
SEEDS = {"job_shop": 1.3290011055431974, "bin_packing_node": 0.049860586250364804}  # as their pages and scripts say


@pytest.fixture(params=FOLDERS, ids=lambda folder: folder.name)
def example(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    folder = tmp_path / request.param.name
    shutil.copytree(request.param, folder, ignore=shutil.ignore_patterns("__pycache__"))
    if missing := list_unmet(load_problem(folder)):
        pytest.skip(missing[0])
    return folder


@pytest.mark.slow
def test_the_seed_scores_away_from_the_repository(example: Path) -> None:
    problem = load_problem(example)
    assert evaluation_root(problem) == example
    with EvaluationRunner() as run:
        ended = run(problem.make_job(problem.seed, example, problem.make_limits(LimitSettings()), "train"))
    assert ended.score is not None, (ended.message, ended.log)


@pytest.mark.slow
def test_it_keeps_the_contract(example: Path) -> None:
    found = check_problem(example, None, child_of_seed)
    assert [(one.title, one.detail) for one in found if one.level is Level.FAILURE] == []


@pytest.mark.slow
def test_it_can_be_searched(example: Path, tmp_path: Path) -> None:
    problem = load_problem(example)
    cpp = problem.signature.language == "cpp"
    chosen = ["strategy.name=funsearch", "model.name=scripted"] if cpp else ["strategy.name=gp"]
    config = build_config({}, [*chosen, "budget.evaluations=8", "workers=1"], "test")
    outcome = launch(
        config,
        example,
        problem,
        lambda: make_folder(example, tmp_path / "outputs", problem, config),
        lambda progress: None,
    )
    assert outcome.progress.spent.evaluations >= 8
    if example.name in SEEDS:
        assert outcome.progress.seed.score == pytest.approx(SEEDS[example.name])


def test_every_example_has_its_page_in_the_list() -> None:
    listed = (EXAMPLES / "README.md").read_text()
    for folder in FOLDERS:
        assert f"({folder.name}.md)" in listed
        assert f"({folder.name}/)" in (EXAMPLES / f"{folder.name}.md").read_text()

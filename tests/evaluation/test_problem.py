"""A problem's folder is read as data, and what is wrong with it is named."""

from pathlib import Path

import pytest

from oragent._base import package_data
from oragent._base.errors import ProblemError
from oragent.evaluation.problem import find_problem, list_problems, load_problem


def test_a_folder_becomes_a_problem(toy: Path) -> None:
    problem = load_problem(toy)
    assert (problem.name, problem.about.direction, problem.about.timeout_s) == ("toy", "minimize", 20)
    assert problem.signature.parameters == ("x",)
    assert problem.evaluator == toy / "eval.py"
    assert [feature.bins for feature in problem.about.features] == [7]
    assert problem.knowledge == ""


def test_a_problem_is_found_by_name_and_by_path(toy: Path, tmp_path: Path) -> None:
    assert find_problem("toy", tmp_path) == find_problem(str(toy), Path("/nowhere")) == load_problem(toy)
    assert "toy" in [problem.name for problem in list_problems(tmp_path)]


def test_an_unknown_problem_names_the_nearest(toy: Path, tmp_path: Path) -> None:
    with pytest.raises(ProblemError, match="tyo"):
        find_problem("tyo", tmp_path)
    with pytest.raises(ProblemError, match="bpp_offline_aco"):
        find_problem("elephants", tmp_path)


def test_where_no_project_is_those_that_ship_are_found(tmp_path: Path) -> None:
    assert find_problem("bpp_online", tmp_path).folder == package_data.shipped_root() / "problems" / "bpp_online"
    assert [problem.name for problem in list_problems(tmp_path)] == [
        folder.name for folder in package_data.shipped_problems()
    ]


def test_a_problem_of_the_project_wins_over_one_that_ships(toy: Path, tmp_path: Path) -> None:
    own = toy.rename(toy.parent / "bpp_online")
    assert find_problem("bpp_online", tmp_path).folder == own
    assert [problem.name for problem in list_problems(tmp_path)].count("bpp_online") == 1


def test_a_copy_of_oragent_without_problems_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(package_data, "shipped_root", lambda: tmp_path)
    with pytest.raises(ProblemError):
        find_problem("toy", tmp_path)


def test_a_folder_without_description_says_how_to_make_one(toy: Path, tmp_path: Path) -> None:
    with pytest.raises(ProblemError):
        find_problem(str(tmp_path), tmp_path)


@pytest.mark.parametrize("name", ["problem.yaml", "eval.py", "heuristic.py"])
def test_a_missing_file_is_named(toy: Path, name: str) -> None:
    (toy / name).unlink()
    with pytest.raises(ProblemError, match=name):
        load_problem(toy)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("direction: down", "key 'direction': input should be 'maximize' or 'minimize', not 'down'"),
        ("directoin: minimize", "unknown key 'directoin': did you mean 'direction'?"),
        ("timeout_s: -1", "key 'timeout_s'"),
        ("timeout_s: .inf", "key 'timeout_s'"),
        ("heuristic_s: .nan", "key 'heuristic_s'"),
        ("sets: {far: {timeout_s: 1.0e+30}}", "key 'sets.far.timeout_s'"),
        ("features: [{name: a, bins: 1}]", "key 'features.0.bins'"),
        ("features: [{name: a, bin: 4}]", "unknown key 'features.0.bin': did you mean 'bins'?"),
        (
            "features: [{name: a, bins: 4, meaning: of x, by y}]",
            'put a text with commas in quotes, such as "..., by y"',
        ),
        ("hooks: {step: the tour, its length}", "put a text with commas in quotes"),
        ("title: [", "is not YAML"),
    ],
)
def test_a_wrong_description_is_one_line(toy: Path, line: str, words: str) -> None:
    key = line.partition(":")[0]
    kept = [kept for kept in (toy / "problem.yaml").read_text().splitlines() if not kept.startswith(f"{key}:")]
    (toy / "problem.yaml").write_text("\n".join([*kept, line]))
    with pytest.raises(ProblemError) as caught:
        load_problem(toy)
    assert words in str(caught.value)
    assert str(toy / "problem.yaml") in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_seed_without_the_function_is_named(toy: Path) -> None:
    (toy / "heuristic.py").write_text("def other(x):\n    return x\n")
    with pytest.raises(ProblemError):
        load_problem(toy)

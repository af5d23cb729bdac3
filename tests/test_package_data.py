"""What ships is found where a project has nothing of its own."""

from pathlib import Path

import pytest

from oragent._base import package_data, settings
from oragent._base.errors import ConfigError, ProblemError
from oragent.authoring import scaffold
from oragent.evaluation.problem import load_problem
from oragent.llm.prices import Prices
from tests.wheel.contents import SHIPPED, tracked

ROOT = Path(__file__).parents[1]


def test_a_checkout_ships_what_lies_in_its_root() -> None:
    assert package_data.shipped_root() == ROOT
    names = [folder.name for folder in package_data.shipped_problems()]
    assert set(names) >= {"tsp_aco", "bpp_online", "driving"}
    assert names == sorted(names)


def test_an_installed_copy_ships_what_lies_beside_its_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "problems").mkdir()
    monkeypatch.setattr(package_data, "HERE", tmp_path)
    assert package_data.shipped_root() == tmp_path


def test_a_projects_own_file_wins_and_what_nobody_has_is_expected_in_the_project(tmp_path: Path) -> None:
    prices = Path("configs/prices.yaml")
    assert package_data.find_path(tmp_path, prices) == ROOT / prices
    (tmp_path / "configs").mkdir()
    (tmp_path / prices).write_text("models: {own: {in: 1, out: 2}}")
    assert list(Prices.load_prices(package_data.find_path(tmp_path, prices)).models) == ["own"]
    assert package_data.find_path(tmp_path, "nothing") == tmp_path / "nothing"


@pytest.mark.parametrize("name", ["quick", "configs/quick.yaml", "variants/or_agent.yaml"])
def test_settings_that_ship_go_by_their_name(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert settings.load_settings_tree(Path(name))


def test_settings_of_ones_own_win(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("configs/quick.yaml", "quick"):
        path = Path(name)
        assert package_data.find_settings_file(path) == ROOT / "configs/quick.yaml"
        path.parent.mkdir(exist_ok=True)
        path.write_text("seed: 5")
        assert package_data.find_settings_file(path) == path


def test_no_name_leads_out_of_the_settings_that_ship(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("problems/tsp_aco/problem.yaml", "default.yml", str(tmp_path / "quick")):
        with pytest.raises(ConfigError):
            settings.load_settings_tree(Path(name))


def test_an_unknown_name_of_settings_is_answered_with_those_that_ship() -> None:
    with pytest.raises(ConfigError, match="paper/reevo"):
        settings.load_settings_tree(Path("paper/none"))


def test_every_file_of_ours_that_git_knows_is_named_for_a_wheel() -> None:
    known = {
        path for path in tracked(ROOT) if path.split("/")[0] in package_data.FOLDERS and not path.endswith(".gitkeep")
    }
    named = {str(path.relative_to(ROOT)) for pattern in SHIPPED for path in ROOT.glob(pattern)}
    assert known <= named


def test_a_copied_problem_is_a_problem_and_is_never_written_over(tmp_path: Path) -> None:
    made = scaffold.copy(load_problem(package_data.shipped_root() / "problems" / "tsp_aco"), tmp_path / "mine")
    assert load_problem(made).seed == load_problem(package_data.shipped_root() / "problems" / "tsp_aco").seed
    assert not list(made.rglob("__pycache__"))
    with pytest.raises(ProblemError):
        scaffold.copy(load_problem(made), tmp_path / "mine")

"""What reports compute from the configuration of a run."""

import itertools
import math
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from oragent._base.budget import Budget
from oragent._base.direction import Direction
from oragent._base.errors import ConfigError
from oragent.report import run
from oragent.report.run_configuration import About, read_about
from oragent.search.archive import ArchivePolicy


def read(folder: Path, **problem: object) -> About:
    path = folder / "config.yaml"
    path.write_text(yaml.safe_dump({"problem": {"name": "toy", **problem}, "config": {}}))
    return read_about(path)


@given(bins=st.lists(st.integers(1, 5), max_size=4))
def test_cells_are_the_combinations_of_bins(bins: list[int], tmp_path_factory: pytest.TempPathFactory) -> None:
    features = [{"name": f"f{number}", "bins": size} for number, size in enumerate(bins)]
    about = read(tmp_path_factory.mktemp("run"), features=features)
    cells = list(itertools.product(*(range(size) for size in bins))) if bins else []
    assert about.cell_count == len(cells)


def test_published_figures_are_finite_numbers(tmp_path: Path) -> None:
    published = {"a": 2, "b": -1.5, "zero": 0, "text": "3", "no": True, "far": math.inf, "nan": math.nan}
    assert read(tmp_path, published=published).references == {"a": 2.0, "b": -1.5, "zero": 0.0}


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_the_direction_is_read(direction: str, tmp_path: Path) -> None:
    assert read(tmp_path, direction=direction).direction == direction


@pytest.mark.parametrize(("title", "shown"), [("A toy", "A toy"), ("", "toy"), (None, "toy")])
def test_a_run_has_the_title_of_its_problem(title: str | None, shown: str, tmp_path: Path) -> None:
    assert read(tmp_path, title=title).title == shown
    assert read(tmp_path).title == "toy"


@pytest.mark.parametrize("section", ["archive", "strategy", "model", "budget"])
@pytest.mark.parametrize("value", [3, [1], "text"])
def test_sections_of_another_form_are_refused(section: str, value: object, tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(yaml.safe_dump({"problem": {"name": "toy"}, "config": {section: value}}))
    with pytest.raises(ConfigError):
        read_about(path)


@pytest.mark.parametrize(
    ("folder", "root", "reference"),
    [
        ("/here/problems/toy", "/here", "toy"),
        ("/there/toy", "/here", "/there/toy"),
        (None, "/here", "toy"),
        ("/there/toy", None, "toy"),
    ],
)
def test_a_problem_outside_of_the_project_is_named_by_its_folder(
    folder: str | None, root: str | None, reference: str, tmp_path: Path
) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(yaml.safe_dump({"problem": {"name": "toy", "folder": folder}, "config": {}, "root": root}))
    assert read_about(path).problem_reference == reference


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({}, (0, 1, "", None)),
        ({"seed": 7, "archive": {"islands": 3}}, (7, 3, "", None)),
        ({"strategy": {"name": "auto"}, "model": None}, (0, 1, "", None)),
        ({"strategy": {"name": "gp"}, "model": {"name": "m"}}, (0, 1, "gp", "m")),
        ({"strategy": None, "model": {}}, (0, 1, "", None)),
    ],
)
def test_settings_that_reports_read(config: dict, expected: tuple, tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(yaml.safe_dump({"problem": {"name": "toy"}, "config": config}))
    about = read_about(path)
    assert (about.seed, about.island_count, about.strategy_name, about.model_name) == expected


def test_a_budget_is_read_or_the_default(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    for budget, evaluations in (
        ({"evaluations": 31}, 31),
        ({"unknown": 1}, Budget().evaluations),
        (None, Budget().evaluations),
    ):
        path.write_text(yaml.safe_dump({"problem": {"name": "toy"}, "config": {"budget": budget}}))
        assert read_about(path).budget.evaluations == evaluations


@pytest.mark.parametrize(
    ("archive", "expected"),
    [
        ({}, {"islands": 1, "population": 20, "migration_period": 0, "reset_period": 0, "everywhere": True}),
        (
            {"islands": 3, "population": 7, "migration_period": 4, "reset_period": 5, "seed_islands": "one"},
            {"islands": 3, "population": 7, "migration_period": 4, "reset_period": 5, "everywhere": False},
        ),
    ],
)
@pytest.mark.parametrize("direction", Direction)
def test_an_archive_is_replayed_with_the_settings_of_the_run(
    archive: dict, expected: dict, direction: Direction, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    policies: list[ArchivePolicy] = []
    monkeypatch.setattr(run, "replay_archive", lambda policy, records, rounds: policies.append(policy))
    path = tmp_path / "config.yaml"
    problem = {"name": "toy", "direction": str(direction)}
    path.write_text(yaml.safe_dump({"problem": problem, "config": {"archive": archive, "seed": 11}}))
    run.replay_run(read_about(path), [], 9, {4, 6})
    assert vars(policies[0]) == expected | {"direction": direction, "seed": 11, "resets": {4, 6}, "grid": None}

"""A configuration is checked whole, and its errors say what to write instead."""

from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from pydantic.dataclasses import dataclass

from oragent._base.budget import Budget
from oragent._base.direction import Direction
from oragent._base.errors import ConfigError
from oragent._base.settings import STRICT, dump_settings
from oragent.search.archive import ArchivePolicy
from oragent.search.config import Config, archive_policy, build_config, read_config, register_section

ROOT = Path(__file__).parents[2]


def test_defaults_need_no_file() -> None:
    config = read_config(None)
    assert config.budget.evaluations == 200
    assert config.strategy_name == "gp"
    assert config.cores >= 1


def test_the_documented_defaults_are_the_defaults() -> None:
    assert yaml.safe_load((ROOT / "configs/default.yaml").read_text()) == dump_settings(read_config(None))


@pytest.mark.parametrize(
    "path",
    sorted([*(ROOT / "configs").glob("*.yaml"), *(ROOT / "configs" / "paper").glob("*.yaml")]),
    ids=lambda path: path.name,
)
def test_every_shipped_configuration_is_valid(path: Path) -> None:
    if path.name != "prices.yaml":
        read_config(path)


def test_the_command_line_wins_over_the_file(tmp_path: Path) -> None:
    path = tmp_path / "run.yaml"
    path.write_text("seed: 1\nbudget: {evaluations: 5, seconds: 9}")
    config = read_config(path, ["budget.evaluations=7", "model.name=some-model", "archive.islands=3"])
    assert (config.seed, config.budget.evaluations, config.budget.seconds) == (1, 7, 9)
    assert config.strategy_name == "or_agent"
    assert config.archive.islands == 3


def test_a_bound_on_the_command_line_replaces_the_default_and_not_that_of_a_file(tmp_path: Path) -> None:
    assert read_config(None, ["budget.seconds=60"]).budget == Budget(evaluations=None, seconds=60)
    (tmp_path / "run.yaml").write_text("budget: {evaluations: 5}")
    assert read_config(tmp_path / "run.yaml", ["budget.seconds=60"]).budget == Budget(evaluations=5, seconds=60)


def test_a_configuration_survives_its_dump() -> None:
    config = read_config(None, ["model.name=m", "budget.money=2.5", "limits.timeout_s=3"])
    assert build_config(yaml.safe_load(yaml.safe_dump(dump_settings(config))), (), "") == config


@pytest.mark.parametrize(
    ("override", "words"),
    [
        ("budget.evaluation=5", "unknown key 'budget.evaluation': did you mean 'evaluations'?"),
        ("archve.islands=5", "unknown key 'archve': did you mean 'archive'?"),
        ("model.nmae=x", "did you mean 'name'?"),
        ("zzz=1", "valid keys: seed, workers, "),
        ("budget.evaluations=0", "key 'budget.evaluations': input should be greater than or equal to 1, not 0"),
        ("budget.evaluations=many", "not 'many'"),
        ("budget.evaluations", "write section.key=value"),
        ("seed={", "must be YAML"),
        ("budget=5", "key 'budget'"),
    ],
)
def test_an_error_names_key_expectation_and_remedy(override: str, words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_config(None, [override])
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: [", "is not YAML"),
        ("- a\n- b", "must hold keys and values, not a list"),
        ("sed: 1", "run.yaml: unknown key 'sed'"),
    ],
)
def test_a_broken_file_is_named(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "run.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError) as caught:
        read_config(path)
    assert words in str(caught.value)
    assert str(path) in str(caught.value)


def test_a_missing_or_binary_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError):
        read_config(tmp_path / "none.yaml")
    (tmp_path / "binary.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError):
        read_config(tmp_path / "binary.yaml")


def test_an_empty_file_is_the_defaults(tmp_path: Path) -> None:
    (tmp_path / "empty.yaml").write_text("")
    assert read_config(tmp_path / "empty.yaml") == read_config(None)


def test_a_strategy_gives_the_configuration_a_section(monkeypatch: pytest.MonkeyPatch) -> None:
    @dataclass(frozen=True, config=STRICT)
    class OwnSettings:
        depth: int = 3

    monkeypatch.setattr("oragent.search.config._SECTIONS", {})
    with pytest.raises(ConfigError):
        read_config(None, ["own.depth=4"])
    register_section("own", OwnSettings)
    config = read_config(None, ["own.depth=4"])
    assert isinstance(config, Config)
    assert dump_settings(config)["own"] == {"depth": 4}
    with pytest.raises(ConfigError, match="depth"):
        read_config(None, ["own.dept=4"])


def test_the_policy_of_an_archive_is_that_of_the_settings() -> None:
    names = (
        "archive.islands=3",
        "archive.population=7",
        "archive.migration_period=5",
        "archive.reset_period=6",
        "seed=9",
    )
    config = build_config({}, names, "test")
    for everywhere, where in ((True, "all"), (False, "first")):
        archive = replace(config.archive, seed_islands=where)
        policy = archive_policy(replace(config, archive=archive), Direction.MAXIMIZE)
        assert policy == ArchivePolicy(
            direction=Direction.MAXIMIZE, islands=3, population=7, migration_period=5, reset_period=6,
            everywhere=everywhere, seed=9,
        )  # fmt: skip
    assert archive_policy(build_config({}, (), "test"), Direction.MINIMIZE).islands == 1

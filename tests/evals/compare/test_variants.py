"""Variants: one strategy held against itself, and what is alike for all that are compared."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from rich.console import Console

import oragent
from oragent._base.errors import ConfigError, OragentError
from oragent._base.settings import dump_settings
from oragent.evals.compare.command import announce_settings
from oragent.evals.compare.plan import FAIR, MANIFEST, cell_config, make_plan, read_request, reopen_plan
from oragent.evals.compare.runner import describe_equal_settings, differing_settings, list_models
from oragent.evals.requests import CompareRequest
from oragent.search.config import Config, read_config
from oragent.search.strategies import STRATEGIES, resolve_strategy
from tests.cli.test_cli import complaint
from tests.cli.test_cli import oragent as command

GREEDY = {"name": "greedy", "strategy": "gp", "settings": {"strategy": {"temperature": 0.05}}}
LOOSE = {"name": "loose", "strategy": "gp", "settings": {"strategy.temperature": 2.0, "archive": {"islands": 2}}}
PLAYED = {"name": "played", "strategy": "random", "model": {"name": "scripted", "temperature": 0.5}}
SHORT = {"name": "short", "strategy": "or_agent", "model": "scripted", "settings": {"or_agent": {"depth": 1}}}
HILL = """
from oragent.search.strategy import Strategy
async def round(run):
    await run.evaluate(f"def guess(x):\\n    return {run.number}", [], "own")
STRATEGY = Strategy(name="hill", round=round, asks_model=False)
"""


def request(root: Path, *variants: Path | Mapping[str, Any], words=("toy",), strategies=None, **more) -> CompareRequest:
    given = {"seeds": 2, "overrides": [], "config": None} | more
    return CompareRequest(words, strategies, outputs=root / "c", variants=variants, **given)


def effective(plan, root: Path) -> dict[str, Config]:
    """Settings with which the first run of each contestant is done."""
    return {cell.contestant: resolve_strategy(cell_config(plan, cell)) for cell in plan.cells}


@pytest.fixture
def compared(toy: Path, tmp_path: Path):
    return oragent.comparison(
        "toy",
        variants=[LOOSE, PLAYED],
        seeds=2,
        evaluations=3,
        workers=1,
        root=tmp_path,
        outputs=tmp_path / "c",
    )


@pytest.mark.slow
def test_variants_of_one_strategy_are_compared_by_paired_tests(compared, tmp_path: Path) -> None:
    folder = tmp_path / "c"
    (subject,) = compared.summary.subjects
    pairs = {frozenset((one.first, one.second)) for one in subject.differences if one.mode == "val"}
    assert pairs == {frozenset(("loose", "played"))}
    assert all(one.test.pairs == 2 and one.test.p is not None for one in subject.differences if one.mode == "val")
    assert not compared.unfinished
    found = {
        path.parts[-5]: yaml.safe_load(path.read_text())["config"]
        for path in folder.glob("variants/*/*/*/*/config.yaml")
    }
    assert {name: tree["strategy"]["temperature"] for name, tree in found.items()} == {"loose": 2.0, "played": 0.2}
    assert {name: tree["archive"]["islands"] for name, tree in found.items()} == {"loose": 2, "played": 4}
    assert found["played"]["model"]["temperature"] == 0.5
    page = (folder / "report.html").read_text()
    assert "What is compared" in page
    for text in ("strategy.temperature", "archive.islands", "2.0", "rounds in flight: 2, building blocks shown: all"):
        assert text in page
    assert page.count('href="variants/') == 4
    again = command("compare", "--outputs", folder, cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    assert again.stdout.count("complete before") == 4
    assert "played − loose" in again.stdout or "loose − played" in again.stdout
    assert "strategy.temperature" in again.stdout


def test_the_plan_in_its_folder_says_what_each_variant_is_and_comes_back_as_it_was(toy: Path, tmp_path: Path) -> None:
    (tmp_path / "hill.py").write_text(HILL)
    files = [tmp_path / "own.yaml", tmp_path / "short.yaml"]
    own = {"name": "own.2", "strategy": "hill.py", "settings": {"archive": {"islands": 1}}}  # beside its file
    for file, tree in zip(files, (own, SHORT), strict=True):
        file.write_text(yaml.safe_dump(tree))
    plan = read_request(
        request(tmp_path, *files, GREEDY, strategies="gp,random", overrides=["model.name=scripted"]), tmp_path
    )
    assert list(plan.contestants) == ["gp", "random", "own.2", "short", "greedy"]
    MANIFEST.write_plan(plan, tmp_path / "c")
    assert reopen_plan(tmp_path / "c") == plan
    found = effective(plan, tmp_path)
    assert found["own.2"].strategy.file == str(tmp_path / "hill.py")
    assert (found["own.2"].strategy_name, found["own.2"].archive.islands) == ("hill", 1)
    assert (found["short"].or_agent.depth, found["short"].strategy_name) == (1, "or_agent")
    with pytest.raises(ConfigError, match="temperature"):
        changed = GREEDY | {"settings": {"strategy": {"temperature": 0.5}}}
        MANIFEST.write_plan(
            read_request(
                request(tmp_path, *files, changed, strategies="gp,random", overrides=["model.name=scripted"]), tmp_path
            ),
            tmp_path / "c",
        )


def test_all_strategies_that_are_compared_have_the_same_hints_window_and_islands(toy: Path, tmp_path: Path) -> None:
    plan = read_request(request(tmp_path, strategies=",".join(STRATEGIES), overrides=["model.name=scripted"]), tmp_path)
    found = {
        (one.strategy.window, one.archive.islands, one.strategy.blocks, one.strategy.features)
        for one in effective(plan, tmp_path).values()
    }
    assert found == {(2, 4, "all", True)}
    assert (
        describe_equal_settings(plan)
        == "rounds in flight: 2, building blocks shown: all, meanings of features in prompts: yes, state of the search in prompts: yes, origins of programs in prompts: yes, share of evaluations for tuning: 0.0, islands: 4"
    )
    assert [key for key, *_ in differing_settings(plan).rows] == ["strategy.name"]


def test_what_a_person_or_a_variant_sets_holds_and_the_difference_is_shown(toy: Path, tmp_path: Path) -> None:
    varied = {"name": "bare", "strategy": "gp", "settings": {"strategy": {"blocks": "none"}}}
    plan = read_request(request(tmp_path, varied, words=("toy", "strategy.window=1"), strategies="gp"), tmp_path)
    found = effective(plan, tmp_path)
    assert {name: (one.strategy.window, str(one.strategy.blocks)) for name, one in found.items()} == {
        "gp": (1, "all"), "bare": (1, "none"),
    }  # fmt: skip
    assert differing_settings(plan).rows == (("strategy.blocks", "all", "none"),)
    console = Console(record=True, width=100)
    announce_settings(plan, console)
    told = console.export_text()
    same = "the same for all: rounds in flight: 1, meanings of features in prompts: yes, state of the search in prompts: yes, "
    assert f"{same}origins of programs in prompts: yes, share of evaluations for tuning: 0.0, islands: 4" in " ".join(
        told.split()
    )
    assert "strategy.blocks" in told


def test_a_comparison_that_was_begun_before_keeps_what_it_had(toy: Path, tmp_path: Path) -> None:
    """Its runs were done with each strategy's own; one that is added now is done likewise."""
    MANIFEST.write_plan(make_plan(["toy"], ["gp"], 2, read_config(None), tmp_path), tmp_path / "c")
    assert reopen_plan(tmp_path / "c").settings["strategy"]["window"] is None
    more = read_request(request(tmp_path, strategies="gp,random", overrides=["model.name=scripted"]), tmp_path)
    assert [more.settings[section][name] for section, name in (key.split(".") for key in FAIR)] == [None] * len(FAIR)
    assert effective(more, tmp_path)["gp"].strategy.window == STRATEGIES["gp"].window


def test_models_of_variants_are_named(toy: Path, tmp_path: Path) -> None:
    other = PLAYED | {"name": "other", "model": "another"}
    plan = read_request(request(tmp_path, PLAYED, other, GREEDY), tmp_path)
    assert list_models(plan) == ["scripted", "another"]
    rows = {key: values for key, *values in differing_settings(plan).rows}
    assert rows["model.name"] == ["scripted", "another", "–"]


BAD: dict[str, tuple[dict[str, Any] | str, str]] = {
    "no name": ({"strategy": "gp"}, "key 'name' is missing"),
    "no strategy": ({"name": "a"}, "key 'strategy' is missing"),
    "a key that nobody knows": ({"name": "a", "strategi": "gp"}, "unknown key 'strategi': did you mean 'strategy'?"),
    "a name that is no folder's": ({"name": "../a", "strategy": "gp"}, "key 'name' must be up to 40 letters, digits"),
    "a name of another": ({"name": "eoh", "strategy": "gp"}, "must not be that of another strategy: 'eoh' by 'gp'"),
    "a name of a number": ({"name": 3, "strategy": "gp"}, "key 'name'"),
    "a strategy that nobody knows": ({"name": "a", "strategy": "gpp"}, "unknown strategy 'gpp': did you mean 'gp'?"),
    "a file that is not there": ({"name": "a", "strategy": "no.py"}, "no strategy at"),
    "a strategy that is chosen later": ({"name": "a", "strategy": "auto"}, "must name a strategy, not 'auto'"),
    "no model": ({"name": "a", "strategy": "eoh"}, "strategy 'eoh' needs a model: give the variant one, or all by --model"),
    "a wrong setting": ({"name": "a", "strategy": "gp", "settings": {"archive": {"islnds": 3}}}, "did you mean 'islands'?"),
    "a wrong value": ({"name": "a", "strategy": "gp", "settings": {"archive": {"islands": 0}}}, "key 'archive.islands'"),
    "settings that are none": ({"name": "a", "strategy": "gp", "settings": 3}, "key 'settings'"),
    "a seed": ({"name": "a", "strategy": "gp", "settings": {"seed": 3}}, "'settings.seed' is set by --seeds"),
    "another strategy": ({"name": "a", "strategy": "gp", "settings": {"strategy": {"name": "eoh"}}}, "is set by the key strategy"),
    "a budget of its own": ({"name": "a", "strategy": "gp", "settings": {"budget": {"evaluations": 9}}}, "'settings.budget.evaluations' must be the same for all"),
    "a size of its own": ({"name": "a", "strategy": "gp", "settings": {"problem_size": 9}}, "must be the same for all"),
    "a model among the settings": ({"name": "a", "strategy": "gp", "settings": {"model": {"name": "m"}}}, "is set by the key 'model'"),
    "options that it takes not": ({"name": "a", "strategy": "gp", "settings": {"strategy": {"options": {"x": 1}}}}, "takes no strategy.options"),
    "a model of no use": ({"name": "a", "strategy": "gp", "model": {"nme": "m"}}, "unknown key 'model.nme'"),
    "a list": ("- a\n- b\n", "must hold keys and values, not a list"),
    "no YAML": ("{a: [", "is not YAML"),
}  # fmt: skip


@pytest.mark.parametrize(("tree", "said"), BAD.values(), ids=BAD)
def test_bad_variants_are_one_clear_line_that_names_the_file(toy: Path, tmp_path: Path, tree, said: str) -> None:
    file = tmp_path / "bad.yaml"
    file.write_text(tree if isinstance(tree, str) else yaml.safe_dump(tree))
    with pytest.raises(OragentError) as caught:
        read_request(request(tmp_path, file), tmp_path)
    line = str(caught.value)
    assert said in line
    assert "bad.yaml" in line
    assert "\n" not in line
    assert not (tmp_path / "c").exists()


def test_two_of_one_name_and_a_missing_file_are_one_line_too(toy: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="greedy"):
        read_request(request(tmp_path, GREEDY, LOOSE | {"name": "greedy"}), tmp_path)
    with pytest.raises(ConfigError, match="gp"):
        read_request(request(tmp_path, GREEDY | {"name": "gp"}, strategies="gp"), tmp_path)
    with pytest.raises(ConfigError, match="none"):
        read_request(request(tmp_path, tmp_path / "none.yaml"), tmp_path)
    line = complaint(command("compare", "toy", "--variants", "none.yaml", cwd=tmp_path))
    assert "cannot read the configuration none.yaml" in line


def test_from_python_a_model_must_be_one_that_a_file_can_hold(toy: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError):
        oragent.comparison("toy", strategies=["random"], model=lambda messages: "", root=tmp_path)


def test_variants_that_differ_in_nothing_are_allowed_as_they_show_the_noise(toy: Path, tmp_path: Path) -> None:
    plan = read_request(request(tmp_path, GREEDY, GREEDY | {"name": "again"}), tmp_path)
    assert differing_settings(plan).rows == ()
    first, second = (dump_settings(one) for one in effective(plan, tmp_path).values())
    assert first == second


def test_the_variants_that_ship_can_be_compared(toy: Path, tmp_path: Path) -> None:
    files = sorted((Path(__file__).parents[3] / "configs" / "variants").glob("*.yaml"))
    plan = read_request(request(tmp_path, *files, overrides=["model.name=scripted"]), tmp_path)
    assert len(plan.contestants) == len(files) == 2
    assert differing_settings(plan).rows == (("or_agent.rounds", "auto", "tree"), ("or_agent.experiments", "8", "0"))


def test_the_prompts_of_a_comparison_are_named_wherever_it_is_continued(
    toy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "hill_climb.txt").write_text("Climb.")
    monkeypatch.chdir(tmp_path)
    asked = request(tmp_path, words=(str(toy), "prompts=mine"), strategies="gp")
    assert read_request(asked, tmp_path).settings["prompts"] == str((tmp_path / "mine").resolve())
    (tmp_path / "mine" / "hill_climb.txt").write_text("$unknown")
    with pytest.raises(ConfigError):
        read_request(asked, tmp_path)

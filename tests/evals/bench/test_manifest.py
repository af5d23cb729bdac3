"""A folder belongs to one plan: what may be added, what is free, and what is refused in one line."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from oragent._base.errors import ConfigError, OragentError, StoreError
from oragent.evals.bench.plan import BenchPlan
from tests.evals.bench.dice import MANIFEST, tournament

OWN = {"ann": {}, "bob": {"shift": 2, "hand": {"left": True}}}


def begun(folder: Path, **changed: object) -> BenchPlan:
    plan = replace(tournament(cup="oak", table=1), **changed)
    MANIFEST.write_plan(plan, folder)
    return plan


@pytest.mark.parametrize("contestants", [{"ann": {}, "bob": {}}, OWN])
def test_a_plan_comes_back_as_it_was(tmp_path: Path, contestants: dict[str, dict[str, Any]]) -> None:
    plan = begun(tmp_path, contestants=contestants, root=tmp_path)
    assert MANIFEST.read_plan(tmp_path) == plan


def test_names_that_stand_alone_are_a_list_and_settings_stand_under_theirs(tmp_path: Path) -> None:
    begun(tmp_path / "plain")
    assert yaml.safe_load((tmp_path / "plain" / MANIFEST.file).read_text())["players"] == ["ann", "bob"]
    begun(tmp_path / "own", contestants=OWN)
    assert yaml.safe_load((tmp_path / "own" / MANIFEST.file).read_text())["players"] == OWN


def test_players_dice_and_seeds_may_be_added_and_dice_may_lie_elsewhere(tmp_path: Path) -> None:
    begun(tmp_path, contestants=OWN)
    more = begun(
        tmp_path, contestants=OWN | {"cid": {"shift": 1}}, subjects={"d6": 7, "d20": 20, "d8": 8}, seeds=(0, 1, 2)
    )
    assert MANIFEST.read_plan(tmp_path) == more
    begun(
        tmp_path,
        contestants=more.contestants,
        subjects=more.subjects,
        seeds=(0, 1, 2),
        settings={"cup": "oak", "table": 9},
    )
    assert MANIFEST.read_plan(tmp_path).settings["table"] == 9


OTHERS: dict[str, tuple[dict[str, Any], str]] = {
    "a player gone": ({"contestants": {"bob": OWN["bob"]}}, "is another tournament: it has player 'ann'"),
    "a die gone": ({"subjects": {"d6": 6}}, "is another tournament: it has die 'd20'"),
    "a seed gone": ({"seeds": (0,)}, "is another tournament: it has seed 1"),
    "another cup": ({"settings": {"cup": "tin"}}, "was begun with cup=oak, not tin"),
    "no cup": ({"settings": {}}, "was begun with cup=oak, not null"),
    "another hand": (
        {"contestants": {"ann": {}, "bob": {"shift": 2, "hand": {"left": False}}}},
        "was begun with players.bob.hand.left=True, not False",
    ),
    "a setting more": ({"contestants": OWN | {"ann": {"shift": 1}}}, "was begun with players.ann.shift=null, not 1"),
}


@pytest.mark.parametrize(("changed", "said"), OTHERS.values(), ids=OTHERS)
def test_another_plan_is_refused_in_one_line_and_the_folder_left_as_it_was(
    tmp_path: Path, changed: dict[str, Any], said: str
) -> None:
    begun(tmp_path, contestants=OWN)
    before = (tmp_path / MANIFEST.file).read_bytes()
    with pytest.raises(ConfigError) as caught:
        begun(tmp_path, **{"contestants": OWN} | changed)
    assert said in str(caught.value)
    assert str(caught.value).endswith("leave it as it was, or begin another tournament with --outputs")
    assert "\n" not in str(caught.value)
    assert (tmp_path / MANIFEST.file).read_bytes() == before


def test_a_folder_that_holds_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(ConfigError):
        begun(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreError):
        begun(tmp_path / "file")


def test_where_nothing_was_begun_it_says_how_to_begin(tmp_path: Path) -> None:
    with pytest.raises(StoreError):
        MANIFEST.read_plan(tmp_path)


GOOD = {"root": "/", "dice": ["d6"], "players": ["ann"], "seeds": [0], "settings": {}}
BROKEN = {
    "no YAML": "dice: [",
    "no text": b"\xff\xfe\x00",
    "no keys": "- d6",
    "nothing": "",
    "no dice": {key: value for key, value in GOOD.items() if key != "dice"},
    "dice are a number": GOOD | {"dice": 6},
    "dice have numbers for names": GOOD | {"dice": [6, 20]},
    "no player": GOOD | {"players": []},
    "a player's settings are a word": GOOD | {"players": {"ann": "left"}},
    "seeds are words": GOOD | {"seeds": ["zero"]},
    "seeds are a word": GOOD | {"seeds": "012"},
    "root is a list": GOOD | {"root": []},
    "settings are a number": GOOD | {"settings": 3},
}


@pytest.mark.parametrize("text", BROKEN.values(), ids=BROKEN)
def test_a_broken_file_is_named_in_one_line(tmp_path: Path, text: str | bytes | dict[str, object]) -> None:
    written = text if isinstance(text, bytes) else (text if isinstance(text, str) else yaml.safe_dump(text)).encode()
    (tmp_path / MANIFEST.file).write_bytes(written)
    for use in (lambda: MANIFEST.read_plan(tmp_path), lambda: begun(tmp_path)):
        with pytest.raises(OragentError) as caught:
            use()
        assert "\n" not in str(caught.value)
        assert len(str(caught.value)) < 500
    assert (tmp_path / MANIFEST.file).read_bytes() == written


def test_settings_that_an_older_version_did_not_know_are_filled_in(tmp_path: Path) -> None:
    def settle(settings: Mapping[str, Any], source: str) -> Mapping[str, Any]:
        assert source.endswith(MANIFEST.file)
        return {"light": "on", **settings}

    begun(tmp_path)
    newer = replace(MANIFEST, complete_settings=settle)
    assert newer.read_plan(tmp_path).settings == {"light": "on", "cup": "oak", "table": 1}
    newer.write_plan(tournament(cup="oak", table=1, light="on"), tmp_path)
    with pytest.raises(ConfigError, match="light"):
        newer.write_plan(tournament(cup="oak", table=1, light="off"), tmp_path)

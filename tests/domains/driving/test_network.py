"""The road: what netconvert makes of our sources, and where it is kept."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from oragent._base.errors import ProblemError
from oragent.domains.driving import network
from oragent.domains.driving.network import PUBLISHED, WEAVING, Road
from tests.extras import need


def test_the_road_has_the_published_lengths_and_lanes(road: Road) -> None:
    assert (road.length, road.lanes, road.speed_limit) == (172.8, 3, 13.89)
    assert road.exits == {"E4": (0, 1, 2), "E5": (2,), "E6": (0,)}
    text = road.file.read_text()
    arms = re.findall(r'<lane id="-E1_\d" index="\d" .*?length="([\d.]+)"', text)
    assert arms == ["36.40"] * 3
    for start, end in WEAVING.routes:
        assert f'<connection from="{start}" to="E0"' in text
        assert f'<connection from="E0" to="{end}"' in text


def test_the_published_road_lets_two_lanes_go_straight_on_and_has_the_published_links(tmp_path: Path) -> None:
    need("sumo")
    road = network.build(tmp_path, PUBLISHED)
    assert (road.length, road.lanes) == (172.8, 3)
    assert road.exits == {"E4": (0, 1), "E5": (2,), "E6": (0,)}
    found = set(
        re.findall(r'<connection from="([^:"]+)" to="([^"]+)" fromLane="(\d)" toLane="(\d)"', road.file.read_text())
    )
    assert found == {(one.start, one.end, str(one.from_lane), str(one.to_lane)) for one in PUBLISHED.links}
    assert len(found) == 32


def test_a_plan_tells_how_many_lanes_its_road_has() -> None:
    assert WEAVING.lanes == 3
    assert set(WEAVING.sources) == {"road.nod.xml", "road.edg.xml"}
    assert PUBLISHED.sources["road.con.xml"].count("<connection ") == 32
    assert PUBLISHED.sources["road.con.xml"].count('pass="true"') == 18
    assert network.EDGE in {edge.name for edge in PUBLISHED.edges}


def test_what_lies_on_the_road_or_at_its_junctions_is_told_from_the_arms(road: Road) -> None:
    assert road.within(150.0, 45.0)  # E0
    assert road.within(40.0, 60.0)  # the first junction
    assert road.within(250.0, 50.0)  # the second
    assert not road.within(20.0, 45.0)
    assert not road.within(45.0, 80.0)
    assert not road.within(280.0, 45.0)


def test_a_road_that_was_built_is_taken_again(road: Road, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network, "CACHE", tmp_path / "cache")
    monkeypatch.setattr(network, "_run_netconvert", lambda work, name, plan: built(work / name, road))
    first = network.build(tmp_path)
    assert first.file.parent == tmp_path / "cache"
    monkeypatch.delattr(network, "_run_netconvert")
    assert network.build(tmp_path) == first
    assert [path.name for path in tmp_path.iterdir()] == ["cache"]
    assert first.file.stat().st_mode & 0o777 == 0o644  # whoever evaluates may read it
    assert list((tmp_path / "cache").iterdir()) == [first.file]


def test_where_the_package_cannot_be_written_the_road_goes_into_the_given_folder(
    road: Road, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(network, "CACHE", Path("/proc/nowhere"))
    monkeypatch.setattr(network, "_run_netconvert", lambda work, name, plan: built(work / name, road))
    assert network.build(tmp_path).file.parent == tmp_path


def test_other_sources_are_another_road(road: Road, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network, "CACHE", tmp_path)
    monkeypatch.setattr(network, "_run_netconvert", lambda work, name, plan: built(work / name, road))
    first = network.build(tmp_path)
    assert network.build(tmp_path, replace(WEAVING, options=("--no-turnarounds",))).file != first.file
    assert network.build(tmp_path, replace(WEAVING, edges=WEAVING.edges[:-1])).file != first.file


def test_sources_that_netconvert_refuses_get_its_own_words(
    road: Road, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(network, "CACHE", tmp_path / "cache")
    with pytest.raises(ProblemError):
        network.build(tmp_path, replace(WEAVING, nodes={}))
    assert list(tmp_path.iterdir()) == []


def built(file: Path, road: Road) -> Path:
    file.write_bytes(road.file.read_bytes())
    return file

"""Pictures of a short simulation: that they are there, and show what happened."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from oragent.domains.driving import pictures
from oragent.domains.driving.network import Road
from oragent.domains.driving.scenario import Scenario
from oragent.domains.driving.trials import Drive, drive
from problems.driving.controllers import IdmMobil


@pytest.fixture(scope="module")
def ended(road: Road, tmp_path_factory: pytest.TempPathFactory) -> Drive:
    return drive(Scenario(3, 42, horizon=45), road, IdmMobil(), tmp_path_factory.mktemp("drive"), record=True)


def test_the_animation_has_a_frame_a_second_and_vehicles_that_move(ended: Drive, road: Road, tmp_path: Path) -> None:
    pictures.animate({"seed": ended}, road, tmp_path / "a.gif")
    with Image.open(tmp_path / "a.gif") as film:
        assert film.n_frames == 45
        frames = []
        for number in (1, 30, 31):
            film.seek(number)
            frames.append(np.asarray(film.convert("RGB")).astype(int))
    below_title = slice(60, None)
    assert np.abs(frames[1] - frames[0])[below_title].sum() > 0
    assert np.abs(frames[2] - frames[1])[below_title].sum() > 0


def test_the_time_space_diagram_has_the_way_of_every_vehicle(ended: Drive, road: Road, tmp_path: Path) -> None:
    pictures.time_space({"seed": ended}, road, tmp_path / "t.png")
    with Image.open(tmp_path / "t.png") as picture:
        assert picture.size == (1320, 990)
        assert len(picture.convert("RGB").getcolors(1 << 24) or []) > 50
    for lane in range(road.lanes):
        segments, speeds = pictures.ways(ended, lane)
        assert len(segments) == len(speeds)
        for (before, start), (after, stop) in segments:
            assert after == before + 1
            assert stop >= start


@pytest.mark.slow
def test_two_drives_of_one_demand_are_shown_together(ended: Drive, road: Road, tmp_path: Path) -> None:
    both = {"best": ended, "seed": ended}
    pictures.animate({**both, "best": replace(ended, seconds=ended.seconds[:20])}, road, tmp_path / "a.gif")
    pictures.time_space(both, road, tmp_path / "t.png")
    with Image.open(tmp_path / "a.gif") as film:
        assert film.size == (960, 2 * 368)
        assert film.n_frames == 45
    with Image.open(tmp_path / "t.png") as picture:
        assert picture.size == (2 * 1320, 990)


def test_moments_are_those_in_which_most_weave(ended: Drive, road: Road, tmp_path: Path) -> None:
    counts = [pictures.weaving(ended, road, second) for second in range(len(ended.seconds))]
    assert max(counts) > 0 == counts[0]
    pictures.moments(ended, road, tmp_path / "m.png", count=1)
    pictures.moments(ended, road, tmp_path / "two.png", count=2)  # there are no two that are a minute apart
    with Image.open(tmp_path / "m.png") as one, Image.open(tmp_path / "two.png") as two:
        assert one.size == two.size == (960, 368)
        assert np.array_equal(np.asarray(one), np.asarray(two))

"""SUMO under both of its interfaces, and what becomes of its failures."""

import itertools
import os
import signal
import socket
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oragent._base.errors import CandidateError, ProblemError
from oragent.domains.driving import network, rules, simulation
from oragent.domains.driving.metrics import paper_score, score
from oragent.domains.driving.network import Road
from oragent.domains.driving.scenario import Scenario
from oragent.domains.driving.simulation import Connected, Hosted, VehicleCommand
from oragent.domains.driving.trials import drive, throughput
from problems.driving.controllers import IdmMobil, Wanderer, stand_still
from tests.extras import need

SHORT = Scenario(3, 42, horizon=90)


def wander(seed: int) -> Wanderer:
    return Wanderer(np.random.default_rng(seed))


@pytest.mark.parametrize("controller", [lambda: None, IdmMobil, partial(wander, 0)], ids=["sumo", "idm", "random"])
def test_both_backends_give_the_same_trajectory(controller: Callable[[], Any], road: Road, left_nothing: Path) -> None:
    hosted, connected = (
        drive(SHORT, road, controller(), left_nothing, backend=backend, record=True) for backend in (Hosted, Connected)
    )
    assert any(second.states for second in hosted.seconds)
    assert hosted == connected


def test_both_backends_give_the_same_trajectory_under_the_published_protocol(left_nothing: Path) -> None:
    need("libsumo")
    folder = left_nothing / "work"
    folder.mkdir()
    road = network.build(folder, rules.PUBLISHED.plan)
    scenario = Scenario(3, 42, horizon=90, rules=rules.PUBLISHED)
    hosted, connected = (
        drive(scenario, road, IdmMobil(), folder, backend=backend, record=True) for backend in (Hosted, Connected)
    )
    assert hosted == connected
    assert len(hosted.seconds) == 90
    folder.rmdir()


def test_vehicles_are_given_back_behind_the_road_but_not_under_the_published_protocol(left_nothing: Path) -> None:
    need("libsumo")
    speeds = {}
    for name, chosen in (("ours", rules.OURS), ("published", rules.PUBLISHED)):
        road = network.build(left_nothing, chosen.plan)
        scenario = Scenario(2, 42, horizon=90, rules=chosen)
        ended = drive(scenario, road, crawl, left_nothing, record=True)
        behind = [
            {one.vehicle: one for one in second.places if one.x > road.junctions[1][2]} for second in ended.seconds
        ]
        moves = [
            now[name].x - before[name].x
            for before, now in itertools.pairwise(behind)
            for name in now.keys() & before.keys()
        ]
        speeds[name] = max(moves)
    assert speeds["published"] <= 4.0 + 1e-6 < 6.0 < speeds["ours"]


def crawl(edge: dict[str, Any], vehicles: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Bring everybody to 4 m/s."""
    return [{"veh_id": one["veh_id"], "acceleration": 4.0 - one["speed"], "lane_changing": 0} for one in vehicles]


def test_a_simulation_is_the_same_again_whatever_ran_before_it(road: Road, left_nothing: Path) -> None:
    first = drive(SHORT, road, wander(1), left_nothing)
    drive(Scenario(2, 43, horizon=60), road, None, left_nothing)
    assert drive(SHORT, road, wander(1), left_nothing) == first
    assert drive(SHORT, road, wander(2), left_nothing) != first


def test_recording_changes_nothing_but_what_is_recorded(road: Road, left_nothing: Path) -> None:
    plain = drive(SHORT, road, IdmMobil(), left_nothing)
    recorded = drive(SHORT, road, IdmMobil(), left_nothing, record=True)
    assert recorded.figures == plain.figures
    assert [second.states for second in recorded.seconds] == [second.states for second in plain.seconds]
    assert not any(second.places for second in plain.seconds)
    for second in recorded.seconds:
        assert {state.vehicle for state in second.states} <= {place.vehicle for place in second.places}


def test_a_collision_counts_once_a_pair_however_long_it_lasts(road: Road, left_nothing: Path) -> None:
    ended = drive(SHORT, road, wander(0), left_nothing)
    events = [pair for second in ended.seconds for pair in second.collisions]
    assert ended.figures.collisions == len({frozenset(pair) for pair in events})
    assert 0 < ended.figures.collisions < len(events)


def test_figures_are_those_of_the_trajectory(road: Road, left_nothing: Path) -> None:
    ended = drive(SHORT, road, None, left_nothing)
    speeds = [state.speed for second in ended.seconds for state in second.states]
    assert ended.figures.mean_speed == pytest.approx(np.mean(speeds))
    assert ended.figures.speed_variance == pytest.approx(np.var(speeds))
    assert ended.figures.throughput == sum(len(second.arrived) for second in ended.seconds)
    assert ended.figures.throughput == throughput(SHORT, road, left_nothing)
    assert 20 < ended.figures.travel_time < 90  # 270 m and two junctions


def test_nobody_moves_under_a_motionless_controller_and_its_score_says_so(road: Road, left_nothing: Path) -> None:
    ended = drive(SHORT, road, stand_still, left_nothing)
    assert ended.figures.throughput == 0
    assert 65 < paper_score(ended.figures) <= 70
    assert score(ended.figures, throughput(SHORT, road, left_nothing)) < -29


@pytest.mark.slow
@pytest.mark.parametrize("trials", [2, 3])
def test_a_standstill_of_ten_minutes_is_worth_seventy_to_the_published_score(
    trials: int, road: Road, left_nothing: Path
) -> None:
    scenario = Scenario(trials, 42)
    ended = drive(scenario, road, stand_still, left_nothing)
    assert paper_score(ended.figures) == pytest.approx(70, abs=1.5)
    assert score(ended.figures, throughput(scenario, road, left_nothing)) == pytest.approx(-30, abs=1.5)


@pytest.mark.slow
def test_sumos_own_drivers_are_about_as_good_as_published(road: Road, left_nothing: Path) -> None:
    light = drive(Scenario(2, 42), road, None, left_nothing).figures
    assert paper_score(light) == pytest.approx(95.18, abs=1.0)


@pytest.mark.parametrize("backend", [Hosted, Connected])
def test_a_crash_in_the_middle_is_told_with_its_second(backend: Any, road: Road, left_nothing: Path) -> None:
    folder = left_nothing / "work"
    folder.mkdir()
    with backend(SHORT.write(folder, road)) as simulation:
        for _ in range(12):
            simulation.step(None)
        os.kill(simulation.pid, signal.SIGKILL)
        time.sleep(0.1)
        with pytest.raises(ProblemError, match="second 12") as caught:
            simulation.step(None)
    assert "\n" not in str(caught.value)
    empty(folder)


@pytest.mark.parametrize("backend", [Hosted, Connected])
def test_a_failed_command_is_told_with_its_vehicle(backend: Any, road: Road, left_nothing: Path) -> None:
    folder = left_nothing / "work"
    folder.mkdir()
    with backend(SHORT.write(folder, road)) as simulation:
        for _ in range(3):
            simulation.step(None)
        with pytest.raises(ProblemError, match="v999"):
            simulation.step([VehicleCommand("v999", 1.0, 0)])
    empty(folder)


def test_a_crash_of_libsumo_names_the_vehicle_at_hand(
    road: Road, left_nothing: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    libsumo = network.load("libsumo")
    monkeypatch.setattr(libsumo.vehicle, "setSpeed", lambda vehicle, speed: os.kill(os.getpid(), signal.SIGKILL))
    with pytest.raises(ProblemError):
        drive(SHORT, road, stand_still, left_nothing)


def test_a_bad_answer_ends_the_drive_and_its_simulation(road: Road, left_nothing: Path) -> None:
    before = children()
    with pytest.raises(CandidateError):
        drive(SHORT, road, lambda edge, vehicles: [], left_nothing)
    assert children() == before


def test_sumo_that_does_not_start_is_told(left_nothing: Path) -> None:
    need("libsumo")
    for backend in (Hosted, Connected):
        with pytest.raises(ProblemError), backend(["--net-file", "/nowhere"]) as simulation:
            simulation.step(None)


def test_a_window_needs_a_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ProblemError, match="--record"):
        Connected([], window=True)


@pytest.mark.slow
@pytest.mark.parametrize("backend", [Hosted, Connected])
def test_ten_simulations_leave_no_process_port_or_file(
    backend: Any, road: Road, left_nothing: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ports: list[int] = []
    free_port = simulation._free_port
    monkeypatch.setattr(simulation, "_free_port", lambda: ports.append(free_port()) or ports[-1])
    before, files = children(), open_files()
    for _ in range(10):
        drive(Scenario(2, 1, horizon=40), road, stand_still, left_nothing, backend=backend)
    assert children() == before
    assert open_files() == files
    for port in ports:
        with socket.socket() as probe:
            assert probe.connect_ex(("localhost", port)) != 0


def test_a_scenario_has_a_known_case_and_time_for_arrivals() -> None:
    with pytest.raises(ValueError, match="trials"):
        Scenario(4, 1)
    with pytest.raises(ValueError, match="horizon"):
        Scenario(2, 1, horizon=30)


def children() -> set[str]:
    return set(Path(f"/proc/self/task/{os.getpid()}/children").read_text().split())


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


def empty(folder: Path) -> None:
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()

"""Districts, their model and their names, against all schedules and against a clock."""

import itertools
import string
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from oragent._base.errors import ConfigError, ProblemError
from oragent.cli.app import app
from oragent.converse.conversation_request import ConversationRequest
from oragent.converse.models.model_files import begin_conversation
from oragent.modelling.operations import ModelSession
from oragent_benchmarks.converse.problems.district import (
    SFUSD,
    District,
    School,
    find_school,
    find_time,
    format_clock,
    parse_minutes,
    short_names,
)
from oragent_benchmarks.converse.problems.district_model import STUDENTS_A_UNIT, district_model
from oragent_benchmarks.converse.problems.schools import generate_district
from tests.converse.models.test_model_conversation import talk

SMALL = District(
    "small",
    (School("Ash HS", "HS", 500, 480), School("Oak ES", "ES", 300, 575), School("Elm MS", "MS", 450, 500)),
    (450, 500, 570),
)


def figures(schedule: tuple[int, ...]) -> tuple[float, float]:
    """Students at the busiest time and mean change in minutes, from the definitions."""
    loads = [sum(s.students for s, t in zip(SMALL.schools, schedule, strict=True) if t == time) for time in range(3)]
    changes = [abs(SMALL.times[t] - s.current) for s, t in zip(SMALL.schools, schedule, strict=True)]
    return float(max(loads)), sum(changes) / len(changes)


ALL = {times: figures(times) for times in itertools.product(range(3), repeat=3)}


def test_features_of_each_schedule_are_those_of_the_definition() -> None:
    for times, (load, deviation) in ALL.items():
        features = SMALL.features("".join(string.ascii_uppercase[time] for time in times))
        assert (features.load, features.deviation) == (load, pytest.approx(deviation))


@pytest.mark.parametrize(
    ("objective", "best"),
    [
        ("cost", min(load / STUDENTS_A_UNIT + deviation for load, deviation in ALL.values())),
        ("load_objective", min(load for load, _ in ALL.values())),
        ("deviation", min(deviation for _, deviation in ALL.values())),
    ],
)
def test_each_objective_of_the_model_is_the_best_of_all_schedules(objective: str, best: float) -> None:
    session = ModelSession(district_model(SMALL))
    session.ask(f"objective {objective}")
    assert session.ask("solve").objective.value == pytest.approx(best)


def test_what_is_in_the_model_has_its_unit() -> None:
    model = district_model(SMALL)
    units = {family.name: family.unit for family in (*model.parameters, *model.variables)}
    assert units == {
        "students": "", "current": "minutes", "minutes": "minutes", "starts": "", "change": "minutes", "load": "students",
    }  # fmt: skip


SCHOOL = School("a", "HS", 1, 480)


@pytest.mark.parametrize(
    ("times", "is_valid"),
    [
        ((480, 500), True), ((480,), False), ((500, 480), False), ((480, 480), False), ((480, 470, 490), False),
        ((480, 500, 490), False), ((0, 1439), True), ((-1, 480), False), ((480, 1440), False),
        (tuple(range(26)), True), (tuple(range(27)), False),
    ],
)  # fmt: skip
def test_times_rise_within_a_day(times: tuple[int, ...], is_valid: bool) -> None:
    if is_valid:
        assert District("d", (SCHOOL,), times).letters == string.ascii_uppercase[: len(times)]
    else:
        with pytest.raises(ProblemError):
            District("d", (SCHOOL,), times)


@pytest.mark.parametrize("names", [(), ("a", "A")])
def test_a_district_has_schools_of_different_names(names: tuple[str, ...]) -> None:
    with pytest.raises(ProblemError):
        District("d", tuple(School(name, "HS", 1, 480) for name in names), (480, 500))


@pytest.mark.parametrize(
    ("name", "students", "current", "is_valid"),
    [
        ("a", 0, 0, True), ("a", 0, 1439, True), ("a", -1, 480, False), ("a", 1, 1440, False), ("a", 1, -1, False),
        ("", 1, 480, False), (" a", 1, 480, False), ("a\nb", 1, 480, False), ("a" * 80, 1, 480, True),
        ("a" * 81, 1, 480, False),
    ],
)  # fmt: skip
def test_a_school_has_a_name_and_starts_within_a_day(name: str, students: int, current: int, is_valid: bool) -> None:
    if is_valid:
        School(name, "HS", students, current)
    else:
        with pytest.raises(ProblemError):
            School(name, "HS", students, current)


@given(minutes=st.integers(0, 1439))
def test_a_clock_is_written_and_read(minutes: int) -> None:
    hours, rest = divmod(minutes, 60)
    text = format_clock(minutes)
    assert text.endswith("AM") is (hours < 12)
    assert text.partition(":")[2][:2] == f"{rest:02d}"
    assert list(parse_minutes(text)) == [minutes]


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("7:50 AM", 0),
        ("7:50", 0),
        ("at 7:50am", 0),
        ("7:51", None),
        ("7:50 or 8:40", None),
        ("", None),
        ("7:50 PM", None),
    ],
)
def test_a_start_time_in_a_text(text: str, place: int | None) -> None:
    assert SFUSD.times[0] == 470
    assert find_time(SFUSD, text) == place


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("Ortega", 1),
        ("ortega (jose) pk", 1),
        ("Galileo HS", 5),
        ("HS", None),
        ("Francisco", None),
        ("", None),
        ("Frank", 2),
    ],
)
def test_a_school_in_a_text(text: str, place: int | None) -> None:
    assert find_school(SFUSD, text) == place


def test_short_names_mean_one_school() -> None:
    for name, word in short_names(SFUSD).items():
        assert SFUSD.schools[find_school(SFUSD, word)].name == name


@pytest.mark.parametrize(("schools", "times", "seed"), [(1, 3, 0), (501, 3, 0), (5, 1, 0), (5, 13, 0), (5, 3, -1)])
def test_numbers_out_of_range_are_refused(schools: int, times: int, seed: int) -> None:
    with pytest.raises(ConfigError):
        generate_district(schools, times, seed)


@pytest.mark.parametrize(("schools", "times"), [(2, 2), (500, 12), (9, 3)])
def test_a_drawn_district_has_even_times_and_starts_in_steps_of_five_minutes(schools: int, times: int) -> None:
    problem = generate_district(schools, times, 4)
    district = problem.district if hasattr(problem, "district") else problem.data
    assert (len(district.schools), len(district.times)) == (schools, times)
    assert (district.times[0], district.times[-1]) == (450, 570)
    steps = [later - earlier for earlier, later in itertools.pairwise(district.times)]
    assert max(steps) - min(steps) <= 1
    assert all(450 <= school.current <= 570 and school.current % 5 == 0 for school in district.schools)
    assert generate_district(schools, times, 4).name == problem.name
    if schools > 100:
        assert {school.current for school in district.schools} == set(range(450, 575, 5))


def test_a_conversation_about_a_district(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert CliRunner().invoke(app, ["bench", "district", "--out", "schools.json"]).exit_code == 0
    folder = begin_conversation(tmp_path, ConversationRequest("schools.json"))
    opened = talk(
        folder,
        'whatif starts["Ortega (Jose) PK", "7:50 AM"] = 1',
        "load <= 2500",
    )
    # 34.15 and 44.03: exact optima of all schedules
    assert opened.records[0].results[0].objective.value == pytest.approx(34.15)
    assert opened.records[1].results[0].objective.after.value == pytest.approx(44.03)
    # 2453 students and 11.5 minutes
    assert opened.records[2].results[0].objective.after.value == pytest.approx(24.53 + 11.5)

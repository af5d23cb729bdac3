"""The published protocol: its demands, its figures, and what is wrong with a file."""

from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oragent._base.errors import ProblemError
from oragent.domains.driving import metrics, protocol, rules, scenario
from oragent.domains.driving.evaluation import RoadBench
from oragent.domains.driving.metrics import Figures
from oragent.domains.driving.scenario import Departure, Scenario, draw, to_xml_file
from tests.extras import need

DATA = Path(__file__).resolve().parents[3].parent / "shared" / "data" / "driving"
# The published score of SUMO's own drivers (1.20), and what it is with the defaults of a later SUMO.
OWN = {"1.20": (95.176, 75.322), "1.28": (96.884, 86.161)}


@pytest.fixture
def bench(tmp_path: Path) -> RoadBench:
    need("libsumo")
    return RoadBench(tmp_path)


def test_sumos_own_drivers_get_the_published_score_on_the_published_demands(bench: RoadBench) -> None:
    if not DATA.is_dir():
        pytest.skip("the published demands are not here")
    try:
        expected = OWN[".".join(version("libsumo").split(".")[:2])]
    except (KeyError, PackageNotFoundError):
        pytest.skip("no figures for this SUMO")
    found = protocol.summary([protocol.files(DATA)], lambda scenario: bench.drive(scenario, lambda name: None))
    assert (found["light"]["score"], found["heavy"]["score"]) == pytest.approx(expected, abs=0.001)
    assert found["score"] == pytest.approx(sum(expected) / 2, abs=0.001)


def test_the_published_demands_have_the_published_numbers_of_vehicles() -> None:
    if not DATA.is_dir():
        pytest.skip("the published demands are not here")
    assert [len(scenario.departures) for scenario in protocol.files(DATA).values()] == [224, 312]


def test_published_figures_count_all_roads_and_end_with_the_last_vehicle(bench: RoadBench) -> None:
    few = draw(101, 3, 100)
    scenario = Scenario(3, 3, rules=rules.PUBLISHED, read_departures=few)
    ended = bench.drive(scenario, lambda name: None)
    assert ended.figures.throughput == len(few)
    assert len(ended.seconds) < 250
    assert ended.figures.mean_speed == round(ended.figures.mean_speed, 2)
    ours = bench.drive(replace(scenario, rules=rules.OURS, horizon=250), lambda name: None)
    assert len(ours.seconds) == 250
    assert ended.figures.critical_ttc > ours.figures.critical_ttc


def test_vehicles_of_one_second_stand_evenly_within_it() -> None:
    few = [Departure(f"v{place}", second, 0, "bus") for place, second in enumerate((5, 5, 5, 7))]
    text = to_xml_file(few, rules.PUBLISHED)
    assert [f'depart="{time}"' in text for time in ("5.2500", "5.5000", "5.7500", "7.5000")] == [True] * 4
    assert "departLane" not in text  # SUMO's defaults, whatever they are
    assert 'depart="5" departLane="best"' in to_xml_file(few, rules.OURS)


def test_the_score_of_several_pairs_is_their_mean_with_its_error() -> None:
    calm = Figures(0, 0, 0, 0, 0, mean_speed=12.5, speed_variance=4.0, throughput=200, travel_time=30.0)
    crashed = replace(calm, collisions=2)
    answers = iter([calm, calm, calm, crashed])
    found = protocol.summary(
        [protocol.drawn(1), protocol.drawn(2)],
        lambda scenario: _Ended(next(answers)),  # type: ignore[arg-type, return-value]
    )
    assert (found["score"], found["standard_error"]) == (87.5, 12.5)
    assert (found["light"]["score"], found["heavy"]["score"], found["heavy"]["collisions"]) == (100.0, 75.0, 1.0)


class _Ended:
    def __init__(self, figures: Figures) -> None:
        self.figures = figures


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 600), st.sampled_from("ptb"))).map(lambda rows: sorted(rows, key=lambda row: row[1])).filter(bool))  # fmt: skip
def test_what_is_written_as_rows_is_read_again(rows: list[tuple[int, int, str]]) -> None:
    parsed = [
        scenario._parse_departure(f"{route} {second} {kind}".split(), place, 7)
        for place, (route, second, kind) in enumerate(rows)
    ]
    assert [(one.route, one.second, one.kind[0]) for one in parsed if one] == rows


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("3 5 p,7 6 p", r"row 2 of the demand .*light.txt is '7 6 p'; expected 'route second type'"),
        ("3 5 p,2 4 p", "row 2 .* in the order of time"),
        ("3 5 x", "row 1 .* is '3 5 x'"),
        ("3 5", "row 1 .* is '3 5'"),
        ("", "row 1 .* is ''"),
        ("3 -5 p", "row 1 .* is '3 -5 p'"),
        ("3 999999999999 p", "row 1 .* is '3 999999999999 p'"),
        ("3 5 p," * 100_001, "has 100001 rows; expected at most 100000"),
        (b"\xff\xfe", "cannot be read"),
    ],
)
def test_a_demand_that_is_none_is_told_with_its_row(text: str | bytes, said: str, tmp_path: Path) -> None:
    (tmp_path / "light.txt").write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ProblemError, match=said) as caught:
        protocol.files(tmp_path)
    assert "\n" not in str(caught.value)


def test_a_missing_folder_or_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(
        ProblemError,
        match="nowhere",
    ):
        protocol.files(tmp_path / "nowhere")
    with pytest.raises(ProblemError, match="light"):
        protocol.files(tmp_path)


def test_the_published_formula_gives_the_published_score() -> None:
    light = Figures(0, 0, 0, 0, 10, mean_speed=11.63, speed_variance=6.48, throughput=223, travel_time=29.0)
    assert metrics.paper_score(light) == pytest.approx(95.176, abs=0.001)

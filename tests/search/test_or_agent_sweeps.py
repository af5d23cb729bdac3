"""Sweeps of a program before it is scored: which setting is chosen, and the amount of work that fills the limit."""

import asyncio
import math
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from oragent._base.budget import Budget
from oragent._base.direction import Direction
from oragent._base.errors import CandidateError, ConfigError
from oragent._base.protocol import Status
from oragent.search.calibration import Calibration
from oragent.search.candidate import Elite
from oragent.search.experiments import (
    CPU_S,
    MIN_S,
    PRACTICE,
    PairedDifference,
    ProbeResult,
    SizeResult,
    Subset,
    SweepResult,
    SweepRow,
)
from oragent.search.strategies.or_agent import sweeps

SOURCE = """A = 1.0  # param: A = 1.0, 0.5..8
W = 100  # param: W work

def f(x):
    return A * x * W
"""
PLAIN = SOURCE.replace("  # param: W work", "")
ON_PRACTICE = Subset((20,), "8", PRACTICE)
LIMIT_S, PLANNED = 10.0, 40


def make_run(**changes: Any) -> Any:
    """A round whose best program is the seed; a sweep returns ``result``, a probe takes W/100 s for 40 instances."""
    given: dict[str, Any] = {
        "limit_s": LIMIT_S, "planned": PLANNED, "instances": ON_PRACTICE, "cpu_s": math.inf, "clock_s": None,
        "experiment_s": 30.0, "sizes": {"train": [10, 20], "val": [20]}, "result": None,
    }  # fmt: skip
    given |= changes
    metrics = {} if given["planned"] is None else {"instances_done": given["planned"]}
    best = Elite(id="0.0", source="seed", score=5.0, features=None, metrics=metrics)
    swept: list[dict[str, Any]] = []
    probed: list[tuple[str, Subset]] = []

    async def sweep(source: str, words: Sequence[str], subset: Subset, cpu_s: float, **options: Any) -> SweepResult:
        swept.append({"source": source, "words": tuple(words), "subset": subset, "cpu_s": cpu_s, **options})
        if isinstance(given["result"], Exception):
            raise given["result"]
        return given["result"](source)

    async def probe_train(source: str, subset: Subset) -> ProbeResult:
        probed.append((source, subset))
        work = float(source.partition("W = ")[2].split()[0])
        seconds = work / 100 * int(subset.instances) / PLANNED
        size = SizeResult(20, Status.OK, 1.0, int(subset.instances), None, seconds, seconds)
        return ProbeResult((size,), "", seconds)

    return SimpleNamespace(
        settings=SimpleNamespace(
            budget=Budget(seconds=given["clock_s"]),
            limits=None,
            strategy=SimpleNamespace(experiment_s=given["experiment_s"]),
        ),
        problem=SimpleNamespace(
            heuristic_s=lambda limits: given["limit_s"], about=SimpleNamespace(sizes=given["sizes"])
        ),
        archive=SimpleNamespace(elites=lambda: [best], fitness=lambda score: -score),
        solutions=[],
        moment=SimpleNamespace(findings=[]),
        history=[],
        context=SimpleNamespace(core_share=1.0),
        experiments=SimpleNamespace(
            instances=given["instances"], cpu_s_left=given["cpu_s"], sweep=sweep, probe_train=probe_train
        ),
        swept=swept,
        probed=probed,
    )


def row(value: float, score: float | None, seconds: float | None = 1.0, gain: float | None = None) -> SweepRow:
    """A setting of A on eight instances; a gain below zero is shown to be better."""
    difference = None if gain is None else PairedDifference(gain, (gain - 0.1, gain + 0.1), 8)
    return SweepRow({"A": value}, score, seconds, 1.0, "late" if score is None else "", 8, difference=difference)


def result(*rows: SweepRow, source: str = PLAIN, subset: Subset = ON_PRACTICE) -> SweepResult:
    return SweepResult(rows, Direction.MINIMIZE, source, 1.0, subset=subset)


def elite(source: str, **metrics: Any) -> Elite:
    return Elite(id="1.0", source=source, score=5.0, features=None, metrics=metrics)


@pytest.mark.parametrize(
    ("words", "axes", "instances"),
    [
        (["A=1,2", "instances=16", "B"], ("A=1,2", "B"), "16"),
        (["instances=0"], (), "1"),
        (["instances=1"], (), "1"),
        (["INSTANCES=64"], (), "64"),
        (["instances=65"], (), "64"),
        (["instances=2", "instances=3", "instances=4"], (), "4"),
        (["A"], ("A",), "8"),
        (["instances=12345", "instances=x"], ("instances=12345", "instances=x"), "8"),
    ],
)
def test_a_word_of_a_sweep_asks_for_a_number_of_practice_instances(
    words: list[str], axes: tuple[str, ...], instances: str
) -> None:
    assert sweeps.split_instances(words, ON_PRACTICE) == (axes, Subset((20,), instances, PRACTICE))
    assert sweeps.split_instances(words, Subset((20,))) == (axes, Subset((20,)))


@pytest.mark.parametrize(
    ("changes", "names"),
    [({}, ["A"]), ({"limit_s": None}, ["A", "W"]), ({"instances": Subset((20,))}, ["A", "W"])],
)
def test_the_amount_of_work_is_swept_where_it_is_not_set_by_the_time_limit(
    changes: dict[str, Any], names: list[str]
) -> None:
    assert sweeps.list_numbers(make_run(**changes), SOURCE) == names


@pytest.mark.parametrize(
    ("changes", "seconds"),
    [
        ({}, CPU_S),
        ({"cpu_s": 300.0}, 150.0),
        ({"cpu_s": 119.0}, CPU_S),
        ({"cpu_s": 300.0, "clock_s": 1000.0}, 100.0),
        ({"clock_s": 2.0}, MIN_S),
    ],
)
def test_a_sweep_takes_half_of_the_seconds_for_experiments_and_a_tenth_of_the_clock(
    changes: dict[str, Any], seconds: float
) -> None:
    assert sweeps._sweep_limit(make_run(**changes)) == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("limit_s", "seconds", "fits"), [(10.0, 9.5, True), (10.0, 9.51, False), (10.0, None, True), (None, 99.0, True)]
)
def test_a_program_has_time_up_to_a_margin_of_the_limit(
    limit_s: float | None, seconds: float | None, fits: bool
) -> None:
    assert sweeps.has_time(make_run(limit_s=limit_s), seconds) is fits


def test_the_seconds_on_practice_instances_are_in_proportion_to_the_instances_of_a_score() -> None:
    run, swept = make_run(), result(row(1, 5.0, 2.0))
    assert sweeps.expected_seconds(run, PLAIN, None, swept, swept.rows[0]) == 2.0 * PLANNED / 8
    assert sweeps.expected_seconds(make_run(planned=None), PLAIN, None, swept, swept.rows[0]) is None


TIMED = {"heuristic_seconds": 6.0, "places_seconds": {"size 50": 1.0, "size 100": 5.0}}


@pytest.mark.parametrize(
    ("source", "metrics", "present_s", "seconds", "expected"),
    [
        ("parent", TIMED, 0.5, 2.0, 24.0),
        ("child", TIMED, 0.5, 2.0, 12.0),
        ("child", TIMED | {"places_seconds": {"size 50": 3.0}}, 0.5, 2.0, 4.0),
        ("child", TIMED | {"places_seconds": {"size 50": 0.0}}, 0.5, 2.0, None),
        ("child", TIMED | {"places_seconds": {}}, 0.5, 2.0, None),
        ("parent", TIMED, None, 2.0, None),
        ("parent", TIMED, 0.0, 2.0, None),
        ("parent", TIMED, 0.5, None, None),
        ("child", {"heuristic_seconds": "6"}, 0.5, 2.0, None),
        ("parent", {}, 0.5, 2.0, None),
    ],
)
def test_the_seconds_on_training_instances_are_scaled_by_those_of_the_scored_program(
    source: str, metrics: dict[str, Any], present_s: float | None, seconds: float | None, expected: float | None
) -> None:
    swept = result(row(1, 5.0, present_s), row(2, 4.0, seconds), subset=Subset((50,)))
    run, parent = make_run(), elite("parent", **metrics)
    assert sweeps.expected_seconds(run, source, parent, swept, swept.rows[1]) == expected
    assert sweeps.expected_seconds(run, source, None, swept, swept.rows[1]) is None


def test_a_program_that_was_not_scored_has_no_expected_seconds_in_its_present_setting() -> None:
    """Its sizes may differ from those of its parent, from which other settings are estimated by the parameters."""
    swept = result(row(1, 5.0, 1.0), row(2, 4.0, 1.0), subset=Subset((50,)))
    parent = elite("parent", **TIMED)
    first, second = (sweeps.expected_seconds(make_run(), "child", parent, swept, found) for found in swept.rows)
    assert (first, second) == (None, 6.0)
    assert sweeps.expected_seconds(make_run(), "parent", parent, swept, swept.rows[0]) == 6.0
    unlimited = make_run(experiment_s=None)
    assert sweeps.expected_seconds(unlimited, "child", parent, swept, swept.rows[1]) is None


def test_a_line_of_a_sweep_shows_score_or_difference_and_the_time() -> None:
    assert sweeps.sweep_line(row(1.5, 5.25, 2.0)) == "- A = 1.5: 5.25, about 2 s"
    assert sweeps.sweep_line(row(1.5, 5.25, None)) == "- A = 1.5: 5.25"
    assert sweeps.sweep_line(row(1.5, 5.25, 2.0), 7.0) == "- A = 1.5: 5.25, about 7 s when scored"
    assert sweeps.sweep_line(row(1.5, None, 2.0), 7.0) == "- A = 1.5: late"
    shown = sweeps.sweep_line(row(1.5, 5.25, None, -0.5))
    assert "5.25" not in shown
    assert str(PairedDifference(-0.5, (-0.6, -0.4), 8)) in shown


def test_the_instances_of_a_sweep_are_named_with_their_sizes() -> None:
    assert "(20)" in sweeps.experiment_words(make_run())
    assert "(30, 40)" in sweeps.experiment_words(make_run(instances=Subset((), "8", PRACTICE), sizes={"val": [30, 40]}))
    assert "10, 20)" in sweeps.experiment_words(make_run(instances=Subset()))
    assert "size" not in sweeps.experiment_words(make_run(instances=Subset(), sizes={}))


# --- the choice of a setting -----------------------------------------------------------------------------------------


def choose(swept: SweepResult, scored: Elite | None = None, refit: Any = None, **changes: Any) -> Calibration:
    return sweeps._choose_setting(make_run(**changes), swept.source, scored, swept, refit)


def listed(report: str) -> list[str]:
    """Values of A in the table of a report."""
    return [line.partition(":")[0].removeprefix("- A = ") for line in report.split("\n") if line.startswith("- A")]


def test_a_new_program_gets_the_best_setting_that_has_time() -> None:
    # 8 of 40 instances: 1.9 s fill 95 % of the limit when it is scored.
    swept = result(row(1, 5.0, 1.0), row(2, 3.0, 1.91), row(3, 4.0, 1.9), row(4, None))
    chosen = choose(swept)
    assert chosen.source == PLAIN.replace("A = 1.0", "A = 3.0")
    assert chosen.problem == ""
    assert listed(chosen.report) == ["2", "3", "1", "4"]
    assert "A = 3 is scored" in chosen.report
    slow = choose(result(row(1, 5.0, 1.0), row(2, 6.0)))
    assert slow.source == PLAIN


def test_on_training_instances_the_report_is_the_table() -> None:
    chosen = choose(result(row(1, 5.0), row(2, 3.0), subset=Subset((10,))))
    assert "A = 2.0" in chosen.source
    assert len(chosen.report.split("\n")) == 2


def test_a_scored_program_changes_only_to_a_setting_that_is_shown_better() -> None:
    swept = result(row(1, 5.0), row(2, 3.0, 1.0, -0.05), row(3, 4.0, 1.0, -0.5))
    assert "A = 3.0" in choose(swept, elite(PLAIN)).source
    assert "A = 3.0" in choose(swept, elite("other")).source
    unclear = result(row(1, 5.0), row(2, 3.0, 1.0, -0.05))
    stays = choose(unclear, elite(PLAIN))
    assert (stays.source, stays.problem) == (PLAIN, "")
    assert "A = 2 is scored" not in stays.report
    # The last line says that none is shown to be better.
    assert len(stays.report.split("\n")) == len(choose(unclear, elite("other")).report.split("\n"))
    assert "A = 2.0" in choose(unclear, elite("other")).source
    late = result(row(1, 5.0, 9.0), row(2, 3.0, 9.0, -0.5))
    assert choose(late, elite(PLAIN)).problem == ""


def test_where_no_setting_has_time_the_fastest_says_how_much_work_fits() -> None:
    # 20, 19.1 and 25 s of 10 s; 49.7 % of the work take 95 % of 10 s.
    late = result(row(1, 5.0, 4.0), row(2, 4.0, 3.82), row(3, 3.0, 5.0))
    chosen = choose(late)
    assert chosen.source == PLAIN
    assert all(part in chosen.problem for part in ("A = 2,", "10 s", "30 %"))
    assert listed(chosen.report) == ["3", "2", "1"]
    training = choose(result(row(1, 5.0, 4.0), subset=Subset((10,))), elite("parent", **TIMED))
    assert training.problem == ""
    failed = choose(result(row(1, None), row(2, None)))
    assert (failed.source, failed.problem) == (PLAIN, "")
    on_train = result(row(1, 5.0, 1.0), row(2, 4.0, 5.0), subset=Subset((50,)))
    slow = choose(on_train, elite("parent", **TIMED), limit_s=0.1)
    assert slow.problem == ""


def test_the_table_has_the_best_settings_and_on_practice_instances_the_chosen_one() -> None:
    rows = [row(1, 50.0, 1.0), row(0.5, 60.0, 1.0), *(row(value, float(value), 9.0) for value in range(2, 16))]
    chosen = choose(result(*rows))
    assert listed(chosen.report) == [*map(str, range(2, 2 + sweeps.MAX_SETTINGS)), "1"]
    swift = choose(result(*(row(value, float(value), 1.0) for value in range(1, 16))))
    assert listed(swift.report) == [*map(str, range(1, 1 + sweeps.MAX_SETTINGS))]
    on_train = choose(result(*rows, subset=Subset((10,))))
    assert len(listed(on_train.report)) == sweeps.MAX_SETTINGS


def test_the_heading_explains_differences_and_later_comparisons() -> None:
    plain = sweeps._describe_rules(result(row(1, 5.0), row(2, 4.0)))
    (paired,) = sweeps._describe_rules(result(row(1, 5.0), row(2, 4.0, 1.0, -0.5)))
    later = SweepRow({"A": 2}, 4.0, 1.0, 1.0, comparison=1, difference=PairedDifference(-0.5, None, 8))
    (halved,) = sweeps._describe_rules(result(row(1, 5.0), later))
    assert plain == []
    assert "more instances" not in paired
    assert "more instances" in halved


@pytest.mark.parametrize(("filled", "work"), [(80.0, 80.0), (100.0, 100.0), (120.0, 100.0), (None, 100.0)])
def test_the_chosen_setting_has_less_work_if_its_last_run_took_too_long(filled: float | None, work: float) -> None:
    asked: list[tuple[float, SweepRow]] = []

    def refit(present: float, found: SweepRow) -> float | None:
        asked.append((present, found))
        return filled

    swept = result(row(1, 5.0), row(2, 3.0), source=SOURCE)
    chosen = choose(swept, refit=refit)
    assert f"W = {work:g}" in chosen.source
    assert "A = 2.0" in chosen.source
    assert ("W = " in chosen.report) == (work == 80.0)
    assert asked == [(100, swept.rows[1])]
    changed = SweepRow({"A": 2.0, "W": 50.0}, 1.0, 1.0, 1.0)
    refilled = sweeps.fill_again(changed, sweeps.work_parameter(SOURCE), refit)
    assert refilled.values["W"] == 50.0
    assert asked[-1] == (50.0, changed)


# --- the amount of work ----------------------------------------------------------------------------------------------


def test_the_work_of_a_new_program_is_set_to_fill_its_limit() -> None:
    run = make_run()
    calibrated = asyncio.run(sweeps.calibrate_work(run, SOURCE))
    # One hundredth of a second for each unit of work: nine tenths of 10 s are 900.
    assert "W = 900 " in calibrated.source
    assert calibrated.report
    assert {subset for _, subset in run.probed} == {ON_PRACTICE}
    assert run.probed[0][0] == SOURCE


@pytest.mark.parametrize(
    ("instances", "sizes", "planned", "count"),
    [
        (Subset((20,), "8", PRACTICE), [20], 40, "8"),
        (Subset((20,), "8", PRACTICE), [20, 30], 6, "6"),
        (Subset((), "8", PRACTICE), [20, 30], 10, "5"),
        (Subset((20, 30, 40), "8", PRACTICE), [20], 10, "3"),
        (Subset((), "8", PRACTICE), [20, 30, 40], 2, "1"),
        (Subset((), "8", PRACTICE), [], 5, "5"),
        (Subset((20,), "", PRACTICE), [20], 7, "7"),
    ],
)
def test_a_calibration_takes_no_more_instances_of_each_size_than_a_score(
    instances: Subset, sizes: list[int], planned: int, count: str
) -> None:
    run = make_run(instances=instances, sizes={"val": sizes}, planned=planned)
    asyncio.run(sweeps.calibrate_work(run, SOURCE))
    assert {subset.instances for _, subset in run.probed} == {count}
    assert {subset.sizes for _, subset in run.probed} == {instances.sizes}


@pytest.mark.parametrize(
    "changes",
    [{"limit_s": None}, {"planned": None}, {"instances": Subset((20,))}, {"cpu_s": MIN_S - 0.01}, {"clock_s": 39.0}],
)
def test_a_program_whose_work_cannot_be_measured_stays_as_it_is(changes: dict[str, Any]) -> None:
    run = make_run(**changes)
    assert asyncio.run(sweeps.calibrate_work(run, SOURCE)).source == SOURCE
    assert not run.probed
    assert asyncio.run(sweeps.calibrate_work(make_run(), PLAIN)) == Calibration(PLAIN)


def test_a_calibration_begins_with_half_a_second_and_with_a_quarter_of_the_clock_for_one_run() -> None:
    for changes in ({"cpu_s": MIN_S}, {"clock_s": 40.0}):
        run = make_run(**changes)
        asyncio.run(sweeps.calibrate_work(run, SOURCE))
        assert run.probed


@pytest.mark.parametrize("error", [ConfigError("none left"), CandidateError("another frame")])
def test_a_calibration_that_cannot_run_leaves_the_program_as_it_is(error: Exception) -> None:
    run = make_run()

    async def refuse(source: str, subset: Subset) -> ProbeResult:
        raise error

    run.experiments.probe_train = refuse
    assert asyncio.run(sweeps.calibrate_work(run, SOURCE)) == Calibration(SOURCE)


# --- a sweep as a whole ----------------------------------------------------------------------------------------------


def sweep(run: Any, source: str, words: Sequence[str], scored: Elite | None = None, **options: Any) -> Calibration:
    return asyncio.run(sweeps.sweep_numbers(run, source, words, scored, **options))


def better(source: str) -> SweepResult:
    return result(row(1, 5.0, 1.0), row(2, 3.0, 1.0, -0.5), source=source)


def test_a_new_program_fills_its_limit_before_its_settings_are_compared() -> None:
    run = make_run(result=better)
    swept = sweep(run, SOURCE, ["A=1,2", "W=5", "instances=16"], None, least=3)
    assert run.probed
    (asked,) = run.swept
    assert (asked["words"], asked["subset"], asked["cpu_s"]) == (("A=1,2",), Subset((20,), "16", PRACTICE), CPU_S)
    assert asked["least"] == 3
    assert "W = 900 " in asked["source"]
    # 20 s for the planned 40 instances: 87 % of 10 s
    assert asked["refit"](100, row(2, 3.0, 4.0)) == pytest.approx(43, abs=1)
    assert "A = 2.0" in swept.source
    assert swept.report.index("W = ") < swept.report.index("- A = 2")


def test_a_scored_program_keeps_its_work_and_work_alone_is_only_measured() -> None:
    run = make_run(result=better)
    swept = sweep(run, SOURCE, ["A=1,2"], elite(SOURCE))
    assert not run.probed
    assert run.swept[0]["source"] == SOURCE
    assert run.swept[0]["least"] == 0
    assert swept.report == swept.report.strip()
    for scored in (elite(SOURCE), None, elite("other")):
        run = make_run(result=better)
        measured = sweep(run, SOURCE, ["W=5,10"], scored)
        assert (len(run.swept), bool(run.probed)) == (0, True)
        assert "W = 900 " in measured.source
    run = make_run(result=better)
    sweep(run, SOURCE, ["A=1,2"], elite("other"))
    assert run.probed


def test_a_program_of_which_no_work_fits_is_not_swept(monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(run: Any, source: str) -> Calibration:
        return Calibration(source, "table", "too slow")

    monkeypatch.setattr(sweeps, "calibrate_work", fail)
    run = make_run(result=better)
    assert sweep(run, SOURCE, ["A=1,2"]) == Calibration(SOURCE, "table", "too slow")
    assert not run.swept


@pytest.mark.parametrize(
    "changes", [{"limit_s": None}, {"planned": None}, {"instances": Subset((20,))}, {"source": PLAIN}]
)
def test_work_is_a_number_like_others_where_no_limit_can_be_filled(changes: dict[str, Any]) -> None:
    source = changes.pop("source", SOURCE)
    run = make_run(result=better, **changes)
    sweep(run, source, ["A=1,2", "W=5"])
    (asked,) = run.swept
    assert asked["words"] == ("A=1,2", "W=5")
    assert asked["refit"] is None
    assert not run.probed


@pytest.mark.parametrize("error", [ConfigError("no such number"), CandidateError("another frame")])
def test_a_sweep_that_cannot_run_is_reported(error: Exception) -> None:
    for source in (PLAIN, SOURCE):
        failed = sweep(make_run(result=error), source, ["A=1,2"])
        assert failed.problem == ""
        assert str(error) in failed.report
        assert failed.report == failed.report.strip()
    # The measured work stays.
    assert "W = 900 " in failed.source
    assert "W = " in failed.report

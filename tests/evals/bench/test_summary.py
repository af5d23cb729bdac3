"""What cells come to without any search: by hand, against numpy and scipy."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oragent._base.direction import Direction
from oragent.evals.bench import tables
from oragent.evals.bench.plan import BenchCell, BenchPlan
from oragent.evals.bench.result import BenchResult, Cost, Measure, ModeScore, ModeScores, compare_pairs, mean_known
from oragent.evals.bench.summary import summarise_results
from tests.evals.bench.dice import TERMS, result, tournament


def thrown(player: str, seed: int, *throws: int, die: str = "d6") -> BenchResult:
    return result(BenchCell(die, player, seed), list(throws))


GAME = [thrown("ann", 0, 1, 4, 2), thrown("ann", 1, 3, 3, 5), thrown("bob", 0, 2, 1, 1), thrown("bob", 1, 3, 2, 1)]


def test_a_benchmark_without_a_search_is_summed_up_in_its_own_words() -> None:
    summary = summarise_results(tournament(), GAME)
    (die,) = summary.subjects
    assert tables.finals_table(die, TERMS) == tables.TextTable(
        ("player", "runs", "eyes", "eyes, 95 %", "± seeds", "± faces", "again", "again, 95 %", "failed"),
        (
            ("ann", "2", "4.5", "4 to 5", "0.707", "–", "–", "–", "16.7 %"),
            ("bob", "2", "2.5", "2 to 3", "0.707", "–", "–", "–", "50 %"),
        ),
    )
    assert tables.differences_table(die).rows == (
        ("ann − bob", "eyes", "+2 (better)", "–", "–", "0", "0.500", "0.500", "no difference shown"),
    )
    assert die.target == 3.0  # from a one to five eyes
    assert tables.target_table(die, TERMS) == tables.TextTable(
        ("player", "runs that did", "throws", "tokens", "money", "in all: throws", "tokens", "money"),
        (
            ("ann", "2 of 2", "2", "15", "$0.0000", "3", "30", "$0.0000"),
            ("bob", "1 of 2", "–", "–", "–", "3", "30", "$0.0000"),
        ),
    )
    assert tables.describe_scales(die, TERMS) == ["eyes: 0 is 1 (a one), 1 is 5 (best of these runs)"]
    assert tables.overall_table(summary) == tables.TextTable(
        ("player", "mode", "all dice", "d6"),
        (
            ("ann", "eyes", "0.875", "0.875"), ("ann", "again", "–", "–"),
            ("bob", "eyes", "0.375", "0.375"), ("bob", "again", "–", "–"),
        ),
    )  # fmt: skip


def test_without_a_baseline_there_is_neither_scale_nor_target_and_all_else_is_there() -> None:
    summary = summarise_results(tournament(), [replace(one, baselines={}) for one in GAME])
    (die,) = summary.subjects
    assert (die.scales, die.target, summary.overall) == ({}, None, {})
    assert [row.means["eyes"].mean for row in die.rows] == [4.5, 2.5]
    assert [row.reached for row in die.rows] == [(), ()]


def test_contestants_keep_the_order_of_the_plan_though_rows_are_ranked() -> None:
    plan = BenchPlan(TERMS, {"d6": 6}, {name: {} for name in ("bob", "late", "ann")}, (0, 1))
    summary = summarise_results(plan, GAME)
    assert summary.contestants == ("bob", "late", "ann")
    assert [row.contestant for row in summary.subjects[0].rows] == ["ann", "bob"]


def test_a_mode_in_which_one_run_has_no_score_has_no_mean() -> None:
    some = [replace(one, scores=one.scores | {"again": ModeScore(3.0)}) if one.cell.seed else one for one in GAME]
    (die,) = summarise_results(tournament(), some).subjects
    assert [sorted(row.means) for row in die.rows] == [["eyes"], ["eyes"]]
    assert [(one.mode, one.test.pairs) for one in die.differences] == [("eyes", 2), ("again", 1)]


@given(st.lists(st.integers(1, 6), min_size=1, max_size=8), st.floats(0.5, 6.5), st.sampled_from(Direction))
def test_a_score_is_reached_by_the_first_that_is_as_good(
    throws: list[int], target: float, direction: Direction
) -> None:
    made = replace(thrown("ann", 0, *throws), measure=Measure("", direction))
    good = [at for at, one in enumerate(throws, 1) if direction.fitness(one) >= direction.fitness(target)]
    assert made.cost_to_reach(target) == (Cost(good[0], 10 * good[0]) if good else None)


def test_differences_may_be_paired_by_case_and_held_against_one_contestant() -> None:
    cases = {
        "rules": {f"q{number}": ModeScore(float(number % 3), 0.5) for number in range(9)},
        "tools": {f"q{number}": ModeScore(float(number % 3) + (number < 7), 0.5) for number in range(9)},
        "words": {f"q{number}": ModeScore(0.0) for number in range(4, 12)},
        "other": {"elsewhere": ModeScore(9.0)},
    }
    groups = {name: ModeScores(name, scores) for name, scores in cases.items()}
    pairs = [(groups[name], groups["rules"]) for name in ("tools", "words", "other")]
    tools, words = compare_pairs(pairs, "success", Direction.MAXIMIZE)
    assert (tools.first, tools.second, tools.test.pairs) == ("tools", "rules", 9)
    assert tools.test.mean == pytest.approx(7 / 9)
    assert tools.test.p == pytest.approx(8 * 0.5**9)  # the signs of seven ones must stay, those of two zeros are free
    assert tools.adjusted == pytest.approx(2 * tools.test.p)
    assert words.test.pairs == 5
    assert words.test.mean == pytest.approx(-6 / 5)
    assert words.test.p == pytest.approx(2 * 0.5**4)
    (turned,) = compare_pairs(pairs[:1], "success", Direction.MINIMIZE)
    assert turned.test.mean == -tools.test.mean
    assert turned.test.p == pytest.approx(tools.test.p)


def test_a_mean_of_which_one_value_is_unknown_is_unknown() -> None:
    assert mean_known([1.0, 2.0]) == 1.5
    assert mean_known([1.0, None]) is None
    assert mean_known([]) is None

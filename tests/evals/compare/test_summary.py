"""What runs come to, on runs made by hand whose figures are known."""

from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
import yaml

from oragent._base.direction import Direction
from oragent._base.errors import ConfigError, StoreError
from oragent._base.statistics import adjust_holm, sign_flip_interval, sign_flip_test
from oragent.evals.bench import tables
from oragent.evals.bench.charts import best_so_far, draw_benchmark
from oragent.evals.bench.plan import BenchCell, BenchPlan
from oragent.evals.bench.result import BenchResult, ModeScore
from oragent.evals.bench.summary import BenchSummary, SubjectSummary, find_leader
from oragent.evals.bench.summary import summarise_results as summed
from oragent.evals.compare.command import describe_power, describe_test_limits, describe_verdict
from oragent.evals.compare.plan import TERMS
from oragent.evals.compare.runner import read_run
from oragent.search.store import Store
from tests.report import runs
from tests.report.runs import Made

PARTS = ("subject", "contestant")


def a_run(
    folder: Path,
    strategy: str,
    seed: int,
    scores: list[float | None],
    test: float | None = None,
    direction: str = "minimize",
    **more: object,
) -> BenchResult:
    """A run whose candidates have these scores after a seed heuristic of 10; each has cost a reply of 1,200 tokens."""
    path = folder / f"{strategy}{seed}"
    runs.describe(path, direction, (), **more)
    made = [Made(f"{runs.SEED}# {number}\n", score, None) for number, score in enumerate(scores, 1)]
    runs.write(path, [[Made(runs.SEED, 10.0, None, (), "seed")], *([one] for one in made)], direction=direction)
    with Store(path / "run.db") as store:
        for number in range(1, len(scores) + 1):
            runs.reply(store, number)
    if test is not None:
        figures = {"seed": {"score": 12.0}, "best": {"score": test, "ci95": [test - 1, test + 2]}}
        (path / "test.yaml").write_text(yaml.safe_dump(figures))
    return read_run(BenchCell("tsp_aco", strategy, seed), path)


def summarise(results: list[BenchResult]) -> BenchSummary:
    """Sum up these results, as a comparison of nothing else would."""
    subjects, contestants = (dict.fromkeys(getattr(one.cell, part) for one in results) for part in PARTS)
    plan = BenchPlan(TERMS, subjects, {name: {} for name in contestants}, tuple({one.cell.seed: 0 for one in results}))
    return summed(plan, results)


def compared(folder: Path, *, direction: str = "minimize", **more: object) -> SubjectSummary:
    """Two strategies, two seeds: gp ends at 7 and 8, random at 9 and 9."""
    made = [
        a_run(folder, "random", 0, [9.5, 9.0, None, None], 11.0, direction, **more),
        a_run(folder, "random", 1, [None, 9.0, 9.2, 9.1], 11.0, direction, **more),
        a_run(folder, "gp", 0, [8.5, 7.0, 9.0, 9.0], 9.0, direction, **more),
        a_run(folder, "gp", 1, [9.0, 8.8, 8.2, 8.0], 10.0, direction, **more),
    ]
    (found,) = summarise(made).subjects
    return found


def test_the_better_mean_comes_first_and_failures_are_counted_over_all_seeds(tmp_path: Path) -> None:
    found = compared(tmp_path)
    assert [row.contestant for row in found.rows] == ["gp", "random"]
    assert [row.means["val"].mean for row in found.rows] == [7.5, 9.0]
    assert [row.failed for row in found.rows] == [0.0, 3 / 8]
    assert found.rows[0].spread == pytest.approx(np.std([7, 8], ddof=1))
    assert found.rows[1].spread == 0.0


def test_a_published_best_is_one_on_val_and_the_best_found_is_one_on_test(tmp_path: Path) -> None:
    found = compared(tmp_path, published={"best": 6.0})
    assert found.rows[0].normalised == {"val": pytest.approx((10 - 7.5) / (10 - 6)), "test": pytest.approx(2.5 / 3)}
    assert found.rows[1].normalised == {"val": pytest.approx(0.25), "test": pytest.approx(1 / 3)}
    assert found.scales["val"].source == "best published"
    assert found.scales["test"].source == "best of these runs"


@pytest.mark.parametrize("published", ["2011 bins, on other instances", 10.5])
def test_a_published_best_that_is_no_number_or_worse_than_the_seed_is_no_scale(
    tmp_path: Path, published: object
) -> None:
    found = compared(tmp_path, published={"best": published})
    assert (found.scales["val"].best, found.scales["val"].source) == (7.0, "best of these runs")


def test_a_difference_is_above_zero_when_the_first_is_better_whatever_the_direction(tmp_path: Path) -> None:
    low = compared(tmp_path / "low").differences[0]
    assert (low.first, low.second, low.mode, low.test.pairs) == ("gp", "random", "val", 2)
    assert low.test.mean == pytest.approx((2 + 1) / 2)
    assert low.test.p == 0.5
    high = compared(tmp_path / "high", direction="maximize").differences[0]  # all candidates are worse than the seed
    assert high.test.mean == 0


def test_a_difference_is_printed_as_first_minus_second_and_says_which_way_is_good(tmp_path: Path) -> None:
    low = compared(tmp_path / "low")
    ends = {row.contestant: row.means["val"].mean for row in low.rows}
    raw = ends["gp"] - ends["random"]
    assert tables.differences_table(low).rows[0][2] == f"{raw:+.3g} (better)"
    assert tables.differences_table(replace(low, direction=Direction.MAXIMIZE)).rows[0][2] == "+1.5 (better)"
    lost = replace(low.differences[0], test=replace(low.differences[0].test, mean=-2.0, low=-3.0, high=1.0))
    row = tables.differences_table(replace(low, differences=(lost,))).rows[0]
    assert row[2:5] == ("+2 (worse)", "-1 to +3", "2")


def test_pairs_are_made_of_equal_seeds_and_missing_ones_left_out(tmp_path: Path) -> None:
    made = [a_run(tmp_path, "gp", seed, [8.0 - seed]) for seed in range(3)]
    made += [a_run(tmp_path, "random", seed, [9.0]) for seed in (2, 0)]
    (found,) = summarise(made).subjects
    assert (found.differences[0].test.pairs, found.differences[0].test.mean) == (2, 2.0)
    assert [one.mode for one in found.differences] == ["val"]  # none of them was scored on the held-out set


def test_beside_each_difference_stands_its_own_half_width_whatever_the_noise_of_one_score(tmp_path: Path) -> None:
    ends = [8.0, 7.9, 7.4, 7.9, 7.8, 7.7]
    made = [a_run(tmp_path, "gp", seed, [end]) for seed, end in enumerate(ends)]
    made += [a_run(tmp_path, "random", seed, [9.0]) for seed in range(6)]
    low, high = sign_flip_interval([9.0 - end for end in ends])
    for noise in (0.1, 5.0):
        results = [replace(one, scores={"val": ModeScore(one.scores["val"].value, noise)}) for one in made]
        (found,) = summarise(results).subjects
        row = tables.differences_table(found).rows[0]
        assert row[3:5] == (f"{-high:+.3g} to {-low:+.3g}", f"{(high - low) / 2:.3g}")
        assert row[-2:] == ("0.031", "gp is better")
        assert tables.finals_table(found, TERMS).rows[0][5] == f"{noise:g}"


def test_too_few_seeds_have_no_half_width(tmp_path: Path) -> None:
    row = tables.differences_table(compared(tmp_path)).rows[0]
    assert row == ("gp − random", "val", "-1.5 (better)", "–", "–", "0.707", "0.500", "0.500", "no difference shown")


def make_plan(strategies: int, seeds: int, against: str | None = None) -> BenchPlan:
    names = {f"s{number}": {} for number in range(strategies)}
    return BenchPlan(TERMS, {"toy": None}, names, tuple(range(seeds)), against=against)


@pytest.mark.parametrize("against", [None, "s1"])
@pytest.mark.parametrize("strategies", [2, 3, 6])
def test_the_power_of_a_plan_is_that_of_its_tests(strategies: int, against: str | None) -> None:
    """With the named number of seeds, and no smaller one, all differences may be significant after Holm's correction."""
    pairs = len(make_plan(strategies, 1, against).pairs)
    assert pairs == (strategies - 1 if against else strategies * (strategies - 1) // 2)
    for seeds in range(2, 14):
        best = sign_flip_test([1.0] * seeds)
        is_enough = adjust_holm([best] * pairs)[0] < 0.05
        assert (describe_test_limits(make_plan(strategies, seeds, against)) == "") == is_enough
        assert ("no difference" in describe_power(make_plan(strategies, seeds, against))) != is_enough


def test_three_strategies_and_six_seeds_can_show_nothing() -> None:
    text = describe_power(make_plan(3, 6))
    assert "0.0938" in text
    assert " 7 seeds" in text
    # Against one strategy, 15 pairs are 5.
    assert " 8 with --against s0" in describe_power(make_plan(6, 6))
    assert " 10 seeds" in describe_power(make_plan(6, 6))


def test_only_pairs_with_the_strategy_of_the_plan_are_compared(tmp_path: Path) -> None:
    made = [a_run(tmp_path, name, 0, [end]) for name, end in (("gp", 8.0), ("random", 9.0), ("eoh", 7.0))]
    plan = BenchPlan(TERMS, {"tsp_aco": 0}, {name: {} for name in ("gp", "random", "eoh")}, (0,), against="random")
    (found,) = summed(plan, made).subjects
    assert [(one.first, one.second) for one in found.differences] == [("eoh", "random"), ("gp", "random")]
    with pytest.raises(ConfigError, match="nobody"):
        replace(plan, against="nobody")


def test_the_target_lies_half_way_and_its_cost_is_what_was_paid_until_then(tmp_path: Path) -> None:
    found = compared(tmp_path)
    assert found.target == 8.5  # from 10 to 7
    gp, random = found.rows
    assert [one.work for one in gp.reached] == [2, 4]  # the seed heuristic is the first evaluation
    assert [one.tokens for one in gp.reached] == [1200, 3600]
    assert [one.money for one in gp.reached] == pytest.approx([0.01, 0.03])
    assert random.reached == ()
    in_all = ("5", "4,800", "$0.0400")
    assert tables.target_table(found, TERMS).rows == (
        ("gp", "2 of 2", "3", "2,400", "$0.0200", *in_all), ("random", "0 of 2", "–", "–", "–", *in_all),
    )  # fmt: skip


def test_where_nothing_beats_the_seed_there_is_no_target_and_no_scale(tmp_path: Path) -> None:
    (found,) = summarise([a_run(tmp_path, "gp", 0, [11.0, None], published={})]).subjects
    assert found.target is None
    assert found.rows[0].normalised == {"val": None, "test": None}
    assert found.rows[0].reached == ()


def test_over_all_problems_counts_who_has_a_score_on_each(tmp_path: Path) -> None:
    one = [a_run(tmp_path / "a", name, 0, [8.0]) for name in ("gp", "random")]
    other = replace(a_run(tmp_path / "b", "gp", 0, [6.0], published={}), cell=BenchCell("other", "gp", 0))
    assert list(summarise([*one, other]).overall) == ["gp"]


def test_the_curve_of_a_run_stays_where_it_ended(tmp_path: Path) -> None:
    made = [a_run(tmp_path, "gp", 0, [None, 9.0]), a_run(tmp_path, "gp", 1, [8.0, 8.5, 7.0])]
    assert best_so_far(made, 5).tolist() == [[10, 10, 9, 9, 9], [10, 8, 8, 7, 7]]


@pytest.mark.slow
def test_a_strategy_that_nobody_knows_has_its_place_in_every_figure(tmp_path: Path) -> None:
    names = ("gp", "random", "hill_climber")
    drawings = draw_benchmark(summarise([a_run(tmp_path, name, 0, [9.0, 8.0], 9.0) for name in names]))
    for drawing in drawings.values():
        assert all(f">{name}</text>" in drawing.svg for name in names)


def test_tokens_and_money_are_those_of_the_rounds_until_a_candidate(tmp_path: Path) -> None:
    """Held against a sum over the replies for each step."""
    made = a_run(tmp_path, "gp", 0, [9.5, None, 9.0, 9.5, 9.2, 8.0])
    with Store(made.folder / "run.db") as store:
        runs.reply(store, 3, 1, money=None)
        runs.reply(store, 5, 1, tokens_in=7, money=0.5)
        records, replies = store.records(), store.replies.all_replies()
    found = read_run(made.cell, made.folder).curve
    assert len(found) == 6
    for step in found:
        first = next(one for one in records if one.score == step.score)
        paid = [one for one in replies if int(one.case) <= first.round]
        assert step.paid.tokens == sum(one.tokens_in + one.tokens_out for one in paid)
        assert step.paid.money == sum(one.money or 0.0 for one in paid)
        assert step.paid.unpriced == sum(one.money is None for one in paid)


@pytest.mark.parametrize(
    "text", ["seed: {}\n", "seed: 3\n", "[", "seed: {score: high}\nbest: {score: 1}\n", "seed: {score: null}\n"]
)
def test_a_held_out_file_that_says_no_score_is_one_line(tmp_path: Path, text: str) -> None:
    result = a_run(tmp_path, "gp", 0, [9.0])
    (result.folder / "test.yaml").write_text(text)
    with pytest.raises(StoreError) as caught:
        read_run(result.cell, result.folder)
    assert "\n" not in str(caught.value)


def test_figures_of_the_held_out_set_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    result = a_run(tmp_path, "gp", 0, [9.0])
    (result.folder / "test.yaml").write_text("seed: {}\n")
    with pytest.raises(StoreError, match="score"):
        read_run(result.cell, result.folder)


def runs_of(folder: Path, seeds: int, **ends: list[float]) -> BenchSummary:
    """Runs that end at these scores, one a seed."""
    return summarise(
        [
            a_run(folder, name, seed, [values[seed % len(values)]])
            for name, values in ends.items()
            for seed in range(seeds)
        ]
    )


@pytest.mark.slow
def test_nobody_is_crowned_without_evidence(tmp_path: Path) -> None:
    summary = runs_of(tmp_path, 2, random=[7.0], gp=[8.0])
    found = find_leader(summary)
    assert (found.name, found.p, found.is_shown) == ("random", 0.5, False)
    assert (
        describe_verdict(summary)
        == "No strategy is shown to be ahead; random has the highest mean (p = 0.5; with 2 paired runs the smallest possible p is 0.5; at least 6 paired runs are needed for p < 0.05)."
    )
    alike = find_leader(runs_of(tmp_path / "alike", 6, random=[8.0], gp=[8.0]))
    assert (alike.p, alike.is_shown) == (1.0, False)


def test_who_wins_on_every_seed_is_ahead_when_there_are_enough(tmp_path: Path) -> None:
    summary = runs_of(tmp_path, 6, random=[9.0], gp=[8.0, 7.5])
    assert (find_leader(summary).name, find_leader(summary).p) == ("gp", 2 / 2**6)
    assert describe_verdict(summary) == "gp is ahead of all others (p = 0.031)."


@pytest.mark.slow
def test_a_leader_must_beat_each_of_the_others_at_a_level_for_all(tmp_path: Path) -> None:
    summary = runs_of(tmp_path, 6, random=[9.0], gp=[8.0], eoh=[8.5])
    assert find_leader(summary).p == pytest.approx(2 * 2 / 2**6)
    assert not find_leader(summary).is_shown


def test_one_strategy_alone_has_nobody_to_be_ahead_of(tmp_path: Path) -> None:
    assert describe_verdict(runs_of(tmp_path, 6, gp=[8.0])) == "There is one strategy only: nothing to hold it against."


@pytest.mark.slow
def test_axes_read_in_the_units_of_the_scores(tmp_path: Path) -> None:
    made = [
        a_run(tmp_path, name, seed, [2094.31 + shift, 2094.3 + shift])
        for name, shift in (("gp", 0.0), ("random", 0.01))
        for seed in range(2)
    ]
    made = [replace(one, baselines={"val": ModeScore(2094.35)}) for one in made]
    for drawing in draw_benchmark(summarise(made)).values():
        texts = [element.text or "" for element in ElementTree.fromstring(drawing.svg).iter()]
        assert not any("e3" in text or "e+" in text for text in texts)
        numbers = [float(text) for text in texts if text.replace(".", "").isdigit()]
        assert max(numbers) >= 2000

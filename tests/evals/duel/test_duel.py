"""Duels with a pool of ours: who is better is known, and every evaluation is counted."""

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from oragent._base.direction import Direction
from oragent._base.errors import ConfigError, OragentError, ProblemError, StoreError
from oragent._base.statistics import relative_gain
from oragent.evals.duel.command import describe_duel, instance_table, write_page
from oragent.evals.duel.contestants import Contestant
from oragent.evals.duel.runner import Duel, DuelPlan, read_record, run_duel
from oragent.evals.duel.verdict import (
    Decision,
    DuelRound,
    DuelVerdict,
    StoppingRule,
    format_gain,
    judge_duel,
    read_share,
)
from oragent.evaluation.problem import load_problem
from oragent.search.config import read_config
from tests.evals.duel.conftest import DicePool

DIRECTION = Direction.MINIMIZE


def plan(toy: Path, first: str, second: str, **changes: object) -> DuelPlan:
    problem = load_problem(toy)
    contestants = (Contestant("ann", first), Contestant("bob", second))
    config = read_config(None, ["workers=2"])
    return DuelPlan(problem, toy.parents[1], contestants, config, outputs=toy.parents[1] / "outputs", **changes)


def test_the_better_program_wins_from_either_side_and_few_rounds_are_paid(toy: Path, pool: DicePool) -> None:
    better = run_duel(plan(toy, "1 0.2", "2 0.2", rounds=20))
    assert better.verdict.decision is Decision.FIRST
    assert len(pool.jobs) == 2 * len(better.record.rounds) < 20
    turned = run_duel(plan(toy, "2 0.2", "1 0.2", rounds=20))
    assert turned.verdict.decision is Decision.SECOND
    assert turned.verdict.cpu_ratio == pytest.approx(3 / 2)
    # The sentence is about the winner, from its side.
    assert turned.verdict.high < 0
    for end in (turned.verdict.low, turned.verdict.high):
        assert format_gain(-end) in turned.verdict.sentence
    # 11 against 12, relative to their mean; each instance varies.
    assert better.verdict.fixed.mean == pytest.approx(2 / 23, rel=0.15)
    assert better.verdict.low <= 2 / 23 <= better.verdict.high


def test_a_round_has_its_own_instances_and_both_programs_get_the_same(toy: Path, pool: DicePool) -> None:
    duel = run_duel(plan(toy, "1 3", "1.001 3", rounds=3))
    seeds = [word for job in pool.jobs for word in job.arguments if word.startswith("--fresh_seed")]
    assert sorted(seeds)[::2] == sorted(seeds)[1::2]
    assert len(set(seeds)) == 3
    assert duel.verdict.decision is Decision.OPEN
    assert {job.mode for job in pool.jobs} == {"fresh"}
    assert duel.verdict.further > 100


def test_the_same_program_by_another_name_is_equal_within_0(toy: Path, pool: DicePool) -> None:
    duel = run_duel(plan(toy, "1 0.2", "1 0.2"))
    assert duel.verdict.decision is Decision.EQUAL
    assert (duel.verdict.low, duel.verdict.high) == pytest.approx((0, 0), abs=1e-9)
    assert "ann" in duel.verdict.sentence
    assert len(pool.jobs) <= 4


def test_a_small_difference_is_equal_within_a_gap_and_open_without_one(toy: Path, pool: DicePool) -> None:
    # A difference of 0.01 of 11, with a standard deviation of 0.07 of 11 on each instance.
    equal = run_duel(plan(toy, "1 0.05", "1.01 0.05", rounds=30, gap=0.01))
    assert equal.verdict.decision is Decision.EQUAL
    assert -0.01 <= equal.verdict.low <= equal.verdict.high <= 0.01
    tight = run_duel(plan(toy, "1 0.05", "1.01 0.05", rounds=2, gap=0.0001, level=1e-9))
    assert tight.verdict.decision is Decision.OPEN
    assert tight.verdict.wanted == 0.0001


def test_a_duel_is_continued_and_pays_for_no_round_twice(toy: Path, pool: DicePool) -> None:
    first = run_duel(plan(toy, "1 3", "1.001 3", rounds=2))
    assert len(pool.jobs) == 4
    again = run_duel(plan(toy, "1 3", "1.001 3", rounds=4))
    assert len(pool.jobs) == 8
    assert again.folder == first.folder
    assert again.record.rounds[:2] == first.record.rounds
    assert again.record.first_seed == first.record.first_seed
    # Other programs have another folder, or are refused in the same.
    assert run_duel(plan(toy, "1 2", "1.001 3", rounds=1)).folder != first.folder
    with pytest.raises(StoreError):
        run_duel(plan(toy, "1 2", "1.001 3", rounds=1, folder=first.folder))


@pytest.mark.parametrize("change", [{"rounds": []}, {"level": 0.0}, {"level": 1.0}, {"gap": -1.0}, {"format": 9}])
def test_a_damaged_file_of_a_duel_is_refused(toy: Path, pool: DicePool, change: dict[str, object]) -> None:
    duel = run_duel(plan(toy, "1 3", "2 3", rounds=1))
    path = duel.folder / "duel.json"
    assert read_record(duel.folder) == duel.record
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(StoreError):
        read_record(duel.folder)


def test_the_answer_does_not_depend_on_the_number_of_workers(
    toy: Path, pool: DicePool, monkeypatch: pytest.MonkeyPatch
) -> None:
    ends = []
    for workers in (2, 8):
        asked = plan(toy, "1 1", "1.5 1", rounds=40)
        asked = replace(asked, config=read_config(None, [f"workers={workers}"]), outputs=None)
        duel = run_duel(asked)
        ends.append((len(duel.record.judged), duel.verdict.p, duel.verdict.low))
    assert ends[0] == ends[1]
    assert duel.folder is None


def test_a_program_without_a_score_is_named(toy: Path, pool: DicePool) -> None:
    with pytest.raises(ProblemError, match="bob"):
        run_duel(plan(toy, "1 1", "-1 1"))


def test_a_fixed_set_is_scored_once_and_judged_by_the_exact_test(toy: Path, pool: DicePool) -> None:
    duel = run_duel(plan(toy, "1 0.2", "2 0.2", on="test", level=0.05))
    assert len(pool.jobs) == 2
    assert not any(word.startswith("--fresh_seed") for job in pool.jobs for word in job.arguments)
    assert duel.verdict.p == duel.verdict.fixed.p
    assert duel.verdict.decision is Decision.FIRST
    assert (duel.verdict.low, duel.verdict.high) == (duel.verdict.fixed.low, duel.verdict.fixed.high)


def test_at_equal_time_the_faster_program_gets_more_work(toy: Path, pool: DicePool) -> None:
    """A program takes 3 CPU seconds times its shift and its work here."""
    pool.options += " --work"
    duel = run_duel(plan(toy, "1 3", "2.5 3", rounds=2, work=2.0, equal_time=True))
    assert duel.record.work == pytest.approx((5.0, 2.0))
    assert duel.verdict.cpu_ratio == pytest.approx(1.0)
    calibration, *played = pool.jobs[::2]
    assert "--work=2" in calibration.arguments
    assert all("--work=5" in job.arguments for job in played)
    assert played[0].limits.cpu_s == 5 * 10 * 20
    seeds = {word for job in pool.jobs for word in job.arguments if word.startswith("--fresh_seed")}
    assert len(seeds) == 3
    paid = len(pool.jobs)
    again = run_duel(plan(toy, "1 3", "2.5 3", rounds=3, work=2.0, equal_time=True))
    assert again.record.work == duel.record.work
    assert len(pool.jobs) == paid + 2


def test_equal_time_needs_an_evaluator_that_counts_work(toy: Path, pool: DicePool) -> None:
    with pytest.raises(ConfigError):
        run_duel(plan(toy, "1 3", "2.5 3", equal_time=True))
    with pytest.raises(ProblemError):
        run_duel(plan(toy, "1 3", "2.5 3", work=2.0))


def test_instances_go_with_practice_alone(toy: Path, pool: DicePool) -> None:
    with pytest.raises(ConfigError):
        run_duel(plan(toy, "1 1", "2 1", instances=3))
    run_duel(plan(toy, "1 1", "2 1", on="practice", instances=3, rounds=1))
    assert all("--instances=3" in job.arguments for job in pool.jobs)


def test_a_folder_is_shown_without_evaluations_and_a_damaged_one_is_refused(toy: Path, pool: DicePool) -> None:
    pytest.importorskip("matplotlib")
    duel = run_duel(plan(toy, "1 0.2", "2 0.2"))
    paid = len(pool.jobs)
    record = read_record(duel.folder)
    assert record == duel.record
    document = describe_duel(Duel(record, record.judge(), duel.folder))
    assert (document["decision"], document["instances"]) == ("first", 12 * len(record.judged))
    assert len(document["rows"]) == document["instances"]
    assert "<svg" in write_page(duel.folder).read_text()
    assert len(pool.jobs) == paid
    tree = json.loads((duel.folder / "duel.json").read_text())
    for damage in (
        {"format": 99}, {"rounds": [{"seed": 1, "values": [{"20": [1.0]}, {"20": [1.0, 2.0]}], "cpu_s": [1, 1]}]},
        {"rounds": [{"seed": 1, "values": [{}, {}], "cpu_s": [1, 1]}]}, {"more": 1}, {"direction": "up"},
    ):  # fmt: skip
        (duel.folder / "duel.json").write_text(json.dumps(tree | damage))
        with pytest.raises(OragentError):
            read_record(duel.folder)


@pytest.mark.parametrize("direction", list(Direction))
def test_a_relative_gain_changes_its_sign_with_the_programs_and_the_direction(direction: Direction) -> None:
    assert relative_gain(direction, 11, 9) == direction.sign * 0.2
    assert relative_gain(direction, 9, 11) == -direction.sign * 0.2
    assert relative_gain(direction, 0, 0) == 0
    assert abs(relative_gain(direction, -1, 1)) == 2


def test_sizes_count_alike_and_the_gain_is_split_by_size() -> None:
    rounds = [DuelRound(({"a": [9.0] * 8, "b": [10.0] * 2}, {"a": [11.0] * 8, "b": [10.0] * 2}), (1.0, 2.0))]
    verdict = judge_duel(DIRECTION, ("x", "y"), rounds, StoppingRule(0.05, is_sequential=False))
    assert verdict.fixed.mean == pytest.approx(0.1)
    assert {size: test.mean for size, test in verdict.by_size.items()} == pytest.approx({"a": 0.2, "b": 0})
    assert verdict.means == pytest.approx(((9 + 10) / 2, (11 + 10) / 2))
    assert (verdict.fixed.better, verdict.fixed.worse, verdict.cpu_ratio) == (8, 0, 0.5)


def test_shares_are_numbers_or_percentages() -> None:
    assert (read_share("0.1%", "--gap", 1), read_share("0.05", "--gap", 1)) == (pytest.approx(0.001), 0.05)
    for wrong in ("", "x", "-1", "150%", "nan"):
        with pytest.raises(ConfigError, match="--gap"):
            read_share(wrong, "--gap", 1)


def test_levels_gaps_and_rounds_that_no_duel_can_have_are_refused(toy: Path, pool: DicePool) -> None:
    for wrong in ({"level": 0.0}, {"level": 1e-30}, {"level": 0.5}, {"gap": -0.1}, {"gap": 1.0}, {"rounds": 0}):
        with pytest.raises(ConfigError):
            plan(toy, "1 0.2", "2 0.2", **wrong)
    with pytest.raises(ConfigError):
        run_duel(plan(toy, "1 0.2", "2 0.2", on="test", level=1e-4 / 2))
    assert not pool.jobs


def test_the_confidence_of_a_small_level_is_written_in_full() -> None:
    sentence = judge(*[0.1, 0.12] * 40, rule=StoppingRule(1e-9)).sentence
    assert "99.9999999 %" in sentence


def test_long_names_of_two_candidates_of_a_run_differ_in_tables(toy: Path, pool: DicePool) -> None:
    run = "tsp_constructive/20260101-000000-gp"
    asked = plan(toy, "1 0.2", "2 0.2", rounds=1)
    pair = tuple(
        Contestant(name, each.source) for name, each in zip((run, f"{run}#29.0"), asked.contestants, strict=True)
    )
    duel = run_duel(replace(asked, contestants=pair))
    names = instance_table(duel.record).heads[2:4]
    assert names[0] != names[1]
    assert all(len(name) <= 28 for name in names)


def test_a_duel_runs_in_an_event_loop(toy: Path, pool: DicePool) -> None:
    async def call() -> Duel:
        return run_duel(plan(toy, "1 0.2", "2 0.2", rounds=1))

    assert asyncio.run(call()).verdict.fixed.pairs == 12


def judge(*gains: float, rule: StoppingRule | None = None) -> DuelVerdict:
    """Judge one round at a single size, with values of the second program of 1."""
    values = [(2 - gain) / (2 + gain) for gain in gains]
    return judge_duel(
        DIRECTION,
        ("x", "y"),
        [DuelRound(({"a": values}, {"a": [1.0] * len(gains)}), (1.0, 1.0))],
        rule or StoppingRule(),
    )


def test_the_test_of_signed_ranks_is_that_of_scipy_and_leaves_out_equal_instances() -> None:
    gains = [0.1, 0.2, -0.05, 0.0, 0.3, 0.15, 0.0, 0.4]
    assert judge(*gains).p_ranks == pytest.approx(stats.wilcoxon([gain for gain in gains if gain]).pvalue)
    assert judge(0.0, 0.0).p_ranks is None


def test_programs_of_which_each_is_better_by_another_measure_are_neither_equal_nor_better() -> None:
    """Most instances favour one program and a few large ones the other, so that the mean has the other sign."""
    for sign in (-1, 1):
        gains = [sign * gain for gain in [-0.01] * 30 + [0.32]]
        for gap in (0.0, 0.009):
            verdict = judge(*gains, rule=StoppingRule(0.01, gap))
            assert (verdict.decision, verdict.p < 0.01) == (Decision.OPEN, True)
            assert verdict.low < 0 < verdict.high
    assert judge(*[-0.01] * 30, rule=StoppingRule(0.01)).decision is Decision.SECOND


def test_a_single_size_has_no_table_by_size() -> None:
    assert judge(0.1, 0.2).by_size == {}


def test_too_few_instances_have_no_interval_and_many_have_one_in_words() -> None:
    few, many = judge(0.1, 0.2), judge(*[0.1, 0.12] * 20)
    assert few.low == -np.inf
    assert "inf" not in few.sentence
    assert "at least" in few.sentence
    assert "at least" not in many.sentence
    assert format_gain(many.low) in many.sentence
    assert format_gain(many.high) in many.sentence


@pytest.mark.parametrize("is_sequential", [True, False])
@pytest.mark.parametrize("level", [0.05, 0.01])
def test_a_duel_asks_for_as_many_instances_as_can_decide_it(level: float, is_sequential: bool) -> None:
    """Gains that hardly differ are shown by the fewest instances that can show anything."""
    rule = StoppingRule(level, is_sequential=is_sequential)
    gains = [0.5 + at / 10**6 for at in range(40)]
    opened = judge(*gains[:2], rule=rule)
    assert opened.decision is Decision.OPEN
    assert judge(*gains[: opened.further + 1], rule=rule).decision is Decision.OPEN
    assert judge(*gains[: opened.further + 2], rule=rule).decision is Decision.FIRST
    assert f"at least {opened.further + 2} " in opened.sentence


@pytest.mark.parametrize("count", [20, 59])
def test_equal_programs_are_said_to_differ_on_few_instances_by_the_binomial_bound(count: int) -> None:
    """If they differed on a larger share of instances, ``count`` equal ones would have a chance below the level."""
    verdict = judge(*[0.0] * count)
    assert verdict.decision is Decision.EQUAL
    share = stats.binomtest(0, count, alternative="less").proportion_ci(0.95).high
    assert f"{100 * share:.2g} %" in verdict.sentence

"""Seed and best on the same instances: a paired test with known answers, told in words, done once for what they are."""

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, permutation_test

from oragent._base.direction import Direction
from oragent._base.protocol import Status
from oragent._base.terminal import Terminal
from oragent.cli.runs import _print_table
from oragent.evaluation import Evaluation, Job
from oragent.report.fresh import collect_sets
from oragent.report.held_out import FILE, HeldOutScorer, read_held_out, score_held_out
from oragent.report.live.offline import write_report
from oragent.report.run import load_run
from oragent.report.significance import Paired, compare_pairs, instance_gains
from oragent.search.folder import RunFolder
from tests.report.runs import data_of
from tests.search.test_engine import search

MINIMIZE, MAXIMIZE = Direction.MINIMIZE, Direction.MAXIMIZE


def figures(**sizes: list[float]) -> dict[str, Any]:
    """What an evaluator prints of these instances."""
    score = float(np.mean([np.mean(values) for values in sizes.values()]))
    return {"by_instance": dict(sizes), "score": score}


def test_a_gain_on_every_instance_has_the_p_of_all_signs_alike() -> None:
    found = compare_pairs(MINIMIZE, figures(a=[10.0, 11, 12, 13, 14, 15]), figures(a=[9.0, 10, 11, 12, 13, 14]))
    assert found == Paired(6, 6, 0, 1.0, 1.0, 1.0, 2 / 2**6)
    assert found.counts == "better on 6 of 6 instances, worse on 0"
    assert found.verdict == "better than the seed, and not by chance (p = 0.031)"


def test_the_p_value_is_that_of_scipy_on_one_size() -> None:
    rng = np.random.default_rng(5)
    before = rng.gamma(9.0, 1.0, 12)
    after = before - rng.normal(0.3, 0.5, 12)
    found = compare_pairs(MINIMIZE, figures(a=before.tolist()), figures(a=after.tolist()))
    exact = permutation_test(
        (before, after), lambda x, y, axis: np.mean(x - y, axis=axis), permutation_type="samples", n_resamples=np.inf
    )
    assert found.p == pytest.approx(exact.pvalue)


@given(st.lists(st.integers(-40, 50), min_size=6, max_size=12), st.integers(1, 3))
def test_the_interval_holds_0_exactly_if_the_test_shows_no_difference(tenths: list[int], sizes: int) -> None:
    parts = [[value / 10 for value in tenths[at::sizes]] for at in range(sizes)]
    seed = {"by_instance": {str(at): [10.0] * len(part) for at, part in enumerate(parts)}}
    best = {"by_instance": {str(at): [10.0 + gain for gain in part] for at, part in enumerate(parts)}}
    found = compare_pairs(MAXIMIZE, seed, best)
    assert found.low is not None
    assert found.low <= found.gain + 1e-9
    assert found.high >= found.gain - 1e-9
    assert (found.low <= 0 <= found.high) == (found.p >= 0.05)


def test_a_gain_that_turns_into_a_loss_on_the_test_set_is_said_and_so_are_other_sizes() -> None:
    rng = np.random.default_rng(0)
    noise = rng.normal(0, 0.1, 30)

    def told(small: float, large: float | None) -> dict[str, Any]:
        sizes = {"50": (10 + small + noise).tolist()}
        if large is not None:
            sizes["100"] = (20 + large + noise).tolist()
        values = figures(**sizes)
        return values | {"ci95": (values["score"] - 0.05, values["score"] + 0.05)}

    val, test = (told(0, None), told(-1, None)), {"seed": told(0, 0), "best": told(1, 0)}
    sentences = collect_sets(MINIMIZE, val, test, {**test, "fresh_seed": 3}).sentences
    compared = next(sentence for sentence in sentences if "on val" in sentence and "on test" in sentence)
    assert "DOES NOT CARRY OVER" in compared
    assert "(sizes 50 and 50, 100)" in compared
    by_size = next(sentence for sentence in sentences if "held out (test) by size" in sentence)
    assert "50: gain -1, WORSE" in by_size
    assert "100: gain 0, not shown to differ" in by_size


def test_sizes_weigh_alike_as_in_the_score() -> None:
    seed, best = figures(a=[4.0, 4.0, 4.0, 4.0], b=[10.0]), figures(a=[3.0, 3.0, 3.0, 3.0], b=[13.0])
    found = compare_pairs(MINIMIZE, seed, best)
    assert found.gain == pytest.approx(seed["score"] - best["score"]) == pytest.approx(-1.0)
    assert (found.better, found.worse) == (4, 1)


@given(st.lists(st.tuples(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6)), min_size=2, max_size=8))
def test_who_is_seed_and_who_is_best_turns_the_sign_alone(pairs: list[tuple[float, float]]) -> None:
    first, second = (figures(a=list(values)) for values in zip(*pairs, strict=True))
    one, other = compare_pairs(MAXIMIZE, first, second), compare_pairs(MAXIMIZE, second, first)
    assert (one.better, one.worse, one.gain, one.p) == (other.worse, other.better, -other.gain, other.p)
    assert (one.low is None) == (len(pairs) < 6)
    if one.low is not None:
        assert one.low <= one.gain + 1e-9 * abs(one.gain) + 1e-300
    assert compare_pairs(MINIMIZE, first, second).gain == -one.gain


@pytest.mark.slow
def test_chance_alone_is_called_better_or_worse_as_often_as_the_level_says() -> None:
    rng, called = np.random.default_rng(1), 0
    for _ in range(200):
        before, after = rng.normal(10, 1, 8), rng.normal(10, 1, 8)
        called += "chance (" in compare_pairs(MINIMIZE, figures(a=before.tolist()), figures(a=after.tolist())).verdict
    assert binomtest(called, 200, 0.05).pvalue > 1e-3


def test_a_loss_is_said_loudly_and_a_tie_is_not_shown() -> None:
    worse = compare_pairs(MAXIMIZE, figures(a=[5.0] * 7), figures(a=[4.0] * 7))
    assert worse.verdict == "WORSE than the seed, and not by chance (p = 0.016)"
    tie = compare_pairs(MAXIMIZE, figures(a=[5.0] * 7), figures(a=[5.0] * 7))
    assert (tie.verdict, tie.counts) == (
        "not shown to differ from the seed (p = 1)",
        "better on 0 of 7 instances, worse on 0, equal on 7",
    )
    single = compare_pairs(MAXIMIZE, figures(a=[5.0]), figures(a=[6.0]))
    assert single.verdict.startswith("not shown to differ from the seed (1 instance allows no test; at least 6")


def test_four_instances_are_said_to_show_nothing_however_good_the_best_is() -> None:
    told = compare_pairs(MAXIMIZE, figures(a=[5.0] * 4), figures(a=[9.0] * 4)).verdict
    assert told == (
        "not shown to differ from the seed (p = 0.125; with 4 instances the smallest possible p is 0.125; "
        "at least 6 instances are needed for p < 0.05)"
    )


@pytest.mark.parametrize(
    "told",
    [
        None, [], "x", {}, {"a": []}, {"a": "ab"}, {"a": [1.0, float("nan")]}, {"a": [1.0, "2"]}, {"a": [1.0]},
        {"b": [1.0, 2.0]}, {"a": [1.0, 10**400]}, {"a": [True, 1.0]}, {"a": [[1.0], 2.0]},
    ],
)  # fmt: skip
def test_metrics_that_do_not_allow_it_are_left_alone(told: object) -> None:
    assert instance_gains(MINIMIZE, figures(a=[1.0, 2.0]), {"by_instance": told, "score": 1.0}) is None
    assert instance_gains(MINIMIZE, {"by_instance": told, "score": 1.0}, figures(a=[1.0, 2.0])) is None
    assert instance_gains(MINIMIZE, {"score": 1.0}, {"score": 1.0}) is None


def test_without_figures_by_instance_intervals_decide() -> None:
    seed, best = {"score": 10.0, "ci95": [9.9, 10.1]}, {"score": 9.0, "ci95": [8.9, 9.1]}
    told, *_ = collect_sets(MINIMIZE, (seed, best), {"seed": seed, "best": best}, None).sentences
    assert told.startswith("held out (test): the best is 1 lower than the seed (10 %): better than the seed, and not")
    told, *_ = collect_sets(MINIMIZE, (seed, best), {"seed": best, "best": seed}, None).sentences
    assert "WORSE than the seed" in told
    near = {"score": 10.01, "ci95": [9.9, 10.1]}
    told, *_ = collect_sets(MINIMIZE, (seed, best), {"seed": seed, "best": near}, None).sentences
    assert "not shown to differ" in told


class Scored:
    """An evaluator whose held-out figures are the value of the program on six instances, and how often it was asked."""

    def __init__(self) -> None:
        self.sources: list[str] = []

    def __call__(self, job: Job) -> Evaluation:
        if job.mode is None:
            return Evaluation(Status.ERROR, output="--mode")
        self.sources.append(job.source)
        names: dict[str, Any] = {}
        exec(job.source, names)
        values = [abs(100 - names["guess"](x)) for x in range(3, 9)]
        metrics = {"value_3": 3139.1000000000004, "by_instance": {3: values}, "ci95": (1.0, 2.0)}
        return Evaluation(Status.OK, sum(values) / 6, metrics=metrics)


@pytest.fixture
def tested(begun) -> tuple[RunFolder, Scored]:
    folder, run = begun("budget.evaluations=12"), Scored()
    search(folder)
    score_held_out(folder.path, HeldOutScorer(folder, run))
    return folder, run


def test_what_is_known_of_equal_programs_is_not_evaluated_anew(tested: tuple[RunFolder, Scored]) -> None:
    folder, run = tested
    assert len(run.sources) == 2
    first = read_held_out(folder.path)
    figures = score_held_out(folder.path, HeldOutScorer(folder, run))
    assert len(run.sources) == 2
    assert read_held_out(folder.path) == first == figures | {"about": first["about"]}
    (folder.path / "best.py").write_text("def guess(x):\n    return 99\n")
    assert read_held_out(folder.path) is None
    figures = score_held_out(folder.path, HeldOutScorer(folder, run))
    assert len(run.sources) == 4
    assert figures["best"]["score"] == 1.0
    folder.problem.evaluator.write_text("print('another evaluator')")
    score_held_out(folder.path, HeldOutScorer(folder, run))
    assert len(run.sources) == 6


def test_the_page_has_intervals_test_and_verdict(tested: tuple[RunFolder, Scored]) -> None:
    folder, _ = tested
    page = write_report(folder.path).read_text()
    trust = data_of(page)["trust"]
    assert all(part in page for part in ("held out (test): the best is", "95 % interval of the gain"))
    (test,) = [each for each in trust["sets"] if each["name"] == "test"]
    assert test["pair"]["counts"].startswith("better on ")
    assert trust["figures"]["test"]
    data = load_run(folder.path)
    assert data.sets.pairs["test"].instances == 6


def test_a_terminal_shows_figures_as_a_person_reads_them() -> None:
    out = io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("oragent.cli.runs.console", Terminal(file=out, width=80))
        _print_table("test set", [("bins_5000", 3139.1000000000004, 3100.0), ("\x1b[2J", 1.0, 2.0)])
    assert "3139.1 " in out.getvalue()
    assert "0000000004" not in out.getvalue()
    assert "\x1b" not in out.getvalue()


@pytest.mark.parametrize("paired", [[], "x", {"instances": 1}, {"better": "<b>"}])
def test_a_file_that_somebody_changed_is_no_result(tested: tuple[RunFolder, Scored], paired: object) -> None:
    folder, _ = tested
    path = Path(folder.path / FILE)
    path.write_text(yaml.safe_dump({**yaml.safe_load(path.read_text()), "paired": paired}))
    assert read_held_out(folder.path) is None

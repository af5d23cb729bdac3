"""Words and figures of verdicts and paired tests, at the boundaries of their levels."""

from pathlib import Path

import pytest

from oragent._base.sequential import anytime_p
from oragent._base.statistics import ALPHA
from oragent.report.run_verdicts import FILE, RunVerdict, read_verdicts, write_verdicts
from oragent.report.significance import MeasuredScore, Paired

PLAIN = RunVerdict("seed", 0.1, 0.05, 0.15, 0.01, 0.05, 12)


def verdict(**changes: object) -> RunVerdict:
    fields = {name: getattr(PLAIN, name) for name in RunVerdict.__dataclass_fields__}
    return RunVerdict(**fields | changes)


@pytest.mark.parametrize(
    ("changes", "is_shown"),
    [
        ({}, True),
        ({"p": 0.05}, False),
        ({"p": 0.0499}, True),
        ({"low": -0.05}, False),
        ({"low": 0.0}, False),
        ({"gain": -0.1, "low": -0.15, "high": 0.0}, False),
        ({"gain": -0.1, "low": -0.15, "high": -0.05}, True),
        ({"low": None, "instances": 7}, False),
        ({"high": None, "instances": 7}, False),
        ({"low": None, "high": None, "p": 0.2}, False),
    ],
)
def test_a_difference_is_shown_below_the_level_by_an_interval_of_one_sign(changes: dict, is_shown: bool) -> None:
    stated = verdict(**changes)
    assert stated.is_above_noise is is_shown
    assert ("above the noise" in stated.sentence) is (is_shown and stated.gain > 0)
    assert ("WORSE" in stated.sentence) is (is_shown and stated.gain < 0)
    assert ("interval" in stated.sentence) is (stated.low is not None and stated.high is not None)


@pytest.mark.parametrize(("instances", "level", "needed"), [(7, 0.05, 8), (8, 0.05, 0), (10, 0.01, 11), (11, 0.01, 0)])
def test_so_few_instances_that_nothing_can_be_shown_are_not_called_noise(
    instances: int, level: float, needed: int
) -> None:
    assert (anytime_p([1.0] * instances) < level) is (needed == 0)
    sentence = verdict(low=None, high=None, p=0.9, instances=instances, level=level).sentence
    assert ("NOISE" in sentence) is (needed == 0)
    assert (f"at least {needed}" in sentence) is bool(needed)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, {"the seed", "12 new", "+10 %", "95 % interval +5 to +15 %", "p = 0.01"}),
        ({"rival": "3.2"}, {"previous best, 3.2"}),
        ({"rival": "reference/two-opt/x"}, {"the reference two-opt/x"}),
        ({"level": 0.01}, {"99 % interval"}),
        ({"by_size": {"20": -0.01, "50": 0.2}}, {"by size 20: -1 %, 50: +20 %"}),
    ],
)
def test_a_verdict_names_its_rival_its_figures_and_its_sizes(changes: dict, words: set[str]) -> None:
    sentence = verdict(**changes).sentence
    assert {word for word in words if word in sentence} == words
    assert ("by size" in sentence) is ("by_size" in changes)


def test_verdicts_belong_to_the_present_best_program(tmp_path: Path) -> None:
    run = tmp_path
    (run / "best.py").write_text("x = 1\n")
    assert read_verdicts(run) == ()
    stated = [PLAIN, verdict(rival="3.2", low=None, high=None, by_size={"20": 0.5})]
    write_verdicts(run, stated)
    assert read_verdicts(run) == tuple(stated)
    text = (run / FILE).read_text()
    for damaged in (
        text.replace("rival: seed", "rival: [seed]"),
        text.replace("gain: 0.1", "gain: .nan"),
        "verdicts: 5",
        "",
    ):
        assert damaged != text
        (run / FILE).write_text(damaged)
        assert read_verdicts(run) == ()
    (run / FILE).write_text(text)
    (run / "best.py").write_text("x = 2\n")
    assert read_verdicts(run) == ()


@pytest.mark.parametrize(
    ("gain", "p", "word"),
    [
        (1.0, None, "not shown"),
        (1.0, ALPHA, "not shown"),
        (1.0, ALPHA - 1e-6, "better than"),
        (-1.0, 0.01, "WORSE than"),
        (1.0, 0.001, "p = 0.001"),
        (1.0, 0.00099, "p < 0.001"),
    ],
)
def test_a_paired_test_is_named_by_its_p(gain: float, p: float | None, word: str) -> None:
    paired = Paired(12, 8, 3, gain, None, None, p)
    assert word in paired.verdict
    assert ("p =" in paired.verdict or "p <" in paired.verdict) is (p is not None)


@pytest.mark.parametrize(("better", "worse", "equal"), [(8, 3, "equal on 1"), (9, 3, ""), (0, 0, "equal on 12")])
def test_instances_are_counted(better: int, worse: int, equal: str) -> None:
    counts = Paired(12, better, worse, 1.0, None, None, 0.01).counts
    assert f"better on {better} of 12" in counts
    assert f"worse on {worse}" in counts
    assert counts.endswith(equal)
    assert ("equal" in counts) is bool(equal)


def test_a_score_is_shown_with_its_interval() -> None:
    assert str(MeasuredScore.from_figures({"score": 1.23456789})) == "1.23457"
    assert str(MeasuredScore.from_figures({"score": 2.0, "ci95": (1.5, 2.25)})) == "2 (1.5 to 2.25)"

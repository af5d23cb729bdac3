"""Groups, pairs and contrasts of scored conversations."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from oragent._base.errors import ConfigError
from oragent_benchmarks.converse.paradigms import Paradigm
from oragent_benchmarks.converse.people.person import Person
from oragent_benchmarks.converse.people.utilities import Target
from oragent_benchmarks.converse.problems.exact import Exact
from oragent_benchmarks.converse.problems.schools import sfusd
from oragent_benchmarks.converse.scoring import Scored, contrast_sides, summarize_groups
from oragent_benchmarks.converse.solving import StateSolver
from tests.benchmarks.converse.baselines import run_baseline

ONE = Scored("T-P-P", "conversation", "m", 0, {"direction": "early"}, "parent", "vague", "rich", 0.5, False, 8, 6)


def several(agent: str, scores: Sequence[float]) -> list[Scored]:
    return [replace(ONE, agent=agent, utility=place, score=one, success=one == 1) for place, one in enumerate(scores)]


def test_groups_have_their_own_means_in_the_order_of_their_first_case() -> None:
    cases = [
        replace(ONE, style="precise", score=1.0, success=True, turns=4, calls=2),
        replace(ONE, score=0.4),
        replace(ONE, score=0.6, turns=10, calls=8),
    ]
    found = summarize_groups(cases, ["style", "direction"])
    assert list(found) == [("precise", "early"), ("vague", "early")]
    vague = found["vague", "early"]
    assert (vague.cases, vague.score.mean, vague.success.mean, vague.turns, vague.calls) == (2, 0.5, 0.0, 9, 7)
    assert found["precise", "early"].success.mean == 1.0
    assert summarize_groups(cases, [])[()].cases == 3
    assert summarize_groups([], ["agent"]) == {}


def test_intervals_are_those_of_a_bootstrap() -> None:
    (summary,) = summarize_groups(several("T-P-P", [0.0, 1.0]), ["agent"]).values()
    assert (summary.score.low, summary.score.mean, summary.score.high) == (0.0, 0.5, 1.0)


def test_a_contrast_pairs_by_decision_agent_whatever_the_order() -> None:
    ours, theirs = several("T-P-P", [1, 1, 1, 0.5]), several("C-N-R", [1, 0.5, 0.25, 0.75])
    (found,) = contrast_sides([*ours, *reversed(theirs)], "agent", "T-P-P")
    assert (found.better, found.other, found.pairs) == ("T-P-P", "C-N-R", 4)
    assert found.scores == (0.875, 0.625)
    assert found.successes == (0.75, 0.25)
    assert found.scores[0] / found.scores[1] - 1 == pytest.approx(0.4)
    assert found.successes[0] - found.successes[1] == 0.5
    assert found.success_p == pytest.approx(1 / 4)  # two pairs gained, none lost
    assert found.score_p == pytest.approx(2 / 8)  # of signs of 0.5, 0.75, -0.25: those seen, and all positive


def test_a_side_without_a_style_stands_against_every_decision_agent_of_the_utility() -> None:
    talks = [replace(ONE, style=style, score=1.0, success=True) for style in ("vague", "precise")]
    default = replace(ONE, paradigm="default", role="", style="", feedback="", score=0.25)
    (found,) = contrast_sides([*talks, default], "paradigm", "conversation")
    assert (found.pairs, found.scores) == (2, (1.0, 0.25))


def test_p_values_of_several_contrasts_are_adjusted() -> None:
    cases = [*several("T-P-P", [1] * 6), *several("C-P-P", [0.5] * 6), *several("C-N-R", [0.4] * 6)]
    alone = [[case for case in cases if case.agent in ("T-P-P", other)] for other in ("C-P-P", "C-N-R")]
    raw = [one for pair in alone for one in contrast_sides(pair, "agent", "T-P-P")]
    adjusted = contrast_sides(cases, "agent", "T-P-P")
    assert [one.score_p for one in raw] == pytest.approx([1 / 64, 1 / 64])
    assert [one.score_p for one in adjusted] == pytest.approx([2 / 64, 2 / 64])
    assert [one.success_p for one in adjusted] == pytest.approx([2 / 64, 2 / 64])


@pytest.mark.slow
def test_rules_differ_as_their_paradigms_say(exact: Exact, generated: list[Target]) -> None:
    cases, solver = [], StateSolver(sfusd())
    people = [Person(target.utility, exact) for target in generated]
    for paradigm in Paradigm:
        for place, person in enumerate(people):
            found = run_baseline(paradigm, person, solver)
            cases.append(
                Scored(
                    "rules", paradigm, "", place, {"direction": str(person.utility.direction)}, "", "", "",
                    found.judged.score, found.judged.success, found.requests, found.requests,
                )
            )  # fmt: skip
    found = {one.other: one for one in contrast_sides(cases, "paradigm", Paradigm.CONVERSATION)}
    assert all(one.score_p < 0.001 and one.success_p < 0.001 for one in found.values())
    assert found["default"].scores[0] == 1
    (reverse,) = [one for one in contrast_sides(cases, "paradigm", Paradigm.DEFAULT) if one.other == "conversation"]
    assert reverse.score_p == reverse.success_p == 1
    sizes = [one.cases for one in summarize_groups(cases, ["paradigm", "direction"]).values()]
    assert sizes == [90, 71] * 4


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: summarize_groups([ONE], ["score"]), "cannot group by 'score'; expected some of agent, paradigm"),
        (lambda: contrast_sides([ONE], "style", "vague"), "cannot contrast by 'style'; expected one of agent"),
        (lambda: contrast_sides([ONE], "agent", "C-P-P"), "no case of agent 'C-P-P'; there are 'T-P-P'"),
        (lambda: contrast_sides([], "agent", "C-P-P"), "there are none at all"),
        (lambda: contrast_sides([ONE, ONE, replace(ONE, agent="b")], "agent", "T-P-P"), "is repeated in the contrast"),
        (
            lambda: contrast_sides([ONE, replace(ONE, agent="b", utility=3)], "agent", "T-P-P"),
            "on both sides of the contrast",
        ),
    ],
)
def test_what_cannot_be_compared_is_told_in_one_line(build, message: str) -> None:
    with pytest.raises(ConfigError, match=message) as problem:
        build()
    assert "\n" not in str(problem.value)


def test_one_side_alone_has_no_contrast_and_no_gain_over_nothing() -> None:
    assert contrast_sides([ONE], "agent", "T-P-P") == []
    (found,) = contrast_sides([ONE, replace(ONE, agent="b", score=0.0)], "agent", "T-P-P")
    assert (found.score_p, found.scores[1]) == (None, 0)

"""What rules reach without any model, to four digits, and on a set of our own."""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest

from oragent._base.errors import ProblemError
from oragent_benchmarks.converse.evaluable_problems import read_utility_file
from oragent_benchmarks.converse.paradigms import Paradigm, find_rule, negotiate
from oragent_benchmarks.converse.people.person import Person
from oragent_benchmarks.converse.people.utilities import Target, TimePreference
from oragent_benchmarks.converse.problems.district import DEFAULT
from oragent_benchmarks.converse.problems.exact import Exact
from oragent_benchmarks.converse.problems.schools import sfusd
from oragent_benchmarks.converse.solving import StateSolver, begin
from oragent_benchmarks.converse.state import Restriction, RestrictionKind
from tests.benchmarks.converse.baselines import RuleBaseline, run_baseline

PROBLEM = sfusd()
SOLVER = StateSolver(PROBLEM)


@pytest.fixture(scope="session")
def people(exact: Exact, generated: list[Target]) -> list[Person]:
    return [Person(target.utility, exact) for target in generated]


def results(people: Iterable[Person], paradigm: Paradigm) -> list[RuleBaseline]:
    return [run_baseline(paradigm, person, SOLVER) for person in people]


def figures(found: list[RuleBaseline]) -> tuple[float, float]:
    """Mean score to four digits, success in percent to two."""
    scores = [one.judged.score for one in found]
    return round(float(np.mean(scores)), 4), round(100 * float(np.mean([one.judged.success for one in found])), 2)


# paradigm, mean score, success in percent, on the published set
EXACT = [
    (Paradigm.DEFAULT, 0.6014, 12.42),
    (Paradigm.ONE_SHOT, 0.6288, 11.80),
    (Paradigm.AWARE, 0.9793, 79.50),
    (Paradigm.CONVERSATION, 1.0, 100.0),
]


@pytest.mark.parametrize(("paradigm", "score", "success"), EXACT)
def test_rules_reach_the_published_figures(published: Path, paradigm: Paradigm, score: float, success: float) -> None:
    assert figures(results(read_utility_file(published, PROBLEM).stakeholders, paradigm)) == (score, success)


@pytest.mark.parametrize(
    ("direction", "score", "success"), [(TimePreference.EARLY, 0.9761, 75.56), (TimePreference.LATE, 0.9834, 84.51)]
)
def test_the_myopic_agent_does_better_where_it_wants_its_school_late(
    published: Path, direction: TimePreference, score: float, success: float
) -> None:
    targets = [one for one in read_utility_file(published, PROBLEM).stakeholders if one.utility.direction is direction]
    assert figures(results(targets, Paradigm.AWARE)) == (score, success)


def test_the_rational_agent_reaches_161_of_161_in_281_requests(published: Path) -> None:
    found = results(read_utility_file(published, PROBLEM).stakeholders, Paradigm.CONVERSATION)
    assert sum(one.judged.success for one in found) == len(found) == 161
    assert sum(one.requests for one in found) == 281
    assert Counter(one.requests for one in found) == {1: 75, 2: 54, 3: 31, 5: 1}


def test_counting_the_default_too_would_flatter_one_shot(published: Path) -> None:
    targets = read_utility_file(published, PROBLEM).stakeholders
    default, once = (results(targets, one) for one in (Paradigm.DEFAULT, Paradigm.ONE_SHOT))
    best = [max(a, b, key=lambda one: one.judged.score) for a, b in zip(default, once, strict=True)]
    assert figures(best) == (0.7162, 19.88)


# mean score and success in percent, on the set of this seed
OURS = {
    Paradigm.DEFAULT: (0.5964, 12.42),
    Paradigm.ONE_SHOT: (0.6235, 11.80),
    Paradigm.AWARE: (0.9802, 75.16),
    Paradigm.CONVERSATION: (1.0, 100.0),
}


@pytest.mark.parametrize("paradigm", Paradigm)
def test_rules_reach_the_same_on_a_set_of_our_own(people: list[Person], paradigm: Paradigm) -> None:
    assert figures(results(people, paradigm)) == OURS[paradigm]


def test_the_rational_agent_ends_at_the_only_maximiser_of_its_utility(
    people: list[Person], generated: list[Target]
) -> None:
    found = results(people, Paradigm.CONVERSATION)
    assert [one.decision for one in found] == [target.optimum for target in generated]
    assert sum(one.requests for one in found) == 279


def test_who_has_no_say_is_given_the_default_without_a_request(people: list[Person]) -> None:
    found = run_baseline(Paradigm.DEFAULT, people[0], SOLVER)
    assert (found.decision, found.requests) == (DEFAULT, 0)


@pytest.mark.parametrize("paradigm", Paradigm)
def test_every_list_of_requests_ends_with_one_that_can_be_met(people: list[Person], paradigm: Paradigm) -> None:
    for person in people[::20]:
        *_, last = find_rule(paradigm)(person)
        assert SOLVER(begin(PROBLEM).only(*last)).decision


def test_a_clash_is_told_and_what_comes_after_the_first_that_fits_is_not_asked() -> None:
    clash = (Restriction(RestrictionKind.BOUND, "student_load_balancing", relation="<=", value=1000),)
    assert negotiate(SOLVER, [clash, clash, (), clash]) == (DEFAULT, 3)
    with pytest.raises(ProblemError):
        negotiate(SOLVER, [clash, clash])

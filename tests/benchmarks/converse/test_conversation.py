"""Conversations by rules: they come to the exact figures, and end as they should."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from oragent.modelling.data.model_records import Objective as Cost
from oragent.modelling.data.model_records import Row
from oragent.modelling.data.model_values import Relation
from oragent.modelling.data.solution import SolveStatus
from oragent.modelling.solving.model_solving import solve
from oragent_benchmarks.converse.agents.rules import RulesAgent
from oragent_benchmarks.converse.conversation import Conversation, ConversationEnd, ConversationResult, Stopping
from oragent_benchmarks.converse.decider import AgentAnswer, DeciderMessage, DecisionView
from oragent_benchmarks.converse.decision import Solved
from oragent_benchmarks.converse.evaluable_problems import read_utility_file
from oragent_benchmarks.converse.paradigms import Asking, dropping_requests, ranked_requests
from oragent_benchmarks.converse.people.person import Person
from oragent_benchmarks.converse.people.utilities import Target, TimePreference, Utility, maximum_utility, rank_outcomes
from oragent_benchmarks.converse.problems.district import DEFAULT
from oragent_benchmarks.converse.problems.exact import Exact, Solving, to_restrictions
from oragent_benchmarks.converse.problems.schools import Schools, generate_district, sfusd
from oragent_benchmarks.converse.solving import StateSolver, build_model
from oragent_benchmarks.converse.stakeholders import Request, Stakeholder
from oragent_benchmarks.converse.state import RestrictionState
from oragent_benchmarks.converse.tools import Toolbox

PROBLEM = sfusd()
SOLVER = StateSolver(PROBLEM)


def wishes(target: Target, exact: Exact) -> Person:
    return Person(target.utility, exact)


def held(
    person: Stakeholder, rule: Callable[[Stakeholder], Iterator[Request]], at_once: bool = False
) -> ConversationResult:
    decider = Asking.of(rule, person, PROBLEM, at_once=at_once)
    return Conversation(PROBLEM, RulesAgent(Toolbox(SOLVER)), decider, person).run()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rule", "at_once", "score", "success", "turns"),
    [
        (ranked_requests, False, 1.0, 161, 281),
        (dropping_requests, False, 0.9793, 128, 248),
        (dropping_requests, True, 0.9793, 128, 161),
    ],
)
def test_rules_come_to_the_exact_figures(published: Path, rule, at_once, score, success, turns) -> None:
    found = [held(one, rule, at_once) for one in read_utility_file(published, PROBLEM).stakeholders]
    assert round(sum(one.score for one in found) / 161, 4) == score
    assert sum(one.success for one in found) == success
    assert sum(len(one.turns) for one in found) == turns


@pytest.mark.slow
def test_a_conversation_reads_back_equal(exact, generated: list[Target]) -> None:
    found = held(wishes(generated[0], exact), ranked_requests)
    assert found.end is ConversationEnd.MAXIMUM
    assert ConversationResult.from_plain(found.to_plain()).best == found.best == generated[0].optimum


class Parrot:
    """An agent that says what it is given."""

    name = "parrot"

    def __init__(self, *texts: str) -> None:
        self._texts = list(texts)

    async def answer(self, message: str) -> AgentAnswer:
        return AgentAnswer(self._texts.pop(0) if self._texts else "no idea")


class Patient:
    """A decision agent that goes on for ever, or for so many messages."""

    says_farewell = True

    def __init__(self, ends: int = 1000) -> None:
        self._ends, self.views = ends, []

    async def say(self, view: DecisionView) -> DeciderMessage:
        self.views.append(view)
        return DeciderMessage("thanks __END__" if view.turn >= self._ends else "more", view.turn >= self._ends)


@pytest.mark.slow
def test_a_conversation_ends_at_the_limit_without_a_schedule(exact, generated) -> None:
    judge = wishes(generated[0], exact)
    found = Conversation(PROBLEM, Parrot(), Patient(), judge, limit=20).run()
    assert (found.end, len(found.turns), found.shown, found.best) == (ConversationEnd.LIMIT, 20, False, DEFAULT)
    assert found.score == judge(DEFAULT).score


def test_half_a_schedule_is_told_and_two_schedules_both_count(exact, generated) -> None:
    judge = wishes(generated[0], exact)
    half = "\n".join(PROBLEM.render(DEFAULT).splitlines()[:6])
    both = f"{PROBLEM.render('AAAAAAAAAA')}\n\nor\n\n{PROBLEM.render(generated[0].optimum)}"
    found = Conversation(PROBLEM, Parrot(half, both), Patient(), judge).run()
    assert "no start time for" in found.turns[0].problems[0]
    assert found.turns[1].presented == ("AAAAAAAAAA", generated[0].optimum)
    assert (found.end, found.success, len(found.turns)) == (ConversationEnd.MAXIMUM, True, 3)  # with the farewell


@pytest.mark.parametrize(
    ("stopping", "turns"), [(Stopping.THRESHOLD, 2), (Stopping.ORACLE, 1), (Stopping.BEHAVIOURAL, 5)]
)
def test_what_ends_a_conversation_is_a_setting(exact, generated, stopping: Stopping, turns: int) -> None:
    best = PROBLEM.render(generated[0].optimum)
    found = Conversation(PROBLEM, Parrot(best), Patient(5), wishes(generated[0], exact), stopping=stopping).run()
    assert (found.end, len(found.turns)) == (ConversationEnd.MAXIMUM, turns)


def test_who_leaves_below_the_maximum_ends_by_itself(exact, generated) -> None:
    found = Conversation(PROBLEM, Parrot(), Patient(3), wishes(generated[0], exact)).run()
    assert (found.end, len(found.turns), found.turns[-1].said) == (ConversationEnd.OWN, 3, "thanks")


def test_the_decider_sees_the_answer_and_nothing_of_the_tools(exact, generated) -> None:
    decider = Patient(3)
    Conversation(PROBLEM, RulesAgent(Toolbox(SOLVER)), decider, wishes(generated[0], exact)).run()
    assert decider.views[0].text.startswith("This is the schedule as it stands")
    assert all(set(vars(view)) == {"turn", "text", "presented"} for view in decider.views)


def is_unique(
    problem: Schools,
    utility: Utility,
    schedule: str,
    solver: Callable[[RestrictionState], Solved],
    limit_s: float = 60.0,
) -> bool | None:
    """Return whether only this schedule has the greatest utility: no other is, by a no-good cut in each best outcome.

    Returns:
        None where a limit came first.
    """
    greatest = maximum_utility(utility, Solving(problem.district, solver))
    times = len(problem.district.times)
    chosen = {f"x[{school},{time + 1}]": 1.0 for school, time in enumerate(problem.district.chosen(schedule), 1)}
    exclusion = Row("another schedule", chosen, Relation.AT_MOST, len(chosen) - 1.0)
    for outcome, constraints in rank_outcomes(utility, times):
        if utility.value(outcome, times) < greatest - 1e-9:
            return True
        milp = build_model(problem, RestrictionState((0.0, 0.0), to_restrictions(problem.district, constraints)))
        solution = solve(milp.with_records(rows=(*milp.row_records, exclusion), objective=Cost()), limit_s, duals=False)
        if solution.status.has_point:
            return False
        if solution.status is not SolveStatus.INFEASIBLE:
            return None
    return True


def test_beyond_enumeration_the_maximum_takes_a_few_solves_and_a_cut_shows_uniqueness(exact) -> None:
    target = Utility(1, TimePreference.EARLY, 2500, 11.5, (0.252, 0.332, 0.416))
    assert (
        maximum_utility(target, Solving(PROBLEM.district, SOLVER))
        == maximum_utility(target, exact)
        == pytest.approx(0.748)
    )
    assert is_unique(PROBLEM, target, "CCCAABABBC", SOLVER) is True
    loose = Utility(1, TimePreference.EARLY, 4000, 30, (0.252, 0.332, 0.416))
    best = exact.schedules.letters(int(loose.maximisers(exact.schedules)[0]))
    assert is_unique(PROBLEM, loose, best, SOLVER) is False
    large = generated_problem()
    asked = Utility(2, TimePreference.LATE, 100_000, 1000, (0.2, 0.4, 0.4))
    someone = Person(asked, Solving(large.district, StateSolver(large)))
    assert someone(someone.best[0]).value == someone.maximum == pytest.approx(1.0)


def generated_problem():
    return generate_district(30, 3, limit_s=5.0)

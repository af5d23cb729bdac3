"""States and how they are solved: enumeration and solver agree, conflict sets are minimal, whatever was asked for."""

from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oragent._base.errors import ConfigError
from oragent.converse.problems.district import DEFAULT
from oragent.converse.problems.exact import to_constraints
from oragent.converse.problems.schools import sfusd
from oragent.converse.solving import StateSolver, begin, build_model, by_milp, clash, in_force
from oragent.converse.state import Restriction, RestrictionKind, RestrictionState
from oragent.milp.solution import SolveStatus

PROBLEM = sfusd()
SOLVER = StateSolver(PROBLEM)
SCHOOLS = [school.name for school in PROBLEM.district.schools]
TIMES = PROBLEM.vocabulary.options
LOAD, DEVIATION = (goal.name for goal in PROBLEM.expressions)


assert PROBLEM.exact is not None
VALUES = {LOAD: PROBLEM.exact.schedules.load, DEVIATION: PROBLEM.exact.schedules.deviation}


def fix(school: str, time: str) -> Restriction:
    item = PROBLEM.item(school)
    return Restriction(RestrictionKind.FIX, item, PROBLEM.option(item, time))


def bound(name: str, relation: str, value: float) -> Restriction:
    return Restriction(RestrictionKind.BOUND, name, relation=relation, value=value)


def state(*asked: Restriction, weights: tuple[float, float] = (1.0, 1.0)) -> RestrictionState:
    return RestrictionState(weights, asked)


E = "Everett"
A, B, C = "7:50", "8:40", "9:30"
# what is asked for, weights, the schedule by both ways (None: infeasible), load, deviation
FACTS = [
    ((), (1, 1), "CCCABAABBC", 2565, 8.5),
    ((), (2, 1), "CCCAABACBC", 1987, 16.5),
    ((fix("Ortega", A),), (1, 1), "CACAABABBC", 2453, 19.5),
    ((fix("Ortega", B),), (1, 1), "CBCABAABBC", 2565, 11.5),
    ((fix("Ortega", B), bound(LOAD, "<", 2565), bound(DEVIATION, "<=", 11.5)), (1, 1), None, 0, 0),
    ((fix("Ortega", B), bound(LOAD, "<", 2565), bound(DEVIATION, "<=", 12)), (1, 1), None, 0, 0),
    ((fix("Ortega", B), bound(LOAD, "<", 2565), bound(DEVIATION, "<=", 16)), (1, 1), "CBCBBAABBC", 2560, 14.5),
    ((fix("Ortega", B), bound(LOAD, "<", 2565), bound(DEVIATION, "<=", 20)), (1, 1), "CBCBBAABBC", 2560, 14.5),
    ((fix("Ortega", B), bound(DEVIATION, "<=", 20)), (1, 0), "CBCABACBBC", 2227, 19.5),
    ((fix("Ortega", B), bound(DEVIATION, "<=", 16)), (1, 0), "CBCBBAABBC", 2560, 14.5),
    ((fix("Ortega", A),), (0, 1), "", None, 16.5),
    ((fix(E, B),), (1, 1), "CCCABABBBC", None, 11.5),
    ((fix(E, C),), (1, 1), "CCCABACBBC", None, 16.5),
    ((bound(LOAD, "<", 2565),), (1, 1), "CCCAABABBC", 2453, 11.5),
    ((), (1, 0), "", 1987, 16.5),
    ((), (0, 1), "CCCABAABBC", 2565, 8.5),
]


@pytest.mark.parametrize(("asked", "weights", "schedule", "load", "deviation"), FACTS)
def test_enumeration_and_solver_agree_on_the_known_facts(asked, weights, schedule, load, deviation) -> None:
    wanted = state(*asked, weights=tuple(map(float, weights)))
    for found in (SOLVER(wanted), by_milp(PROBLEM, wanted)):
        if schedule is None:
            assert found.status is SolveStatus.INFEASIBLE
            continue
        assert found.status is SolveStatus.OPTIMAL
        features = PROBLEM.features(found.decision)
        assert not schedule or found.decision == schedule
        assert load in (None, features[0])
        assert features[1] == deviation


restrictions = st.one_of(
    st.builds(
        Restriction,
        st.sampled_from([RestrictionKind.FIX, RestrictionKind.FORBID]),
        st.sampled_from(SCHOOLS),
        st.sampled_from(TIMES),
    ),
    st.builds(bound, st.just(LOAD), st.sampled_from(["<=", "<"]), st.integers(1900, 4000).map(float)),
    st.builds(bound, st.just(DEVIATION), st.sampled_from(["<=", "<"]), st.integers(14, 60).map(lambda n: n / 2)),
)
asked_for = st.lists(restrictions, max_size=6)


def built(asked: list[Restriction]) -> RestrictionState:
    found = begin(PROBLEM)
    for one in asked:
        found = found.adding(one)
    return found


def brute(wanted: RestrictionState) -> list[int]:
    """Every schedule that respects a state, told one by one."""
    assert PROBLEM.exact is not None
    return PROBLEM.exact.allowed(to_constraints(PROBLEM.district, wanted)).nonzero()[0].tolist()


@settings(max_examples=25, deadline=None)
@given(asked_for, st.sampled_from([(1.0, 1.0), (2.0, 1.0), (1.0, 3.0)]))
def test_both_ways_have_the_same_cost_in_any_state(asked, weights) -> None:
    wanted = RestrictionState(weights, built(asked).restrictions)
    by_all, by_model = SOLVER(wanted), by_milp(PROBLEM, wanted)
    assert (by_all.status, bool(by_all.decision)) == (by_model.status, bool(by_model.decision))
    if by_all.decision:
        cost = [w * f for w, f in zip((weights[0] / 100, weights[1]), PROBLEM.features(by_all.decision), strict=True)]
        other = [
            w * f for w, f in zip((weights[0] / 100, weights[1]), PROBLEM.features(by_model.decision), strict=True)
        ]
        assert sum(cost) == pytest.approx(sum(other), abs=1e-6)


@settings(max_examples=40, deadline=None)
@given(asked_for)
def test_a_conflict_set_is_infeasible_and_nothing_of_it_can_be_spared(asked) -> None:
    wanted = built(asked)
    found = clash(SOLVER, wanted)
    assert (found is None) == bool(brute(wanted))
    if found is not None:
        assert not brute(state(*found.parts))
        for fewer in combinations(found.parts, len(found.parts) - 1):
            assert brute(state(*fewer))
        for one, value in found.nearest.items():
            rest = brute(state(*(other for other in wanted.restrictions if other != one)))
            assert value == (VALUES[one.subject][rest].min() if rest else None)


@settings(max_examples=40, deadline=None)
@given(asked_for, st.sampled_from([0, 1]))
def test_the_least_possible_is_that_of_all_schedules(asked, place) -> None:
    wanted = built(asked)
    own = (LOAD, DEVIATION)[place]
    others = brute(state(*(one for one in wanted.restrictions if one.subject != own)))
    found = SOLVER.least(wanted, place)
    assert (PROBLEM.features(found.decision)[place] if found.decision else None) == (
        VALUES[own][others].min() if others else None
    )


def test_what_conflicts_is_replaced_and_nothing_else() -> None:
    ortega = fix("Ortega", A)
    found = built([ortega, bound(LOAD, "<=", 2600), fix("Balboa", A), bound(LOAD, "<", 2500), fix("Ortega", C)])
    assert [one.name for one in found.restrictions] == [
        "fix[Balboa HS]", "student_load_balancing_upper_bound", "fix[Ortega (Jose) PK]",
    ]  # fmt: skip
    assert found.undone().restrictions[-1].value == 2500
    forbidden = found.adding(Restriction(RestrictionKind.FORBID, ortega.subject, "9:30 AM"))
    assert forbidden.restrictions[-1].kind is RestrictionKind.FORBID
    assert "fix[Ortega (Jose) PK]" not in [one.name for one in forbidden.restrictions]


def test_states_of_one_content_are_solved_once() -> None:
    solver = StateSolver(PROBLEM)
    first = built([fix("Ortega", A), bound(LOAD, "<=", 2600)])
    second = built([bound(LOAD, "<=", 2600), fix("Ortega", B), fix("Ortega", A)])
    assert first == second
    assert solver(first) == solver(second)
    assert solver.solves == 1


def test_a_state_is_a_model_with_a_row_for_each_request() -> None:
    wanted = built([fix("Ortega", A), bound(DEVIATION, "<=", 12)])
    rows = [row.name for row in build_model(PROBLEM, wanted).rows][len(PROBLEM.base.rows) :]
    assert rows == ["fix Ortega (Jose) PK at 7:50 AM", "schedule_deviation_upper_bound"]
    assert "schedule_deviation <= 12 minutes" in in_force(PROBLEM, wanted)


def test_nothing_can_be_undone_at_the_beginning() -> None:
    with pytest.raises(ConfigError, match="nothing to undo"):
        begin(PROBLEM).undone()
    with pytest.raises(ConfigError, match="no constraint 'x' can be removed"):
        begin(PROBLEM).removing("x")
    with pytest.raises(ConfigError, match="0 or more, not -1"):
        begin(PROBLEM).weighing(0, -1)
    assert PROBLEM.default == DEFAULT

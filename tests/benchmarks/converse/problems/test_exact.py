"""Exact answers against a plain loop over all schedules of small districts."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oragent_benchmarks.converse.problems.district import District, School
from oragent_benchmarks.converse.problems.exact import (
    Constraints,
    Exact,
    ObjectiveWeights,
    ScheduleObjective,
    enumerate_schedules,
    pareto_frontier,
)


@st.composite
def districts(draw: st.DrawFn) -> District:
    drawn = draw(st.lists(st.tuples(st.integers(0, 9), st.integers(90, 120)), min_size=1, max_size=5))
    schools = tuple(School(f"School {number}", "ES", *one) for number, one in enumerate(drawn))
    times = draw(st.sets(st.integers(90, 120), min_size=2, max_size=3))
    return District("small", schools, tuple(sorted(times)))


@st.composite
def requests(draw: st.DrawFn) -> tuple[District, Constraints, ObjectiveWeights]:
    district = draw(districts())
    schools, times = len(district.schools), len(district.times)
    choice = st.tuples(st.integers(0, schools - 1), st.integers(0, times - 1))
    bound = st.one_of(st.just(float("inf")), st.integers(0, 40).map(float))
    constraints = Constraints(
        draw(st.frozensets(choice, max_size=2)), draw(st.frozensets(choice, max_size=2)), draw(bound), draw(bound)
    )
    return (
        district,
        constraints,
        ObjectiveWeights(draw(st.sampled_from([0, 0.5, 1, 100])), draw(st.sampled_from([0, 1, 3]))),
    )


def respecting(district: District, constraints: Constraints) -> list[str]:
    """Every schedule that respects the constraints, by a plain loop."""
    kept = []
    for times in product(range(len(district.times)), repeat=len(district.schools)):
        schedule = "".join("ABC"[time] for time in times)
        features = district.features(schedule)
        if (
            all(times[school] == time for school, time in constraints.fixed)
            and all(times[school] != time for school, time in constraints.forbidden)
            and features.load <= constraints.load
            and features.deviation <= constraints.deviation
        ):
            kept.append(schedule)
    return kept


@given(requests())
def test_optima_are_those_of_a_plain_loop_in_order(request: tuple[District, Constraints, ObjectiveWeights]) -> None:
    district, constraints, weights = request
    exact = Exact(enumerate_schedules(district))
    kept = respecting(district, constraints)
    costs = {schedule: weights.cost(district.features(schedule)) for schedule in kept}
    tied = [schedule for schedule in kept if costs[schedule] <= min(costs.values()) + 1e-9]
    assert [one.schedule for one in exact.optima(constraints, weights)] == tied
    found = exact.least_cost(constraints, weights)
    assert (found is None) == (not kept)
    if found and weights.load and weights.deviation:
        assert found.schedule == tied[0]
    if found:
        assert found.schedule in tied
        assert found.features == district.features(found.schedule)


@pytest.mark.slow
@given(requests())
def test_the_least_of_an_objective_is_that_of_a_plain_loop_the_other_one_second(
    request: tuple[District, Constraints, ObjectiveWeights],
) -> None:
    district, constraints, _ = request
    exact = Exact(enumerate_schedules(district))
    features = [district.features(schedule) for schedule in respecting(district, constraints)]
    by_load = min(((one.load, one.deviation) for one in features), default=None)
    by_deviation = min(((one.deviation, one.load) for one in features), default=None)
    least_load, least_deviation = (
        exact.least(ScheduleObjective.LOAD, constraints),
        exact.least(ScheduleObjective.DEVIATION, constraints),
    )
    assert (least_load and (least_load.features.load, least_load.features.deviation)) == by_load
    assert (least_deviation and (least_deviation.features.deviation, least_deviation.features.load)) == by_deviation


@given(requests())
def test_the_frontier_is_what_nothing_dominates(request: tuple[District, Constraints, ObjectiveWeights]) -> None:
    district, constraints, _ = request
    kept = {schedule: district.features(schedule) for schedule in respecting(district, constraints)}
    undominated = {
        schedule
        for schedule, own in kept.items()
        if not any(o.load <= own.load and o.deviation <= own.deviation and o != own for o in kept.values())
    }
    points = pareto_frontier(Exact(enumerate_schedules(district)), constraints)
    assert {schedule for point in points for schedule in point.schedules} == undominated
    assert all(kept[schedule] == point.features for point in points for schedule in point.schedules)
    loads = [point.features.load for point in points]
    assert loads == sorted(set(loads))
    assert all(list(point.schedules) == sorted(point.schedules) for point in points)


@given(districts(), st.sampled_from([1e-9, 1e9]))
def test_only_the_ratio_of_weights_matters(district: District, factor: float) -> None:
    exact = Exact(enumerate_schedules(district))
    assert exact.optima(weights=ObjectiveWeights(factor, 2 * factor)) == exact.optima(weights=ObjectiveWeights(1, 2))


def test_where_nothing_weighs_anything_every_schedule_is_optimal() -> None:
    district = District("two", (School("a", "ES", 1, 480), School("b", "ES", 2, 480)), (480, 540))
    exact = Exact(enumerate_schedules(district))
    assert [one.schedule for one in exact.optima(weights=ObjectiveWeights(0, 0))] == ["AA", "AB", "BA", "BB"]
    assert exact.least_cost(weights=ObjectiveWeights(0, 0)).schedule == "AA"


@pytest.mark.parametrize("array", ["times", "load", "deviation"])
def test_the_shared_table_cannot_be_changed(array: str) -> None:
    table = enumerate_schedules(District("one", (School("a", "ES", 1, 480),), (480, 540)))
    with pytest.raises(ValueError, match="read-only"):
        getattr(table, array)[0] = 5

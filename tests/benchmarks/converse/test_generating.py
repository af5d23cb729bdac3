"""Generated utilities: their published numbers, exactness, and what drawing parameters gives instead."""

import json
from collections import Counter
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oragent_benchmarks.converse.people.person import Person
from oragent_benchmarks.converse.people.utilities import (
    Target,
    TimePreference,
    Utility,
    function_centric,
    solution_centric,
)
from oragent_benchmarks.converse.problems.district import SFUSD, District, School
from oragent_benchmarks.converse.problems.exact import Exact, conditional_points, enumerate_schedules
from oragent_benchmarks.converse.stakeholders import Diversity, measure_diversity

EARLY, LATE = TimePreference


def counted(exact: Exact, targets: list[Target]) -> Diversity:
    return measure_diversity(Person(target.utility, exact) for target in targets)


def test_90_early_and_71_late_solutions_can_be_singled_out(generated: list[Target]) -> None:
    count = Counter((one.utility.school, one.utility.direction) for one in generated)
    assert [count[school, EARLY] for school in range(10)] == [12, 15, 11, 4, 6, 7, 5, 11, 7, 12]
    assert [count[school, LATE] for school in range(10)] == [4, 4, 4, 12, 12, 8, 10, 5, 8, 4]
    assert len(generated) == 90 + 71


def test_every_generated_utility_has_its_target_as_the_only_maximiser(exact: Exact, generated: list[Target]) -> None:
    for target in generated:
        (only,) = target.utility.maximisers(exact.schedules)
        assert exact.schedules.letters(int(only)) == target.optimum
    assert counted(exact, generated).optima == 64


def test_each_is_a_conditional_solution_and_none_comes_twice(exact: Exact, generated: list[Target]) -> None:
    solutions = [(school, time, point) for school in range(10) for time, point in conditional_points(exact, school)]
    assert len(solutions) == 167
    known = {(school, time, point.schedules[0]) for school, time, point in solutions}
    made = [(one.utility.school, SFUSD.chosen(one.optimum)[one.utility.school], one.optimum) for one in generated]
    assert set(made) <= known
    assert max(Counter((one.utility.direction, *key) for one, key in zip(generated, made, strict=True)).values()) == 1


def test_thresholds_are_the_published_ones_but_for_three_slips(published: Path, generated: list[Target]) -> None:
    theirs = {(r["school"], r["early"], r["schedule"]): (r["L"], r["R"]) for r in json.loads(published.read_text())}
    ours = {
        (one.utility.school, one.utility.direction is EARLY, one.optimum): (one.utility.load, one.utility.deviation)
        for one in generated
    }
    assert ours.keys() == theirs.keys()
    slips = {key: ours[key][0] for key in ours if ours[key] != theirs[key]}
    assert slips == {(4, True, "CCCAAAABBC"): 3800, (4, False, "CCCABAABBC"): 2600, (4, False, "CCCACAABBC"): 2700}


def test_weights_are_thousandths_that_sum_to_one(generated: list[Target]) -> None:
    for target in generated:
        thousandths = [1000 * weight for weight in target.utility.weights]
        assert thousandths == pytest.approx([round(one) for one in thousandths], abs=1e-9)
        assert sum(map(round, thousandths)) == 1000
    assert len({target.utility.weights for target in generated}) > 150


@pytest.mark.slow
def test_a_seed_gives_the_same_set_and_another_seed_other_weights(exact: Exact, generated: list[Target]) -> None:
    assert solution_centric(exact, np.random.default_rng(0)) == generated
    other = solution_centric(exact, np.random.default_rng(1))
    assert [one.optimum for one in other] == [one.optimum for one in generated]
    assert other != generated


def test_random_parameters_single_out_few_schedules(exact: Exact, generated: list[Target]) -> None:
    drawn = function_centric(exact, np.random.default_rng(0), len(generated))
    found, wanted = counted(exact, drawn), counted(exact, generated)
    assert found.utilities == wanted.utilities == wanted.unique == 161
    assert found.unique < 30
    assert found.optima < 15
    assert found.optima <= found.unique
    for target in drawn[:20]:
        assert exact.schedules.index(target.optimum) == target.utility.maximisers(exact.schedules)[0]


@pytest.mark.slow
def test_of_a_thousand_random_utilities_78_have_one_maximiser_over_23_schedules(exact: Exact) -> None:
    found = counted(exact, function_centric(exact, np.random.default_rng(0), 1000))
    assert (found.utilities, found.unique, found.optima) == (1000, 78, 23)


@st.composite
def small(draw: st.DrawFn) -> Exact:
    drawn = draw(st.lists(st.tuples(st.integers(10, 400), st.integers(95, 115)), min_size=1, max_size=3))
    schools = tuple(School(f"School {number}", "ES", *one) for number, one in enumerate(drawn))
    return Exact(enumerate_schedules(District("small", schools, (95, 105, 115)[: draw(st.integers(2, 3))])))


@pytest.mark.slow
@settings(max_examples=25)
@given(small(), st.integers(0, 5))
def test_on_any_district_targets_are_the_only_maximisers(exact: Exact, seed: int) -> None:
    for target in solution_centric(exact, np.random.default_rng(seed)):
        assert [exact.schedules.letters(int(one)) for one in target.utility.maximisers(exact.schedules)] == [
            target.optimum
        ]


@pytest.mark.slow
@settings(max_examples=15)
@given(small())
def test_what_cannot_be_singled_out_is_the_only_maximiser_for_no_weights_of_a_fine_grid(exact: Exact) -> None:
    made = {
        (t.utility.school, t.utility.direction, t.optimum) for t in solution_centric(exact, np.random.default_rng(0))
    }
    grid = [(i / 12, j / 12, (12 - i - j) / 12) for i in range(13) for j in range(13 - i)]
    for school in range(len(exact.district.schools)):
        for (_, point), direction in product(conditional_points(exact, school), TimePreference):
            if (school, direction, point.schedules[0]) not in made:
                load = 50 * -(-point.features.load // 50)
                deviation = np.ceil(point.features.deviation * 2) / 2
                for weights in grid:
                    found = Utility(school, direction, load, deviation, weights).maximisers(exact.schedules)
                    assert [exact.schedules.letters(int(one)) for one in found] != [point.schedules[0]]

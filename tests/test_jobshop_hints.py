"""Taillard's instances are made exactly, and the schedules that are hints for CP-SAT are feasible and active."""

import sys
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

TOOLS = Path(__file__).parents[1] / "docs" / "tools"
sys.path.insert(0, str(TOOLS))
try:
    import jobshop_hints
finally:
    sys.path.remove(str(TOOLS))


def test_the_lower_bounds_of_ta01_to_ta40_are_those_that_taillard_printed() -> None:
    made = jobshop_hints.list_instances()
    assert [shop.name for shop, _ in made] == [f"ta{number:02}" for number in range(1, 41)]
    assert [shop.lower_bound for shop, _ in made] == [bound for _, bound in made]


def test_the_machines_of_a_job_are_in_the_order_of_taillards_example() -> None:
    # His first instance of 4 jobs and 4 machines, with machines from 1.
    shop = jobshop_hints.make_instance("4 x 4", 4, 4, 1166510396, 164000672)
    assert [[machine + 1 for machine, _ in job] for job in shop.jobs] == [
        [3, 1, 4, 2],
        [4, 1, 2, 3],
        [1, 2, 3, 4],
        [1, 3, 2, 4],
    ]
    assert shop.jobs[0] == ((2, 54), (0, 34), (3, 61), (1, 2))


# The first job has more work; the second has a smaller ratio of flow due date, 1, to its work.
TWO = jobshop_hints.JobShop("two", (((0, 9), (1, 9)), ((0, 1), (1, 9))))


def test_rules_prefer_as_they_are_defined() -> None:
    starts = {rule: jobshop_hints.build_schedule(TWO, rank) for rule, rank in jobshop_hints.RULES.items()}
    assert starts == {"MWKR": [[0, 9], [9, 18]], "FDD/MWKR": [[1, 10], [0, 1]]}
    assert [TWO.measure(rows) for rows in starts.values()] == [27, 19]


@given(st.integers(1, 2**31 - 2), st.integers(1, 2**31 - 2), st.integers(1, 6), st.integers(1, 5))
def test_no_operation_of_a_schedule_can_start_earlier(
    duration_seed: int, machine_seed: int, jobs: int, machines: int
) -> None:
    shop = jobshop_hints.make_instance("drawn", jobs, machines, duration_seed, machine_seed)
    for rank in jobshop_hints.RULES.values():
        starts = jobshop_hints.build_schedule(shop, rank)
        busy: dict[int, list[tuple[int, int]]] = {machine: [] for machine in range(machines)}
        for row, job in zip(starts, shop.jobs, strict=True):
            for start, (machine, duration) in zip(row, job, strict=True):
                busy[machine].append((start, start + duration))
        assert all(one[1] <= other[0] for spans in busy.values() for one, other in pairwise(sorted(spans)))
        for row, job in zip(starts, shop.jobs, strict=True):
            ready = 0
            for start, (machine, duration) in zip(row, job, strict=True):
                assert start >= ready
                others = [span for span in busy[machine] if span != (start, start + duration)]
                for earlier in [ready, *(end for _, end in others if ready <= end < start)]:
                    fits = all(end <= earlier or earlier + duration <= begin for begin, end in others)
                    assert earlier == start or not fits
                ready = start + duration


def test_cp_sat_keeps_a_fixed_hint_and_improves_a_free_one() -> None:
    pytest.importorskip("ortools")
    for rank in jobshop_hints.RULES.values():
        starts = jobshop_hints.build_schedule(TWO, rank)
        assert jobshop_hints.solve(TWO, starts, 1, fix_hint=True).starts == starts
        # The second machine has 18 units of work, none of which can start before 1.
        assert jobshop_hints.solve(TWO, starts, 1).makespan == 19

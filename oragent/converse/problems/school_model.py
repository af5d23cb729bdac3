"""The optimisation model of start times (Drossman et al. 2026, arXiv:2604.02666).

x[q,t] is 1 where school q starts at time t, both counted from 1; c[q] is the change of a school in minutes, L the load
in hundreds of students.
"""

from collections.abc import Iterator

from oragent.converse.problems.constraints import STUDENTS_A_UNIT
from oragent.converse.problems.district import District
from oragent.milp import Milp, Objective, Relation, Row, Variable, VariableKind
from oragent.milp.model import Sense


def school_model(district: District) -> Milp:
    """One start time a school, load and changes linearised; its objective is left open."""
    places, times = range(1, len(district.schools) + 1), range(1, len(district.times) + 1)
    binary = [Variable(f"x[{school},{time}]", 0, 1, VariableKind.INTEGER) for school in places for time in times]
    changes = [Variable(f"c[{school}]", 0, unit="minutes") for school in places]
    load = Variable("L", 0, unit="hundreds of students")
    return Milp((*binary, *changes, load), tuple(_school_rows(district)), Objective(), Sense.MINIMIZE, district.name)


def _school_rows(district: District) -> Iterator[Row]:
    times = district.times
    for position, school in enumerate(district.schools, 1):
        choices = {f"x[{position},{time}]": 1.0 for time in range(1, len(times) + 1)}
        yield Row(f"assign_one_start_time[{position}]", choices, Relation.EQUAL, 1.0, school.name)
        # c[q] >= |sum of h[t] x[q,t] - o[q]|
        for sign, side in ((1.0, "later"), (-1.0, "earlier")):
            moved = {f"x[{position},{time}]": -sign * minutes for time, minutes in enumerate(times, 1)}
            terms = {f"c[{position}]": 1.0, **moved}
            yield Row(f"change[{position},{side}]", terms, Relation.AT_LEAST, -sign * school.current)
    for time in range(1, len(times) + 1):
        carried = {
            f"x[{position},{time}]": -school.students / STUDENTS_A_UNIT
            for position, school in enumerate(district.schools, 1)
        }
        yield Row(f"max_students_per_time[{time}]", {"L": 1.0, **carried}, Relation.AT_LEAST, 0.0)

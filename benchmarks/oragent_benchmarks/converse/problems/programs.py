"""A problem as a formulation program for C-P agents, and the mapping from its variables to those of the base model."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from oragent_benchmarks.converse.problems.district import District

SCHOOLS_MATHEMATICS = """Sets: schools q in Q = {1, ..., n}, start times t in T = {1, ..., k}.
x[q,t] in {0, 1}: school q starts at time t. c[q] >= 0: change of school q in minutes. L >= 0: load in hundreds.
minimise alpha L + beta (1/n) sum_q c[q], with alpha = beta = 1
assign_one_start_time: sum_t x[q,t] = 1 for each q
max_students_per_time: L >= sum_q e[q] / 100 x[q,t] for each t
change: c[q] >= sum_t h[t] x[q,t] - o[q] and c[q] >= o[q] - sum_t h[t] x[q,t] for each q"""
SCHOOLS_PROGRAM = """import pulp


def formulate(m, data):
    Q, T, h, o, e = data["Q"], data["T"], data["h"], data["o"], data["e"]
    x = {(q, t): pulp.LpVariable(f"x_{q}_{t}", cat="Binary") for q in Q for t in T}
    c = {q: pulp.LpVariable(f"c_{q}", lowBound=0) for q in Q}
    L = pulp.LpVariable("L", lowBound=0)
    alpha, beta = 1, 1
    m += alpha * L + beta * pulp.lpSum(c[q] for q in Q) / len(Q)
    for q in Q:
        m += pulp.lpSum(x[q, t] for t in T) == 1
        start = pulp.lpSum(h[str(t)] * x[q, t] for t in T)
        m += c[q] >= start - o[str(q)]
        m += c[q] >= o[str(q)] - start
    for t in T:
        m += L >= pulp.lpSum(e[str(q)] * x[q, t] for q in Q) / 100
"""
SCHOOLS_ABOUT = """- data["Q"]: schools, from 1 in the order of the table; data["T"]: start times, from 1
- data["h"][str(t)]: minutes after midnight of start time t; data["o"][str(q)]: start of school q today, likewise
- data["e"][str(q)]: students of school q; data["names"][str(q)]: its name
Keep the names of the variables: x_q_t, c_q and L."""
PLACE = re.compile(r"x_(\d{1,6})_(\d{1,6})")
CHANGE = re.compile(r"c_(\d{1,6})")


@dataclass(frozen=True)
class ProgramForm:
    """Program of a C-P agent, and the settings of its pipeline.

    Attributes:
        source: Base formulation as a program that defines ``formulate(m, data)``.
        about: Names and indices of the data.
        naming: Returns the base variable's name for a name of the program; None for other names.
        prefix: Prefix of decision variables, each of which must have a base variable; empty for no such check.
    """

    mathematics: str
    source: str
    data: Mapping[str, Any]
    about: str
    naming: Callable[[str], str | None]
    prefix: str = ""


def school_form(district: District) -> ProgramForm:
    """Return the form of a district."""
    schools, times = district.schools, district.times
    places = range(1, len(schools) + 1)
    data = {
        "Q": list(places),
        "T": list(range(1, len(times) + 1)),
        "h": {str(position): minutes for position, minutes in enumerate(times, 1)},
        "o": {str(number): school.current for number, school in zip(places, schools, strict=True)},
        "e": {str(number): school.students for number, school in zip(places, schools, strict=True)},
        "names": {str(number): school.name for number, school in zip(places, schools, strict=True)},
    }

    def naming(name: str) -> str | None:
        if name == "L":
            return name
        if index_match := PLACE.fullmatch(name):
            school, time = int(index_match[1]), int(index_match[2])
            if 1 <= school <= len(schools) and 1 <= time <= len(times):
                return f"x[{school},{time}]"
            return None
        index_match = CHANGE.fullmatch(name)
        if index_match and 1 <= int(index_match[1]) <= len(schools):
            return f"c[{int(index_match[1])}]"
        return None

    return ProgramForm(SCHOOLS_MATHEMATICS, SCHOOLS_PROGRAM, data, SCHOOLS_ABOUT, naming, "x_")

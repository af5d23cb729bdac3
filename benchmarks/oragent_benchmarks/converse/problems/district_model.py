"""The start times of a district as an indexed model, for conversations about it."""

import numpy as np

from oragent.modelling.data.builder import IndexedModelBuilder
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.links import LinkedFigures
from oragent_benchmarks.converse.problems.district import District, format_clock

# Number of students per unit of the weighted objective.
STUDENTS_A_UNIT = 100.0


def district_model(district: District) -> IndexedModel:
    """Return the model; the objective is load in hundreds of students plus mean change in minutes.

    Load and deviation are also separate objectives. Data: students, minutes of each time, current start.
    """
    schools = [school.name for school in district.schools]
    clocks = [format_clock(minutes) for minutes in district.times]
    count, times = len(schools), len(clocks)
    builder = IndexedModelBuilder(district.name, meaning="start times of schools")
    builder.add_set("school", schools)
    builder.add_set("time", clocks)
    builder.add_parameter("students", ["school"], [float(school.students) for school in district.schools])
    current = [float(school.current) for school in district.schools]
    builder.add_parameter("current", ["school"], current, unit="minutes", meaning="start today, after midnight")
    minutes = [float(minutes) for minutes in district.times]
    builder.add_parameter("minutes", ["time"], minutes, unit="minutes", meaning="after midnight")
    starts = builder.add_variables("starts", ["school", "time"], high=1, kind="integer").reshape(count, times)
    change = builder.add_variables("change", ["school"], unit="minutes", meaning="change of the start from today")
    load = builder.add_variables("load", [], unit="students", meaning="students at the busiest start time")
    rows = np.repeat(np.arange(count), times)
    builder.add_rows("assign", ["school"], "=", rows=rows, columns=starts.ravel(), rhs=1.0)
    clock_of_start = builder.cells("minutes", np.tile(np.arange(times), count))
    for name, sign in (("later", 1.0), ("earlier", -1.0)):
        builder.add_rows(
            name,
            ["school"],
            ">=",
            rows=np.append(rows, np.arange(count)),
            columns=np.append(starts.ravel(), change),
            values=_with_ones(-sign * clock_of_start, count),
            rhs=-sign * builder.cells("current"),
        )
    students = builder.cells("students", np.tile(np.arange(count), times))
    builder.add_rows(
        "busiest",
        ["time"],
        ">=",
        rows=np.append(np.repeat(np.arange(times), count), np.arange(times)),
        columns=np.append(starts.T.ravel(), np.repeat(load, times)),
        values=_with_ones(-1.0 * students, times),
    )
    share = np.full(count, 1.0 / count)
    both = np.append(load, change)
    builder.set_objective("cost", "minimize", both, np.append(1.0 / STUDENTS_A_UNIT, share))
    builder.set_objective("load_objective", "minimize", load, unit="students")
    builder.set_objective("deviation", "minimize", change, share, unit="minutes")
    return builder.build()


def _with_ones(figures: LinkedFigures, count: int) -> LinkedFigures:
    """Return figures followed by a number of ones."""
    return LinkedFigures(
        figures.parameter,
        np.append(figures.cells, np.full(count, -1)),
        np.append(figures.factors, np.zeros(count)),
        np.append(figures.base, np.ones(count)),
    )

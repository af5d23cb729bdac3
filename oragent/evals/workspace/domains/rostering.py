"""A hospital kitchen staffs a week: contracts, starts of shifts, and people needed in each two-hour period."""

import numpy as np

from oragent.evals.workspace.domains.domain import (
    REQUIREMENT,
    Artifacts,
    Domain,
    DomainRevision,
    NewFigure,
    draw_parameters,
    draw_table,
    read_requirement,
)
from oragent.evals.workspace.revisions import Type
from oragent.workspace import tables


def draw_instance(rng: np.random.Generator) -> Artifacts:
    """Draw an instance: three contracts, seven days, seven periods."""
    days, periods = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"], [f"p{index}" for index in range(1, 8)]
    shape = np.array([6, 9, 12, 8, 7, 11, 5])
    need = [[period, *(max(2, round(float(shape[index] * factor * rng.uniform(0.85, 1.15))))
                       for factor in (1, 1, 1, 1, 1.1, 0.8, 0.75))]
            for index, period in enumerate(periods)]  # fmt: skip
    total = sum(sum(int(str(cell)) for cell in row[1:]) for row in need)
    pay = int(rng.integers(96, 118))
    contracts: list[list[object]] = [
        ["cook", 4, pay + int(rng.integers(14, 28)), round(total * 0.16)],
        ["helper", 4, pay, round(total * 0.2)],
        ["parttime", 2, round(pay * 0.5) + int(rng.integers(6, 14)), round(total * 0.2)],
    ]
    return Artifacts(
        {
            "need.csv": draw_table("|".join(["period", *days]), need),
            "contracts.csv": draw_table("contract|periods|pay (EUR)|most shifts", contracts),
            tables.PARAMETERS_FILE: draw_parameters(
                ("weekend_factor", 1.25, "factor", "pay on Saturday and Sunday"),
                ("least_cooks", 2.0, "people", "cooks who begin in the first period of a day"),
            ),
        },
        {REQUIREMENT: read_requirement("rostering")},
    )


ROSTERING = Domain(
    "rostering", "Week of a hospital kitchen", "LpMinimize", draw_instance,
    (
        DomainRevision(
            "trained people", Type.R3,
            "An inspection found untrained people alone at the stoves. In the whole week at least the share "
            "`cook_share` of "
            "all shifts is worked by cooks.",
            lambda plan: (NewFigure("cook_share", 0.35, 0.0, "share", "part of all shifts that cooks work"),),
            'cooks = pulp.lpSum(one for key, one in m.begin.items() if key[0] == "cook")\n'
            'm.problem += cooks >= m.p["cook_share"] * pulp.lpSum(m.begin.values()), "trained"',
        ),
        DomainRevision(
            "agency staff", Type.R5,
            "An agency can send up to `agency_people` people for any single period, at `agency_rate` for each of them.",
            lambda plan: (NewFigure("agency_people", 3.0, 0.0, "people", "people of the agency in a period"),
                          NewFigure("agency_rate", 18.0, 18.0, "EUR", "a person of the agency for a period")),
            'm.cost += [m.p["agency_rate"] * one for one in m.agency.values()]\n'
            'for (day, period), one in m.agency.items():\n'
            '    m.problem += one <= m.p["agency_people"], f"agency__{day}__{period}"',
            edits=(
                ('    m.present = {}\n', '    m.present = {}\n    m.agency = {(day, period): pulp.LpVariable(\n'
                 '        f"sent__{day}__{period}", 0, cat="Integer") for day, period in m.need}\n'),
                ('m.problem += m.present[day, period] >= m.need[day, period], f"need__{day}__{period}"',
                 'm.problem += m.present[day, period] + m.agency[day, period] >= m.need[day, period], '
                 'f"need__{day}__{period}"'),
            ),
        ),
        DomainRevision(
            "part-time limit", Type.R3,
            "The union asks for full contracts: on every day at most the share `parttime_share` of the shifts that "
            "begin is "
            "part-time.",
            lambda plan: (NewFigure("parttime_share", 0.2, 1.0, "share", "part of a day's shifts that are part-time"),),
            'for day in m.days:\n'
            '    parttime = pulp.lpSum(one for key, one in m.begin.items() if key[:2] == ("parttime", day))\n'
            '    all_shifts = pulp.lpSum(one for key, one in m.begin.items() if key[1] == day)\n'
            '    m.problem += parttime <= m.p["parttime_share"] * all_shifts, f"parttime__{day}"',
        ),
        DomainRevision(
            "early allowance", Type.R2,
            "Whoever begins in the first period of a day is paid an allowance of `early_allowance` on top of the pay.",
            lambda plan: (NewFigure("early_allowance", 22.0, 0.0, "EUR", "allowance for a shift that begins first"),),
            'm.cost += [m.p["early_allowance"] * one for (contract, day, period), one in m.begin.items()\n'
            '           if period == m.periods[0]]',
        ),
        DomainRevision(
            "busy Friday", Type.R1,
            "A new ward opens, which orders on Fridays: on that day `friday_extra` more people are needed in every "
            "period.",
            lambda plan: (NewFigure("friday_extra", 4.0, 0.0, "people", "more people on Friday, in every period"),),
            edits=(('): float(row[day]) for row in rows',
                    '): float(row[day]) + m.p["friday_extra"] * (day == "fri") for row in rows'),),
        ),
    ),
)  # fmt: skip

"""A furniture works plans some weeks: what to make, what to store, where to work overtime."""

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
    """Draw an instance: five or six products, three machines, six or seven weeks."""
    names = ["table", "chair", "shelf", "bench", "desk", "stool", "cabinet"][: int(rng.integers(5, 7))]
    machines, weeks = ["saw", "press", "paint"], [f"w{week}" for week in range(1, int(rng.integers(6, 8)) + 1)]
    hours = {(name, machine): float(rng.integers(2, 9)) / 10 for name in names for machine in machines}
    level = {name: float(rng.integers(40, 130)) for name in names}
    season = 1.0 + 0.5 * np.sin(np.arange(len(weeks)) / len(weeks) * 6.3 + float(rng.uniform(0, 6.3)))
    demand = [[name, *(round(level[name] * float(rng.uniform(0.8, 1.2)) * s) for s in season)] for name in names]
    products = [[name, int(rng.integers(20, 90)), float(rng.integers(4, 16)) / 10, int(rng.integers(0, 30))]
                for name in names]  # fmt: skip
    load = {machine: sum(hours[name, machine] * level[name] for name in names) for machine in machines}
    rows = [[machine, round(load[machine] * 0.97), round(load[machine] * 0.7)] for machine in machines]
    return Artifacts(
        {
            "products.csv": draw_table("product|making cost (EUR)|storing cost (EUR)|first stock (pieces)", products),
            "demand.csv": draw_table("|".join(["product", *weeks]), demand),
            "machines.csv": draw_table("machine|regular hours (h)|most overtime (h)", list(rows)),
            "hours.csv": draw_table(
                "product|machine|hours per piece (h)", [[*key, value] for key, value in hours.items()]
            ),
            tables.PARAMETERS_FILE: draw_parameters(
                ("overtime_cost", float(rng.integers(28, 46)), "EUR/h", "cost of an hour of overtime"),
                ("store_capacity", round(sum(level.values()) * 0.9), "pieces", "room for finished products"),
            ),
        },
        {REQUIREMENT: read_requirement("production").format(weeks=len(weeks))},
    )


PRODUCTION = Domain(
    "production", "Production plan of a furniture works", "LpMinimize", draw_instance,
    (
        DomainRevision(
            "safety stock", Type.R3,
            "Two deliveries were late in spring. From now on at least the share `safety_share` of a week's orders "
            "of each "
            "product is in the store at the end of the week.",
            lambda plan: (NewFigure("safety_share", 0.15, 0.0, "share", "part of a week's orders kept in store"),),
            'for product, week in m.demand:\n'
            '    m.problem += m.stock[product, week] >= m.p["safety_share"] * m.demand[product, week], (\n'
            '        f"safety__{product}__{week}")',
        ),
        DomainRevision(
            "overtime budget", Type.R3,
            "The works council agrees to at most `overtime_budget` hours of overtime on all machines and weeks "
            "together.",
            lambda plan: (NewFigure("overtime_budget", round(0.85 * plan.total("overtime")), 1e6, "h",
                                    "overtime on all machines in all weeks"),),
            'm.problem += pulp.lpSum(m.overtime.values()) <= m.p["overtime_budget"], "overtime_total"',
        ),
        DomainRevision(
            "setup cost", Type.R4,
            "A week in which a product is made begins with a setup of its line, which costs `setup_cost`, however many "
            "pieces follow.",
            lambda plan: (NewFigure("setup_cost", 250.0, 0.0, "EUR", "setup of a product's line in a week"),),
            'm.setup = {key: pulp.LpVariable("setup__%s__%s" % key, cat="Binary") for key in m.make}\n'
            'for (product, week), setup in m.setup.items():\n'
            '    most = sum(m.demand[product, later] for later in m.weeks[m.weeks.index(week):])\n'
            '    most += 0.2 * sum(m.demand[product, one] for one in m.weeks)\n'
            '    m.problem += m.make[product, week] <= most * setup, f"line__{product}__{week}"\n'
            '    m.cost.append(m.p["setup_cost"] * setup)',
        ),
        DomainRevision(
            "late delivery", Type.R5,
            "Customers accept that up to the share `late_share` of a week's orders comes one week later, for a "
            "rebate of "
            "`late_rebate` on each such piece. The last week's orders are never late.",
            lambda plan: (NewFigure("late_share", 0.3, 0.0, "share", "part of a week's orders that may be late"),
                          NewFigure("late_rebate", 1.5, 1.5, "EUR/piece", "rebate on a piece that is late")),
            'for (product, week), late in m.late.items():\n'
            '    m.problem += late <= m.p["late_share"] * m.demand[product, week], f"late__{product}__{week}"\n'
            '    m.cost.append(m.p["late_rebate"] * late)\n'
            'for product in m.products:\n'
            '    m.problem += m.late[product, m.weeks[-1]] <= 0, f"punctual__{product}"',
            edits=(
                ('    m.overtime = {',
                 '    m.late = {key: pulp.LpVariable("delay__%s__%s" % key, 0) for key in every}\n'
                                       '    m.overtime = {'),
                ('            m.problem += before + m.make[product, week] == m.demand[product, week] + '
                 'm.stock[product, week], (',
                 '            due = m.late[product, m.weeks[place - 1]] if place else 0\n'
                 '            here = m.demand[product, week] - m.late[product, week]\n'
                 '            m.problem += before + m.make[product, week] == here + due + m.stock[product, week], ('),
            ),
        ),
        DomainRevision(
            "growing orders", Type.R1,
            "Sales expects that every order is larger than the list says: all figures of `demand.csv` are to be "
            "multiplied "
            "by `demand_growth`.",
            lambda plan: (NewFigure("demand_growth", 1.08, 1.0, "factor", "growth of all orders"),),
            edits=(("): float(row[week]) for row in rows",
                    '): m.p["demand_growth"] * float(row[week]) for row in rows'),),
        ),
    ),
)  # fmt: skip

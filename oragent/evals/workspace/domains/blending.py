"""A feed mill buys, stores and blends raw materials over four months."""

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
    """Draw an instance: eight materials, four feeds, four months."""
    base = {"wheat": (12, 3), "barley": (11, 5), "maize": (9, 2), "soymeal": (45, 6), "rapemeal": (35, 12),
            "bran": (15, 10), "peas": (23, 6), "beetpulp": (9, 18)}  # fmt: skip
    quality = {name: [p + float(rng.integers(-9, 10)) / 10, f + float(rng.integers(-9, 10)) / 10]
               for name, (p, f) in base.items()}  # fmt: skip
    price = {name: 90 + 6.2 * p - 2.5 * f + float(rng.uniform(-15, 15)) for name, (p, f) in quality.items()}
    months = ["may", "june", "july", "august"]
    feeds: list[list[object]] = [
        [
            name,
            round(150 + 6.4 * protein - 2 * fibre + float(rng.uniform(-6, 14))),
            protein,
            fibre,
            int(rng.integers(150, 420)),
        ]
        for name, protein, fibre in (("poultry", 19, 5), ("pig", 16, 6), ("cattle", 14, 12), ("calf", 18, 8))
    ]
    sold = sum(int(str(row[4])) for row in feeds)
    return Artifacts(
        {
            "feeds.csv": draw_table("feed|price (EUR)|least protein (%)|most fibre (%)|most sales (t)", feeds),
            "materials.csv": draw_table("material|protein (%)|fibre (%)|market (t)", [
                [name, *values, round(sold * float(rng.uniform(0.15, 0.4)))] for name, values in quality.items()]),
            "prices.csv": draw_table("|".join(["material", *months]), [
                [name, *(round(values * float(rng.uniform(0.85, 1.15))) for _ in months)]
                for name, values in price.items()]),
            tables.PARAMETERS_FILE: draw_parameters(
                ("storing_cost", float(rng.integers(20, 50)) / 10, "EUR/t", "a tonne in the silos for a month"),
                ("silo_capacity", round(sold * 0.4), "t", "room of all silos together"),
                ("mill_capacity", round(sold * 0.85), "t", "tonnes that the mill blends in a month"),
            ),
        },
        {REQUIREMENT: read_requirement("blending")},
    )  # fmt: skip


BLENDING = Domain(
    "blending", "Purchase and blending of a feed mill", "LpMaximize", draw_instance,
    (
        DomainRevision(
            "maize limit", Type.R3,
            "Buyers want less maize. In each feed and month, maize is at most the share `maize_share` of the weight.",
            lambda plan: (NewFigure("maize_share", 0.04, 1.0, "share", "maize in a feed, by weight"),),
            'for (f, t), made in m.made.items():\n'
            '    m.problem += m.blend["maize", f, t] <= m.p["maize_share"] * made, f"maize__{f}__{t}"',
        ),
        DomainRevision(
            "soy agreement", Type.R3,
            "We signed an agreement with a supplier of soymeal: in every month we buy at least `soy_tonnes` of it.",
            lambda plan: (NewFigure("soy_tonnes", round(1.02 * plan.largest("buy__soymeal") + 5), 0.0, "t",
                                    "least purchase of soymeal in a month"),),
            'for t in m.months:\n'
            '    m.problem += m.buy["soymeal", t] >= m.p["soy_tonnes"], f"agreement__{t}"',
            edits=(('m.problem += m.buy[a, t] <= float(row["market (t)"])',
                    'm.problem += m.buy[a, t] <= float(row["market (t)"]) + (m.p["soy_tonnes"] if a == "soymeal" '
                    'else 0)'),),
        ),
        DomainRevision(
            "cleaning of the line", Type.R4,
            "Before a feed is blended in a month, the line is cleaned, which costs `cleaning_cost`; a feed that is "
            "not made "
            "needs no cleaning.",
            lambda plan: (NewFigure("cleaning_cost", 900.0, 0.0, "EUR", "cleaning before a feed in a month"),),
            'for (f, t), made in m.made.items():\n'
            '    run = pulp.LpVariable(f"run__{f}__{t}", cat="Binary")\n'
            '    m.problem += made <= float(m.feeds[f]["most sales (t)"]) * run, f"line__{f}__{t}"\n'
            '    m.cost.append(-m.p["cleaning_cost"] * run)',
        ),
        DomainRevision(
            "richer feeds", Type.R1,
            "The association raises its standard: every feed needs `protein_extra` percent of the weight more "
            "protein than "
            "`feeds.csv` says.",
            lambda plan: (NewFigure("protein_extra", 1.5, 0.0, "%", "protein in addition to the table"),),
            edits=(('float(row["least protein (%)"]) * made',
                    '(float(row["least protein (%)"]) + m.p["protein_extra"]) * made'),),
        ),
        DomainRevision(
            "second shift", Type.R5,
            "The mill can run a second shift in a month. It costs `shift_cost` for the month and lets the mill blend "
            "`shift_tonnes` more.",
            lambda plan: (NewFigure("shift_tonnes", round(0.15 * plan.column_sum("feeds.csv", "most sales (t)")),
                                    0.0, "t",
                                    "more tonnes by a second shift"),
                          NewFigure("shift_cost", 500.0, 500.0, "EUR", "second shift for a month")),
            'm.cost += [-m.p["shift_cost"] * one for one in m.shift.values()]',
            edits=(
                ('    m.made = {', '    m.shift = {t: pulp.LpVariable(f"shift__{t}", cat="Binary") for t in m.months}\n'
                                   '    m.made = {'),
                ('<= m.p["mill_capacity"], f"mill',
                 '<= m.p["mill_capacity"] + m.p["shift_tonnes"] * m.shift[t], f"mill'),
            ),
        ),
    ),
)  # fmt: skip

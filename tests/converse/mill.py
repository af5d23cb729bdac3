"""A paper mill of our own with messy names: minimise cost, whole shifts, tonnes; and replies about it, true and false."""

from oragent.modelling.data.flat_model import Milp, Objective, Relation, Row, Sense, Variable, VariableKind

MILL = Milp(
    name="mill",
    meaning="weekly plan of a paper mill",
    sense=Sense.MINIMIZE,
    objective=Objective({"t_KRAFT.A": 310.0, "t_KRAFT.B": 335.0, "t_news": 280.0, "shifts_PM2": 1900.0, "buy-pulp": 450.0}),
    variables=(
        Variable("t_KRAFT.A", 0, 400, unit="t"),
        Variable("t_KRAFT.B", 0, 400, unit="t"),
        Variable("t_news", 0, 600, unit="t"),
        Variable("shifts_PM2", 0, 21, VariableKind.INTEGER),
        Variable("buy-pulp", 0, 500, unit="t"),
    ),
    rows=(
        Row("Demand_Kraft", {"t_KRAFT.A": 1.0, "t_KRAFT.B": 1.0}, Relation.AT_LEAST, 500.0),
        Row("Demand_news", {"t_news": 1.0}, Relation.AT_LEAST, 320.0),
        Row("PM2 hours", {"t_KRAFT.A": 0.12, "t_KRAFT.B": 0.10, "t_news": 0.08, "shifts_PM2": -8.0}, Relation.AT_MOST, 0.0),
        Row("pulp_bal", {"t_KRAFT.A": 1.1, "t_KRAFT.B": 1.05, "t_news": 0.9, "buy-pulp": -1.0}, Relation.AT_MOST, 620.0),
        Row("steam", {"t_KRAFT.A": 2.0, "t_KRAFT.B": 2.4, "t_news": 1.5}, Relation.AT_MOST, 1700.0),
    ),
)  # fmt: skip

# After the model set Demand_news to 360 and solved again: 362,400 -> 391,250, A 220 -> 400, B 280 -> 100, PM2 10 -> 11.
TRUE = (
    "The cost rises from 362,400 to 391,250, an increase of 28,850.",
    "With the new demand you produce 400 t of t_KRAFT.A and 100 t of t_KRAFT.B.",
    "t_news goes up from 320 to 360 t, and PM2 needs 11 shifts.",
    "| t_KRAFT.A | 400 |\n|---|---|\n| t_KRAFT.B | 100 |\n| t_news | 360 |\n| shifts_PM2 | 11 |\n| buy-pulp | 249 |",
    "Buy 249 t of pulp (buy-pulp was 204 before).",
    "Steam is not binding: it uses 1,580 of the 1,700 available.",
    "pulp_bal is binding at its limit of 620.",
    "t_KRAFT.B falls by 180 t, while t_KRAFT.A increases by 180 t.",
    "You cannot run with fewer than 11 shifts_PM2.",
    "It is not possible to bring the cost below 390,000 with this demand.",
    "The cost increases by about 8 %.",
    "shifts_PM2 increased by 1; the steam use fell from 1,592 to 1,580.",
    "More t_KRAFT.A than t_KRAFT.B is made.",
    "Demand_Kraft must be at least 500 and is met exactly at 500.",
    "If Demand_news went back to 320, the cost would be 362,400.",
    "The lowest possible cost is 391,250.",
    "Each tonne of t_KRAFT.A costs 310 and each shift 1,900.",
    "I set the demand for newsprint to 360 as you asked. Shall I also look at steam?",
    "The plan has 120 t of steam left.",
    "Using less than 11 shifts_PM2 is infeasible.",
)
FALSE = (
    ("The cost rises to 381,250.", 381250),
    ("The cost falls when demand goes up.", 0),
    ("You produce 100 t of t_KRAFT.A and 400 t of t_KRAFT.B.", 100),
    ("t_news stays the same.", 0),
    ("Steam is fully used.", 0),
    ("PM2 needs 10 shifts: shifts_PM2 is 10.", 10),
    ("It is impossible to make at least 450 t of t_KRAFT.A and t_KRAFT.B cannot exceed 150 t.", 150),
    ("You cannot make less than 400 t of t_KRAFT.A.", 400),
    ("More t_KRAFT.B than t_KRAFT.A is made.", 0),
    ("If Demand_news went back to 320, the cost would be 370,000.", 370000),
    ("The cost cannot be lower than 395,000, since all constraints bind.", 395000),
    ("buy-pulp is 204 t, and pulp_bal uses 600 of its limit.", 204),
)

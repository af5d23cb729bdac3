"""Questions that list names, or ask for the values of a plan by names and weeks, on a brewery with messy names."""

from itertools import product

from oragent.converse.agents.rules import RulesAgent
from oragent.milp.model import Milp, Objective, Row, Sense, Variable, VariableKind
from oragent.milp.ranking import read_ranking
from tests.converse.workshop import rules, said

SITES, BEERS, WEEKS = ("Graz", "Linz", "Hallein"), ("Pils", "Weizen", "Bock"), (1, 2, 3)
FIXED = {"Graz": 2600.0, "Linz": 3900.0, "Hallein": 1500.0}
RATES = {"Graz": 14.0, "Linz": 12.0, "Hallein": 17.0}
DEMANDS = {(beer, week): 40.0 + 31 * number % 67 for number, (beer, week) in enumerate(product(BEERS, WEEKS))}


def brewery() -> Milp:
    """Three sites brew three beers in three weeks; each index has its own way of writing, and a site may stay closed."""
    variables = [Variable(f"sell_{beer}_wk{week}", 0, DEMANDS[beer, week]) for beer, week in DEMANDS]
    variables += [Variable(f"brew({site},{beer},{week})") for site in SITES for beer, week in DEMANDS]
    variables += [
        Variable(f"XtraShift_{site}_w{week}", 0, 4, VariableKind.INTEGER) for site, week in product(SITES, WEEKS)
    ]
    variables += [Variable(f"open_{site}", 0, 1, VariableKind.INTEGER) for site in SITES]
    rows = [
        Row(f"bal_{beer}_{week}", {f"sell_{beer}_wk{week}": -1.0} | {f"brew({site},{beer},{week})": 1.0 for site in SITES},
            "=", 0)
        for beer, week in DEMANDS
    ]  # fmt: skip
    rows += [
        Row(
            f"hours_{site}_w{week}",
            {f"brew({site},{beer},{week})": 0.5 for beer in BEERS}
            | {f"open_{site}": -30.0, f"XtraShift_{site}_w{week}": -8.0},
            "<=",
            0,
        )
        for site, week in product(SITES, WEEKS)
    ]
    gains = {f"sell_{beer}_wk{week}": 90.0 for beer, week in DEMANDS}
    gains |= {f"brew({site},{beer},{week})": -RATES[site] for site in SITES for beer, week in DEMANDS}
    gains |= {f"XtraShift_{site}_w{week}": -310.0 for site, week in product(SITES, WEEKS)}
    gains |= {f"open_{site}": -FIXED[site] for site in SITES}
    return Milp(tuple(variables), tuple(rows), Objective(gains, name="margin"), Sense.MAXIMIZE)


def plan_of(agent: RulesAgent) -> dict[str, float]:
    """Values of the plan in force that are not 0."""
    return agent.tools.problem.values(agent.tools.solve().decision)  # type: ignore[attr-defined]


def test_a_ranking_is_of_the_listed_names_alone() -> None:
    agent = rules(brewery())
    assert said(agent, "which of open_Graz, open_Linz and open_Hallein is the most expensive?") == (
        "most expensive of open_Graz, open_Linz and open_Hallein by fixed cost of open: open_Linz with 3900; then "
        "open_Graz 2600, open_Hallein 1500"
    )
    for question in ("which of open_Graz and open_Hallein is the dearest?", "is open_Graz or open_Hallein dearer?"):
        assert "fixed cost of open: open_Graz with 2600; then open_Hallein 1500" in said(agent, question)
    asked = said(agent, "which of Graz, Linz and Hallein is the cheapest?")
    readings = [
        f"cheapest of Graz, Linz and Hallein by {what}" for what in ("cost per unit of brew", "fixed cost of open")
    ]
    assert asked == f"which do you mean? {' or '.join(map(repr, readings))}; nothing was changed"
    assert said(agent, readings[0]).endswith(": Linz with 12; then Graz 14, Hallein 17")
    assert said(agent, readings[1]).endswith(": Hallein with 1500; then Graz 2600, Linz 3900")
    plan = plan_of(agent)
    sold = {beer: sum(plan.get(f"sell_{beer}_wk{week}", 0.0) for week in WEEKS) for beer in ("Pils", "Bock")}
    larger, smaller = sorted(sold, key=lambda beer: -sold[beer])
    assert f"by sell in the plan: {larger} with {sold[larger]:g}; then {smaller} {sold[smaller]:g}" in said(
        agent, "which of Pils or Bock is larger"
    )
    assert "no variables of one kind have these names" in said(agent, "which of Graz and Oslo is cheaper?")
    assert read_ranking("which of the sites is the cheapest?").names == ()  # type: ignore[union-attr]

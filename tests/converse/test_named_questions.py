"""Questions that list names, or ask for the values of a plan by names and weeks, on a brewery with messy names."""

import re
from itertools import product

import pytest

from oragent.converse.agents.plain_questions import AmbiguousQuestionError, read_question
from oragent.converse.agents.rules import RulesAgent
from oragent.converse.decision import format_figure
from oragent.converse.problems.formulated import FormulatedProblem
from oragent.converse.problems.model_text import describe_named
from oragent.converse.solving import StateSolver
from oragent.converse.tools import Toolbox
from oragent.milp.decisions import group_families
from oragent.milp.model import Milp, Objective, Row, Sense, Variable, VariableKind
from oragent.milp.plan_values import read_value_question
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


@pytest.mark.parametrize("question", ["which product sells most in week {}?", "what do we sell most in week {}"])
@pytest.mark.parametrize("week", WEEKS)
def test_values_of_the_plan_are_ranked_in_a_week(question: str, week: int) -> None:
    agent = rules(brewery())
    sold = {beer: plan_of(agent).get(f"sell_{beer}_wk{week}", 0.0) for beer in BEERS}
    order = sorted(sold, key=lambda beer: -sold[beer])
    noun = "product" if "product" in question else "of them"
    rest = ", ".join(f"{beer} {sold[beer]:g}" for beer in order[1:])
    assert said(agent, question.format(week)) == (
        f"largest {noun} by sell in week {week} in the plan: {order[0]} with {sold[order[0]]:g}; then {rest}"
    )


def test_values_of_the_plan_are_added_over_matching_names() -> None:
    agent = rules(brewery())
    plan = plan_of(agent)
    shifts = {place: plan.get(f"XtraShift_{place[0]}_w{place[1]}", 0.0) for place in product(SITES, WEEKS)}
    assert sum(shifts.values()) > 0
    assert said(agent, "how many extra shifts?").startswith(f"XtraShift: {sum(shifts.values()):g} in the plan (")
    for week in WEEKS:
        total = sum(shifts[site, week] for site in SITES)
        assert said(agent, f"how many extra shifts in week {week}?").startswith(
            f"XtraShift in week {week}: {total:g} in the plan ("
        )
    total = sum(shifts[site, week] for site in SITES for week in (1, 3))
    assert f": {total:g} in the plan" in said(agent, "how many extra shifts in weeks 1 and 3?")
    assert said(agent, "how many sites are open?") == "open: 2 in the plan (Graz: 1, Hallein: 1, 1 other at 0)"
    linz = sum(plan.get(f"brew(Graz,Pils,{week})", 0.0) for week in WEEKS)
    assert said(agent, "how much Pils does Graz brew?").startswith(f"brew of Graz and Pils: {linz:g} in the plan")
    assert said(agent, "how much Pils do we sell in week 2") == f"sell_Pils_wk2 = {plan['sell_Pils_wk2']:g}"
    assert said(agent, "when do we sell most Bock?").startswith("largest week by sell of Bock in the plan: wk")
    assert agent.tools.state.restrictions == agent.tools.state.changes == ()


def test_a_question_for_values_with_two_readings_is_asked_back() -> None:
    agent = rules(brewery())
    asked = said(agent, "which beer is brewed most in week 2?")
    suggestions = re.findall(r"'(.*?)'", asked)
    assert [suggestion.split(" has ")[0] for suggestion in suggestions] == [
        "which of Graz, Linz and Hallein",
        "which of Pils, Weizen and Bock",
    ]
    plan = plan_of(agent)
    brewed = {beer: sum(plan.get(f"brew({site},{beer},2)", 0.0) for site in SITES) for beer in BEERS}
    most = max(brewed, key=lambda beer: brewed[beer])
    assert f"{most} with {brewed[most]:g}; then " in said(agent, suggestions[1])
    variables = [Variable(f"{kind}_shift_w{week}", 1, 3) for kind in ("day", "night") for week in WEEKS]
    agent = rules(Milp(tuple(variables), (), Objective({variable.name: 1.0 for variable in variables}), Sense.MINIMIZE))
    asked = said(agent, "how many shifts in week 2?")
    assert asked == (
        "which do you mean? 'how many day_shift in week 2' or 'how many night_shift in week 2'; nothing was changed"
    )
    assert said(agent, "how many night_shift in week 2") == "night_shift_w2 = 1"
    assert said(agent, "how many night shifts?") == "night_shift: 3 in the plan (w1: 1, w2: 1, w3: 1)"


@pytest.mark.parametrize(
    "question",
    ["what if I had 3 extra shifts?", "how many shifts at most", "what is the most we can sell", "how much is one more worth",
     "how many tables would that be", "which constraints are binding", "show", "how many depots if Linz closes"],
)  # fmt: skip
def test_other_questions_are_not_read_as_values_of_the_plan(question: str) -> None:
    assert read_value_question(question) is None


def test_what_rounding_leaves_of_a_row_is_not_shown() -> None:
    rows = (Row("balance", {"made": 9.0, "sold": -1.0}, "=", 0), Row("least", {"sold": 1.0}, ">=", 3))
    milp = Milp((Variable("made"), Variable("sold")), rows, Objective({"made": 1.0}), Sense.MINIMIZE)
    assert describe_named(milp, {"made": 0.333333333, "sold": 3.0}, ["balance"]) == "balance = 0 (must be = 0)"


def test_names_with_points_are_read_as_a_family() -> None:
    names = [f"stock.{beer}.{week}" for beer in BEERS for week in WEEKS]
    (family,) = group_families([*map(Variable, names)], dict.fromkeys(names, 0.0))
    assert (family.name, list(family.entries)) == ("stock", [(beer, str(week)) for beer in BEERS for week in WEEKS])


def switches(*names: str) -> FormulatedProblem:
    """A model of binaries of these names."""
    variables = tuple(Variable(name, 0, 1, VariableKind.INTEGER) for name in names)
    return FormulatedProblem(Milp(variables, (), Objective(dict.fromkeys(names, 1.0)), Sense.MAXIMIZE))


@pytest.mark.parametrize(
    ("names", "question", "command"),
    [
        ("open_Jaen use_Jaen", "close Jaen", "fix open_Jaen 0"),
        ("open_Jaen use_Jaen", "stop using Jaen", "fix use_Jaen 0"),
        ("open_Jaen use_Jaen", "close use_Jaen", "fix use_Jaen 0"),
        ("open_Jaen Jaen_on", "switch off Jaen", "fix Jaen_on 0"),
        ("openJaen openBaena", "close Jaen", "fix openJaen 0"),
        ("open_Jaen_w1 open_Jaen_w2 open_Jaen_w3", "close Jaen in weeks 1 and 3", "fix open_Jaen_w1 0; fix open_Jaen_w3 0"),
    ],
)  # fmt: skip
def test_a_name_is_closed_by_the_binary_that_fits_exactly(names: str, question: str, command: str) -> None:
    assert read_question(switches(*names.split()), question) == command


def test_a_name_of_several_binaries_is_asked_back_with_all_of_them() -> None:
    with pytest.raises(AmbiguousQuestionError) as asked:
        read_question(switches("open_Jaen_w1", "open_Jaen_w2", "open_Baena_w1"), "close Jaen")
    assert str(asked.value) == (
        "which do you mean? 'fix open_Jaen_w1 0' or 'fix open_Jaen_w2 0', or all: 'fix open_Jaen_w1 0; fix open_Jaen_w2 0'"
    )


def test_a_week_is_found_in_names_of_each_way_of_writing() -> None:
    """``sell_Pils_wk2``, ``brew(Graz,Pils,2)`` and ``XtraShift_Graz_w2`` all have week 2."""
    problem = FormulatedProblem(brewery())
    assert read_question(problem, "sell at least 20 Pils in week 2") == "sell_Pils_wk2 >= 20"
    assert read_question(problem, "hours of Graz in week 2") == "values hour graz w2"
    assert read_question(problem, "raise the price of Bock in week 3 to 110") == "set margin sell_Bock_wk3 110".replace(
        "margin", "objective"
    )
    with pytest.raises(AmbiguousQuestionError, match=r"'bal_Bock_2', 'sell_Bock_wk2', 'brew\(Graz,Bock,2\)'"):
        read_question(problem, "at least 20 Bock in week 2")
    with pytest.raises(AmbiguousQuestionError, match=r"'fix sell_Pils_wk3 90' \(exactly 90\)"):
        read_question(problem, "what if we sold 90 Pils in week 3?")
    with pytest.raises(AmbiguousQuestionError, match="'try relax hours_Graz_w1 1'"):
        read_question(problem, "what is one more XtraShift in Graz in week 1 worth?")


def test_short_questions_get_short_answers() -> None:
    agent = rules(brewery())
    margin = agent.tools.problem.features(agent.tools.problem.default)[0]
    line = f"margin {format_figure(margin)}"
    for question in ("what is the margin?", "how much do we make?"):
        assert said(agent, question) == f"read as: status objective\n{line}"
    assert said(agent, "what is in force?") == f"read as: status\n{line}\nNothing is asked for or changed."
    said(agent, "open Linz")
    lines = said(agent, "what changed?").splitlines()
    assert lines[1].endswith(f"; at the opening: {line}")
    assert lines[2].startswith("changed: ")
    assert lines[-1] == "In force: open_Linz 1."


@pytest.mark.parametrize(
    ("question", "command"),
    [
        ("what would it cost to open Linz?", "try fix open_Linz 1"),
        ("what does it cost?", "why"),
        ("what would that cost us?", "why"),
    ],
)
def test_what_it_costs_to_do_something_is_tried(question: str, command: str) -> None:
    assert read_question(FormulatedProblem(brewery()), question) == command


def test_extra_in_a_name_is_no_difference() -> None:
    rows = (Row("xtra_budget_Linz", {"x": 1.0}, "<=", 9),)
    problem = FormulatedProblem(Milp((Variable("x"),), rows, Objective({"x": 1.0}), Sense.MAXIMIZE))
    assert read_question(problem, "what if the extra shift budget in Linz is 2?") == "set xtra_budget_Linz 2"
    assert read_question(problem, "what if the budget in Linz is 2 more?") == "set xtra_budget_Linz 11"
    assert read_question(problem, "2 extra in the budget of Linz") == "set xtra_budget_Linz 11"


def test_what_is_done_where_is_a_sum_with_its_parts() -> None:
    agent = rules(brewery())
    plan = plan_of(agent)
    total = sum(plan.get(f"brew({site},Bock,{week})", 0.0) for site, week in product(SITES, WEEKS))
    assert said(agent, "where do we brew Bock?").startswith(f"brew of Bock: {total:g} in the plan (Graz 1: ")
    assert "by cost per unit of brew: Graz with 14; then Hallein 17" in said(
        agent, "which is cheaper to brew in, Graz or Hallein?"
    )
    assert "list them, as in 'which of A, B and C is cheapest?'" in said(agent, "what is the cheapest place?")


def test_one_undo_takes_a_whole_message_back() -> None:
    agent = RulesAgent(Toolbox(StateSolver(FormulatedProblem(brewery())), extended=True), is_brief=True)
    said(agent, "open Linz")
    said(agent, "close both Graz and Hallein")
    said(agent, "undo")
    assert [restriction.name for restriction in agent.tools.state.restrictions] == ["fix[open_Linz]"]
    said(agent, "reset")
    assert agent.tools.state.restrictions == ()
    said(agent, "undo")
    assert len(agent.tools.state.restrictions) == 1
    said(agent, "fix open_Graz 1; undo; undo")
    assert agent.tools.state.restrictions == ()
    assert "nothing to undo" in said(agent, "undo")


def laundry() -> Milp:
    """Two machines wash two kinds of linen on three days; sheets of Friday are most, and all is washed by Miele1."""
    machines, linen, days = ("Miele1", "oldBosch"), ("sheets", "towels"), ("Mon", "Tue", "Fri")
    variables = [Variable(f"wash({machine},{kind},{day})") for machine in machines for kind in linen for day in days]
    variables += [
        Variable(f"isOn({machine},{day})", 0, 1, VariableKind.INTEGER) for machine in machines for day in days
    ]
    variables += [Variable(f"temp.staff.{day}", 1, 3, VariableKind.INTEGER) for day in days]
    needs = {(kind, day): 10.0 + 7 * at for at, (kind, day) in enumerate(product(linen, days))}
    rows = [
        Row(f"need_{kind}_{day}", {f"wash({machine},{kind},{day})": 1.0 for machine in machines}, "=", need)
        for (kind, day), need in needs.items()
    ]
    rows += [
        Row(f"load({machine},{day})", {f"wash({machine},{kind},{day})": 1.0 for kind in linen} | {f"isOn({machine},{day})": -99.0},
            "<=", 0)
        for machine in machines for day in days
    ]  # fmt: skip
    costs = {variable.name: 2.0 if "oldBosch" in variable.name else 1.0 for variable in variables}
    return Milp(tuple(variables), tuple(rows), Objective(costs, name="cost"), Sense.MINIMIZE)


def test_days_are_understood_in_full_and_shortened() -> None:
    agent, problem = rules(laundry()), FormulatedProblem(laundry())
    asked = said(agent, "which machine washes most on Friday?")
    assert re.findall(r"'(.*?)'", asked) == [
        "which of Miele1 and oldBosch has the most wash of Fri",
        "which of sheets and towels has the most wash of Fri",
    ]
    assert said(agent, "which of Miele1 and oldBosch has the most wash of Fri").endswith(
        "in the plan: Miele1 with 69; then oldBosch 0"
    )  # 10 + 7 * 2 and 10 + 7 * 5
    assert said(agent, "which day has the most towels to wash?").endswith("Fri with 45; then Tue 38, Mon 31")
    assert said(agent, "how many temp staff?") == "temp.staff: 3 in the plan (Mon: 1, Tue: 1, Fri: 1)"
    assert read_question(problem, "need 40 sheets on Friday") == "set need_sheets_Fri 40"
    assert read_question(problem, "why is oldBosch off on Monday?") == "try fix isOn(oldBosch,Mon) 1"
    assert read_question(problem, "turn Miele1 off on Tue") == "fix isOn(Miele1,Tue) 0"
    assert read_question(problem, "switch on oldBosch on Friday") == "fix isOn(oldBosch,Fri) 1"
    with pytest.raises(
        AmbiguousQuestionError, match=r"or all: 'fix isOn\(oldBosch,Mon\) 0; fix isOn\(oldBosch,Tue\) 0; "
    ):
        read_question(problem, "turn off oldBosch")

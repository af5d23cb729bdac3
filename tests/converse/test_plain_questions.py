"""Plain questions over the names of a person's own model, without any language model."""

from dataclasses import replace
from pathlib import Path

import pytest

from oragent.converse.agents.plain_questions import AmbiguousQuestionError, read_question
from oragent.converse.problems.formulated import FormulatedProblem
from oragent.converse.problems.schools import sfusd
from oragent.milp.model import INFINITY, Milp, Objective, Relation, Row, Sense, Variable, VariableKind
from oragent.milp.ranking import read_ranking
from tests.converse.workshop import optimum, rules, said, with_rows, workshop


@pytest.mark.parametrize(
    ("question", "command"),
    [
        ("what if I had 50 carpentry hours instead of 40", "set carpentry 50"),
        ("What if carpentry went from 40 to 50?", "set carpentry 50"),
        ("what if I had 45,5 hours of carpentry", "set carpentry 45.5"),
        ("what if carpentry were 1,500?", "set carpentry 1500"),
        ("and if we increase carpentry to 55?", "set carpentry 55"),
        ("What would 10 more hours of carpentry be worth?", "try set carpentry 50"),
        ("suppose finishing loses 6 hours, 6 fewer", "set finishing 40"),
        ("what about 10 % more finishing?", "scale finishing +10 %"),
        ("I want at least 3 tables", "tables >= 3"),
        ("no more than 5 tables please", "tables <= 5"),
        ("make exactly 4 tables", "fix tables 4"),
        ("what happens without carpentry?", "drop carpentry"),
        ("what is the least carpentry we need?", "lowest carpentry"),
        ("how many chairs can we make at most, the highest chairs?", "highest chairs"),
        ("compare carpentry at 40, 50 and 60", "compare carpentry 40 50 60"),
        ("why is this so?", "why"),
        ("hello there", ""),
    ],
)
def test_a_question_is_read_as_a_command(tmp_path: Path, question: str, command: str) -> None:
    assert read_question(FormulatedProblem(workshop(tmp_path)), question) == command


def test_the_answer_says_how_it_was_read_and_is_the_truth(tmp_path: Path) -> None:
    agent = rules(workshop(tmp_path))
    text = said(agent, "what if I had 50 carpentry hours instead of 40")
    truth = optimum(with_rows(workshop(tmp_path), {"carpentry": 50}))
    assert text.startswith("read as: set carpentry 50\ncarpentry <= 40 → <= 50\n")
    assert f"before: profit 648; after: profit {truth:g};" in text
    optima = [optimum(with_rows(workshop(tmp_path), {"carpentry": hours})) for hours in (40, 50, 60)]
    assert said(agent, "compare carpentry 40 50 60").splitlines() == [
        f"carpentry <= 50 → <= 40: profit {optima[0]:g}",
        f"carpentry is <= 50 already: profit {optima[1]:g}",
        f"carpentry <= 50 → <= 60: profit {optima[2]:g}",
    ]
    assert agent.tools.state.changes[0].high == 50


def test_two_readings_are_asked_about(tmp_path: Path) -> None:
    agent = rules(workshop(tmp_path))
    before = agent.tools.state
    text = said(agent, "what if 3 tables?")
    for reading in ("'fix tables 3'", "'tables >= 3'", "'set tables <= 3'"):
        assert reading in text
    milp = Milp((Variable("x", 0, 9),), (Row("labour hours Lyon", {"x": 1}, "<=", 5), Row("labour hours Leipzig", {"x": 1}, "<=", 6)),
                Objective({"x": 1}), Sense.MAXIMIZE)  # fmt: skip
    text = said(rules(milp), "what if I had 8 labour hours?")
    assert "this can be about 'labour hours Lyon', 'labour hours Leipzig'; write which" in text
    assert said(rules(milp), "what if labour hours lyon were 4").startswith("read as: set labour hours Lyon 4")
    assert agent.tools.state == before
    assert "is no command" in said(agent, "hello there")
    text = said(agent, "which product has most in Ulm?")
    assert "no reading of 'which product has most in Ulm?' fits this model, whose names begin with tables" in text
    assert "carpentry" in text.partition("(decisions)")[2]
    assert read_question(sfusd(), "what if load were 50?") == ""


def trucks() -> Milp:
    """A small supply model with messy names: two depots that can be opened, whole trucks, minimise cost."""
    variables = [Variable(f"trk_{depot}__Makro", 0, 40, VariableKind.INTEGER) for depot in ("KRK~1", "wro_West")]
    variables += [Variable(f"OPEN_{depot}", 0, 1, VariableKind.INTEGER) for depot in ("KRK~1", "wro_West")]
    rows = (
        Row("dem_Makro", {"trk_KRK~1__Makro": 1, "trk_wro_West__Makro": 1}, ">=", 11),
        Row("cap_KRK~1", {"trk_KRK~1__Makro": 1, "OPEN_KRK~1": -8}, "<=", 0),
        Row("cap_wro_West", {"trk_wro_West__Makro": 1, "OPEN_wro_West": -20}, "<=", 0),
    )
    costs = {"trk_KRK~1__Makro": 50, "trk_wro_West__Makro": 90, "OPEN_KRK~1": 100, "OPEN_wro_West": 40}
    return Milp(tuple(variables), rows, Objective(costs), Sense.MINIMIZE)


def test_ordinary_sentences_about_messy_names(tmp_path: Path) -> None:
    agent = rules(trucks())  # 8 trucks of KRK, 3 of wro: 400 + 270 + 140 = 810
    assert "objective 810" in said(agent, "what is the cheapest plan?").replace("Objectives: ", "")
    text = said(agent, "what if demand of Makro were 14?")
    assert text.startswith("read as: set dem_Makro 14")
    assert "after: objective 1,080" in text  # three more at 90
    assert "without the change dem_Makro >= 14: objective 810" in said(agent, "what does that cost me?")
    said(agent, "undo")
    text = said(agent, "raise the fixed cost of OPEN_KRK~1 to 500")
    assert text.startswith("read as: set objective OPEN_KRK~1 500")
    assert "after: objective 1,030" in text  # all eleven of wro: 990 + 40
    said(agent, "undo")
    assert "the lowest possible cap_wro_West is -17, with" in said(
        agent, "what is the lowest cap_wro_West possible?"
    )  # 3 trucks at least, 8 come from KRK


def dairy() -> Milp:
    """Depots that are opened, with names that hold digits and signs, as an LP file has them."""
    sites = ("Lyon", "Ulm.N", "gd#2")
    variables = [Variable(f"open_{site}", 0, 1, VariableKind.INTEGER) for site in sites]
    variables += [Variable(f"out({site},C003_Billa,milk.1L)") for site in sites]
    rows = [Row(f"thru_{site}", {f"out({site},C003_Billa,milk.1L)": 1, f"open_{site}": -50}, "<=", 0) for site in sites]
    rows += [
        Row("dem_C003_Billa_milk.1L", {f"out({site},C003_Billa,milk.1L)": 1 for site in sites}, ">=", 69),
        Row("trucks_gd#2", {"out(gd#2,C003_Billa,milk.1L)": 0.5}, "<=", 60),
        Row("max_depots", {f"open_{site}": 1 for site in sites}, "<=", 2),
    ]
    costs = {f"open_{site}": 100 + 10 * place for place, site in enumerate(sites)}
    costs |= {f"out({site},C003_Billa,milk.1L)": 1 + place for place, site in enumerate(sites)}
    return Milp(tuple(variables), tuple(rows), Objective(costs, name="weekly_cost"), Sense.MINIMIZE)


@pytest.mark.parametrize(
    ("question", "command"),
    [
        ("what happens if demand of C003_Billa for milk rises to 120?", "set dem_C003_Billa_milk.1L 120"),
        ("what would one more truck hour in gd#2 be worth?", "try set trucks_gd#2 61"),
        ("double the trucks of gd#2", "scale trucks_gd#2 2"),
        ("close Lyon", "fix open_Lyon 0"),
        ("what if we close Lyon and Ulm?", "fix open_Lyon 0; fix open_Ulm.N 0"),
        ("why not open gd#2?", "try fix open_gd#2 1"),
        ("why is Lyon open?", "try fix open_Lyon 0"),
        ("why is gd#2 closed?", "try fix open_gd#2 1"),
        ("why not close Lyon and Ulm?", "try fix open_Lyon 0; fix open_Ulm.N 0"),
        ("what limits the weekly cost?", "binding"),
        ("what is limiting us?", "binding"),
        ("what is the weekly cost now?", "status objective"),
        ("what drives the weekly cost?", ""),
        ("is Lyon open?", "values lyon open"),
        ("which constraints are binding?", "binding"),
        ("what is the weekly cost?", "status objective"),
        ("what changed?", "status changes"),
        ("what is the cheapest depot?", ""),
    ],
)
def test_questions_on_messy_names_are_read(question: str, command: str) -> None:
    assert read_question(FormulatedProblem(dairy()), question) == command


def test_the_values_that_a_question_names_are_shown() -> None:
    agent = rules(dairy())
    assert "open_Lyon = 1" in said(agent, "is Lyon open?")
    assert said(agent, "which rows are binding?").splitlines()[:3] == [
        "read as: binding",
        "2 inequalities bind; 2 more are 0 on both sides; 0 rows are equations",
        "dem_C003_Billa_milk.1L = 69 (must be >= 69)",
    ]
    assert said(agent, "what if we close Lyon and Ulm?").startswith(
        "read as: fix open_Lyon 0; fix open_Ulm.N 0\ninfeasible"
    )
    assert said(agent, "why not open gd#2?").startswith("read as: try fix open_gd#2 1\n")
    assert "which number do you mean for max_depots: 3 or 4?" in said(agent, "what if 3 or 4 depots?")
    answer = said(rules(dairy()), "compare max_depots at 2 and 3")
    assert answer.startswith("max_depots is <= 2 already: weekly_cost")


def test_the_name_of_an_objective_is_kept_from_a_file_and_understood(tmp_path: Path) -> None:
    agent = rules(workshop(tmp_path))
    assert said(agent, "show").count("profit 648") == 1
    assert "before: profit 648; after: profit 720" in said(agent, "set profit tables 80")
    assert said(agent, "highest profit").startswith(said(agent, "highest objective").split(";")[0])


def test_an_objective_that_is_a_variable_keeps_its_name() -> None:
    variables = (Variable("profit", -INFINITY), Variable("tables", 0, 9))
    rows = (Row("account", {"profit": 1.0, "tables": -72.0}, "<=", -10), Row("hours", {"tables": 4.0}, "<=", 20))
    milp = Milp(variables, rows, Objective({"profit": 1.0}, name="profit"), Sense.MAXIMIZE)
    agent = rules(milp)
    assert "profit 350" in said(agent, "what is the profit?")
    assert "before: profit 350; after: profit 206;" in said(agent, "set hours 12")
    assert "before: profit 206; after: profit 100;" in said(agent, "set profit <= 100")
    taken = replace(milp, rows=(*rows, Row("profit", {"tables": 1.0}, "<=", 9)))
    assert FormulatedProblem(taken).expressions[0].word == "objective"


def test_many_changed_decisions_are_listed_in_part() -> None:
    variables = tuple(Variable(f"x{place}", 0, 1, VariableKind.INTEGER) for place in range(50))
    costs = {variable.name: 1.0 for variable in variables}
    row = Row("total", costs, "<=", 40)
    agent = rules(Milp(variables, (row,), Objective(costs), Sense.MAXIMIZE))
    first = said(agent, "objective <= 5").splitlines()[0]
    assert first.endswith(" and 15 more")
    assert first.count("→") == 20


def test_values_and_changes_begin_with_what_is_not_0() -> None:
    """Two depots serve 20 shops; the dearer one serves none until the cheaper one is shut."""
    shops = [f"shop{number:02}" for number in range(20)]
    names = {(depot, shop): f"ship_{depot}_{shop}" for depot in ("Arad", "Zlin") for shop in shops}
    rows = tuple(
        Row(f"demand_{shop}", {names["Arad", shop]: 1, names["Zlin", shop]: 1}, Relation.AT_LEAST, 2) for shop in shops
    )
    costs = {name: 9.0 if depot == "Arad" else 4.0 for (depot, _), name in names.items()}
    milp = Milp(tuple(Variable(name, 0, 5) for name in names.values()), rows, Objective(costs), Sense.MINIMIZE)
    agent = rules(milp)
    lines = said(agent, "how much goes to shop07 and shop08?").splitlines()
    assert lines[-2:] == ["ship_Arad_shop07 = 0", "ship_Arad_shop08 = 0"]
    assert {"ship_Zlin_shop07 = 2", "ship_Zlin_shop08 = 2"} <= set(lines[:-2])
    milp = replace(milp, rows=(*rows, Row("ship_Zlin_room", dict.fromkeys(costs, 1.0), Relation.AT_MOST, 400)))
    lines = said(rules(milp), "values ship").splitlines()
    assert lines[0].startswith("ship_Zlin_room = 40")
    assert lines[-1] == "and 20 others at 0"
    changed = said(agent, "fix ship_Zlin_shop03 0; fix ship_Zlin_shop04 0").splitlines()[0]
    assert changed.index("ship_Arad_shop04 0 → 2") < changed.index("ship_Zlin_shop03 2 → 0")


SUPPLIERS = ("Aalen", "Breda", "Cork", "Dijon")


def supply(links: tuple[float, ...] = (3.0, 4.0, 6.0, 8.0), fixed: tuple[float, ...] = (900, 700, 200, 400)) -> Milp:
    """Four suppliers, nine customers, 36 links of one cost for each supplier, and fixed costs by binaries."""
    customers = [f"customer_{number:02}" for number in range(9)]
    variables = [Variable(f"ship_{site}_{customer}", 0) for site in SUPPLIERS for customer in customers]
    variables += [Variable(f"use_{site}", 0, 1, VariableKind.INTEGER, meaning="supplier is used") for site in SUPPLIERS]
    rows = [
        Row(
            f"demand_{customer}",
            {f"ship_{site}_{customer}": 1 for site in SUPPLIERS},
            Relation.AT_LEAST,
            10 + 7 * number % 31,
        )
        for number, customer in enumerate(customers)
    ]
    rows += [
        Row(
            f"link_{site}",
            {**{f"ship_{site}_{customer}": 1 for customer in customers}, f"use_{site}": -500},
            Relation.AT_MOST,
            0,
        )
        for site in SUPPLIERS
    ]
    costs = {f"ship_{site}_{customer}": links[at] for at, site in enumerate(SUPPLIERS) for customer in customers}
    costs |= {f"use_{site}": fixed[at] for at, site in enumerate(SUPPLIERS)}
    return Milp(tuple(variables), tuple(rows), Objective(costs), Sense.MINIMIZE)


def test_the_cheapest_and_largest_things_are_read_from_the_model() -> None:
    agent = rules(supply())
    text = said(agent, "which is the cheapest supplier?")
    assert text.startswith("which do you mean? 'cheapest supplier by cost per unit of ship'")
    assert "'cheapest supplier by fixed cost of use'" in text
    assert said(agent, "cheapest supplier by fixed cost of use").startswith(
        "cheapest supplier by fixed cost of use: Cork with 200; then Dijon 400, Breda 700, Aalen 900"
    )
    assert "Aalen with 3; then Breda 4" in said(agent, "what is the cheapest supplier per unit?")
    demands = {f"customer {number:02}": 10 + 7 * number % 31 for number in range(9)}
    largest = max(demands, key=lambda name: demands[name])
    lines = said(agent, "who is the largest customer?").splitlines()
    assert lines[0].startswith("largest customer by ship in the plan: ")
    assert lines[1].startswith("largest customer by limit of demand")
    assert all(f"{largest} with {demands[largest]}" in line for line in lines)
    both = said(rules(supply(fixed=(100, 700, 200, 400))), "cheapest supplier?").splitlines()
    assert ["Aalen with 3" in both[0], "Aalen with 100" in both[1]] == [True, True]


def test_a_ranking_that_the_model_cannot_give_is_said_to_be_unknown() -> None:
    assert said(rules(supply()), "which is the cheapest warehouse?").startswith("it cannot be known which warehouse is")
    assert said(rules(supply()), "largest supplier").startswith(
        "it cannot be known which supplier is largest"
    )  # one is used
    gains = supply(links=(-3.0, -4.0, -6.0, -8.0), fixed=(0, 0, 0, 0))
    gains = replace(gains, variables=tuple(replace(variable, high=99) for variable in gains.variables))
    assert "cannot be known" in said(rules(gains), "which is the most expensive supplier?")
    assert read_ranking("what is the cheapest plan?") is None


def test_what_the_plan_leaves_unused_is_not_its_cheapest() -> None:
    """Costs differ by customer; Aalen and Breda serve one customer each, Cork all others, Dijon none."""
    milp = supply(fixed=(0, 0, 0, 0))
    costs = {f"ship_Aalen_customer_{number:02}": 1.0 if number == 0 else 9.0 for number in range(9)}
    costs |= {f"ship_Breda_customer_{number:02}": 2.0 if number == 1 else 9.0 for number in range(9)}
    costs |= {f"ship_Cork_customer_{number:02}": 3.0 + number / 10 for number in range(9)}
    costs |= {f"ship_Dijon_customer_{number:02}": 50.0 + number for number in range(9)}
    milp = replace(milp, objective=replace(milp.objective, terms={**milp.objective.terms, **costs}))
    assert said(rules(milp), "which is the cheapest supplier?").startswith(
        "cheapest supplier by cost of ship in the plan (1 unused left out): Aalen with 10; then Breda 34, Cork "
    )


def mills(index: str) -> Milp:
    """Olives of three weeks, pressed to two oils; ``index`` writes the week in a name."""
    weeks = range(1, 4)
    names = {(oil, week): f"press_{oil}{index.format(week)}" for oil in ("extra", "virgin") for week in weeks}
    variables = [Variable(name, 0, 90) for name in names.values()]
    variables += [Variable("open_Priego", 0, 1, VariableKind.INTEGER)]
    rows = [
        Row(f"olives{index.format(week)}", {names["extra", week]: 5, names["virgin", week]: 4}, "<=", 400 + 60 * week)
        for week in weeks
    ]
    rows += [Row("tanks", {**dict.fromkeys(names.values(), 1.0), "open_Priego": -30}, "<=", 200)]
    gains = {name: 9.0 if oil == "extra" else 7.0 for (oil, _), name in names.items()} | {"open_Priego": -40}
    return Milp(tuple(variables), tuple(rows), Objective(gains, name="margin"), Sense.MAXIMIZE)


@pytest.mark.parametrize("index", ["_w{}", "_{}", "({})", "_week{}", "[week {}]"])
def test_a_week_is_found_however_names_write_it(index: str) -> None:
    problem, second = FormulatedProblem(mills(index)), f"olives{index.format(2)}"
    for question in ("600 olives instead of 520 in week 2?", "what if I had 600 olives in week 2 instead of 520?",
                     "what if I had 600 olives instead of 520?"):  # fmt: skip
        assert read_question(problem, question) == f"set {second} 600"
    assert read_question(problem, "10 % more olives in week 2") == f"scale {second} +10 %"
    assert said(rules(mills(index)), "olives in week 2").splitlines()[1].startswith(f"{second} = ")
    with pytest.raises(AmbiguousQuestionError, match="which do you mean"):
        read_question(problem, "600 olives instead of 521?")


def test_a_present_value_that_is_wrong_is_said() -> None:
    agent = rules(mills("_w{}"))
    text = said(agent, "what if I had 250 tanks instead of 210?")
    assert text.startswith("tanks is 200, not 210; write 'set tanks 250' to change 200 to 250")
    assert "is 200, not 210" in said(agent, "what if tanks went from 210 to 250?")
    assert "objective press_extra_w1 is 9, not 8" in said(
        agent, "what if the price of press_extra_w1 was 10 instead of 8?"
    )
    assert agent.tools.state.changes == ()
    assert said(agent, "what if I had 250 tanks instead of 200?").startswith("read as: set tanks 250\n")
    assert "is 250, not 200" in said(agent, "what if I had 260 tanks instead of 200?")


def test_a_question_that_tries_leaves_nothing_in_force() -> None:
    agent = rules(mills("_w{}"))
    closed_row = Row("closed", {"open_Priego": 1}, "=", 0)
    closed = optimum(replace(mills("_w{}"), rows=(*mills("_w{}").rows, closed_row)))
    more, present = optimum(with_rows(mills("_w{}"), {"tanks": 201})), optimum(mills("_w{}"))
    trials = {
        "why is Priego open?": closed,
        "why not close Priego?": closed,
        "try fix open_Priego 0": closed,
        "what is one more of the tanks worth?": more,
    }
    for question, margin in trials.items():
        text = said(agent, question)
        assert f"before: margin {present:,g}; after: margin {margin:,g}; " in text
        assert text.endswith("this was only tried: nothing is changed")
        assert (agent.tools.state.restrictions, agent.tools.state.changes) == ((), ())
    assert said(agent, "why") == "nothing is asked for: this is the plan with the highest margin"
    assert said(agent, "try set tanks 100; fix open_Priego 0").count("this was only tried") == 1
    assert (agent.tools.state.restrictions, agent.tools.state.changes) == ((), ())
    assert "infeasible" in said(agent, "try margin >= 99999")
    assert "not understood" in said(agent, "try nonsense")
    assert agent.tools.state.restrictions == ()


def test_which_thing_is_never_read_as_an_extreme() -> None:
    agent = rules(mills("_w{}"))
    lines = said(agent, "which coefficient of tanks is the smallest?").splitlines()
    assert lines[0].startswith("smallest coefficient by value in tanks: open_Priego with -30; then ")
    assert lines[1].startswith("smallest coefficient by absolute value in tanks: press_extra_w1 and ")
    assert said(agent, "what is the largest coefficient of olives_w2?").startswith(
        "largest coefficient by value in olives_w2: press_extra_w2 with 5; then press_virgin_w2 4"
    )
    values = agent.tools.problem.values(agent.tools.problem.default)  # type: ignore[attr-defined]
    uses = {name: rate * values.get(name, 0.0) for name, rate in (("press_extra_w3", 5), ("press_virgin_w3", 4))}
    most = max(uses, key=lambda name: uses[name])
    assert said(agent, "which oil takes the most olives in week 3?").startswith(
        f"largest use of olives_w3 by amount in the plan: {most} with {uses[most]:g}"
    )
    for question in ("which oil has the most tanks?", "where are the most tanks?", "what limits the tanks?"):
        text = said(agent, question)
        assert "'highest tanks'" in text
        assert "read as" not in text

"""What the rules agent says of extremes, conflicts, and what is in force."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from oragent.converse.agents.model_agents import ToolsAgent
from oragent.converse.agents.rules import RulesAgent
from oragent.converse.problems.schools import generate_district, sfusd
from oragent.converse.session import Direct
from oragent.converse.solving import StateSolver, clash
from oragent.converse.state import Restriction, RestrictionKind
from oragent.converse.tools import Toolbox
from oragent.milp import Milp, Objective, Row, Sense, Variable
from tests.converse.worked import asker
from tests.converse.workshop import optimum, rules, said, workshop


def schools() -> RulesAgent:
    return RulesAgent(Toolbox(StateSolver(sfusd()), extended=True))


def test_highest_is_the_most_and_lowest_the_least(tmp_path: Path) -> None:
    exact = sfusd().exact
    assert exact is not None
    most = int(exact.schedules.load.max())
    assert f"load {most:,}," in said(schools(), "highest load")
    assert "load 1,987," in said(schools(), "lowest load")
    assert "load 1,987," in said(schools(), "best load")
    agent = rules(workshop(tmp_path))
    assert said(agent, "lowest objective").startswith("profit 0;")
    assert said(agent, "highest objective").startswith("profit 648;")
    assert "carpentry 0 (" in said(agent, "least carpentry")
    assert "carpentry 40 (" in said(agent, "most carpentry")
    large = RulesAgent(Toolbox(StateSolver(generate_district(50, 6, limit_s=0.5)), extended=True))
    assert "is computed for small districts alone" in said(large, "highest load")


def shops() -> Milp:
    """Two shops that can be opened, staff of each, and a budget of staff that earns nothing by itself."""
    variables = [Variable(f"sell_{shop}", 0, 9) for shop in ("Lyon", "Ulm")]
    variables += [Variable(f"staff_{shop}", 0, 3, "integer") for shop in ("Lyon", "Ulm")]
    variables += [Variable(f"open_{shop}", 0, 1, "integer") for shop in ("Lyon", "Ulm")]
    rows = [Row(f"room_{shop}", {f"sell_{shop}": 1, f"staff_{shop}": -2, f"open_{shop}": -2}, "<=", 0)
            for shop in ("Lyon", "Ulm")]  # fmt: skip
    rows += [Row(f"staffed_{shop}", {f"staff_{shop}": 1, f"open_{shop}": -3}, "<=", 0) for shop in ("Lyon", "Ulm")]
    rows += [Row("staff_budget", {"staff_Lyon": 1, "staff_Ulm": 1}, "<=", 5)]
    gains = {"sell_Lyon": 10, "sell_Ulm": 7, "staff_Lyon": -9, "staff_Ulm": -15, "open_Lyon": -4, "open_Ulm": -13}
    return Milp(tuple(variables), tuple(rows), Objective(gains, name="margin"), Sense.MAXIMIZE)


@pytest.mark.parametrize(
    ("question", "row", "value"),
    [("highest staff_budget", "staff_budget", 5), ("lowest room_Ulm", "room_Ulm", -8), ("highest sell_Ulm", "", 8)],
)
def test_the_plan_at_an_extreme_is_the_best_of_those_that_reach_it(question: str, row: str, value: float) -> None:
    fixed = Row("fixed", {"sell_Ulm": 1} if not row else shops().row(row).terms, "=", value)
    best = optimum(replace(shops(), rows=(*shops().rows, fixed)))
    assert said(rules(shops()), question).splitlines()[0].endswith(f"is {value:g}, with margin {best:g}")


def test_changes_are_those_from_the_plan_in_force_and_begin_with_binaries() -> None:
    agent, probed = rules(shops()), rules(shops())
    said(probed, "highest staff_budget")
    said(probed, "lowest margin")
    text = said(agent, "fix open_Lyon 0")
    assert said(probed, "fix open_Lyon 0") == text
    assert text.splitlines()[0].split("changed: ")[1].startswith("open_Lyon 1 → 0, ")
    assert "changed: open_Lyon 0 → 1, " in said(agent, "undo")
    assert "; changed: open_Lyon 1 → 0, " in said(agent, "set objective open_Lyon -99")


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("set objective open_Lyon -1500", "objective open_Lyon"),
        ("set objective open_Lyon -1500", "margin open_Lyon"),
        ("set objective open_Lyon -1500", "objective[open_Lyon] -1500 (changed in the model)"),
        ("set objective open_Lyon -1500", "OBJECTIVE[open_Lyon] -1,500"),
        ("set staff_budget 4", "staff_budget <= 4"),
    ],
)
def test_a_change_of_the_model_is_removed_by_the_words_that_show_prints(command: str, words: str) -> None:
    agent = rules(shops())
    said(agent, command)
    assert len(agent.tools.state.changes) == 1
    assert not said(agent, f"remove {words}").startswith("not understood")
    assert agent.tools.state.changes == ()


def test_a_conflict_names_the_limits_of_the_model_that_are_in_the_way(tmp_path: Path) -> None:
    agent = rules(workshop(tmp_path))
    text = said(agent, "carpentry >= 60")
    assert text.startswith("infeasible: carpentry >= 60 is impossible; the most possible is 40; the model's own limit")
    assert text.endswith("in the way: carpentry <= 40; 'set carpentry 60' would change the row itself")
    assert "finishing" not in text
    assert said(agent, "why") == text
    told = said(rules(workshop(tmp_path)), "set carpentry >= 1000")
    assert "infeasible: the model with its changes, whatever is asked for; the model's own limits in the way: " in told
    assert "carpentry >= 1,000" in told


def test_the_nearest_value_keeps_the_other_bound_of_the_same_expression(tmp_path: Path) -> None:
    agent = rules(workshop(tmp_path))
    state = agent.tools.state
    for relation, value in ((">=", 30.0), ("<=", 20.0)):
        state = state.adding(Restriction(RestrictionKind.BOUND, "carpentry", relation=relation, value=value))
    found = clash(agent.tools.solver, state)
    assert found is not None
    assert {one.name: value for one, value in found.nearest.items()} == {
        "carpentry_lower_bound": 20, "carpentry_upper_bound": 30,
    }  # fmt: skip


def test_show_tells_what_is_in_force_and_why_there_is_no_solution(tmp_path: Path) -> None:
    agent = schools()
    assert "Nothing is asked for or changed." in said(agent, "show")
    said(agent, "fix Ortega 7:50; weight load 2")
    shown = said(agent, "show")
    assert "In force: Ortega 7:50; load weighs 2." in shown
    said(agent, "deviation <= 12")
    shown = said(agent, "show")
    assert shown.startswith("infeasible: Ortega 7:50 and deviation <= 12 clash")
    assert "|" not in shown  # no schedule of an earlier state
    assert "In force: Ortega 7:50; deviation <= 12; load weighs 2." in shown
    agent = rules(workshop(tmp_path))
    said(agent, "set carpentry 50")
    assert "In force: carpentry <= 50 (changed in the model)." in said(agent, "show")


def test_a_request_is_removed_by_the_words_that_people_see() -> None:
    agent = schools()
    for asked, words in (("load <= 2500", "load"), ("fix Ortega 7:50", "Ortega"), ("load <= 2500", "load <= 2,500"),
                         ("fix Ortega 7:50", "fix[Ortega (Jose) PK]")):  # fmt: skip
        said(agent, asked)
        assert not said(agent, f"remove {words}").startswith("not understood")
        assert agent.tools.state.restrictions == ()
    assert said(agent, "load >= 1000") == "not understood: student_load_balancing is minimised: bound it from above"
    assert agent.tools.state.restrictions == ()  # this ended the conversation with a traceback


def test_of_two_requests_that_words_can_mean_it_asks_which(tmp_path: Path) -> None:
    agent = rules(workshop(tmp_path))
    said(agent, "carpentry <= 30; carpentry >= 10")
    assert "can mean carpentry_upper_bound or carpentry_lower_bound; write which" in said(agent, "remove carpentry")


@pytest.mark.parametrize("command", ["/show"])
def test_show_beside_a_model_is_of_the_model_in_force(command: str) -> None:
    tools = Toolbox(StateSolver(sfusd()), extended=True)
    tools.add(Restriction(RestrictionKind.FIX, "Ortega (Jose) PK", "7:50 AM"))
    direct = Direct(ToolsAgent(asker([], []), tools), tools.solver)
    shown = asyncio.run(direct.answer(command)).text
    assert sfusd().read(shown).decisions == ("CACAABABBC",)


def test_a_conflict_with_an_equality_row_names_the_row() -> None:
    milp = Milp((Variable("a b", 0, 10), Variable("c", 0, 10)), (Row("the balance", {"a b": 1, "c": -1}, "=", 0),),
                Objective({"a b": 1, "c": 1}), Sense.MAXIMIZE, "two")  # fmt: skip
    text = said(rules(milp), "a b >= 8; c <= 5")
    assert text.startswith(
        "infeasible: a b >= 8 and c <= 5 clash; the most possible a b is 5; the least possible c is 8"
    )
    assert "in the way: the balance = 0" in text

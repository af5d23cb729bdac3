"""Commands are exact: whatever is not one is refused in one line, and nothing of it is put in force."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oragent.converse.agents.change_commands import CHANGE_FORMS, FORMS, parse_figure
from oragent.converse.agents.rules import RulesAgent
from oragent.converse.problems.formulated import FormulatedProblem
from oragent.converse.problems.model_text import describe_named
from oragent.converse.problems.schools import sfusd
from oragent.converse.solving import StateSolver
from oragent.converse.tools import Toolbox
from oragent.milp import Milp, Relation, Sense
from oragent.milp.model import INFINITY, Objective, Row, Variable, VariableKind
from tests.converse.workshop import rules, said, workshop

SENTENCES = [
    "demand of Paris rises 10 % in week 3 to 5",
    "What if I had 50 carpentry hours instead of 40?",
    "please set carpentry to 50",
    "why is the profit so low",
    "which is the cheapest table?",
    "how many tables",
    "undo the last two",
    "show me the plan",
    "carpentry should be at least 20",
    "reset carpentry",
    "binding rows",
    "status of carpentry",
    "help me",
    "values",
    "compare carpentry 40 or 50",
    "set carpentry 1,2,3",
    "tables",
    "?",
]
COMMANDS = [
    "set carpentry 50",
    "carpentry <= 30",
    "scale finishing +10 %",
    "relax finishing 5",
    "drop chairs_sold",
    "fix tables 3",
    "forbid chairs 8",
    "weight profit 2",
    "undo",
    "why",
    "show",
    "status changes",
    "lowest profit",
    "compare carpentry 40 50",
    "options profit 100",
]


@pytest.mark.parametrize("sentence", SENTENCES)
def test_a_sentence_is_refused_in_one_line_and_changes_nothing(tmp_path: Path, sentence: str) -> None:
    agent = rules(workshop(tmp_path))
    said(agent, "fix tables 3")
    before = agent.tools.state
    answer = said(agent, f"set carpentry 30; {sentence}")
    assert answer.startswith("not understood: ")
    assert "\n" not in answer
    assert agent.tools.state == before


@pytest.mark.parametrize(
    ("line", "nearest"),
    [
        ("please set carpentry to 50", FORMS | CHANGE_FORMS),
        ("optoins profit 100", {"options": FORMS["options"]}),
        ("carpentry must be <= 5 on Mondays", {"": "OBJECTIVE <= NUMBER"}),
        ("remov it", {"remove": FORMS["remove"]}),
    ],
)
def test_the_nearest_command_and_help_are_named(tmp_path: Path, line: str, nearest: dict[str, str]) -> None:
    answer = said(rules(workshop(tmp_path)), line)
    assert any(f"'{form}'" in answer for form in nearest.values())
    assert "'help'" in answer


def test_a_problem_whose_rows_cannot_change_suggests_no_such_command() -> None:
    agent = RulesAgent(Toolbox(StateSolver(sfusd()), extended=True))
    assert not any(f"'{form}'" in said(agent, "set load 3") for form in CHANGE_FORMS.values())


@settings(max_examples=60, deadline=None)
@given(command=st.sampled_from(COMMANDS), word=st.sampled_from(["please", "soon", "?", "and 5", "if possible"]))
def test_no_word_after_a_command_is_ignored(command: str, word: str) -> None:
    agent = rules(WORKSHOP)
    said(agent, "profit >= 10")
    before = agent.tools.state
    assert said(agent, f"{command} {word}").startswith("not understood: ")
    assert agent.tools.state == before


WORKSHOP = Milp(
    (Variable("tables", 0, 9, VariableKind.INTEGER), Variable("chairs", 0, 8, VariableKind.INTEGER)),
    (
        Row("carpentry", {"tables": 4.0, "chairs": 6.0}, "<=", 40),
        Row("finishing", {"tables": 5.0, "chairs": 3.0}, "<=", 46),
        Row("chairs_sold", {"chairs": 1.0}, "<=", 8),
    ),
    Objective({"tables": 72.0, "chairs": 55.0}, name="profit"),
    Sense.MAXIMIZE,
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1,234", 1234),
        ("12,5", 12.5),
        ("1,234,567.5", 1234567.5),
        ("-3", -3),
        ("2e3", 2000),
        (".5", 0.5),
        ("1234", 1234),
    ],
)
def test_a_figure_is_read(text: str, value: float) -> None:
    assert parse_figure(text) == value


@pytest.mark.parametrize("text", ["", "1,2,3", "12,34,5", "nan", "inf", "1.2.3", "0x10", "1_000", "five"])
def test_what_is_no_figure_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="no number"):
        parse_figure(text)


def test_what_is_tried_is_not_in_force(tmp_path: Path) -> None:
    agent = rules(workshop(tmp_path))
    before = agent.tools.state
    tried = said(agent, "try set carpentry 50")
    assert agent.tools.state == before
    assert said(agent, "status objective") == "profit 648"
    assert said(agent, "set carpentry 50").splitlines()[0] in tried


def test_the_name_of_an_objective_is_kept_from_a_file(tmp_path: Path) -> None:
    agent = rules(workshop(tmp_path))
    assert said(agent, "show").count("profit 648") == 1
    assert "before: profit 648; after: profit 720" in said(agent, "set profit tables 80")
    assert said(agent, "highest profit").startswith(said(agent, "highest objective").split(";")[0])


def test_an_objective_that_is_a_variable_keeps_its_name() -> None:
    variables = (Variable("profit", -INFINITY), Variable("tables", 0, 9))
    rows = (Row("account", {"profit": 1.0, "tables": -72.0}, "<=", -10), Row("hours", {"tables": 4.0}, "<=", 20))
    milp = Milp(variables, rows, Objective({"profit": 1.0}, name="profit"), Sense.MAXIMIZE)
    agent = rules(milp)
    assert said(agent, "status objective") == "profit 350"
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
    lines = said(agent, "values shop07 shop08").splitlines()
    assert lines[-2:] == ["ship_Arad_shop07 = 0", "ship_Arad_shop08 = 0"]
    assert {"ship_Zlin_shop07 = 2", "ship_Zlin_shop08 = 2"} <= set(lines[:-2])
    milp = replace(milp, rows=(*rows, Row("ship_Zlin_room", dict.fromkeys(costs, 1.0), Relation.AT_MOST, 400)))
    lines = said(rules(milp), "values ship").splitlines()
    assert lines[0].startswith("ship_Zlin_room = 40")
    assert lines[-1] == "and 20 others at 0"
    changed = said(agent, "fix ship_Zlin_shop03 0; fix ship_Zlin_shop04 0").splitlines()[0]
    assert changed.index("ship_Arad_shop04 0 → 2") < changed.index("ship_Zlin_shop03 2 → 0")


def test_what_rounding_leaves_of_a_row_is_not_shown() -> None:
    rows = (Row("balance", {"made": 9.0, "sold": -1.0}, "=", 0), Row("least", {"sold": 1.0}, ">=", 3))
    milp = Milp((Variable("made"), Variable("sold")), rows, Objective({"made": 1.0}), Sense.MINIMIZE)
    assert describe_named(milp, {"made": 0.333333333, "sold": 3.0}, ["balance"]) == "balance = 0 (must be = 0)"


def test_one_undo_takes_a_whole_message_back() -> None:
    agent = RulesAgent(Toolbox(StateSolver(FormulatedProblem(WORKSHOP)), extended=True), is_brief=True)
    said(agent, "fix tables 3")
    said(agent, "forbid chairs 8; carpentry <= 39")
    said(agent, "undo")
    assert [restriction.name for restriction in agent.tools.state.restrictions] == ["fix[tables]"]
    said(agent, "reset all")
    assert agent.tools.state.restrictions == ()
    said(agent, "undo")
    assert len(agent.tools.state.restrictions) == 1
    said(agent, "forbid chairs 8; undo; undo")
    assert agent.tools.state.restrictions == ()
    assert "nothing to undo" in said(agent, "undo")

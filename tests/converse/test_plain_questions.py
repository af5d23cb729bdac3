"""Plain questions over the names of a person's own model, without any language model."""

from pathlib import Path

import pytest

from oragent.converse.agents.plain_questions import read_question
from oragent.converse.problems.formulated import FormulatedProblem
from oragent.converse.problems.schools import sfusd
from oragent.milp.model import Milp, Objective, Row, Sense, Variable, VariableKind
from tests.converse.workshop import optimum, rules, said, with_rows, workshop


@pytest.mark.parametrize(
    ("question", "command"),
    [
        ("what if I had 50 carpentry hours instead of 40", "set carpentry 50"),
        ("What if carpentry went from 40 to 50?", "set carpentry 50"),
        ("and if we increase carpentry to 55?", "set carpentry 55"),
        ("What would 10 more hours of carpentry be worth?", "set carpentry 50"),
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
    assert f"before: objective 648; after: objective {truth:g};" in text
    optima = [optimum(with_rows(workshop(tmp_path), {"carpentry": hours})) for hours in (40, 50, 60)]
    assert said(agent, "compare carpentry 40 50 60").splitlines() == [
        f"carpentry <= 50 → <= 40: objective {optima[0]:g}",
        f"carpentry is <= 50 already: objective {optima[1]:g}",
        f"carpentry <= 50 → <= 60: objective {optima[2]:g}",
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

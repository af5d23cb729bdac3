"""What T-P-P is told of a person's own model: terms, names, units, meanings, the direction, and large models in brief."""

import asyncio
from dataclasses import replace
from pathlib import Path

from oragent.converse import prompting
from oragent.converse.agents.model_agents import ToolsAgent
from oragent.converse.decider import AgentAnswer
from oragent.converse.problems.formulated import FormulatedProblem
from oragent.converse.problems.model_text import MOST_CHARACTERS, describe_model, search_model
from oragent.converse.problems.schools import sfusd
from oragent.converse.solving import StateSolver, in_force
from oragent.converse.tools import Toolbox
from oragent.llm.callable import Scripted
from oragent.llm.model import Message, Request, ToolCall
from oragent.milp import Milp, Objective, Row, Sense, Variable
from tests.converse.worked import Straight
from tests.converse.workshop import rules, workshop

PLANT = Milp(
    (Variable("open plant Leipzig (new)", 0, 1, "integer", meaning="whether the new plant opens"),
     Variable("open plant Lyon", 0, 1, "integer"), Variable("tons", 0, 90, unit="t", meaning="shipped a week")),
    (Row("demand of the north", {"tons": 1, "open plant Lyon": -40}, ">=", 30, "the north needs 30 t more than Lyon"),
     Row("balance", {"tons": 1.5, "open plant Leipzig (new)": -60, "open plant Lyon": -45}, "=", 0)),
    Objective({"tons": 2, "open plant Leipzig (new)": 500, "open plant Lyon": 60}, 12, unit="EUR"), Sense.MINIMIZE, "plants",
)  # fmt: skip


def test_the_prompt_has_terms_units_meanings_and_names_of_what_is_zero(tmp_path: Path) -> None:
    prompt = prompting.tools_prompt(FormulatedProblem(PLANT), extended=True)
    for part in (
        "Objective: minimize objective (EUR): 2 tons + 500 open plant Leipzig (new) + 60 open plant Lyon + 12",
        "- demand of the north: tons - 40 open plant Lyon >= 30 (the north needs 30 t more than Lyon)",
        "- balance: 1.5 tons - 60 open plant Leipzig (new) - 45 open plant Lyon = 0",
        "- open plant Leipzig (new): 0 or 1 (whether the new plant opens)",
        "- open plant Lyon: 0 or 1",
        "- tons: 0 to 90, t (shipped a week)",
        "State the objective in natural units (EUR).",
        "set_model, scale_model, relax_model, drop_model",
    ):
        assert part in prompt, part
    assert "both objectives" not in prompt
    assert "None of its own constraints" not in prompt
    assert "maximize objective" in prompting.tools_prompt(FormulatedProblem(workshop(tmp_path)), extended=True)
    assert "State both objectives in natural units" in prompting.tools_prompt(sfusd(), extended=True)


def test_tools_say_maximise_where_the_model_maximises(tmp_path: Path) -> None:
    tools = rules(workshop(tmp_path)).tools
    said = tools(ToolCall("1", "add_objective_upper_bound", {"objective": "carpentry", "value": 30}))
    assert "Objective: maximise 1 x objective" in said
    assert "Objective: minimise 1 x objective (EUR)" in in_force(FormulatedProblem(PLANT), rules(PLANT).tools.state)
    mixed = FormulatedProblem(PLANT, goals=(replace(FormulatedProblem(PLANT).expressions[0], name="cost"),
                                     replace(FormulatedProblem(PLANT).expressions[1], name="north", sense=Sense.MAXIMIZE)))  # fmt: skip
    assert "Objective: minimise 1 x cost (EUR) - 1 x north" in in_force(mixed, Toolbox(StateSolver(mixed)).state)


def large(count: int) -> Milp:
    variables = [Variable(f"ship[plant {a},store {b}]", 0, 100, meaning=f"from plant {a}")
                 for a in range(count) for b in range(count)]  # fmt: skip
    rows = [Row(f"supply[plant {a}]", {f"ship[plant {a},store {b}]": 1.0 for b in range(count)}, "<=", 100)
            for a in range(count)]  # fmt: skip
    return Milp(tuple(variables), tuple(rows), Objective({one.name: 1.0 for one in variables}), Sense.MAXIMIZE, "large")


def test_a_large_model_is_summarised_within_a_bound_and_can_be_searched() -> None:
    milp = large(60)
    problem = FormulatedProblem(milp)
    text = describe_model(milp)
    assert len(text) < MOST_CHARACTERS
    assert "60 rows, 3600 variables" in text
    assert "[3600 such names" in text
    assert len(prompting.tools_prompt(problem, extended=True)) < 2 * MOST_CHARACTERS
    tools = Toolbox(StateSolver(problem), extended=True)
    assert sum(len(str(tool)) for tool in tools.tools) < MOST_CHARACTERS
    assert len(in_force(problem, tools.state)) < 3000
    found = tools(ToolCall("1", "search_model", {"text": "plant 59 store 58"}))
    assert "- ship[plant 59,store 58]: 0 to 100 (from plant 59)" in found
    assert "no row or variable has 'nowhere'" in search_model(milp, "nowhere")
    assert "more: search with more words" in search_model(milp, "ship")
    assert "- supply[plant 7]: ship[plant 7,store 0]" in search_model(milp, "supply[plant 7]")


def test_a_scripted_model_finds_changes_and_reports(tmp_path: Path) -> None:
    """The way of one question through T-P-P: search, a loose bound, the change that was offered, the answer."""
    calls = iter([
        ToolCall("a", "search_model", {"text": "carp"}),
        ToolCall("b", "add_objective_upper_bound", {"objective": "carpentry", "value": 50}),
        ToolCall("c", "set_model", {"part": "carpentry", "value": 50}),
        ToolCall("d", "call_solver", {}),
    ])  # fmt: skip

    def script(request: Request, number: int) -> str | Message:
        call = next(calls, None)
        if call is None:
            return "\n".join(one.content for one in request.messages if one.role == "tool")
        return Message("assistant", "", (call,))

    agent = ToolsAgent(Straight(Scripted(script)), rules(workshop(tmp_path)).tools)
    answer: AgentAnswer = asyncio.run(agent.answer("What if I had 50 carpentry hours instead of 40?"))
    for part in ("- carpentry: 4 tables + 6 chairs <= 40", "did you mean 'set carpentry 50'", "after: profit 686"):
        assert part in answer.text, part
    assert answer.state is not None
    assert answer.state.changes[0].high == 50

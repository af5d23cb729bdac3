"""The tools of an agent: what they change, what they return, and that no call breaks anything."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oragent.llm.model import ToolCall
from oragent_benchmarks.converse.problems.schools import sfusd
from oragent_benchmarks.converse.solving import StateSolver, begin, build_model
from oragent_benchmarks.converse.tools import Toolbox

PROBLEM = sfusd()
SOLVER = StateSolver(PROBLEM)


def call(tools: Toolbox, tool: str, /, **arguments: object) -> str:
    return tools(ToolCall("1", tool, arguments))


def toolbox(extended: bool = True) -> Toolbox:
    return Toolbox(SOLVER, extended)


def test_the_worked_conversation_by_tools() -> None:
    tools = toolbox()
    said = call(tools, "fix_start_time", school="Ortega (Jose) PK", time="7:50 AM", type="fix")
    assert "fix[Ortega (Jose) PK]: Ortega (Jose) PK at 7:50 AM" in said
    assert "Busiest start time: 2,453 students. Mean change: 19.5 minutes." in call(tools, "call_solver")
    call(tools, "add_objective_upper_bound", objective="schedule_deviation", value=12)
    assert call(tools, "call_solver") == "infeasible: no schedule meets all constraints in force"
    told = call(tools, "explain_infeasibility")
    assert "with all else in force the nearest possible value is 16.5 minutes" in told
    assert "with Ortega (Jose) PK at 8:40 AM instead, the first of these bounds could be 11.5" in told
    call(tools, "remove_constraint", name="schedule_deviation_upper_bound")
    least = call(tools, "least_possible", objective="student_load_balancing")
    assert "is 19.87 hundreds of students" in least
    events, solved, calls = tools.taken()
    assert [event.failed for event in events] == [False] * 7
    assert (solved[0], calls) == ("CACAABABBC", 4)
    assert tools.taken() == ((), (), 0)


def test_bounds_on_load_are_in_hundreds() -> None:
    tools = toolbox()
    call(tools, "add_objective_upper_bound", objective="student_load_balancing", value=25.64)
    assert tools.state.restrictions[0].value == pytest.approx(2564)
    assert "2,453 students" in call(tools, "call_solver")


# tool, arguments, what comes back
WRONG = [
    ("fix_start_time", {"school": "Ortego", "time": "7:50", "type": "fix"}, "did you mean 'Ortega (Jose) PK'?"),
    ("fix_start_time", {"school": "Ortega", "time": "8:15", "type": "fix"}, "'8:15' is no start time"),
    ("fix_start_time", {"school": "Ortega", "time": "7:50", "type": "break"}, "'break' is no type"),
    ("fix_start_time", {"school": "Ortega"}, "lacks 'time'"),
    ("fix_start_time", {"school": ["Ortega"], "time": "7:50"}, "school must be a text"),
    ("change_objective_weight", {"objective": "schedule_deviation", "weight": -1}, "0 or more, not -1"),
    ("change_objective_weight", {"objective": "schedule_deviation", "weight": "much"}, "must be a number, not 'much'"),
    ("change_objective_weight", {"objective": "schedule_deviation", "weight": float("nan")}, "must be a number"),
    ("change_objective_weight", {"objective": "cost", "weight": 1}, "'cost' is no objective"),
    ("add_objective_upper_bound", {"objective": "schedule_deviation", "value": True}, "must be a number"),
    ("add_objective_upper_bound", {"objective": "schedule_deviation", "bound": 3}, "no argument of"),
    ("remove_constraint", {"name": "assign_one_start_time"}, "cannot be removed"),
    ("remove_constraint", {"name": "assign_one_start_time[3]"}, "cannot be removed"),
    ("remove_constraint", {"name": "fix[Balboa HS]"}, "there are none at all"),
    ("solve", {}, "'solve' is no tool; did you mean 'call_solver'?"),
    ("add_objective_lower_bound", {"objective": "schedule_deviation", "value": 3}, "is no tool"),
]


@pytest.mark.parametrize(("name", "arguments", "message"), WRONG)
def test_a_wrong_call_returns_one_line_and_changes_nothing(name, arguments, message) -> None:
    tools = toolbox()
    said = call(tools, name, **arguments)
    assert said.startswith("error: ")
    assert message in said
    assert "\n" not in said
    assert tools.state == begin(PROBLEM)
    assert tools.events[-1].failed


def test_arguments_that_are_no_json_are_told() -> None:
    said = toolbox()(ToolCall("1", "call_solver", {}, "the arguments are no JSON: Expecting value at character 3"))
    assert said.startswith("error: the arguments are no JSON")


def test_paper_has_five_tools_and_extended_two_more() -> None:
    names = [tool.name for tool in toolbox(extended=False).tools]
    assert names == [
        "fix_start_time", "change_objective_weight", "add_objective_upper_bound", "remove_constraint", "call_solver",
    ]  # fmt: skip
    assert [tool.name for tool in toolbox().tools][5:] == ["least_possible", "explain_infeasibility"]
    assert "is no tool" in call(toolbox(extended=False), "explain_infeasibility")


texts = st.one_of(st.text(max_size=20), st.sampled_from(["Ortega", "Balboa HS", "7:50", "9:30 AM", "fix", "forbid"]))
values = st.one_of(texts, st.floats(), st.integers(), st.none(), st.booleans(), st.lists(texts, max_size=2))
names = st.sampled_from([tool.name for tool in toolbox().tools])
keys = st.sampled_from(["school", "time", "type", "objective", "weight", "value", "name"])


@given(st.lists(st.tuples(names, st.dictionaries(keys, values, max_size=4)), max_size=6))
def test_no_call_breaks_the_base_model(calls) -> None:
    tools = toolbox()
    for name, arguments in calls:
        assert isinstance(call(tools, name, **arguments), str)
    kept, base = build_model(PROBLEM, tools.state), PROBLEM.base
    assert kept.row_records[: len(base.row_records)] == base.row_records
    assert kept.variable_records == base.variable_records

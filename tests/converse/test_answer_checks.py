"""What a language model tells a person about any model is checked against the calls made and the model in force."""

import asyncio
from pathlib import Path

import pytest

from oragent.converse.decision import AnswerContext, AnswerRemark, ClaimStatus, RemarkKind, describe_remarks
from oragent.converse.problems.formulated import FormulatedProblem
from oragent.converse.problems.model_statements import NameIndex
from oragent.converse.session import ConversationRequest, ConversationSession, begin
from oragent.converse.solving import StateSolver
from oragent.converse.solving import begin as begin_state
from oragent.converse.tools import Toolbox
from oragent.llm.callable import Scripted
from oragent.llm.model import Message, Request, ToolCall
from oragent.llm.model_settings import build_runtime
from oragent.milp.files import write
from tests.converse.mill import FALSE, MILL, TRUE
from tests.converse.test_plain_questions import dairy


class Mill:
    """The mill after its demand for newsprint was changed and solved again."""

    def __init__(self) -> None:
        self.problem = FormulatedProblem(MILL)
        self.solver = StateSolver(self.problem)
        tools = Toolbox(self.solver, extended=True)
        tools(ToolCall("", "set_model", {"part": "Demand_news", "value": 360}))
        tools(ToolCall("", "call_solver", {}))
        events, self.solved, _ = tools.taken()
        self.calls, self.state = [event.result for event in events], tools.state

    def check(self, text: str) -> list[AnswerRemark]:
        earlier = (self.problem.default,)
        context = AnswerContext(text, (), self.solved, earlier, self.calls, self.state)
        return self.problem.check_answer(context, self.solver)


@pytest.fixture(scope="module")
def mill() -> Mill:
    return Mill()


@pytest.mark.parametrize("text", TRUE)
def test_a_true_answer_raises_no_alarm(mill: Mill, text: str) -> None:
    assert [remark.text for remark in mill.check(text) if remark.standing is ClaimStatus.FALSE] == []


@pytest.mark.parametrize(("text", "figure"), FALSE)
def test_a_lie_is_caught(mill: Mill, text: str, figure: float) -> None:
    wrong = [remark.text for remark in mill.check(text) if remark.standing is ClaimStatus.FALSE]
    assert wrong
    assert not figure or any(f"{figure:,}" in told or str(figure) in told for told in wrong)


@pytest.mark.parametrize(
    "text", ["Delivery takes 3 days.", "Customers may accept 90 % of it.", "The paint shop cannot do that."]
)
def test_what_is_not_understood_is_marked_and_never_called_wrong(mill: Mill, text: str) -> None:
    remarks = mill.check(text)
    assert remarks
    assert {remark.standing for remark in remarks} == {ClaimStatus.UNKNOWN}
    assert describe_remarks(remarks)[0].startswith("not checked: ")


def test_a_question_and_a_greeting_are_no_statements(mill: Mill) -> None:
    assert mill.check("Hello! Which demand shall I change? Is 400 t of t_KRAFT.A too much?") == []


def test_prose_is_counted_as_not_checked(mill: Mill) -> None:
    remarks = mill.check("This plan is easy to run in practice. The cost is 391,250.")
    assert [remark.kind for remark in remarks] == [RemarkKind.PROSE, RemarkKind.FIGURE]
    assert describe_remarks(remarks) == ("not checked: 1 more sentence", "checked by the model: 1 statement holds")


def talk(tmp_path: Path, answer: str) -> list[str]:
    """Hold one turn with a model that calls the solver and gives an answer; return what the checks say."""
    write(MILL, tmp_path / "mill.json")
    runtime = build_runtime({"model": {"name": "scripted"}}, ())
    request = ConversationRequest(str(tmp_path / "mill.json"), "T-P-P", "extended", runtime)
    session = ConversationSession(begin(tmp_path / "out", request))
    messages = iter(["set the demand for newsprint to 360", None])

    def reply(request: Request, number: int) -> Message:
        calls = sum(message.role == "tool" for message in request.messages)
        if calls:
            return Message("assistant", answer)
        arguments = {"part": "Demand_news", "value": 360}
        return Message("assistant", "", (ToolCall("1", "set_model", arguments), ToolCall("2", "call_solver", {})))

    async def listen(view: object) -> str | None:
        return next(messages)

    asyncio.run(session.hold(listen, lambda turn, known: None, Scripted(reply)))
    assert session.turns[0].answer == answer  # it is shown as it came
    assert "WRONG" not in answer
    assert all(line in (session.folder / "transcript.md").read_text() for line in session.turns[0].remarks)
    return list(session.turns[0].remarks)


def test_a_person_is_told_what_is_wrong_in_an_answer(tmp_path: Path) -> None:
    lines = talk(tmp_path, "The cost rises from 362,400 to 371,250. PM2 runs 11 shifts. It pays off in 2 years.")
    assert lines[0].startswith("WRONG by the model: ")
    assert lines[0].endswith("(objective is 391,250)")
    assert "not checked: It pays off in 2 years." in lines


def test_a_true_answer_is_confirmed(tmp_path: Path) -> None:
    assert talk(tmp_path, "The cost rises to 391,250.") == ["checked by the model: 2 statements hold"]


def test_digits_of_a_part_of_a_name_are_no_figure() -> None:
    index = NameIndex([("objective", "cost")], [("trk_Lodz_2__Makro", 1)])
    clause = index.read_clause("Lodz 2 sends 13 trucks to Makro")
    assert [number.value for number in clause.numbers] == [13]


@pytest.mark.parametrize(
    ("lie", "truth"),
    [
        ("The weekly_cost is 240.", "weekly_cost is 298"),
        ("open_Lyon is 0.", "open_Lyon is 1"),
        ("The weekly_cost falls from 298 to 250 when max_depots is 1.", "max_depots is 2"),
        ("It is impossible to keep weekly_cost below 320.", "it is possible, with weekly_cost 298"),
        ("trucks_gd#2 is binding.", "trucks_gd#2 is 0, its limit 60"),
        ("If max_depots were 3, the weekly_cost would be 200.", "weekly_cost is 298"),
    ],
)
def test_each_kind_of_lie_on_a_model_of_messy_names_is_marked(lie: str, truth: str) -> None:
    """A wrong value, decision, condition, impossibility, bottleneck and what-if, by the name of the objective."""
    problem = FormulatedProblem(dairy())
    solver = StateSolver(problem)
    context = AnswerContext(lie, earlier=(problem.default,), state=begin_state(problem))
    found = problem.check_answer(context, solver)
    assert any(remark.standing is ClaimStatus.FALSE and truth in remark.text for remark in found), found

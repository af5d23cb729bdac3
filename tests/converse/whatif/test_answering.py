"""What-if questions answered: gold code through the adapter, rules, and agents with a model."""

from pathlib import Path

import pytest
from rich.console import Console

from oragent._base.errors import ConfigError
from oragent.evals.converse.whatif.agents import read_change
from oragent.evals.converse.whatif.command import AGENTS, WhatIfRequest, answers_by_rules, by_kind, run_gold, run_whatif
from oragent.evals.converse.whatif.questions import (
    AnswerStatus,
    Question,
    WhatIfAnswer,
    WhatIfChange,
    agrees_with_gold,
    read_questions,
    solve_changed,
)
from oragent.llm.callable import Scripted
from oragent.llm.model import Message, ToolCall
from oragent.milp import Relation, Row
from oragent.sandbox.sandbox import Sandbox

DATA = Path(__file__).resolve().parents[3].parent / "shared" / "data" / "whatif"
shared = pytest.mark.skipif(not DATA.is_dir(), reason="the published questions are not here")


@pytest.mark.parametrize(
    ("model", "answer"),
    [
        ("coffee", WhatIfAnswer(AnswerStatus.OPTIMAL, 2470)),
        ("netflow", WhatIfAnswer(AnswerStatus.OPTIMAL, 5500)),
        ("diet", WhatIfAnswer(AnswerStatus.INFEASIBLE)),
    ],
)
def test_the_unchanged_models_come_to_their_known_results(model: str, answer: WhatIfAnswer) -> None:
    assert agrees_with_gold(solve_changed(model, WhatIfChange()), answer)


@shared
@pytest.mark.slow
def test_gold_code_through_the_adapter_gives_713_of_713() -> None:
    questions = read_questions(DATA)
    with Sandbox(1) as box:
        found = run_gold(questions, box)
    assert [question.number for question, (answer, _) in zip(questions, found, strict=True)
            if not agrees_with_gold(answer, question.gold)] == []  # fmt: skip


@shared
def test_one_question_of_each_template_through_the_adapter() -> None:
    first = list({question.template: question for question in read_questions(DATA)}.values())
    with Sandbox(1) as box:
        found = run_gold(first, box)
    assert len(first) == 16
    assert all(agrees_with_gold(answer, question.gold) for question, (answer, _) in zip(first, found, strict=True))


@shared
@pytest.mark.slow
def test_rules_read_nearly_all_questions() -> None:
    questions = read_questions(DATA)
    found = {"rules": answers_by_rules(questions)}
    table = by_kind(questions, found)
    rows = {row[0]: row[1:] for row in table.rows}
    assert rows["all coffee"] == ("273", "39", "273")
    assert rows["all netflow"] == ("202", "84", "202")
    assert rows["all"] == ("713", "361", "712")


def question(model: str, text: str, row_code: str = "pass") -> Question:
    return Question(model, 1, text, text, "kind", "t", "", row_code, WhatIfAnswer(AnswerStatus.OPTIMAL, 2520))


# model, question, what it changes
READ = [
    ("coffee", "What if cafe cafe1 needs 10% more light coffee?", WhatIfChange({("light_coffee_needed_for_cafe", ("cafe1",)): 22.0})),
    ("coffee", "Why supplier2 for roastery2?", WhatIfChange(rows=(Row("row", {"x[supplier2,roastery2]": 1}, Relation.EQUAL, 0),))),
    ("netflow", "What if pens from New York to Boston cost $17?", WhatIfChange({("cost", ("Pens", "New York", "Boston")): 17.0})),
    ("netflow", "What if we fly?", None),
    ("diet", "Can I have 2 hot dogs?", WhatIfChange(rows=(Row("row", {"buy[hot dog]": 1}, Relation.EQUAL, 2),))),
    ("diet", "What's for dinner?", None),
    ("coffee", "Why is the sky blue?", None),
]  # fmt: skip


@pytest.mark.parametrize(("model", "text", "change"), READ)
def test_a_question_is_read_by_its_words(model: str, text: str, change: WhatIfChange | None) -> None:
    found = read_change(question(model, text))
    assert found == change or (
        found and change and found.data == pytest.approx(dict(change.data)) and found.rows == change.rows
    )


def test_gold_code_runs_apart_and_its_failure_is_one_line(tmp_path: Path) -> None:
    trap = question("coffee", "x", f"open({str(tmp_path / 'sprung')!r}, 'w').write('x')")
    with Sandbox(1) as box:
        found = run_gold([trap, question("coffee", "y", "m.addConstr(nothing == 0)"), question("coffee", "z")], box)
    assert not (tmp_path / "sprung").exists()
    assert "NameError" in found[1][1]
    assert agrees_with_gold(found[2][0], WhatIfAnswer(AnswerStatus.OPTIMAL, 2470))


def called(name: str, **arguments: object) -> Message:
    return Message("assistant", "", (ToolCall(f"{name}{len(arguments)}", name, arguments),))


PROGRAM_ROW = "    m += x['x[supplier2,roastery2]'] == 0\n"


@pytest.mark.parametrize("name", ["T-P-P", "C-P-P"])
def test_agents_with_a_model_answer_by_tools_or_by_a_program(tmp_path: Path, name: str) -> None:
    from oragent.evals.converse.whatif.agents import PROGRAM

    asked = tmp_path / "questions"
    asked.mkdir()
    record = '{"QUESTION": "Why supplier2 for roastery2?", "TYPE": "k", "raw_question_hash": "a", "CONSTRAINT CODE": "x", "GT EXEC RESULT": 2520}'
    for model in ("coffee", "netflow", "diet"):
        (asked / f"{model}.benchmark.json").write_text(f'{{"questions": [{record}]}}')
    tools = [
        called("add_row", terms={"x[supplier9,roastery2]": 1}, relation="=", rhs=0),
        called("add_row", terms={"x[supplier2,roastery2]": 1}, relation="=", rhs=0),
        called("call_solver"), "It would cost 2,520.",
    ]  # fmt: skip
    program = [called("submit_formulation", program=PROGRAM + PROGRAM_ROW), "It would cost 2,520."]
    replies = tools if name == "T-P-P" else program

    def script(request, number):
        if "capacity_in_supplier" not in request.prompt:
            return "no idea"
        return replies[sum(message.role == "assistant" for message in request.messages)]

    console = Console(width=200, record=True, quiet=True)
    assert run_whatif(WhatIfRequest(tmp_path / "out", asked, [name], ["m"]), console, Scripted(script)) == 0
    page = (tmp_path / "out" / "whatif.html").read_text()
    assert "1 of 3" in console.export_text() or "<td" in page
    assert (tmp_path / "out" / "whatif" / name / "m" / "run.db").is_file()


def test_a_wrong_agent_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=f"expected one of {', '.join(AGENTS)}"):
        run_whatif(WhatIfRequest(tmp_path, tmp_path, ["xyz"]), Console(quiet=True))
    with pytest.raises(ConfigError, match="nobody is asked"):
        run_whatif(WhatIfRequest(tmp_path, tmp_path, ["T-P-P"]), Console(quiet=True))

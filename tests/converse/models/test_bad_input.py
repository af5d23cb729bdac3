"""Wrong replies, names and requests: one line each, and the state stays as it was."""

import asyncio
import json
from pathlib import Path

import pytest

from oragent._base.errors import OragentError
from oragent.converse.conversation_request import ConversationRequest, read_request
from oragent.converse.models.model_agents import MAX_LINES, LinesAgent
from oragent.converse.models.model_conversation import ModelConversation
from oragent.converse.models.model_files import begin_conversation
from oragent.converse.models.workbench import Workbench
from oragent.llm.callable import wrap_function
from oragent.llm.model_settings import RuntimeWords
from oragent.modelling.data.builder import IndexedModelBuilder
from oragent.modelling.files.model_files import read_indexed
from tests.converse.models.workshop import TRUTH, write_workshop

RUNTIME = RuntimeWords((), {"model.name": "scripted"}, None).read_runtime(("agent",))


def talk(tmp_path: Path, *replies: str):
    """Say one message to a model with these replies; return its record and the prompts."""
    folder = begin_conversation(tmp_path, ConversationRequest(str(write_workshop(tmp_path)), "T-P-P", RUNTIME))
    waiting, prompts = iter(replies), []

    def reply(messages: list[dict[str, str]]) -> str:
        prompts.append(messages)
        return next(waiting, "I have no more to say.")

    async def run():
        async with ModelConversation(folder, read_request(folder)).open(wrap_function(reply)) as conversation:
            return await conversation.say("What if?")

    return asyncio.run(run()), prompts


def call(*lines: str) -> str:
    return f"```json\n{json.dumps({'tool': 'ask', 'arguments': {'lines': list(lines)}})}\n```"


@pytest.mark.parametrize(
    "answer",
    [
        "It is {r77.objective}.",
        "It is {r2.price}.",
        "It is {r2.objective.after / (r2.objective.after - r2.objective.after)}.",
        "It is {r2.value(nothing[at all])}.",
        "It is {r2.objective.after + r2.status_after}.",
    ],
)
def test_a_reference_to_nothing_is_returned_once_and_then_shown_as_missing(tmp_path: Path, answer: str) -> None:
    record, prompts = talk(tmp_path, call("whatif carpentry = 50"), answer, answer)
    complaint = prompts[2][-1]["content"].splitlines()
    assert len(complaint) == 2
    assert [part.kind for part in record.parts] == ["text", "missing", "text"]
    assert "\n" not in record.parts[1].text
    assert record.changes == ()


def test_a_complaint_has_ten_references_at_most(tmp_path: Path) -> None:
    _, prompts = talk(tmp_path, "".join(f"{{r{at}.price}}" for at in range(50, 62)), "Fine.")
    assert [f"r{at}.price" in prompts[1][-1]["content"] for at in range(50, 62)] == [True] * 10 + [False] * 2


def test_two_hundred_calls_of_one_reply_are_run_up_to_the_limit_and_the_rest_is_named(tmp_path: Path) -> None:
    record, prompts = talk(tmp_path, call(*["value tables"] * 200), "Done.")
    told = prompts[1][-1]["content"]
    assert len(record.results) == MAX_LINES
    assert told.count("not run") == 200 - MAX_LINES
    assert record.changes == ()


@pytest.mark.parametrize(
    "reply",
    [
        call("keep nothing to keep"),
        call("undo 9"),
        call("scenario none"),
        call("export ../a.csv"),
        call("whatif tables <= 3\nkeep"),
        '```json\n{"tool": "ask", "arguments": {"lines": {"a": 1}}}\n```',
        '```json\n{"tool": "delete", "arguments": {}}\n```',
        '```json\n{"tool": "ask", "arguments"\n```',
        "{" * 5000,
        "\x00\x1b[31m",
    ],
)
def test_wrong_calls_change_nothing(tmp_path: Path, reply: str) -> None:
    record, _ = talk(tmp_path, reply, "Done.")
    assert record.changes == ()
    assert record.scenarios == {}


def test_a_scenario_that_is_kept_under_its_own_name_is_no_circle(tmp_path: Path) -> None:
    agent = LinesAgent(Workbench(read_indexed(write_workshop(tmp_path))), tmp_path)
    agent.answer("carpentry = 50")
    agent.answer("keep a")
    agent.answer("scenario a")
    assert agent.answer("keep a").scenarios == {"a": ("carpentry = 50",)}
    agent.answer("keep b")
    compared = agent.answer("compare a b").results[0].objective
    assert (compared.before.value, compared.difference.value) == (TRUTH[50], 0)
    refused = agent.answer("keep base")
    assert refused.refused
    assert "\n" not in refused.note
    assert agent.answer("scenario base").changes == ()
    assert agent.workbench.ask("solve").objective.value == TRUTH[40]


def test_names_in_arabic_and_with_quotes_are_asked_changed_and_answered(tmp_path: Path) -> None:
    builder = IndexedModelBuilder("مخزن")
    labels = ["باريس", 'the "old" (port)', "a]b}", "{r1.objective}", "=1+1"]
    builder.add_set("مدينة", labels)
    builder.set_objective("ربح", "maximize", builder.add_variables("نقل", ["مدينة"], high=5), [1.0, 2.0, 3.0, 4.0, 5.0])
    agent = LinesAgent(Workbench(builder.build()), tmp_path)
    for label in labels:
        written = json.dumps(label, ensure_ascii=False)
        record = agent.answer(f"نقل[{written}] <= 1")
        assert not record.refused
    assert agent.workbench.ask("solve").objective.value == 15
    assert agent.answer(f"undo {len(labels)}").changes == ()
    for wrong in ('نقل["unclosed', "نقل[nowhere] <= 1", "نقل[باريس, باريس] = 1"):
        record = agent.answer(wrong)
        assert record.refused
        assert "\n" not in record.note
        assert record.changes == ()


@pytest.mark.slow
def test_a_model_of_a_million_variables_has_a_short_prompt_and_answers_or_refuses_in_one_line(tmp_path: Path) -> None:
    from oragent.converse.models.model_prompt import model_prompt
    from oragent.llm.dialogue import LETTERS_A_TOKEN
    from oragent.modelling.operations.outcomes import SolveLimits
    from tests.converse.models.test_model_prompt import TOKENS, grid

    model = grid(1000, 1000)
    assert model.shape == (1000, 1_000_000)
    assert len(model_prompt(model, 12, 60)) / LETTERS_A_TOKEN <= TOKENS
    bench = Workbench(model, SolveLimits(seconds=60))
    lines = (
        "describe",
        'data limit["set0 label 3"]',
        "solve",
        "total amount by set0",
        'whatif limit["set0 label 3"] = 1',
    )
    refusals = []
    for line in lines:
        try:
            assert len(bench.ask(line).model_dump_json()) < 1_000_000
        except OragentError as problem:
            refusals.append(str(problem))
    assert not any("\n" in refusal for refusal in refusals)
    assert bench.state.changes == ()

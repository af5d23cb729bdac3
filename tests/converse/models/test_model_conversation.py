"""Conversations in folders: they go on where they were, with and without a language model."""

import asyncio
import contextlib
import io
import json
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

from oragent._base.errors import ConfigError, OragentError
from oragent.cli.app import app
from oragent.converse.command import converse, go_on, page, show
from oragent.converse.conversation_request import ConversationRequest, read_request
from oragent.converse.models.model_agents import CLOSING, MAX_ROUNDS
from oragent.converse.models.model_conversation import ModelConversation
from oragent.converse.models.model_files import EXAMPLE, begin_conversation, read_conversation_model
from oragent.converse.models.terminal import complete
from oragent.llm.callable import wrap_function
from oragent.llm.model_settings import RuntimeWords
from oragent.modelling.files.model_files import write
from tests.converse.models.workshop import TRUTH, write_workshop
from tests.modelling.indexed_models import transport

RUNTIME = RuntimeWords((), {"model.name": "scripted"}, None).read_runtime(("agent",))


def talk(folder: Path, *messages: str, model=None) -> ModelConversation:
    """Say messages to the conversation of a folder."""

    async def run() -> ModelConversation:
        async with ModelConversation(folder, read_request(folder)).open(model) as conversation:
            for message in messages:
                await conversation.say(message)
            return conversation

    return asyncio.run(run())


def call(*lines: str) -> str:
    return f"```json\n{json.dumps({'tool': 'ask', 'arguments': {'lines': list(lines)}})}\n```"


def test_it_goes_on_where_it_was(tmp_path: Path) -> None:
    folder = begin_conversation(tmp_path, ConversationRequest(str(write_workshop(tmp_path))))
    (tmp_path / "workshop.lp").unlink()
    first = talk(folder, "carpentry = 50", "keep more", "whatif tables <= 3")
    ids = [result.id for record in first.records for result in record.results]
    again = talk(folder, "keep", "undo 2")
    assert ids == list(dict.fromkeys(ids))
    assert again.records[4].changes == ("carpentry = 50", "tables <= 3")
    assert again.records[5].changes == () or again.records[5].changes == ("carpentry = 50",)
    assert again.records[4].scenarios == {"more": ("carpentry = 50",)}
    every = [result.id for record in again.records for result in record.results]
    assert len(set(every)) == len(every)
    assert "carpentry = 50" in (folder / "transcript.md").read_text()
    assert "carpentry = 50" in page(folder).read_text()
    assert show(folder, Console(file=io.StringIO())) == 0


def test_a_language_model_asks_lines_and_refers_to_results(tmp_path: Path) -> None:
    prompts: list[list[dict[str, str]]] = []

    def reply(messages: list[dict[str, str]]) -> str:
        prompts.append(messages)
        last = messages[-1]["content"]
        if "question" in last:
            return call("whatif carpentry = 50", "binding", "value nothing")
        if "cannot be filled" in last:
            return "It is {r2.objective.after}, {r2.better}, and 777 more."
        return "It is {r2.objectiv}."

    request = ConversationRequest(str(write_workshop(tmp_path)), "T-P-P", RUNTIME)
    folder = begin_conversation(tmp_path, request)
    talked = talk(folder, "my question", "/carpentry = 60", model=wrap_function(reply))
    record = talked.records[1]
    assert record.refused == 1
    assert (record.changes, [result.line for result in record.results]) == ((), ["whatif carpentry = 50", "binding"])
    assert [part.kind for part in record.parts] == [
        "text",
        "figure",
        "text",
        "figure",
        "text",
        "unsupported",
        "text",
    ]
    assert record.parts[1].text == f"{TRUTH[50]:g}"
    assert record.parts[3].text == "better"
    assert talked.records[2].changes == ("carpentry = 60",)
    assert record.raw == "It is {r2.objective.after}, {r2.better}, and 777 more."
    count = len(prompts)
    again = talk(folder, "another", model=wrap_function(lambda messages: prompts.append(messages) or "Fine."))
    assert len(prompts) == count + 1
    assert "carpentry = 60" in prompts[-1][-1]["content"]
    assert "my question" in [message["content"] for message in prompts[-1]]
    assert again.records[3].text == "Fine."


def test_a_number_counts_as_the_models_in_the_message_that_asked_for_it_or_while_nothing_new_is_asked(
    tmp_path: Path,
) -> None:
    asked = {
        "first": ["whatif carpentry = 50", f"It gains {TRUTH[50]:g}."], "second": [f"It was {TRUTH[50]:g}."],
        "third": ["value tables", f"It was {TRUTH[50]:g}."], "fourth": ["whatif carpentry = 60", f"It gains {TRUTH[60]:g}."],
    }  # fmt: skip

    def reply(messages: list[dict[str, str]]) -> str:
        replies = next(replies for word, replies in asked.items() if messages[-1]["content"] == word or word in said)
        return call(replies.pop(0)) if len(replies) > 1 else replies[0]

    request = ConversationRequest(str(write_workshop(tmp_path)), "T-P-P", RUNTIME)
    folder = begin_conversation(tmp_path, request)
    kinds = []
    for said in list(asked):
        record = talk(folder, said, model=wrap_function(reply)).records[-1]
        kinds.append("unsupported" in {part.kind for part in record.parts})
        del asked[said]
    assert kinds == [False, False, True, False]


def test_a_message_that_was_cut_off_is_answered_without_another_call(tmp_path: Path) -> None:
    request = ConversationRequest(str(write_workshop(tmp_path)), "T-P-P", RUNTIME)
    folder = begin_conversation(tmp_path, request)
    calls = []

    def reply(messages: list[dict[str, str]]) -> str:
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return call("solve") if len(calls) == 1 else "Done."

    with contextlib.suppress(KeyboardInterrupt):
        talk(folder, "what now?", model=wrap_function(reply))
    again = talk(folder, model=wrap_function(reply))
    assert again.records[1].said == "what now?"
    assert again.records[1].text == "Done."
    assert len(calls) == 3


def test_calls_end_at_their_limit_with_an_answer(tmp_path: Path) -> None:
    prompts: list[list[dict[str, str]]] = []

    def reply(messages: list[dict[str, str]]) -> str:
        prompts.append(messages)
        return call("value tables") if len(prompts) <= MAX_ROUNDS else "No tables."

    folder = begin_conversation(tmp_path, ConversationRequest(str(write_workshop(tmp_path)), "T-P-P", RUNTIME))
    record = talk(folder, "how many?", model=wrap_function(reply)).records[1]
    assert (len(prompts), len(record.results), record.text) == (MAX_ROUNDS + 1, MAX_ROUNDS, "No tables.")
    assert CLOSING in prompts[-1][-1]["content"]


def test_a_message_whose_model_fails_undoes_nothing(tmp_path: Path) -> None:
    def fail(messages: list[dict[str, str]]) -> str:
        raise OSError("no answer")

    folder = begin_conversation(tmp_path, ConversationRequest(str(write_workshop(tmp_path)), "lines", RUNTIME))
    begun = ["/carpentry = 50", "/tables <= 3", "/chairs <= 2", "/undo", "words"]
    records = talk(folder, *begun, model=wrap_function(fail)).records
    assert [record.undone for record in records[4:]] == [1, 0]
    assert "no answer" in records[-1].note
    again = talk(folder, "/undo", model=wrap_function(fail)).records[-1]
    assert (again.changes, again.undone) == (("carpentry = 50",), 1)


def test_without_its_model_operations_still_run(tmp_path: Path) -> None:
    request = ConversationRequest(str(write_workshop(tmp_path)), "T-P-P", RUNTIME)
    folder = begin_conversation(tmp_path, request)
    talk(folder, model=wrap_function(lambda messages: "Hello."))
    again = talk(folder, "what now?", "/carpentry = 50", model=None)
    # Words are not sent and leave no record; lines of operations run.
    assert again.absence

    async def ask() -> str:
        async with ModelConversation(folder, read_request(folder)).open(None) as conversation:
            return (await conversation.say("what now?")).note

    assert again.absence in asyncio.run(ask())
    assert [record.said for record in again.records] == ["", "/carpentry = 50"]
    assert again.records[1].changes == ("carpentry = 50",)
    assert talk(folder, "what now?", model=wrap_function(lambda messages: "Hello.")).records[2].text == "Hello."


@pytest.mark.parametrize("agent", ["C-P-P", "C-N-R", "nobody"])
def test_agents_of_evaluations_are_refused(tmp_path: Path, agent: str) -> None:
    with pytest.raises(ConfigError):
        begin_conversation(tmp_path, ConversationRequest(str(write_workshop(tmp_path)), agent))


def test_what_is_no_model_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.lp").write_text("nonsense")
    for argument in (tmp_path / "a.lp", tmp_path / "none.lp", tmp_path, "district:x"):
        with pytest.raises(OragentError):
            begin_conversation(tmp_path, ConversationRequest(str(argument)))


def test_a_whole_conversation_in_the_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("describe\nhelp price\ncarpentry = 50\nscenarios\nvalue none\nquit\n"))
    file = io.StringIO()
    assert converse(tmp_path, ConversationRequest(str(write_workshop(tmp_path))), Console(file=file, width=100)) == 0
    assert f"{TRUTH[50]:g}" in file.getvalue()
    assert "price REF" in file.getvalue()
    folder = next((tmp_path / "workshop").iterdir())
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    assert go_on(folder, Console(file=io.StringIO())) == 0


def test_infeasible_and_unbounded_models_open(tmp_path: Path) -> None:
    texts = {
        "none": "Minimize\n cost: x\nSubject To\n low: x >= 5\n high: x <= 3\nEnd\n",
        "ray": "Maximize\n gain: x\nSubject To\n low: x >= 5\nEnd\n",
    }
    for name, text in texts.items():
        (tmp_path / f"{name}.lp").write_text(text)
    folder = begin_conversation(tmp_path, ConversationRequest(str(tmp_path / "none.lp")))
    opened = talk(folder, "keep", "solve")
    assert [result.status for result in opened.records[0].results] == ["infeasible"] * 3
    assert opened.records[2].results[0].status == "optimal"
    folder = begin_conversation(tmp_path, ConversationRequest(str(tmp_path / "ray.lp")))
    opened = talk(folder, "x <= 9", "solve")
    assert opened.records[0].results[0].status == "unbounded"
    assert opened.records[2].results[0].objective.value == pytest.approx(9)


@pytest.mark.parametrize(
    ("replies", "unit"),
    [
        ([{"module": "formalization", "parsed": {"UNIT": " EUR "}}], "EUR"),
        ([{"module": "formalization", "parsed": {"UNIT": "a"}}, {"module": "other", "parsed": {"UNIT": "b"}}], "a"),
        ([{"module": "formalization", "parsed": {"UNIT": "a"}}, {"module": "formalization", "parsed": {"UNIT": "b"}}], "b"),
        ([{"module": "formalization", "parsed": {"UNIT": "u" * 50}}], "u" * 39 + "…"), ([{"module": "formalization", "parsed": []}], ""),
        ([{"module": "formalization", "parsed": {"UNIT": 3}}], ""), ([3], ""), ([], ""), (None, ""),
    ],
)  # fmt: skip
def test_the_unit_of_a_formulation_is_that_of_its_last_formalization(
    replies: list | None, unit: str, tmp_path: Path
) -> None:
    folder = tmp_path / "formulated"
    folder.mkdir()
    write(replace(read_conversation_model(str(write_workshop(tmp_path))), name=""), folder / "model.json")
    if replies is not None:
        (folder / "pool.jsonl").write_text("\n\n".join(map(json.dumps, replies)))
    model = read_conversation_model(str(folder))
    assert (model.name, model.objective.unit) == ("formulated", unit)
    has_unit = replace(model, objectives=(replace(model.objective, unit="USD"),), name="own")
    write(has_unit, folder / "model.json")
    assert read_conversation_model(str(folder)).objective.unit == "USD"
    assert read_conversation_model(str(folder / "model.json")).name == "own"


def test_replies_of_a_formulation_are_read_up_to_a_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(read_conversation_model(str(write_workshop(tmp_path))), tmp_path / "model.json")
    text = json.dumps({"module": "formalization", "parsed": {"UNIT": "EUR"}})
    (tmp_path / "pool.jsonl").write_text(text)
    for size, unit in ((len(text), "EUR"), (len(text) - 1, "")):
        monkeypatch.setattr("oragent.converse.models.model_files.MAX_REPLIES", size)
        assert read_conversation_model(str(tmp_path / "model.json")).objective.unit == unit


def test_the_example_is_read_by_its_name_unless_a_file_has_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert read_conversation_model(EXAMPLE).variables
    with pytest.raises(OragentError):
        read_conversation_model("nothing")
    write_workshop(tmp_path).rename(tmp_path / EXAMPLE)
    # A file without the ending of a model.
    with pytest.raises(OragentError):
        read_conversation_model(EXAMPLE)


def test_completion_offers_names_and_labels() -> None:
    model = transport()
    assert "whatif" in complete(model, "", "wh")
    assert complete(model, "whatif ", "dem") == ["demand"]
    assert complete(model, "whatif demand[", "nim") == ["Nîmes"]
    assert complete(model, "value ship[Lyon, ", "p") == ["Paris"]
    assert complete(model, "value ship[Lyon, Paris, ", "wk1") == ["wk1"]


def test_the_command_without_a_model_names_an_example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["converse"])
    assert isinstance(done.exception, ConfigError)
    assert f"oragent converse {EXAMPLE}" in str(done.exception)
    assert "\n" not in str(done.exception)


def test_indexed_models_are_kept_whole(tmp_path: Path) -> None:
    write(transport(), tmp_path / "model.json")
    model = read_conversation_model(str(tmp_path))
    assert [family.name for family in model.families()] == [family.name for family in transport().families()]

"""A small language model writes lines as JSON: what runs of them, and what is sent back."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from oragent.converse.models.line_schema import MAX_LINES, lines_schema
from oragent.converse.models.line_writer import LineWriter
from oragent.converse.models.message_record import MessageRecord
from oragent.converse.models.workbench import Workbench
from oragent.llm.model import Message
from oragent.modelling.files.model_files import read_indexed
from tests.converse.models.workshop import TRUTH, write_workshop

MORE = {"do": "whatif", "changes": [{"name": "carpentry", "sign": "=", "number": 50}]}
WRONG = {"do": "value", "name": "nothing"}


@dataclass
class Replies:
    """A model that gives these replies, and what it was asked."""

    texts: list[str]
    asked: list[list[Message]] = field(default_factory=list)
    schemas: list[object] = field(default_factory=list)

    async def ask(
        self,
        role: str,
        messages: Sequence[Message],
        temperature: float | None = None,
        tools: Sequence[object] = (),
        schema: Mapping[str, Any] | None = None,
    ) -> Any:
        assert temperature == 0
        self.asked.append(list(messages))
        self.schemas.append(schema)
        return SimpleNamespace(text=self.texts[len(self.asked) - 1])


def write(*operations: object) -> str:
    return json.dumps({"lines": operations})


@pytest.fixture
def bench(tmp_path: Path) -> Workbench:
    return Workbench(read_indexed(write_workshop(tmp_path)))


def answer(bench: Workbench, *texts: str) -> tuple[MessageRecord, Replies]:
    replies = Replies(list(texts))
    return asyncio.run(LineWriter(bench, replies, Path()).answer("What if?")), replies


def test_lines_of_the_first_reply_are_the_answer(bench: Workbench) -> None:
    record, replies = answer(bench, write(MORE, {"do": "value", "name": "tables"}))
    assert (record.said, record.refused, record.changes) == ("What if?", 0, ())
    assert [result.line for result in record.results] == ["whatif carpentry = 50", "value tables"]
    assert record.results[0].objective.after.value == TRUTH[50]
    ((prompt, message),) = replies.asked
    assert (prompt.role, message) == ("system", Message("user", "What if?"))
    assert all(name in prompt.content for name in ("carpentry", "tables", "profit"))
    assert replies.schemas == [lines_schema(bench.model)]


def test_lines_beyond_the_limit_are_left_out(bench: Workbench) -> None:
    record, _ = answer(bench, write(*[{"do": "solve"}] * (MAX_LINES + 2)))
    assert len(record.results) == MAX_LINES


@pytest.mark.parametrize("first", [write(WRONG), write(MORE, WRONG), "I cannot say.", "x" * 3000, write()])
def test_a_refused_reply_is_sent_back_once(first: str, bench: Workbench) -> None:
    record, replies = answer(bench, first, write(MORE))
    assert [result.line for result in record.results] == ["whatif carpentry = 50"]
    assert record.refused == 0
    _, (_, _, returned, complaint) = replies.asked
    assert returned == Message("assistant", first[:2000])
    assert complaint.role == "user"
    assert ("nothing" in complaint.content) is ("nothing" in first)
    assert "\n" not in complaint.content


def test_two_refusals_are_the_answer(bench: Workbench) -> None:
    record, replies = answer(bench, "?", write(MORE, WRONG))
    assert (record.said, record.refused, record.results, len(replies.asked)) == ("What if?", 1, (), 2)
    assert "nothing" in record.note
    record, replies = answer(bench, "?", "?")
    assert (record.said, record.results, len(replies.asked)) == ("What if?", (), 2)
    assert record.note

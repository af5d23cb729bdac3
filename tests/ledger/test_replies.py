"""Replies are found again by call and prompt, in whatever layout they were written."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oragent._base.errors import StoreError
from oragent.ledger import RecordedReply, Replies
from oragent.ledger.database import Database
from oragent.ledger.replies import REPLIES
from oragent.llm.model import Message, Reply, Request, Tool, ToolCall

ASKED = Request("code", (Message("user", "Write."),), 0.5, key="3.0.1/2")
ANSWER = Reply("text", tokens_in=10, tokens_out=20, money=0.5, seconds=1.0, model="m", retries=2)


def opened(path: Path) -> Database:
    return Database(path, REPLIES, "1")


@pytest.fixture
def replies(tmp_path: Path) -> Iterator[Replies]:
    database = opened(tmp_path / "run.db")
    yield Replies(database)
    database.close()


def test_a_reply_is_found_again_only_for_the_same_call_and_prompt(replies: Replies) -> None:
    kept = RecordedReply.from_reply(ASKED, ANSWER)
    replies.store_reply(kept, ASKED.digest)
    assert replies.find_reply(ASKED) == kept
    assert replies.find_reply(replace(ASKED, key="3.0.1/3")) is None
    assert replies.find_reply(replace(ASKED, messages=(Message("user", "Read."),))) is None
    assert replies.find_reply(replace(ASKED, temperature=0.6)) is None


def test_a_recorded_reply_gives_back_what_the_model_gave() -> None:
    called = replace(ANSWER, tool_calls=(ToolCall("a", "fix", {"school": "Ortega"}),))
    assert RecordedReply.from_reply(ASKED, called).to_reply() == called


def test_another_prompt_under_the_same_key_does_not_lose_the_reply_that_was_paid_for(replies: Replies) -> None:
    other = replace(ASKED, messages=(Message("user", "Read."),))
    replies.store_reply(RecordedReply.from_reply(ASKED, ANSWER), ASKED.digest)
    replies.store_reply(RecordedReply.from_reply(other, replace(ANSWER, text="other")), other.digest)
    assert [replies.find_reply(one).text for one in (ASKED, other)] == ["text", "other"]
    assert len(replies.all_replies()) == 2


def test_calls_of_tools_are_kept_with_the_reply(replies: Replies) -> None:
    asked = replace(ASKED, tools=(Tool("fix", "Fix a time.", {"type": "object"}),))
    calls = (ToolCall("a", "fix", {"school": "Ortega", "minutes": [470, None]}), ToolCall("b", "fix", {}, "no JSON"))
    replies.store_reply(RecordedReply.from_reply(asked, replace(ANSWER, tool_calls=calls)), asked.digest)
    assert replies.find_reply(asked).tool_calls == calls
    assert replies.find_reply(ASKED) is None  # without the tools it is another question


@given(
    st.from_regex(r"[a-z0-9./-]{1,12}[a-z]|\d{1,4}", fullmatch=True),
    st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), max_size=3),
    st.integers(0, 99),
)
def test_a_key_says_case_branch_and_number(case: str, forks: list[tuple[int, int]], call: int) -> None:
    branch = "".join(f"{fork}.{place}/" for fork, place in forks)
    reply = replace(RecordedReply.from_reply(ASKED, ANSWER), key=f"{case}.{branch}{call}")
    assert (reply.case, reply.branch, reply.call) == (case, branch, call)


def test_a_key_of_no_call_is_one_line() -> None:
    with pytest.raises(StoreError, match="twelve"):
        _ = replace(RecordedReply.from_reply(ASKED, ANSWER), key="twelve").case


def test_replies_come_in_the_order_of_rounds_and_calls(replies: Replies) -> None:
    keys = ["10.0", "9.1", "9.0", "9.0.1/0", "9.10", "set/b.0", "set/a.0"]
    for key in keys:
        asked = replace(ASKED, key=key)
        replies.store_reply(RecordedReply.from_reply(asked, ANSWER), asked.digest)
    found = [reply.key for reply in replies.all_replies()]
    assert found == ["set/a.0", "set/b.0", "9.0", "9.1", "9.10", "9.0.1/0", "10.0"]


def test_replies_of_nobody_cannot_be_taken_over(tmp_path: Path, replies: Replies) -> None:
    with pytest.raises(StoreError):
        replies.copy_from(tmp_path / "gone.db")

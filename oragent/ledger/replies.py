"""Store replies before they are used, and find them by call and prompt.

A call has a key ``<case>.<branch><number>``, such as ``12.0.2/3``. The branch is empty, or a path such as ``0.2/``: the
third branch of the first fork. The number counts the calls of the branch.
"""

import json
import re
import sqlite3
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from oragent._base.budget import Spent
from oragent._base.errors import FullDiskError, ModelError, StoreError
from oragent._base.safe_load import parse_json
from oragent.ledger.database import Database
from oragent.llm.client import CHECK
from oragent.llm.model import Reply, Request, ToolCall

REPLIES = """
CREATE TABLE IF NOT EXISTS replies (
    key TEXT NOT NULL, prompt_hash TEXT NOT NULL, role TEXT NOT NULL, prompt TEXT NOT NULL, text TEXT NOT NULL,
    tool_calls TEXT NOT NULL, model TEXT NOT NULL, tokens_in INTEGER NOT NULL, tokens_out INTEGER NOT NULL,
    money REAL, seconds REAL NOT NULL, retries INTEGER NOT NULL, tokens_cached INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (key, prompt_hash));
"""
KEY = re.compile(r"(?P<case>.+?)\.(?P<branch>(?:\d+\.\d+/)*)(?P<call>\d+)")


# Maximum length of the tool calls of a reply, in characters.
MAX_CALLS = 8 << 20


@dataclass(frozen=True)
class RecordedReply:
    """A stored reply of a model: fields of its ``Request``, with the conversation as JSON, and of its ``Reply``."""

    key: str
    role: str
    prompt: str
    text: str
    model: str
    tokens_in: int
    tokens_out: int
    money: float | None
    seconds: float
    retries: int
    tool_calls: tuple[ToolCall, ...] = ()
    tokens_cached: int = 0

    @classmethod
    def from_reply(cls, request: Request, reply: Reply) -> "RecordedReply":
        """Make the record of a reply to a request that has a key."""
        return cls(request.key, request.role, request.prompt, **_shared_fields(reply))

    @property
    def cost(self) -> Spent:
        """Cost of the call."""
        return Spent(model_calls=1, tokens=self.tokens_in + self.tokens_out, money=self.money or 0.0)

    def to_reply(self) -> Reply:
        """Return the reply in the form that the model gave it."""
        return Reply(**_shared_fields(self))

    @cached_property
    def _key_parts(self) -> tuple[str, str, int]:
        match = KEY.fullmatch(self.key)
        if match is None:
            raise StoreError(f"a reply has the key {self.key!r}, expected <case>.<branch><number>")
        return match["case"], match["branch"], int(match["call"])

    @property
    def case(self) -> str:
        """Case of the call."""
        return self._key_parts[0]

    @property
    def branch(self) -> str:
        """Branch of the case; empty outside of branches."""
        return self._key_parts[1]

    @property
    def call(self) -> int:
        """Number of the call in its branch."""
        return self._key_parts[2]

    @property
    def order(self) -> tuple[int, str, str, int]:
        """Sort key: first cases that are not numbers, by name; then numbers by value; then branch and call."""
        case, branch, call = self._key_parts
        return int(case) if case.isdecimal() else -1, case, branch, call


def _shared_fields(reply: Reply | RecordedReply) -> dict[str, Any]:
    names = Reply.__dataclass_fields__.keys() & RecordedReply.__dataclass_fields__.keys()
    return {name: getattr(reply, name) for name in names}


def list_possible_keys(case: str | int, branch: str, call: int) -> list[str]:
    """List the keys that the reply behind a program can have, the likeliest first.

    A program that is scored in a branch can come from a reply in that branch, or in one that encloses it.
    """
    parts = branch.split("/")[:-1]
    around = ["".join(f"{part}/" for part in parts[:depth]) for depth in range(len(parts), -1, -1)]
    return [f"{case}.{name}{call}" for name in around]


class Replies:
    """Table of the replies in a database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @cached_property
    def _known_keys(self) -> set[str]:
        """Keys of the recorded calls, so that a new call needs no query."""
        return {row["key"] for row in self._database.query_rows("SELECT key FROM replies")}

    def find_reply(self, request: Request) -> RecordedReply | None:
        """Return the recorded reply to a call with the same prompt, or None."""
        if request.key not in self._known_keys:
            return None
        query = "SELECT * FROM replies WHERE key = ? AND prompt_hash = ?"
        row = self._database.query_row(query, request.key, request.digest)
        if row is None:
            return None
        return self._from_row(row)

    def find_by_key(self, key: str, role: str) -> RecordedReply | None:
        """Return the recorded reply to a call in a role with any prompt, or None."""
        row = self._database.query_row("SELECT * FROM replies WHERE key = ? AND role = ?", key, role)
        if row is None:
            return None
        return self._from_row(row)

    def store_reply(self, reply: RecordedReply, digest: str) -> None:
        """Store a reply. On a full disk, use the reserved space. ``digest`` is that of its request."""
        calls = json.dumps([{**asdict(call), "arguments": dict(call.arguments)} for call in reply.tool_calls])
        fields = {name: getattr(reply, name) for name in RecordedReply.__dataclass_fields__}
        row = {**fields, "tool_calls": calls, "prompt_hash": digest}
        try:
            self._database.write_row("INSERT OR REPLACE INTO", "replies", row)
        except FullDiskError:
            if not self._database.release_room():
                raise
            self._database.write_row("INSERT OR REPLACE INTO", "replies", row)
        self._known_keys.add(reply.key)

    def reserve_room(self) -> None:
        """Reserve disk space for the replies of calls that begin now.

        Raises:
            FullDiskError: The disk has no room.
        """
        self._database.reserve_room()

    def all_replies(self) -> list[RecordedReply]:
        """Return all replies, in the order of their calls."""
        rows = self._database.query_rows("SELECT * FROM replies")
        return sorted(map(self._from_row, rows), key=lambda reply: reply.order)

    def case_replies(self, case: str) -> list[RecordedReply]:
        """Return the replies of a case, in the order of their calls."""
        rows = self._database.query_rows("SELECT * FROM replies WHERE key LIKE ?", f"{case}.%")
        return sorted(map(self._from_row, rows), key=lambda reply: reply.order)

    def store_checks(self, case: str, checks: Sequence[Reply]) -> None:
        """Store the replies of connection checks, which cost money like any other, as further calls of a case."""
        begin = sum(reply.role == CHECK.role for reply in self.case_replies(case))
        for number, reply in enumerate(checks, begin):
            request = replace(CHECK, key=f"{case}.{number}")
            self.store_reply(RecordedReply.from_reply(request, reply), request.digest)

    def case_cost(self, case: str) -> Spent:
        """Return the cost of the calls of a case."""
        return Spent().add_all(reply.cost for reply in self.case_replies(case))

    def _from_row(self, row: sqlite3.Row) -> RecordedReply:
        columns = {name: row[name] for name in RecordedReply.__dataclass_fields__}
        with self._database.translate_values():
            calls = tuple(ToolCall(**call) for call in parse_json(row["tool_calls"], MAX_CALLS))
            if not all(isinstance(call.arguments, dict) and isinstance(call.name, str) for call in calls):
                raise ValueError("a tool call has no name or no arguments")
            return RecordedReply(**{**columns, "tool_calls": calls})

    def copy_from(self, path: Path) -> None:
        """Copy all replies of another database of any kind, so that their prompts need no new calls."""
        with Database(path, REPLIES, None, readonly=True) as source:
            rows = source.query_rows("SELECT * FROM replies")
        with self._database.transaction():
            for row in rows:
                self._database.write_row("INSERT OR REPLACE INTO", "replies", dict(row))
        self._known_keys.update(row["key"] for row in rows)


class ReplayModel:
    """Model that returns recorded replies.

    This model is asked only for prompts that were not recorded, because another version of oragent wrote them
    differently. It returns the reply to the call with the same key and role.
    """

    def __init__(self, replies: Replies) -> None:
        self._replies = replies
        # Number of prompts so far that differ from the recorded ones.
        self.reworded = 0

    async def __call__(self, request: Request, /) -> Reply:
        """Return the reply to the call with the same key and role."""
        recorded = self._replies.find_by_key(request.key, request.role)
        if recorded is None:
            where = f" (call {request.key})" if request.key else ""
            raise ModelError(
                f"the recorded run has no reply to this prompt{where}: it ended here, or continued differently"
            )
        self.reworded += 1
        return recorded.to_reply()

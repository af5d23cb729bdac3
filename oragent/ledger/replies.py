"""Replies that were paid for: in the database before anyone reads them, and found again by call and prompt.

A call has a key, ``<case>.<branch><number>``: the case that it was made in, the branch of it (``0.2/`` is the third one
of its first fork; empty outside of branches), and its number there, such as ``12.0.2/3``.
"""

import json
import re
import sqlite3
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path

from oragent._base.errors import StoreError
from oragent.ledger.database import Database
from oragent.llm.model import Reply, Request, ToolCall

REPLIES = """
CREATE TABLE IF NOT EXISTS replies (
    key TEXT NOT NULL, prompt_hash TEXT NOT NULL, role TEXT NOT NULL, prompt TEXT NOT NULL, text TEXT NOT NULL,
    tool_calls TEXT NOT NULL, model TEXT NOT NULL, tokens_in INTEGER NOT NULL, tokens_out INTEGER NOT NULL,
    money REAL, seconds REAL NOT NULL, retries INTEGER NOT NULL, tokens_cached INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (key, prompt_hash));
"""
LATER = {"tokens_cached"}  # columns that runs of earlier versions lack
KEY = re.compile(r"(?P<case>.+?)\.(?P<branch>(?:\d+\.\d+/)*)(?P<call>\d+)")
SEARCHES = """
SELECT round || '.' || branch || call AS key, prompt_hash, role, prompt, reply AS text, '[]' AS tool_calls, model,
    tokens_in, tokens_out, cost AS money, seconds, retries FROM replies
"""  # of the second layout of a search, which knew rounds alone


@dataclass(frozen=True)
class RecordedReply:
    """A model's reply, as it was paid for.

    Attributes:
        key: Name of the call, different from that of every other call of a run.
        role: Role in which the model was asked.
        prompt: Prompt: the conversation as JSON.
        text: Text of the answer.
        model: Name under which the model was asked.
        tokens_in, tokens_out: Numbers of tokens of the prompt and of the answer.
        money: Price in US dollars; None where it is unknown.
        seconds: Duration of the call, seconds.
        retries: Number of attempts that failed before.
        tool_calls: Tools that the model wants called.
        tokens_cached: Number of those of the prompt that the server had read before.
    """

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
    def of(cls, request: Request, reply: Reply) -> "RecordedReply":
        """A reply to a request that has a key."""
        return cls(
            key=request.key,
            role=request.role,
            prompt=request.prompt,
            text=reply.text,
            model=reply.model,
            tokens_in=reply.tokens_in,
            tokens_out=reply.tokens_out,
            money=reply.money,
            seconds=reply.seconds,
            retries=reply.retries,
            tool_calls=reply.tool_calls,
            tokens_cached=reply.tokens_cached,
        )

    def reply(self) -> Reply:
        """The reply as the model gave it."""
        return Reply(
            self.text,
            self.tool_calls,
            tokens_in=self.tokens_in,
            tokens_out=self.tokens_out,
            money=self.money,
            seconds=self.seconds,
            model=self.model,
            retries=self.retries,
            tokens_cached=self.tokens_cached,
        )

    @cached_property
    def _place(self) -> tuple[str, str, int]:
        found = KEY.fullmatch(self.key)
        if found is None:
            raise StoreError(f"a reply has the key {self.key!r}, expected <case>.<branch><number>")
        return found["case"], found["branch"], int(found["call"])

    @property
    def case(self) -> str:
        """The case in which the call was made."""
        return self._place[0]

    @property
    def branch(self) -> str:
        """The branch of the case; empty outside of branches."""
        return self._place[1]

    @property
    def call(self) -> int:
        """The number of the call in its branch."""
        return self._place[2]

    @property
    def order(self) -> tuple[int, str, str, int]:
        """By which replies are sorted: cases that are numbers by these, then by name, branch and call."""
        case, branch, call = self._place
        return int(case) if case.isdecimal() else -1, case, branch, call


class Replies:
    """The replies in a database.

    Args:
        database: Database of the replies; it has the table of ``REPLIES``, or that of an older search.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        columns = {row["name"] for row in database.rows("PRAGMA table_info(replies)")}
        self._columns = LATER & columns
        self._table = "replies" if "key" in columns else f"({SEARCHES})"

    @cached_property
    def _calls(self) -> set[str]:
        """Keys of the calls that were made: most calls are new, and no query is needed to know it."""
        return {row["key"] for row in self._database.rows(f"SELECT key FROM {self._table}")}

    def find(self, request: Request) -> RecordedReply | None:
        """The reply to a call that was made before, if the prompt was the same."""
        if request.key not in self._calls:
            return None
        query = f"SELECT * FROM {self._table} WHERE key = ? AND prompt_hash = ?"
        row = self._database.row(query, request.key, request.digest)
        return None if row is None else _reply(row)

    def called(self, key: str, role: str) -> RecordedReply | None:
        """The reply to a call in a role, whatever its prompt was."""
        row = self._database.row(f"SELECT * FROM {self._table} WHERE key = ? AND role = ?", key, role)
        return None if row is None else _reply(row)

    def keep(self, reply: RecordedReply, digest: str) -> None:
        """Write a reply as soon as it has come; ``digest`` is that of its request."""
        calls = json.dumps([{**asdict(call), "arguments": dict(call.arguments)} for call in reply.tool_calls])
        own = {name: getattr(reply, name) for name in RecordedReply.__dataclass_fields__}
        self._write({**own, "tool_calls": calls, "prompt_hash": digest})
        self._calls.add(reply.key)

    def _write(self, values: dict[str, object]) -> None:
        missing = LATER - self._columns
        known = {name: value for name, value in values.items() if name not in missing}
        self._database.write("INSERT OR REPLACE INTO", "replies", known)

    def all(self) -> list[RecordedReply]:
        """All replies, in the order of their calls."""
        rows = self._database.rows(f"SELECT * FROM {self._table}")
        return sorted(map(_reply, rows), key=lambda reply: reply.order)

    def of_case(self, case: str) -> list[RecordedReply]:
        """The replies of one case, in the order of their calls."""
        rows = self._database.rows(f"SELECT * FROM {self._table} WHERE key LIKE ?", f"{case}.%")
        return sorted(map(_reply, rows), key=lambda reply: reply.order)

    def take_over(self, path: Path) -> None:
        """Copy all replies of another database, of whatever layout: where its prompts come again, nobody is asked.

        Raises:
            StoreError: if there is none, or it cannot be read.
        """
        with Database(path, "", None, readonly=True) as other:
            rows = other.rows(f"SELECT * FROM {Replies(other)._table}")
        with self._database.transaction():
            for row in rows:
                self._write(dict(row))
        self._calls.update(row["key"] for row in rows)


def migrate_replies(database: sqlite3.Connection) -> None:
    """Bring the replies of a search's second layout into a table by key."""
    database.execute("ALTER TABLE replies RENAME TO replies_by_round")
    database.execute(REPLIES)
    select = SEARCHES.replace("FROM replies", "FROM replies_by_round")
    names = "key, prompt_hash, role, prompt, text, tool_calls, model, tokens_in, tokens_out, money, seconds, retries"
    database.execute(f"INSERT INTO replies ({names}) {select}")
    database.execute("DROP TABLE replies_by_round")


def _reply(row: sqlite3.Row) -> RecordedReply:
    kept = {name: row[name] for name in RecordedReply.__dataclass_fields__ if name in row.keys()}  # noqa: SIM118
    return RecordedReply(**{**kept, "tool_calls": tuple(ToolCall(**call) for call in json.loads(row["tool_calls"]))})

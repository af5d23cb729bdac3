"""A run's database: every candidate, evaluation and reply, each written in one transaction as it happens.

SQLite in WAL mode, so that a run that is killed loses nothing that was paid for. Evaluations and replies are written
when they end; candidates when their round is committed, in round order. What a killed run had paid for without
committing it is found again by its key when the round is done again.
"""

import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from oragent.budget import Spent
from oragent.errors import StoreError
from oragent.evaluation import Evaluation
from oragent.protocol import Status
from oragent.search.candidate import Candidate, Committed

__all__ = ["Note", "RecordedReply", "Store"]

SCHEMA = """
CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS evaluations (
    fingerprint TEXT PRIMARY KEY, status TEXT NOT NULL, score REAL, features TEXT, metrics TEXT NOT NULL,
    message TEXT NOT NULL, traceback TEXT NOT NULL, log TEXT NOT NULL, output TEXT NOT NULL,
    end TEXT NOT NULL, queued_s REAL NOT NULL, wall_s REAL NOT NULL, cpu_s REAL NOT NULL, peak_mb REAL NOT NULL,
    elapsed_s REAL NOT NULL);
CREATE TABLE IF NOT EXISTS replies (
    round INTEGER NOT NULL, branch TEXT NOT NULL, call INTEGER NOT NULL, role TEXT NOT NULL, prompt_hash TEXT NOT NULL,
    prompt TEXT NOT NULL, reply TEXT NOT NULL, model TEXT NOT NULL, tokens_in INTEGER NOT NULL,
    tokens_out INTEGER NOT NULL, cost REAL, seconds REAL NOT NULL, retries INTEGER NOT NULL,
    PRIMARY KEY (round, branch, call));
CREATE TABLE IF NOT EXISTS rounds (
    round INTEGER PRIMARY KEY, spent TEXT NOT NULL, elapsed_s REAL NOT NULL);
CREATE TABLE IF NOT EXISTS candidates (
    round INTEGER NOT NULL, number INTEGER NOT NULL, fingerprint TEXT NOT NULL, source TEXT NOT NULL,
    parents TEXT NOT NULL, origin TEXT NOT NULL, island INTEGER NOT NULL, call INTEGER, branch TEXT NOT NULL,
    placed TEXT NOT NULL, PRIMARY KEY (round, number));
CREATE TABLE IF NOT EXISTS notes (
    round INTEGER NOT NULL, number INTEGER NOT NULL, kind TEXT NOT NULL, text TEXT NOT NULL,
    PRIMARY KEY (round, number));
"""
VERSION = "2"


@dataclass(frozen=True)
class RecordedReply:
    """A model's reply, as it was paid for."""

    round: int
    call: int
    role: str
    prompt: str
    reply: str
    model: str
    tokens_in: int
    tokens_out: int
    cost: float | None
    seconds: float
    retries: int
    branch: str = ""


@dataclass(frozen=True)
class Note:
    """What a round wrote down for later rounds and for reports.

    Attributes:
        round: its number.
        kind: what the note is, by which it is found again.
        text: whatever the strategy says, perhaps JSON.
    """

    round: int
    kind: str
    text: str


class Store:
    """The database of one run.

    Args:
        path: the file, made if it is missing.
        readonly: never write to it, as reports do.

    Raises:
        StoreError: if it cannot be opened, is corrupted, or was written by another version.
    """

    def __init__(self, path: Path, *, readonly: bool = False) -> None:
        self.path = path
        if readonly and not path.is_file():
            raise StoreError(f"no run at {path.parent}: expected {path.name} in it")
        with self._guarded():
            mode = "?mode=ro" if readonly else ""
            self._db = sqlite3.connect(f"{path.absolute().as_uri()}{mode}", uri=True, isolation_level=None)
            self._db.row_factory = sqlite3.Row
        try:
            self._prepare(readonly)
        except StoreError:
            self._db.close()
            raise

    def _prepare(self, readonly: bool) -> None:
        with self._guarded():
            if not readonly:
                self._db.execute("PRAGMA journal_mode=WAL")
                self._db.execute("PRAGMA synchronous=NORMAL")
                self._db.executescript(SCHEMA)
                self._db.execute("INSERT OR IGNORE INTO meta VALUES ('version', ?)", (VERSION,))
        layout = self.meta("version")
        if layout != VERSION:
            raise StoreError(f"{self.path} has layout {layout}, this version reads {VERSION}; start a new run")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; everything was written before."""
        self._db.close()

    def meta(self, key: str) -> str | None:
        """A note about the run."""
        with self._guarded():
            row = self._db.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return row and str(row["value"])

    def note(self, key: str, value: str) -> None:
        """Write a note about the run."""
        with self._guarded():
            self._db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))

    def evaluation(self, fingerprint: str) -> Evaluation | None:
        """The evaluation of a program that has been scored before."""
        with self._guarded():
            row = self._db.execute("SELECT * FROM evaluations WHERE fingerprint = ?", (fingerprint,)).fetchone()
        return row and _evaluation(row)

    def keep_evaluation(self, fingerprint: str, evaluation: Evaluation, elapsed_s: float) -> None:
        """Write an evaluation as soon as it has ended."""
        features = None if evaluation.features is None else json.dumps(evaluation.features)
        values = vars(evaluation) | {"features": features, "metrics": _dumps(evaluation.metrics)}
        values |= {"status": str(evaluation.status), "fingerprint": fingerprint, "elapsed_s": elapsed_s}
        with self._guarded():
            self._write("INSERT OR REPLACE INTO", "evaluations", values)

    def reply(self, number: int, call: int, prompt_hash: str, branch: str = "") -> RecordedReply | None:
        """The reply to a call that was made before, if the prompt was the same."""
        query = "SELECT * FROM replies WHERE round = ? AND branch = ? AND call = ? AND prompt_hash = ?"
        with self._guarded():
            row = self._db.execute(query, (number, branch, call, prompt_hash)).fetchone()
        return row and _reply(row)

    def keep_reply(self, reply: RecordedReply, prompt_hash: str) -> None:
        """Write a reply as soon as it has come."""
        with self._guarded():
            self._write("INSERT OR REPLACE INTO", "replies", {**vars(reply), "prompt_hash": prompt_hash})

    def commit(
        self,
        number: int,
        candidates: Sequence[tuple[Candidate, str]],
        spent: Spent,
        elapsed_s: float,
        notes: Sequence[Note] = (),
    ) -> None:
        """Write a round with its candidates and notes, all or nothing.

        Args:
            number: of the round.
            candidates: each candidate with what became of it, in the order of the round.
            spent: what the round used.
            elapsed_s: the run's own time.
            notes: what the round wrote down, in its order.
        """
        with self._guarded():
            self._db.execute("BEGIN")
            for position, (candidate, placed) in enumerate(candidates):
                values = {**vars(candidate), "round": number, "number": position, "placed": placed}
                values["parents"] = json.dumps(values.pop("parents"))
                del values["evaluation"]
                self._write("INSERT INTO", "candidates", values)
            for position, note in enumerate(notes):
                self._write("INSERT INTO", "notes", {**vars(note), "round": number, "number": position})
            self._db.execute("INSERT INTO rounds VALUES (?, ?, ?)", (number, json.dumps(vars(spent)), elapsed_s))
            self._db.execute("COMMIT")

    def rounds(self) -> dict[int, Spent]:
        """What each committed round used, in round order."""
        with self._guarded():
            rows = self._db.execute("SELECT * FROM rounds ORDER BY round").fetchall()
        return {row["round"]: Spent(**json.loads(row["spent"])) for row in rows}

    def elapsed_s(self) -> float:
        """The run's own time at the last committed round."""
        with self._guarded():
            (latest,) = self._db.execute("SELECT COALESCE(MAX(elapsed_s), 0) FROM rounds").fetchone()
        return float(latest)

    def records(self, number: int | None = None) -> list[Committed]:
        """The committed candidates in the order of their commitment; of one round, or of all."""
        select = "SELECT * FROM candidates LEFT JOIN evaluations USING (fingerprint)"
        return [_record(row) for row in self._rows(select, number, "round, number")]

    def replies(self, number: int | None = None) -> list[RecordedReply]:
        """The replies in the order of their calls; of one round, or of all."""
        return [_reply(row) for row in self._rows("SELECT * FROM replies", number, "round, branch, call")]

    def copy_replies(self, other: Path) -> None:
        """Take over all replies of another run: where its prompts are put again, nobody has to be asked.

        Raises:
            StoreError: if there is no such run, or it has another layout.
        """
        with Store(other, readonly=True) as run:
            rows = run._db.execute("SELECT * FROM replies").fetchall()
        with self._guarded():
            self._db.execute("BEGIN")
            for row in rows:
                self._write("INSERT OR REPLACE INTO", "replies", dict(row))
            self._db.execute("COMMIT")

    def notes(self) -> list[Note]:
        """All notes of committed rounds, in their order."""
        with self._guarded():
            rows = self._db.execute("SELECT * FROM notes ORDER BY round, number").fetchall()
        return [Note(row["round"], row["kind"], row["text"]) for row in rows]

    def _rows(self, select: str, number: int | None, order: str) -> list[sqlite3.Row]:
        """The rows of one round, by its index and not by a walk through all that was kept, or of all rounds."""
        where = "" if number is None else " WHERE round = ?"
        with self._guarded():
            values = () if number is None else (number,)
            return self._db.execute(f"{select}{where} ORDER BY {order}", values).fetchall()

    def _write(self, verb: str, table: str, values: dict[str, Any]) -> None:
        names, marks = ", ".join(values), ", ".join(f":{name}" for name in values)
        self._db.execute(f"{verb} {table} ({names}) VALUES ({marks})", values)

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        """Turn what SQLite raises into one line that says what to do."""
        try:
            yield
        except sqlite3.OperationalError as problem:
            full = "full" in str(problem) or "disk I/O" in str(problem)
            remedy = "; make room, then 'oragent resume' the run" if full else ""
            raise StoreError(f"cannot use {self.path}: {problem}{remedy}") from None
        except sqlite3.DatabaseError as problem:
            remedy = "restore it from a copy or start a new run"
            raise StoreError(f"{self.path} is corrupted ({problem}); {remedy}") from None


def _dumps(metrics: dict[str, Any]) -> str:
    return json.dumps(metrics, default=repr)


def _evaluation(row: sqlite3.Row) -> Evaluation:
    plain = ("score", "message", "traceback", "log", "output", "end", "queued_s", "wall_s", "cpu_s", "peak_mb")
    kept = {name: row[name] for name in plain}
    features = None if row["features"] is None else tuple(json.loads(row["features"]))
    return Evaluation(status=Status(row["status"]), features=features, metrics=json.loads(row["metrics"]), **kept)


def _record(row: sqlite3.Row) -> Committed:
    candidate = Candidate(
        source=row["source"],
        fingerprint=row["fingerprint"],
        parents=tuple(json.loads(row["parents"])),
        origin=row["origin"],
        island=row["island"],
        call=row["call"],
        evaluation=_evaluation(row),
        branch=row["branch"],
    )
    return Committed(
        id=f"{row['round']}.{row['number']}", candidate=candidate, placed=row["placed"], elapsed_s=row["elapsed_s"]
    )


def _reply(row: sqlite3.Row) -> RecordedReply:
    return RecordedReply(**{name: row[name] for name in RecordedReply.__dataclass_fields__})

"""Database of a run: every candidate, evaluation and reply, each written in one transaction immediately.

SQLite runs in WAL mode, so that a killed run loses nothing that was paid for. Evaluations and replies are written when
they end; candidates are written when their round is committed, in round order. When a resumed run repeats a round, it
finds the stored evaluations and replies by their keys.
"""

import fcntl
import json
import math
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from oragent._base.budget import Spent
from oragent._base.errors import CandidateError
from oragent._base.protocol import MAX_FEATURES, Status
from oragent._base.safe_load import parse_json
from oragent.evaluation import Evaluation
from oragent.ledger.database import Database
from oragent.ledger.replies import REPLIES, Replies
from oragent.llm.model import Reply
from oragent.programs.kept_arrays import KeptArray, contract_references, expand_references
from oragent.programs.size_limits import MAX_BYTES
from oragent.search.archive import Grid
from oragent.search.candidate import NOWHERE, Candidate, Committed
from oragent.search.evaluation_key import EvaluationKey, EvaluationKind
from oragent.search.events import PurityChecks

LOCK = "run.lock"
SCHEMA = f"""
{REPLIES}CREATE TABLE IF NOT EXISTS evaluations (
    fingerprint TEXT PRIMARY KEY, status TEXT NOT NULL, score REAL, features TEXT, metrics TEXT NOT NULL,
    message TEXT NOT NULL, traceback TEXT NOT NULL, log TEXT NOT NULL, output TEXT NOT NULL,
    end TEXT NOT NULL, queued_s REAL NOT NULL, wall_s REAL NOT NULL, cpu_s REAL NOT NULL, peak_mb REAL NOT NULL,
    elapsed_s REAL NOT NULL);
CREATE TABLE IF NOT EXISTS rounds (
    round INTEGER PRIMARY KEY, spent TEXT NOT NULL, elapsed_s REAL NOT NULL);
CREATE TABLE IF NOT EXISTS candidates (
    round INTEGER NOT NULL, number INTEGER NOT NULL, fingerprint TEXT NOT NULL, source TEXT NOT NULL,
    parents TEXT NOT NULL, origin TEXT NOT NULL, island INTEGER NOT NULL, call INTEGER, branch TEXT NOT NULL,
    placed TEXT NOT NULL, PRIMARY KEY (round, number));
CREATE TABLE IF NOT EXISTS times (
    fingerprint TEXT PRIMARY KEY, status TEXT NOT NULL, score REAL, features TEXT, metrics TEXT NOT NULL,
    message TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS journal (
    number INTEGER PRIMARY KEY, place TEXT NOT NULL, round INTEGER NOT NULL, kind TEXT NOT NULL, text TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS moments (
    call TEXT PRIMARY KEY, size INTEGER NOT NULL, evaluations INTEGER NOT NULL, model_calls INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS arrays (
    digest TEXT PRIMARY KEY, dtype TEXT NOT NULL, shape TEXT NOT NULL, content TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS notes (
    round INTEGER NOT NULL, number INTEGER NOT NULL, kind TEXT NOT NULL, text TEXT NOT NULL,
    PRIMARY KEY (round, number));
"""
KIND = "search"
# Packages that all prompts name. oragent depends on them, so they are always installed.
PACKAGES = ("numpy", "scipy", "numba")
# Packages that prompts name only for problems that require them.
DECLARED = ("networkx", "sklearn")
# SQL condition with the two texts of ``EvaluationKind.text_range``.
OF_KIND = "WHERE fingerprint BETWEEN ? AND ?"
EVALUATION_COLUMNS = ("fingerprint", "elapsed_s", *Evaluation.__dataclass_fields__)
JOURNAL_COLUMNS = {"journal": "number, place, round, kind, text", "moments": "call, size, evaluations, model_calls"}
# Maximum gap in round numbers, because a replay goes through all numbers.
MAX_GAP = 1000
MAX_ISLANDS = 10_000
# Largest number of characters of a list of parents or features.
MAX_TEXT = 100_000
# Maximum number of characters of other JSON. An evaluator prints at most 1 MiB.
MAX_JSON = 8 << 20
# Key of the recorded isolation of candidates on the machine of the run.
ISOLATION = "isolation"
# Key of the recorded versions of the packages that the problem requires.
REQUIRED_PACKAGES = "required_packages"
# Key of the recorded speed of a core of that machine.
CORE = "core"
# Key of the recorded sentence about the noise of the problem.
NOISE = "noise"
# Key of the value that states whether the run used up its budget or finished.
COMPLETE = "complete"


@dataclass(frozen=True)
class RoundNote:
    """Note of a round for later rounds and reports."""

    # Number of the round.
    round: int
    # Kind of note, used for lookup.
    kind: str
    # Text of the note, possibly JSON.
    text: str


@dataclass(frozen=True)
class JournalRow:
    """Finding of an unfinished round."""

    # Number in order of time, from 0.
    number: int
    # Name of the finding; a resumed run gives it the same name.
    place: str
    # Number of the round.
    round: int
    # Kind of finding.
    kind: str
    # Content as JSON.
    text: str


class Store:
    """Database of one run; it is created if it is missing, unless ``readonly``."""

    def __init__(self, path: Path, *, readonly: bool = False) -> None:
        self.path = path
        self._db = Database(path, SCHEMA, KIND, readonly=readonly)
        self.replies = Replies(self._db)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file. All data are already written."""
        self._db.close()

    def limit_queries(self, seconds: float) -> None:
        """Limit the time of queries, because the file is untrusted and could contain expensive views."""
        self._db.limit_queries(seconds)

    def meta(self, key: str) -> str | None:
        """Return a value about the run, or None."""
        return self._db.read_meta(key)

    def note(self, key: str, value: str) -> None:
        """Store a value about the run."""
        self._db.write_meta(key, value)

    @cached_property
    def _scored_names(self) -> set[str]:
        return {row["fingerprint"] for row in self._db.query_rows("SELECT fingerprint FROM evaluations")}

    def evaluation(self, key: EvaluationKey | str) -> Evaluation | None:
        """Return the evaluation under a key or a candidate's fingerprint, or None."""
        text = str(key)
        # Most programs are new. For these, the set of names avoids a query.
        if text not in self._scored_names:
            return None
        row = self._db.query_row("SELECT * FROM evaluations WHERE fingerprint = ?", text)
        with self._db.translate_values():
            if row is None:
                return None
            return _read_evaluation(row)

    def keep_evaluation(self, key: EvaluationKey | str, evaluation: Evaluation, elapsed_s: float) -> None:
        """Write an evaluation as soon as it has ended."""
        features = None if evaluation.features is None else json.dumps(evaluation.features)
        values = vars(evaluation) | {"features": features, "metrics": json.dumps(evaluation.metrics, default=repr)}
        values |= {"status": str(evaluation.status), "fingerprint": str(key), "elapsed_s": elapsed_s}
        self._db.write_row("INSERT OR REPLACE INTO", "evaluations", values)
        self._scored_names.add(str(key))

    def take_times(self, path: Path) -> None:
        """Copy the times of another run's evaluations. Prompts show them, and a replay needs the same prompts.

        Whether a program near its limit ran out of time depends on the machine, so that is copied, too.

        Experiments are copied completely, because CPU seconds determine their end.
        """
        with Database(path, SCHEMA, None, readonly=True) as database:
            rows = database.query_rows("SELECT fingerprint, status, score, features, metrics, message FROM evaluations")
            names = ", ".join(EVALUATION_COLUMNS)
            experiments = database.query_rows(
                f"SELECT {names} FROM evaluations {OF_KIND}", *EvaluationKind.EXPERIMENT.text_range
            )
        self._write_rows({"times": rows, "evaluations": experiments})
        self._scored_names.update(row["fingerprint"] for row in experiments)
        self._parse_times.update(row["fingerprint"] for row in rows)

    @cached_property
    def _parse_times(self) -> set[str]:
        return {row["fingerprint"] for row in self._db.query_rows("SELECT fingerprint FROM times")}

    def with_first_times(self, key: EvaluationKey | str, evaluation: Evaluation) -> Evaluation:
        """Return an evaluation with the times of the replayed run, if that has times for it."""
        if str(key) not in self._parse_times:
            return evaluation
        row = self._db.query_row("SELECT * FROM times WHERE fingerprint = ?", str(key))
        statuses = {str(evaluation.status), "" if row is None else row["status"]}
        if row is None or (len(statuses) > 1 and Status.TIMEOUT not in statuses):
            return evaluation
        with self._db.translate_values():
            metrics = dict(parse_json(row["metrics"], MAX_JSON))
            features = None if row["features"] is None else tuple(parse_json(row["features"], MAX_JSON))
        if Status.TIMEOUT in statuses:
            # Another machine may decide otherwise about a program near its limit.
            outcome = {"status": Status(row["status"]), "score": row["score"], "features": features}
            return replace(evaluation, **outcome, metrics=metrics, message=row["message"])
        first = {name: value for name, value in metrics.items() if name.endswith("seconds")}
        timeless = {name: value for name, value in evaluation.metrics.items() if not name.endswith("seconds")}
        return replace(evaluation, metrics=timeless | first)

    def experiments(self) -> tuple[int, float]:
        """Return the number of experiments of the run, and their CPU seconds."""
        select = f"SELECT COUNT(*) AS number, COALESCE(SUM(cpu_s), 0) AS cpu_s FROM evaluations {OF_KIND}"
        row = self._db.query_row(select, *EvaluationKind.EXPERIMENT.text_range)
        if row:
            return (int(row["number"]), float(row["cpu_s"]))
        return (0, 0.0)

    def journal(self) -> list[JournalRow]:
        """Return the findings of unfinished rounds, in order of time."""
        rows = self._db.query_rows("SELECT number, place, round, kind, text FROM journal ORDER BY number")
        return [JournalRow(*row) for row in rows]

    def add_to_journal(self, row: JournalRow) -> None:
        """Write a finding immediately."""
        self._db.write_row("INSERT INTO", "journal", vars(row))

    def moments(self) -> dict[str, tuple[int, int, int]]:
        """Return the length of the journal, the evaluations and the model calls at which each prompt was built."""
        rows = self._db.query_rows("SELECT * FROM moments")
        return {row["call"]: (row["size"], row["evaluations"], row["model_calls"]) for row in rows}

    def add_moment(self, call: str, moment: tuple[int, int, int]) -> None:
        """Store the moment from whose state the prompt of a call is built."""
        values = dict(zip(("call", "size", "evaluations", "model_calls"), (call, *moment), strict=True))
        self._db.write_row("INSERT INTO", "moments", values)

    def take_journal(self, path: Path) -> None:
        """Copy the journal of another run; a replay builds its prompts from it."""
        with Database(path, SCHEMA, None, readonly=True) as database:
            rows = {
                name: database.query_rows(f"SELECT {columns} FROM {name}") for name, columns in JOURNAL_COLUMNS.items()
            }
        self._write_rows(rows)

    def _write_rows(self, tables: Mapping[str, Sequence[sqlite3.Row]]) -> None:
        with self._db.transaction():
            for name, rows in tables.items():
                for row in rows:
                    self._db.write_row("INSERT OR REPLACE INTO", name, dict(row))

    def purity_checks(self) -> PurityChecks:
        """Return number and cost of the run's checks so far, including those of uncommitted rounds."""
        # A race that reached its end is stored twice.
        once = f"wall_s > 0 AND (fingerprint NOT BETWEEN ? AND ? OR status = '{Status.SCREENED}')"
        select = f"SELECT COALESCE(SUM(cpu_s), 0) AS cpu_s FROM evaluations WHERE {once}"
        (total,) = self._db.query_rows(select, *EvaluationKind.RACE.text_range)
        select = f"SELECT status, cpu_s FROM evaluations {OF_KIND}"
        rows = self._db.query_rows(select, *EvaluationKind.CHECK.text_range)
        failed = sum(row["status"] == Status.REJECTED for row in rows)
        cpu_s = sum(row["cpu_s"] for row in rows)
        return PurityChecks(len(rows), failed, cpu_s, float(total["cpu_s"]))

    def initial_sources(self) -> list[str]:
        """Return the texts of the initial programs of a run, without its seed."""
        return self._read_texts("founders")

    def _read_texts(self, key: str) -> list[str]:
        with self._db.translate_values():
            return _expect_texts(parse_json(self.meta(key) or "[]", MAX_JSON))

    def add_initial_programs(self, sources: Sequence[str], origin: str = "rebuilt") -> None:
        """Store the initial programs of a run, without its seed, their origin, and the arrays that they load."""
        contracted = [contract_references(source) for source in sources]
        for _, arrays in contracted:
            for array in arrays.values():
                self.keep_array(array)
        self.note("founders", json.dumps([source for source, _ in contracted]))
        self.note("founded", origin)

    @property
    def initial_origin(self) -> str:
        """Return the origin of the initial programs, except the seed."""
        return self.meta("founded") or "rebuilt"

    def take_start(self, path: Path) -> None:
        """Copy the initial programs, lessons and core speed of another run, and the actions of its user."""
        with Database(path, SCHEMA, None, readonly=True) as database:
            for key in ("founders", "founded", "lessons", "steering", CORE, NOISE):
                if (value := database.read_meta(key)) is not None:
                    self.note(key, value)
            arrays = database.query_rows("SELECT digest, dtype, shape, content FROM arrays")
        self._write_rows({"arrays": arrays})

    def book(self, checks: Sequence[Reply]) -> None:
        """Store the replies of connection checks. They count as calls of the seed's round."""
        self.replies.store_checks("0", checks)

    def checks(self) -> Spent:
        """Return the cost of connection checks."""
        return self.replies.case_cost("0")

    def amend(self, number: int, spent: Spent) -> None:
        """Correct the recorded cost of a committed round."""
        self._db.execute("UPDATE rounds SET spent = ? WHERE round = ?", json.dumps(vars(spent)), number)

    def packages(self, required: Sequence[str] = ()) -> tuple[str, ...]:
        """Return the packages that prompts name. They are fixed once per run, whatever is installed later."""
        packages = self.meta("packages")
        if packages is None:
            packages = json.dumps([*PACKAGES, *(name for name in DECLARED if name in required)])
            self.note("packages", packages)
        return tuple(self._read_texts("packages"))

    def remarks(self) -> list[str]:
        """Return the messages shown to the user in this run, each once, in order."""
        return self._read_texts("remarks")

    def remark(self, text: str) -> bool:
        """Store a message for the user; return True if it is new."""
        remarks = self.remarks()
        if text in remarks:
            return False
        self.note("remarks", json.dumps([*remarks, text]))
        return True

    def commit(
        self,
        number: int,
        candidates: Sequence[tuple[Candidate, str]],
        spent: Spent,
        elapsed_s: float,
        notes: Sequence[RoundNote] = (),
    ) -> None:
        """Write a round with its notes and its candidates, each with its archive status, in one transaction."""
        with self._db.transaction():
            for position, (candidate, placed) in enumerate(candidates):
                values = {**vars(candidate), "round": number, "number": position, "placed": placed}
                values["parents"] = json.dumps(values.pop("parents"))
                del values["evaluation"]
                self._db.write_row("INSERT INTO", "candidates", values)
            for position, note in enumerate(notes):
                self._db.write_row("INSERT INTO", "notes", {**vars(note), "round": number, "number": position})
            self._db.execute("INSERT INTO rounds VALUES (?, ?, ?)", number, json.dumps(vars(spent)), elapsed_s)

    def rounds(self) -> dict[int, Spent]:
        """Return the budget used by each committed round, in round order."""
        rows = self._db.query_rows("SELECT * FROM rounds ORDER BY round")
        with self._db.translate_values():
            return {row["round"]: Spent.from_tree(parse_json(row["spent"], MAX_TEXT)) for row in rows}

    def elapsed_s(self) -> float:
        """Return the run's own time at the last committed round, in seconds."""
        row = self._db.query_row("SELECT COALESCE(MAX(elapsed_s), 0) AS latest FROM rounds")
        if row:
            return float(row["latest"])
        return 0.0

    def resets(self) -> dict[int, float]:
        """Return the rounds after which islands were reset by time, with the run's own time in seconds."""
        with self._db.translate_values():
            return {int(number): float(at) for number, at in parse_json(self.meta("resets") or "{}", MAX_JSON).items()}

    def reset(self, number: int, elapsed_s: float) -> None:
        """Record that islands are reset after a round."""
        self.note("resets", json.dumps(self.resets() | {number: elapsed_s}))

    @property
    def grid(self) -> Grid | None:
        """Return the bins of measured features; None before they are chosen, or if evaluators print bins."""
        text = self.meta("grid")
        with self._db.translate_values():
            if text:
                return Grid.loads(text)
            return None

    def binned(self) -> list[Committed]:
        """Return all committed candidates in order, with the bins of their measured features.

        Before the bins are chosen, candidates have no features, and the archive is a ranking.
        """
        grid, records = self.grid, self.records()
        if grid is None:
            return [_without_measures(record) for record in records]
        with self._db.translate_values():
            return [_with_features(record, grid.cell(record.candidate.evaluation.features)) for record in records]

    def records(self, number: int | None = None) -> list[Committed]:
        """Return the committed candidates in order, of one round or of all."""
        select = "SELECT * FROM candidates LEFT JOIN evaluations USING (fingerprint)"
        with self._db.translate_values():
            # A resumed run reads round after round, the seed's first: counting them for each would take quadratic time.
            if not number:
                self._check_gap()
            if number is None:
                return [_read_record(row) for row in self._db.query_rows(f"{select} ORDER BY round, number")]
            rows = self._db.query_rows(f"{select} WHERE round = ? ORDER BY number", number)
            return [_read_record(row) for row in rows]

    def _check_gap(self) -> None:
        last = self._db.query_row("SELECT MAX(round) AS last FROM candidates")
        ended = self._db.query_row("SELECT COUNT(*) AS number FROM rounds")
        if last and ended and (last["last"] or 0) > ended["number"] + MAX_GAP:
            raise ValueError(f"a candidate of round {last['last']}, and {ended['number']} rounds have ended")

    def keep_array(self, array: KeptArray) -> None:
        """Write an array that programs of the run load by its digest."""
        values = {"digest": array.digest, "dtype": array.dtype, "shape": json.dumps(array.shape)}
        self._db.write_row("INSERT OR IGNORE INTO", "arrays", values | {"content": array.text})

    def array(self, digest: str) -> KeptArray | None:
        """Return the array with a digest, or None."""
        row = self._db.query_row("SELECT dtype, shape, content FROM arrays WHERE digest = ?", digest)
        if row is None:
            return None
        with self._db.translate_values():
            array = KeptArray.read([row["dtype"], parse_json(row["shape"], MAX_TEXT), row["content"]])
            if array.digest != digest:
                raise ValueError(f"array {digest} has another content")
            return array

    def complete_program(self, source: str) -> str:
        """Return a program with the content of the arrays that it loads, for a file; unchanged if one is missing."""
        with suppress(CandidateError):
            return expand_references(source, self.array)
        return source

    def notes(self) -> list[RoundNote]:
        """Return all notes of committed rounds, in order."""
        rows = self._db.query_rows("SELECT * FROM notes ORDER BY round, number")
        return [RoundNote(row["round"], row["kind"], row["text"]) for row in rows]


def is_running(folder: Path) -> bool:
    """Return True while a process holds the lock of the run in a folder."""
    with suppress(OSError), (folder / LOCK).open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def _read_evaluation(row: sqlite3.Row) -> Evaluation:
    values = {name: row[name] for name in Evaluation.__dataclass_fields__}
    values |= {"features": read_features(row["features"]), "metrics": parse_json(row["metrics"], MAX_JSON)}
    evaluation = restore_evaluation(values)
    if (evaluation.status is Status.OK) != (evaluation.score is not None) or not isinstance(evaluation.metrics, dict):
        raise ValueError("an evaluation whose score contradicts its status, or whose metrics are invalid")
    return evaluation


def restore_evaluation(values: Mapping[str, Any]) -> Evaluation:
    """Return an evaluation from its fields as JSON has them; a status that does not exist raises ValueError."""
    features = values["features"] and tuple(values["features"])
    return Evaluation(**{**values, "status": Status(values["status"]), "features": features})


def read_features(text: str | None) -> tuple[int, ...] | None:
    """Read features from a database. Too many or non-finite numbers raise ValueError."""
    if text is None:
        return None
    features = parse_json(text[:MAX_TEXT])
    if not isinstance(features, list) or len(features) > MAX_FEATURES or not all(map(_is_feature, features)):
        raise ValueError("features must be finite numbers, and not too many")
    return tuple(features)


def _is_feature(value: object) -> bool:
    try:
        return isinstance(value, int | float) and math.isfinite(value)
    except OverflowError:
        # The integer is too large for a float.
        return False


def _expect_texts(values: object) -> list[str]:
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise ValueError("a list of texts is expected")
    return values


def read_parents(text: str) -> tuple[str, ...]:
    """Read the ids of parents from a database. Other values than texts, or too many, raise ValueError."""
    return tuple(_expect_texts(parse_json(text[:MAX_TEXT])))


def _without_measures(record: Committed) -> Committed:
    features = record.candidate.evaluation.features
    if any(isinstance(value, float) for value in features or ()):
        return _with_features(record, None)
    return record


def _with_features(record: Committed, features: tuple[int, ...] | None) -> Committed:
    evaluation = replace(record.candidate.evaluation, features=features)
    return replace(record, candidate=replace(record.candidate, evaluation=evaluation))


def _read_record(row: sqlite3.Row) -> Committed:
    if not NOWHERE <= row["island"] < MAX_ISLANDS or len(row["source"]) > MAX_BYTES or min(row[:2]) < 0:
        raise ValueError(f"a candidate of island {row['island']} with {len(row['source'])} characters")
    plain = {name: row[name] for name in ("source", "fingerprint", "origin", "island", "call", "branch")}
    candidate = Candidate(**plain, parents=read_parents(row["parents"]), evaluation=_read_evaluation(row))
    name = f"{row['round']}.{row['number']}"
    return Committed(id=name, candidate=candidate, placed=row["placed"], elapsed_s=row["elapsed_s"])

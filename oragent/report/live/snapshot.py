"""A read-only snapshot of a run's folder as plain data, for the live page and for files that hold its data.

``run.db`` may come from somebody else and may be written at this moment. Each query has a time limit, and a broken,
truncated or unknown database is one line of text.
"""

import json
from collections.abc import Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from sqlite3 import Row
from typing import Any

from oragent._base.budget import Spent
from oragent._base.errors import OragentError, StoreError
from oragent._base.plain import plain
from oragent.ledger.database import Database
from oragent.report import about as abouts
from oragent.report.about import About
from oragent.report.run import load_run
from oragent.report.view import describe_trust
from oragent.search.auditing import AUDITS
from oragent.search.store import MIGRATIONS, VERSION, is_running

QUERY_S = 20.0
FIRST_ROWS, PAGE_ROWS = 4_000, 20_000  # of the first page, so that something is shown soon, and of the others
TEXT = 200_000  # characters of a program, prompt, reply or log that are shown
MESSAGE = 160
MAX_JSON = 1 << 20  # characters of metrics


@dataclass(frozen=True)
class CallGroup:
    """Model calls of one role and model.

    Attributes:
        role, model: Role of the calls and name of the model.
        calls, retries: Number of replies, and of failed attempts before them.
        tokens_in, tokens_out, tokens_cached: Tokens of prompts, of replies, and of prompts that the server had cached.
        money: US dollars over replies of known price.
        unpriced: Number of replies of unknown price.
        seconds: Seconds of waiting, summed.
    """

    role: str
    model: str
    calls: int
    retries: int
    tokens_in: int
    tokens_out: int
    tokens_cached: int
    money: float
    unpriced: int
    seconds: float


@dataclass(frozen=True)
class RunSummary:
    """A run without its candidates.

    Attributes:
        name: Name of the folder.
        problem, title, direction, function: Problem, its title, the direction of scores, the function that evolves.
        strategy, model: Name of the strategy and of the model.
        version: Version of oragent with which the run began.
        axes: Name, number of bins and meaning of each feature.
        islands: Number of islands.
        published: Published scores by name.
        budget: Bounds by name.
        spent: Spending by name, seconds included.
        rounds: Number of committed rounds.
        evaluations: Number of evaluations stored, also of rounds that are not committed.
        state: ``running``, ``ended`` or ``interrupted``.
        end: Reason for the end; empty before.
        calls: Model calls by role and model.
        remarks: Messages that were shown to the user.
        notes: Latest text of each kind of note.
        command: Command that continues the run.
        config: Text of ``config.yaml``.
        steering: Acts that changed the run, in order.
    """

    name: str
    problem: str
    title: str
    direction: str
    function: str
    strategy: str
    model: str
    version: str
    axes: list[dict[str, Any]]
    islands: int
    published: dict[str, float]
    budget: dict[str, float]
    spent: dict[str, float]
    rounds: int
    evaluations: int
    state: str
    end: str
    calls: list[CallGroup]
    remarks: list[str]
    notes: dict[str, str]
    command: str
    config: str
    steering: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True)
class CandidateColumns:
    """Candidates in the order of their commitment, as columns of equal length.

    Texts that repeat are numbers into ``origins``, ``statuses``, ``messages``.

    Attributes:
        after: Row number after the last row here, to ask for what follows.
        round, number: The two parts of the id.
        score: Score, or None.
        status, origin, message: Positions in the lists of texts.
        island: Island; -1 for none.
        parents: Ids of parents.
        features: Cell of the archive, or None.
        placed: Effect on the archive: N(ew), I(mproved), - (not added), or empty without a score.
        at: Run's own seconds at the end of the evaluation.
        wall, cpu: Seconds by the clock and of CPU time.
        size: Characters of the program.
        key: Key of the model call that wrote the program; empty without one.
    """

    after: int
    round: list[int]
    number: list[int]
    score: list[float | None]
    status: list[int]
    origin: list[int]
    message: list[int]
    island: list[int]
    parents: list[list[str]]
    features: list[list[float] | None]
    placed: list[str]
    at: list[float]
    wall: list[float]
    cpu: list[float]
    size: list[int]
    key: list[str]
    origins: list[str]
    statuses: list[str]
    messages: list[str]


class RunReader:
    """Reads one run's folder; nothing is written to it.

    Args:
        folder: Folder of the run.

    Raises:
        StoreError: if it is not the folder of a run, or its database cannot be read.
        ConfigError: if its ``config.yaml`` is not the configuration of a run.
    """

    def __init__(self, folder: Path) -> None:
        if not (folder / "run.db").is_file() or not (folder / "config.yaml").is_file():
            raise StoreError(f"{folder} is not the folder of a run: config.yaml and run.db are expected in it")
        self.folder = folder
        self.about: About = abouts.read_about(folder / "config.yaml")

    @contextmanager
    def _opened(self) -> Any:
        """Open the database for one request: a writer may replace or remove it at any time."""
        try:
            database = Database(self.folder / "run.db", "", VERSION, readonly=True, migrations=MIGRATIONS)
            try:
                database.limit_queries(QUERY_S)
                yield database
            finally:
                database.close()
        except (ValueError, TypeError, KeyError, IndexError, OverflowError, RecursionError) as problem:
            raise StoreError(f"{self.folder / 'run.db'} is corrupted ({type(problem).__name__} {problem})") from None

    def read_summary(self) -> RunSummary:
        """Read all but the candidates.

        Raises:
            StoreError: if the database cannot be read.
        """
        about = self.about
        with self._opened() as database:
            spent, rounds, elapsed_s = Spent(), 0, 0.0
            for row in database.rows("SELECT spent, elapsed_s FROM rounds"):
                spent, rounds = spent + Spent(**json.loads(row["spent"])), rounds + 1
                elapsed_s = max(elapsed_s, float(row["elapsed_s"]))
            evaluated = database.row("SELECT COUNT(*) AS number, MAX(elapsed_s) AS latest FROM evaluations")
            elapsed_s = max(elapsed_s, float(evaluated["latest"] or 0.0))
            end = database.meta("end") or ""
            return RunSummary(
                name=plain(self.folder.resolve().name),
                problem=plain(about.problem),
                title=plain(about.title),
                direction=str(about.direction),
                function=plain(about.function),
                strategy=plain(about.strategy_name),
                model=plain(str(about.model_name or "")),
                version=plain(about.version),
                axes=[{"name": plain(a.name), "bins": a.bins, "meaning": plain(a.meaning)} for a in about.axes],
                islands=about.island_count,
                published={plain(str(name)): value for name, value in about.references.items()},
                budget=about.budget.bounds,
                spent={**vars(spent), "seconds": elapsed_s},
                rounds=rounds,
                evaluations=int(evaluated["number"]),
                state="running" if is_running(self.folder) else "ended" if end else "interrupted",
                end=plain(end),
                calls=_group_calls(database),
                remarks=[plain(str(text)) for text in json.loads(database.meta("remarks") or "[]")],
                notes=_latest_notes(database),
                command=f"oragent resume {self.folder}",
                config=plain(about.text)[:TEXT],
                steering=_clean(json.loads(database.meta("steering") or "[]")),
            )

    def read_candidates(self, after: int = 0, limit: int | None = None) -> CandidateColumns:
        """Read committed candidates behind a row.

        Args:
            after: Row number, from ``CandidateColumns.after``; 0 for the first.
            limit: Largest number of rows; None: few at first, many later.

        Raises:
            StoreError: if the database cannot be read.
        """
        query = (
            "SELECT c.rowid AS position, c.round, c.number, c.parents, c.origin, c.island, c.placed, c.branch, c.call,"
            " LENGTH(c.source) AS size, e.status, e.score, e.features, SUBSTR(e.message, 1, 400) AS message,"
            " e.elapsed_s, e.wall_s, e.cpu_s FROM candidates c LEFT JOIN evaluations e USING (fingerprint)"
            " WHERE c.rowid > ? ORDER BY c.rowid LIMIT ?"
        )
        with self._opened() as database:
            return _make_columns(database.rows(query, after, limit or (PAGE_ROWS if after else FIRST_ROWS)), after)

    def read_candidate(self, name: str) -> dict[str, Any]:
        """Read everything about one candidate: program, metrics, log, prompt and reply.

        Raises:
            StoreError: if there is none of this id, or the database cannot be read.
        """
        round_, _, number = name.partition(".")
        if not (round_.isdigit() and number.isdigit()):
            raise StoreError(f"a candidate's id is round.number, not {plain(name)[:40]!r}")
        query = "SELECT * FROM candidates LEFT JOIN evaluations USING (fingerprint) WHERE round = ? AND number = ?"
        with self._opened() as database:
            row = database.row(query, int(round_[:18]), int(number[:18]))
            if row is None:
                raise StoreError(f"no candidate {name} in {self.folder}")
            audit = database.row(
                "SELECT status, message FROM evaluations WHERE fingerprint LIKE ? LIMIT 1",
                f"{AUDITS}%{row['fingerprint']}%",
            )
            call = None if row["call"] is None else f"{round_}.{row['branch']}{row['call']}"
            return {
                "id": name,
                "source": _cut(row["source"]),
                "parents": [plain(str(parent)) for parent in json.loads(row["parents"])],
                "origin": plain(row["origin"]),
                "status": plain(row["status"] or ""),
                "score": row["score"],
                "features": _clean(json.loads(row["features"] or "null")),
                "metrics": _clean(json.loads((row["metrics"] or "{}")[:MAX_JSON])),
                "message": _cut(row["message"]),
                "traceback": _cut(row["traceback"]),
                "log": _cut(row["log"]),
                "output": _cut(row["output"]),
                "peak_mb": row["peak_mb"],
                "audit": None if audit is None else {"status": plain(audit[0]), "message": plain(audit[1])},
                "calls": [] if call is None else self._read_calls(database, round_, call),
                "command": self._score_command(name),
            }

    def _score_command(self, name: str) -> str:
        suffix = next((file.suffix for file in self.folder.glob("best.*")), ".py")
        return f"oragent eval {self.about.problem_reference} {self.folder}/candidates/{name}/heuristic{suffix}"

    def _read_calls(self, database: Database, round_: str, key: str) -> list[dict[str, Any]]:
        table = "replies" if database.layout == VERSION else None
        if table is None:
            return []
        rows = database.rows("SELECT * FROM replies WHERE key = ? LIMIT 3", key)
        return [_describe_call(row) for row in rows]

    def read_calls(self, after: int = 0, limit: int = 500) -> list[dict[str, Any]]:
        """List model calls behind a row, without their texts.

        Raises:
            StoreError: if the database cannot be read.
        """
        with self._opened() as database:
            if database.layout != VERSION:
                return []
            names = "rowid AS position, key, role, model, tokens_in, tokens_out, money, seconds, retries"
            rows = database.rows(f"SELECT {names} FROM replies WHERE rowid > ? ORDER BY rowid LIMIT ?", after, limit)
            return [_clean(dict(row)) for row in rows]

    def read_call(self, key: str) -> list[dict[str, Any]]:
        """Read prompts and replies of one key.

        Raises:
            StoreError: if the database cannot be read.
        """
        with self._opened() as database:
            return self._read_calls(database, "", key)

    def version(self) -> tuple[float, ...]:
        """Return a value that changes when the database changes; it costs no query."""
        marks: list[float] = []
        for name in ("run.db", "run.db-wal", "audit.yaml", "test.yaml", "fresh.yaml"):
            with suppress(OSError):
                stat = (self.folder / name).stat()
                marks += [stat.st_mtime_ns, stat.st_size]
        return tuple(marks)


def _group_calls(database: Database) -> list[CallGroup]:
    cached = "SUM(tokens_cached)" if database.layout == VERSION else "0"
    money = "money" if database.layout == VERSION else "cost"
    query = f"""
        SELECT role, model, COUNT(*) AS calls, SUM(retries) AS retries, SUM(tokens_in) AS tokens_in,
            SUM(tokens_out) AS tokens_out, {cached} AS tokens_cached, COALESCE(SUM({money}), 0) AS money,
            SUM({money} IS NULL) AS unpriced, SUM(seconds) AS seconds
        FROM replies GROUP BY role, model ORDER BY calls DESC LIMIT 100"""
    try:
        return [CallGroup(**_clean(dict(row))) for row in database.rows(query)]
    except StoreError:  # an older layout without one of the columns
        return []


def _latest_notes(database: Database) -> dict[str, str]:
    rows = database.rows("SELECT kind, text, MAX(round) FROM notes GROUP BY kind LIMIT 20")
    return {plain(row["kind"]): plain(row["text"])[:20_000] for row in rows}


def _describe_call(row: Row) -> dict[str, Any]:
    try:
        messages = json.loads(row["prompt"])
        prompt = [{"role": plain(str(m.get("role", ""))), "text": _cut(str(m.get("content", "")))} for m in messages]
    except (ValueError, AttributeError, TypeError, RecursionError):
        prompt = [{"role": "", "text": _cut(row["prompt"])}]
    names = ("key", "role", "model", "tokens_in", "tokens_out", "tokens_cached", "money", "seconds", "retries")
    return {
        **_clean({name: row[name] for name in names}),
        "prompt": prompt,
        "reply": _cut(row["text"]),
        "tool_calls": _cut(row["tool_calls"]),
    }


def _make_columns(rows: Sequence[Row], after: int) -> CandidateColumns:
    tables: tuple[dict[str, int], ...] = ({}, {}, {})

    def index(table: dict[str, int], text: str) -> int:
        return table.setdefault(plain(text or ""), len(table))

    marks = {"NEW": "N", "IMPROVED": "I", "NOT_ADDED": "-"}
    return CandidateColumns(
        after=rows[-1]["position"] if rows else after,
        round=[row["round"] for row in rows],
        number=[row["number"] for row in rows],
        score=[row["score"] for row in rows],
        status=[index(tables[0], row["status"]) for row in rows],
        origin=[index(tables[1], row["origin"]) for row in rows],
        message=[index(tables[2], (row["message"] or "")[:MESSAGE]) for row in rows],
        island=[row["island"] for row in rows],
        parents=[[plain(str(parent)) for parent in json.loads(row["parents"])[:8]] for row in rows],
        features=[_clean(json.loads(row["features"])) if row["features"] else None for row in rows],
        placed=[marks.get(row["placed"], "") for row in rows],
        at=[_round(row["elapsed_s"]) for row in rows],
        wall=[_round(row["wall_s"]) for row in rows],
        cpu=[_round(row["cpu_s"]) for row in rows],
        size=[row["size"] for row in rows],
        key=["" if row["call"] is None else f"{row['round']}.{row['branch']}{row['call']}" for row in rows],
        statuses=list(tables[0]),
        origins=list(tables[1]),
        messages=list(tables[2]),
    )


def _round(value: float | None) -> float:
    return round(float(value or 0.0), 3)


def _cut(text: str | None) -> str:
    text = str(text or "")
    return plain(text[:TEXT]) + (f"\n… {len(text) - TEXT:,} characters left out" if len(text) > TEXT else "")


def _clean(value: Any) -> Any:
    """Make a value from a run safe to send: control characters are shown, numbers are finite."""
    if isinstance(value, str):
        return plain(value)
    if isinstance(value, dict):
        return {plain(str(name)): _clean(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_clean(item) for item in value]
    if isinstance(value, float) and value - value != 0:
        return str(value)
    return value if isinstance(value, int | float) or value is None else plain(str(value))


def read_trust(reader: RunReader) -> dict[str, Any]:
    """Collect the evidence for the best program: audits, and scores on held-out and fresh sets with intervals.

    Raises:
        StoreError: if the database cannot be read.
    """
    try:
        data = load_run(reader.folder)
    except OragentError as problem:
        return {"problem": plain(str(problem)), "sentences": [], "sets": [], "audits": ""}
    sets = []
    for name, (seed, best) in data.sets.scores.items() if data.sets else ():
        pair = data.sets.pairs.get(name) if data.sets else None
        sets.append(
            {
                "name": name,
                "seed": {"score": seed.score, "interval": seed.interval},
                "best": {"score": best.score, "interval": best.interval},
                "pair": None if pair is None else {**vars(pair), "counts": pair.counts, "verdict": pair.verdict},
            }
        )
    limits = data.about.settings.get("limits") or {}
    metrics = data.best.candidate.evaluation.metrics
    return {
        "problem": "",
        "seed": data.seed.id,
        "best": data.best.id,
        "sentences": [plain(sentence) for sentence in describe_trust(data)],
        "sets": _clean(sets),
        "audits": plain(str(data.audits)) if data.audits.number else "",
        "final": plain(data.final.sentence) if data.final else "",
        "limits": _clean(dict(limits)) if isinstance(limits, dict) else {},
        "times": _clean({name: value for name, value in metrics.items() if str(name).endswith(("seconds", "_s"))}),
        "metrics": {"seed": _clean(data.seed.candidate.evaluation.metrics), "best": _clean(metrics)},
        "pictures": [{"caption": plain(picture.caption), "address": picture.address} for picture in data.pictures],
    }

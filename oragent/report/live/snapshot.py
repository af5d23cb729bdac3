"""Read-only snapshot of a run's folder as plain data, for the live page and for files with its data.

``run.db`` is untrusted, and a run may write to it at the same time. Each query has a time limit. A damaged, truncated
or unknown database gives one line of text.
"""

import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from sqlite3 import Row
from typing import Any, TypeVar

from oragent._base.budget import Spent
from oragent._base.direction import Direction
from oragent._base.errors import StoreError
from oragent._base.safe_load import parse_json
from oragent._base.text_format import escape_text
from oragent.ledger.database import Database
from oragent.ledger.replies import list_possible_keys
from oragent.programs.inspection import lay_out
from oragent.report import run_configuration
from oragent.report.held_out import SET_PREFIX
from oragent.report.run_configuration import About
from oragent.search.candidate import PROBE, Elite
from oragent.search.checks import way_on
from oragent.search.evaluation_key import EvaluationKey, EvaluationKind
from oragent.search.folder import repeat_command
from oragent.search.prompting.search_summary import TITLE, program_mark
from oragent.search.running_work import RUNNING, read_running
from oragent.search.store import KIND, SCHEMA, is_running, read_features, read_parents
from oragent.search.user_commands import ASKED, FOLDER, list_open_prompts, list_waiting_acts, read_messages

T = TypeVar("T")
# Id of a candidate, of numbers that fit into 64 bits.
CANDIDATE = re.compile(r"(\d{1,18})\.(\d{1,18})", re.ASCII)
# Files with held-out scores.
SETS = ("check.yaml", "test.yaml", "fresh.yaml", "reference.yaml")
# The run's own time at the last row of a table.
LATEST_S = "COALESCE(MAX(elapsed_s), 0) AS latest"
# CPU seconds of a query.
QUERY_S = 5.0
# Number of rows of the first page, which is small so that it appears soon, and of the others.
FIRST_ROWS, PAGE_ROWS = 4_000, 20_000
# Maximum number of characters of a program, prompt, reply or log that are shown.
TEXT = 200_000
MESSAGE = 160
# Maximum number of characters of metrics.
MAX_JSON = 1 << 20
# Maximum number of values in a query.
MAX_VALUES = 900
# Maximum number of candidates with the best score whose lengths are compared.
MAX_TIES = 200
# Maximum number of candidates whose titles are read, and of characters of a title.
MAX_TITLES, MAX_TITLE = 2_000, 120


@dataclass(frozen=True)
class CallGroup:
    """Model calls of one role and model."""

    role: str
    model: str
    calls: int
    retries: int
    tokens_in: int
    tokens_out: int
    tokens_cached: int
    # US dollars for replies with known prices.
    money: float
    # Number of replies with unknown prices.
    unpriced: int
    # Sum of the waiting times in seconds.
    seconds: float


@dataclass(frozen=True)
class RunSummary:
    """A run without its candidates.

    Attributes:
        problem, title, direction, function: Problem, its title, the direction of scores, the function that evolves.
        strategy, model: Name of the strategy and of the model.
        folder: Folder of the run, quoted for a shell.
        seed, best: Ids of the seed heuristic and of the best candidate; empty before there is one.
        seed_score, best_score: Their scores.
        revision: Value that changes when committed rows changed, as bins were chosen.
        grid: Bins of measured features, as `search.grid.Grid`; None where evaluators print bins.
        axes: Name, number of bins and meaning of each feature.
        evaluations: Number of evaluations stored, also of rounds that are not committed.
        state: ``running``, ``ended`` or ``interrupted``.
        remarks: Messages that were shown to the user.
        notes: Latest text of each kind of note.
        command: Command that continues the run.
        asked: Prompts that wait for a person: key, role and messages.
        steering: Acts that changed the run, in order.
        waiting: Acts that have not taken effect yet, in order.
        tasks: What runs now: descriptions, and Unix times of their starts in seconds.
    """

    name: str
    problem: str
    title: str
    direction: str
    function: str
    strategy: str
    model: str
    version: str
    folder: str
    search_seed: int
    seed: str
    best: str
    seed_score: float | None
    best_score: float | None
    revision: str
    grid: dict[str, Any] | None
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
    titles: dict[str, str] = field(default_factory=dict)
    cpu_s: float = 0.0
    asked: list[dict[str, Any]] = field(default_factory=list)
    steering: list[dict[str, Any]] = field(default_factory=list)
    waiting: list[dict[str, Any]] = field(default_factory=list)
    tasks: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True)
class CandidateColumns:
    """Candidates in the order of their commitment, as columns of equal length.

    Repeated texts are stored once, in ``origins``, ``statuses``, ``messages`` and ``models``; the columns contain their
    positions.

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
        money: US dollars of its round.
        key, model: Key of the model call that wrote the program, empty without one; position of its model's name.
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
    money: list[float]
    key: list[str]
    model: list[int]
    origins: list[str]
    statuses: list[str]
    messages: list[str]
    models: list[str]


def eval_command(problem: str, program: Path) -> str:
    """Return the shell command that scores a program."""
    return shlex.join(["oragent", "eval", problem, "--candidate", str(program)])


class RunReader:
    """Reader of one run's folder. It writes nothing there.

    Raises:
        StoreError: The folder is not a run, or its database cannot be read.
        ConfigError: Its ``config.yaml`` is not the configuration of a run.
    """

    def __init__(self, folder: Path) -> None:
        if not (folder / "run.db").is_file() or not (folder / "config.yaml").is_file():
            raise StoreError(f"{folder} is not the folder of a run: config.yaml and run.db are expected in it")
        self.folder = folder
        self.about: About = run_configuration.read_about(folder / "config.yaml")

    @contextmanager
    def opened(self) -> Iterator[Database]:
        """Open the database for one request, because a writer may replace or remove it at any time."""
        try:
            database = Database(self.folder / "run.db", SCHEMA, KIND, readonly=True)
            try:
                database.limit_queries(QUERY_S)
                yield database
            finally:
                database.close()
        except (ValueError, TypeError, KeyError, IndexError, OverflowError, RecursionError) as problem:
            raise StoreError(f"{self.folder / 'run.db'} is corrupted ({type(problem).__name__} {problem})") from None

    def read_summary(self) -> RunSummary:
        """Read everything except the candidates."""
        about = self.about
        with self.opened() as database:
            spent, rounds, elapsed_s = _sum_rounds(database)
            query = f"SELECT COUNT(*) AS number, {LATEST_S}, SUM(cpu_s) AS cpu_s FROM evaluations"
            evaluated = database.query_rows(query)[0]
            elapsed_s = max(elapsed_s, float(evaluated["latest"]))
            end, grid = database.read_meta("end") or "", database.read_meta("grid")
            leaders = find_leaders(database, about.direction)
            runs = is_running(self.folder)
            stopped = "ended" if end else "interrupted"
            return RunSummary(
                name=escape_text(self.folder.resolve().name),
                problem=escape_text(about.problem),
                title=escape_text(about.title),
                direction=str(about.direction),
                function=escape_text(about.function),
                strategy=escape_text(about.strategy_name),
                model=escape_text(str(about.model_name or "")),
                version=escape_text(about.version),
                folder=escape_text(shlex.quote(str(self.folder))),
                search_seed=about.seed,
                **asdict(leaders),
                revision=escape_text(grid or ""),
                grid=clean_value(parse_json(grid)) if grid else None,
                axes=[
                    {"name": escape_text(a.name), "bins": a.bins, "meaning": escape_text(a.meaning)} for a in about.axes
                ],
                islands=about.island_count,
                published={escape_text(str(name)): value for name, value in about.references.items()},
                budget=about.budget.named_bounds,
                spent={**vars(spent), "seconds": elapsed_s},
                rounds=rounds,
                evaluations=int(evaluated["number"]),
                state="running" if runs else stopped,
                end=escape_text(end),
                calls=_group_calls(database),
                remarks=[escape_text(str(text)) for text in parse_json(database.read_meta("remarks") or "[]")],
                notes=_latest_notes(database),
                command=escape_text(self._continue_command(replace(spent, seconds=elapsed_s), end)),
                config=escape_text(about.text)[:TEXT],
                titles=_read_titles(database),
                cpu_s=_round(evaluated["cpu_s"]),
                asked=self._list_asked(),
                steering=clean_value(parse_json(database.read_meta("steering") or "[]")),
                waiting=[clean_value(asdict(act)) for act in list_waiting_acts(self.folder)],
                tasks=clean_value([asdict(task) for task in read_running(self.folder)]) if runs else [],
            )

    def _list_asked(self) -> list[dict[str, Any]]:
        prompts = list_open_prompts(self.folder / FOLDER)
        return [
            {"key": escape_text(each.key), "role": escape_text(each.role), "prompt": _read_messages(each.prompt)}
            for each in prompts
        ]

    def _continue_command(self, spent: Spent, end: str) -> str:
        again = repeat_command(self.about.problem_reference, self.about.settings)
        return way_on(self.folder, self.about.budget, spent, end, again)

    def read_candidates(self, after: int = 0, limit: int | None = None) -> CandidateColumns:
        """Read committed candidates after a row, by default few at first and many later."""
        query = (
            "SELECT c.rowid AS position, c.round, c.number, c.parents, c.origin, c.island, c.placed, c.branch, c.call,"
            " LENGTH(c.source) AS size, e.status, e.score, e.features, SUBSTR(e.message, 1, 400) AS message,"
            " e.elapsed_s, e.wall_s, e.cpu_s, json_extract(r.spent, '$.money') AS dollars"
            " FROM candidates c LEFT JOIN evaluations e USING (fingerprint) LEFT JOIN rounds r ON r.round = c.round"
            " WHERE c.rowid > ? ORDER BY c.rowid LIMIT ?"
        )
        with self.opened() as database:
            rows = database.query_rows(query, after, limit or (PAGE_ROWS if after else FIRST_ROWS))
            return _make_columns(rows, after, _find_replies(database, rows))

    def read_candidate(self, name: str) -> dict[str, Any]:
        """Read all data of one candidate: program, metrics, log, prompt and reply."""
        match = CANDIDATE.fullmatch(name)
        if match is None:
            raise StoreError(f"a candidate's id is round.number, not {escape_text(name)[:40]!r}")
        query = "SELECT * FROM candidates LEFT JOIN evaluations USING (fingerprint) WHERE round = ? AND number = ?"
        with self.opened() as database:
            row = database.query_row(query, int(match[1]), int(match[2]))
            if row is None:
                raise StoreError(f"no candidate {name} in {self.folder}")
            check = database.query_row(
                "SELECT status, message FROM evaluations WHERE fingerprint = ?",
                str(EvaluationKey(row["fingerprint"], EvaluationKind.CHECK)),
            )
            ((call, _),) = _find_replies(database, [row])
            return {
                "id": name,
                "source": _cut(row["source"]),
                "layout": _lay_out(row["source"]),
                "parents": [escape_text(parent) for parent in read_parents(row["parents"])],
                "origin": escape_text(row["origin"]),
                "status": escape_text(row["status"] or ""),
                "score": row["score"],
                "features": list(read_features(row["features"]) or ()) or None,
                "metrics": clean_value(parse_json((row["metrics"] or "{}")[:MAX_JSON])),
                "message": _cut(row["message"]),
                "traceback": _cut(row["traceback"]),
                "log": _cut(row["log"]),
                "output": _cut(row["output"]),
                "peak_mb": row["peak_mb"],
                "check": None if check is None else {"status": escape_text(check[0]), "message": escape_text(check[1])},
                "calls": self._read_calls(database, call) if call else [],
                "command": self._score_command(name),
            }

    def _score_command(self, name: str) -> str:
        suffix = next((file.suffix for file in self.folder.glob("best.*")), ".py")
        return eval_command(self.about.problem_reference, self.folder / "candidates" / name / f"heuristic{suffix}")

    def _read_calls(self, database: Database, key: str) -> list[dict[str, Any]]:
        rows = database.query_rows("SELECT * FROM replies WHERE key = ? LIMIT 3", key)
        return [_describe_call(row) for row in rows]

    def read_calls(self, after: int = 0, limit: int = 500) -> list[dict[str, Any]]:
        """List model calls after a row, without their texts."""
        with self.opened() as database:
            names = "rowid AS position, key, role, model, tokens_in, tokens_out, money, seconds, retries"
            rows = database.query_rows(
                f"SELECT {names} FROM replies WHERE rowid > ? ORDER BY rowid LIMIT ?", after, limit
            )
            return [clean_value(dict(row)) for row in rows]

    def read_call(self, key: str) -> list[dict[str, Any]]:
        """Read the prompts and replies of one key."""
        with self.opened() as database:
            return self._read_calls(database, key)

    def version(self) -> tuple[float, ...]:
        """Return a value that changes with the database. It needs no query."""
        marks: list[float] = []
        named = (path.name for path in self.folder.glob(f"{SET_PREFIX}*.yaml"))
        for name in ("run.db", "run.db-wal", RUNNING, FOLDER, f"{FOLDER}/{ASKED}", *SETS, *named):
            with suppress(OSError):
                stat = (self.folder / name).stat()
                marks += [stat.st_mtime_ns, stat.st_size]
        return tuple(marks)


def _sum_rounds(database: Database) -> tuple[Spent, int, float]:
    """Return the budget used by committed rounds, their number, and the run's own time at the last one."""
    names = [each.name for each in fields(Spent)]
    sums = ", ".join(f"COALESCE(SUM(json_extract(spent, '$.{name}')), 0) AS {name}" for name in names)
    (row,) = database.query_rows(f"SELECT COUNT(*) AS rounds, {LATEST_S}, {sums} FROM rounds")
    return Spent.from_tree({name: row[name] for name in names}), int(row["rounds"]), float(row["latest"])


@dataclass(frozen=True)
class Leaders:
    """Ids and scores of the seed heuristic and of the best candidate. Empty without a scored candidate."""

    seed: str = ""
    best: str = ""
    seed_score: float | None = None
    best_score: float | None = None


def find_leaders(database: Database, direction: Direction) -> Leaders:
    """Find the seed heuristic and the best candidate.

    Of equal scores, the shorter program is the best, then the older one, as in the archive.
    """
    placed = f"FROM candidates JOIN evaluations USING (fingerprint) WHERE placed != '' AND origin != '{PROBE}'"
    seed = database.query_row(f"SELECT round, number, score {placed} ORDER BY candidates.rowid LIMIT 1")
    extreme = "MIN" if direction is Direction.MINIMIZE else "MAX"
    best = database.query_row(f"SELECT {extreme}(score) AS score {placed}")
    if seed is None or best is None or best["score"] is None:
        return Leaders()
    # One pass over the candidates finds the score. Few evaluations have it; the rest is a scan of numbers.
    having = "fingerprint IN (SELECT fingerprint FROM evaluations WHERE score = ?)"
    query = f"SELECT round, number, source, score {placed} AND candidates.{having} ORDER BY candidates.rowid"
    ties = database.query_rows(f"{query} LIMIT {MAX_TIES}", best["score"])
    elites = [Elite(id=_name(row), source=row["source"], score=row["score"], features=None, metrics={}) for row in ties]
    shortest = elites[0] if len(elites) == 1 else min(elites, key=lambda elite: elite.length)
    return Leaders(_name(seed), shortest.id, seed["score"], shortest.score)


def _name(row: Row) -> str:
    return f"{row['round']}.{row['number']}"


def _group_calls(database: Database) -> list[CallGroup]:
    query = """
        SELECT role, model, COUNT(*) AS calls, SUM(retries) AS retries, SUM(tokens_in) AS tokens_in,
            SUM(tokens_out) AS tokens_out, SUM(tokens_cached) AS tokens_cached, COALESCE(SUM(money), 0) AS money,
            SUM(money IS NULL) AS unpriced, SUM(seconds) AS seconds
        FROM replies GROUP BY role, model ORDER BY calls DESC LIMIT 100"""
    return [CallGroup(**clean_value(dict(row))) for row in database.query_rows(query)]


def _latest_notes(database: Database) -> dict[str, str]:
    rows = database.query_rows("SELECT kind, text, MAX(round) FROM notes GROUP BY kind LIMIT 20")
    return {escape_text(row["kind"]): escape_text(row["text"])[:20_000] for row in rows}


def _read_titles(database: Database) -> dict[str, str]:
    """Return the titles of candidates by id, as given by the model that wrote the programs."""
    query = f"SELECT text FROM notes WHERE kind = '{TITLE}' ORDER BY rowid LIMIT {MAX_TITLES}"
    notes = (row["text"].partition(" ") for row in database.query_rows(query))
    titles = {mark: title for mark, _, title in notes}
    if not titles:
        return {}
    query = (
        f"SELECT round, number, SUBSTR(source, 1, {TEXT}) AS source FROM candidates ORDER BY rowid LIMIT {MAX_TITLES}"
    )
    marks = {_name(row): program_mark(row["source"]) for row in database.query_rows(query)}
    return {name: escape_text(titles[mark])[:MAX_TITLE] for name, mark in marks.items() if mark in titles}


def _read_messages(text: str) -> list[dict[str, str]]:
    return [{"role": escape_text(role), "text": _cut(content)} for role, content in read_messages(text)]


def _describe_call(row: Row) -> dict[str, Any]:
    names = ("key", "role", "model", "tokens_in", "tokens_out", "tokens_cached", "money", "seconds", "retries")
    return {
        **clean_value({name: row[name] for name in names}),
        "prompt": _read_messages(row["prompt"]),
        "reply": _cut(row["text"]),
        "tool_calls": _cut(row["tool_calls"]),
    }


def _find_replies(database: Database, rows: Sequence[Row]) -> list[tuple[str, str]]:
    """Find the reply that wrote each candidate: its key and model; empty if no model wrote it."""
    possible = [
        [] if row["call"] is None else list_possible_keys(row["round"], row["branch"], row["call"]) for row in rows
    ]
    keys = list({key for each in possible for key in each})
    models: dict[str, str] = {}
    for start in range(0, len(keys), MAX_VALUES):
        part = keys[start : start + MAX_VALUES]
        query = f"SELECT key, model FROM replies WHERE key IN ({', '.join('?' * len(part))})"
        models |= {row["key"]: row["model"] for row in database.query_rows(query, *part)}
    return [next(((key, models[key]) for key in each if key in models), ("", "")) for each in possible]


def _make_columns(rows: Sequence[Row], after: int, replies: Sequence[tuple[str, str]]) -> CandidateColumns:
    names = rows[0].keys() if rows else ()
    # This is much faster than a look-up for each cell.
    values = dict(zip(names, zip(*rows, strict=True), strict=True))
    column: Callable[[str], Sequence[Any]] = lambda name: values.get(name, ())  # noqa: E731
    marks = {"NEW": "N", "IMPROVED": "I", "NOT_ADDED": "-"}
    statuses, status = _index_texts(column("status"))
    origins, origin = _index_texts(column("origin"))
    messages, message = _index_texts([(text or "")[:MESSAGE] for text in column("message")])
    models, model = _index_texts([name for _, name in replies])
    return CandidateColumns(
        after=rows[-1]["position"] if rows else after,
        round=list(column("round")),
        number=list(column("number")),
        score=list(column("score")),
        status=status,
        origin=origin,
        message=message,
        island=list(column("island")),
        parents=_map_once(_list_parents, column("parents")),
        features=_map_once(_list_features, column("features")),
        placed=[marks.get(mark, "") for mark in column("placed")],
        at=[_round(seconds) for seconds in column("elapsed_s")],
        wall=[_round(seconds) for seconds in column("wall_s")],
        cpu=[_round(seconds) for seconds in column("cpu_s")],
        size=list(column("size")),
        money=[float(dollars or 0.0) for dollars in column("dollars")],
        key=[key for key, _ in replies],
        model=model,
        statuses=statuses,
        origins=origins,
        messages=messages,
        models=models,
    )


def _map_once(function: Callable[[Any], T], values: Iterable[Any]) -> list[T]:
    """Apply a function to each value, and only once to equal ones, because cells and parents repeat."""
    results: dict[Any, T] = {}
    return [results[value] if value in results else results.setdefault(value, function(value)) for value in values]


def _list_parents(text: str) -> list[str]:
    return [escape_text(parent) for parent in read_parents(text)[:8]]


def _list_features(text: str | None) -> list[float] | None:
    return list(read_features(text) or ()) or None


def _index_texts(texts: Iterable[str | None]) -> tuple[list[str], list[int]]:
    """Return the distinct texts, escaped, and for each text its position among them."""
    positions: dict[str, int] = {}
    indices = _map_once(lambda text: positions.setdefault(escape_text(text or ""), len(positions)), texts)
    return list(positions), indices


def _round(value: float | None) -> float:
    return round(float(value or 0.0), 3)


def _lay_out(source: str) -> str:
    """Return a program formatted from its syntax tree; empty if it has this format already."""
    text = lay_out(source) if len(source) <= TEXT else source
    if text.strip() == source.strip() and len(source) <= TEXT:
        return ""
    return _cut(text)


def _cut(text: str | None) -> str:
    text = str(text or "")
    return escape_text(text[:TEXT]) + (f"\n… {len(text) - TEXT:,} characters left out" if len(text) > TEXT else "")


def clean_value(value: Any) -> Any:
    """Make a value from a run safe to send: control characters are escaped, and numbers are finite."""
    if isinstance(value, str):
        return escape_text(value)
    if isinstance(value, dict):
        return {escape_text(str(name)): clean_value(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [clean_value(item) for item in value]
    if isinstance(value, float) and value - value != 0:
        return str(value)
    if isinstance(value, int | float) or value is None:
        return value
    return escape_text(str(value))

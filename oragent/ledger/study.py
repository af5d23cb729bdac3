"""Study: many cases of one kind of work, run concurrently with one budget in one resumable folder."""

import asyncio
import json
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np

from oragent._base.budget import Budget, Spent
from oragent._base.errors import BudgetExhausted, ModelError, OragentError
from oragent._base.files import expect_room
from oragent._base.safe_load import parse_json
from oragent.ledger.case import Interrupted, LedgerCase
from oragent.ledger.database import Database, is_blank
from oragent.ledger.replies import REPLIES, RecordedReply, ReplayModel, Replies
from oragent.llm.factory import open_models
from oragent.llm.model import Model, Reply
from oragent.llm.model_settings import RuntimeSettings

SCHEMA = f"""
{REPLIES}
CREATE TABLE IF NOT EXISTS cases (
    name TEXT PRIMARY KEY, result TEXT NOT NULL, spent TEXT NOT NULL, elapsed_s REAL NOT NULL);
CREATE TABLE IF NOT EXISTS facts (
    name TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (name, key));
"""
KIND = "study"
# Case of the calls that check connections.
CHECKS = "check"
UNBOUNDED = Spent(sys.maxsize, sys.maxsize, sys.maxsize, float("inf"), float("inf"))
Work = Callable[[LedgerCase], Awaitable[Any]]


@dataclass(frozen=True)
class FinishedCase:
    """A finished case."""

    name: str
    result: Any
    spent: Spent


def read_finished(folder: Path) -> list[FinishedCase]:
    """Read the finished cases of a study, in the order of their ends, without changing its folder."""
    if is_blank(folder / "run.db"):
        # A process that is killed while it begins leaves a database without tables.
        return []
    with Database(folder / "run.db", SCHEMA, KIND, readonly=True, noun="study") as database:
        return _read_finished(database)


def finished_results(folder: Path) -> dict[str, Any]:
    """Read the results of the finished cases of a study by name; empty without a study."""
    return {record.name: record.result for record in read_finished(folder)}


def _read_finished(database: Database) -> list[FinishedCase]:
    if not database.query_rows("SELECT name FROM sqlite_master WHERE type = 'table' AND name = 'cases'"):
        # The database of a workspace has versions before it has cases.
        return []
    rows = database.query_rows("SELECT * FROM cases ORDER BY elapsed_s, name")
    with database.translate_values():
        return [
            FinishedCase(row["name"], parse_json(row["result"]), Spent.from_tree(parse_json(row["spent"])))
            for row in rows
        ]


@dataclass
class Study:
    """Cases in one folder. Finished cases are stored, and no call is paid for twice.

    A case that is repeated because it was killed gets its recorded replies. The budget is shared and checked before
    each call. When it is used up, the set of unfinished cases depends on timing, but each case is complete or missing.
    """

    # Folder of ``run.db``.
    folder: Path
    # Models by role. The model of the empty role serves all others.
    models: Mapping[str, Model]
    # Budget of the whole study.
    budget: Budget
    # Seed. The generator of each case is derived from it and the case's name.
    seed: int = 0
    # Number of concurrent cases, which never changes a result.
    workers: int = 1
    # Maximum number of tokens of a prompt. None means no limit.
    tokens: int | None = None

    def __post_init__(self) -> None:
        if self.workers < 1:
            raise ValueError(f"workers must be positive, not {self.workers}")
        self.folder.mkdir(parents=True, exist_ok=True)
        self._database = Database(self.folder / "run.db", SCHEMA, KIND, noun="study")
        self.replies = Replies(self._database)
        self._begun = time.monotonic() - float(self._database.read_meta("elapsed_s") or 0)
        self._active: dict[str, LedgerCase] = {}
        self._finished = {case.name: case for case in self.finished_cases()}
        self._paid = sum((case.spent for case in self._finished.values()), Spent())
        # Reason why cases are unfinished, one line. Empty if all are finished.
        self.stop_reason = ""
        self._checks = self.replies.case_cost(CHECKS)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the database. All data are already written."""
        self._database.close()

    @property
    def spent(self) -> Spent:
        """Budget used by all cases so far."""
        total = sum((case.used for case in self._active.values()), self._paid + self._checks)
        return replace(total, seconds=self._elapsed_s())

    def get_model(self, role: str) -> Model:
        """Return the model of a role."""
        model = self.models.get(role) or self.models.get("")
        if model is None:
            raise OragentError(f"the role {role!r} has no model: name one with --model")
        return model

    def prompt_token_limit(self) -> int | None:
        """Return the maximum number of tokens of a prompt. None means no limit."""
        return self.tokens

    def check_may_continue(self) -> None:
        """Check that a new call may begin."""
        if self.stop_reason:
            raise Interrupted(self.stop_reason)
        if exceeded := self.budget.name_reached_bound(self.spent):
            raise BudgetExhausted(exceeded)

    def record_checks(self, checks: Sequence[Reply]) -> None:
        """Record the replies of connection checks, which cost money like any other."""
        self.replies.store_checks(CHECKS, checks)
        self._checks = self.replies.case_cost(CHECKS)

    def stop(self, reason: str = "stopped on request") -> None:
        """Begin no further case or call. Calls in progress end and are recorded."""
        self.stop_reason = self.stop_reason or reason

    def finished_cases(self) -> list[FinishedCase]:
        """Return the finished cases, in the order of their ends."""
        return _read_finished(self._database)

    def all_replies(self) -> list[RecordedReply]:
        """Return all replies, in the order of cases and calls."""
        return self.replies.all_replies()

    async def run_cases(
        self, names: Sequence[str], work: Work, observer: Callable[[FinishedCase], None] = lambda finished: None
    ) -> list[FinishedCase | None]:
        """Run the missing cases in their order, several in parallel. Results are stored as JSON.

        Returns:
            The finished cases in the order of ``names``. None for an unfinished one, with the reason in
            ``stop_reason``.
        """
        if len(set(names)) < len(names):
            raise ValueError("names must be different.")
        places = asyncio.Semaphore(self.workers)

        async def run_case(name: str) -> None:
            async with places:
                if not self.stop_reason:
                    observer(await self._run_case(name, work))

        tasks = [asyncio.create_task(run_case(name)) for name in names if name not in self._finished]
        try:
            for ended in await asyncio.gather(*tasks, return_exceptions=True):
                if isinstance(ended, BaseException) and not isinstance(ended, OragentError):
                    raise ended
        finally:
            for task in tasks:
                task.cancel()
            self._database.write_meta("elapsed_s", str(self._elapsed_s()))
        return [self._finished.get(name) for name in names]

    async def run_once(self, case: LedgerCase, key: str, work: Callable[[], Awaitable[Any]]) -> Any:
        """Run a step that must not be repeated with its case, such as a long solve.

        The result must be JSON data, and is returned in the form in which JSON stores it.
        """
        where = "SELECT value FROM facts WHERE name = ? AND key = ?"
        recorded = self._database.query_row(where, case.name, f"{case.branch}{key}")
        if recorded is None:
            text = json.dumps(await work())
            row = {"name": case.name, "key": f"{case.branch}{key}", "value": text}
            self._database.write_row("INSERT OR REPLACE INTO", "facts", row)
            return json.loads(text)
        return json.loads(recorded["value"])

    async def _run_case(self, name: str, work: Work) -> FinishedCase:
        rng = np.random.default_rng([self.seed, *name.encode()])
        case = self._active[name] = LedgerCase(self, name, rng, UNBOUNDED)
        try:
            result = json.loads(json.dumps(await work(case)))
        except (BudgetExhausted, ModelError) as problem:
            self.stop(str(problem))
            raise
        except OragentError as problem:
            self.stop(f"{name}: {problem}")
            raise
        finished = self._finished[name] = FinishedCase(name, result, case.used)
        self._paid += case.used
        del self._active[name]
        row = {"name": name, "result": json.dumps(result), "spent": json.dumps(asdict(case.used))}
        self._database.write_row("INSERT OR REPLACE INTO", "cases", {**row, "elapsed_s": self._elapsed_s()})
        self._database.write_meta("elapsed_s", str(self._elapsed_s()))
        return finished

    def _elapsed_s(self) -> float:
        return time.monotonic() - self._begun


@asynccontextmanager
async def open_study(
    folder: Path | Callable[[], Path],
    runtime: RuntimeSettings,
    *,
    model: Model | None = None,
    replay: Path | None = None,
    is_asking: bool = True,
    workers: int = 1,
) -> AsyncIterator[Study]:
    """Open models, and the study that records their replies and enforces the budget.

    ``folder`` may be a function that creates it. It is called after the models have answered, so that a missing key
    leaves no folder. ``model`` is used instead of those of the settings. ``replay`` is a folder whose replies are
    replayed; unless ``is_asking``, no model of the settings is opened.

    Raises:
        ModelError: A model has no key, cannot be reached, or refuses the call.
    """
    async with AsyncExitStack() as stack:
        if isinstance(folder, Path):
            expect_room(folder)
        by_role: Mapping[str, Model] = {} if model is None else {"": model}
        checks: Sequence[Reply] = ()
        if model is None and is_asking and runtime.model is not None:
            models = await stack.enter_async_context(open_models(runtime))
            by_role, checks = {"": models}, models.checks
        home = folder if isinstance(folder, Path) else folder()
        study = stack.enter_context(Study(home, by_role, runtime.budget, workers=workers))
        study.record_checks(checks)
        if replay is not None:
            study.replies.copy_from(replay / "run.db")
            if not by_role:
                study.models = {"": ReplayModel(study.replies)}
        yield study

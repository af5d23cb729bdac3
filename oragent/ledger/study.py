"""A study: many cases of one kind of work, several at once, on one budget, in one folder that can be gone on with."""

import asyncio
import json
import sys
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np

from oragent._base.budget import Budget, Spent
from oragent._base.errors import BudgetExhausted, ModelError, OragentError
from oragent.ledger.case import Interrupted, LedgerCase
from oragent.ledger.database import Database
from oragent.ledger.replies import REPLIES, RecordedReply, Replies
from oragent.llm.client import CHECK
from oragent.llm.model import Model, Reply

SCHEMA = f"""
{REPLIES}
CREATE TABLE IF NOT EXISTS cases (
    name TEXT PRIMARY KEY, result TEXT NOT NULL, spent TEXT NOT NULL, elapsed_s REAL NOT NULL);
CREATE TABLE IF NOT EXISTS facts (
    name TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (name, key));
"""
VERSION = "study 1"
CHECKS = "check"  # in place of a case: calls by which servers have shown that they answer
UNBOUNDED = Spent(sys.maxsize, sys.maxsize, sys.maxsize, float("inf"))
Work = Callable[[LedgerCase], Awaitable[Any]]


@dataclass(frozen=True)
class Finished:
    """A case that was done to its end.

    Attributes:
        name: Name of the case.
        result: Result that the work returned, as JSON holds it.
        spent: Spending of the case.
    """

    name: str
    result: Any
    spent: Spent


def read_finished(folder: Path) -> list[Finished]:
    """Read the cases of a study that are done, in the order of their ends, and leave its folder as it is.

    Raises:
        StoreError: there is no study, or it cannot be read.
    """
    with Database(folder / "run.db", SCHEMA, VERSION, readonly=True, noun="study") as database:
        return _finished(database)


def finished_results(folder: Path) -> dict[str, Any]:
    """Read the results of the cases of a study that are done, by name; none where there is no study."""
    if not (folder / "run.db").is_file():
        return {}
    return {record.name: record.result for record in read_finished(folder)}


def _finished(database: Database) -> list[Finished]:
    rows = database.rows("SELECT * FROM cases ORDER BY elapsed_s, name")
    return [Finished(row["name"], json.loads(row["result"]), Spent(**json.loads(row["spent"]))) for row in rows]


@dataclass
class Study:
    """Cases in one folder; what is finished is kept, what was begun is asked nothing twice.

    A case that is done again, since it was killed, gets the replies that it got before. The budget is shared, and
    checked before each call: where it binds, which cases are left unfinished depends on their course, but each case is
    whole or missing.

    Attributes:
        folder: Folder where ``run.db`` is, or will be.
        models: Models by role; the one under the empty role is asked in all others.
        budget: Budget of the whole study.
        seed: Seed of the cases' generators, each from this and its case's name.
        workers: Number of cases at once; it never changes what a case comes to.
        tokens: Most tokens of a prompt; None: any number.
    """

    folder: Path
    models: Mapping[str, Model]
    budget: Budget
    seed: int = 0
    workers: int = 1
    tokens: int | None = None

    def __post_init__(self) -> None:
        if self.workers < 1:
            raise ValueError(f"workers must be positive, not {self.workers}")
        self.folder.mkdir(parents=True, exist_ok=True)
        self._database = Database(self.folder / "run.db", SCHEMA, VERSION, noun="study")
        self._replies = Replies(self._database)
        self._begun = time.monotonic() - float(self._database.meta("elapsed_s") or 0)
        self._active: dict[str, LedgerCase] = {}
        self._finished = {one.name: one for one in self.finished()}
        self._paid = sum((one.spent for one in self._finished.values()), Spent())
        self._reason = ""
        self._checks = self._checked()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the database; everything was written before."""
        self._database.close()

    @property
    def replies(self) -> Replies:
        """What models answered."""
        return self._replies

    @property
    def spent(self) -> Spent:
        """Spending of all cases so far."""
        total = sum((case.used for case in self._active.values()), self._paid + self._checks)
        return Spent(total.evaluations, total.model_calls, total.tokens, total.money, self._elapsed_s())

    @property
    def reason(self) -> str:
        """Why cases were left unfinished, one line; empty where none was."""
        return self._reason

    def model(self, role: str) -> Model:
        """Who is asked in a role.

        Raises:
            OragentError: if nobody is.
        """
        model = self.models.get(role) or self.models.get("")
        if model is None:
            raise OragentError(f"nobody is asked as {role!r}: name a model with --model")
        return model

    def room(self) -> int | None:
        """Tokens that a prompt may have."""
        return self.tokens

    def admit(self) -> None:
        """See that something new may begin.

        Raises:
            Interrupted: if the study is being stopped.
            BudgetExhausted: if the budget is used up.
        """
        if self._reason:
            raise Interrupted(self._reason)
        if exceeded := self.budget.exceeded(self.spent):
            raise BudgetExhausted(exceeded)

    def book(self, checks: Sequence[Reply]) -> None:
        """Write down the replies by which servers have shown that they answer: they were paid for like any other."""
        for number, reply in enumerate(checks, len(self._replies.of_case(CHECKS))):
            request = replace(CHECK, key=f"{CHECKS}.{number}")
            self._replies.keep(RecordedReply.of(request, reply), request.digest)
        self._checks = self._checked()

    def _checked(self) -> Spent:
        paid = self._replies.of_case(CHECKS)
        tokens = sum(reply.tokens_in + reply.tokens_out for reply in paid)
        return Spent(model_calls=len(paid), tokens=tokens, money=sum(reply.money or 0.0 for reply in paid))

    def stop(self, reason: str = "stopped on request") -> None:
        """Begin nothing more; calls that are under way still end and are kept."""
        self._reason = self._reason or reason

    def finished(self) -> list[Finished]:
        """The cases that are done, in the order of their ends."""
        return _finished(self._database)

    def asked(self) -> list[RecordedReply]:
        """All replies, in the order of cases and calls."""
        return self._replies.all()

    async def run(
        self, names: Sequence[str], work: Work, observer: Callable[[Finished], None] = lambda finished: None
    ) -> list[Finished | None]:
        """Do the cases that are missing, in their order, several at once.

        Args:
            names: Names of all cases, each once.
            work: Coroutine function that does a case; what it returns is kept as JSON.
            observer: Callback that is told of each case that has been finished.

        Returns:
            What each case came to, in the order of ``names``; None for one that was left unfinished: ``reason`` says
            why.

        Raises:
            ValueError: if a name comes twice.
            Exception: what the work of a case raised that is no error of ours: a bug, and not an end of the study.
        """
        if len(set(names)) < len(names):
            raise ValueError("names must be different.")
        places = asyncio.Semaphore(self.workers)

        async def one(name: str) -> None:
            async with places:
                if not self._reason:
                    observer(await self._do(name, work))

        tasks = [asyncio.create_task(one(name)) for name in names if name not in self._finished]
        try:
            for ended in await asyncio.gather(*tasks, return_exceptions=True):
                if isinstance(ended, BaseException) and not isinstance(ended, OragentError):
                    raise ended
        finally:
            for task in tasks:
                task.cancel()
            self._database.note("elapsed_s", str(self._elapsed_s()))
        return [self._finished.get(name) for name in names]

    async def once(self, case: LedgerCase, key: str, work: Callable[[], Awaitable[Any]]) -> Any:
        """Do something of a case that is not to be done again when the case is: such as a long solve.

        Args:
            case: Case to which it belongs.
            key: Key of the thing, different from others of the case.
            work: Coroutine function that does it, and returns what JSON can hold.

        Returns:
            What it returned, as JSON holds it.
        """
        where = "SELECT value FROM facts WHERE name = ? AND key = ?"
        known = self._database.row(where, case.name, f"{case.branch}{key}")
        if known is None:
            text = json.dumps(await work())
            row = {"name": case.name, "key": f"{case.branch}{key}", "value": text}
            self._database.write("INSERT OR REPLACE INTO", "facts", row)
            return json.loads(text)
        return json.loads(known["value"])

    async def _do(self, name: str, work: Work) -> Finished:
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
        finished = self._finished[name] = Finished(name, result, case.used)
        self._paid += case.used
        del self._active[name]
        row = {"name": name, "result": json.dumps(result), "spent": json.dumps(asdict(case.used))}
        self._database.write("INSERT OR REPLACE INTO", "cases", {**row, "elapsed_s": self._elapsed_s()})
        self._database.note("elapsed_s", str(self._elapsed_s()))
        return finished

    def _elapsed_s(self) -> float:
        return time.monotonic() - self._begun

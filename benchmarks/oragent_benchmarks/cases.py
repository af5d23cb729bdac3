"""Benchmarks whose cells are studies of cases: a shared runner and its measurements."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, fields
from itertools import combinations
from pathlib import Path
from typing import Any, ClassVar, Self, TypeVar

from pydantic.dataclasses import dataclass as checked

from oragent._base.budget import Budget, Spent
from oragent._base.direction import Direction
from oragent._base.errors import OragentError
from oragent._base.settings import STRICT, build_settings
from oragent._base.statistics import PairedTest
from oragent.evals.bench.plan import BenchCell, BenchPlan
from oragent.evals.bench.result import BenchResult, CellEnd, Cost, Measure, ModeScore, ModeScores, compare_pairs
from oragent.evals.bench.tables import TextTable
from oragent.ledger import LedgerCase, ReplayModel, Study
from oragent.ledger.study import FinishedCase
from oragent.llm.estimates import PlannedCalls, SpendingEstimate, add_estimates, price_calls
from oragent.llm.factory import open_models
from oragent.llm.model import Model, Reply
from oragent.llm.model_settings import RuntimeSettings, RuntimeWords
from oragent.llm.prices import project_prices
from oragent.report.pages.text import format_share

UNBOUNDED = Budget(evaluations=None)
# Names of the limits of a budget.
BOUNDS = ("model_calls", "tokens", "money", "seconds")
# Name in place of a model's name when the other settings are checked.
ANY_MODEL = "of a contestant"
DASH = "–"


@dataclass(frozen=True)
class MeasuredCases:
    """Finished cases of a contestant on a subject, over all seeds. ``total`` is the number of cases in the plan."""

    subject: str
    contestant: str
    settings: Mapping[str, Any]
    cases_by_cell: Mapping[BenchCell, Sequence[FinishedCase]]
    total: int

    @property
    def cases(self) -> list[FinishedCase]:
        """All finished cases."""
        return [case for cases in self.cases_by_cell.values() for case in cases]

    @property
    def by_name(self) -> dict[tuple[int, str], FinishedCase]:
        """Cases by seed and name."""
        return {(cell.seed, case.name): case for cell, cases in self.cases_by_cell.items() for case in cases}

    @property
    def count_text(self) -> str:
        """Number of finished cases; if some are missing, also the total."""
        count = len(self.cases)
        if count and count == self.total:
            return str(count)
        return f"{count} of {self.total}"

    def score_cases(self, score: Callable[[FinishedCase], float]) -> ModeScores:
        """Score each case, for paired comparisons."""
        return ModeScores(self.contestant, {key: ModeScore(score(case)) for key, case in self.by_name.items()})


M = TypeVar("M", bound=MeasuredCases)


def _format_ends(test: PairedTest) -> str:
    if test.low is None or test.high is None:
        return "–"
    return f"{test.low:+.1f} to {test.high:+.1f}"


def difference_table(scores: Iterable[ModeScores], unit: str) -> TextTable:
    """Compare all pairs of contestants on their common cases: paired sign-flip test, adjusted by Holm.

    Args:
        scores: Scores of each contestant; larger is better.
        unit: Name of a pair, in the plural.
    """
    rows = [
        (
            f"{difference.first} − {difference.second}",
            str(difference.test.pairs),
            f"{difference.test.mean:+.1f}",
            _format_ends(difference.test),
            format_share(difference.test.p),
            format_share(difference.adjusted),
        )
        for difference in compare_pairs(combinations(scores, 2), "score", Direction.MAXIMIZE)
    ]
    return TextTable(("pair", unit, "difference", "95 %", "p", "p, all pairs"), tuple(rows))


def case_table(measured: Sequence[MeasuredCases], unit: str, describe: Callable[[FinishedCase], str]) -> TextTable:
    """Return a table with one row per case and seed: the outcome of each contestant."""
    cases = [row.by_name for row in measured]
    rows = [
        (f"{name}, seed {seed}", *(describe(by[seed, name]) if (seed, name) in by else DASH for by in cases))
        for seed, name in dict.fromkeys(key for by in cases for key in by)
    ]
    return TextTable((unit, *(row.contestant for row in measured)), tuple(rows))


@checked(frozen=True, config=STRICT)
class CaseSettings:
    """Settings that all contestants of a benchmark of cases share."""

    # Whether to run even if generated programs could read labels.
    labels_readable: bool = False
    # Maximum length of a reply in tokens, and maximum seconds per reply. None means the default.
    max_tokens: int | None = None
    timeout_s: float | None = None
    budget: Budget = UNBOUNDED

    @classmethod
    def of(cls, plan: BenchPlan) -> Self:
        """Read the settings from a plan. Missing settings get their defaults."""
        names = {setting.name for setting in fields(cls)}
        stated = {name: value for name, value in plan.settings.items() if name in names and value is not None}
        if "budget" in stated:
            stated["budget"] = {"evaluations": None, **stated["budget"]}
        return build_settings(cls, stated, [], f"the settings of the {plan.terms.benchmark}")


@dataclass(frozen=True)
class CaseCalls:
    """Expected calls of one role in a case."""

    role: str
    # Name of the model.
    model: str
    number: float
    # Tokens of a prompt and of a reply.
    tokens_in: float
    tokens_out: float


Work = Callable[[LedgerCase], Awaitable[object]]


@dataclass
class CaseBenchmark(ABC):
    """Runner of a plan whose cells are studies of cases. Each cell has its own folder and can be resumed."""

    plan: BenchPlan
    # Number of parallel cases, which does not change results.
    workers: int = 1
    # Function that is called with a description of each finished case.
    note: Callable[[BenchCell, str], None] = lambda cell, text: None
    # Settings of models and budget from the command line, such as ``model.base_url=URL``.
    words: RuntimeWords = field(default_factory=RuntimeWords)
    # Subjects whose labels a generated program could read on this machine.
    readable: Sequence[str] = ()
    # Folder of a benchmark of the same plan whose recorded replies are used. None means that models are called.
    replay: Path | None = None
    # Roles in which models are called.
    roles: ClassVar[Sequence[str]] = ()

    @property
    @abstractmethod
    def settings(self) -> CaseSettings:
        """Settings of the plan."""

    def profile_case(self, cell: BenchCell) -> Sequence[CaseCalls]:
        """Return the expected calls of a case."""
        return ()

    def estimate(self, folder: Path) -> SpendingEstimate:
        """Return the expected cost of the missing cases."""
        prices = project_prices(self.plan.root)
        estimates = []
        for cell in self.plan.cells if self.replay is None else ():
            missing = len(self.case_names(cell)) - len(self.finished_cases(cell, folder))
            planned = []
            budget = UNBOUNDED
            for calls in self.profile_case(cell) if missing > 0 else ():
                runtime = self.read_runtime(calls.model)
                assert runtime.model is not None
                model, budget = runtime.models.get(calls.role, runtime.model), runtime.budget
                planned.append(
                    PlannedCalls(calls.role, model, missing * calls.number, calls.tokens_in, calls.tokens_out)
                )
            estimates.append(price_calls(planned, prices, budget))
        return add_estimates(estimates)

    @abstractmethod
    def case_names(self, cell: BenchCell) -> Sequence[str]:
        """Return the names of the cases of a cell, in order."""

    @abstractmethod
    def cell_folder(self, cell: BenchCell, folder: Path) -> Path:
        """Return the folder of a cell."""

    @abstractmethod
    def score_cell(self, cell: BenchCell, cases: Sequence[FinishedCase]) -> tuple[Measure, float, int]:
        """Return the measure of a cell, its score, and the number of failed cases."""

    @abstractmethod
    def describe_cell(self, cell: BenchCell, cases: Sequence[FinishedCase]) -> str:
        """Describe the outcome of a cell with at least one case, in a few words."""

    @abstractmethod
    def describe_case(self, result: Mapping[str, Any]) -> str:
        """Describe the outcome of a case, in a few words."""

    @abstractmethod
    def open_cell(
        self, cell: BenchCell, cell_folder: Path, stack: AsyncExitStack
    ) -> tuple[Mapping[str, str | Model], Work]:
        """Open the resources of a cell's cases. Return the models by role, as objects or names, and the work."""

    def find_readable(self) -> Sequence[str]:
        """Find the subjects whose labels a generated program could read on this machine."""
        return ()

    def contestant_of(self, cell: BenchCell) -> Mapping[str, Any]:
        """Return the settings of a cell's contestant."""
        return self.plan.contestants[cell.contestant]

    def close(self) -> None:  # noqa: B027  # most share nothing
        """Release the shared resources of the cells."""

    def finished_cases(self, cell: BenchCell, folder: Path) -> list[FinishedCase]:
        """Return the finished cases of a cell, in order."""
        cell_folder = self.cell_folder(cell, folder)
        if not (cell_folder / "run.db").is_file():
            return []
        with Study(cell_folder, {}, UNBOUNDED) as study:
            finished = {case.name: case for case in study.finished_cases()}
        return [finished[name] for name in self.case_names(cell) if name in finished]

    def is_complete(self, cell: BenchCell, folder: Path) -> bool:
        """Return True if every case of the cell is finished."""
        return len(self.finished_cases(cell, folder)) == len(self.case_names(cell))

    def run(self, cell: BenchCell, folder: Path) -> CellEnd:
        """Run the missing cases of a cell."""
        return CellEnd(asyncio.run(self._run_cases(cell, self.cell_folder(cell, folder))))

    async def _run_cases(self, cell: BenchCell, cell_folder: Path) -> str:
        """Run the missing cases of a cell. Return why some are still missing, or an empty text."""
        async with AsyncExitStack() as stack:
            players, work = self.open_cell(cell, cell_folder, stack)
            models: dict[str, Model] = {}
            checks: list[Reply] = []
            for role, player in players.items() if self.replay is None else ():
                if isinstance(player, str):
                    models[role] = opened = await stack.enter_async_context(open_models(self.read_runtime(player)))
                    checks += opened.checks
                else:
                    models[role] = player
            study = stack.enter_context(Study(cell_folder, models, self.read_runtime().budget, cell.seed, self.workers))
            study.record_checks(checks)
            if self.replay is not None:
                study.replies.copy_from(self.cell_folder(cell, self.replay) / "run.db")
                study.models = {"": ReplayModel(study.replies)}
            await study.run_cases(
                self.case_names(cell),
                work,
                lambda case: self.note(cell, f"{case.name}: {self.describe_case(case.result)}"),
            )
            return study.stop_reason

    def finish(self, cell: BenchCell, folder: Path) -> str:
        """Describe the outcome of a cell."""
        cases = self.finished_cases(cell, folder)
        if cases:
            return self.describe_cell(cell, cases)
        return ""

    def read(self, cell: BenchCell, folder: Path) -> BenchResult:
        """Return the result of a complete cell: its score and the cost of all its cases."""
        cases = self.finished_cases(cell, folder)
        measure, score, failed = self.score_cell(cell, cases)
        spent = sum((case.spent for case in cases), Spent())
        return BenchResult(
            cell,
            measure,
            {self.plan.terms.main: ModeScore(score)},
            tried=len(cases),
            failed=failed,
            spent=Cost(spent.model_calls, spent.tokens, spent.money),
            seconds=sum(case.result.get("seconds", 0.0) for case in cases),
            folder=self.cell_folder(cell, folder),
        )

    def measure(self, folder: Path, kind: type[M]) -> dict[str, list[M]]:
        """Collect the finished cases by subject, one item for each contestant."""
        measured: dict[str, list[M]] = {}
        for subject in self.plan.subjects:
            for name, settings in self.plan.contestants.items():
                cells = [BenchCell(subject, name, seed) for seed in self.plan.seeds]
                cases = {cell: self.finished_cases(cell, folder) for cell in cells}
                total = sum(len(self.case_names(cell)) for cell in cells)
                measured.setdefault(subject, []).append(kind(subject, name, settings, cases, total))
        return measured

    def read_runtime(self, model: str = "") -> RuntimeSettings:
        """Return the settings of a contestant: its model and the budget, from plan and command line.

        Args:
            model: Name of the model. Empty means that only the budget is read.

        Raises:
            ConfigError: A setting is unknown, or names a model, which only contestants may do.
        """
        settings = self.settings
        shortcuts = {f"budget.{name}": value for name, value in vars(settings.budget).items() if name in BOUNDS}
        shortcuts |= {"model.max_tokens": settings.max_tokens, "model.timeout_s": settings.timeout_s}
        runtime = self.words.name_model(model or ANY_MODEL, self.roles, shortcuts)
        if model:
            return runtime
        return RuntimeSettings(budget=runtime.budget)

    def check_labels(self) -> None:
        """Raise an error if generated programs could read labels, unless the settings accept it."""
        if self.readable and not self.settings.labels_readable:
            raise OragentError(
                f"generated programs could read the labels of {self.readable[0]} on this machine ('oragent doctor' "
                "says what is missing): run it elsewhere, or with --labels-readable, which its page then says"
            )

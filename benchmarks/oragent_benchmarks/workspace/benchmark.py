"""Benchmark of agents on the modes of a set. Each cell is a study in its own folder and can be resumed."""

import asyncio
import json
import shutil
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from pydantic.dataclasses import dataclass as checked

from oragent._base import files
from oragent._base.direction import Direction
from oragent._base.errors import WorkspaceError
from oragent._base.settings import STRICT
from oragent.evals.bench.plan import BenchCell, BenchTerms
from oragent.evals.bench.result import Measure
from oragent.ledger.case import LedgerCase
from oragent.ledger.study import FinishedCase
from oragent.llm.model import Model
from oragent.sandbox.sandbox import Sandbox
from oragent.workspace.agent_sessions import AgentWork
from oragent.workspace.layout import Mode, open_workspace
from oragent.workspace.runner import ProgramRunner
from oragent.workspace.settings import LIMITS
from oragent.workspace.tools import ToolSession
from oragent_benchmarks.cases import CaseBenchmark, CaseCalls, CaseSettings, Work
from oragent_benchmarks.driver import save_text
from oragent_benchmarks.workspace import agents
from oragent_benchmarks.workspace.grading import AttemptOutcome, Grade, Reference, grade_attempt
from oragent_benchmarks.workspace.importing import LabelSet, read_labels
from oragent_benchmarks.workspace.judging import PENALTY_PAPER, RubricJudgement, gather_evidence, score_answer
from oragent_benchmarks.workspace.printed import Backing, attempt_of
from oragent_benchmarks.workspace.rubric import Rubric
from oragent_benchmarks.workspace.views import PROGRAM, VAULT, RevisionView, WorkspaceTask, lay_out, list_tasks

TERMS = BenchTerms(
    benchmark="benchmark",
    subject="mode",
    subjects="modes",
    contestant="agent",
    contestants="agents",
    modes={"score": "Pass@1 in percent for build and revise, mean points for explain"},
    answer="program or answer",
    work="calls",
    noise="instances",
)


@dataclass(frozen=True)
class InstanceLabels:
    """Labels of an instance, which no agent sees."""

    # Reference of a build or revision. None for a question.
    reference: Reference | None = None
    # Reference of the version before the revision. None if it does not exist.
    original: float | None = None
    # Rubric of a question. None for other modes.
    rubric: Rubric | None = None


def grade_program(
    task: WorkspaceTask, folder: Path, path: str, labels: InstanceLabels, runner: ProgramRunner
) -> dict[str, Any]:
    """Run and grade a program in a folder."""
    assert labels.reference is not None
    if not path:
        nothing = Grade(task.name, AttemptOutcome.NO_ATTEMPT, False, None, None, "no program")
        return _make_record(task, nothing)
    ran = runner.run(folder, path)
    graded = grade_attempt(attempt_of(ran), labels.reference, labels.original)
    return _make_record(task, graded) | {"seconds_run": ran.cpu_s}


def grade_answer(
    task: WorkspaceTask, answer: str, labels: InstanceLabels, judged: RubricJudgement | None
) -> dict[str, Any]:
    """Score an answer; without a judgement, semantic criteria count as missed, and the record says so."""
    assert labels.rubric is not None
    missed = RubricJudgement({criterion.id: False for criterion in labels.rubric.semantic}, {}, None)
    scored = score_answer(labels.rubric, answer, judged or missed)
    return {
        "mode": str(task.mode),
        "number": task.number,
        "group": labels.rubric.dimension,
        "coverage": scored.coverage,
        "total": scored.total,
        "marks": None if scored.marks is None else vars(scored.marks),
        "exact": dict(scored.exact),
        "semantic": dict(scored.semantic),
        "judged": judged is not None,
        "passed": scored.coverage >= 35.0 - 1e-9,
        "outcome": f"{scored.coverage:.1f} of 35",
    }


def _make_record(task: WorkspaceTask, graded: Grade) -> dict[str, Any]:
    return {
        "mode": str(task.mode),
        "number": task.number,
        "outcome": str(graded.outcome),
        "passed": graded.is_passed,
        "strict": graded.strict,
        "objective": graded.objective,
        "error": graded.error,
        "note": graded.note,
        "backing": None if graded.backing is None else str(graded.backing),
        "unbacked": graded.backing in (Backing.OTHER, Backing.NONE),
    }


@checked(frozen=True, config=STRICT)
class WorkspaceBenchSettings(CaseSettings):
    """Settings that all agents of a benchmark of workspaces share."""

    set: str = ""
    # Number of instances taken from the beginning of each mode. None means all.
    limit: int | None = None
    # Model that judges answers. Empty means that semantic criteria count as missed.
    judge: str = ""
    # Largest penalty by a judge, in points.
    penalty_max: float = PENALTY_PAPER


# Assumptions for the estimate of costs: number of calls, tokens of a prompt and of a reply.
WORK_CALLS, JUDGE_CALLS = (12, 9000, 500), (1, 4000, 400)


@dataclass
class WorkspaceBenchmark(CaseBenchmark):
    """Runner of the cells of a plan. ``given_models`` maps names to models that replace those of a server."""

    given_models: Mapping[str, Model] = field(default_factory=dict)
    roles: ClassVar[Sequence[str]] = (*agents.ROLES.values(), agents.JUDGE)

    @cached_property
    def settings(self) -> WorkspaceBenchSettings:
        """Settings of the plan."""
        return WorkspaceBenchSettings.of(self.plan)

    @cached_property
    def sandbox(self) -> Sandbox:
        """Sandbox of all cells; ``close`` ends it."""
        return Sandbox(self.workers)

    def close(self) -> None:
        """End the sandbox if it was started."""
        if "sandbox" in self.__dict__:
            self.sandbox.close()

    @cached_property
    def root(self) -> Path:
        """Folder of the set."""
        return Path(self.settings.set)

    @cached_property
    def labels(self) -> LabelSet:
        """Labels of the set."""
        return read_labels(self.root)

    def tasks(self, subject: str) -> tuple[WorkspaceTask, ...]:
        """Return the tasks of a mode."""
        mode = Mode.REVISE if subject.startswith("revise") else Mode(subject)
        variant = RevisionView(subject) if mode is Mode.REVISE else RevisionView.CODE
        return list_tasks(self.root, mode, variant, self.settings.limit)

    def cell_folder(self, cell: BenchCell, folder: Path) -> Path:
        """Return the folder of a cell."""
        return folder / cell.subject / files.file_stem(cell.contestant.replace("_", "-"), each=True) / str(cell.seed)

    def case_names(self, cell: BenchCell) -> list[str]:
        """Return the names of the instances of a cell."""
        return [task.name for task in self.tasks(cell.subject)]

    def describe_cell(self, cell: BenchCell, cases: Sequence[FinishedCase]) -> str:
        """Return the score."""
        return f"{score_cases(cell.subject, cases):.1f} on {len(cases)}"

    def score_cell(self, cell: BenchCell, cases: Sequence[FinishedCase]) -> tuple[Measure, float, int]:
        """Return the measure, the score, and the number of instances that failed."""
        failed = sum(not case.result["passed"] for case in cases)
        return Measure(self.labels.title, Direction.MAXIMIZE), score_cases(cell.subject, cases), failed

    def labels_of(self, task: WorkspaceTask) -> InstanceLabels:
        """Return the labels of an instance, which no agent sees."""
        if task.mode is Mode.EXPLAIN:
            rubrics = [rubric for rubric in self.labels.rubrics.values() if rubric.number == task.number]
            if not rubrics:
                raise WorkspaceError(f"{task.name} has no rubric in the vault of its set")
            return InstanceLabels(rubric=rubrics[0])
        reference = self.labels.references[task.mode].get(task.name)
        if reference is None:
            raise WorkspaceError(f"{task.name} has no reference in the vault of its set")
        original = self.labels.originals.get(task.number) if task.mode is Mode.REVISE else None
        return InstanceLabels(reference, original)

    def profile_case(self, cell: BenchCell) -> Sequence[CaseCalls]:
        """Return the expected calls of a task. An agent works with tools and sends the whole conversation each time."""
        agent, judge = self.contestant_of(cell)["agent"], self.settings.judge
        calls = [] if agent in agents.AGENTS else [CaseCalls("agent", agent, *WORK_CALLS)]
        return [*calls, CaseCalls(agents.JUDGE, judge, *JUDGE_CALLS)] if judge else calls

    def describe_case(self, result: Mapping[str, Any]) -> str:
        """Return the outcome."""
        return str(result["outcome"])

    def find_readable(self) -> Sequence[str]:
        """Run a test program to find out whether submitted programs could read labels on this machine."""
        first = next((path for path in sorted((self.root / VAULT).rglob("*")) if path.is_file()), None)
        if first is None:
            return ()
        view = next(iter(sorted((self.root / "views").iterdir())), None)
        if view is None:
            raise WorkspaceError(f"no views in {self.root}; expected those of a set")
        source = f"open({str(first.resolve())!r}, 'rb').read(1)\n"
        ran = agents.ReleaseRunner(self.sandbox).run(view, "src/try.py", {"src/try.py": source})
        if ran.code:
            return ()
        return (self.labels.title,)

    def open_cell(
        self, cell: BenchCell, cell_folder: Path, stack: AsyncExitStack
    ) -> tuple[Mapping[str, str | Model], Work]:
        """Create the work. The agent's model has all roles except that of a judge."""
        contestant, judge = self.contestant_of(cell), self.settings.judge
        tasks = {task.name: task for task in self.tasks(cell.subject)}
        names = {"": contestant["agent"]} | ({agents.JUDGE: judge} if judge else {})
        players = {role: self.given_models.get(name, name) for role, name in names.items()}
        runner = agents.ReleaseRunner(self.sandbox, LIMITS)

        async def run_case(case: LedgerCase) -> object:
            desk = cell_folder / "desks" / case.name
            return await self._run_task(case, tasks[case.name], desk, contestant["agent"], runner)

        return {role: player for role, player in players.items() if player not in agents.AGENTS}, run_case

    async def _run_task(
        self,
        case: LedgerCase,
        task: WorkspaceTask,
        desk: Path,
        agent: str,
        runner: ProgramRunner,
    ) -> dict[str, Any]:
        labels = self.labels_of(task)
        folder = await asyncio.to_thread(lay_out, task, desk)
        if agent in agents.AGENTS:
            work_done = await asyncio.to_thread(agents.copy_original, task, folder)
        else:
            writable = (f"{PROGRAM[task.mode]}/*",) if task.mode in PROGRAM else ()
            work_done = await agents.run_task(case, task, ToolSession(folder, runner, writable))
        record = await self._score_work(case, task, folder, work_done, labels, runner)
        self._keep_work(case, task.name, folder, desk.parents[1], work_done)
        shutil.rmtree(folder, ignore_errors=True)
        record |= {
            "calls": work_done.calls,
            "end": work_done.end,
            "broken_citations": list(work_done.broken),
            "seconds": sum(reply.seconds for reply in case.replies),
            "prompt_tokens": sum(reply.tokens_in for reply in case.replies),
        }
        return record

    def _keep_work(self, case: LedgerCase, name: str, folder: Path, cell_folder: Path, work_done: AgentWork) -> None:
        """Store transcript and submission for inspection and repeated scoring."""
        if case.replies:
            turns = [
                {"role": reply.role, "prompt": json.loads(reply.prompt)[-6:], "reply": reply.text}
                for reply in case.replies
            ]
            text = json.dumps(turns, indent=1, ensure_ascii=False) + "\n"
            save_text(cell_folder / "transcripts" / f"{name}.json", text)
        path, program = work_done.path, work_done.answer
        if path:
            program = (folder / path).read_text(encoding="utf-8", errors="replace")
        save_text(cell_folder / "submitted" / f"{name}.{'py' if path else 'md'}", program)

    async def _score_work(
        self,
        case: LedgerCase,
        task: WorkspaceTask,
        folder: Path,
        work_done: AgentWork,
        labels: InstanceLabels,
        runner: ProgramRunner,
    ) -> dict[str, Any]:
        if task.mode is not Mode.EXPLAIN:
            return await asyncio.to_thread(grade_program, task, folder, work_done.path, labels, runner)
        assert labels.rubric is not None
        rubric, answer, judged = labels.rubric, work_done.answer, None
        if self.settings.judge:
            seen = gather_evidence(open_workspace(task.view, Mode.EXPLAIN))
            judged = await agents.judge_answer(case, rubric, answer, seen, self.settings.penalty_max)
        return grade_answer(task, answer, labels, judged)


def score_cases(subject: str, cases: Sequence[FinishedCase]) -> float:
    """Return Pass@1 in percent, or mean points: of the total if a judge gave marks, else of coverage."""
    if not cases:
        return 0.0
    if subject != Mode.EXPLAIN:
        return 100.0 * sum(bool(case.result["passed"]) for case in cases) / len(cases)
    totals = [case.result["total"] for case in cases]
    points = totals if all(case is not None for case in totals) else [case.result["coverage"] for case in cases]
    return sum(map(float, points)) / len(points)

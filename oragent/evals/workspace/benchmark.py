"""Modes of a set by agents: each cell is a study in a folder of its own, which is gone on with where it was left."""

import asyncio
import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from statistics import median
from typing import Any

from pydantic.dataclasses import dataclass as checked

from oragent._base import files
from oragent._base.direction import Direction
from oragent._base.errors import WorkspaceError
from oragent._base.settings import STRICT
from oragent.evals.bench.cases import CaseBenchmark, CaseSettings
from oragent.evals.bench.driver import save_text
from oragent.evals.bench.plan import BenchCell, BenchPlan, BenchTerms
from oragent.evals.bench.result import Measure
from oragent.evals.workspace.agents import (
    AGENTS,
    JUDGE,
    ROLES,
    FileInterface,
    Manner,
    attempt_task,
    judge_answer,
    run_task,
)
from oragent.evals.workspace.evaluating import InstanceLabels, grade_answer, grade_program
from oragent.evals.workspace.importing import VAULT, LabelSet, read_labels
from oragent.evals.workspace.instances import read_instances
from oragent.evals.workspace.judging import PENALTY_PAPER, Judgement, by_predicates, gather_evidence
from oragent.evals.workspace.rubric import Rubric
from oragent.evals.workspace.tasks import PROGRAM, WorkspaceTask, lay_out, list_tasks
from oragent.evals.workspace.views import RevisionView
from oragent.ledger import Study
from oragent.ledger.case import LedgerCase
from oragent.ledger.study import FinishedCase
from oragent.llm.factory import open_models
from oragent.llm.model import Model, Reply
from oragent.llm.model_settings import RuntimeWords
from oragent.sandbox.sandbox import Sandbox
from oragent.workspace.layout import Mode, open_workspace
from oragent.workspace.roles import AgentWork, Track
from oragent.workspace.runner import LIMITS, ProgramRunner
from oragent.workspace.tools import ToolSession

TERMS = BenchTerms(
    benchmark="benchmark", subject="mode", subjects="modes", contestant="agent", contestants="agents",
    modes={"score": "Pass@1 in percent for build and revise, mean points for explain"}, answer="program or answer",
    work="calls", noise="instances",
)  # fmt: skip


def list_subjects(modes: list[Mode], variants: list[RevisionView]) -> dict[str, Any]:
    """List the subjects of a benchmark: each mode, and revisions once for each variant."""
    by_name: dict[str, Any] = {}
    for mode in modes:
        names = [str(variant) for variant in variants] if mode is Mode.REVISE else [str(mode)]
        by_name |= dict.fromkeys(names)
    return by_name


@checked(frozen=True, config=STRICT)
class WorkspaceBenchSettings(CaseSettings):
    """Settings that all agents of a benchmark of workspaces share.

    Attributes:
        set: Folder of the set.
        limit: Number of instances of each mode, the first ones; None: all.
        judge: Model that judges answers; empty: predicates judge.
        penalty_max: Largest penalty that a judge may give, in points.
    """

    set: str = ""
    limit: int | None = None
    judge: str = ""
    penalty_max: float = PENALTY_PAPER


@dataclass
class WorkspaceBenchmark(CaseBenchmark):
    """The runner of a plan's cells.

    Attributes:
        plan: What is measured; its settings name the set.
        workers: Instances at once; it changes no result.
        note: Told of each instance that is done, in words.
        given_models: Models by name, in place of those of a server.
        words: Settings of models and budget from the command line.
    """

    plan: BenchPlan
    workers: int = 1
    note: Callable[[BenchCell, str], None] = lambda cell, text: None
    given_models: Mapping[str, Model] = field(default_factory=dict)
    words: RuntimeWords = field(default_factory=RuntimeWords)
    readable: Sequence[str] = ()
    roles: Sequence[str] = (*ROLES.values(), JUDGE)

    @cached_property
    def settings(self) -> WorkspaceBenchSettings:
        """Settings of the plan."""
        return WorkspaceBenchSettings.of(self.plan)

    @cached_property
    def sandbox(self) -> Sandbox:
        """The border, which all cells share; ``close`` ends it."""
        return Sandbox(self.workers)

    def close(self) -> None:
        """End the sandbox, if one was begun."""
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

    @cached_property
    def _exact_instances(self) -> Mapping[int, Any]:
        return read_instances(self.root)

    @property
    def sizes(self) -> str:
        """Variables and constraints of the set's exact models, where they are known; else empty."""
        models = [milp.milp for milp in self._exact_instances.values()]
        if not models:
            return ""
        parts = {
            "variables": [len(milp.variables) for milp in models],
            "constraints": [len(milp.rows) for milp in models],
        }
        return ", ".join(f"{min(all_)} to {max(all_)} {what} (median {median(all_):g})" for what, all_ in parts.items())

    def tasks(self, subject: str) -> tuple[WorkspaceTask, ...]:
        """The tasks of a mode."""
        mode = Mode.REVISE if subject.startswith("revise") else Mode(subject)
        variant = RevisionView(subject) if mode is Mode.REVISE else RevisionView.CODE
        return list_tasks(self.root, mode, variant, self.settings.limit)

    def cell_folder(self, cell: BenchCell, folder: Path) -> Path:
        """Folder of a cell."""
        return folder / cell.subject / files.file_stem(cell.contestant.replace("_", "-"), each=True) / str(cell.seed)

    def case_names(self, cell: BenchCell) -> list[str]:
        """Names of the instances of a cell."""
        return [task.name for task in self.tasks(cell.subject)]

    def describe_cell(self, cell: BenchCell, cases: Sequence[FinishedCase]) -> str:
        """Return the score."""
        return f"{score_cases(cell.subject, cases):.1f} on {len(cases)}"

    def score_cell(self, cell: BenchCell, cases: Sequence[FinishedCase]) -> tuple[Measure, float, int]:
        """Return the measure, the score, and the number of instances that did not pass."""
        failed = sum(not case.result["passed"] for case in cases)
        return Measure(self.labels.title, Direction.MAXIMIZE), score_cases(cell.subject, cases), failed

    def labels_of(self, task: WorkspaceTask) -> InstanceLabels:
        """Return the labels of an instance, which no agent sees.

        Raises:
            WorkspaceError: if the set has no label of it.
        """
        instance = self._exact_instances.get(task.number)
        if task.mode is Mode.EXPLAIN:
            rubrics = [rubric for rubric in self.labels.rubrics.values() if rubric.number == task.number]
            if not rubrics:
                raise WorkspaceError(f"{task.name} has no rubric in the vault of its set")
            return InstanceLabels(rubric=rubrics[0], instance=instance)
        reference = self.labels.references[task.mode].get(task.name)
        if reference is None:
            raise WorkspaceError(f"{task.name} has no reference in the vault of its set")
        original = self.labels.originals.get(task.number) if task.mode is Mode.REVISE else None
        return InstanceLabels(reference, original, instance=instance)

    async def _run_cases(self, cell: BenchCell, cell_folder: Path) -> str:
        contestant, settings = self.plan.contestants[cell.contestant], self.settings
        tasks = {task.name: task for task in self.tasks(cell.subject)}
        async with AsyncExitStack() as stack:
            by_role: dict[str, Model] = {}
            checks: list[Reply] = []
            names = {"": contestant["agent"]} | ({JUDGE: settings.judge} if settings.judge else {})
            for role, name in names.items():
                if name in self.given_models:
                    by_role[role] = self.given_models[name]
                elif name not in AGENTS:
                    opened = await stack.enter_async_context(open_models(self.read_runtime(name)))
                    by_role[role], checks = opened, [*checks, *opened.checks]
            budget = self.read_runtime().budget
            study = stack.enter_context(Study(cell_folder, by_role, budget, cell.seed, self.workers))
            study.record_checks(checks)
            runner = ProgramRunner(self.sandbox, LIMITS)
            manner = Manner(FileInterface(contestant["interface"]), Track(contestant["track"]))

            async def run_case(case: LedgerCase) -> object:
                desk = cell_folder / "desks" / case.name
                return await self._run_task(case, tasks[case.name], desk, contestant["agent"], manner, runner)

            def report_case(finished: FinishedCase) -> None:
                self.note(cell, f"{finished.name}: {finished.result['outcome']}")

            await study.run_cases(list(tasks), run_case, report_case)
            return study.stop_reason

    async def _run_task(
        self, case: LedgerCase, task: WorkspaceTask, desk: Path, agent: str, manner: Manner, runner: ProgramRunner
    ) -> dict[str, Any]:
        labels = self.labels_of(task)
        folder = await asyncio.to_thread(lay_out, task, desk)
        if agent in AGENTS:
            work_done = await asyncio.to_thread(attempt_task, agent, task, folder, labels.instance, runner)
        else:
            writable = (PROGRAM[task.mode],) if task.mode in PROGRAM else ()
            work_done = await run_task(case, task, ToolSession(folder, runner, writable), manner)
        record = await self._score_work(case, task, folder, work_done, labels, runner)
        transcript = _make_transcript(case)
        if transcript:
            text = json.dumps(transcript, indent=1, ensure_ascii=False) + "\n"
            save_text(desk.parents[1] / "transcripts" / f"{task.name}.json", text)
        _store_output(desk.parents[1] / "submitted" / task.name, folder, work_done)
        shutil.rmtree(folder, ignore_errors=True)
        seconds = sum(reply.seconds for reply in case.replies)
        record |= {
            "planted": work_done.planted,
            "calls": work_done.calls,
            "end": work_done.end,
            "broken_citations": list(work_done.broken),
            "seconds": seconds,
            "prompt_tokens": sum(reply.tokens_in for reply in case.replies),
        }
        record["named"] = _names_planted_error(work_done.planted, record) if work_done.planted else None
        return record

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
        judged = await self._judge_answer(case, task, labels.rubric, work_done.answer)
        return grade_answer(task, work_done.answer, labels, judged)

    async def _judge_answer(
        self, case: LedgerCase, task: WorkspaceTask, rubric: Rubric, answer: str
    ) -> Judgement | None:
        penalty = self.settings.penalty_max
        if self.settings.judge:
            seen = gather_evidence(open_workspace(task.view, Mode.EXPLAIN))
            return await judge_answer(case, rubric, answer, seen, penalty)
        return by_predicates(rubric, answer) if all(criterion.predicate for criterion in rubric.semantic) else None


def score_cases(subject: str, cases: Sequence[FinishedCase]) -> float:
    """Pass@1 in percent, or mean points: of the total where a judge gave marks, else of coverage."""
    if not cases:
        return 0.0
    if subject != Mode.EXPLAIN:
        return 100.0 * sum(bool(case.result["passed"]) for case in cases) / len(cases)
    totals = [case.result["total"] for case in cases]
    points = totals if all(case is not None for case in totals) else [case.result["coverage"] for case in cases]
    return sum(map(float, points)) / len(points)


def labels_readable(root: Path, sandbox: Sandbox) -> bool:
    """Test whether a submitted program could read the set's labels here, by running one that tries."""
    files_of = [path for path in sorted((root / VAULT).rglob("*")) if path.is_file()][:1]
    if not files_of:
        return False
    source = f"open({str(files_of[0].resolve())!r}, 'rb').read(1)\n"
    return ProgramRunner(sandbox).run(_empty_view(root), "src/try.py", {"src/try.py": source}).code == 0


def _empty_view(root: Path) -> Path:
    """A view of the set, to run something in."""
    views = sorted((root / "views").iterdir())
    if not views:
        raise WorkspaceError(f"no views in {root}; expected those of a set")
    return views[0]


def _names_planted_error(planted: str, record: Mapping[str, Any]) -> bool:
    """Return True if the comparison names the planted error."""
    kind, _, name = planted.partition(": ")
    if record["passed"]:
        return False
    if kind == "operation":
        return name in record["missing_operations"]
    subject = name.removeprefix("objective ")
    return any(subject in text for text in record["differences"])


def _make_transcript(case: LedgerCase) -> list[dict[str, Any]]:
    return [
        {"role": reply.role, "prompt": json.loads(reply.prompt)[-6:], "reply": reply.text} for reply in case.replies
    ]


def _store_output(path: Path, folder: Path, work_done: AgentWork) -> None:
    """Keep what was submitted, so that it can be looked at and scored again."""
    program = (folder / work_done.path).read_text(encoding="utf-8", errors="replace") if work_done.path else ""
    save_text(path.with_suffix(".py" if work_done.path else ".md"), program if work_done.path else work_done.answer)

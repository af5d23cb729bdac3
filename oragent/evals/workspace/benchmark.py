"""Modes of a set by agents: each cell is a study in a folder of its own, which is gone on with where it was left."""

import asyncio
import json
import shutil
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from statistics import median
from typing import Any

from oragent._base import files
from oragent._base.direction import Direction
from oragent._base.errors import StoreError, WorkspaceError
from oragent.evals.bench.plan import BenchCell, BenchPlan
from oragent.evals.bench.result import BenchResult, Measure, ModeScore
from oragent.evals.bench.studies import Studies, budget_of
from oragent.evals.bench.terms import BenchTerms
from oragent.evals.workspace import evidence
from oragent.evals.workspace.agents import AGENTS, attempt
from oragent.evals.workspace.evaluating import InstanceLabels, answered, programmed
from oragent.evals.workspace.instances import read_instances
from oragent.evals.workspace.judging import Judgement, by_predicates
from oragent.evals.workspace.label_sets import VAULT, LabelSet, read_labels
from oragent.evals.workspace.roles import FileInterface, Manner, judge, work
from oragent.evals.workspace.rubric import Rubric
from oragent.evals.workspace.tasks import PROGRAM, WorkspaceTask, lay_out, tasks
from oragent.evals.workspace.views import RevisionView
from oragent.ledger import Study
from oragent.ledger.case import LedgerCase
from oragent.ledger.study import Finished
from oragent.llm.factory import open_models
from oragent.llm.model import Model
from oragent.llm.model_settings import ModelSettings
from oragent.llm.runtime_settings import RuntimeSettings
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


def subjects(modes: list[Mode], variants: list[RevisionView]) -> dict[str, Any]:
    """What is measured on: a mode each, and a revision once for each variant."""
    found: dict[str, Any] = {}
    for mode in modes:
        names = [str(variant) for variant in variants] if mode is Mode.REVISE else [str(mode)]
        found |= dict.fromkeys(names)
    return found


@dataclass
class WorkspaceBenchmark(Studies):
    """The runner of a plan's cells.

    Attributes:
        plan: What is measured; its settings name the set.
        workers: Instances at once; it changes no result.
        note: Told of each instance that is done, in words.
        asked: Models by name, in place of those of a server.
    """

    plan: BenchPlan
    workers: int = 1
    note: Callable[[BenchCell, str], None] = lambda cell, text: None
    asked: Mapping[str, Model] = field(default_factory=dict)

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
        return Path(self.plan.settings["set"])

    @cached_property
    def labels(self) -> LabelSet:
        """Labels of the set."""
        return read_labels(self.root)

    @cached_property
    def _known(self) -> Mapping[int, Any]:
        return read_instances(self.root)

    @property
    def sizes(self) -> str:
        """Variables and constraints of the set's exact models, where they are known; else empty."""
        models = [one.milp for one in self._known.values()]
        if not models:
            return ""
        parts = {"variables": [len(one.variables) for one in models], "constraints": [len(one.rows) for one in models]}
        return ", ".join(f"{min(all_)} to {max(all_)} {what} (median {median(all_):g})" for what, all_ in parts.items())

    def tasks(self, subject: str) -> tuple[WorkspaceTask, ...]:
        """The tasks of a mode."""
        mode = Mode.REVISE if subject.startswith("revise") else Mode(subject)
        variant = RevisionView(subject) if mode is Mode.REVISE else RevisionView.CODE
        return tasks(self.root, mode, variant, self.plan.settings.get("limit"))

    def cell_folder(self, cell: BenchCell, folder: Path) -> Path:
        """Folder of a cell."""
        safe = "".join(letter if letter.isalnum() or letter in "-." else "-" for letter in cell.contestant)
        return folder / cell.subject / safe / str(cell.seed)

    def case_names(self, cell: BenchCell) -> list[str]:
        """Names of the instances of a cell."""
        return [task.name for task in self.tasks(cell.subject)]

    def finish(self, cell: BenchCell, folder: Path) -> str:
        """Say what came of the cell."""
        done = self.finished_cases(cell, folder)
        return f"{score(cell.subject, done):.1f} on {len(done)}" if done else ""

    def read(self, cell: BenchCell, folder: Path) -> BenchResult:
        """What a complete cell came to."""
        done = self.finished_cases(cell, folder)
        failed = sum(not one.result["passed"] for one in done)
        scores = {"score": ModeScore(score(cell.subject, done))}
        return self.make_result(cell, folder, Measure(self.labels.title, Direction.MAXIMIZE), scores, failed)

    def labels_of(self, task: WorkspaceTask) -> InstanceLabels:
        """What is known of an instance, and by no agent.

        Raises:
            WorkspaceError: if the set has no label of it.
        """
        known = self._known.get(task.number)
        if task.mode is Mode.EXPLAIN:
            rubrics = [one for one in self.labels.rubrics.values() if one.number == task.number]
            if not rubrics:
                raise WorkspaceError(f"{task.name} has no rubric in the vault of its set")
            return InstanceLabels(rubric=rubrics[0], known=known)
        reference = self.labels.references[task.mode].get(task.name)
        if reference is None:
            raise WorkspaceError(f"{task.name} has no reference in the vault of its set")
        original = self.labels.originals.get(task.number) if task.mode is Mode.REVISE else None
        return InstanceLabels(reference, original, known=known)

    async def _run_cases(self, cell: BenchCell, cell_folder: Path) -> str:
        own, settings = self.plan.contestants[cell.contestant], self.plan.settings
        known = {task.name: task for task in self.tasks(cell.subject)}
        async with AsyncExitStack() as stack:
            by_role = {}
            names = {"": own["agent"]} | ({"judge": settings["judge"]} if settings.get("judge") else {})
            for role, name in names.items():
                if name in self.asked:
                    by_role[role] = self.asked[name]
                elif name not in AGENTS:
                    by_role[role] = await stack.enter_async_context(
                        open_models(RuntimeSettings(ModelSettings.bounded(name, settings)))
                    )
            budget = budget_of(settings)
            study = stack.enter_context(Study(cell_folder, by_role, budget, cell.seed, self.workers))
            runner = ProgramRunner(self.sandbox, LIMITS)
            manner = Manner(FileInterface(own["interface"]), Track(own["track"]))

            async def one(case: LedgerCase) -> object:
                desk = cell_folder / "desks" / case.name
                return await self._one(case, known[case.name], desk, own["agent"], manner, runner)

            def told(found: Finished) -> None:
                self.note(cell, f"{found.name}: {found.result['outcome']}")

            await study.run(list(known), one, told)
            return study.reason

    async def _one(
        self, case: LedgerCase, task: WorkspaceTask, desk: Path, agent: str, manner: Manner, runner: ProgramRunner
    ) -> dict[str, Any]:
        labels = self.labels_of(task)
        folder = await asyncio.to_thread(lay_out, task, desk)
        if agent in AGENTS:
            done = await asyncio.to_thread(attempt, agent, task, folder, labels.known, runner)
        else:
            writable = (PROGRAM[task.mode],) if task.mode in PROGRAM else ()
            done = await work(case, task, ToolSession(folder, runner, writable), manner)
        found = await self._scored(case, task, folder, done, labels, runner)
        transcript = _transcript(case)
        if transcript:
            _keep(desk.parents[1] / "transcripts" / f"{task.name}.json", transcript)
        _keep_output(desk.parents[1] / "submitted" / task.name, folder, done)
        shutil.rmtree(folder, ignore_errors=True)
        seconds = sum(reply.seconds for reply in case.replies)
        found |= {"planted": done.planted, "calls": done.calls, "end": done.end, "broken_citations": list(done.broken),
                  "seconds": seconds, "prompt_tokens": sum(reply.tokens_in for reply in case.replies)}  # fmt: skip
        found["named"] = _named(done.planted, found) if done.planted else None
        return found

    async def _scored(
        self,
        case: LedgerCase,
        task: WorkspaceTask,
        folder: Path,
        done: AgentWork,
        labels: InstanceLabels,
        runner: ProgramRunner,
    ) -> dict[str, Any]:
        if task.mode is not Mode.EXPLAIN:
            return await asyncio.to_thread(programmed, task, folder, done.path, labels, runner)
        assert labels.rubric is not None
        judged = await self._judged(case, task, labels.rubric, done.answer)
        return answered(task, done.answer, labels, judged)

    async def _judged(self, case: LedgerCase, task: WorkspaceTask, rubric: Rubric, answer: str) -> Judgement | None:
        penalty = float(self.plan.settings.get("penalty_max", 12.0))
        if self.plan.settings.get("judge"):
            seen = evidence.gather(open_workspace(task.view, Mode.EXPLAIN))
            return await judge(case, rubric, answer, seen, penalty)
        return by_predicates(rubric, answer) if all(one.predicate for one in rubric.semantic) else None


def score(subject: str, done: list[Finished]) -> float:
    """Pass@1 in percent, or mean points: of the total where a judge gave marks, else of coverage."""
    if not done:
        return 0.0
    if subject != Mode.EXPLAIN:
        return 100.0 * sum(bool(one.result["passed"]) for one in done) / len(done)
    totals = [one.result["total"] for one in done]
    points = totals if all(one is not None for one in totals) else [one.result["coverage"] for one in done]
    return sum(map(float, points)) / len(points)


def labels_readable(root: Path, sandbox: Sandbox) -> bool:
    """Whether a submitted program could read labels of the set here: one is run that tries."""
    files_of = [path for path in sorted((root / VAULT).rglob("*")) if path.is_file()][:1]
    if not files_of:
        return False
    source = f"open({str(files_of[0].resolve())!r}, 'rb').read(1)\n"
    return ProgramRunner(sandbox).run(_empty(root), "src/try.py", {"src/try.py": source}).code == 0


def _empty(root: Path) -> Path:
    """A view of the set, to run something in."""
    views = sorted((root / "views").iterdir())
    if not views:
        raise WorkspaceError(f"no views in {root}; expected those of a set")
    return views[0]


def _named(planted: str, found: Mapping[str, Any]) -> bool:
    """Whether the comparison names the error that was put in."""
    kind, _, name = planted.partition(": ")
    if found["passed"]:
        return False
    if kind == "operation":
        return name in found["missing_operations"]
    subject = name.removeprefix("objective ")
    return any(subject in text for text in found["differences"])


def _transcript(case: LedgerCase) -> list[dict[str, Any]]:
    return [{"role": one.role, "prompt": json.loads(one.prompt)[-6:], "reply": one.text} for one in case.replies]


def _keep(path: Path, value: Any) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        files.replace(path, json.dumps(value, indent=1, ensure_ascii=False) + "\n")
    except OSError as problem:
        raise StoreError(f"cannot write {path}: {problem}; make room and go on") from None


def _keep_output(path: Path, folder: Path, done: AgentWork) -> None:
    """Keep what was submitted, so that it can be looked at and scored again."""
    text = (folder / done.path).read_text(encoding="utf-8", errors="replace") if done.path else done.answer
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        files.replace(path.with_suffix(".py" if done.path else ".md"), text)
    except OSError as problem:
        raise StoreError(f"cannot write {path}: {problem}; make room and go on") from None

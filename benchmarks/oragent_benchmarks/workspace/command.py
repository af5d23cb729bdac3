"""Command ``oragent bench workspace``: plan, run or resume, print tables, write the page."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console

from oragent._base.errors import ConfigError
from oragent.evals.bench.driver import page_template
from oragent.evals.bench.plan import BenchPlan, Manifest
from oragent.evals.bench.tables import TextTable
from oragent.llm.model import Model
from oragent.workspace.layout import Mode
from oragent_benchmarks.cases import case_table, difference_table
from oragent_benchmarks.driver import BenchCommand, Line, save_text
from oragent_benchmarks.requests import BenchRequest
from oragent_benchmarks.workspace import tables
from oragent_benchmarks.workspace.benchmark import TERMS, WorkspaceBenchmark
from oragent_benchmarks.workspace.outputs import prediction_scores, question_floor
from oragent_benchmarks.workspace.published import PROTOCOL, published_table
from oragent_benchmarks.workspace.views import RevisionView, fitting_subject

MANIFEST = Manifest("workspace-bench.yaml", TERMS, free=("workers", "timeout_s"))
IN_A_TERMINAL = (
    "agent",
    "instances",
    "Pass@1",
    "points",
    "95 %",
    "backed",
    "coverage",
    "citations that fail",
    "tool calls",
)


@dataclass(frozen=True)
class WorkspaceBenchRequest(BenchRequest):
    """Request of ``bench workspace``.

    Attributes:
        root: Folder of the set. None means the set of the benchmark in the folder.
        modes, variants, agents: Measured combinations; all of them are run.
        settings: Limit on instances, judge, largest penalty, budget, whether labels may be readable, maximum length of
            a reply (``max_tokens``) and maximum seconds per reply (``timeout_s``).
    """

    root: Path | None = None
    modes: Sequence[Mode] = tuple(Mode)
    variants: Sequence[RevisionView] = (RevisionView.CODE,)
    agents: Sequence[str] = ()
    seeds: int = 1
    settings: Mapping[str, Any] = field(default_factory=dict)


def run_bench(request: WorkspaceBenchRequest, console: Console, models: Mapping[str, Model] | None = None) -> int:
    """Run the missing cells of a benchmark, print its tables and write its page. Return the exit code."""
    bench = WorkspaceBenchmark(_make_plan(request), request.workers, given_models=models or {}, words=request.words)
    try:
        for subject in bench.plan.subjects:
            # A set without this mode is refused before any model is called.
            bench.tasks(subject)
        return COMMAND.run(bench, request.outputs, console, confirm=request.confirm)
    finally:
        bench.close()


def _show_results(bench: WorkspaceBenchmark, folder: Path) -> Iterator[Line | TextTable]:
    for subject, rows in bench.measure(folder, tables.MeasuredAgent).items():
        yield Line(f"\n{subject}: {bench.labels.title}", "bold")
        table = tables.score_table(subject, rows)
        yield table.drop_columns(*(head for head in table.heads if head not in IN_A_TERMINAL))
        yield from map(Line, _subject_lines(bench, subject))


def _make_plan(request: WorkspaceBenchRequest) -> BenchPlan:
    if request.root is None:
        return MANIFEST.read_plan(request.outputs)
    if not request.agents:
        raise ConfigError("nobody is measured: name a model with --models, or copy")
    variants = dict.fromkeys(
        fitting_subject(request.root, variant) if Mode.REVISE in request.modes else variant
        for variant in request.variants
    )
    contestants = {agent: {"agent": agent} for agent in request.agents}
    given = {name: value for name, value in request.settings.items() if value is not None}
    named = [name for mode in request.modes for name in (variants if mode is Mode.REVISE else [mode])]
    subjects = dict.fromkeys(map(str, named))
    return BenchPlan(TERMS, subjects, contestants, tuple(range(request.seeds)), {"set": str(request.root)} | given)


def _subject_lines(bench: WorkspaceBenchmark, subject: str) -> list[str]:
    """Describe the floor of a mode."""
    labels, lines = bench.labels, list[str]()
    if subject == Mode.EXPLAIN and (floor := question_floor(labels)) is not None:
        lines.append(f"floor: the question itself as an answer covers {floor:.2f} of 35 points")
    elif subject.startswith("revise") and labels.originals:
        rate = prediction_scores(labels, "originals")[Mode.REVISE].pass_rate
        lines.append(f"floor: an unchanged model passes {rate:.2f} %")
    return lines


def _write_page(bench: WorkspaceBenchmark, folder: Path) -> Path:
    parts = [
        {
            "name": subject,
            "scores": tables.score_table(subject, rows),
            "floors": _subject_lines(bench, subject),
            "failures": None if subject == Mode.EXPLAIN else tables.failure_table(rows),
            "groups": tables.group_table(subject, rows),
            "differences": difference_table([row.group for row in rows], "instances") if len(rows) > 1 else None,
            "published": published_table(subject, [row.contestant for row in rows]),
            "instances": case_table(rows, "instance", lambda case: str(case.result["outcome"])),
        }
        for subject, rows in bench.measure(folder, tables.MeasuredAgent).items()
    ]
    text = page_template(Path(__file__)).render(
        plan=bench.plan,
        parts=parts,
        settings=dict(bench.plan.settings),
        title=bench.labels.title,
        readable=bool(bench.readable),
        protocol=PROTOCOL,
    )
    return save_text(folder / "report.html", text)


COMMAND = BenchCommand(MANIFEST, lambda plan, folder: WorkspaceBenchmark(plan), _show_results, _write_page)
show_bench = COMMAND.show_folder

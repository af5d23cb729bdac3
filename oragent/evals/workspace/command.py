"""Run ``oragent bench workspace``: plan, run or resume, print tables, write the page."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

from rich.console import Console
from rich.text import Text

from oragent._base.errors import ConfigError, OragentError, StoreError
from oragent._base.files import replace_file
from oragent.evals.bench.board import Board, rich_table
from oragent.evals.bench.execute import execute_plan
from oragent.evals.bench.manifest import Manifest
from oragent.evals.bench.plan import BenchCell, BenchPlan
from oragent.evals.workspace.across_modes import gain_table, published_tables, rate_table, token_table, track_table
from oragent.evals.workspace.agents import FileInterface
from oragent.evals.workspace.benchmark import TERMS, WorkspaceBenchmark, labels_readable, list_subjects
from oragent.evals.workspace.generating import DOMAINS, GenerateRequest, generate_set
from oragent.evals.workspace.outputs import explain_scores, prediction_scores
from oragent.evals.workspace.published import PROTOCOL
from oragent.evals.workspace.tables import (
    MeasuredAgent,
    ceiling_lines,
    difference_table,
    failure_table,
    floor_lines,
    group_tables,
    instance_table,
    published_table,
    score_table,
)
from oragent.evals.workspace.tasks import fitting_subject
from oragent.evals.workspace.views import RevisionView
from oragent.llm.model import Model
from oragent.report.pages.html import make_environment
from oragent.workspace.layout import Mode
from oragent.workspace.roles import Track

MANIFEST = Manifest("workspace-bench.yaml", TERMS, free=("workers", "timeout_s"))
IN_A_TERMINAL = ("agent", "instances", "Pass@1", "points", "95 %", "backed", "equivalent", "preserved", "coverage",
                 "named", "citations that fail", "tool calls")  # fmt: skip
COMPLETE, UNFINISHED, STOPPED = 0, 3, 130  # exit codes


@dataclass(frozen=True)
class WorkspaceBenchRequest:
    """Request of the command line.

    Attributes:
        outputs: Folder of the benchmark.
        root: Folder of the set; None goes on with what the folder holds.
        modes, variants, interfaces, tracks, agents: What is measured, every one with every other.
        seeds: Number of seeds, from 0.
        settings: Limit on instances, judge, largest penalty, budget, whether labels may be readable, how long a reply
            may be (``max_tokens``) and how long it may take (``timeout_s``).
        workers: Instances at once.
    """

    outputs: Path
    root: Path | None = None
    modes: Sequence[Mode] = tuple(Mode)
    variants: Sequence[RevisionView] = (RevisionView.CODE,)
    interfaces: Sequence[FileInterface] = (FileInterface.FILESYSTEM,)
    tracks: Sequence[Track] = (Track.PULP,)
    agents: Sequence[str] = ()
    seeds: int = 1
    settings: Mapping[str, Any] = field(default_factory=dict)
    workers: int = 1


def run_bench(request: WorkspaceBenchRequest, console: Console, models: Mapping[str, Model] | None = None) -> int:
    """Run what is missing of a benchmark, print its tables, write its page.

    Args:
        request: Request of the command line.
        console: Where tables go.
        models: Models by name, instead of those of a server.

    Returns:
        Exit code: 0 where all is done, 3 where not, 130 where a person stopped it.

    Raises:
        OragentError: if the plan is wrong, or the set cannot be read.
    """
    plan = _make_plan(request)
    bench = WorkspaceBenchmark(plan, request.workers, given_models=models or {})
    try:
        return _run_cells(request, plan, bench, console)
    finally:
        bench.close()


def _run_cells(request: WorkspaceBenchRequest, plan: BenchPlan, bench: WorkspaceBenchmark, console: Console) -> int:
    for subject in plan.subjects:
        bench.tasks(subject)  # a set without it is refused before anything is paid for
    readable = labels_readable(bench.root, bench.sandbox)
    if readable and not plan.settings.get("labels_readable"):
        raise OragentError(
            "this machine cannot keep the set's labels from submitted programs ('oragent doctor' says what is "
            "missing): run it elsewhere, or with --labels-readable, which its page then says"
        )
    MANIFEST.write_plan(plan, request.outputs)
    stopped = False
    with Board(plan) as board:
        bench.note = board.show_progress
        for cell_report in execute_plan(plan, bench, request.outputs):
            board.report_cell(cell_report)
            stopped = cell_report.end.stopped
    complete = _report_results(plan, bench, request.outputs, readable, console)
    return STOPPED if stopped else COMPLETE if complete else UNFINISHED


def generate_and_report(domains: list[str], count: int, seed: int, out: Path, console: Console) -> int:
    """Make a set and say what is in it.

    Raises:
        WorkspaceError: It cannot be made.
    """
    names = tuple(DOMAINS) if domains in ([], ["all"]) else tuple(domains)
    request = GenerateRequest(names, count, seed)
    instances = generate_set(request, out, lambda text: console.print(Text(text), soft_wrap=True))
    variables, rows = ([len(getattr(instance.milp, part)) for instance in instances] for part in ("variables", "rows"))
    lines = {
        "instances": f"{3 * len(instances)}: {len(instances)} build, {len(instances)} revise, {len(instances)} explain",
        "revisions": _format_counts(instance.revision for instance in instances),
        "depths": _format_counts(instance.depth for instance in instances),
        "noise": _format_counts(step.kind for instance in instances for step in instance.noise),
        "sizes": f"{min(variables)} to {max(variables)} variables, {min(rows)} to {max(rows)} constraints",
    }
    for name, text in lines.items():
        console.print(Text(f"{name}: {text}"), soft_wrap=True)
    console.print(Text(f"views in {out}/views, labels in {out}/vault"), soft_wrap=True)
    return 0


def _format_counts(names: Iterable[str]) -> str:
    return ", ".join(f"{count} {name}" for name, count in sorted(Counter(names).items()))


def show_bench(folder: Path, console: Console, *, write: bool = True) -> int:
    """Print the tables of a benchmark as far as it is done; nobody is asked.

    Args:
        folder: Folder of the benchmark.
        console: Console to print on.
        write: Whether its page is written too.

    Returns:
        Exit code: 0 where all is done, 3 where not.

    Raises:
        OragentError: if the folder was changed by hand, or its set cannot be read any more.
    """
    plan = MANIFEST.read_plan(folder)
    bench = WorkspaceBenchmark(plan)
    try:
        readable = bool(plan.settings.get("labels_readable")) and labels_readable(bench.root, bench.sandbox)
        return COMPLETE if _report_results(plan, bench, folder, readable, console, write=write) else UNFINISHED
    finally:
        bench.close()


def _report_results(
    plan: BenchPlan, bench: WorkspaceBenchmark, folder: Path, readable: bool, console: Console, *, write: bool = True
) -> bool:
    """Print the tables, write the page; return whether all is done."""
    agents_by_mode = measure_agents(plan, bench, folder)
    for subject, rows in agents_by_mode.items():
        console.print(Text(f"\n{subject}: {bench.labels.title}", style="bold"), soft_wrap=True)
        table = score_table(subject, rows)
        console.print(rich_table(table.drop_columns(*(head for head in table.heads if head not in IN_A_TERMINAL))))
        for text in _subject_lines(bench, subject):
            console.print(Text(text), soft_wrap=True)
    if write:
        path = _write_page(folder, plan, bench, agents_by_mode, readable)
        console.print(f"report: {path}", highlight=False, markup=False, soft_wrap=True)
    return all(bench.is_complete(cell, folder) for cell in plan.cells)


def measure_agents(plan: BenchPlan, bench: WorkspaceBenchmark, folder: Path) -> dict[str, list[MeasuredAgent]]:
    """Measure the agents on what is finished, by mode."""
    agents_by_mode: dict[str, list[MeasuredAgent]] = {}
    for subject in plan.subjects:
        for name, settings in plan.contestants.items():
            cells = [BenchCell(subject, name, seed) for seed in plan.seeds]
            cases_by_cell = {cell: bench.finished_cases(cell, folder) for cell in cells}
            agents_by_mode.setdefault(subject, []).append(
                MeasuredAgent(subject, name, settings, cases_by_cell, len(cells) * len(bench.tasks(subject)))
            )
    return agents_by_mode


def _make_plan(request: WorkspaceBenchRequest) -> BenchPlan:
    if request.root is None:
        return MANIFEST.read_plan(request.outputs)
    if not request.agents:
        raise ConfigError(
            "nobody is measured: name a model or agent with --models, such as oracle, copy, planted, records"
        )
    variants = dict.fromkeys(
        fitting_subject(request.root, variant) if Mode.REVISE in request.modes else variant
        for variant in request.variants
    )
    many = len(request.interfaces) > 1, len(request.tracks) > 1
    contestants = {}
    for agent in request.agents:
        for interface in request.interfaces:
            for track in request.tracks:
                label = agent + (f", {interface}" if many[0] else "") + (f", {track}" if many[1] else "")
                contestants[label] = {"agent": agent, "interface": str(interface), "track": str(track)}
    settings = {"set": str(request.root)} | {
        name: value for name, value in request.settings.items() if value is not None
    }
    return BenchPlan(
        TERMS, list_subjects(list(request.modes), list(variants)), contestants, tuple(range(request.seeds)), settings
    )


def _measure_floor(bench: WorkspaceBenchmark, subject: str) -> float | None:
    labels = bench.labels
    if subject == Mode.EXPLAIN:
        return explain_scores(labels, "questions", "none", 12.0).coverage if labels.rubrics else None
    if subject.startswith("revise") and labels.originals:
        return prediction_scores(labels, "originals")[Mode.REVISE].pass_rate
    return None


def _subject_lines(bench: WorkspaceBenchmark, subject: str) -> list[str]:
    """Return the floor of a mode, what its views lack, and how much can be reached at all."""
    lines = floor_lines(subject, _measure_floor(bench, subject))
    if subject == Mode.EXPLAIN:
        lines += ceiling_lines(bench.tasks(subject), bench.labels.rubrics.values())
    elif subject.startswith("revise"):
        other = [task.number for task in bench.tasks(subject) if task.variant != subject]
        numbers = ", ".join(map(str, other))
        lines += (
            [f"{len(other)} revisions show {RevisionView.MODEL}, as they have no program: {numbers}"] if other else []
        )
    return lines


def _write_page(
    folder: Path,
    plan: BenchPlan,
    bench: WorkspaceBenchmark,
    agents_by_mode: Mapping[str, Sequence[MeasuredAgent]],
    readable: bool,
) -> Path:
    parts = [
        {
            "name": subject, "scores": score_table(subject, rows),
            "floors": _subject_lines(bench, subject),
            "failures": None if subject == Mode.EXPLAIN else failure_table(rows),
            "groups": group_tables(subject, rows), "differences": difference_table(rows) if len(rows) > 1 else None,
            "published": published_table(subject, rows), "instances": instance_table(rows),
            "links": _link_files(folder, bench, rows),
        }
        for subject, rows in agents_by_mode.items()
    ]  # fmt: skip
    folders = Path(__file__).parent, Path(__file__).parents[1] / "bench"
    text = make_environment(*folders).get_template("page.html").render(
        plan=plan, parts=parts, settings=dict(plan.settings), title=bench.labels.title, readable=readable,
        protocol=PROTOCOL, sizes=bench.sizes, published=published_tables(),
        together=[(title, table) for title, table in (
            ("Programs that ran, and whose model has a point", rate_table(agents_by_mode)),
            ("Gains and correlations", gain_table(agents_by_mode)),
            ("Solver tracks, and how far modes lie apart", track_table(agents_by_mode)),
            ("What prompt tokens buy", token_table(agents_by_mode)),
        ) if table is not None],
    )  # fmt: skip
    try:
        replace_file(folder / "report.html", text)
    except OSError as problem:
        raise StoreError(f"cannot write the report of {folder}: {problem}") from None
    return folder / "report.html"


def _link_files(folder: Path, bench: WorkspaceBenchmark, rows: Sequence[MeasuredAgent]) -> list[list[tuple[str, str]]]:
    """Transcripts and submitted files of each instance, in the order of the table of instances."""
    names = dict.fromkeys(
        (cell.seed, case.name) for row in rows for cell, cases in row.cases_by_cell.items() for case in cases
    )
    links = []
    for seed, name in names:
        case_links = []
        for row in rows:
            cell_folder = bench.cell_folder(BenchCell(row.subject, row.contestant, seed), folder)
            paths = [
                cell_folder / f"transcripts/{name}.json",
                *(cell_folder / f"submitted/{name}.{form}" for form in ("py", "md")),
            ]
            case_links += [
                (f"{row.contestant} {path.parent.name}", quote(str(path.relative_to(folder))))
                for path in paths
                if path.is_file()
            ]
        links.append(case_links)
    return links

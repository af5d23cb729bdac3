"""What ``oragent bench workspace`` does with agents: plan, run or go on, tables, page."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

from rich.console import Console
from rich.text import Text

from oragent._base.errors import ConfigError, OragentError, StoreError
from oragent._base.files import replace
from oragent.evals.bench.board import Board, rich_table
from oragent.evals.bench.execute import execute_plan
from oragent.evals.bench.manifest import Manifest
from oragent.evals.bench.plan import BenchCell, BenchPlan
from oragent.evals.workspace.across_modes import gain_table, published_tables, rate_table, token_table, track_table
from oragent.evals.workspace.benchmark import TERMS, WorkspaceBenchmark, labels_readable, subjects
from oragent.evals.workspace.generating import DOMAINS, GenerateRequest, generate_set
from oragent.evals.workspace.outputs import explain_scores, prediction_scores
from oragent.evals.workspace.published import PROTOCOL
from oragent.evals.workspace.roles import FileInterface
from oragent.evals.workspace.tables import (
    MeasuredAgent,
    difference_table,
    failure_table,
    floor_lines,
    group_tables,
    instance_table,
    published_table,
    score_table,
)
from oragent.evals.workspace.views import RevisionView
from oragent.llm.model import Model
from oragent.report.pages.html import make_environment
from oragent.workspace.layout import Mode
from oragent.workspace.roles import Track

MANIFEST = Manifest("workspace-bench.yaml", TERMS, free=("workers", "timeout_s"))
IN_A_TERMINAL = ("agent", "instances", "Pass@1", "points", "95 %", "at 1e-6", "preserved", "coverage", "named",
                 "citations that fail", "tool calls")  # fmt: skip
COMPLETE, UNFINISHED, STOPPED = 0, 3, 130  # exit codes


@dataclass(frozen=True)
class WorkspaceBenchRequest:
    """What the command line says.

    Attributes:
        outputs: Folder of the benchmark.
        root: Folder of the set; None goes on with what the folder holds.
        modes, variants, interfaces, tracks, agents: What is measured, every one with every other.
        seeds: How many, from 0 on.
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


def run_bench(request: WorkspaceBenchRequest, console: Console, asked: Mapping[str, Model] | None = None) -> int:
    """Run what is missing of a benchmark, print its tables, write its page.

    Args:
        request: What the command line says.
        console: Where tables go.
        asked: Models by name in place of those of a server.

    Returns:
        Exit code: 0 where all is done, 3 where not, 130 where a person stopped it.

    Raises:
        OragentError: if the plan is wrong, or the set cannot be read.
    """
    plan = _plan(request)
    bench = WorkspaceBenchmark(plan, request.workers, asked=asked or {})
    try:
        return _run(request, plan, bench, console)
    finally:
        bench.close()


def _run(request: WorkspaceBenchRequest, plan: BenchPlan, bench: WorkspaceBenchmark, console: Console) -> int:
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
        for done in execute_plan(plan, bench, request.outputs):
            board.report_cell(done)
            stopped = done.end.stopped
    complete = _told(plan, bench, request.outputs, readable, console)
    return STOPPED if stopped else COMPLETE if complete else UNFINISHED


def generate(domains: list[str], count: int, seed: int, out: Path, console: Console) -> int:
    """Make a set and say what is in it.

    Raises:
        WorkspaceError: It cannot be made.
    """
    names = tuple(DOMAINS) if domains in ([], ["all"]) else tuple(domains)
    request = GenerateRequest(names, count, seed)
    made = generate_set(request, out, lambda text: console.print(Text(text), soft_wrap=True))
    variables, rows = ([len(getattr(one.milp, part)) for one in made] for part in ("variables", "rows"))
    lines = {
        "instances": f"{3 * len(made)}: {len(made)} build, {len(made)} revise, {len(made)} explain",
        "revisions": _count(one.revision for one in made),
        "depths": _count(one.depth for one in made),
        "noise": _count(step.kind for one in made for step in one.noise),
        "sizes": f"{min(variables)} to {max(variables)} variables, {min(rows)} to {max(rows)} constraints",
    }
    for name, text in lines.items():
        console.print(Text(f"{name}: {text}"), soft_wrap=True)
    console.print(Text(f"views in {out}/views, labels in {out}/vault"), soft_wrap=True)
    return 0


def _count(names: Iterable[str]) -> str:
    return ", ".join(f"{count} {name}" for name, count in sorted(Counter(names).items()))


def show_bench(folder: Path, console: Console) -> int:
    """Print the tables of a benchmark as far as it is done, and write its page; nobody is asked.

    Returns:
        Exit code: 0 where all is done, 3 where not.

    Raises:
        OragentError: if the folder was changed by hand, or its set cannot be read any more.
    """
    plan = MANIFEST.read_plan(folder)
    bench = WorkspaceBenchmark(plan)
    try:
        readable = bool(plan.settings.get("labels_readable")) and labels_readable(bench.root, bench.sandbox)
        return COMPLETE if _told(plan, bench, folder, readable, console) else UNFINISHED
    finally:
        bench.close()


def _told(plan: BenchPlan, bench: WorkspaceBenchmark, folder: Path, readable: bool, console: Console) -> bool:
    """Print the tables and write the page; whether all is done."""
    found = measured(plan, bench, folder)
    for subject, rows in found.items():
        console.print(Text(f"\n{subject}: {bench.labels.title}", style="bold"), soft_wrap=True)
        table = score_table(subject, rows)
        console.print(rich_table(table.drop_columns(*(head for head in table.heads if head not in IN_A_TERMINAL))))
        for line in floor_lines(subject, _floor(bench, subject)):
            console.print(Text(line), soft_wrap=True)
    path = _write_page(folder, plan, bench, found, readable)
    console.print(f"report: {path}", highlight=False, markup=False, soft_wrap=True)
    return all(bench.is_complete(cell, folder) for cell in plan.cells)


def measured(plan: BenchPlan, bench: WorkspaceBenchmark, folder: Path) -> dict[str, list[MeasuredAgent]]:
    """What is done so far, by mode, a row an agent."""
    found: dict[str, list[MeasuredAgent]] = {}
    for subject in plan.subjects:
        for name, own in plan.contestants.items():
            cells = [BenchCell(subject, name, seed) for seed in plan.seeds]
            done = {cell: bench.finished_cases(cell, folder) for cell in cells}
            found.setdefault(subject, []).append(
                MeasuredAgent(subject, name, own, done, len(cells) * len(bench.tasks(subject)))
            )
    return found


def _plan(request: WorkspaceBenchRequest) -> BenchPlan:
    if request.root is None:
        return MANIFEST.read_plan(request.outputs)
    if not request.agents:
        raise ConfigError(
            "nobody is measured: name a model or agent with --models, such as oracle, copy, planted, records"
        )
    many = len(request.interfaces) > 1, len(request.tracks) > 1
    contestants = {}
    for agent in request.agents:
        for interface in request.interfaces:
            for track in request.tracks:
                label = agent + (f", {interface}" if many[0] else "") + (f", {track}" if many[1] else "")
                contestants[label] = {"agent": agent, "interface": str(interface), "track": str(track)}
    settings = {"set": str(request.root)} | {name: one for name, one in request.settings.items() if one is not None}
    return BenchPlan(
        TERMS, subjects(list(request.modes), list(request.variants)), contestants, tuple(range(request.seeds)), settings
    )


def _floor(bench: WorkspaceBenchmark, subject: str) -> float | None:
    labels = bench.labels
    if subject == Mode.EXPLAIN:
        return explain_scores(labels, "questions", "none", 12.0).coverage if labels.rubrics else None
    if subject.startswith("revise") and labels.originals:
        return prediction_scores(labels, "originals")[Mode.REVISE].rate
    return None


def _write_page(
    folder: Path,
    plan: BenchPlan,
    bench: WorkspaceBenchmark,
    found: Mapping[str, Sequence[MeasuredAgent]],
    readable: bool,
) -> Path:
    parts = [
        {
            "name": subject, "scores": score_table(subject, rows),
            "floors": floor_lines(subject, _floor(bench, subject)),
            "failures": None if subject == Mode.EXPLAIN else failure_table(rows),
            "groups": group_tables(subject, rows), "differences": difference_table(rows) if len(rows) > 1 else None,
            "published": published_table(subject, rows), "instances": instance_table(rows),
            "links": _links(folder, bench, rows),
        }
        for subject, rows in found.items()
    ]  # fmt: skip
    folders = Path(__file__).parent, Path(__file__).parents[1] / "bench"
    text = make_environment(*folders).get_template("page.html").render(
        plan=plan, parts=parts, settings=dict(plan.settings), title=bench.labels.title, readable=readable,
        protocol=PROTOCOL, sizes=bench.sizes, published=published_tables(),
        together=[(title, table) for title, table in (
            ("Programs that ran, and whose model has a point", rate_table(found)),
            ("Gains and correlations", gain_table(found)),
            ("Solver tracks, and how far modes lie apart", track_table(found)),
            ("What prompt tokens buy", token_table(found)),
        ) if table is not None],
    )  # fmt: skip
    try:
        replace(folder / "report.html", text)
    except OSError as problem:
        raise StoreError(f"cannot write the report of {folder}: {problem}") from None
    return folder / "report.html"


def _links(folder: Path, bench: WorkspaceBenchmark, rows: Sequence[MeasuredAgent]) -> list[list[tuple[str, str]]]:
    """Transcripts and submitted files of each instance, in the order of the table of instances."""
    names = dict.fromkeys((cell.seed, one.name) for row in rows for cell, found in row.done.items() for one in found)
    links = []
    for seed, name in names:
        own = []
        for row in rows:
            place = bench.cell_folder(BenchCell(row.subject, row.contestant, seed), folder)
            paths = [place / f"transcripts/{name}.json", *(place / f"submitted/{name}.{form}" for form in ("py", "md"))]
            own += [
                (f"{row.contestant} {path.parent.name}", quote(str(path.relative_to(folder))))
                for path in paths if path.is_file()
            ]  # fmt: skip
        links.append(own)
    return links

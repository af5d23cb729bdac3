"""Command ``oragent bench workspace``: plan, run or resume, print tables, write the page."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any
from urllib.parse import quote

from rich.console import Console

from oragent._base.errors import ConfigError
from oragent.evals.bench.cases import difference_table
from oragent.evals.bench.driver import BenchCommand, Line, page_template, save_text
from oragent.evals.bench.plan import BenchCell, BenchPlan, Manifest
from oragent.evals.bench.tables import TextTable
from oragent.evals.requests import BenchRequest
from oragent.evals.workspace import across_modes, tables
from oragent.evals.workspace.agents import FileInterface, Track
from oragent.evals.workspace.benchmark import TERMS, WorkspaceBenchmark, list_subjects
from oragent.evals.workspace.outputs import prediction_scores, question_floor
from oragent.evals.workspace.views import RevisionView, fitting_subject
from oragent.llm.model import Model
from oragent.workspace.layout import Mode

MANIFEST = Manifest("workspace-bench.yaml", TERMS, free=("workers", "timeout_s"))
IN_A_TERMINAL = (
    "agent",
    "instances",
    "Pass@1",
    "points",
    "95 %",
    "backed",
    "equivalent",
    "preserved",
    "coverage",
    "named",
    "citations that fail",
    "tool calls",
)


@dataclass(frozen=True)
class WorkspaceBenchRequest(BenchRequest):
    """Request of ``bench workspace``.

    Attributes:
        root: Folder of the set. None means the set of the benchmark in the folder.
        modes, variants, interfaces, tracks, agents: Measured combinations; all of them are run.
        settings: Limit on instances, judge, largest penalty, budget, whether labels may be readable, maximum length of
            a reply (``max_tokens``) and maximum seconds per reply (``timeout_s``).
    """

    root: Path | None = None
    modes: Sequence[Mode] = tuple(Mode)
    variants: Sequence[RevisionView] = (RevisionView.CODE,)
    interfaces: Sequence[FileInterface] = (FileInterface.FILESYSTEM,)
    tracks: Sequence[Track] = (Track.PULP,)
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
        raise ConfigError("no agent is named: name a model or agent with --models, such as oracle, copy or planted")
    variants = dict.fromkeys(
        fitting_subject(request.root, variant) if Mode.REVISE in request.modes else variant
        for variant in request.variants
    )
    contestants = {}
    for agent, interface, track in product(request.agents, request.interfaces, request.tracks):
        label = agent + (f", {interface}" if len(request.interfaces) > 1 else "")
        if len(request.tracks) > 1:
            label += f", {track}"
        else:
            label += ""
        contestants[label] = {"agent": agent, "interface": str(interface), "track": str(track)}
    given = {name: value for name, value in request.settings.items() if value is not None}
    subjects = list_subjects(list(request.modes), list(variants))
    return BenchPlan(TERMS, subjects, contestants, tuple(range(request.seeds)), {"set": str(request.root)} | given)


def _subject_lines(bench: WorkspaceBenchmark, subject: str) -> list[str]:
    """Describe the score of an unchanged model, missing parts of the views, and the highest reachable score."""
    labels, lines = bench.labels, list[str]()
    if subject == Mode.EXPLAIN and (floor := question_floor(labels)) is not None:
        lines.append(f"floor: the question itself as an answer covers {floor:.2f} of 35 points")
    elif subject.startswith("revise") and labels.originals:
        rate = prediction_scores(labels, "originals")[Mode.REVISE].pass_rate
        lines.append(f"floor: an unchanged model passes {rate:.2f} %")
    if subject == Mode.EXPLAIN:
        lines += tables.ceiling_lines(bench.tasks(subject), bench.labels.rubrics.values())
    elif subject.startswith("revise"):
        other = [task.number for task in bench.tasks(subject) if task.variant != subject]
        if other:
            numbers = ", ".join(map(str, other))
            lines.append(f"{len(other)} revisions show {RevisionView.MODEL}, as they have no program: {numbers}")
    return lines


def _write_page(bench: WorkspaceBenchmark, folder: Path) -> Path:
    agents_by_mode = bench.measure(folder, tables.MeasuredAgent)
    parts = [
        {
            "name": subject,
            "scores": tables.score_table(subject, rows),
            "floors": _subject_lines(bench, subject),
            "failures": None if subject == Mode.EXPLAIN else tables.failure_table(rows),
            "groups": tables.group_tables(subject, rows),
            "differences": difference_table([row.group for row in rows], "instances") if len(rows) > 1 else None,
            "published": across_modes.published_table(subject, rows),
            "instances": tables.instance_table(rows),
            "links": _link_files(folder, bench, rows),
        }
        for subject, rows in agents_by_mode.items()
    ]
    text = page_template(Path(__file__)).render(
        plan=bench.plan,
        parts=parts,
        settings=dict(bench.plan.settings),
        title=bench.labels.title,
        readable=bool(bench.readable),
        protocol=across_modes.PROTOCOL,
        sizes=bench.sizes,
        published=across_modes.published_tables(),
        together=[
            (title, table)
            for title, table in (
                ("Programs that ran, and models with a feasible point", across_modes.rate_table(agents_by_mode)),
                ("Gains and correlations", across_modes.gain_table(agents_by_mode)),
                ("Solver tracks, and differences between modes", across_modes.track_table(agents_by_mode)),
                ("Scores by prompt tokens", across_modes.token_table(agents_by_mode)),
            )
            if table is not None
        ],
    )
    return save_text(folder / "report.html", text)


COMMAND = BenchCommand(MANIFEST, lambda plan, folder: WorkspaceBenchmark(plan), _show_results, _write_page)
show_bench = COMMAND.show_folder


def _link_files(
    folder: Path, bench: WorkspaceBenchmark, rows: Sequence[tables.MeasuredAgent]
) -> list[list[tuple[str, str]]]:
    """Return links to transcripts and submitted files of each instance, in the order of the table of instances."""
    names = dict.fromkeys(key for row in rows for key in row.by_name)
    links = []
    for seed, name in names:
        case_links = []
        for row in rows:
            cell_folder = bench.cell_folder(BenchCell(row.subject, row.contestant, seed), folder)
            names_of = (f"transcripts/{name}.json", f"submitted/{name}.py", f"submitted/{name}.md")
            paths = [cell_folder / path for path in names_of]
            case_links += [
                (f"{row.contestant} {path.parent.name}", quote(str(path.relative_to(folder))))
                for path in paths
                if path.is_file()
            ]
        links.append(case_links)
    return links

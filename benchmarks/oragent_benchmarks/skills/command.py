"""Command ``oragent bench skills``: plan, run or resume, print tables, write them as Markdown."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console

from oragent._base.errors import ConfigError
from oragent.evals.bench.plan import BenchPlan, Manifest
from oragent.evals.bench.tables import TextTable
from oragent_benchmarks.cases import MeasuredCases
from oragent_benchmarks.driver import BenchCommand, Line, save_text
from oragent_benchmarks.requests import BenchRequest
from oragent_benchmarks.skills.benchmark import TERMS, WITH, WITHOUT, SkillsBenchmark, find_agent
from oragent_benchmarks.skills.tasks import TASKS

MANIFEST = Manifest("skills-bench.yaml", TERMS, free=("seconds",))


@dataclass(frozen=True)
class SkillsBenchRequest(BenchRequest):
    """Request of ``bench skills``."""

    # Command of the agent; empty continues the benchmark in the folder.
    agent: str = ""
    # Settings of the agent, texts ``key=value``.
    agent_settings: Sequence[str] = ()
    # Names of skills; empty means all.
    skills: Sequence[str] = ()
    # Text of each skill of the package.
    texts: Mapping[str, str] = field(default_factory=dict)
    # Number of runs of each task.
    seeds: int = 1
    # Seconds of a task.
    seconds: float = 600.0


def run_bench(request: SkillsBenchRequest, console: Console) -> int:
    """Run the missing tasks, print the tables and write them. Return the exit code."""
    plan = _make_plan(request) if request.agent else MANIFEST.read_plan(request.outputs)
    find_agent(plan.settings)
    bench = SkillsBenchmark(plan, request.workers, words=request.words, skills=request.texts)
    return COMMAND.run(bench, request.outputs, console)


def _make_plan(request: SkillsBenchRequest) -> BenchPlan:
    names = list(request.skills) or list(dict.fromkeys(task.skill for task in TASKS))
    unknown = [name for name in names if name not in {task.skill for task in TASKS}]
    if unknown:
        raise ConfigError(f"--skills {unknown[0][:40]}; expected some of {', '.join(task.skill for task in TASKS)}")
    settings = {"agent": request.agent, "agent_settings": list(request.agent_settings), "seconds": request.seconds}
    return BenchPlan(TERMS, dict.fromkeys(names), {WITHOUT: {}, WITH: {}}, tuple(range(request.seeds)), settings)


def solved_table(bench: SkillsBenchmark, folder: Path) -> TextTable:
    """Tabulate the solved tasks of each skill, without and with it."""
    rows, sums = [], {WITHOUT: [0, 0], WITH: [0, 0]}
    for subject, measured in bench.measure(folder, MeasuredCases).items():
        cells = []
        for row in measured:
            solved = sum(bool(case.result["solved"]) for case in row.cases)
            sums[row.contestant][0] += solved
            sums[row.contestant][1] += len(row.cases)
            cells.append(f"{solved} of {len(row.cases)}")
        rows.append((subject, *cells))
    rows.append(("all", *(f"{solved} of {count}" for solved, count in sums.values())))
    return TextTable(("skill", f"solved {WITHOUT} it", f"solved {WITH} it"), tuple(rows))


def _show_results(bench: SkillsBenchmark, folder: Path) -> Iterator[Line | TextTable]:
    yield Line(f"\nagent: {bench.plan.settings['agent']}", "bold")
    yield solved_table(bench, folder)


def _write_page(bench: SkillsBenchmark, folder: Path) -> Path:
    table = solved_table(bench, folder)
    rows = [table.heads, tuple("---" for _ in table.heads), *table.rows]
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return save_text(folder / "report.md", "\n".join([f"# Skills, {bench.plan.settings['agent']}", "", *lines, ""]))


COMMAND = BenchCommand(
    MANIFEST,
    lambda plan, folder: SkillsBenchmark(plan),
    _show_results,
    _write_page,
)

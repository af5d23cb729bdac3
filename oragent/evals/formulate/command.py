"""What ``oragent bench formulate`` does: plan, run or go on, tables, page."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

from oragent._base.distribution import require_supported_version
from oragent._base.errors import ConfigError, OragentError, StoreError
from oragent._base.files import replace_file
from oragent.evals.bench.board import Board, rich_table
from oragent.evals.bench.execute import execute_plan
from oragent.evals.bench.manifest import Manifest
from oragent.evals.bench.plan import BenchCell, BenchPlan
from oragent.evals.formulate.benchmark import TERMS, FormulateBenchmark, can_read_labels
from oragent.evals.formulate.contestants import list_contestants
from oragent.evals.formulate.sets import FORMS, ProblemSet
from oragent.evals.formulate.sets.labelled import slug
from oragent.evals.formulate.tables import (
    MeasuredMethod,
    battery_table,
    difference_table,
    misread_table,
    problem_table,
    published_table,
    rate_table,
    reference_names,
    render_bench_page,
)
from oragent.evals.requests import FormulateBenchRequest
from oragent.formulate.options import ALL, PRESETS, STAND_INS, check_known
from oragent.milp.model import Milp
from oragent.milp.solution import TOLERANCES

FILE = "formulate-bench.yaml"
MANIFEST = Manifest(FILE, TERMS, free=("workers",))
ON_THE_PAGE = ("calls", "published SR / MFFR / IEFR", "prompt tokens", "money", "seconds")
MOST_PAIRED = 3  # methods of which all pairs are shown in a terminal; the page has all
COMPLETE, UNFINISHED, STOPPED = 0, 3, 130  # exit codes


def run_bench(request: FormulateBenchRequest, console: Console) -> int:
    """Run what is missing of a benchmark, print its tables, write its page.

    Returns:
        Exit code: 0 where all is done, 3 where not, 130 where a person stopped it.

    Raises:
        OragentError: The plan is wrong, a set cannot be read, or oragent does not support the installed PuLP.
    """
    require_supported_version("pulp")  # before the folder is made
    folder = request.outputs
    plan = _build_plan(request, folder)
    bench = FormulateBenchmark(plan, request.workers)
    readable = _readable_sets(plan, bench)
    MANIFEST.write_plan(plan, folder)
    stopped = False
    with Board(plan) as board:
        bench.note = board.show_progress
        for finished in execute_plan(plan, bench, folder):
            board.report_cell(finished)
            stopped = finished.end.stopped
    complete = _print_tables(plan, bench, folder, readable, console)
    return STOPPED if stopped else COMPLETE if complete else UNFINISHED


def show_bench(folder: Path, console: Console, *, write: bool = True) -> int:
    """Print the tables of a benchmark as far as it is done; nobody is asked.

    Args:
        folder: Folder of the benchmark.
        console: Console to print on.
        write: Whether its page is written too.

    Returns:
        Exit code: 0 where all is done, 3 where not.

    Raises:
        OragentError: The folder was changed by hand, or a set cannot be read any more.
    """
    plan = MANIFEST.read_plan(folder)
    bench = FormulateBenchmark(plan)
    readable = _readable_sets(plan, bench) if plan.settings.get("labels_readable") else []
    return COMPLETE if _print_tables(plan, bench, folder, readable, console, write=write) else UNFINISHED


def _print_tables(
    plan: BenchPlan,
    bench: FormulateBenchmark,
    folder: Path,
    readable: Sequence[str],
    console: Console,
    *,
    write: bool = True,
) -> bool:
    """Print the tables, write the page; return whether all is done."""
    methods_of = measure_methods(plan, bench, folder)
    for subject, rows in methods_of.items():
        problems = bench.problems(subject)
        console.print(Text(f"\n{subject}: {problems.title}", style="bold"), soft_wrap=True)
        console.print(rich_table(rate_table(rows).drop_columns(*ON_THE_PAGE)))
        if 1 < len(rows) <= MOST_PAIRED:
            console.print(rich_table(difference_table(rows)))
        if (alarms := battery_table(rows)) is not None:
            console.print(Text("properties that need no label", style="bold"))
            console.print(rich_table(alarms))
        if (misread := misread_table(rows, gold_models(problems))) is not None:
            console.print(Text("misread figures", style="bold"))
            console.print(rich_table(misread))
        for reason in omission_lines(problems):
            console.print(Text(f"left out: {reason}", style="dim"), soft_wrap=True)
    for subject in readable:
        console.print(Text(f"labels readable: a generated program could read those of {subject}", style="bold yellow"))
    if write:
        path = write_bench_page(folder, plan, bench, methods_of, readable)
        console.print(f"report: {path}", highlight=False, markup=False, soft_wrap=True)
    return all(bench.is_complete(cell, folder) for cell in plan.cells)


def gold_models(problems: ProblemSet) -> dict[str, Milp]:
    """Gold formulations of a set by the names of its problems."""
    return {case.problem.name: case.gold for case in problems.supported if case.gold is not None}


def omission_lines(problems: ProblemSet) -> list[str]:
    """Return one line for each reason why problems of a set are not asked."""
    reasons = Counter(case.unsupported for case in problems.cases if case.unsupported)
    lines = [f"{count} problems that are {reason}: unsupported, not counted" for reason, count in reasons.items()]
    return [*lines, *problems.left_out]


def measure_methods(plan: BenchPlan, bench: FormulateBenchmark, folder: Path) -> dict[str, list[MeasuredMethod]]:
    """Collect finished cases by set, one row for each contestant."""
    methods_of: dict[str, list[MeasuredMethod]] = {}
    for subject in plan.subjects:
        for name, contestant in plan.contestants.items():
            cells = [BenchCell(subject, name, seed) for seed in plan.seeds]
            finished = {cell: bench.finished_cases(cell, folder) for cell in cells}
            total = sum(len(bench.case_names(cell)) for cell in cells)
            methods_of.setdefault(subject, []).append(MeasuredMethod(subject, name, contestant, finished, total))
    return methods_of


def write_bench_page(
    folder: Path,
    plan: BenchPlan,
    bench: FormulateBenchmark,
    methods_of: Mapping[str, Sequence[MeasuredMethod]],
    readable: Sequence[str] = (),
) -> Path:
    """Write ``report.html`` into the folder of a benchmark.

    Raises:
        StoreError: It cannot be written.
    """
    parts = [
        {
            "name": subject, "title": bench.problems(subject).title,
            "left_out": omission_lines(bench.problems(subject)),
            "rates": rate_table(rows), "differences": difference_table(rows) if len(rows) > 1 else None,
            "problems": problem_table(rows), "reference": reference_names(rows), "measured": rows,
            "published": published_table(subject), "battery": battery_table(rows),
            "misread": misread_table(rows, gold_models(bench.problems(subject))),
        }
        for subject, rows in methods_of.items()
    ]  # fmt: skip
    try:
        replace_file(folder / "report.html", render_bench_page(plan, parts, readable))
    except OSError as problem:
        raise StoreError(f"cannot write the report of {folder}: {problem}") from None
    return folder / "report.html"


def _build_plan(request: FormulateBenchRequest, folder: Path) -> BenchPlan:
    if not request.sets:
        return MANIFEST.read_plan(folder)
    if not request.models:
        raise ConfigError(f"nobody is asked: name a model with --model, or one of {', '.join((*STAND_INS, ALL))}")
    settings = {"tolerance": "strict"} | {name: value for name, value in request.settings.items() if value is not None}
    check_known(settings.get("preset", "default"), PRESETS, "preset")
    check_known(settings.get("tolerance", "strict"), TOLERANCES, "tolerance")
    chosen = list_contestants(request.methods, request.models, request.temperatures, request.ablations)
    subjects = {_subject_name(spec): spec for spec in request.sets}
    if len(subjects) < len(request.sets):
        raise ConfigError("two sets have the same name: run them in two benchmarks")
    return BenchPlan(TERMS, subjects, chosen, tuple(range(request.seeds)), settings)


def _subject_name(spec: str) -> str:
    """Short name of a set; of public ones it begins with the name of the form."""
    form, equals, rest = spec.partition("=")
    if not equals or form not in FORMS:
        return slug(Path(spec).stem)
    stem = slug(Path(rest).stem)
    return stem if stem.startswith(form) else f"{form}-{stem}"


def _readable_sets(plan: BenchPlan, bench: FormulateBenchmark) -> list[str]:
    """The sets whose labels a generated program could read here.

    Raises:
        OragentError: There are some, and the settings do not say that this is to be borne.
    """
    with_files = [name for name in plan.subjects if bench.problems(name).source is not None]
    readable = [name for name in with_files if can_read_labels(Path(str(bench.problems(name).source)))]
    if readable and not plan.settings.get("labels_readable"):
        raise OragentError(
            f"this machine cannot keep the labels of {readable[0]} from generated programs ('oragent doctor' says what "
            "is missing): run it elsewhere, or with --labels-readable, which its tables then say"
        )
    return readable

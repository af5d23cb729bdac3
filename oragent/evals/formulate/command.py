"""What ``oragent bench formulate`` does: plan, run or go on, tables, page."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Console

from oragent._base.distribution import require_supported_version
from oragent._base.errors import ConfigError
from oragent.evals.bench.cases import MeasuredCases
from oragent.evals.bench.driver import BenchCommand, Line, save_text
from oragent.evals.bench.plan import BenchPlan, Manifest
from oragent.evals.bench.tables import TextTable
from oragent.evals.formulate.benchmark import TERMS, FormulateBenchmark, can_read_labels
from oragent.evals.formulate.contestants import list_contestants
from oragent.evals.formulate.sets import FORMS, ProblemSet
from oragent.evals.formulate.sets.labelled import slug
from oragent.evals.formulate.tables import (
    battery_table,
    misread_table,
    problem_table,
    published_table,
    rate_table,
    reference_names,
    render_bench_page,
    success_differences,
)
from oragent.evals.requests import FormulateBenchRequest
from oragent.formulate.options import ALL, PRESETS, STAND_INS, check_known
from oragent.milp.model import Milp
from oragent.milp.solution import TOLERANCES

MANIFEST = Manifest("formulate-bench.yaml", TERMS, free=("workers",))
ON_THE_PAGE = ("calls", "published SR / MFFR / IEFR", "prompt tokens", "money", "seconds")
MOST_PAIRED = 3  # methods of which all pairs are shown in a terminal; the page has all


def run_bench(request: FormulateBenchRequest, console: Console) -> int:
    """Run what is missing of a benchmark, print its tables, write its page; return the exit code.

    Raises:
        OragentError: The plan is wrong, a set cannot be read, or oragent does not support the installed PuLP.
    """
    require_supported_version("pulp")  # before the folder is made
    plan = _build_plan(request, request.outputs)
    bench = FormulateBenchmark(plan, request.workers, words=request.words)
    bench.readable = _find_readable_sets(bench)
    return COMMAND.run(bench, request.outputs, console)


def show_bench(folder: Path, console: Console, *, write: bool = True) -> int:
    """Print the tables of a benchmark as far as it is done, and write its page if wanted; return the exit code."""
    return COMMAND.show_folder(folder, console, write=write)


def _open_bench(plan: BenchPlan, folder: Path) -> FormulateBenchmark:
    bench = FormulateBenchmark(plan)
    bench.readable = _find_readable_sets(bench) if bench.settings.labels_readable else ()
    return bench


def _show_results(bench: FormulateBenchmark, folder: Path) -> Iterator[Line | TextTable]:
    for subject, rows in bench.measure(folder, MeasuredCases).items():
        problems = bench.problems(subject)
        yield Line(f"\n{subject}: {problems.title}", "bold")
        yield rate_table(rows).drop_columns(*ON_THE_PAGE)
        if 1 < len(rows) <= MOST_PAIRED:
            yield success_differences(rows)
        for title, table in (
            ("properties that need no label", battery_table(rows)),
            ("misread figures", misread_table(rows, gold_models(problems))),
        ):
            if table is not None:
                yield Line(title, "bold")
                yield table
        for reason in omission_lines(problems):
            yield Line(f"left out: {reason}", "dim")
    for subject in bench.readable:
        yield Line(f"labels readable: a generated program could read those of {subject}", "bold yellow")


def gold_models(problems: ProblemSet) -> dict[str, Milp]:
    """Gold formulations of a set by the names of its problems."""
    return {case.problem.name: case.gold for case in problems.supported if case.gold is not None}


def omission_lines(problems: ProblemSet) -> list[str]:
    """Return one line for each reason why problems of a set are not asked."""
    reasons = Counter(case.unsupported for case in problems.cases if case.unsupported)
    lines = [f"{count} problems that are {reason}: unsupported, not counted" for reason, count in reasons.items()]
    return [*lines, *problems.left_out]


def _write_page(bench: FormulateBenchmark, folder: Path) -> Path:
    parts = [
        {
            "name": subject, "title": bench.problems(subject).title,
            "left_out": omission_lines(bench.problems(subject)),
            "rates": rate_table(rows), "differences": success_differences(rows) if len(rows) > 1 else None,
            "problems": problem_table(rows), "reference": reference_names(rows), "measured": rows,
            "published": published_table(subject), "battery": battery_table(rows),
            "misread": misread_table(rows, gold_models(bench.problems(subject))),
        }
        for subject, rows in bench.measure(folder, MeasuredCases).items()
    ]  # fmt: skip
    return save_text(folder / "report.html", render_bench_page(bench.plan, parts, bench.readable))


COMMAND = BenchCommand(MANIFEST, _open_bench, _show_results, _write_page)


def _build_plan(request: FormulateBenchRequest, folder: Path) -> BenchPlan:
    if not request.sets:
        return MANIFEST.read_plan(folder)
    if not request.models:
        raise ConfigError(f"nobody is asked: name a model with --model, or one of {', '.join((*STAND_INS, ALL))}")
    settings = {"tolerance": "strict"} | {name: value for name, value in request.settings.items() if value is not None}
    check_known(str(settings.get("preset", "default")), PRESETS, "preset")
    check_known(str(settings["tolerance"]), TOLERANCES, "tolerance")
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


def _find_readable_sets(bench: FormulateBenchmark) -> Sequence[str]:
    """The sets whose labels a generated program could read here."""
    sources = {name: bench.problems(name).source for name in bench.plan.subjects}
    return [name for name, source in sources.items() if source is not None and can_read_labels(Path(str(source)))]

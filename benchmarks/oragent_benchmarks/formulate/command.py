"""Command ``oragent bench formulate``: plan, run or resume; tables and page, with published rates."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import mean, stdev
from typing import TYPE_CHECKING, Any

from rich.console import Console

from oragent._base.distribution import require_pulp
from oragent._base.errors import ConfigError
from oragent.evals.bench.driver import page_template
from oragent.evals.bench.plan import BenchPlan, Manifest
from oragent.evals.bench.tables import TextTable
from oragent.formulate.options import ALL, PRESETS, STAND_INS, check_known
from oragent.ledger.study import FinishedCase
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.solution import TOLERANCES, SolveVerdict
from oragent.report.pages.charts import BEST, KEPT, MUTED, OTHER, Drawing, new_figure, render_figure
from oragent.report.pages.text import format_money
from oragent_benchmarks.cases import MeasuredCases, case_table, difference_table
from oragent_benchmarks.driver import BenchCommand, Line, save_text
from oragent_benchmarks.formulate import benchmark
from oragent_benchmarks.formulate.labelled import ProblemSet, slug
from oragent_benchmarks.formulate.mock_models import misread_cases
from oragent_benchmarks.formulate.sets import FORMS
from oragent_benchmarks.requests import FormulateBenchRequest
from oragent_benchmarks.success_shares import success_share

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOURS = (BEST, KEPT, MUTED, OTHER)
MANIFEST = Manifest("formulate-bench.yaml", benchmark.TERMS, free=("workers",))
SOLVE_TIME = "solve seconds (reference)"
ON_THE_PAGE = ("calls", "published SR / MFFR / IEFR", "prompt tokens", "money", "seconds", SOLVE_TIME)
# Maximum number of methods whose pairs are shown in a terminal; the page shows all.
MAX_PAIRED = 3


def rate_table(measured: Sequence[MeasuredCases]) -> TextTable:
    """Tabulate rates in percent, the first one with an interval over problems, and published rates."""
    heads = (
        "method",
        "problems",
        "SR",
        "SR, 95 %",
        "MFFR",
        "IEFR",
        "wrong",
        "published SR / MFFR / IEFR",
        "calls",
        "prompt tokens",
        "money",
        "seconds",
        SOLVE_TIME,
    )
    return TextTable(heads, tuple(_rate_row(method) for method in measured))


def success_differences(measured: Sequence[MeasuredCases]) -> TextTable:
    """Compare all pairs of methods, in percentage points of SR."""
    scores = [item.score_cases(lambda case: 100.0 * _is_accepted(case)) for item in measured]
    return difference_table(scores, "problems")


def metamorphic_table(measured: Sequence[MeasuredCases]) -> TextTable | None:
    """Count violations of the properties that need no label; None if they were not tested."""
    rows = []
    for row in measured:
        tried = [case for case in row.cases if any(trial["holds"] is not None for trial in case.result["metamorphic"])]
        alarms = [case for case in tried if any(trial["holds"] is False for trial in case.result["metamorphic"])]
        right = sum(case.result["verdict"] == SolveVerdict.ACCEPT for case in alarms)
        passed = sum((case.result["checks"] or {}).get("state") == "passed" for case in alarms)
        if tried:
            rows.append((row.contestant, *map(str, (len(tried), len(alarms), len(alarms) - right, right, passed))))
    heads = ("method", "answers tried", "alarms", "answer wrong", "answer right", "all checks passed")
    if rows:
        return TextTable(heads, tuple(rows))
    return None


def misread_table(measured: Sequence[MeasuredCases], golds: Mapping[str, IndexedModel]) -> TextTable | None:
    """Count the figures that the model ``misread`` misreads, and how many the checks detect; None for other models."""
    rows = []
    for row in (row for row in measured if row.settings["model"] == "misread"):
        counts: Counter[str] = Counter()
        for cell, cases in row.cases_by_cell.items():
            misread = misread_cases(golds, cell.seed)
            for case in cases:
                alarmed = any(reasons for _, _, reasons in case.result["attempts"])
                accepted = case.result["verdict"] == SolveVerdict.ACCEPT
                if case.name not in misread:
                    counts["alarms"] += alarmed
                    continue
                unalarmed = "harmless" if accepted else "missed"
                counts["caught" if alarmed else unalarmed] += 1
                counts["right"] += alarmed and accepted
        planted = counts["caught"] + counts["missed"] + counts["harmless"]
        names = ("caught", "right", "missed", "harmless", "alarms")
        rows.append((row.contestant, str(planted), *(str(counts[name]) for name in names)))
    heads = ("method", "misread", "caught", "then right", "missed", "no effect", "false alarms")
    if rows:
        return TextTable(heads, tuple(rows))
    return None


def problem_table(measured: Sequence[MeasuredCases]) -> TextTable:
    """Return one row per problem and seed: the outcome of each method."""
    return case_table(measured, "problem", _outcome_text)


def reference_names(measured: Sequence[MeasuredCases]) -> str:
    """Describe how the conditions of published figures differ; empty if none are shown."""
    if not any(benchmark.published_rates(method.subject, method.contestant) for method in measured):
        return ""
    return (
        "Published (Wang et al. 2025): GPT-3.5-turbo, NL4Opt's whole test set of 289 and ComplexOR's 37, tolerance "
        "'ormind', their own prompts. Ours: the model, set and tolerance named above, and our own words in the prompts."
    )


def published_table(subject: str) -> TextTable | None:
    """Return all published figures of a set; None without any."""
    form = next((name for name in benchmark.PUBLISHED if subject.startswith(name)), None)
    if form is None:
        return None
    rows, tokens = benchmark.PUBLISHED[form], benchmark.PROMPT_TOKENS[form]
    rows_shown = [
        (
            name,
            *("–" if rate is None else f"{rate:.1f}" for rate in rows.get(name, (None, None, None))),
            f"{benchmark.GPT_4[form][name]:.1f}" if name in benchmark.GPT_4[form] else "–",
            "{} ± {}".format(*tokens[name]) if name in tokens else "–",
        )
        for name in dict.fromkeys((*rows, *tokens))
    ]
    return TextTable(("published", "SR", "MFFR", "IEFR", "SR, GPT-4", "prompt tokens"), tuple(rows_shown))


def _rate_row(method: MeasuredCases) -> tuple[str, ...]:
    cases = method.cases
    if not cases:
        return (method.contestant, f"0 of {method.total}", *("–",) * 11)
    rates, tokens = benchmark.verdict_rates(cases), [case.result["prompt_tokens"] for case in cases]
    interval = success_share([case.result["verdict"] == SolveVerdict.ACCEPT for case in cases])
    published = benchmark.published_rates(method.subject, method.contestant)
    spread = f" ± {stdev(tokens):.0f}" if len(tokens) > 1 else ""
    return (
        method.contestant,
        method.count_text,
        f"{100 * rates['SR']:.1f}",
        f"{100 * interval.low:.1f} to {100 * interval.high:.1f}",
        *(f"{100 * rates[name]:.1f}" for name in ("MFFR", "IEFR", "wrong")),
        " / ".join("–" if rate is None else f"{rate:.1f}" for rate in published or [None]),
        f"{mean(case.spent.model_calls for case in cases):.1f}",
        f"{mean(tokens):.0f}{spread}",
        format_money(sum(case.spent.money for case in cases)),
        f"{sum(case.result['seconds'] for case in cases):.1f}",
        _solve_time(cases),
    )


def _solve_time(cases: Sequence[FinishedCase]) -> str:
    """Return the seconds of the solves of answers and of the correct models, over problems that have both."""
    pairs = [(case.result.get("solve_s"), case.result.get("reference_s")) for case in cases]
    both = [(ours, reference) for ours, reference in pairs if ours is not None and reference is not None]
    if not both:
        return "–"
    return f"{sum(ours for ours, _ in both):.2f} ({sum(reference for _, reference in both):.2f})"


def _is_accepted(case: FinishedCase) -> bool:
    return bool(case.result["verdict"] == SolveVerdict.ACCEPT)


def _outcome_text(case: FinishedCase) -> str:
    verdict = case.result["verdict"]
    if verdict == SolveVerdict.ACCEPT:
        return "accept"
    detail = case.result["status"] if verdict == SolveVerdict.MODEL_FAILURE else ""
    return f"{verdict.replace('_', ' ')}{f' ({detail})' if detail else ''}"


def render_bench_page(plan: BenchPlan, parts: Sequence[Mapping[str, Any]], readable: Sequence[str] = ()) -> str:
    """Render the page as HTML."""
    shown = [{**part, "figure": temperature_figure(part["name"], part["measured"])} for part in parts]
    models = list(dict.fromkeys(str(contestant["model"]) for contestant in plan.contestants.values()))
    return page_template(Path(__file__)).render(
        plan=plan,
        parts=shown,
        readable=list(readable),
        settings=dict(plan.settings),
        models=models,
        standing=[name for name in models if name in (*STAND_INS, ALL)],
    )


def temperature_figure(subject: str, measured: Sequence[MeasuredCases]) -> Drawing | None:
    """Draw SR over temperature, one line per method and model; None for a single temperature."""
    lines: dict[str, list[tuple[float, float]]] = {}
    for method in measured:
        if method.cases:
            points = lines.setdefault(method.contestant.split(", temperature")[0], [])
            points.append(
                (float(str(method.settings["temperature"])), 100 * benchmark.verdict_rates(method.cases)["SR"])
            )
    if max((len(points) for points in lines.values()), default=0) < 2:
        return None

    def draw_figure() -> "Figure":
        figure = new_figure(5.6, 3.0)
        axes = figure.subplots()
        for index, (name, points) in enumerate(lines.items()):
            across, up = zip(*sorted(points), strict=True)
            axes.plot(across, up, marker="o", markersize=4, color=COLOURS[index % len(COLOURS)], label=name)
        axes.set(xlabel="temperature", ylabel="SR, %", ylim=(-3, 103))
        axes.legend(frameon=False, fontsize=8)
        return figure

    return render_figure(f"temperature {subject}", f"SR on {subject} over the temperature of every call", draw_figure)


def run_bench(request: FormulateBenchRequest, console: Console) -> int:
    """Run the missing cells of a benchmark, print its tables and write its page. Return the exit code."""
    # This is checked before the folder is created.
    require_pulp("formulate")
    bench = benchmark.FormulateBenchmark(_build_plan(request, request.outputs), request.workers, words=request.words)
    return COMMAND.run(bench, request.outputs, console, confirm=request.confirm)


def _show_results(bench: benchmark.FormulateBenchmark, folder: Path) -> Iterator[Line | TextTable]:
    for subject, rows in bench.measure(folder, MeasuredCases).items():
        problems = bench.problems(subject)
        yield Line(f"\n{subject}: {problems.title}", "bold")
        yield rate_table(rows).drop_columns(*ON_THE_PAGE)
        if 1 < len(rows) <= MAX_PAIRED:
            yield success_differences(rows)
        for title, table in (
            ("properties that need no label", metamorphic_table(rows)),
            ("misread figures", misread_table(rows, gold_models(problems))),
        ):
            if table is not None:
                yield Line(title, "bold")
                yield table
        for reason in omission_lines(problems):
            yield Line(f"left out: {reason}", "dim")
    for subject in bench.readable:
        yield Line(f"labels readable: a generated program could read those of {subject}", "bold yellow")


def gold_models(problems: ProblemSet) -> dict[str, IndexedModel]:
    """Return the gold formulations of a set by the names of its problems."""
    return {case.problem.name: case.gold for case in problems.supported if case.gold is not None}


def omission_lines(problems: ProblemSet) -> list[str]:
    """Return one line for each reason why problems of a set are excluded."""
    reasons = Counter(case.unsupported for case in problems.cases if case.unsupported)
    lines = [f"{count} problems that are {reason}: unsupported, not counted" for reason, count in reasons.items()]
    return [*lines, *problems.left_out]


def _write_page(bench: benchmark.FormulateBenchmark, folder: Path) -> Path:
    parts = [
        {
            "name": subject,
            "title": bench.problems(subject).title,
            "left_out": omission_lines(bench.problems(subject)),
            "rates": rate_table(rows),
            "differences": success_differences(rows) if len(rows) > 1 else None,
            "problems": problem_table(rows),
            "reference": reference_names(rows),
            "measured": rows,
            "published": published_table(subject),
            "metamorphic": metamorphic_table(rows),
            "misread": misread_table(rows, gold_models(bench.problems(subject))),
        }
        for subject, rows in bench.measure(folder, MeasuredCases).items()
    ]
    return save_text(folder / "report.html", render_bench_page(bench.plan, parts, bench.readable))


COMMAND = BenchCommand(MANIFEST, lambda plan, folder: benchmark.FormulateBenchmark(plan), _show_results, _write_page)
show_bench = COMMAND.show_folder


def _build_plan(request: FormulateBenchRequest, folder: Path) -> BenchPlan:
    if not request.sets:
        return MANIFEST.read_plan(folder)
    if not request.models:
        raise ConfigError(f"no model is named: add --model NAME, or one of {', '.join((*STAND_INS, ALL))}")
    settings = {"tolerance": "strict"} | {name: value for name, value in request.settings.items() if value is not None}
    check_known(str(settings.get("preset", "default")), PRESETS, "preset")
    check_known(str(settings["tolerance"]), TOLERANCES, "tolerance")
    chosen = benchmark.list_contestants(request.methods, request.models, request.temperatures, request.ablations)
    subjects = {_subject_name(spec): spec for spec in request.sets}
    if len(subjects) < len(request.sets):
        raise ConfigError("two sets have the same name: use two benchmarks")
    return BenchPlan(benchmark.TERMS, subjects, chosen, tuple(range(request.seeds)), settings)


def _subject_name(spec: str) -> str:
    """Return the short name of a set. For public sets it begins with the name of the file format."""
    form, equals, rest = spec.partition("=")
    if not equals or form not in FORMS:
        return slug(Path(spec).stem)
    stem = slug(Path(rest).stem)
    if stem.startswith(form):
        return stem
    return f"{form}-{stem}"

"""The command ``oragent compare``: run the cells, summarise and print the results, and write the report."""

import shlex
from collections.abc import Callable, Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.text import Text

from oragent import __version__
from oragent._base.publishing import publish_progress, publish_result
from oragent._base.sequential import POWER, detectable_effect
from oragent._base.statistics import ALPHA, best_case, pairs_needed
from oragent._base.text_format import format_count
from oragent.evals.bench import tables
from oragent.evals.bench.charts import draw_benchmark
from oragent.evals.bench.driver import COMPLETE, STOPPED, UNFINISHED, Board, page_template, rich_table, run_cells
from oragent.evals.bench.plan import BenchCell, BenchPlan
from oragent.evals.bench.summary import BenchSummary, find_leader
from oragent.evals.compare.plan import MANIFEST, STRATEGY, list_left_out, read_request, reopen_plan
from oragent.evals.compare.runner import (
    Comparison,
    SearchRunner,
    describe_equal_settings,
    differing_settings,
    load_comparison,
)
from oragent.evals.requests import CompareRequest
from oragent.report.pages import text as in_words
from oragent.report.pages.charts import Drawing, require_matplotlib, save_page
from oragent.report.pages.text import clip_text
from oragent.search.events import Observer, OnEvent, Progress, ignore_event
from oragent.search.launch import launch

NORMALISED = "0 is the seed heuristic, 1 the best published where that is known, else the best of these runs"


def observe_on_board(board: Board) -> Callable[[BenchCell], Observer]:
    """Show the rounds of every run on a board."""

    def make_observer(cell: BenchCell) -> Observer:
        def show_progress(progress: Progress) -> None:
            spent = in_words.format_count(progress.spent.evaluations, "evaluation")
            board.show_progress(cell, f"{spent}, best {in_words.format_score(progress.best.score)}")

        return show_progress

    return make_observer


def announce_settings(plan: BenchPlan, console: Console) -> None:
    """Print the settings that all contestants share, and those that differ."""
    if equal_settings := describe_equal_settings(plan):
        console.print(Text(f"the same for all: {equal_settings}"))
    table = differing_settings(plan)
    if any(key != STRATEGY for key, *_ in table.rows):
        console.print(rich_table(table))


def describe_verdict(summary: BenchSummary) -> str:
    """State in one sentence which strategy leads. Without evidence, none leads."""
    leader = find_leader(summary)
    if leader is None:
        return "No strategy has a score on every problem."
    if len(summary.contestants) == 1:
        return "There is one strategy only: nothing to hold it against."
    if leader.is_shown:
        return f"{leader.name} is ahead of all others (p = {leader.p:.2g})."
    why = "too few runs for a test" if leader.p is None else f"p = {leader.p:.3g}"
    limits = f"; {leader.limits}" if leader.limits else ""
    return f"No strategy is shown to be ahead; {leader.name} has the highest mean ({why}{limits})."


def describe_test_limits(plan: BenchPlan) -> str:
    """Describe the smallest p-value of tests of all pairs with this number of seeds; empty if it is small enough."""
    return best_case(len(plan.seeds), "seed", max(1, len(plan.pairs)))


def describe_power(plan: BenchPlan) -> str:
    """Describe the differences that the tests of a plan can show on one problem, before any run."""
    pairs, seeds = len(plan.pairs), len(plan.seeds)
    if not pairs:
        return "one strategy: nothing is compared"
    compared = f"{pairs} pair{'s' if pairs > 1 else ''} of strategies"
    if limits := describe_test_limits(plan):
        text = f"no difference of {compared} can be shown on one problem: {limits} (--seeds)"
        fewer = len(plan.contestants) - 1
        if pairs_needed(ALPHA / fewer) < pairs_needed(ALPHA / pairs):
            text += f", {pairs_needed(ALPHA / fewer)} with --against {next(iter(plan.contestants))} ({fewer} pairs)"
        return text
    effect = detectable_effect(seeds, ALPHA / pairs)
    return (
        f"with {format_count(seeds, 'seed')} and {compared} a difference of {effect:.2g} times its standard deviation "
        f"between seeds is shown on one problem with probability {POWER:.0%}"
    )


def show_comparison(comparison: Comparison, console: Console) -> None:
    """Print final scores and differences of every problem, and the scores over all problems."""
    summary, terms = comparison.summary, comparison.summary.terms
    for problem in summary.subjects:
        hint = problem.direction.words
        console.print(Text(f"\n{problem.name}: final scores, {hint}", style="bold cyan"))
        console.print(rich_table(tables.finals_table(problem, terms).drop_columns(*tables.interval_heads(terms))))
        if problem.differences:
            console.print(Text(f"\n{problem.name}: differences in score, {hint}", style="bold cyan"))
            console.print(rich_table(tables.differences_table(problem).drop_columns(tables.GAIN, "p")))
    console.print(Text(f"\n{tables.explain_widths(terms)}", style="dim"))
    console.print(Text(f"\nNormalised: {NORMALISED}", style="bold cyan"))
    console.print(rich_table(tables.overall_table(summary)))
    console.print(Text(f"\n{describe_verdict(summary)}", style="bold"))
    if limits := describe_test_limits(comparison.plan):
        console.print(Text(f"\nNo difference can be shown on one problem: {limits}.", style="yellow"))
    for cell in comparison.unfinished:
        console.print(Text(f"left out, as its budget is not used up: {cell}", style="yellow"))


def write_report(comparison: Comparison) -> Path:
    """Write ``report.html`` and ``figures/*.svg``, ``figures/*.png`` into its folder; return the page."""
    drawings = draw_benchmark(comparison.summary)
    save_page(comparison.folder, drawings.values(), render_page(comparison, drawings))
    return comparison.folder / "report.html"


def render_page(comparison: Comparison, drawings: Mapping[str, Drawing]) -> str:
    """Return a comparison's report as HTML."""
    summary, terms = comparison.summary, comparison.summary.terms
    shares = next(iter(summary.overall.values()), {})
    ahead = find_leader(summary)
    return page_template(Path(__file__)).render(
        comparison=comparison,
        drawings=drawings,
        ahead=ahead,
        ahead_words=", ".join(f"{share:.3f} on {mode}" for mode, share in shares.items()),
        verdict=describe_verdict(summary),
        normalised=NORMALISED,
        name="" if comparison.folder.resolve().name == "comparison" else comparison.folder.resolve().name,
        overall=tables.overall_table(summary),
        alike=describe_equal_settings(comparison.plan),
        differing=differing_settings(comparison.plan),
        problems=[
            {
                "summary": problem,
                "scales": tables.describe_scales(problem, terms),
                "finals": tables.finals_table(problem, terms),
                "differences": tables.differences_table(problem),
                "target": tables.target_table(problem, terms),
            }
            for problem in summary.subjects
        ],
        limits=describe_test_limits(comparison.plan),
        resume=f"oragent compare --outputs {shlex.quote(str(comparison.folder))}",
        configuration=clip_text((comparison.folder / MANIFEST.file).read_text(encoding="utf-8"))[0],
        version=__version__,
    )


def run(request: CompareRequest, root: Path, console: Console, on_event: OnEvent = ignore_event) -> int:
    """Run or resume a comparison; return 0, 3 if runs are unfinished, or 130 if the user stopped it."""
    require_matplotlib()
    folder, plan = request.outputs, read_request(request, root)
    MANIFEST.write_plan(plan, folder)
    if left_out := list_left_out(request, plan):
        named = ", ".join(left_out)
        console.print(f"without --model, the strategies that need a model are left out: {named}", soft_wrap=True)
    console.print(f"[bold]{len(plan.cells)} runs[/] in {escape(str(folder))}", soft_wrap=True)
    power = describe_power(plan)
    publish_progress("power", {"text": power, "pairs": len(plan.pairs), "seeds": len(plan.seeds)})
    console.print(Text(f"before any run: {power}", style="yellow" if describe_test_limits(plan) else ""))
    announce_settings(plan, console)
    if run_searches(plan, SearchRunner, on_event, folder):
        console.print(f"everything so far is kept: oragent compare --outputs {folder}", soft_wrap=True)
        return STOPPED
    comparison = load_comparison(plan, SearchRunner(plan), folder)
    show_comparison(comparison, console)
    report = write_report(comparison)
    publish_result({**describe_comparison(comparison), "report": report})
    console.print(f"[bold]report[/] {escape(str(report))}", highlight=False, soft_wrap=True)
    if comparison.unfinished:
        return UNFINISHED
    return COMPLETE


def run_searches(plan: BenchPlan, kind: type[SearchRunner], on_event: OnEvent, folder: Path) -> bool:
    """Run every search of a plan; return True if the user stopped one."""
    launching = partial(launch, on_event=on_event)
    return run_cells(plan, lambda board: kind(plan, observe_on_board(board), launching), folder)


def show_folder(folder: Path, console: Console) -> int:
    """Print the finished part of a comparison; its folder is not changed."""
    plan = reopen_plan(folder)
    comparison = load_comparison(plan, SearchRunner(plan), folder)
    publish_result(describe_comparison(comparison))
    show_comparison(comparison, console)
    if comparison.unfinished:
        return UNFINISHED
    return COMPLETE


def describe_comparison(comparison: Comparison) -> dict[str, object]:
    """Return a comparison as plain data: scores and costs by strategy, paired differences, and the verdict."""
    summary = comparison.summary
    problems = []
    for problem in summary.subjects:
        rows = [
            {
                "strategy": row.contestant,
                "runs": len(row.results),
                "means": row.means,
                "scores": [{mode: score.value for mode, score in run.scores.items()} for run in row.results],
                "seeds": [run.cell.seed for run in row.results],
                "spent": [asdict(run.spent) for run in row.results],
            }
            for row in problem.rows
        ]
        entry = {"problem": problem.name, "better": problem.direction.comparative, "strategies": rows}
        problems.append({**entry, "differences": list(problem.differences)})
    return {
        "folder": comparison.folder,
        "problems": problems,
        "normalised": summary.overall,
        "verdict": describe_verdict(summary),
        "power": describe_power(comparison.plan),
        "unfinished": [str(cell) for cell in comparison.unfinished],
    }


def write_page(folder: Path) -> Path:
    """Write the page of the finished part of a comparison again."""
    plan = reopen_plan(folder)
    return write_report(load_comparison(plan, SearchRunner(plan), folder))

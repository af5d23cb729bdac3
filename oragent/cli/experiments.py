"""Experiments: ``probe`` and ``sweep``."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from oragent import report as reports
from oragent._base import files
from oragent._base.errors import ConfigError, StoreError
from oragent._base.protocol import FIRST_S
from oragent._base.publishing import publish_result
from oragent._base.terminal import text_table
from oragent._base.text_format import escape_text
from oragent.cli.options import (
    DEVICE_HELP,
    ProblemName,
    Root,
    console,
    print_caution,
    print_text,
)
from oragent.evaluation.capabilities import require_all
from oragent.evaluation.devices import AUTO
from oragent.evaluation.problem import Problem, evaluation_root, find_problem, find_project_root
from oragent.programs.inspection import read_program
from oragent.programs.parameters import read_parameters
from oragent.report.held_out import HeldOutScorer
from oragent.report.run import load_run
from oragent.report.swept_reference import PROGRAMS, SweptReference, score_swept
from oragent.sandbox.limits import count_processors
from oragent.search.experiment_runner import ExperimentRunner
from oragent.search.experiments import (
    CPU_S,
    EVOLVED_SETTINGS,
    PRACTICE,
    START,
    VAL,
    ProbeResult,
    Subset,
    SweepResult,
    SweepRow,
    read_places,
)
from oragent.search.folder import RunFolder, reopen

# Maximum number of rows of a sweep that are printed.
SHOWN = 30

Program = Annotated[Path, typer.Argument(metavar="PROGRAM", help="File with the heuristic.")]
Sizes = Annotated[list[int] | None, typer.Option("--size", help="Size of the set; repeatable (default: all).")]
Instances = Annotated[
    str, typer.Option(metavar="N|A:B", help="First N instances of each size, or A to B-1 (default: all).")
]
Practice = Annotated[
    bool, typer.Option("--practice", help="Run on instances drawn as those of val, none of them, in place of train.")
]
Seconds = Annotated[float, typer.Option(min=0.1, help="CPU seconds of all runs together.")]
Device = Annotated[str, typer.Option(help=DEVICE_HELP)]


def probe(
    problem: ProblemName,
    program: Program,
    size: Sizes = None,
    instances: Instances = "",
    practice: Practice = False,
    seconds: Seconds = CPU_S,
    observer: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Python file with observe(hook, data), called at hooks.")
    ] = None,
    device: Device = AUTO,
    root: Root = None,
) -> None:
    """Run one program on training or practice instances: score, calls and CPU seconds by size, and what it prints."""
    resolved, base = _load_problem(problem, root)
    source, subset = read_program(program, resolved.signature), Subset.choose(size, instances, practice)
    with ExperimentRunner(resolved, base, device=device) as runner:
        result = runner.probe(source, subset, seconds, _read_observer(observer))
    publish_result({**asdict(result), "score": result.score})
    _show_probe(result, resolved, subset.mode)
    raise typer.Exit(0 if result.score is not None else 1)


def sweep(
    problem: ProblemName,
    program: Annotated[Path | None, typer.Argument(metavar="PROGRAM", help="File with the heuristic.")] = None,
    parameters: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME=VALUES...",
            help="window=5,10,20 (grid), window=5..60 or decay=0.01..1,log (search), or a declared name alone "
            "(default: all parameters that the program declares).",
        ),
    ] = None,
    size: Sizes = None,
    instances: Instances = "",
    practice: Practice = False,
    reference: Annotated[
        str | None, typer.Option(metavar="NAME", help="A reference of the problem, on val, in place of a program.")
    ] = None,
    run: Annotated[
        Path | None,
        typer.Option(help="Run to compare the reference with; --seconds is by default what it used on evaluations."),
    ] = None,
    seconds: Annotated[float | None, typer.Option(min=0.1, help="CPU seconds of all runs together.")] = None,
    settings: Annotated[
        int, typer.Option(min=1, help="Settings that a search of several ranges tries.")
    ] = EVOLVED_SETTINGS,
    seed: Annotated[int, typer.Option(help="Seed of the search.")] = 0,
    write: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the best program to this file.")] = None,
    workers: Annotated[int, typer.Option(min=0, help="Runs at once, at most 4; 0: all cores.")] = 0,
    device: Device = AUTO,
    root: Root = None,
) -> None:
    """Run a program, or a reference, with several values of its parameters on training or practice instances."""
    resolved, base = _load_problem(problem, root)
    if write is not None and (write.is_dir() or not write.absolute().parent.is_dir()):
        raise ConfigError(f"--write {write}: expected a file in an existing folder")
    limits = None
    if reference is not None:
        source, declared = resolved.read_reference(reference)
        # Without a program, the first word is a parameter.
        words = [*([str(program)] if program else []), *(parameters or [])] or [*declared]
        if practice or instances or size:
            raise ConfigError("a reference is swept on all of val, by which the search chose: leave the instances out")
        subset = Subset(mode=VAL)
    elif program is None or run is not None:
        raise ConfigError(
            "name a program, or a reference of the problem with --reference NAME; --run needs a reference"
        )
    else:
        source, words = read_program(program, resolved.signature), parameters or []
        subset = Subset.choose(size, instances, practice)
    if run is not None:
        folder, data = _reopen_run_of(run, resolved), load_run(run)
        seconds, limits = seconds or data.spend.cpu_s, folder.config.limits
    words = words or _declared_parameters(source)
    workers = workers or count_processors()
    with ExperimentRunner(resolved, base, workers=workers, device=device, settings=limits) as runner:
        result = runner.sweep(source, words, subset, seconds or CPU_S, settings, seed)
    best = result.best
    if write is not None and best is not None:
        try:
            files.replace_file(write, result.write_program(best))
        except OSError as problem_:
            raise StoreError(f"cannot write {write}: {problem_}") from None
    _show_sweep(result, write)
    compared = None
    if run is not None and reference is not None and best is not None:
        compared = score_swept(run, HeldOutScorer(folder), reference, result)
        _show_compared(compared)
        reports.write(run)
    publish_result({**asdict(result), "best": best, "compared": None if compared is None else asdict(compared)})
    raise typer.Exit(0 if best is not None else 1)


def _reopen_run_of(run: Path, problem: Problem) -> RunFolder:
    folder = reopen(run, only_read=True)
    if folder.problem.folder != problem.folder:
        raise ConfigError(f"{run} is a run of {folder.problem.name}, and not of {problem.name} in {problem.folder}")
    return folder


def _show_compared(compared: SweptReference) -> None:
    rows = [[name, *(str(scores[name]) for scores in compared.scores.values())] for name in PROGRAMS]
    console.print(text_table(("program", *compared.scores), rows, "l" + "r" * len(compared.scores)))
    for sentence in compared.sentences:
        print_text(sentence)


def _load_problem(name: str, root: Path | None) -> tuple[Problem, Path]:
    problem = find_problem(name, find_project_root(root))
    require_all(problem)
    if warning := problem.unguarded_warning:
        print_caution(warning)
    return problem, evaluation_root(problem, root)


def _read_observer(path: Path | None) -> str:
    if path is None:
        return ""
    return files.read_argument(path, "an observer")


def _declared_parameters(source: str) -> list[str]:
    """Return the names of the parameters that a program declares; report wrong declarations."""
    reading = read_parameters(source)
    for problem in reading.problems:
        console.print(f"[bold yellow]ignored:[/] {escape(problem)}", highlight=False, soft_wrap=True)
    if not reading.parameters:
        wrong = f" ({'; '.join(reading.problems)})" if reading.problems else ""
        raise ConfigError(
            f"name a parameter, such as window=5,10,20, or declare it: `# param: window = 23, 5..60`{wrong}"
        )
    return [parameter.name for parameter in reading.parameters]


def _format_cell(value: float | None) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    return "-" if value is None else str(value)


def _show_probe(result: ProbeResult, problem: Problem, mode: str) -> None:
    cells = ((row.size, row.score, row.instances, row.calls, row.seconds, row.cpu_s) for row in result.sizes)
    heads = ("size", "score", "instances", "calls", "seconds", "CPU s")
    console.print(text_table(heads, [list(map(_format_cell, row)) for row in cells], "rrrrrr"))
    for row in result.sizes:
        times = read_places(row.metrics) if mode == PRACTICE else {}
        spent = [f"{name} {seconds:.3g} s" for name, seconds in times.items()]
        if isinstance(start := row.metrics.get(START), int | float):
            spent.insert(0, f"import and compile {start:.3g} s ({min(start, FIRST_S):.2g} free)")
        if spent:
            print_text(f"seconds: {', '.join(spent)}")
    if result.output.strip():
        console.print(f"\n{escape(escape_text(result.output.strip()))}", highlight=False, soft_wrap=True)
    if result.score is not None:
        console.print(
            f"score {result.score:.6g} on {mode}, {problem.about.direction.words}; {result.cpu_s:.2f} CPU s",
            highlight=False,
        )
    for row in result.sizes:
        if row.score is None:
            console.print(
                f"[bold red]{row.status}[/]: {escape(escape_text(row.message))}", highlight=False, soft_wrap=True
            )
    if result.skipped:
        console.print(f"{result.skipped} sizes did not run: the CPU seconds were used (--seconds)", highlight=False)


def _show_sweep(result: SweepResult, write: Path | None) -> None:
    names = list(result.rows[0].values)
    compared = ["difference (95 %)"] * any(row.difference is not None for row in result.rows)
    rows = (_sweep_cells(row, names, result, bool(compared)) for row in result.ranked[:SHOWN])
    console.print(
        text_table((*names, "score", *compared, "seconds", "CPU s", ""), rows, "r" * (len(names) + 3 + len(compared)))
    )
    if len(result.rows) > SHOWN:
        console.print(f"{len(result.rows) - SHOWN} more settings are not shown: --json has all", highlight=False)
    console.print(
        f"{len(result.rows)} settings on {result.subset.mode}, {result.direction.words}; {result.cpu_s:.2f} CPU s",
        highlight=False,
    )
    for message in dict.fromkeys(row.message for row in result.rows if row.message):
        console.print(f"[bold red]failed[/]: {escape(escape_text(message))}", highlight=False, soft_wrap=True)
    if result.skipped:
        why = "the CPU seconds were used (--seconds)" if any(not row.message for row in result.rows) else "all failed"
        console.print(f"{result.skipped} settings did not run: {why}", highlight=False)
    if write is not None and result.best is not None:
        console.print(f"wrote {escape(str(write))}", highlight=False, soft_wrap=True)


def _sweep_cells(row: SweepRow, names: list[str], result: SweepResult, is_compared: bool) -> list[str]:
    score = "-" if row.score is None else f"{row.score:.6g}"
    seconds = "-" if row.seconds is None else f"{row.seconds:.3g}"
    remark = " ".join(["present"] * (row is result.rows[0]) + ["failed"] * bool(row.message))
    difference = ["-" if row.difference is None else str(row.difference)] * is_compared
    return [*(f"{row.values[name]:g}" for name in names), score, *difference, seconds, f"{row.cpu_s:.2f}", remark]

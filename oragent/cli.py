"""The command line: it composes the parts and has no logic of its own."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table

from oragent import __version__
from oragent.authoring import contract, scaffold
from oragent.display import Bar, summary
from oragent.errors import OragentError
from oragent.held_out import held_out
from oragent.launch import STOPPED, launch
from oragent.protocol import Status
from oragent.report import load, show, write
from oragent.sandbox import Job, Limits, evaluate
from oragent.search import syntax
from oragent.search.config import Config, read
from oragent.search.folder import RunFolder, begin, reopen
from oragent.search.problem import available, find

__all__ = ["app", "main"]

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
console = Console()

Root = Annotated[Path | None, typer.Option(help="Project root: where problems/ is (default: here or above).")]
Settings = Annotated[list[str] | None, typer.Argument(help="Settings, such as budget.money=2.5 archive.islands=4.")]
RunPath = Annotated[Path, typer.Argument(metavar="RUN", help="A run's folder: outputs/<problem>/<name>.")]
ProblemName = Annotated[str, typer.Argument(metavar="PROBLEM", help="A problem's name, or the path of its folder.")]


def main() -> None:
    """Run the command line; every error that we know is one line and exit code 1."""
    try:
        app()
    except (OragentError, OSError) as problem:
        Console(stderr=True).print(f"[bold red]oragent:[/] {escape(str(problem))}", highlight=False, soft_wrap=True)
        sys.exit(1)


@app.callback(invoke_without_command=True)
def version(show_version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False) -> None:
    """Discover heuristics for operations-research problems."""
    if show_version:
        console.print(__version__, highlight=False)


@app.command()
def problems(root: Root = None) -> None:
    """List the problems."""
    table = Table("problem", "what evolves", "better", "sizes (val)", "title", box=None, header_style="bold")
    for problem in available(_root(root)):
        about = problem.about
        sizes = ", ".join(map(str, about.sizes.get("val", [])))
        better = "lower" if about.direction == "minimize" else "higher"
        table.add_row(f"[bold]{problem.name}[/]", about.function, better, sizes, escape(about.title))
    console.print(table)


@app.command()
def run(
    problem: ProblemName,
    settings: Settings = None,
    config: Annotated[Path | None, typer.Option(help="YAML file; see configs/default.yaml for every key.")] = None,
    strategy: Annotated[str | None, typer.Option(help="gp or funsearch (default: by --model).")] = None,
    model: Annotated[str | None, typer.Option(help="Model name, asked at OPENAI_BASE_URL with OPENAI_API_KEY.")] = None,
    evaluations: Annotated[int | None, typer.Option(help="Budget: candidates scored.")] = None,
    seconds: Annotated[float | None, typer.Option(help="Budget: seconds by the clock.")] = None,
    workers: Annotated[int | None, typer.Option(help="Evaluations at once, a core each (default: all cores).")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the search.")] = None,
    root: Root = None,
    outputs: Annotated[Path | None, typer.Option(help="Where runs go (default: outputs/ in the root).")] = None,
) -> None:
    """Search for a better heuristic."""
    named = {
        "strategy.name": strategy, "model.name": model, "budget.evaluations": evaluations,
        "budget.seconds": seconds, "workers": workers, "seed": seed,
    }  # fmt: skip
    overrides = [f"{key}={value}" for key, value in named.items() if value is not None]
    chosen = read(config, [*overrides, *(settings or [])])
    base = _root(root)
    found = find(problem, base)
    _search(chosen, base, found.about.direction, lambda: begin(base, outputs or base / "outputs", found, chosen))


@app.command()
def resume(run: RunPath, settings: Settings = None) -> None:
    """Go on with a run that was stopped or killed, or give a finished one more budget (budget.evaluations=500)."""
    folder = reopen(run, settings or [])
    _search(folder.config, folder.root, folder.problem.about.direction, lambda: folder)


@app.command(name="eval")
def evaluate_candidate(
    problem: ProblemName,
    candidate: Annotated[Path | None, typer.Option(help="Heuristic to score (default: the problem's seed).")] = None,
    mode: Annotated[str | None, typer.Option(help="train, val or test (default: val).")] = None,
    problem_size: Annotated[int | None, typer.Option("--problem_size", help="Just this size.")] = None,
    root: Root = None,
) -> None:
    """Score one heuristic in the sandbox, as a search would."""
    base = _root(root)
    found = find(problem, base)
    source = syntax.read(candidate, found.signature) if candidate else found.seed
    limits = Limits(found.about.timeout_s, found.about.memory_mb)
    result = evaluate(Job(found.evaluator, source, base, limits, mode, problem_size))
    if result.status is not Status.OK:
        console.print(escape(result.traceback or result.log), highlight=False, soft_wrap=True)
        console.print(f"[bold red]{result.status}[/]: {escape(result.message)}", highlight=False, soft_wrap=True)
        raise typer.Exit(1)
    figures = [*result.metrics.items(), ("features", result.features), ("score", result.score)]
    table = Table(box=None, show_header=False)
    for name, value in figures:
        table.add_row(name, escape(repr(value)))
    console.print(table)
    console.print(f"{result.wall_s:.2f} s, {result.cpu_s:.2f} CPU s, {result.peak_mb:.0f} MiB", highlight=False)


@app.command(name="show")
def show_run(run: RunPath) -> None:
    """Show a run: best program, its difference from the seed, archive, failures."""
    show(load(run), console)


@app.command()
def report(
    run: RunPath,
    test: Annotated[bool, typer.Option("--test", help="Score seed and best on the held-out test set too.")] = False,
) -> None:
    """Write a run's report: one HTML file, and its figures as PNG and SVG."""
    if test:
        found = held_out(run)
        table = Table("test set", *found, box=None, header_style="bold")
        for name in found["seed"]:
            table.add_row(name, *(escape(str(figures.get(name, "–"))) for figures in found.values()))
        console.print(table)
    console.print(f"report: {write(run)}", highlight=False, soft_wrap=True)


@app.command()
def new(
    name: Annotated[str, typer.Argument(help="Name of the problem and its folder.")],
    parent: Annotated[Path, typer.Option(help="Where to make the folder.")] = Path(),
    plain: Annotated[bool, typer.Option("--plain", help="An eval.py without any import of oragent.")] = False,
) -> None:
    """Make the folder of a problem of your own; it runs at once."""
    folder = scaffold.new(name, parent, plain=plain)
    console.print(f"made {folder}: try 'oragent check {folder}', then 'oragent run {folder}'", soft_wrap=True)


@app.command()
def check(
    folder: Annotated[Path, typer.Argument(help="A problem's folder.")],
    root: Root = None,
    quick: Annotated[bool, typer.Option("--quick", help="Mostly in train mode.")] = False,
) -> None:
    """Check that a problem's folder keeps the contract, in plain words."""
    marks = {"OK": "[green]ok  [/]", "WARNING": "[yellow]warn[/]", "FAILURE": "[bold red]FAIL[/]"}
    counts = dict.fromkeys(marks, 0)
    for finding in contract.check(folder, _root(root), quick=quick):
        counts[finding.level.name] += 1
        console.print(f"{marks[finding.level.name]} {escape(finding.title)}", highlight=False)
        if finding.detail:
            console.print(Padding(f"[dim]{escape(finding.detail)}[/]", (0, 0, 0, 5)), highlight=False)
    console.print(f"{counts['OK']} ok, {counts['WARNING']} warnings, {counts['FAILURE']} failures")
    raise typer.Exit(1 if counts["FAILURE"] else 0)


def _search(config: Config, root: Path, direction: str, open_folder: Callable[[], RunFolder]) -> None:
    """Search with a progress bar, then say what was found and where it is."""
    opened: list[RunFolder] = []

    def opening() -> RunFolder:
        opened.append(open_folder())
        console.print(
            f"[bold]{opened[0].problem.name}[/] by {config.strategy_name} in {opened[0].path}", soft_wrap=True
        )
        return opened[0]

    try:
        with Bar(config.budget, direction) as bar:
            outcome = launch(config, root, opening, bar)
    except (OragentError, OSError):
        if opened and (opened[0].path / "best.py").is_file():
            console.print(f"everything so far is kept: oragent resume {opened[0].path}", soft_wrap=True)
        raise
    page = write(opened[0].path)
    summary(console, opened[0], outcome, page)
    if not outcome.complete:
        raise typer.Exit(130 if outcome.reason == STOPPED else 3)


def _root(given: Path | None) -> Path:
    """The nearest folder that has problems in it, from here upwards; here, if there is none."""
    if given:
        return given.resolve()
    here = Path.cwd()
    return next((folder for folder in (here, *here.parents) if any(folder.glob("problems/*/problem.yaml"))), here)

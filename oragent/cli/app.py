"""The command line: it composes the parts and has no logic of its own."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table

from oragent import __version__, compare
from oragent import report as reports
from oragent.authoring import contract, scaffold
from oragent.cli.display import Bar, summary
from oragent.cli.doctor import examine, warning
from oragent.errors import ConfigError, OragentError
from oragent.evaluation import Job, evaluate
from oragent.evaluation.problem import Problem, available, find
from oragent.programs import syntax
from oragent.protocol import Status
from oragent.report import load, show
from oragent.report.held_out import held_out
from oragent.sandbox import Limits
from oragent.search.config import Config, read
from oragent.search.folder import RunFolder, begin, reopen
from oragent.search.genetics.breeding import child_of_seed
from oragent.search.launch import STOPPED, launch
from oragent.search.strategies import STRATEGIES
from oragent.training import command as training
from oragent.training.request import PROBLEMS, TrainRequest

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
        table.add_row(
            f"[bold]{problem.name}[/]", about.function, about.direction.comparative, sizes, escape(about.title)
        )
    console.print(table)


@app.command()
def run(
    problem: Annotated[str | None, typer.Argument(help="A problem's name, or the path of its folder.")] = None,
    settings: Settings = None,
    config: Annotated[Path | None, typer.Option(help="YAML file; see configs/default.yaml for every key.")] = None,
    strategy: Annotated[str | None, typer.Option(help=f"{', '.join(STRATEGIES)} (default: by --model).")] = None,
    model: Annotated[str | None, typer.Option(help="Model name, asked at OPENAI_BASE_URL with OPENAI_API_KEY.")] = None,
    evaluations: Annotated[int | None, typer.Option(help="Budget: candidates scored.")] = None,
    seconds: Annotated[float | None, typer.Option(help="Budget: seconds by the clock.")] = None,
    workers: Annotated[int | None, typer.Option(help="Evaluations at once, a core each (default: all cores).")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the search.")] = None,
    zygote: Annotated[bool | None, typer.Option(help="Fork evaluations from a warm interpreter.")] = None,
    replay: Annotated[Path | None, typer.Option(help="A run's folder: do it again with its replies, no model.")] = None,
    root: Root = None,
    outputs: Annotated[Path | None, typer.Option(help="Where runs go (default: outputs/ in the root).")] = None,
) -> None:
    """Search for a better heuristic."""
    named = {
        "strategy.name": strategy, "model.name": model, "budget.evaluations": evaluations,
        "budget.seconds": seconds, "workers": workers, "seed": seed, "zygote": zygote,
    }  # fmt: skip
    overrides = [f"{key}={value}" for key, value in named.items() if value is not None]
    if replay:
        again = reopen(replay, [*([problem] if problem else []), *(settings or []), *overrides])
        base, found, chosen = again.root, again.problem, again.config
    elif problem:
        base, chosen = _root(root), read(config, [*overrides, *(settings or [])])
        found = find(problem, base)
    else:
        raise ConfigError("name a problem to search ('oragent problems' lists them), or a run to --replay")
    _search(
        chosen,
        base,
        found,
        lambda: begin(base, outputs or base / "outputs", found, chosen),
        replay and replay / "run.db",
    )


@app.command()
def resume(run: RunPath, settings: Settings = None) -> None:
    """Go on with a run that was stopped or killed, or give a finished one more budget (budget.evaluations=500)."""
    folder = reopen(run, settings or [])
    _search(folder.config, folder.root, folder.problem, lambda: folder)


@app.command(name="compare")
def compare_strategies(
    words: Annotated[
        list[str] | None, typer.Argument(metavar="PROBLEMS", help="Problems, and settings such as budget.money=2.5.")
    ] = None,
    config: Annotated[Path | None, typer.Option(help="YAML file; see configs/default.yaml for every key.")] = None,
    strategies: Annotated[str | None, typer.Option(help="Names (default: gp,random,funsearch,or_agent).")] = None,
    seeds: Annotated[int | None, typer.Option(min=1, help="How many, from 0 on (default: 3).")] = None,
    model: Annotated[str | None, typer.Option(help="Model name, asked at OPENAI_BASE_URL with OPENAI_API_KEY.")] = None,
    evaluations: Annotated[int | None, typer.Option(help="Budget of each run: candidates scored.")] = None,
    seconds: Annotated[float | None, typer.Option(help="Budget of each run: seconds by the clock.")] = None,
    workers: Annotated[int | None, typer.Option(help="Evaluations at once, a core each (default: all cores).")] = None,
    root: Root = None,
    outputs: Annotated[Path | None, typer.Option(help="Of the comparison (default: outputs/comparison).")] = None,
) -> None:
    """Compare strategies on problems, with several seeds and one budget; go on with a comparison by --outputs alone."""
    named = {
        "model.name": model, "budget.evaluations": evaluations, "budget.seconds": seconds, "workers": workers,
    }  # fmt: skip
    overrides = [f"{key}={value}" for key, value in named.items() if value is not None]
    base = _root(root)
    folder = outputs or base / "outputs" / "comparison"
    request = compare.CompareRequest(words or [], strategies, seeds, overrides, config, folder)
    raise typer.Exit(compare.run(request, base, console))


@app.command(name="eval", context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def evaluate_candidate(
    context: typer.Context,
    problem: ProblemName,
    candidate: Annotated[Path | None, typer.Option(help="Heuristic to score (default: the problem's seed).")] = None,
    mode: Annotated[str | None, typer.Option(help="train, val or test (default: val).")] = None,
    problem_size: Annotated[int | None, typer.Option("--problem_size", help="Just this size.")] = None,
    root: Root = None,
) -> None:
    """Score one heuristic in the sandbox, as a search would; with options of the evaluator's own, as by hand."""
    base = _root(root)
    found = find(problem, base)
    source = syntax.read(candidate, found.signature) if candidate else found.seed
    if context.args:
        given = {"root_dir": base, "candidate": candidate, "mode": mode, "problem_size": problem_size}
        raise typer.Exit(_by_hand(found, given, context.args))
    limits = Limits(found.about.timeout_s, found.about.memory_mb)
    result = evaluate(Job(found.evaluator, source, base, limits, mode, problem_size))
    if result.status is not Status.OK:
        if result.detail:
            console.print(escape(result.detail), highlight=False, soft_wrap=True)
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
    console.print(f"report: {reports.write(run)}", highlight=False, soft_wrap=True)


@app.command()
def train(
    problem: Annotated[str, typer.Argument(metavar="NETWORK", help=f"{', '.join(PROBLEMS)}.")],
    folder: Annotated[Path | None, typer.Option(help="Of the training (default: outputs/training/NETWORK).")] = None,
    labels: Annotated[Path | None, typer.Option(help="Of solutions to learn from (outputs/training/labels).")] = None,
    minutes: Annotated[float | None, typer.Option(help="Stop after so long; run again to go on.")] = None,
    steps: Annotated[int | None, typer.Option(help="Stop when so many steps are done in all.")] = None,
    decay: Annotated[int | None, typer.Option(help="Finish: lower the learning rate for so many steps.")] = None,
    imitate: Annotated[int, typer.Option(help="Begin tsp_pomo by imitating tours for so many steps.")] = 0,
    seed: Annotated[int, typer.Option(help="Seed of a new training.")] = 0,
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto",
    precise: Annotated[bool, typer.Option("--precise", help="Single precision instead of bfloat16 products.")] = False,
    export: Annotated[bool, typer.Option("--export", help="Only write weights to checkpoints/, as they are.")] = False,
    root: Root = None,
) -> None:
    """Train a network, go on with a training (it may be killed at any time), or export its weights."""
    base = _root(root)
    home = base / "outputs" / "training"
    request = TrainRequest(
        problem, folder or home / problem, labels or home / "labels", seed, steps, minutes, decay, imitate, device,
        precise,
    )  # fmt: skip
    for line in training.run(request, base, export=export):
        console.print(line, highlight=False, soft_wrap=True)


@app.command()
def doctor() -> None:
    """Say what this machine offers to hold a stranger's program, and what it does not; exit code 1 if anything."""
    raise typer.Exit(0 if examine(console) else 1)


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
    folder: Annotated[Path, typer.Argument(metavar="PROBLEM", help="A problem's folder, or its name.")],
    root: Root = None,
    quick: Annotated[bool, typer.Option("--quick", help="Mostly in train mode.")] = False,
) -> None:
    """Check that a problem's folder keeps the contract, in plain words."""
    marks = {"OK": "[green]ok  [/]", "WARNING": "[yellow]warn[/]", "FAILURE": "[bold red]FAIL[/]"}
    counts = dict.fromkeys(marks, 0)
    base = _root(root)
    if not folder.is_dir() and (base / "problems" / folder).is_dir():
        folder = base / "problems" / folder
    for finding in contract.check(folder, base, child_of_seed, quick=quick):
        counts[finding.level.name] += 1
        console.print(f"{marks[finding.level.name]} {escape(finding.title)}", highlight=False)
        if finding.detail:
            console.print(Padding(f"[dim]{escape(finding.detail)}[/]", (0, 0, 0, 5)), highlight=False)
    console.print(f"{counts['OK']} ok, {counts['WARNING']} warnings, {counts['FAILURE']} failures")
    raise typer.Exit(1 if counts["FAILURE"] else 0)


def _by_hand(problem: Problem, given: dict[str, Path | str | int | None], own: list[str]) -> int:
    """Run an evaluator here, where it may leave files and open windows, and return its exit code."""
    script = problem.evaluator
    program = [sys.executable, str(script)] if script.suffix == ".py" else [str(script)]
    arguments = [f"--{name}={value}" for name, value in given.items() if value is not None]
    return subprocess.run([*program, *arguments, *own], check=False).returncode


def _search(
    config: Config, root: Path, problem: Problem, open_folder: Callable[[], RunFolder], replay: Path | None = None
) -> None:
    """Search with a progress bar, then say what was found and where it is."""
    opened: list[RunFolder] = []

    def opening() -> RunFolder:
        opened.append(open_folder())
        console.print(
            f"[bold]{opened[0].problem.name}[/] by {opened[0].config.strategy_name} in {opened[0].path}", soft_wrap=True
        )
        if missing := warning():
            console.print(f"[bold yellow]careful:[/] {escape(missing)}", soft_wrap=True)
        return opened[0]

    try:
        with Bar(config.budget, problem.about.direction) as bar:
            outcome = launch(config, root, problem, opening, bar, replay)
    except (OragentError, OSError):
        if opened and (opened[0].path / "best.py").is_file():
            console.print(f"everything so far is kept: oragent resume {opened[0].path}", soft_wrap=True)
        raise
    page = reports.write(opened[0].path)
    summary(console, opened[0], outcome, page)
    if not outcome.complete:
        raise typer.Exit(130 if outcome.reason == STOPPED else 3)


def _root(given: Path | None) -> Path:
    """The nearest folder that has problems in it, from here upwards; here, if there is none."""
    if given:
        return given.resolve()
    here = Path.cwd()
    return next((folder for folder in (here, *here.parents) if any(folder.glob("problems/*/problem.yaml"))), here)

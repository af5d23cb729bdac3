"""Searches: ``run``, ``resume``, ``compare``, ``duel``."""

import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from oragent import report as reports
from oragent._base.errors import ConfigError, OragentError, UntrustedError
from oragent._base.files import expect_room
from oragent._base.publishing import publish_progress, publish_result
from oragent._base.text_format import format_count
from oragent.api.companions import register_companions
from oragent.api.run_documents import describe_run
from oragent.cli.display import Display, print_summary
from oragent.cli.folders import resume_folder
from oragent.cli.machine import isolation_warning
from oragent.cli.options import (
    DEVICE_HELP,
    Root,
    RunPath,
    Settings,
    SettingsFile,
    Trust,
    Watch,
    Workers,
    console,
    list_overrides,
    print_caution,
    print_text,
    problem_names,
    split_names,
)
from oragent.cli.spending import Yes, confirm_spending, keep_estimate
from oragent.evals.requests import CompareRequest
from oragent.evaluation.noise import read_noise
from oragent.evaluation.problem import Problem, evaluation_root, find_problem, find_project_root
from oragent.llm.estimates import SpendingEstimate
from oragent.llm.model_settings import RuntimeWords
from oragent.llm.prices import project_prices
from oragent.report.live.server import open_companion
from oragent.report.pages.loopback import require_server
from oragent.report.run import load_run
from oragent.report.tracking.event_adapter import TRACKERS, EventAdapter
from oragent.sandbox.isolation.probe import describe_isolation
from oragent.search.config import Config, read_config
from oragent.search.engine import Engine
from oragent.search.events import OnEvent, RunEvent, call_both
from oragent.search.folder import RunFolder, make_folder, reopen
from oragent.search.launch import STOPPED, launch
from oragent.search.spending import estimate_search
from oragent.search.starting import InitialPrograms, gather_start, rebuild_run
from oragent.search.strategies import STRATEGIES

register_companions()
Cluster = Annotated[
    str | None, typer.Option(help="Evaluate on local:N, tcp:// or tls://HOST:PORT, slurm, pbs, lsf, or by a file.")
]
Verdict = Annotated[
    bool, typer.Option(help="At the end, compare the best with the seed and the previous best on new instances.")
]
Track = Annotated[
    list[str] | None, typer.Option(help=f"Log the run to {', '.join(TRACKERS)}; repeatable (extra tracking).")
]


def run(
    problem: Annotated[
        str | None, typer.Argument(help="A problem's name, or the path of its folder.", autocompletion=problem_names)
    ] = None,
    settings: Settings = None,
    config: SettingsFile = None,
    strategy: Annotated[str | None, typer.Option(help=f"{', '.join(STRATEGIES)} (default: by --model).")] = None,
    model: Annotated[str | None, typer.Option(help="Model name, asked at OPENAI_BASE_URL with OPENAI_API_KEY.")] = None,
    evaluations: Annotated[
        int | None, typer.Option(help="Budget: candidates scored (default: 200, if no bound is named).")
    ] = None,
    seconds: Annotated[
        float | None, typer.Option(help="Budget: seconds by the clock; running evaluations may take a tenth more.")
    ] = None,
    workers: Workers = None,
    cluster: Cluster = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the search.")] = None,
    device: Annotated[str | None, typer.Option(help=DEVICE_HELP)] = None,
    start: Annotated[
        list[str] | None, typer.Option(help="Start from a program, a run, lessons (.md), or 'memory'; repeatable.")
    ] = None,
    replay: Annotated[
        Path | None, typer.Option(help="Repeat this run from its recorded replies, without a model.")
    ] = None,
    trust: Trust = False,
    root: Root = None,
    outputs: Annotated[Path | None, typer.Option(help="Folder for runs (default: outputs/ in the root).")] = None,
    watch: Watch = False,
    track: Track = None,
    verdict: Verdict = True,
    yes: Yes = False,
) -> None:
    """Search for a better heuristic."""
    named = {
        "strategy.name": strategy,
        "model.name": model,
        "budget.evaluations": evaluations,
        "budget.seconds": seconds,
        "workers": workers,
        "cluster": cluster,
        "seed": seed,
        "device": device,
    }
    overrides = list_overrides(named)
    if replay:
        again = _reopen_run(replay, [*overrides, *([problem] if problem else []), *(settings or [])], trust=trust)
        base, home, resolved, chosen = find_project_root(root), again.root, again.problem, again.config
    elif problem:
        base, chosen = find_project_root(root), read_config(config, [*overrides, *(settings or [])])
        resolved = find_problem(problem, base)
        home = evaluation_root(resolved, root)
    else:
        raise ConfigError("name a problem to search ('oragent problems' lists them), or a run to --replay")
    folder = outputs or base / "outputs"
    expect_room(folder)
    warm = gather_start(start, resolved, folder) if start else None
    estimate = SpendingEstimate() if replay else estimate_search(chosen, resolved, project_prices(home))
    confirm_spending(estimate, chosen.budget.confirm, yes=yes)
    _run_search(
        chosen,
        root=home,
        problem=resolved,
        open_folder=lambda: make_folder(home, folder, resolved, chosen),
        replay=replay and replay / "run.db",
        start=warm,
        watch=watch,
        estimate=estimate,
        track=track or (),
        judges=verdict,
    )


def resume(
    run: RunPath,
    settings: Settings = None,
    lost: Annotated[
        bool, typer.Option("--rebuild", help="Create a lost database again from the remaining elites.")
    ] = False,
    trust: Trust = False,
    watch: Watch = False,
    track: Track = None,
    verdict: Verdict = True,
) -> None:
    """Continue a run that was stopped or killed, or give a finished run more budget (budget.evaluations=500)."""
    words = RuntimeWords(tuple(settings or ()))
    if resume_folder(run, words, trust):
        return
    folder = _reopen_run(run, settings or [], trust=trust)
    if lost:
        console.print(
            f"a new database, which begins with {format_count(rebuild_run(folder), 'program')} that were left"
        )
    _run_search(
        folder.config, folder.root, folder.problem, lambda: folder, watch=watch, track=track or (), judges=verdict
    )


def _reopen_run(path: Path, settings: Sequence[str], *, trust: bool) -> RunFolder:
    """Open a run again.

    On a terminal, ask the user about addresses and commands that the folder names and the user did not.
    """
    try:
        return reopen(path, settings, trust=trust)
    except UntrustedError as problem:
        if not sys.stdin.isatty():
            raise
        print_text(str(problem))
        if not typer.confirm("Go on with it"):
            raise
    return reopen(path, settings, trust=True)


def compare_strategies(
    words: Annotated[
        list[str] | None, typer.Argument(metavar="PROBLEMS", help="Problems, and settings such as budget.money=2.5.")
    ] = None,
    config: SettingsFile = None,
    strategies: Annotated[
        str | None, typer.Option(help="Names (default: gp,random,hill_climb,one_shot,funsearch,or_agent).")
    ] = None,
    variants: Annotated[
        str | None, typer.Option(help="YAML files, with commas: strategies with settings of their own.")
    ] = None,
    seeds: Annotated[int | None, typer.Option(min=1, help="Number of seeds, from 0 (default: 3).")] = None,
    against: Annotated[
        str | None, typer.Option(metavar="NAME", help="Compare each with this strategy alone, which needs fewer seeds.")
    ] = None,
    model: Annotated[str | None, typer.Option(help="Model name, asked at OPENAI_BASE_URL with OPENAI_API_KEY.")] = None,
    evaluations: Annotated[int | None, typer.Option(help="Budget of each run: candidates scored.")] = None,
    seconds: Annotated[float | None, typer.Option(help="Budget of each run: seconds by the clock.")] = None,
    workers: Workers = None,
    root: Root = None,
    outputs: Annotated[
        Path | None, typer.Option(help="Folder of the comparison (default: outputs/comparison).")
    ] = None,
    yes: Yes = False,
) -> None:
    """Compare strategies on problems, with several seeds and one budget; --outputs alone continues a comparison."""
    from oragent.evals.compare.command import run as run_comparison
    from oragent.evals.compare.spending import estimate_comparison

    named = {
        "model.name": model,
        "budget.evaluations": evaluations,
        "budget.seconds": seconds,
        "workers": workers,
    }
    overrides = list_overrides(named)
    base = find_project_root(root)
    folder = outputs or base / "outputs" / "comparison"
    files = list(map(Path, split_names(variants or "")))
    request = CompareRequest(words or [], strategies, seeds, overrides, config, folder, files, against)
    estimate, limit = estimate_comparison(request, base)
    confirm_spending(estimate, limit, yes=yes)
    try:
        code = run_comparison(request, base, console)
    finally:
        keep_estimate(estimate, folder)
    raise typer.Exit(code)


def duel(
    first: Annotated[
        str,
        typer.Argument(help="A file, a run (its best), RUN#ID, discovered/TITLE, reference/NAME, or seed."),
    ],
    second: Annotated[str, typer.Argument(help="The program against which the first one is held.")],
    settings: Settings = None,
    config: SettingsFile = None,
    problem: Annotated[
        str | None, typer.Option(help="Problem (default: that of the programs).", autocompletion=problem_names)
    ] = None,
    on: Annotated[
        str,
        typer.Option(help="fresh or practice, drawn anew each round, or a fixed set, as test (default: fresh)."),
    ] = "",
    seeds: Annotated[int, typer.Option(min=1, help="Maximum number of rounds with newly drawn instances.")] = 10,
    until: Annotated[str, typer.Option(help="End at this p-value, which holds at any time.")] = "p<0.01",
    gap: Annotated[str, typer.Option(help="End if the difference is within this, such as 0.1%.")] = "0",
    instances: Annotated[int, typer.Option(min=0, help="First N of each size and round, on practice.")] = 0,
    work: Annotated[float, typer.Option(min=0.001, help="Factor on the work of each solve.")] = 1.0,
    equal_time: Annotated[
        bool, typer.Option("--equal-time", help="Give the faster program more work, for equal CPU time.")
    ] = False,
    workers: Workers = None,
    cluster: Cluster = None,
    device: Annotated[str | None, typer.Option(help=DEVICE_HELP)] = None,
    root: Root = None,
    outputs: Annotated[Path | None, typer.Option(help="Folder of the duel (default: below outputs/duels).")] = None,
) -> None:
    """Decide which of two programs is better, on paired instances until it is above the noise; exit code 3 if open."""
    from oragent.evals.duel.command import run as run_duel
    from oragent.evals.duel.contestants import find_contestants
    from oragent.evals.duel.runner import MAX_LEVEL, DuelPlan
    from oragent.evals.duel.verdict import read_share

    base = find_project_root(root)
    resolved, contestants = find_contestants((first, second), problem, base)
    overrides = list_overrides({"workers": workers, "cluster": cluster, "device": device})
    plan = DuelPlan(
        resolved,
        evaluation_root(resolved, root),
        contestants,
        read_config(config, [*overrides, *(settings or [])]),
        on=on,
        rounds=seeds,
        level=read_share(until.replace(" ", "").removeprefix("p<"), "--until", MAX_LEVEL),
        gap=read_share(gap, "--gap", 1.0),
        instances=instances,
        work=work,
        equal_time=equal_time,
        folder=outputs,
        outputs=base / "outputs",
    )
    if warning := resolved.unguarded_warning:
        print_caution(warning)
    raise typer.Exit(run_duel(plan, console))


def _run_search(
    config: Config,
    root: Path,
    problem: Problem,
    open_folder: Callable[[], RunFolder],
    replay: Path | None = None,
    start: InitialPrograms | None = None,
    watch: bool = False,
    estimate: SpendingEstimate | None = None,
    track: Sequence[str] = (),
    judges: bool = True,
) -> None:
    """Run a search with a live display, then print its result and its folder."""
    opened: list[RunFolder] = []
    if watch:
        require_server()
    # This must be done before a second thread exists.
    isolation = None if config.cluster else describe_isolation()

    def open_and_announce() -> RunFolder:
        opened.append(open_folder())
        keep_estimate(estimate or SpendingEstimate(), opened[0].path)
        title = f"[bold]{escape(problem.name)}[/] by {escape(config.strategy_name)} in {escape(str(opened[0].path))}"
        console.print(title, highlight=False, soft_wrap=True)
        noise = read_noise(opened[0].problem.folder)
        if noise is not None and noise.shown is not None:
            print_text(f"noise: val shows a difference of {100 * noise.shown:.2g} % with probability 80 %")
        # Workers of a cluster report their own isolation.
        here = "" if config.cluster else isolation_warning(isolation)
        for missing in filter(None, (here, opened[0].problem.unguarded_warning)):
            print_caution(missing)
        return opened[0]

    try:
        title = f"{problem.name} by {config.strategy_name}"
        with Display(console, title, config.budget, problem.about.direction) as display:

            @contextmanager
            def watching(engine: Engine) -> Iterator[None]:
                page = open_companion(opened[0].path, display.show_note) if watch else nullcontext()
                with display.watch_engine(engine), page:
                    yield

            on_event: OnEvent = _publish_event
            if track:
                on_event = call_both(_publish_event, EventAdapter(track, config, display.show_note))
            outcome = launch(
                config,
                root=root,
                problem=problem,
                open_folder=open_and_announce,
                observer=display,
                replay=replay,
                tell=display.show_note,
                watch=watching,
                start=start,
                isolation=isolation,
                on_event=on_event,
            )
    except KeyboardInterrupt:
        # Ctrl-C before the engine starts to handle it, or after it ended.
        if opened and opened[0].path.exists():
            remark = f"everything so far is kept: oragent resume {shlex.quote(str(opened[0].path))}"
        else:
            remark = "the run had no folder yet"
        console.print(f"{STOPPED}: {escape(remark)}", highlight=False, soft_wrap=True)
        raise typer.Exit(130) from None
    except (OragentError, OSError):
        if opened and opened[0].best.is_file():
            console.print(
                f"everything so far is kept: oragent resume {shlex.quote(str(opened[0].path))}", soft_wrap=True
            )
        raise
    verdicts = _judge_run(opened[0].path) if judges and outcome.complete and replay is None else ()
    page = reports.write(opened[0].path)
    publish_result({**describe_run(load_run(opened[0].path)), "complete": outcome.complete, "report": page})
    print_summary(console, opened[0], outcome, page, verdicts)
    if not outcome.complete:
        raise typer.Exit(130 if outcome.reason == STOPPED else 3)


def _judge_run(path: Path) -> Sequence[str]:
    """Compare the best program of a run with earlier ones on new instances; return the verdicts in sentences."""
    from oragent.evals.duel.run_verdict import judge_run
    from oragent.report.run_verdicts import read_verdicts

    try:
        return [verdict.sentence for verdict in judge_run(path)]
    except OragentError as problem:
        kept = [verdict.sentence for verdict in read_verdicts(path)]
        return [*kept, f"the best program could not be compared on new instances: {problem}"]
    except KeyboardInterrupt:
        return []


def _publish_event(event: RunEvent) -> None:
    publish_progress(str(event.kind), {"round": event.round, "at_s": event.at_s, **event.data})

"""Compare strategies, and variants of them, from Python."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from oragent._base.errors import ConfigError
from oragent.api.choices import Choices, ModelChoice, Settings, read_choices
from oragent.api.steering import run_in_thread
from oragent.evals.bench.execute import execute_plan
from oragent.evals.compare.command import write_report
from oragent.evals.compare.comparison import Comparison, load_comparison
from oragent.evals.compare.plan import MANIFEST, read_request
from oragent.evals.compare.runner import SearchRunner
from oragent.evals.requests import CompareRequest
from oragent.evaluation.problem import Problem, find_project_root
from oragent.search.config import Config
from oragent.search.events import OnEvent, ignore_event
from oragent.search.folder import RunFolder
from oragent.search.launch import search
from oragent.search.progress import Observer, SearchResult

VariantChoice = str | Path | Mapping[str, Any]


def comparison(
    problems: str | Path | Sequence[str | Path],
    *,
    strategies: Sequence[str] | None = None,
    variants: Sequence[VariantChoice] = (),
    seeds: int | None = None,
    model: ModelChoice | None = None,
    evaluations: int | None = None,
    seconds: float | None = None,
    settings: Settings | None = None,
    config: str | Path | None = None,
    root: str | Path | None = None,
    outputs: str | Path | None = None,
    on_event: OnEvent | None = None,
    **keys: Any,
) -> Comparison:
    """Do what ``oragent compare`` does; a comparison that was begun in the same folder goes on.

    Args:
        problems: names or folders.
        strategies: names, or files of one's own; None: the usual ones, or none beside variants.
        variants: strategies with settings of their own, any number of each: paths of YAML files, or mappings with
            ``name``, ``strategy``, and perhaps ``model`` and ``settings``.
        seeds: how many; None: three.
        model: a name, or settings of a model; a comparison is kept in files, so it takes no function.
        evaluations: budget of each run, candidates scored.
        seconds: budget of each run, seconds by the clock.
        settings: others, of all runs, as for ``run``.
        config: a YAML file of settings.
        root: the project's root; None: the nearest folder with problems, from here upwards.
        outputs: the comparison's folder; None: ``outputs/comparison`` in the root.
        on_event: called with each event of each run, as for ``run``; the folder of ``begun`` says which run follows.
        keys: sections or keys of the configuration of all runs.

    Returns:
        What it came to: ``plan``, ``summary`` with final scores and paired differences, ``unfinished``; the page is
        ``report.html`` in its ``folder``.

    Raises:
        OragentError: one line on what is wrong with it, or keeps it from going on.
        KeyboardInterrupt: Ctrl-C, once the run under way has stopped in good order; all that was paid for is kept.
    """
    budget = {"budget.evaluations": evaluations, "budget.seconds": seconds}
    choices = read_choices(
        model, None, settings, keys | {key: value for key, value in budget.items() if value is not None}
    )
    if choices.makers:
        raise ConfigError("a comparison is kept in files: its model must be a name or settings, not a function")
    base = find_project_root(Path(root) if root else None)
    folder = Path(outputs) if outputs else base / "outputs" / "comparison"
    names = [problems] if isinstance(problems, str | Path) else problems
    request = CompareRequest(
        words=[*map(str, names), *choices.overrides],
        strategies=None if strategies is None else ",".join(strategies),
        seeds=seeds,
        overrides=[],
        config=Path(config) if config else None,
        outputs=folder,
        variants=[problem if isinstance(problem, Mapping) else Path(problem) for problem in variants],
    )
    plan = read_request(request, base)
    MANIFEST.write_plan(plan, folder)
    runner = SearchRunner(plan, launching=partial(_launch_run, on_event=on_event or ignore_event))
    for finished in execute_plan(plan, runner, folder):
        if finished.end.stopped:
            raise KeyboardInterrupt
    result = load_comparison(plan, runner, folder)
    write_report(result)
    return result


def _launch_run(
    config: Config,
    root: Path,
    problem: Problem,
    open_folder: Callable[[], RunFolder],
    observer: Observer,
    on_event: OnEvent,
) -> SearchResult:
    """Search in a thread of its own: a loop may run here, and signals go where they went before."""
    options = Choices().make_launch_options(config)
    return run_in_thread(
        lambda steering, message: search(
            config, root, problem, open_folder, message, steering=steering, overrides=options, on_event=on_event
        ),
        observer,
    )

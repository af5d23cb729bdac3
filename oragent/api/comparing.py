"""Compare strategies, and variants of them, from Python."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from oragent._base.errors import ConfigError
from oragent.api.choices import Choices, ModelChoice, Settings, read_choices
from oragent.api.steering import run_in_thread
from oragent.evals.bench.result import execute_plan
from oragent.evals.compare.command import write_report
from oragent.evals.compare.plan import MANIFEST, read_request
from oragent.evals.compare.runner import Comparison, SearchRunner, load_comparison
from oragent.evals.requests import CompareRequest
from oragent.evaluation.problem import Problem, find_project_root
from oragent.search.config import Config
from oragent.search.events import Observer, OnEvent, SearchResult, ignore_event
from oragent.search.folder import RunFolder
from oragent.search.launch import search

VariantChoice = str | Path | Mapping[str, Any]


def comparison(
    problems: str | Path | Sequence[str | Path],
    *,
    strategies: Sequence[str] | None = None,
    variants: Sequence[VariantChoice] = (),
    seeds: int | None = None,
    against: str | None = None,
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
    """Compare strategies like ``oragent compare``; an existing comparison in the folder is continued.

    Args:
        problems: Names or folders.
        strategies: Names or files; None for the default list, or for none if there are variants.
        variants: Strategies with separate settings: YAML files, or mappings with ``name``, ``strategy``, and
            optionally ``model`` and ``settings``.
        seeds: Number of seeds; None for three.
        against: Strategy with which each other one is compared; None for all pairs.
        model: Name or settings of a model; functions are not allowed.
        evaluations: Budget of each run in scored candidates.
        seconds: Budget of each run in wall-clock seconds.
        settings: Further settings of all runs, as for ``run``.
        config: YAML file of settings.
        root: Project root, as for ``run``.
        outputs: Folder of the comparison; None for ``outputs/comparison`` in the root.
        on_event: As for ``run``; the folder in the event ``begun`` identifies the next run.
        keys: Sections or keys of the configuration of all runs.

    Returns:
        The comparison: ``plan``, ``summary`` (final scores and paired differences), ``unfinished``, and ``folder`` with
        ``report.html``.

    Raises:
        OragentError: The comparison cannot start or continue.
        KeyboardInterrupt: Ctrl-C; finished work is kept.
    """
    choices = read_choices(model, None, settings, keys, evaluations, seconds)
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
        against=against,
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
    """Search in a separate thread, because this thread may run an event loop; signal handling is not changed."""
    options = Choices().make_launch_options(config)
    return run_in_thread(
        lambda steering, message: search(
            config, root, problem, open_folder, message, steering=steering, overrides=options, on_event=on_event
        ),
        observer,
    )

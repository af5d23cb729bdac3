"""Start or resume a search from Python."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from oragent._base.errors import ConfigError
from oragent._base.files import expect_room
from oragent.api.choices import (
    Choices,
    ModelChoice,
    ProblemChoice,
    Settings,
    StrategyChoice,
    read_choices,
    resolve_problem,
)
from oragent.api.companions import register_companions
from oragent.api.results import SearchRun, load
from oragent.api.steering import Steering, await_in_thread, run_in_thread
from oragent.evaluation.problem import Problem, evaluation_root, find_project_root
from oragent.report.tracking.event_adapter import EventAdapter
from oragent.sandbox.isolation.probe import describe_isolation
from oragent.search.config import Config, read_config
from oragent.search.events import Observer, OnEvent, Progress, SearchResult, call_both, ignore_event
from oragent.search.folder import RunFolder, make_folder, reopen
from oragent.search.launch import LaunchOptions, search
from oragent.search.starting import InitialPrograms, gather_start
from oragent.search.strategies import FUNCTION

register_companions()


def run(
    problem: ProblemChoice,
    *,
    model: ModelChoice | None = None,
    strategy: StrategyChoice | None = None,
    evaluations: int | None = None,
    seconds: float | None = None,
    settings: Settings | None = None,
    config: str | Path | None = None,
    progress: Observer | None = None,
    start: Sequence[str | Path] = (),
    root: str | Path | None = None,
    outputs: str | Path | None = None,
    on_event: OnEvent | None = None,
    track: Sequence[str] = (),
    **keys: Any,
) -> SearchRun:
    """Search for a better heuristic until the budget is spent.

    The search has its own thread and event loop, so this works in a notebook. ``progress`` is called in the caller's
    thread. An exception in it, or Ctrl-C, ends the search after running evaluations and calls, which are stored; a
    second Ctrl-C stops immediately. ``resume`` continues the run.

    Args:
        problem: Name, folder, or loaded problem.
        model: Name, settings (a mapping), or a function or coroutine function that takes a list of messages
            ``{"role": ..., "content": ...}`` and returns a text. None means no model.
        strategy: Name, path of a Python file, ``oragent.Strategy``, or coroutine function ``round(run)``. None means
            ``or_agent`` with a model, ``gp`` without.
        evaluations: Budget of scored candidates; 200 if no limit is set.
        seconds: Budget of wall-clock seconds.
        settings: Further settings: a tree (``{"archive": {"islands": 4}}``) or texts (``"archive.islands=4"``).
        config: YAML file of settings; other arguments override it.
        progress: Called after each round with the state of the run, such as ``print``.
        start: Programs and lessons to start from: Python files, run folders, ``.md`` files, or ``memory``.
        root: Project root; None for the nearest parent folder with problems.
        outputs: Folder of runs; None for ``outputs`` in the root.
        on_event: Called with each ``oragent.search.events.RunEvent`` in the search's thread.
        track: Names of trackers: ``jsonl``, ``tensorboard``, ``mlflow``, ``wandb``, ``otel``.
        keys: Sections or keys of the configuration, such as ``seed=1`` or ``budget={"money": 2.5}``. ``cluster`` may
            also be an object with the method ``submit`` of a ``concurrent.futures.Executor``.

    Returns:
        The run; ``reason`` states why it ended, also after an error of the model.

    Raises:
        OragentError: The search cannot start or continue.
        OSError: The disk is full, or no process can be started.
    """
    choices = read_choices(model, strategy, settings, keys, evaluations, seconds)
    launched = _prepare_run(choices, problem, config, root, outputs, start, on_event or ignore_event)
    launched.track(track)
    run_in_thread(launched.run_search, progress or _ignore)
    return launched.load_result()


async def run_async(
    problem: ProblemChoice,
    *,
    model: ModelChoice | None = None,
    strategy: StrategyChoice | None = None,
    evaluations: int | None = None,
    seconds: float | None = None,
    settings: Settings | None = None,
    config: str | Path | None = None,
    progress: Observer | None = None,
    start: Sequence[str | Path] = (),
    root: str | Path | None = None,
    outputs: str | Path | None = None,
    on_event: OnEvent | None = None,
    track: Sequence[str] = (),
    **keys: Any,
) -> SearchRun:
    """Search like ``run`` in the current event loop, so that an async model can use its objects.

    Cancellation ends the search after running evaluations, which are stored; a second one ends it immediately.
    """
    choices = read_choices(model, strategy, settings, keys, evaluations, seconds)
    launched = _prepare_run(choices, problem, config, root, outputs, start, on_event or ignore_event)
    launched.track(track)
    await await_in_thread(launched.run_search, progress or _ignore)
    return launched.load_result()


def resume(
    path: str | Path,
    *,
    model: ModelChoice | None = None,
    strategy: StrategyChoice | None = None,
    evaluations: int | None = None,
    seconds: float | None = None,
    settings: Settings | None = None,
    progress: Observer | None = None,
    on_event: OnEvent = ignore_event,
    track: Sequence[str] = (),
    trust: bool = False,
    **keys: Any,
) -> SearchRun:
    """Continue a run that was stopped or killed, or extend the budget of a finished one.

    Args:
        path: Run folder.
        model: Different model, or the function of the original run, which a folder cannot store.
        strategy: Function or ``oragent.Strategy`` of the original run.
        evaluations: Budget of the whole run in scored candidates.
        seconds: Budget of the whole run in wall-clock seconds.
        settings: Settings as for ``run`` that do not change the search itself.
        progress: As for ``run``.
        on_event: As for ``run``.
        track: As for ``run``.
        trust: Accept code, commands, addresses and keys that the folder names and you did not name.
        keys: Sections or keys of the configuration.

    Returns:
        The run.

    Raises:
        OragentError: As for ``run``; or the run does not exist, it needs ``trust`` or its function, or settings would
            change the search.
        OSError: As for ``run``.
    """
    choices = read_choices(model, strategy, settings, keys, evaluations, seconds)
    launched = _prepare_resume(Path(path), choices, trust=trust, on_event=on_event)
    launched.track(track)
    run_in_thread(launched.run_search, progress or _ignore)
    return launched.load_result()


@dataclass
class _SearchLaunch:
    config: Config
    root: Path
    problem: Problem
    open_folder: Callable[[], RunFolder]
    options: LaunchOptions
    folder: RunFolder | None = None
    start: InitialPrograms | None = None
    on_event: OnEvent = ignore_event
    # Evaluated before the search starts its thread.
    isolation: dict[str, list[str]] | None = field(default_factory=describe_isolation)

    def track(self, names: Sequence[str]) -> None:
        """Log the run to trackers; one that fails is left out with a warning."""
        if names:
            self.on_event = call_both(self.on_event, EventAdapter(names, self.config, warnings.warn))

    async def run_search(self, steering: Steering, observer: Observer) -> SearchResult:
        return await search(
            self.config,
            self.root,
            self.problem,
            self._open_folder,
            observer,
            steering=steering,
            overrides=self.options,
            start=self.start,
            on_event=self.on_event,
            isolation=self.isolation,
        )

    def _open_folder(self) -> RunFolder:
        self.folder = self.open_folder()
        return self.folder

    def load_result(self) -> SearchRun:
        assert self.folder is not None
        return load(self.folder.path)


def _prepare_run(
    choices: Choices,
    problem: ProblemChoice,
    config: str | Path | None,
    root: str | Path | None,
    outputs: str | Path | None,
    start: Sequence[str | Path],
    on_event: OnEvent,
) -> _SearchLaunch:
    within = Path(root) if root else None
    base = find_project_root(within)
    settings = read_config(Path(config) if config else None, choices.overrides)
    resolved, options = resolve_problem(problem, base), choices.make_launch_options(settings)
    outputs_folder, home = Path(outputs) if outputs else base / "outputs", evaluation_root(resolved, within)
    expect_room(outputs_folder)
    warm = gather_start([str(entry) for entry in start], resolved, outputs_folder) if start else None
    return _SearchLaunch(
        settings,
        home,
        resolved,
        lambda: make_folder(home, outputs_folder, resolved, settings, options.strategy),
        options,
        start=warm,
        on_event=on_event,
    )


def _prepare_resume(path: Path, choices: Choices, *, trust: bool, on_event: OnEvent) -> _SearchLaunch:
    folder = reopen(path, choices.overrides, trust=trust)
    options, name = choices.make_launch_options(folder.config), folder.config.strategy.name
    if options.strategy and f"{options.strategy.name}{FUNCTION}" != name:
        raise ConfigError(f"this run was begun with the strategy {name}, not with {options.strategy.name}{FUNCTION}")
    return _SearchLaunch(folder.config, folder.root, folder.problem, lambda: folder, options, on_event=on_event)


def _ignore(progress: Progress) -> None:
    """Ignore progress."""

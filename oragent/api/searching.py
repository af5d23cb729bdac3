"""Start a search from Python, or resume one."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from oragent._base.errors import ConfigError
from oragent.api.choices import (
    Choices,
    ModelChoice,
    ProblemChoice,
    Settings,
    StrategyChoice,
    read_choices,
    resolve_problem,
)
from oragent.api.results import SearchRun, load
from oragent.api.steering import Steering, await_in_thread, run_in_thread
from oragent.evaluation.problem import Problem, evaluation_root, find_project_root
from oragent.search.config import Config, read_config
from oragent.search.events import OnEvent, ignore_event
from oragent.search.folder import RunFolder, make_folder, reopen
from oragent.search.launch import LaunchOptions, search
from oragent.search.progress import Observer, Progress, SearchResult
from oragent.search.starting import InitialPrograms, gather_start
from oragent.search.strategies import FUNCTION


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
    **keys: Any,
) -> SearchRun:
    """Search for a better heuristic, to the end of the budget; also where an event loop runs, as in a notebook.

    The search has a thread and an event loop of its own; ``progress`` is called in the caller's thread. An exception
    that it raises, and Ctrl-C, stop the search in good order before they go on: all that was paid for is kept, and
    ``resume`` goes on. A second Ctrl-C does not wait for what is being evaluated.

    Args:
        problem: a name, a folder, or a loaded problem.
        model: a name, settings of a model (a mapping), or any function that gets messages, a list of
            ``{"role": ..., "content": ...}``, and returns a text; also a coroutine function. None: no model.
        strategy: a name, the path of a Python file, an ``oragent.Strategy``, or a coroutine function ``round(run)``.
            None: ``or_agent`` with a model, ``gp`` without.
        evaluations: budget, candidates scored; 200 where no bound is named.
        seconds: budget, seconds by the clock.
        settings: others, as a tree (``{"archive": {"islands": 4}}``) or as texts (``"archive.islands=4"``).
        config: a YAML file of settings, over which all others win.
        progress: called after each round with where the run stands; ``print`` shows a line.
        start: what it begins with beside the seed: Python files, runs' folders (their best programs and memory),
            texts of lessons (``.md``), or ``memory``: what ``oragent memory`` keeps of the problem's family.
        root: the project's root; None: the nearest folder with problems, from here upwards.
        outputs: where runs go; None: ``outputs`` in the root.
        on_event: called with each event of the run (``oragent.search.events.RunEvent``), in the search's thread.
        keys: sections or keys of the configuration, such as ``seed=1``, ``workers=2``, ``budget={"money": 2.5}``.
            ``cluster`` may also be anything with the ``submit`` of a ``concurrent.futures.Executor``.

    Returns:
        The run; its ``reason`` says why it ended, also where a model failed on the way.

    Raises:
        OragentError: one line on what keeps the search from beginning or going on.
        OSError: if the machine does (no room, no process to be had).
    """
    choices = read_choices(model, strategy, settings, _budget_settings(evaluations, seconds, keys))
    launched = _prepare_run(choices, problem, config, root, outputs, start)
    launched.on_event = on_event or ignore_event
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
    **keys: Any,
) -> SearchRun:
    """Do what ``run`` does, in the event loop that runs here; so an async model may use what belongs to that loop.

    Cancelled, it lets what is being evaluated end and keeps it; cancelled again, it ends at once.

    It takes, returns and raises what ``run`` does.
    """
    choices = read_choices(model, strategy, settings, _budget_settings(evaluations, seconds, keys))
    launched = _prepare_run(choices, problem, config, root, outputs, start)
    launched.on_event = on_event or ignore_event
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
    trust: bool = False,
    **keys: Any,
) -> SearchRun:
    """Go on with a run that was stopped or killed, or give a finished one more budget.

    A run whose strategy or model was a function gets it again: no folder can keep one.

    Args:
        path: the run's folder.
        model: another one, or the function that it was.
        strategy: the function, or the ``oragent.Strategy``, that it was.
        evaluations: budget of the whole, candidates scored.
        seconds: budget of the whole, seconds by the clock.
        settings: others, as for ``run``; only what does not change the search itself.
        progress: as for ``run``.
        on_event: as for ``run``.
        trust: True to agree to code, commands, addresses and keys that the folder names and you did not.
        keys: sections or keys, likewise.

    Returns:
        The run.

    Raises:
        OragentError: as for ``run``; or the folder asks for something without ``trust``, there is no such run, it
            needs its function, or it would be another run.
        OSError: as for ``run``.
    """
    choices = read_choices(model, strategy, settings, _budget_settings(evaluations, seconds, keys))
    launched = _prepare_resume(Path(path), choices, trust=trust, on_event=on_event)
    run_in_thread(launched.run_search, progress or _ignore)
    return launched.load_result()


@dataclass
class _SearchLaunch:
    """A search that is ready to start."""

    config: Config
    root: Path
    problem: Problem
    open_folder: Callable[[], RunFolder]
    options: LaunchOptions
    folder: RunFolder | None = None
    start: InitialPrograms | None = None
    on_event: OnEvent = ignore_event

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
) -> _SearchLaunch:
    within = Path(root) if root else None
    base = find_project_root(within)
    settings = read_config(Path(config) if config else None, choices.overrides)
    resolved, options = resolve_problem(problem, base), choices.make_launch_options(settings)
    outputs_folder, home = Path(outputs) if outputs else base / "outputs", evaluation_root(resolved, within)
    warm = gather_start([str(entry) for entry in start], resolved, outputs_folder) if start else None
    return _SearchLaunch(
        settings,
        home,
        resolved,
        lambda: make_folder(home, outputs_folder, resolved, settings, options.strategy),
        options,
        start=warm,
    )


def _prepare_resume(path: Path, choices: Choices, *, trust: bool, on_event: OnEvent) -> _SearchLaunch:
    folder = reopen(path, choices.overrides, trust=trust)
    options, name = choices.make_launch_options(folder.config), folder.config.strategy.name
    if options.strategy and f"{options.strategy.name}{FUNCTION}" != name:
        raise ConfigError(f"this run was begun with the strategy {name}, not with {options.strategy.name}{FUNCTION}")
    return _SearchLaunch(folder.config, folder.root, folder.problem, lambda: folder, options, on_event=on_event)


def _budget_settings(evaluations: int | None, seconds: float | None, keys: dict[str, Any]) -> dict[str, Any]:
    named = {"budget.evaluations": evaluations, "budget.seconds": seconds}
    return keys | {name: value for name, value in named.items() if value is not None}


def _ignore(progress: Progress) -> None:
    """Ignore progress."""

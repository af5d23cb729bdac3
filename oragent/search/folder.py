"""Folder of a run: its files, and how to create and reopen it."""

import hashlib
import os
import re
import shlex
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import yaml

from oragent import __version__
from oragent._base import files, package_data
from oragent._base.errors import ConfigError, ProblemError, StoreError
from oragent._base.files import LockHeld, expect_no_links, hold_lock, network_file_system, refuse_link
from oragent._base.prompt_templates import SUFFIX
from oragent._base.racing import displayed_metrics
from oragent._base.safe_load import load_yaml
from oragent._base.settings import dump_settings
from oragent._base.text_format import escape_text
from oragent.evaluation.capabilities import require_all
from oragent.evaluation.devices import CPU, is_same_device, pin_device
from oragent.evaluation.problem import Problem, evaluation_root, load_problem
from oragent.evaluation.required_packages import describe_mixture
from oragent.ledger.database import FORMAT, expect_format, is_blank
from oragent.search.candidate import Elite
from oragent.search.checks import expect_trust, remember_demands
from oragent.search.config import Config, build_config
from oragent.search.network_storage import COPY_S, keep_copying, local_copy
from oragent.search.run_context import PROMPTS
from oragent.search.store import LOCK, Store
from oragent.search.strategies import FUNCTION, resolve_strategy
from oragent.search.strategy import Strategy

CANDIDATES = "candidates"
# First line that a run writes into the file of a program.
HEAD_LINE = re.compile(r"(?:#|//) (?P<problem>[\w.-]{1,100}): ")
ELITE_ID = re.compile(r"\d+\.\d+|round \d+")
# Name of the copy of a user's strategy file.
STRATEGY_FILE = "strategy.py"
# Name of the folder with copies of a user's prompts.
PROMPTS_FOLDER = "prompts"
CHANGEABLE = ("budget", "workers", "cluster", "zygote", "cache", "model", "models", "ensemble")


@dataclass(frozen=True)
class RunFolder:
    """Files of a run."""

    # Path of the folder.
    path: Path
    # Root of the project, for data and checkpoints.
    root: Path
    # Problem of the run.
    problem: Problem
    # Configuration of the run.
    config: Config
    # True for a new run. Its folder may be removed if nothing was scored.
    is_new: bool = False

    @property
    def database(self) -> Path:
        """Path of the database."""
        return self.path / "run.db"

    @property
    def again(self) -> str:
        """Return the problem and the options of the command line for a search like this one with another seed."""
        name, folder = self.problem.name, self.problem.folder
        return repeat_command(
            name if folder == self.root / "problems" / name else str(folder), dump_settings(self.config)
        )

    def forget(self) -> None:
        """Remove the folder of a new run without any score, and the folder of its problem if that is now empty."""
        if self.is_new and not self.found_elites():
            shutil.rmtree(self.path, ignore_errors=True)
            with suppress(OSError):
                self.path.parent.rmdir()

    def widened(self, places: int) -> "RunFolder":
        """Return a new run with enough rounds for this many parallel evaluations, plus half as many that wait."""
        strategy = replace(self.config.strategy, window=max(self.config.strategy.window or 1, places + places // 2))
        wider = replace(self, config=replace(self.config, strategy=strategy))
        _write_config(wider)
        return wider

    @property
    def best(self) -> Path:
        """Path of the best program: ``best.py``, or ``best.cpp``."""
        return self.path / f"best{self._ending}"

    @property
    def _ending(self) -> str:
        return Path(self.problem.about.candidate.names[0]).suffix

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Lock the run for this process. Two engines would corrupt the database.

        The kernel releases the lock when the process ends for any reason.

        Raises:
            StoreError: Another process holds the lock; the message names it.
        """
        with ExitStack() as stack:
            try:
                stack.enter_context(hold_lock(self.path / LOCK))
            except LockHeld as held:
                holder = escape_text(str(held)) or "another process"
                raise StoreError(f"{holder} is searching in {self.path}: wait until it ends, or end it") from None
            except OSError as problem:
                raise StoreError(
                    f"{self.path} cannot be locked, because its file system has no locks ({problem.strerror}): "
                    "name a folder on a local disk with --outputs"
                ) from None
            yield

    @property
    def remark(self) -> str:
        """Return a remark if the folder is on a network file system; otherwise an empty text."""
        if not (kind := network_file_system(self.path)):
            return ""
        return (
            f"{self.path} lies on a network ({kind}), where no database may be written: run.db stays on a disk of this "
            f"machine while the run goes on, and is copied there every {COPY_S:g} s and at the end"
        )

    @contextmanager
    def opened(self) -> Iterator[Store]:
        """Open the database for writing. On a network file system, open a local copy.

        Raises:
            StoreError: The database cannot be opened. It is also an error if it is empty, missing or corrupt although
                the folder has elites, because a new database would replace the run.
        """
        local = local_copy(self.database) if network_file_system(self.path) else self.database
        if elites := self.found_elites():
            self._expect_rounds(elites, local)
        with Store(local) as store, nullcontext() if local == self.database else keep_copying(local, self.database):
            yield store

    def _expect_rounds(self, elites: Sequence[Path], database: Path) -> None:
        advice = f"make a new one of the {len(elites)} programs that are left, which are scored again: oragent resume"
        remedy = f"{advice} --rebuild {shlex.quote(str(self.path))}"
        try:
            blank = is_blank(database)
        except StoreError as problem:
            raise StoreError(f"{problem}, or {remedy}") from None
        if blank:
            what = "is empty" if self.database.is_file() else "is gone"
            raise StoreError(
                f"{self.database} {what}, and elites of the run are not: restore it from a copy, or {remedy}"
            )

    def found_elites(self) -> list[Path]:
        """Return the programs in the folder of a run: its elites and its best program."""
        files = [*sorted((self.path / CANDIDATES).glob(f"*/heuristic{self._ending}")), self.best]
        return [file for file in files if file.is_file()]

    def write_best(self, elite: Elite, comments: Callable[[str], str] = lambda sign: "") -> None:
        """Replace the file of the best program in one step, so that an import never sees half a file."""
        sign = "#" if self._ending == ".py" else "//"
        head = f"{sign} {self.problem.name}: {elite.score:.6g} by candidate {elite.id} of {self.path.name}\n"
        with files.name_disk_errors(self.path):
            files.replace_file(self.best, head + comments(sign) + elite.source.rstrip() + "\n")

    def write_elite(self, elite: Elite) -> None:
        """Write an elite to ``candidates/<id>/``: its program and its figures."""
        folder = self.path / CANDIDATES / elite.id
        if link := files.first_link(self.path, folder):
            raise refuse_link(link)
        cell = elite.features and list(elite.features)
        figures = {"score": elite.score, "features": cell, "metrics": displayed_metrics(elite.metrics)}
        texts = elite.source.rstrip() + "\n", yaml.safe_dump(figures, sort_keys=False)
        with files.name_disk_errors(self.path):
            folder.mkdir(parents=True, exist_ok=True)
            for name, text in zip(self._elite_files, texts, strict=True):
                # Create a new file, because the old one may be a link to a file elsewhere.
                (folder / name).unlink(missing_ok=True)
                with (folder / name).open("x", encoding="utf-8") as file:
                    file.write(text)

    def keep_only(self, elites: Iterable[Elite]) -> None:
        """Remove the folders of former elites; the database still has them.

        Only files of ``write_elite`` are removed, because the folder may come from another user.
        """
        keep = {elite.id for elite in elites}
        candidates = self.path / CANDIDATES
        if candidates.is_symlink():
            raise refuse_link(candidates)
        for folder in candidates.glob("*"):
            if ELITE_ID.fullmatch(folder.name) and folder.name not in keep and not folder.is_symlink():
                files.remove_files(folder, self._elite_files)

    @property
    def _elite_files(self) -> tuple[str, str]:
        return f"heuristic{self._ending}", "evaluation.yaml"


def repeat_command(problem: str, settings: Mapping[str, Any]) -> str:
    """Return the command that repeats a finished search of a problem with the same settings and another seed."""
    strategy, model = (str((settings.get(key) or {}).get("name") or "") for key in ("strategy", "model"))
    options = {"--strategy": strategy if strategy != "auto" else "", "--model": model}
    words = [word for name, value in options.items() if value for word in (name, value)]
    return shlex.join([problem, *words, "--seed", str(int(settings.get("seed") or 0) + 1)])


def best_file(path: Path) -> Path:
    """Return the path of the best program in a run's folder without loading its problem; ``best.py`` by default."""
    return next((file for file in sorted(path.glob("best.*")) if file.suffix in (".py", ".cpp")), path / "best.py")


def problem_of_program(program: Path) -> str:
    """Return the name of the problem of a program, from its folder or from the first line that a run wrote.

    Raises:
        ConfigError: Neither names a problem.
    """
    folder = program.resolve().parent
    for above in (folder, *folder.parents):
        if (above / "problem.yaml").is_file():
            return str(above)
    head = HEAD_LINE.match(files.read_argument(program, "a program"))
    if head is None:
        raise ConfigError(f"{program} does not name its problem: add --problem NAME")
    return head["problem"]


def make_folder(
    root: Path, outputs: Path, problem: Problem, config: Config, strategy: Strategy | None = None
) -> RunFolder:
    """Create the folder of a new run. ``strategy`` is the name of a strategy that a Python program passes.

    Raises:
        StoreError: The folder cannot be created.
    """
    config = resolve_strategy(config, strategy)
    require_all(problem)
    config = replace(config, device=pin_device(config.device, problem).device)
    stem = f"{datetime.now():%Y%m%d-%H%M%S}-{config.strategy_name.removesuffix(FUNCTION)}"
    try:
        path = _make_unique_folder(outputs / problem.name, stem)
        _copy_own_files(config, path)
        run = RunFolder(path, root.resolve(), problem, _with_own_copy(config, path), is_new=True)
        _write_config(run)
        remember_demands(run.config)
    except OSError as error:
        raise StoreError(f"cannot create the folder of a run in {outputs}: {error}") from None
    return run


def _restart_advice(path: Path) -> str:
    start = shlex.quote(str(path))
    return f"'oragent rescore' shows what its programs score now, 'oragent run --start {start}' begins with them"


def reopen(
    path: Path, overrides: Sequence[str] = (), *, changed: bool = False, trust: bool = False, only_read: bool = False
) -> RunFolder:
    """Open the folder of an existing run.

    Args:
        path: Folder of the run.
        overrides: Settings ``section.key=value`` that leave the search itself unchanged: budget, workers, cluster,
            zygote, cache, model, models, ensemble.
        changed: Whether the problem may have changed since, which is harmless for readers of the run.
        trust: True if the user agrees to the demands of the configuration.
        only_read: True if neither the strategy nor the model will be used.

    Raises:
        UntrustedError: The folder names code, a command, an address or a key that the user did not name.
        ConfigError: An override is wrong, or would change the search.
        StoreError: The folder is not that of a run, or its configuration cannot be read.
        ProblemError: The folder of the problem is missing, or its evaluator or seed has changed, so that scores could
            not be compared.
    """
    expect_no_links(path)
    if not only_read and path.is_dir():
        files.expect_room(path)
    try:
        tree = load_yaml(path / "config.yaml")
        expect_format(tree.get("format"), path / "config.yaml")
        # The device of a run cannot change.
        without_device = [override for override in overrides if override.partition("=")[0] != "device"]
        config = build_config(tree["config"], without_device, str(path / "config.yaml"))
        folder, root = _read_place(tree["problem"]["folder"]), _read_place(tree["root"])
        fingerprint = tree["problem"]["fingerprint"]
        companions_digest = tree["problem"]["files"]["sha256"]
        packages = {str(name): str(version) for name, version in tree["problem"].get("packages", {}).items()}
    except FileNotFoundError:
        raise StoreError(f"{path} is not a run: expected config.yaml and run.db in it") from None
    except (OSError, yaml.YAMLError, KeyError, TypeError, ValueError, AttributeError) as error:
        reason = f"{type(error).__name__} {' '.join(str(error).split())[:300]}"
        raise StoreError(f"{path / 'config.yaml'} is not the configuration of a run: {reason}") from None
    for override in overrides:
        key, _, value = override.partition("=")
        if key == "device":
            _expect_device(value.strip(), str(tree["config"].get("device", CPU)), path)
        elif key.partition(".")[0] not in CHANGEABLE:
            raise ConfigError(f"{override!r} would change the search; a resumed run takes {', '.join(CHANGEABLE)}")
    if not (trust or only_read):
        expect_trust(path, _with_own_copy(config, path), overrides)
    if not folder.is_dir() and (ours := package_data.shipped_root() / "problems" / folder.name).is_dir():
        # Another installation of oragent contained the problem when the run began.
        folder = ours
    problem = load_problem(folder)
    if _problem_fingerprint(problem) != fingerprint and not changed:
        files_of = f"{problem.evaluator.name} or {problem.about.candidate.names[0]} in {folder}"
        raise ProblemError(f"{files_of} changed since this run began; begin a new run: {_restart_advice(path)}")
    if problem.companions.digest != companions_digest and not changed:
        raise ProblemError(
            f"helper modules or data of the evaluator in {folder} changed since this run began; begin a new run: "
            f"{_restart_advice(path)}"
        )
    if not changed and (mixture := describe_mixture(packages, problem.packages)):
        raise ProblemError(
            f"this run used {mixture} as installed now: scores of two versions cannot be compared; install that "
            f"version, or begin a new run: {_restart_advice(path)}"
        )
    # The folder of the project was moved or removed.
    if not root.is_dir():
        root = evaluation_root(problem)
    run = RunFolder(path, root, problem, _with_own_copy(config, path))
    if trust:
        remember_demands(run.config)
    if overrides:
        with run.locked():
            _write_config(run)
    return run


def _read_place(text: str) -> Path:
    if any(character < " " for character in text):
        raise ValueError("the name of a folder contains control characters")
    return Path(text)


def _expect_device(requested: str, pinned: str, path: Path) -> None:
    if not is_same_device(requested, pinned):
        raise ConfigError(
            f"{path} is pinned to device {pinned}, not {requested}: scores of two devices differ in their last digits; "
            f"begin a new run on {requested}"
        )


def _copy_own_files(config: Config, path: Path) -> None:
    """Copy the strategy and the prompts of a user into the folder of a new run."""
    if config.strategy.file:
        files.replace_file(path / STRATEGY_FILE, files.read_argument(Path(config.strategy.file), "a strategy"))
    if config.prompts:
        given, copy = Path(config.prompts), path / PROMPTS_FOLDER
        names = PROMPTS.read_own(given)
        copy.mkdir()
        for name in names:
            files.replace_file(copy / f"{name}{SUFFIX}", files.read_argument(given / f"{name}{SUFFIX}", "a prompt"))


def _with_own_copy(config: Config, path: Path) -> Config:
    """Return the configuration with the paths of the run's copies of a strategy and of prompts.

    Raises:
        StoreError: A copy is missing. Files of the present folder with its name are not those of the run.
    """
    strategy, prompts = path / STRATEGY_FILE, path / PROMPTS_FOLDER
    if config.strategy.file:
        if not strategy.is_file():
            raise StoreError(f"{strategy} is missing: restore the file with which the run began")
        config = replace(config, strategy=replace(config.strategy, file=str(strategy)))
    if config.prompts:
        if not prompts.is_dir():
            raise StoreError(f"{prompts} is missing: restore the prompts with which the run began")
        config = replace(config, prompts=str(prompts))
    return config


def _make_unique_folder(parent: Path, stem: str) -> Path:
    parent.mkdir(parents=True, exist_ok=True)
    count = 1
    while True:
        path = parent / (stem if count == 1 else f"{stem}-{count}")
        try:
            path.mkdir()
            return path
        except FileExistsError:
            count += 1


def _write_config(run: RunFolder) -> None:
    about, beside, settings = run.problem.about, run.problem.companions, dump_settings(run.config)
    if settings["strategy"]["file"]:
        # The configuration has the name of the copy without a folder, because the folder may be moved.
        settings["strategy"]["file"] = STRATEGY_FILE
    if settings["prompts"]:
        settings["prompts"] = PROMPTS_FOLDER
    tree = {
        "format": FORMAT,
        "oragent": __version__,
        "root": str(run.root),
        "problem": {
            "name": run.problem.name,
            "folder": str(run.problem.folder),
            "fingerprint": _problem_fingerprint(run.problem),
            "files": {"count": beside.files, "bytes": beside.bytes, "sha256": beside.digest},
            "packages": run.problem.packages,
            "title": about.title,
            "direction": str(about.direction),
            "function": about.function,
            "features": [asdict(feature) for feature in about.features],
            "published": about.published,
        },
        "config": settings,
    }
    text = yaml.safe_dump(tree, sort_keys=False, allow_unicode=True)
    files.replace_file(run.path / "config.yaml", text)


def _problem_fingerprint(problem: Problem) -> str:
    text = problem.evaluator.read_bytes() + os.sep.encode() + problem.seed.encode()
    return hashlib.sha256(text).hexdigest()

"""Pictures of what a run's best program does, as its evaluator draws them, with the seed heuristic beside it."""

import base64
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import yaml

from oragent._base import files
from oragent._base.errors import ProblemError, StoreError
from oragent._base.protocol import Failure
from oragent.evaluation import Job
from oragent.evaluation.offers import BESIDE, options
from oragent.evaluation.verdict import verdict
from oragent.report.held_out import HeldOutScorer, best_text, digest, identity
from oragent.sandbox.border import Sandbox
from oragent.sandbox.messages import Command, CommandResult

FOLDER = "pictures"
FILE = "pictures.yaml"
MAGIC = {".png": b"\x89PNG\r\n\x1a\n", ".gif": b"GIF8"}
MOST_BYTES = 16 << 20  # of a picture: a page should still open
MOST = 6  # pictures
PATIENCE = 3  # drawing may take that many times longer than scoring

Run = Callable[[Command, Path], CommandResult]


@dataclass(frozen=True)
class Picture:
    """A picture.

    Attributes:
        name: Name of its file.
        data: Content, PNG or GIF.
    """

    name: str
    data: bytes

    @property
    def caption(self) -> str:
        """What its file's name says."""
        return Path(self.name).stem.replace("_", " ")

    @property
    def address(self) -> str:
        """The picture itself, as a page holds it."""
        return f"data:image/{Path(self.name).suffix[1:]};base64,{base64.b64encode(self.data).decode()}"


def pictured(path: Path, scorer: HeldOutScorer, run: Run | None = None) -> tuple[Picture, ...]:
    """Have pictures drawn of what a run's best program does, once for what it is; kept in its folder ``pictures``.

    Args:
        path: Folder of the run.
        scorer: Scorer of its programs.
        run: Function that runs a command with a project's root in sight; None: the sandbox.

    Returns:
        The pictures, by name; none where the evaluator does not offer any.

    Raises:
        ProblemError: if the problem changed since, or the program fails.
        StoreError: if there is no best program.
    """
    if BESIDE not in scorer.offers:
        return ()
    best, about = best_text(path), identity(scorer)
    if known := _known(path, about):
        return known
    command = _command(scorer, best)
    ended = (run or _sandboxed)(command, scorer.folder.root)
    found = verdict(ended, command.limits)
    if isinstance(found, Failure):
        raise ProblemError(f"{scorer.folder.problem.name} with {BESIDE}: {found.status}: {found.message}")
    named = {Path(name).name: data for name, data in sorted(ended.files.items())}
    kept = {name: data for name, data in named.items() if _is_picture(name, data)}
    drawn = tuple(Picture(name, data) for name, data in [*kept.items()][:MOST])
    (path / FOLDER).mkdir(exist_ok=True)
    for picture in drawn:
        (path / FOLDER / picture.name).write_bytes(picture.data)
    told = {"program": digest(best), "about": about, "pictures": [picture.name for picture in drawn]}
    files.replace(path / FOLDER / FILE, yaml.safe_dump(told, sort_keys=False))
    return drawn


def read(path: Path) -> tuple[Picture, ...]:
    """The pictures that a run's folder holds of its best program of today; broken ones are none."""
    return _known(path, None)


def _known(path: Path, about: str | None) -> tuple[Picture, ...]:
    try:
        told = yaml.safe_load((path / FOLDER / FILE).read_text(encoding="utf-8"))
        if told["program"] != digest(best_text(path)) or about not in (None, told["about"]):
            return ()
        names = [Path(str(name)).name for name in told["pictures"]][:MOST]
        found = [Picture(name, (path / FOLDER / name).read_bytes()) for name in names]
    except (StoreError, OSError, UnicodeDecodeError, yaml.YAMLError, KeyError, TypeError):
        return ()
    return tuple(picture for picture in found if _is_picture(picture.name, picture.data))


def _is_picture(name: str, data: bytes) -> bool:
    """Whether a file is what its name says; what draws it may not be trusted."""
    magic = MAGIC.get(Path(name).suffix)
    return magic is not None and data.startswith(magic) and len(data) <= MOST_BYTES


def _command(scorer: HeldOutScorer, source: str) -> Command:
    problem, config = scorer.folder.problem, scorer.folder.config
    own = options(
        problem, config.limits, scorer.offers, patience=PATIENCE, device=scorer.where, protocol=config.protocol
    )
    limits = problem.limits(config.limits, PATIENCE)
    job = Job(problem.evaluator, source, scorer.folder.root, limits, None, config.problem_size, (*own, BESIDE))
    command = job.command()
    patterns = tuple(f"*{suffix}" for suffix in MAGIC)
    return Command(command.argv, command.files, limits=command.limits, bring=patterns, trusted=command.trusted)


def _sandboxed(command: Command, root: Path) -> CommandResult:
    with Sandbox() as sandbox:
        return sandbox(command, root_dir=root)

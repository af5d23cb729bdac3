"""Pictures of the best program's solutions, drawn by the evaluator, with the seed heuristic for comparison."""

import base64
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import yaml

from oragent._base import files
from oragent._base.errors import ProblemError, StoreError
from oragent._base.protocol import Failure
from oragent.evaluation import Job
from oragent.evaluation.offers import BESIDE, evaluator_arguments
from oragent.evaluation.verdict import judge_result
from oragent.report.held_out import HeldOutScorer, best_text, hash_identity, hash_text
from oragent.sandbox.messages import Command, CommandResult
from oragent.sandbox.sandbox import Sandbox

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
        """Caption from the file's name."""
        return Path(self.name).stem.replace("_", " ")

    @property
    def address(self) -> str:
        """The picture as a data URL."""
        return f"data:image/{Path(self.name).suffix[1:]};base64,{base64.b64encode(self.data).decode()}"


def draw_pictures(path: Path, scorer: HeldOutScorer, run: Run | None = None) -> tuple[Picture, ...]:
    """Let the evaluator draw solutions of the best program, once for each program; write the folder ``pictures``.

    Args:
        path: Folder of the run.
        scorer: Scorer of its programs.
        run: Function that runs a command with access to the project's root; None: the sandbox.

    Returns:
        The pictures, by name; none if the evaluator does not offer any.

    Raises:
        ProblemError: if the problem changed since, or the program fails.
        StoreError: if there is no best program.
    """
    if BESIDE not in scorer.offers:
        return ()
    best, about = best_text(path), hash_identity(scorer)
    if recorded := _read_recorded(path, about):
        return recorded
    command = _make_command(scorer, best)
    ended = (run or _run_sandboxed)(command, scorer.folder.root)
    outcome = judge_result(ended, command.limits)
    if isinstance(outcome, Failure):
        raise ProblemError(f"{scorer.folder.problem.name} with {BESIDE}: {outcome.status}: {outcome.message}")
    named = {Path(name).name: data for name, data in sorted(ended.files.items())}
    images = {name: data for name, data in named.items() if _is_picture(name, data)}
    drawn = tuple(Picture(name, data) for name, data in [*images.items()][:MOST])
    (path / FOLDER).mkdir(exist_ok=True)
    for picture in drawn:
        (path / FOLDER / picture.name).write_bytes(picture.data)
    tree = {"program": hash_text(best), "about": about, "pictures": [picture.name for picture in drawn]}
    files.replace(path / FOLDER / FILE, yaml.safe_dump(tree, sort_keys=False))
    return drawn


def read_pictures(path: Path) -> tuple[Picture, ...]:
    """Return the stored pictures of the present best program, without broken ones."""
    return _read_recorded(path, None)


def _read_recorded(path: Path, about: str | None) -> tuple[Picture, ...]:
    try:
        tree = yaml.safe_load((path / FOLDER / FILE).read_text(encoding="utf-8"))
        if tree["program"] != hash_text(best_text(path)) or about not in (None, tree["about"]):
            return ()
        names = [Path(str(name)).name for name in tree["pictures"]][:MOST]
        pictures = [Picture(name, (path / FOLDER / name).read_bytes()) for name in names]
    except (StoreError, OSError, UnicodeDecodeError, yaml.YAMLError, KeyError, TypeError):
        return ()
    return tuple(picture for picture in pictures if _is_picture(picture.name, picture.data))


def _is_picture(name: str, data: bytes) -> bool:
    """Return whether the content of a file fits its name: the program that drew it is untrusted."""
    magic = MAGIC.get(Path(name).suffix)
    return magic is not None and data.startswith(magic) and len(data) <= MOST_BYTES


def _make_command(scorer: HeldOutScorer, source: str) -> Command:
    problem, config = scorer.folder.problem, scorer.folder.config
    evaluator_options = evaluator_arguments(
        problem, config.limits, scorer.offers, patience=PATIENCE, device=scorer.device_name, protocol=config.protocol
    )
    limits = problem.make_limits(config.limits, PATIENCE)
    job = Job(
        problem.evaluator, source, scorer.folder.root, limits, None, config.problem_size, (*evaluator_options, BESIDE)
    )
    command = job.make_command()
    patterns = tuple(f"*{suffix}" for suffix in MAGIC)
    return Command(command.argv, command.files, limits=command.limits, bring=patterns, trusted=command.trusted)


def _run_sandboxed(command: Command, root: Path) -> CommandResult:
    with Sandbox() as sandbox:
        return sandbox(command, root_dir=root)

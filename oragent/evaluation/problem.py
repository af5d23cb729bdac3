"""A problem as data: what its folder says, and nothing that runs."""

import difflib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from annotated_types import Ge, Gt
from pydantic import TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass as checked

from oragent import shipped
from oragent.direction import Direction
from oragent.errors import ProblemError
from oragent.evaluation.job import is_guarded
from oragent.programs.inspection import signature
from oragent.programs.syntax import Signature
from oragent.sandbox import Limits
from oragent.settings import STRICT, explain

__all__ = ["Feature", "LimitSettings", "Problem", "available", "find", "load", "project"]


@checked(frozen=True, config=STRICT)
class Feature:
    """One axis of the archive: its name, how many bins it has, what it means."""

    name: str
    bins: Annotated[int, Ge(2)]
    meaning: str = ""


@checked(frozen=True, config=STRICT)
class Description:
    """What ``problem.yaml`` may say.

    Attributes:
        title: Title of the problem, one line for a list.
        description: Description for a language model: the problem, what the function gets and must return.
        function: Name of the function that evolves.
        direction: Direction of the scores: whether more or less is better.
        evaluator: Name of the script that scores; any program that prints the result block.
        timeout_s: CPU seconds that one evaluation may take, over all its processes.
        memory_mb: Memory of each of its processes, in MiB: private data beyond what is there when it begins.
        heuristic_s: CPU seconds of all calls of the heuristic in one evaluation; None: as many as ``timeout_s`` leaves.
        sizes: Problem sizes of each mode, for people; the evaluator has the last word.
        features: Axes of the archive, in the order of the features that the evaluator prints.
        primitives: Expressions over the function's arguments that breeding may insert.
        requires: Modules that the evaluator imports and that oragent does not bring; it says how to get them.
        published: Figures of others, for comparison.
        notes: Notes for people.
    """

    title: str
    description: str
    function: str
    direction: Direction = Direction.MAXIMIZE
    evaluator: str = "eval.py"
    timeout_s: Annotated[float, Gt(0)] = 60.0
    memory_mb: Annotated[int, Ge(64)] = 2048
    heuristic_s: Annotated[float, Gt(0)] | None = None
    sizes: dict[str, list[int]] = field(default_factory=dict)
    features: tuple[Feature, ...] = ()
    primitives: tuple[str, ...] = ()
    requires: tuple[str, ...] = ()
    published: dict[str, Any] = field(default_factory=dict)
    notes: str = ""


@checked(frozen=True, config=STRICT)
class LimitSettings:
    """Bounds of one evaluation; None leaves what the problem says.

    Attributes:
        timeout_s: CPU seconds of all its processes together.
        memory_mb: Memory of each process, in MiB.
        heuristic_s: CPU seconds of all calls of the heuristic; ``problem``: what the problem says; None lifts that
            bound, so that the heuristic may take all of ``timeout_s``.
    """

    timeout_s: Annotated[float, Gt(0)] | None = None
    memory_mb: Annotated[int, Ge(64)] | None = None
    heuristic_s: Annotated[float, Gt(0)] | Literal["problem"] | None = "problem"


@dataclass(frozen=True)
class Problem:
    """A loaded problem.

    Attributes:
        name: Name of the problem, that of its folder.
        folder: Folder of the problem.
        about: Content of ``problem.yaml``.
        seed: Text of ``heuristic.py``.
        signature: Signature of the function that evolves.
        knowledge: Text of ``knowledge.md``, empty where there is none.
    """

    name: str
    folder: Path
    about: Description
    seed: str
    signature: Signature
    knowledge: str

    @property
    def evaluator(self) -> Path:
        """The script that scores a candidate."""
        return self.folder / self.about.evaluator

    @property
    def is_guarded(self) -> bool:
        """Whether the evaluator keeps candidates in guests; otherwise they share its process, and can forge a score."""
        python = self.evaluator.suffix == ".py"
        return python and is_guarded(self.evaluator.read_text(encoding="utf-8", errors="replace"))

    def limits(self, settings: LimitSettings, patience: float = 1.0) -> Limits:
        """The bounds of one evaluation: what the settings leave open, ``problem.yaml`` says.

        Args:
            settings: Settings of a search.
            patience: Factor on the time, for an evaluation that takes longer than a search's.
        """
        seconds = settings.timeout_s or self.about.timeout_s
        return Limits(patience * seconds, settings.memory_mb or self.about.memory_mb)

    def heuristic_s(self, settings: LimitSettings) -> float | None:
        """CPU seconds that the heuristic itself may take in one evaluation; None: they are not bounded apart."""
        return self.about.heuristic_s if settings.heuristic_s == "problem" else settings.heuristic_s


def load(folder: Path) -> Problem:
    """Read a problem's folder.

    Raises:
        ProblemError: naming the file and what is wrong with it.
    """
    folder = folder.resolve()
    text = _read(folder, "problem.yaml")
    try:
        about = TypeAdapter(Description).validate_python(yaml.safe_load(text) or {})
    except yaml.YAMLError as problem:
        raise ProblemError(f"{folder / 'problem.yaml'} is not YAML: {' '.join(str(problem).split())}") from None
    except ValidationError as problem:
        raise ProblemError(f"{folder / 'problem.yaml'}: {explain(problem, Description)}") from None
    _read(folder, about.evaluator)
    seed = _read(folder, "heuristic.py")
    knowledge = folder / "knowledge.md"
    return Problem(
        name=folder.name,
        folder=folder,
        about=about,
        seed=seed,
        signature=signature(seed, about.function),
        knowledge=knowledge.read_text(encoding="utf-8") if knowledge.is_file() else "",
    )


def project(given: Path | None = None) -> Path:
    """The root that is given; else the nearest folder that has problems in it, from here upwards; else here.

    Raises:
        ProblemError: if what is given is no folder.
    """
    if given:
        if not given.is_dir():
            raise ProblemError(f"{given} is no folder: --root names a project's, and without it that is looked for")
        return given.resolve()
    here = Path.cwd()
    return next((folder for folder in (here, *here.parents) if any(folder.glob("problems/*/problem.yaml"))), here)


def available(root: Path) -> Iterator[Problem]:
    """Load the problems of a project and those that ship, by name; the project's own win.

    Raises:
        ProblemError: if one of them is broken.
    """
    yield from (load(folder) for folder in _folders(root).values())


def find(name: str, root: Path) -> Problem:
    """Load a problem by its name, in the project or among those that ship, or by the path of its folder anywhere.

    Raises:
        ProblemError: if there is none, naming the nearest.
    """
    if Path(name).is_dir() and (Path(name) / "problem.yaml").is_file():
        return load(Path(name))
    names = _folders(root)
    if name in names:
        return load(names[name])
    if Path(name).is_dir():
        raise ProblemError(f"{name} is a folder without problem.yaml; 'oragent new NAME' makes one that runs")
    near = difflib.get_close_matches(name, names, n=3, cutoff=0.4)
    hint = f"did you mean {' or '.join(near)}?" if near else f"known problems: {', '.join(names)}"
    raise ProblemError(f"unknown problem {name!r}: {hint}")


def _folders(root: Path) -> dict[str, Path]:
    own = [path.parent for path in (root / "problems").glob("*/problem.yaml")]
    names = {folder.name: folder for folder in (*shipped.problems(), *own)}
    if not names:
        raise ProblemError(f"no problems in {root / 'problems'}, and none ships: this copy of oragent is not complete")
    return dict(sorted(names.items()))


def _read(folder: Path, name: str) -> str:
    path = folder / name
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ProblemError(
            f"{path} is missing; a problem's folder holds problem.yaml, eval.py and heuristic.py"
        ) from None
    except (OSError, UnicodeDecodeError) as problem:
        raise ProblemError(f"{path} cannot be read: {problem}") from None

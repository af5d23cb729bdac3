"""A problem as data, read from its folder."""

import difflib
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import yaml
from annotated_types import Ge, Gt
from pydantic import PlainValidator, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass as checked

from oragent._base import package_data
from oragent._base.direction import Direction
from oragent._base.errors import ProblemError
from oragent._base.files import read_bounded
from oragent._base.safe_load import parse_yaml
from oragent._base.settings import STRICT, explain_validation_error
from oragent.evaluation.job import Companions, Job, find_companions, is_guarded
from oragent.programs import native, regions
from oragent.programs.inspection import documentation, outline, signature_of
from oragent.programs.multi_file import NAME, join_files
from oragent.programs.syntax import Signature
from oragent.sandbox.isolation.environment import Value, problem_variables
from oragent.sandbox.messages import Limits

# By name: whether it is an array, and whether it is never below zero; None where reading the expression tells.
TYPES: dict[str, tuple[bool, bool]] = {
    "number": (False, False),
    "array": (True, False),
    "nonnegative number": (False, True),
    "nonnegative array": (True, True),
}
KEYS = {"expression", "type"}


# of a text; YAML may have less
MOST_BYTES = 64 << 20


class Primitive(str):
    """An expression whose type is told; one that is a plain text is read for what it may be."""

    type: str

    @classmethod
    def make(cls, expression: str, type: str) -> Self:
        """An expression of a type."""
        primitive = cls(expression)
        primitive.type = type
        return primitive

    @property
    def is_array(self) -> bool:
        """True if it comes to an array; otherwise to a number."""
        return TYPES[self.type][0]

    @property
    def is_nonnegative(self) -> bool:
        """True if it is never below zero."""
        return TYPES[self.type][1]


def read_primitive(value: Any) -> str:
    """A building block as ``problem.yaml`` has it: a text, or a mapping with ``expression`` and ``type``."""
    if isinstance(value, str):
        return value
    if not isinstance(value, dict) or set(value) != KEYS or not isinstance(value["expression"], str):
        raise ValueError("a primitive is an expression, or {expression: ..., type: ...}")
    if value["type"] not in TYPES:
        raise ValueError(f"the type of a primitive is one of {', '.join(TYPES)}, not {value['type']!r}")
    return Primitive.make(value["expression"], value["type"])


class Language(StrEnum):
    """A language that candidates are written in."""

    PYTHON = "python"
    CPP = "cpp"


@checked(frozen=True, config=STRICT)
class Feature:
    """One axis of the archive.

    Attributes:
        kind: ``bin``: the evaluator prints the number of a bin; ``number``: what it measured, and a run finds the bin.
        low: Lower end of a measured axis; without both ends a run takes them from its first candidates.
    """

    name: str
    bins: Annotated[int, Ge(2)]
    meaning: str = ""
    kind: Literal["bin", "number"] = "bin"
    low: float | None = None
    high: float | None = None

    def __post_init__(self) -> None:
        if (self.low is None) != (self.high is None):
            raise ValueError(f"feature {self.name!r} needs both ends, low and high, or neither")
        if self.low is not None and self.high is not None and not (self.kind == "number" and self.low < self.high):
            raise ValueError(f"feature {self.name!r}: low and high go with kind: number, and low is less than high")

    @property
    def bounds(self) -> tuple[float, float] | None:
        """Its ends, where they are declared."""
        if self.low is None or self.high is None:
            return None
        return (self.low, self.high)


@checked(frozen=True, config=STRICT)
class CandidateSettings:
    """What a candidate is made of.

    Attributes:
        language: Language that it is written in.
        files: Names of its files, the first of them ``heuristic.py`` or ``heuristic.cpp``; empty: that one alone.
    """

    language: Language = Language.PYTHON
    files: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        ending = ".py" if self.language is Language.PYTHON else (".cpp", ".cc", ".hpp", ".h")
        for name in self.files:
            if not NAME.fullmatch(name) or not name.endswith(ending) or name in ("eval.py", "candidate.py"):
                raise ValueError(f"{name!r} cannot name a candidate's file in {self.language}: such as rules.py")
        if self.files and self.files[0] != self._main_file:
            raise ValueError(
                f"the first file of a candidate in {self.language} is {self._main_file}, not {self.files[0]}"
            )
        if len(set(self.files)) < len(self.files):
            raise ValueError("a candidate's files must have different names")

    @property
    def names(self) -> tuple[str, ...]:
        """Names of its files, the main one first."""
        return self.files or (self._main_file,)

    @property
    def _main_file(self) -> str:
        return f"heuristic.{'py' if self.language is Language.PYTHON else 'cpp'}"


@checked(frozen=True, config=STRICT)
class Description:
    """What ``problem.yaml`` may say.

    Attributes:
        title: Title of the problem, one line for a list.
        function: Name of the function that evolves.
        candidate: What a candidate is made of: its language, its files.
        direction: Direction of the scores: whether more or less is better.
        evaluator: Name of the script that scores; any program that prints the result block.
        timeout_s: CPU seconds that one evaluation may take, over all its processes.
        memory_mb: Memory of each of its processes, in MiB: private data beyond what is there when it begins.
        heuristic_s: CPU seconds of all calls of the heuristic in one evaluation; None: as many as ``timeout_s`` leaves.
        sizes: Problem sizes of each mode, for people; the evaluator has the last word.
        features: Axes of the archive, in the order of the features that the evaluator prints.
        hooks: What the evaluator tells who watches it, by the names of its hooks: when, and what; for models to read.
        primitives: Expressions over the function's arguments that breeding may insert; ``{expression, type}`` where it
            cannot be read off what they come to: ``number``, ``array``, or either with ``nonnegative`` before it.
        requires: Modules that the evaluator imports and that oragent does not bring, and, as ``program:node``, programs
            that it starts; looked for before a run.
        environment: Variables that the evaluator finds; without a value the user's own, which must be set.
    """

    title: str
    description: str
    function: str
    functions: tuple[str, ...] = ()
    candidate: CandidateSettings = field(default_factory=CandidateSettings)
    direction: Direction = Direction.MAXIMIZE
    evaluator: str = "eval.py"
    timeout_s: Annotated[float, Gt(0)] = 60.0
    memory_mb: Annotated[int, Ge(64)] = 2048
    heuristic_s: Annotated[float, Gt(0)] | None = None
    sizes: dict[str, list[int]] = field(default_factory=dict)
    features: tuple[Feature, ...] = ()
    hooks: dict[str, str] = field(default_factory=dict)
    primitives: tuple[Annotated[str, PlainValidator(read_primitive)], ...] = ()
    requires: tuple[str, ...] = ()
    environment: dict[str, Value] = field(default_factory=dict)
    published: dict[str, Any] = field(default_factory=dict)
    notes: str = ""


@checked(frozen=True, config=STRICT)
class LimitSettings:
    """Bounds of one evaluation; None leaves what the problem says.

    Attributes:
        timeout_s: CPU seconds of all processes together.
        memory_mb: MiB of memory of each process.
        heuristic_s: CPU seconds of all calls of the heuristic; ``problem``: as the problem says; None: only
            ``timeout_s`` holds.
    """

    timeout_s: Annotated[float, Gt(0)] | None = None
    memory_mb: Annotated[int, Ge(64)] | None = None
    heuristic_s: Annotated[float, Gt(0)] | Literal["problem"] | None = "problem"


@dataclass(frozen=True)
class Problem:
    """A loaded problem."""

    name: str
    folder: Path
    # content of ``problem.yaml``
    about: Description
    # text of ``heuristic.py``
    seed: str
    # signature of the function that evolves
    signature: Signature
    # text of ``knowledge.md``, empty where there is none
    knowledge: str

    @property
    def brief(self) -> str:
        """The description for a language model, with what holds for every candidate beside it."""
        return "\n\n".join((self.about.description.strip(), *_candidate_rules(self.signature)))

    @property
    def outline(self) -> str:
        """The definition of the function without a body: what a model must fill in.

        Its ``documentation`` is told beside it and not repeated; of further functions it stands here.
        """
        signature = self.signature
        if signature.language == "cpp":
            includes = "".join(f"{line}\n" for line in self.seed.split("\n") if line.startswith("#include"))
            return f"{includes}\n{signature.text} {{\n    // ...\n}}".lstrip()
        names, main = signature.functions, signature.function
        return "\n\n\n".join(outline(self.seed, name, documented=name != main) for name in names)

    @property
    def documentation(self) -> str:
        """Documentation of the function in the seed: its docstring, or the comment above it in C++; or empty."""
        if self.signature.language == "cpp":
            return native.documentation(self.seed, self.signature.function)
        return documentation(self.seed, self.signature.function)

    @property
    def evaluator(self) -> Path:
        """The script that scores a candidate."""
        return self.folder / self.about.evaluator

    @property
    def companions(self) -> Companions:
        """Further files of its folder that go with the evaluator; an error if that is too much, or cannot be read."""
        return find_companions(self.folder, (self.evaluator.name, *self.about.candidate.names))

    @property
    def is_guarded(self) -> bool:
        """True if the evaluator keeps candidates in guests; otherwise they share its process, and can forge a score."""
        python = self.evaluator.suffix == ".py"
        return python and is_guarded(self.evaluator.read_text(encoding="utf-8", errors="replace"))

    def make_limits(self, settings: LimitSettings, patience: float = 1.0) -> Limits:
        """Make the bounds of one evaluation; ``problem.yaml`` says what settings leave open; patience extends time."""
        seconds = settings.timeout_s or self.about.timeout_s
        return Limits(patience * seconds, settings.memory_mb or self.about.memory_mb)

    def make_job(
        self,
        source: str,
        root: Path,
        limits: Limits,
        mode: str | None = None,
        size: int | None = None,
        arguments: tuple[str, ...] = (),
        observer: str = "",
    ) -> Job:
        """The evaluation of a candidate; the arguments are those of a ``Job``."""
        names, variables = self.about.candidate.names, problem_variables(self.about.environment)
        return Job(self.evaluator, source, root, limits, mode, size, arguments, names, variables, observer)

    def heuristic_s(self, settings: LimitSettings) -> float | None:
        """CPU seconds that the heuristic itself may take in one evaluation; None: they are not bounded apart."""
        if settings.heuristic_s == "problem":
            return self.about.heuristic_s
        return settings.heuristic_s


def load_problem(folder: Path) -> Problem:
    """Read a problem's folder; a ProblemError names the file and what is wrong with it."""
    folder = folder.resolve()
    text = _read_file(folder, "problem.yaml")
    try:
        about = TypeAdapter(Description).validate_python(parse_yaml(text) or {})
    except yaml.YAMLError as problem:
        raise ProblemError(f"{folder / 'problem.yaml'} is not YAML: {' '.join(str(problem).split())}") from None
    except ValidationError as problem:
        raise ProblemError(f"{folder / 'problem.yaml'}: {explain_validation_error(problem, Description)}") from None
    _read_file(folder, about.evaluator)
    seed = join_files({name: _read_file(folder, name) for name in about.candidate.names})
    knowledge = folder / "knowledge.md"
    return Problem(
        name=folder.name,
        folder=folder,
        about=about,
        seed=seed,
        signature=_read_signature(seed, about),
        knowledge=knowledge.read_text(encoding="utf-8") if knowledge.is_file() else "",
    )


def _read_signature(seed: str, about: Description) -> Signature:
    names, language, functions = about.candidate.names, about.candidate.language, (about.function, *about.functions)
    frame, files = regions.split_frame(seed), names if len(names) > 1 else ()
    if language is Language.CPP:
        signatures = [Signature(name, (), native.signature_text(seed, name)) for name in functions]
    else:
        signatures = [signature_of(seed, name) for name in functions]
    return replace(signatures[0], others=tuple(signatures[1:]), language=str(language), files=files, frame=frame)


def _candidate_rules(signature: Signature) -> list[str]:
    rules = []
    if signature.others:
        names = ", ".join(f"`{name}`" for name in signature.functions)
        rules.append(f"A program defines all of these functions, which work together: {names}.")
    if signature.files:
        sign = "#" if signature.language == "python" else "//"
        rest = " and ".join(f"`{sign} ---- file: {name} ----`" for name in signature.files[1:])
        rules.append(
            f"A program has {len(signature.files)} files: {signature.files[0]} comes first, and each further one "
            f"stands below the line {rest}. Answer with all of them in one block, these lines included."
        )
    if signature.frame:
        rules.append(
            "Only what stands between the comment lines EVOLVE-BLOCK-START and EVOLVE-BLOCK-END may change; all else "
            "stays as it is. Keep these lines."
        )
    return rules


def find_project_root(root: Path | None = None) -> Path:
    """The root that is given; else the nearest folder that has problems in it, from here upwards; else here."""
    if root:
        if not root.is_dir():
            raise ProblemError(f"{root} is no folder: --root names a project's, and without it that is looked for")
        return root.resolve()
    return package_data.find_project_root()


def evaluation_root(problem: Problem, root: Path | None = None) -> Path:
    """The root that an evaluation is told: the given one, else the project that the problem lies in, else its folder.

    It does not depend on where one works: a problem finds its data wherever it is called from.
    """
    if root:
        return root.resolve()
    above = (folder for folder in problem.folder.parents if any(folder.glob("problems/*/problem.yaml")))
    return next(above, problem.folder)


def list_problems(root: Path) -> Iterator[Problem]:
    """Load the problems of a project and those that ship, by name; the project's own win; a broken one is an error."""
    yield from (load_problem(folder) for folder in _problem_folders(root).values())


def find_problem(name: str, root: Path) -> Problem:
    """Load a problem by its name, in the project or among those that ship, or by the path of its folder anywhere."""
    if Path(name).is_dir() and (Path(name) / "problem.yaml").is_file():
        return load_problem(Path(name))
    names = _problem_folders(root)
    if name in names:
        return load_problem(names[name])
    if Path(name).is_dir():
        raise ProblemError(f"{name} is a folder without problem.yaml; 'oragent new NAME' makes one that runs")
    near = difflib.get_close_matches(name, names, n=3, cutoff=0.4)
    hint = f"did you mean {' or '.join(near)}?" if near else f"known problems: {', '.join(names)}"
    raise ProblemError(f"unknown problem {name!r}: {hint}")


def _problem_folders(root: Path) -> dict[str, Path]:
    own_folders = [path.parent for path in (root / "problems").glob("*/problem.yaml")]
    names = {folder.name: folder for folder in (*package_data.shipped_problems(), *own_folders)}
    if not names:
        raise ProblemError(f"no problems in {root / 'problems'}, and none ships: this copy of oragent is not complete")
    return dict(sorted(names.items()))


def _read_file(folder: Path, name: str) -> str:
    path = folder / name
    try:
        return read_bounded(path, MOST_BYTES)
    except FileNotFoundError:
        required = "problem.yaml, its evaluator and the seed heuristic (eval.py and heuristic.py)"
        raise ProblemError(f"{path} is missing; a problem's folder holds {required}") from None
    except (OSError, UnicodeDecodeError) as problem:
        raise ProblemError(f"{path} cannot be read: {problem}") from None

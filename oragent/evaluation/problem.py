"""Problems as data, read from their folders."""

import difflib
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import yaml
from annotated_types import Ge
from pydantic import BeforeValidator, FiniteFloat, PlainValidator, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass as checked

from oragent._base import package_data
from oragent._base.direction import Direction
from oragent._base.errors import ProblemError
from oragent._base.files import read_bounded
from oragent._base.safe_load import parse_yaml
from oragent._base.settings import STRICT, explain_validation_error
from oragent.evaluation.job import Companions, Job, find_companions, is_guarded
from oragent.evaluation.named_sets import UNSEARCHED_MODES, InstanceSet, NamedSet, Seconds, SetNames, check_sets
from oragent.evaluation.required_packages import check_requirements, package_versions
from oragent.programs import native, regions
from oragent.programs.inspection import documentation, outline, read_program, signature_of
from oragent.programs.multi_file import NAME, join_files
from oragent.programs.syntax import Signature
from oragent.sandbox.isolation.environment import Value, problem_variables
from oragent.sandbox.messages import Limits

# By type name: True if values are arrays, and True if they are nonnegative.
TYPES: dict[str, tuple[bool, bool]] = {
    "number": (False, False),
    "array": (True, False),
    "nonnegative number": (False, True),
    "nonnegative array": (True, True),
}
KEYS = {"expression", "type"}
# End of the warning about candidates in the evaluator's process.
CAN_FORGE = "can forge its score"


# Maximum size of a text; YAML has a lower limit.
MAX_BYTES = 64 << 20


class Primitive(str):
    """Expression of a known type; a plain text is analysed for its type."""

    type: str

    @classmethod
    def make(cls, expression: str, type: str) -> Self:
        """Make an expression of a type."""
        primitive = cls(expression)
        primitive.type = type
        return primitive

    @property
    def is_array(self) -> bool:
        """True for arrays, False for numbers."""
        return TYPES[self.type][0]

    @property
    def is_nonnegative(self) -> bool:
        """True if values are never below zero."""
        return TYPES[self.type][1]


def read_primitive(value: Any) -> str:
    """Parse a building block of ``problem.yaml``: a text, or a mapping with ``expression`` and ``type``."""
    if isinstance(value, str):
        return value
    if not isinstance(value, dict) or set(value) != KEYS or not isinstance(value["expression"], str):
        raise ValueError("a primitive is an expression, or {expression: ..., type: ...}")
    if value["type"] not in TYPES:
        raise ValueError(f"the type of a primitive is one of {', '.join(TYPES)}, not {value['type']!r}")
    return Primitive.make(value["expression"], value["type"])


def _read_reference(value: Any) -> Any:
    """Read the short form of a reference, the name of its file."""
    return {"program": value} if isinstance(value, str) else value


class Language(StrEnum):
    """Programming language of candidates."""

    PYTHON = "python"
    CPP = "cpp"


@checked(frozen=True, config=STRICT)
class Feature:
    """Axis of the archive.

    Attributes:
        kind: ``bin``: the evaluator prints the number of a bin; ``number``: it prints a value, and a run finds the bin.
        low: Lower end of an axis of values; without both ends a run takes them from its first candidates.
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
            raise ValueError(f"feature {self.name!r}: low and high need kind: number, and low must be less than high")

    @property
    def bounds(self) -> tuple[float, float] | None:
        """Declared ends of the axis, or None."""
        if self.low is None or self.high is None:
            return None
        return (self.low, self.high)


@checked(frozen=True, config=STRICT)
class CandidateSettings:
    """Language and files of candidates.

    Attributes:
        language: Programming language.
        files: Names of the files, the first of them ``heuristic.py`` or ``heuristic.cpp``; empty: this file alone.
    """

    language: Language = Language.PYTHON
    files: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        ending = ".py" if self.language is Language.PYTHON else (".cpp", ".cc", ".hpp", ".h")
        for name in self.files:
            if not NAME.fullmatch(name) or not name.endswith(ending) or name in ("eval.py", "candidate.py"):
                raise ValueError(
                    f"{name!r} is not a valid file name of a candidate in {self.language}; valid is rules.py or similar"
                )
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
class ReferenceProgram:
    """Program with which the result of a search is compared, such as a published rule.

    Attributes:
        program: File in the problem's folder.
        parameters: Ranges of its parameters, such as ``width=5..50``, as for ``oragent sweep``; empty: those that the
            program declares.
    """

    program: str
    parameters: tuple[str, ...] = ()


@checked(frozen=True, config=STRICT)
class WorkSettings:
    """Work that the evaluator reports, a deterministic count.

    Attributes:
        unit: Name of the unit, such as ``moves``.
        lead: Factor on the work at which a new best program of a search must not be worse than the present one; 1:
            scores of val decide.
    """

    unit: str = "units"
    lead: Annotated[FiniteFloat, Ge(1)] = 1.0


class CandidateInput(StrEnum):
    """Where a candidate finds its instance and leaves its answer."""

    ARGUMENTS = "arguments"
    FILES = "files"
    STREAMS = "streams"


@checked(frozen=True, config=STRICT)
class Description:
    """Content of ``problem.yaml``.

    Attributes:
        title: Title of the problem, one line for a list.
        function: Name of the function that evolves.
        candidate: Language and files of candidates.
        input: Where a candidate finds its instance and leaves its answer, as prompts tell models; the evaluator sees to
            it: ``arguments`` and result of the function, ``files`` (paths as arguments, the last one for the answer),
            or the standard ``streams``.
        direction: Whether larger or smaller scores are better.
        evaluator: Name of the script that scores; any program that prints the result block.
        timeout_s: CPU seconds of one evaluation, over all its processes.
        memory_mb: Memory of each of its processes, in MiB: private data in addition to the initial memory.
        heuristic_s: CPU seconds of all calls of the heuristic in one evaluation; None: limited by ``timeout_s`` alone.
        sizes: Problem sizes of each mode, for people; the evaluator decides.
        sets: Named sets beside those of the contract, which an evaluator gets as ``--mode``; with the path of their
            data, it also gets ``--data``. For ``test`` and ``fresh``: limits of their own.
        work: Unit of work, and factor at which a program may lead.
        references: Programs to compare with, by name, with ranges for ``oragent sweep --reference``.
        protect: Names of sets on which no leader of a search may lose against the seed.
        features: Axes of the archive, in the order of the features that the evaluator prints.
        hooks: Events and data that the evaluator passes to observers, by names of its hooks; for models to read.
        primitives: Expressions over the function's arguments that breeding may insert; ``{expression, type}`` if the
            type cannot be derived from the expression: ``number``, ``array``, or either with ``nonnegative`` before it.
        requires: Packages that the evaluator imports and that oragent does not install, such as ``pyvrp>=0.14``, and,
            as ``program:node``, programs that it starts; checked before a run.
        environment: Variables of the evaluator; without a value the user's own, which must be set.
        forgeable: True if the evaluator runs candidates in its own process, where they can forge their scores.
    """

    title: str
    description: str
    function: str
    functions: tuple[str, ...] = ()
    candidate: CandidateSettings = field(default_factory=CandidateSettings)
    input: CandidateInput = CandidateInput.ARGUMENTS
    direction: Direction = Direction.MAXIMIZE
    evaluator: str = "eval.py"
    timeout_s: Seconds = 60.0
    memory_mb: Annotated[int, Ge(64)] = 2048
    heuristic_s: Seconds | None = None
    sizes: dict[str, list[int]] = field(default_factory=dict)
    sets: dict[str, NamedSet] = field(default_factory=dict)
    protect: SetNames = ()
    work: WorkSettings = field(default_factory=WorkSettings)
    references: dict[str, Annotated[ReferenceProgram, BeforeValidator(_read_reference)]] = field(default_factory=dict)
    features: tuple[Feature, ...] = ()
    hooks: dict[str, str] = field(default_factory=dict)
    primitives: tuple[Annotated[str, PlainValidator(read_primitive)], ...] = ()
    requires: tuple[str, ...] = ()
    environment: dict[str, Value] = field(default_factory=dict)
    published: dict[str, Any] = field(default_factory=dict)
    forgeable: bool = False
    notes: str = ""

    def __post_init__(self) -> None:
        check_sets(self.sets, self.protect)
        check_requirements(self.requires)

    @property
    def named_sets(self) -> dict[str, InstanceSet]:
        """Sets beside those of the contract, by name."""
        return {name: chosen for name, chosen in self.sets.items() if name not in UNSEARCHED_MODES}


@checked(frozen=True, config=STRICT)
class LimitSettings:
    """Limits of one evaluation; None keeps the limit of the problem.

    Attributes:
        timeout_s: CPU seconds of all processes together.
        memory_mb: Memory of each process, in MiB.
        heuristic_s: CPU seconds of all calls of the heuristic; ``problem``: the limit of the problem; None: only
            ``timeout_s`` applies.
    """

    timeout_s: Seconds | None = None
    memory_mb: Annotated[int, Ge(64)] | None = None
    heuristic_s: Seconds | Literal["problem"] | None = "problem"


@dataclass(frozen=True)
class Problem:
    """Loaded problem."""

    name: str
    folder: Path
    # Content of ``problem.yaml``.
    about: Description
    # Source of ``heuristic.py``.
    seed: str
    # Signature of the function that evolves.
    signature: Signature
    # Content of ``knowledge.md``; empty if it is missing.
    knowledge: str

    @property
    def brief(self) -> str:
        """Description for a language model, with the rules for every candidate."""
        return "\n\n".join((self.about.description.strip(), *_candidate_rules(self.signature, self.about.input)))

    @property
    def outline(self) -> str:
        """Definition of the function without a body, which a model must fill in.

        The docstring of the main function is left out, because prompts contain its ``documentation`` separately.
        """
        signature = self.signature
        if signature.language == "cpp":
            includes = "".join(f"{line}\n" for line in self.seed.split("\n") if line.startswith("#include"))
            return f"{includes}\n{signature.text} {{\n    // ...\n}}".lstrip()
        names, main = signature.functions, signature.function
        return "\n\n\n".join(outline(self.seed, name, documented=name != main) for name in names)

    @property
    def documentation(self) -> str:
        """Documentation of the function in the seed: its docstring, or the comment above it in C++; may be empty."""
        if self.signature.language == "cpp":
            return native.documentation(self.seed, self.signature.function)
        return documentation(self.seed, self.signature.function)

    @property
    def evaluator(self) -> Path:
        """Path of the script that scores a candidate."""
        return self.folder / self.about.evaluator

    @property
    def companions(self) -> Companions:
        """Other files of its folder that go with the evaluator; an error if they are too many or unreadable."""
        return find_companions(self.folder, (self.evaluator.name, *self.about.candidate.names))

    @property
    def packages(self) -> dict[str, str]:
        """Installed versions of the required packages, by name."""
        return package_versions(self.about.requires)

    @property
    def is_guarded(self) -> bool:
        """True if the evaluator runs candidates in guests; in a shared process candidates can forge scores."""
        python = self.evaluator.suffix == ".py"
        return (
            python
            and not self.about.forgeable
            and is_guarded(self.evaluator.read_text(encoding="utf-8", errors="replace"))
        )

    @property
    def unguarded_warning(self) -> str:
        """Warning if the evaluator runs candidates in its own process; empty otherwise."""
        if self.is_guarded:
            return ""
        reason = "is marked as forgeable" if self.about.forgeable else "does not use oragent.harness"
        return f"{self.about.evaluator} of {self.name} {reason}: a candidate runs in its process and {CAN_FORGE}"

    def make_limits(self, settings: LimitSettings, patience: float = 1.0, mode: str | None = None) -> Limits:
        """Return the limits of one evaluation: settings, then ``problem.yaml``.

        ``patience`` multiplies the time, unless ``problem.yaml`` states a time for the mode.
        """
        seconds = settings.timeout_s or self.about.timeout_s
        own = self._limits_of(mode).timeout_s
        return Limits(own or patience * seconds, settings.memory_mb or self.about.memory_mb)

    def _limits_of(self, mode: str | None) -> InstanceSet:
        return self.about.sets.get(mode or "", InstanceSet())

    def find_set(self, name: str) -> InstanceSet:
        """Return the named set; a ProblemError lists the names."""
        sets = self.about.named_sets
        if name in sets:
            return sets[name]
        near = difflib.get_close_matches(name, sets, n=1)
        listed = f"did you mean {near[0]}?" if near else f"its sets: {', '.join(sets) or 'none'}"
        raise ProblemError(f"{self.name} has no set {name!r} under sets of problem.yaml; {listed}")

    def read_reference(self, name: str) -> tuple[str, tuple[str, ...]]:
        """Return the text of a reference and the words for the ranges of its parameters.

        Raises:
            ProblemError: The reference is unknown, or its file is missing or outside of the folder.
            CandidateError: It does not define the problem's function.
        """
        references = self.about.references
        if name not in references:
            listed = ", ".join(references) or "none"
            raise ProblemError(
                f"{self.name} has no reference {name!r} under references of problem.yaml; known: {listed}"
            )
        path = (self.folder / references[name].program).resolve()
        if not path.is_relative_to(self.folder) or not path.is_file():
            raise ProblemError(f"reference {name!r} of {self.name}: there is no {path}; name a file in {self.folder}")
        return read_program(path, self.signature), references[name].parameters

    def find_data(self, mode: str | None, root: Path) -> Path | None:
        """Return the path of the instances of a named set; None if the evaluator knows them.

        Raises:
            ProblemError: The path is missing, or lies outside of the problem's folder and the project root.
        """
        relative = self._limits_of(mode).data
        if not relative:
            return None
        for base in (self.folder, root.resolve()):
            path = (base / relative).resolve()
            if path.exists() and path.is_relative_to(base):
                return path
        raise ProblemError(f"set {mode!r} of {self.name}: {relative} is neither in {self.folder} nor in {root}")

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
        """Return the job that evaluates a candidate; arguments as in ``Job``."""
        names, variables = self.about.candidate.names, problem_variables(self.about.environment)
        return Job(self.evaluator, source, root, limits, mode, size, arguments, names, variables, observer)

    def heuristic_s(self, settings: LimitSettings, patience: float = 1.0, mode: str | None = None) -> float | None:
        """Return the CPU seconds of the heuristic in one evaluation, as `make_limits`; None: no separate limit."""
        bound = settings.heuristic_s
        if bound == "problem":
            if own := self._limits_of(mode).heuristic_s:
                return own
            bound = self.about.heuristic_s
        if bound is None:
            return None
        return patience * bound


def load_problem(folder: Path) -> Problem:
    """Read a problem's folder; a ProblemError names the invalid file and the reason."""
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


def _candidate_rules(signature: Signature, source: CandidateInput) -> list[str]:
    rules = []
    if source is CandidateInput.FILES:
        rules.append(
            f"`{signature.function}` reads the files whose paths are its first arguments and writes its answer to the "
            "file whose path is the last one. Where these instructions say that it returns an answer, it writes it "
            "there."
        )
    elif source is CandidateInput.STREAMS:
        rules.append(
            f"`{signature.function}` reads standard input and writes its answer to standard output. Where these "
            "instructions say that it returns an answer, it writes it there."
        )
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
    """Return the given root, or the nearest folder above the current one that contains problems, or the current one."""
    if root:
        if not root.is_dir():
            raise ProblemError(f"{root} is not a folder: give a project's folder with --root, or leave it out")
        return root.resolve()
    return package_data.find_project_root()


def evaluation_root(problem: Problem, root: Path | None = None) -> Path:
    """Return the root for an evaluation: the given one, else the project that contains the problem, else its folder.

    It does not depend on the current folder, so a problem always finds its data.
    """
    if root:
        return root.resolve()
    above = (folder for folder in problem.folder.parents if any(folder.glob("problems/*/problem.yaml")))
    return next(above, problem.folder)


def list_problems(root: Path) -> Iterator[Problem]:
    """Load the project's and the installed problems by name; the project's take precedence; invalid ones raise."""
    yield from (load_problem(folder) for folder in _problem_folders(root).values())


def find_problem(name: str, root: Path) -> Problem:
    """Load a problem by its name, in the project or among the installed ones, or by the path of its folder."""
    if Path(name).is_dir() and (Path(name) / "problem.yaml").is_file():
        return load_problem(Path(name))
    names = _problem_folders(root)
    if name in names:
        return load_problem(names[name])
    if Path(name).is_dir():
        raise ProblemError(f"{name} is a folder without problem.yaml: create a problem with 'oragent new NAME'")
    near = difflib.get_close_matches(name, names, n=3, cutoff=0.4)
    hint = f"did you mean {' or '.join(near)}?" if near else f"known problems: {', '.join(names)}"
    raise ProblemError(f"unknown problem {name!r}: {hint}")


def _problem_folders(root: Path) -> dict[str, Path]:
    own_folders = [path.parent for path in (root / "problems").glob("*/problem.yaml")]
    names = {folder.name: folder for folder in (*package_data.shipped_problems(), *own_folders)}
    if not names:
        raise ProblemError(
            f"no problems in {root / 'problems'}, and none is installed: this copy of oragent is incomplete"
        )
    return dict(sorted(names.items()))


def _read_file(folder: Path, name: str) -> str:
    path = folder / name
    try:
        return read_bounded(path, MAX_BYTES)
    except FileNotFoundError:
        required = "problem.yaml, its evaluator and the seed heuristic (eval.py and heuristic.py)"
        raise ProblemError(f"{path} is missing: a problem's folder needs {required}") from None
    except (OSError, UnicodeDecodeError) as problem:
        raise ProblemError(f"{path} cannot be read: {problem}") from None

"""A problem in words with its data, and the interface of the program that solves it."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import Any

from oragent._base.errors import ProblemError
from oragent._base.files import file_stem
from oragent.formulate.data import iterate_leaves, read_data, read_text, show_path

FUNCTION = re.compile(r"^def\s+([A-Za-z_]\w*)\s*\(([^)]*)\)", re.MULTILINE)
OBJECTIVES = ("objective_value", "objective", "obj")
SOURCE = '''
import pulp
from pulp import LpMaximize, LpMinimize, LpProblem, LpVariable, lpSum


def solve(data):
    """Build the model with PuLP, solve it, return its variables.

    Args:
        data: dict of the parameters by name.

    Returns:
        dict: status, objective_value, and optimized_vars: the PuLP variables themselves by name.
    """
    problem = LpProblem("model", LpMinimize)  # or LpMaximize
    # TO DO: the variables, the objective, and every constraint with a short name
    problem.solve()
    return {
        "status": pulp.LpStatus[problem.status],
        "objective_value": pulp.value(problem.objective),
        "optimized_vars": {variable.name: variable for variable in problem.variables()},
    }
'''


# Maximum number of characters of a problem's text; a longer text is rejected before any model call.
MAX_TEXT_CHARACTERS = 200_000
# Maximum number of values in the data: numbers, texts, booleans.
MAX_DATA_VALUES = 1_000_000


# Names of files that say nothing about the problem, and the number of words of its text that name it instead.
PLAIN_NAMES = frozenset(["problem", "story", "text", "task", "readme", "description", "input", "stdin", "prompt"])
NAME_WORDS, MAX_NAME = 5, 48
SMALL_WORDS = frozenset(["a", "an", "the", "we", "our", "of", "to", "in", "and", "is", "are", "has", "have", "with"])


class Form(StrEnum):
    """Form in which a prompt shows the program."""

    # Head of the function with its docstring; as published for NL4Opt.
    HEAD = "head"
    # Everything except variables, objective and constraints; as published for ComplexOR.
    SCAFFOLD = "scaffold"


# Rule as published.
SCAFFOLD_RULE = "write what stands at the mark alone, and leave all else of the program as it is"


@dataclass(frozen=True)
class ProgramInterface:
    """Function that a program must define.

    Attributes:
        parameters: Names of the arguments; an argument with the name ``data`` receives all data.
        source: Text in the prompt: head of the function with its docstring, or a scaffold.
        form: Form of that text.
    """

    function: str
    parameters: tuple[str, ...]
    source: str
    form: Form = Form.HEAD

    @property
    def attention(self) -> str:
        """Rule for writers of this form; may be empty."""
        if self.form is Form.SCAFFOLD:
            return SCAFFOLD_RULE
        return ""

    def arguments_for(self, data: Mapping[str, Any]) -> list[Any]:
        """Return the arguments for the data.

        Raises:
            ProblemError: A parameter has no value.
        """
        if len(self.parameters) == 1 and self.parameters[0] not in data:
            return [dict(data)]
        for name in self.parameters:
            if name not in data:
                raise ProblemError(f"the interface's argument {name!r} is not in the data: add it with --data")
        return [data[name] for name in self.parameters]

    def split_returned(self, returned: Any) -> tuple[Any, Any]:
        """Return objective and values of a returned dict, or of a tuple with the objective first."""
        if isinstance(returned, dict):
            inner = returned.get("optimized_vars")
            objective = next((returned[key] for key in OBJECTIVES if key in returned), None)
            if inner is not None:
                return objective, inner
            return objective, {key: value for key, value in returned.items() if key not in (*OBJECTIVES, "status")}
        if isinstance(returned, list) and returned:
            names = self.parameters if len(self.parameters) == len(returned) - 1 else ()
            rest = returned[1:]
            return returned[0], {
                (names[index] if names else f"var{index + 1}"): item for index, item in enumerate(rest)
            }
        return returned if isinstance(returned, int | float) else None, {}


DEFAULT = ProgramInterface("solve", ("data",), SOURCE.strip())


def name_problem(text: str, stem: str = "") -> str:
    """Return the name of a problem: that of its file, or words of its heading or first line if that says nothing."""
    if stem.lower() not in PLAIN_NAMES and not stem.isdecimal() and stem:
        return stem
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    heading = next((line for line in lines if line.startswith("#")), lines[0] if lines else "")
    words = [word for word in re.findall(r"[^\W\d_]+", heading.lower()) if word not in SMALL_WORDS]
    return file_stem("-".join(words[:NAME_WORDS]), "problem", limit=MAX_NAME)


def find_function(source: str, function: str) -> bool:
    """Return True if a text defines a function at its top level."""
    return any(match[1] == function for match in FUNCTION.finditer(source))


def read_interface(path: Path) -> ProgramInterface:
    """Read an interface from a Python file without running it. The first top-level function counts.

    Raises:
        ProblemError: The file cannot be read or has no function.
    """
    text = read_text(path, "an interface")
    match = FUNCTION.search(text)
    if match is None:
        raise ProblemError(f"{path}: it has no function; expected one line 'def NAME(ARGUMENTS):' with a docstring")
    names = [part.split(":")[0].split("=")[0].strip() for part in match[2].split(",")]
    return ProgramInterface(match[1], tuple(name for name in names if name and not name.startswith("*")), text.strip())


@dataclass(frozen=True)
class ProblemText:
    """Problem in words with its data.

    Attributes:
        data: Parameters by name, as plain lists, dicts, texts and numbers.
        background: Background knowledge for the reader of the text; may be empty.
        notes: Steps of reading the tables of the data.
        units: Units of the columns of the tables, by table and column.

    Raises:
        ProblemError: The text is empty, or text or data exceed their limits.
    """

    name: str
    text: str
    data: Mapping[str, Any] = field(default_factory=dict, hash=False)
    interface: ProgramInterface = DEFAULT
    background: str = ""
    notes: tuple[str, ...] = ()
    units: Mapping[str, Mapping[str, str]] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        if not self.text.strip():
            raise ProblemError(f"problem {self.name!r} is empty: describe the decision and its limits")
        if len(self.text) > MAX_TEXT_CHARACTERS:
            raise ProblemError(
                f"problem {self.name!r} has {len(self.text):,} characters, the limit is {MAX_TEXT_CHARACTERS:,}: "
                "shorten the text, and give tables with --data"
            )
        if any(True for _ in islice(iterate_leaves(self.data), MAX_DATA_VALUES, None)):
            raise ProblemError(
                f"the data contain more than {MAX_DATA_VALUES:,} values: leave columns out, or aggregate rows"
            )


def read_problem(path: Path, data: Sequence[Path] = (), interface: Path | None = None) -> ProblemText:
    """Read a problem from its files.

    Args:
        path: Text or Markdown.
        data: JSON, CSV, Excel, Parquet or SQLite files.
        interface: Python file with the head of the required function; None for the default one.

    Raises:
        ProblemError: A file is invalid; the message is one line with its name.
    """
    text = read_text(path, "a problem in words")
    description = DEFAULT if interface is None else read_interface(interface)
    return place_data(ProblemText(name_problem(text, path.stem), text, interface=description), data)


def place_data(problem: ProblemText, data: Sequence[Path]) -> ProblemText:
    """Return the problem with the data of files.

    Raises:
        ProblemError: A file is invalid, or two files have data of the same name.
    """
    values: dict[str, Any] = {}
    notes: list[str] = []
    units: dict[str, Mapping[str, str]] = {}
    for data_path in data:
        file = read_data(data_path)
        notes += file.notes
        units |= file.units
        for name, value in file.values.items():
            if name in values:
                raise ProblemError(f"{show_path(data_path)}: {name!r} is in another data file too: rename one of them")
            values[name] = value
    return replace(problem, data=values, notes=tuple(notes), units=units)

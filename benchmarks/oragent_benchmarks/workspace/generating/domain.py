"""Business domains of generated instances: data by seed, an indexed model of them, and typed changes of it.

A domain is a module with the rules as a PuLP function, and a text file with the requirement in words, the formulation,
and templates of changes and questions. The function's source is also the program of the instance.
"""

import inspect
import re
import textwrap
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from oragent._base.errors import WorkspaceError
from oragent.modelling.data.builder import IndexedModelBuilder
from oragent.modelling.data.indexed import IndexedModel

Key = tuple[str, ...]
Sets = Mapping[str, Sequence[str]]
Figures = Mapping[str, Mapping[Key, float]]
# Characters that PuLP replaces in names.
REPLACED = re.compile(r"[-+\[\] >/]")
BLOCK = re.compile(r"\n(?=[a-z]+: )")
CELL = re.compile(r"= (\w+)\[(.*)\] (\S+)")


@dataclass(frozen=True)
class Parameter:
    """Data of a domain, one column of a table."""

    name: str
    # Name of the table that holds it. ``settings`` for single figures.
    table: str
    sets: tuple[str, ...]
    unit: str
    # Phrase that completes "this column is ...".
    meaning: str
    # Names of its column, of which one is drawn.
    headings: tuple[str, ...]


class DataCell(NamedTuple):
    """New figure of a cell of the data."""

    parameter: str
    key: Key
    value: float

    @property
    def program(self) -> str:
        """Line of a program, for files that hold the former figure."""
        return f"data[{self.parameter!r}][{self.key!r}] = {self.value:g}"


@dataclass(frozen=True)
class CleanData:
    """Sets and figures of one instance, without noise."""

    sets: Sets
    values: Figures

    def with_cells(self, cells: Iterable[DataCell]) -> "CleanData":
        """Return the data with new figures in some cells."""
        values = {name: dict(of_name) for name, of_name in self.values.items()}
        for cell in cells:
            values[cell.parameter][cell.key] = cell.value
        return replace(self, values=values)


@dataclass(frozen=True)
class Change:
    """A typed change of a model that a person can read."""

    # ``figure``, ``limit``, ``choice``, ``surcharge`` or ``closure``.
    kind: str
    # One or two sentences with all names and numbers, in words of the business.
    text: str
    # Operations of ``oragent.modelling.operations``. Empty for a change of data.
    lines: tuple[str, ...]
    cells: tuple[DataCell, ...]
    # Lines of a PuLP program with the same effect. Empty for a change of data.
    program: str

    @property
    def targets(self) -> frozenset[str]:
        """Names of rules, families and parameters that it touches; two changes with a common one are not combined."""
        names = [re.split(r"\[|:", line)[0] for line in self.lines]
        return frozenset([*names, *(cell.parameter for cell in self.cells)])


class Query(NamedTuple):
    """A question whose answer is the result of an operation."""

    # ``price`` of a row, ``total`` of variables, or ``whynot`` of a change.
    kind: str
    subject: str
    text: str


@dataclass(frozen=True)
class Domain:
    """A kind of business."""

    name: str
    company: str
    # Arguments of ``draw`` for the difficulties 1 to 5.
    sizes: tuple[tuple[int, ...], ...]
    parameters: tuple[Parameter, ...]
    draw: Callable[[np.random.Generator, tuple[int, ...]], CleanData]
    # Adds rows to a PuLP problem.
    add_rules: Callable[[Any, Sets, Figures], Any]
    # Draws the names and figures of the templates.
    draw_words: Callable[[np.random.Generator, CleanData], dict[str, object]]

    @property
    def sections(self) -> dict[str, str]:
        """Texts of the domain by section."""
        return _read_sections(self.name)

    @property
    def program(self) -> str:
        """Source of ``add_rules``."""
        return textwrap.dedent(inspect.getsource(self.add_rules))

    def list_changes(self, rng: np.random.Generator, data: CleanData) -> list[Change]:
        """Return all changes with drawn names and figures, in random order."""
        words = {name: _in_words(value) for name, value in self.draw_words(rng, data).items()}
        blocks = BLOCK.split(self.sections["changes"].strip())
        changes = [_read_change(block.strip().format_map(words)) for block in blocks]
        return [changes[place] for place in rng.permutation(len(changes)).tolist()]

    def list_queries(self, rng: np.random.Generator, data: CleanData) -> list[Query]:
        """Return all questions with drawn names."""
        words = {name: _in_words(value) for name, value in self.draw_words(rng, data).items()}
        lines = self.sections["questions"].strip().splitlines()
        return [Query(*line.format_map(words).split(" | ")) for line in lines]

    def build(self, data: CleanData) -> IndexedModel:
        """Build the indexed model of the data."""
        try:
            import pulp
        except ImportError:
            raise WorkspaceError("workspaces are generated with PuLP; install it: pip install pulp") from None
        with warnings.catch_warnings():
            # Programs of instances must also run with older versions of PuLP.
            warnings.simplefilter("ignore", DeprecationWarning)
            problem = pulp.LpProblem("plan")
            rules = self.add_rules(problem, data.sets, data.values)
            problem += pulp.lpSum(rules[1])
            costs = problem.objective.toDict()
        builder = IndexedModelBuilder(self.name)
        for name, labels in data.sets.items():
            builder.add_set(name, labels)
        for parameter in self.parameters:
            builder.add_parameter(
                parameter.name,
                parameter.sets,
                list(data.values[parameter.name].values()),
                keys=list(data.values[parameter.name]),
                unit=parameter.unit,
                meaning=parameter.meaning,
            )
        columns: dict[str, int] = {}
        for family, members in rules[0].items():
            every, keys = list(members.values()), list(members)
            added = builder.add_variables(
                family,
                _sets_of(keys[0], data.sets),
                keys=keys,
                high=[np.inf if member.upBound is None else member.upBound for member in every],
                kind="continuous" if every[0].cat == "Continuous" else "integer",
            )
            columns |= dict(zip((member.name for member in every), added.tolist(), strict=True))
        _add_rows(builder, problem, columns, data.sets)
        builder.set_objective(
            "cost",
            "minimize",
            [columns[term["name"]] for term in costs],
            [float(term["value"]) for term in costs],
            unit="EUR",
        )
        return builder.build()


def _read_sections(name: str) -> dict[str, str]:
    text = (Path(__file__).parent / f"{name}.txt").read_text(encoding="utf-8")
    parts = [part.partition("\n") for part in text.split("=== ")[1:]]
    return {title: body.strip() + "\n" for title, _, body in parts}


def read_lists(name: str) -> tuple[list[str], tuple[Parameter, ...]]:
    """Return the names and the parameters in the text file of a domain."""
    sections = _read_sections(name)
    parameters = []
    for line in sections["parameters"].strip().splitlines():
        title, table, sets, unit, meaning, headings = line.split(" | ")
        parameters.append(Parameter(title, table, _read_key(sets), unit, meaning, tuple(headings.split(", "))))
    return sections["names"].replace("\n", " ").strip().split(", "), tuple(parameters)


def _add_rows(builder: IndexedModelBuilder, problem: Any, columns: Mapping[str, int], sets: Sets) -> None:
    """Add the rows of a PuLP problem as families; their names are ``family_label_label``."""
    families: dict[str, list[tuple[Key, Any]]] = {}
    for name, row in problem.constraints.items():
        family, _, rest = name.partition("_")
        key = next(_split_labels(rest, [label for labels in sets.values() for label in labels]))
        families.setdefault(family, []).append((key, row))
    for family, rows in families.items():
        entries = [
            (place, columns[term.name], value) for place, (_, row) in enumerate(rows) for term, value in row.items()
        ]
        builder.add_rows(
            family,
            _sets_of(rows[0][0], sets),
            {-1: "<=", 0: "=", 1: ">="}[rows[0][1].sense],
            keys=[key for key, _ in rows],
            rows=[entry[0] for entry in entries],
            columns=[entry[1] for entry in entries],
            values=[float(entry[2]) for entry in entries],
            rhs=[-float(row.constant) for _, row in rows],
        )


def _split_labels(text: str, labels: Sequence[str]) -> Iterator[Key]:
    """Yield the keys whose labels, joined as in PuLP's names, are the text."""
    if not text:
        yield ()
    for label in labels:
        start = REPLACED.sub("_", label)
        if text == start or text.startswith(f"{start}_"):
            for rest in _split_labels(text[len(start) + 1 :], labels):
                yield (label, *rest)


def _sets_of(key: Key, sets: Sets) -> list[str]:
    """Return the sets that contain the labels of a key."""
    return [next(name for name, labels in sets.items() if label in labels) for label in key]


def _in_words(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _read_change(block: str) -> Change:
    """Read a change of a template: ``kind: text``, then operations, ``= parameter[key] value``, ``> program``."""
    first, *others = block.splitlines()
    kind, _, text = first.partition(": ")
    matches = [CELL.fullmatch(line) for line in others]
    cells = [DataCell(match[1], _read_key(match[2]), float(match[3])) for match in matches if match]
    lines = [line for line in others if line[0] not in "=>"]
    program = "\n".join(line[2:] for line in others if line[0] == ">")
    return Change(kind, text, tuple(lines), tuple(cells), program)


def _read_key(text: str) -> Key:
    return tuple(text.split(", ")) if text else ()


def choose(rng: np.random.Generator, labels: Sequence[str], count: int = 1) -> list[str]:
    """Return different labels in random order."""
    return [labels[place] for place in rng.permutation(len(labels))[:count].tolist()]


def draw_figures(
    rng: np.random.Generator, labels: Sequence[Sequence[str]], low: float, high: float, step: float = 1.0
) -> dict[Key, float]:
    """Return a multiple of ``step`` between two limits for each key of the product of sets."""
    keys = list(product(*labels))
    draws = rng.integers(round(low / step), round(high / step) + 1, len(keys)).tolist()
    return {key: round(draw * step, 4) for key, draw in zip(keys, draws, strict=True)}

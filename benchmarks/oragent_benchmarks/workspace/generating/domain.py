"""Businesses of generated instances: an indexed model of drawn data, and changes of it that a person can read.

A file of ``classes`` holds the PuLP program of a model class, its sentences, changes and questions, and two businesses.
Lines of a program that begin with ``+tag|`` hold for a change or a kind of business, those with ``-tag|`` without it.
"""

import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from pathlib import Path
from string import Template
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from oragent._base.errors import WorkspaceError
from oragent._base.safe_load import load_yaml
from oragent.modelling.data.builder import IndexedModelBuilder
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.operations import ModelSession, SolveLimits
from oragent.modelling.operations.results import SolveResult
from oragent_benchmarks.workspace.generating import draws
from oragent_benchmarks.workspace.generating.draws import Key, Sets, Values, choose

CLASSES = ("location", "lots", "roster", "dispatch", "assign", "blend", "invest", "sequence")
# Changes of the structure: another index, a rule with a condition, a label that leaves, another first objective.
STRUCTURAL = frozenset({"index", "condition", "drop", "goal"})
# Limits without seconds, so that every machine gives the same set.
LIMITS = SolveLimits(nodes=5000)
# Characters that PuLP replaces in names.
REPLACED = re.compile(r"[-+\[\] >/]")
NO_WORDS: Mapping[str, str] = MappingProxyType({})
TAGGED = re.compile(r"([-+])(\w+)\|(.*)")


@dataclass(frozen=True)
class Parameter:
    """Data of a business, one column of a table."""

    name: str
    # Name of the table that holds it. ``settings`` for single figures.
    table: str
    sets: tuple[str, ...]
    unit: str
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
        return f"data[{self.parameter!r}][{plain_key(self.key)!r}] = {self.value:g}"


@dataclass(frozen=True)
class CleanData:
    """Sets and figures of one instance, without noise, and the names and figures of its changes."""

    sets: Sets
    values: Values
    words: Mapping[str, str]

    def with_cells(self, cells: Iterable[DataCell]) -> "CleanData":
        """Return the data with new figures in some cells."""
        values = {name: dict(of_name) for name, of_name in self.values.items()}
        for cell in cells:
            values[cell.parameter][cell.key] = cell.value
        return replace(self, values=values)


@dataclass(frozen=True)
class Change:
    """A change of a model: of its program, or of cells of its data."""

    # Tag of the lines of the program.
    kind: str
    # The same in two English wordings and a German one, with all names and numbers.
    texts: tuple[str, ...]
    cells: tuple[DataCell, ...]


class Query(NamedTuple):
    """A question whose answer is the result of an operation."""

    # ``price`` of a row, ``total`` of variables, or ``whynot`` of a change.
    kind: str
    subject: str
    text: str


def plain_key(key: Key) -> object:
    """Return a key as programs write it: a label where it has one part."""
    return key[0] if len(key) == 1 else key


@dataclass(frozen=True)
class Business:
    """A business, and the class of its model."""

    name: str
    class_name: str
    # Content of the class's file, and of the business in it.
    spec: Mapping[str, Any]
    own: Mapping[str, Any]

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """All data that the business has."""
        parameters = []
        for name, (table, sets, unit, headings, tag) in self.spec["parameters"].items():
            if tag in ("", self.own["own"]):
                table = re.sub(r"\W", "_", self.say(table))
                titles = tuple(self.say(heading) for heading in headings)
                parameters.append(Parameter(name, table, tuple(sets.split()), self.say(unit), titles))
        return tuple(parameters)

    def say(self, text: str, words: Mapping[str, str] = NO_WORDS, language: str = "en") -> str:
        """Fill in the terms of the business, and the names and figures of an instance."""
        terms = {name: str(term) for name, term in {**self.own, **self.own[language]}.items()}
        terms |= {name.capitalize(): term[:1].upper() + term[1:] for name, term in terms.items()}
        return Template(text).substitute({**terms, **words})

    def sentences(self, group: str) -> list[tuple[str, ...]]:
        """Return sentences in their three wordings: ``intro``, ``requirement``, or the business's own rule."""
        if group == "requirement":
            triples = self.spec["requirement"]
        else:
            triples = [self.own["intro"] if group == "intro" else self.spec[self.own["own"]]]
        return [self._fill(triple, NO_WORDS) for triple in triples]

    def _fill(self, triple: Sequence[str], words: Mapping[str, str]) -> tuple[str, ...]:
        filled = [self.say(text, words, language) for text, language in zip(triple, ("en", "en", "de"), strict=True)]
        return tuple(text[:1].upper() + text[1:] for text in filled)

    def draw(self, rng: np.random.Generator, difficulty: int) -> CleanData:
        """Draw sets, figures and words."""

        def labels(name: str, count: int) -> tuple[str, ...]:
            known = self.own["labels"][name]
            if isinstance(known, str):
                return tuple(known.format(number) for number in range(1, count + 1))
            if kinds := self.own.get("kinds", {}).get(name):
                known = [f"{label} {kind}" for kind in kinds for label in known]
            return tuple(known) if len(known) == count else tuple(choose(rng, known, count))

        base = {"base": self.own["base"]} if "base" in self.own else {}
        sets, values, words = getattr(draws, self.class_name)(rng, labels, self.spec["sizes"][difficulty - 1], **base)
        names = {parameter.name for parameter in self.parameters}
        texts = {name: f"{word:g}" if isinstance(word, float) else str(word) for name, word in words.items()}
        return CleanData(sets, {name: of_name for name, of_name in values.items() if name in names}, texts)

    def list_changes(self, rng: np.random.Generator, data: CleanData) -> list[Change]:
        """Return all changes in random order."""
        changes = []
        for kind, triple in self.spec["changes"].items():
            cells: tuple[DataCell, ...] = ()
            if kind in self.spec["cells"]:
                parameter, key, value = (Template(text).substitute(data.words) for text in self.spec["cells"][kind])
                cells = (DataCell(parameter, tuple(key.split(", ")), float(value)),)
            changes.append(Change(kind, self._fill(triple, data.words), cells))
        return [changes[place] for place in rng.permutation(len(changes)).tolist()]

    def list_queries(self, data: CleanData) -> list[Query]:
        """Return all questions."""
        lines = self.spec["questions"].strip().splitlines()
        terms = {**self.own, **self.own["en"], **data.words}
        return [Query(*Template(line).substitute(terms).split(" | ")) for line in lines]

    def select(self, text: str, data: CleanData, kinds: Iterable[str]) -> str:
        """Return the lines of a program or formulation that hold under changes, with their figures."""
        tags, lines = {self.own["own"], *kinds}, []
        for line in text.splitlines():
            while match := TAGGED.fullmatch(line):
                line = match[3] if (match[2] in tags) == (match[1] == "+") else "\0"
            lines.append(line)
        kept = "\n".join(line for line in lines if line != "\0")
        return Template(kept).safe_substitute({**self.own, **data.words})

    def optimise(self, data: CleanData, changes: Sequence[Change]) -> tuple[ModelSession, float] | None:
        """Return the changed model with its proven optimum; None if it has none, or no proof within the limits."""
        try:
            import pulp
        except ImportError:
            raise WorkspaceError("workspaces are generated with PuLP; install it: pip install pulp") from None
        data = data.with_cells(cell for change in changes for cell in change.cells)
        maximises, goals = self.spec["sense"] == "max", list[Any]()
        scope: dict[str, Any] = {
            "pulp": pulp,
            "product": product,
            "problem": pulp.LpProblem("plan", pulp.LpMaximize if maximises else pulp.LpMinimize),
            "goals": goals,
            "sets": {name: list(labels) for name, labels in data.sets.items()},
            "data": {
                name: of_name[()] if () in of_name else {plain_key(key): figure for key, figure in of_name.items()}
                for name, of_name in data.values.items()
            },
        }
        with warnings.catch_warnings():
            # Programs of instances must also run with older versions of PuLP.
            warnings.simplefilter("ignore", DeprecationWarning)
            exec(self.select(self.spec["rules"], data, [change.kind for change in changes]), scope)
            for goal in goals:
                session = ModelSession(_index_model(scope, data.sets, goal, self.spec["unit"]), LIMITS)
                result = session.ask("solve")
                if not (isinstance(result, SolveResult) and result.status == "optimal" and result.objective.is_exact):
                    return None
                value = result.objective.value or 0.0
                if goal is goals[-1]:
                    break
                scope["problem"] += goal >= value - 1e-6 if maximises else goal <= value + 1e-6, "first"
        return session, value


@cache
def list_businesses() -> tuple[Business, ...]:
    """Return the first business of each class, then the second ones."""
    folder = Path(__file__).parent / "classes"
    specs = {name: load_yaml(folder / f"{name}.yaml") for name in CLASSES}
    lists = [
        [Business(key, name, spec, own) for key, own in spec["businesses"].items()] for name, spec in specs.items()
    ]
    return tuple(business for turn in zip(*lists, strict=True) for business in turn)


def _index_model(scope: Mapping[str, Any], sets: Sets, goal: Any, unit: str) -> IndexedModel:
    """Return the model of a PuLP program, whose families are the dictionaries of variables that it holds."""
    import pulp

    problem = scope["problem"]
    families, seen = {}, set[str]()
    for name, members in scope.items():
        variables = members.values() if isinstance(members, dict) else ()
        names = {member.name for member in variables if isinstance(member, pulp.LpVariable)}
        if names and len(names) == len(variables) and not names & seen:
            families[name] = {key if isinstance(key, tuple) else (key,): one for key, one in members.items()}
            seen |= names
    labels = {label for of_set in sets.values() for label in of_set}
    others = {label for members in families.values() for key in members for label in key} - labels
    sets = sets | ({"kind": tuple(sorted(others))} if others else {})
    builder = IndexedModelBuilder("plan")
    for name, of_set in sets.items():
        builder.add_set(name, of_set)
    columns: dict[str, int] = {}
    for family, members in families.items():
        every, keys = list(members.values()), list(members)
        added = builder.add_variables(
            family,
            _sets_of(keys[0], sets),
            keys=keys,
            high=[np.inf if member.upBound is None else member.upBound for member in every],
            kind="continuous" if every[0].cat == "Continuous" else "integer",
        )
        columns |= dict(zip((member.name for member in every), added.tolist(), strict=True))
    _add_rows(builder, problem, columns, sets)
    terms = list(goal.items())
    builder.set_objective(
        "goal",
        "maximize" if problem.sense == pulp.LpMaximize else "minimize",
        [columns[variable.name] for variable, _ in terms],
        [float(figure) for _, figure in terms],
        unit=unit,
    )
    return builder.build()


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

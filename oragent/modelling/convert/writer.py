"""Writer of source for a modelling library from the structure of a model. Each library has a dialect."""

import builtins
import keyword
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

from oragent.modelling.convert.structure import (
    BoundPart,
    LoopFamily,
    LoopRows,
    LoopVariables,
    ModelStructure,
    TableTerm,
    Term,
    WrittenFigure,
)

RELATIONS = {-1: "<=", 0: "==", 1: ">="}
WIDTH = 110
WHOLE = re.compile(r"0|-?[1-9]\d{0,17}", re.ASCII)
# Names that the written source uses.
TAKEN = "m pulp pe gp GRB mathopt math near status solved solver result key value"
NEAR = '''
def near(labels, label, distance):
    """The label at a distance from another one, in a list; an empty list beyond its ends."""
    position = labels.index(label) + distance
    return labels[position : position + 1] if position >= 0 else []
'''


class SourceWriter(ABC):
    """Writer of one library's source."""

    # Function for sums of terms.
    total = "sum"
    # Further names that the source must not define.
    reserved = ""
    # Kinds of names that may equal names of Python's functions.
    hidden_by_none: tuple[str, ...] = ()
    # Value of an infinite bound in a table.
    infinity = "math.inf"

    def __init__(self, structure: ModelStructure) -> None:
        self.structure = structure
        self._names: dict[tuple[str, str], str] = {}
        self._used = {*TAKEN.split(), *self.reserved.split(), *keyword.kwlist}
        # Terms of the objective, and statements after the rows, for nonlinear parts.
        self.objective_terms: list[str] = []
        self.statements: list[str] = []
        self.has_features = False
        self._set_of_family = {family.name: family for family in structure.variables}
        for name in structure.sets:
            self.name("set", name)
        for name in (*structure.parameters, *structure.tables, *structure.entry_tables):
            self.name("data", name)
        for family in (*structure.variables, *structure.rows):
            self.name("rows" if isinstance(family, LoopRows) else "variables", family.name)
            for dim in family.dims:
                self.name("loop", dim.variable)

    def name(self, kind: str, name: str) -> str:
        """Return the identifier for a name. Equal names get the same identifier."""
        if (kind, name) not in self._names:
            text = re.sub(r"\W+", "_", name).strip("_") or kind
            if not text.isidentifier():
                text = f"{kind}_{re.sub(r'[^0-9A-Za-z_]', '_', text)}"
            if (hasattr(builtins, text) and kind not in self.hidden_by_none) or text in self._used:
                text = f"{text}_"
            free, number = text, 1
            while free in self._used:
                number += 1
                free = f"{text}{number}"
            self._used.add(free)
            self._names[kind, name] = free
        return self._names[kind, name]

    def write(self) -> str:
        """Return the source."""
        structure = self.structure
        lines = [self.head(), ""]
        lines += [self.set_text(name, labels) for name, labels in structure.sets.items()]
        for name, values in structure.parameters.items():
            lines.append(self.parameter_text(name, values))
        for name, values in structure.tables.items():
            lines.append(f"{self.name('data', name)} = {self.dict_text(values)}")
        for name, table in structure.entry_tables.items():
            rows = ",\n".join(f"    {key_text(key)}: {self.dict_text(cells)}" for key, cells in table.items())
            lines.append(f"{self.name('data', name)} = {{\n{rows},\n}}")
        for family in (*structure.variables, *structure.rows):
            if family.keys is not None:
                lines.append(f"{self.keys_name(family)} = {_wrapped('[', list(map(key_text, family.keys)), ']')}")
        if any(self._uses_near(term) for rows in structure.rows for term in rows.terms):
            lines.append(f"\n{NEAR}")
        lines.append(f"\n{self.begin()}")
        lines += [self.variables_text(family) for family in structure.variables]
        lines.append(self.objective_text(self._objective()))
        lines += [self.rows_text(rows) for rows in structure.rows]
        lines += self.statements
        lines.append(f"\n{self.end()}")
        return "\n".join(lines) + "\n"

    @abstractmethod
    def head(self) -> str:
        """Write the imports."""

    @abstractmethod
    def begin(self) -> str:
        """Write the empty model."""

    @abstractmethod
    def variables_text(self, family: LoopVariables) -> str:
        """Write a family of variables."""

    @abstractmethod
    def rows_text(self, rows: LoopRows) -> str:
        """Write a family of rows."""

    @abstractmethod
    def objective_text(self, expression: str) -> str:
        """Write the objective."""

    @abstractmethod
    def end(self) -> str:
        """Write the solve and the output."""

    def set_text(self, name: str, labels: Sequence[str]) -> str:
        """Write the labels of a set."""
        return f"{self.name('set', name)} = {_wrapped('[', list(map(label_source, labels)), ']')}"

    def parameter_text(self, name: str, values: Mapping[tuple[str, ...], float]) -> str:
        """Write data."""
        if list(values) == [()]:
            return f"{self.name('data', name)} = {number(values[()])}"
        return f"{self.name('data', name)} = {self.dict_text(values)}"

    def variable(self, name: str) -> str:
        """Return the expression for a family of variables."""
        return self.name("variables", name)

    def data(self, name: str) -> str:
        """Return the expression for data."""
        return self.name("data", name)

    def set_reference(self, name: str) -> str:
        """Return the expression for a set in a loop."""
        return self.name("set", name)

    def dict_text(self, values: Mapping[tuple[str, ...], float]) -> str:
        """Return a dict of numbers by key."""
        items = [f"{key_text(key)}: {number(value, self.infinity)}" for key, value in values.items()]
        return _wrapped("{", items, "}")

    def figure(self, figure: WrittenFigure) -> str:
        """Return a figure as text."""
        if not figure.table:
            return number(figure.value, self.infinity)
        cell = self.data(figure.table)
        if figure.key:
            cell += f"[{self.loop_key(figure.key)}]"
        if figure.value != 1.0:
            cell = f"-{cell}" if figure.value == -1.0 else f"{number(figure.value)} * {cell}"
        return cell if figure.offset is None else f"({cell} + {self.figure(figure.offset)})".replace("+ -", "- ")

    def loop_key(self, variables: Sequence[str]) -> str:
        """Return loop variables separated by commas."""
        return ", ".join(self.name("loop", variable) for variable in variables)

    def loops(self, family: LoopFamily) -> list[str]:
        """Return the loops over a family's keys, without ``for``; empty for a single member."""
        if not family.dims:
            return []
        if family.keys is not None:
            return [f"{self.loop_key([dim.variable for dim in family.dims])} in {self.keys_name(family)}"]
        return [f"{self.name('loop', dim.variable)} in {self.set_reference(dim.index_set)}" for dim in family.dims]

    def comprehension(self, family: LoopFamily) -> str:
        """Return the loops over a family's keys as the end of a comprehension."""
        return " ".join(f"for {loop}" for loop in self.loops(family))

    def member(self, family: LoopFamily) -> str:
        """Return the key of a family's member in its own loops."""
        return self.loop_key([dim.variable for dim in family.dims])

    def integer_lines(self, family: LoopVariables, variable: str, assignment: str) -> list[str]:
        """Return a loop that makes some members integers, if only some are."""
        if family.integer_keys is None:
            return []
        keys = ", ".join(map(key_text, family.integer_keys))
        return [f"for key in [{keys}]:\n    {variable}[key].{assignment}"]

    def nested(self, family: LoopFamily, body: str) -> str:
        """Return statements with loops around a body."""
        lines = []
        for depth, loop in enumerate(self.loops(family)):
            lines.append(f"{'    ' * depth}for {loop}:")
        lines.append(f"{'    ' * len(lines)}{body}")
        return "\n".join(lines)

    def left_side(self, rows: LoopRows) -> str:
        """Return the sum of a row's terms."""
        return _added([self._term(rows, term) for term in rows.terms]) or f"{self.total}([])"

    def relation(self, rows: LoopRows) -> str:
        """Return the row as a comparison."""
        return f"{self.left_side(rows)} {RELATIONS[rows.relation]} {self.figure(rows.rhs)}"

    def _objective(self) -> str:
        parts = []
        for family in self.structure.variables:
            if family.cost is not None:
                product = _times(self.figure(family.cost), self._reference(family.name, self.member(family)))
                loops = self.comprehension(family)
                parts.append(f"{self.total}({product} {loops})" if loops else product)
        parts += self.objective_terms
        if self.structure.constant:
            parts.append(number(self.structure.constant))
        return _added(parts) or f"{self.total}([])"

    def _reference(self, family: str, key: str) -> str:
        return f"{self.variable(family)}[{key}]" if key else self.variable(family)

    def _uses_near(self, term: Term | TableTerm) -> bool:
        return isinstance(term, Term) and any(part.offset for part in term.parts)

    def _term(self, rows: LoopRows, term: Term | TableTerm) -> str:
        if isinstance(term, TableTerm):
            member = self.member(rows)
            if len(rows.dims) > 1:
                member = f"({member})"
            cells = f"{self.data(term.table)}.get({member or '()'}, {{}}).items()"
            if not self._set_of_family[term.family].dims:
                return f"{self.total}(value * {self.variable(term.family)} for _, value in {cells})"
            return f"{self.total}(value * {self.variable(term.family)}[key] for key, value in {cells})"
        family = self._set_of_family[term.family]
        loops: list[str] = []
        key: list[str] = []
        for at, part in enumerate(term.parts):
            loop, label = self._part(part, at)
            loops += [loop] if loop else []
            key.append(label)
        product = _times(self.figure(term.figure), self._reference(term.family, ", ".join(key)))
        condition = ""
        if family.keys is not None:
            text = f"({', '.join(key)})" if len(key) > 1 else key[0]
            condition = f" if {text} in {self.variable(term.family)}"
        if not loops and not condition:
            return product
        return f"{self.total}({product} {' '.join(loops or ['for _ in [0]'])}{condition})"

    def _part(self, part: BoundPart, at: int) -> tuple[str, str]:
        """Return the loop that a part of a key needs, and its label."""
        variable = self.name("loop", part.variable)
        if part.is_free:
            return f"for {variable} in {self.set_reference(part.index_set)}", variable
        if part.offset:
            shifted = self.name("loop", f"{part.variable}_near{at}")
            labels = self.name("set", part.index_set)
            return f"for {shifted} in near({labels}, {variable}, {part.offset})", shifted
        return "", variable

    def keys_name(self, family: LoopFamily) -> str:
        """Return the name of the list of a family's keys."""
        kind = "rows" if isinstance(family, LoopRows) else "variables"
        return self.name("keys", f"{self.name(kind, family.name)}_keys")


def number(value: float, infinity: str = "math.inf") -> str:
    """Return a number as Python source, without a fraction if it is whole."""
    if math.isinf(value):
        if infinity == "None":
            return infinity
        return f"-{infinity}" if value == -math.inf else infinity
    if value == int(value) and abs(value) < 1e15:
        return str(int(value))
    return repr(float(value))


def _times(figure: str, reference: str) -> str:
    if figure == "1":
        return reference
    return f"-{reference}" if figure == "-1" else f"{figure} * {reference}"


def _added(terms: Sequence[str]) -> str:
    """Return the sum of terms, on one line each if one line is too long for all."""
    line = " + ".join(terms).replace("+ -", "- ")
    if len(line) <= WIDTH or len(terms) < 2:
        return line
    rest = [f"- {term[1:]}" if term.startswith("-") else f"+ {term}" for term in terms[1:]]
    return "(\n            " + "\n            ".join([terms[0], *rest]) + "\n        )"


def key_text(key: tuple[str, ...]) -> str:
    """Return a key of labels as Python source."""
    labels = ", ".join(map(label_source, key))
    return labels if len(key) == 1 else f"({labels})"


def label_source(label: str) -> str:
    """Return a label as Python source. Whole numbers are numbers, as programs have them."""
    return label if WHOLE.fullmatch(label) else repr(label)


def _wrapped(begin: str, items: Sequence[str], end: str) -> str:
    line = begin + ", ".join(items) + end
    if len(line) <= WIDTH:
        return line
    lines, current = [], ""
    for item in items:
        if current and len(current) + len(item) + 2 > WIDTH - 4:
            lines.append(current)
            current = ""
        current = f"{current} {item}," if current else f"{item},"
    return begin + "\n    " + "\n    ".join([*lines, current]) + "\n" + end

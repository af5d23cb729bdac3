"""Nonlinear parts in MPS and LP files, in the forms of CPLEX and Gurobi.

MPS: sections SOS, QCMATRIX and INDICATORS, and further objectives as N rows with weight and priority in a comment. Also
read are GENCONS, LAZYCONS, and the priorities of Gurobi's N rows. LP: quadratic rows, ``b = 1 -> row``, SOS, general
constraints, and several objectives. HiGHS writes the rest.
"""

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace

from oragent._base.errors import ModellingError
from oragent.modelling.data.display import quoted
from oragent.modelling.data.features import (
    Absolute,
    BinaryProduct,
    Extreme,
    FurtherObjective,
    Indicator,
    ModelFeatures,
    OrderedSet,
    PiecewiseLinear,
    QuadraticRow,
    QuadraticTerm,
)
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.model_records import Row
from oragent.modelling.data.model_values import Relation, Sense, free_name
from oragent.modelling.solving.linearise import linearise_model

# Fields of ``ModelFeatures`` that a format can express. Others are written as linear rows.
NATIVE = {
    "mps": ("quadratic", "quadratic_rows", "indicators", "ordered_sets", "semi_continuous", "goals"),
    "lp": (
        "quadratic",
        "quadratic_rows",
        "indicators",
        "ordered_sets",
        "semi_continuous",
        "goals",
        "piecewise",
        "absolutes",
        "extremes",
        "products",
    ),
}
SECTIONS = ("SOS", "QCMATRIX", "INDICATORS", "GENCONS")
# Sections with rows, as in ROWS; their rows hold too.
ROW_SECTIONS = ("LAZYCONS", "USERCUTS")
# General constraints of Gurobi that are read, and all of its others.
GENERAL = ("MIN", "MAX", "ABS", "AND", "OR", "PWL")
NOT_READ = ("NORM", "POLY", "EXP", "EXPA", "LOG", "LOGA", "LOGISTIC", "POW", "SIN", "COS", "TAN", "NL")
# Objective of a file: an N row with priority, weight, and the amount and share of its optimum that it may give up.
RANKED = re.compile(r"^(?P<row>[ \t]+[Nn][ \t]+\S+)(?:[ \t]+[-+.\deEdD]+){4}[ \t]*$", re.MULTILINE)
GOAL_NOTE = re.compile(r"^\* oragent goal (\S+) (\{.*\})$", re.MULTILINE)
GOAL_KEYS = {"sense", "constant", "weight", "priority", "slack", "slack_amount"}
NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eEdD][+-]?\d+)?")
LP_END = re.compile(r"^end\s*$", re.MULTILINE)
LP_ROWS = re.compile(r"^st\s*$", re.MULTILINE)


@dataclass(frozen=True)
class ExtraRows:
    """Rows of an MPS file that represent other parts, by their names in the file."""

    quadratic: Mapping[str, QuadraticRow[str]]
    indicators: Mapping[str, Indicator[str]]
    goals: Mapping[str, FurtherObjective[str]]

    @property
    def names(self) -> Iterator[str]:
        """Names of all these rows."""
        for part in (self.quadratic, self.indicators, self.goals):
            yield from part


def split_features(model: IndexedModel, form: str) -> IndexedModel:
    """Return the model with only those features that a format can express. The others become linear rows.

    Raises:
        ModellingError: A part cannot be written in either way.
    """
    features = model.named_features
    native = {name: getattr(features, name) for name in NATIVE[form]}
    if any(goal.priority < 0 for goal in features.goals):
        raise ModellingError(
            "another objective has a lower priority than the model's own one, which a file cannot express"
        )
    rest = {part.name: getattr(features, part.name) for part in fields(features) if part.name not in native}
    if any(rest.values()):
        model, _ = linearise_model(model.with_records(features=ModelFeatures(**rest)))
    return model.with_records(features=ModelFeatures(**native))


def add_extra_rows(model: IndexedModel) -> tuple[IndexedModel, ExtraRows]:
    """Return a model for an MPS file with a row for the linear terms of each quadratic row, indicator and goal."""
    taken = {row.name for row in model.row_records}
    features = model.named_features
    quadratic = {free_name(part.name, taken): part for part in features.quadratic_rows}
    indicators = {free_name(part.name, taken): part for part in features.indicators}
    goals = {free_name(part.name, taken): part for part in features.goals}
    # Gurobi 13 crashes on indicators after quadratic rows.
    rows = [Row(name, part.terms, part.relation, part.rhs) for name, part in indicators.items()]
    rows += [Row(name, part.terms, part.relation, part.rhs) for name, part in quadratic.items()]
    rows += [Row(name, goal.terms, Relation.AT_MOST, 0.0) for name, goal in goals.items()]
    return model.with_records(rows=(*model.row_records, *rows)), ExtraRows(quadratic, indicators, goals)


def mps_with_features(body: str, extra: ExtraRows, sets: Iterable[OrderedSet[str]], costs: Mapping[str, float]) -> str:
    """Add comments and sections to an MPS file of HiGHS, with names and costs as in the file."""
    notes = []
    for name, goal in extra.goals.items():
        facts = {key: getattr(goal, key) for key in sorted(GOAL_KEYS)}
        notes.append(f"* oragent goal {name} {json.dumps(facts)}\n")
        body = re.sub(rf"^ [LGE]  {re.escape(name)}\s*$", f" N  {name}", body, count=1, flags=re.MULTILINE)
    # Some readers do not support a row without limits together with quadratic terms.
    body = re.sub(r"^ N  idle_row\s*\n", "", body, count=1, flags=re.MULTILINE)
    body = re.sub(
        r"^    (\S+)\s+idle_row\s+1\n",
        lambda match: "" if costs.get(match[1]) else f"    {match[1]}  Obj  0\n",
        body,
        flags=re.MULTILINE,
    )
    # Gurobi reads SOS only before quadratic terms.
    marker = "\nQUADOBJ" if "\nQUADOBJ" in body else "\nENDATA"
    body = body.replace(marker, "\n" + "".join(_mps_sets(sets)) + marker[1:], 1)
    return "".join(notes) + body.replace("\nENDATA", "\n" + "".join(_mps_sections(extra)) + "ENDATA", 1)


def _mps_sets(sets: Iterable[OrderedSet[str]]) -> Iterator[str]:
    taken: set[str] = set()
    for at, ordered in enumerate(sets):
        yield "SOS\n" if not at else ""
        name = _word(ordered.name)
        # Some readers take "SOS" for the name of a vector, as in the format of CPLEX.
        yield f" S{ordered.kind} {free_name(f'set_{name}' if name.upper() == 'SOS' else name, taken)}\n"
        for member in ordered.order:
            yield f"    {member}  {_number(ordered.members[member])}\n"


def _mps_sections(extra: ExtraRows) -> Iterator[str]:
    for name, row in extra.quadratic.items():
        yield f"QCMATRIX   {name}\n"
        for term in row.quadratic:
            if term.first == term.second:
                yield f"    {term.first}  {term.second}  {_number(term.value)}\n"
            else:
                half = _number(term.value / 2)
                yield f"    {term.first}  {term.second}  {half}\n    {term.second}  {term.first}  {half}\n"
    for at, (name, indicator) in enumerate(extra.indicators.items()):
        yield "INDICATORS\n" if not at else ""
        yield f" IF {name}  {indicator.binary}  {int(indicator.active)}\n"


def _number(value: float) -> str:
    if float(f"{value:.15g}") == value:
        return f"{value:.15g}"
    return repr(value)


def _word(name: str) -> str:
    """Return a name without spaces and signs."""
    word = re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_")
    if word and not word[0].isdigit():
        return word
    return f"s_{word}"


@dataclass(frozen=True)
class MpsSections:
    """Sections of an MPS file that HiGHS does not read, in the form of the file."""

    sets: tuple[OrderedSet[str], ...] = ()
    # Quadratic terms by row.
    matrices: Mapping[str, tuple[QuadraticTerm[str], ...]] | None = None
    # Binary variable and its value by row.
    conditions: Mapping[str, tuple[str, bool]] | None = None
    # General constraints.
    general: ModelFeatures[str] = field(default_factory=ModelFeatures)


def take_sections(text: str, columns: Iterable[str], rows: Iterable[str]) -> tuple[str, MpsSections]:
    """Return an MPS file without the sections that HiGHS does not read, and these sections.

    Raises:
        ModellingError: A line of them is malformed, or names a row or column that the file does not have.
    """
    known_columns, known_rows = set(columns), set(rows)
    reader = _SectionReader(known_columns, known_rows)
    remaining = []
    section = ""
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split()
        is_header = bool(words) and not line[0].isspace() and not line.startswith("*")
        if is_header:
            section = words[0].upper()
            if section in ROW_SECTIONS:
                continue
        if section not in SECTIONS or line.startswith("*") or not words:
            remaining.append(line)
            continue
        complaint = reader.begin(words) if is_header else reader.read(section, words)
        if complaint:
            raise ModellingError(f"line {number}: {complaint}: {quoted(line.strip())}; not a model in MPS form")
    return RANKED.sub(r"\g<row>", "\n".join(remaining)) + "\n", reader.result()


class _SectionReader:
    def __init__(self, columns: set[str], rows: set[str]) -> None:
        self._columns, self._rows = columns, rows
        self._sets: list[tuple[str, int, dict[str, float]]] = []
        self._matrices: dict[str, dict[tuple[str, str], float]] = {}
        self._row = ""
        self.conditions: dict[str, tuple[str, bool]] = {}
        # Function and name of each general constraint, and the words of its lines.
        self._general: list[tuple[str, str, list[list[str]]]] = []

    def begin(self, words: list[str]) -> str:
        """Read the first line of a section. Return an error message, or an empty text."""
        if words[0].upper() != "QCMATRIX":
            return ""
        if len(words) != 2 or words[1] not in self._rows:
            return "expected QCMATRIX and the name of a row"
        self._row = words[1]
        self._matrices.setdefault(self._row, {})
        return ""

    def read(self, section: str, words: list[str]) -> str:
        """Read a line of a section. Return an error message, or an empty text."""
        read = {"SOS": self._set, "QCMATRIX": self._term, "INDICATORS": self._condition, "GENCONS": self._function}
        return read[section](words)

    def _set(self, words: list[str]) -> str:
        if words[0].upper() in ("S1", "S2") and not (len(words) == 2 and words[0] in self._columns):
            named = words[1:-1] if len(words) > 2 and NUMBER.fullmatch(words[-1]) else words[1:]
            self._sets.append((named[-1] if named else f"SOS{len(self._sets)}", int(words[0][1]), {}))
            return ""
        if len(words) not in (2, 3) or words[-2] not in self._columns or not NUMBER.fullmatch(words[-1]):
            return "expected S1, S2, or a column and its weight"
        if not self._sets:
            return "expected S1 or S2 and a name first"
        self._sets[-1][2][words[-2]] = _float(words[-1])
        return ""

    def _term(self, words: list[str]) -> str:
        if len(words) != 3 or not {words[0], words[1]} <= self._columns or not NUMBER.fullmatch(words[2]):
            return "expected two columns and a number"
        first, second = sorted(words[:2])
        terms = self._matrices[self._row]
        terms[first, second] = terms.get((first, second), 0.0) + _float(words[2])
        return ""

    def _condition(self, words: list[str]) -> str:
        if len(words) != 4 or words[0].upper() != "IF" or words[3] not in ("0", "1"):
            return "expected IF, a row, a binary column, and 0 or 1"
        if words[1] not in self._rows or words[2] not in self._columns:
            return "not a row and a column of this model"
        self.conditions[words[1]] = (words[2], words[3] == "1")
        return ""

    def _function(self, words: list[str]) -> str:
        word = words[0].upper()
        if len(words) == 2 and word in NOT_READ:
            return f"expected one of {', '.join(GENERAL)}; {word} is not linear"
        if len(words) == 2 and word in GENERAL and words[0] not in self._columns:
            self._general.append((word, words[1], []))
            return ""
        if not self._general or not all(word in self._columns or NUMBER.fullmatch(word) for word in words):
            return "expected a function and a name, or columns and numbers"
        self._general[-1][2].append(words)
        return ""

    def _list_general(self) -> ModelFeatures[str]:
        """Return the general constraints, each with its output first, and for PWL its input before that."""
        extremes, products, absolutes, piecewise = [], [], [], []
        for word, name, lines in self._general:
            names = [entry for line in lines for entry in line if entry in self._columns]
            numbers = [_float(entry) for line in lines for entry in line if entry not in self._columns]
            if len(names) < 2 or (word in ("ABS", "PWL") and len(names) > 2):
                raise ModellingError(f"general constraint {quoted(name)}: expected the columns of {word}")
            output, *inputs = names
            if word in ("MIN", "MAX", "OR"):
                pick = min if word == "MIN" else max
                extremes.append(Extreme(name, output, tuple(inputs), word != "MIN", pick(numbers) if numbers else None))
            elif word == "AND":
                products.append(BinaryProduct(name, output, tuple(inputs)))
            elif word == "ABS":
                absolutes.append(Absolute(name, inputs[0], output))
            else:
                points = tuple(zip(numbers[::2], numbers[1::2], strict=False))
                piecewise.append(PiecewiseLinear(name, output, inputs[0], points))
        return ModelFeatures(
            extremes=tuple(extremes), products=tuple(products), absolutes=tuple(absolutes), piecewise=tuple(piecewise)
        )

    def result(self) -> MpsSections:
        """Return the parts of all sections."""
        taken: set[str] = set()
        sets = tuple(OrderedSet(free_name(name, taken), kind, members) for name, kind, members in self._sets)
        matrices = {
            row: tuple(QuadraticTerm(*pair, value) for pair, value in terms.items() if value)
            for row, terms in self._matrices.items()
        }
        return MpsSections(sets, matrices, self.conditions, self._list_general())


def _float(word: str) -> float:
    return float(word.upper().replace("D", "E"))


def with_sections(rows: Iterable[Row], sections: MpsSections) -> tuple[tuple[Row, ...], ModelFeatures[str]]:
    """Return the rows that HiGHS read without those of the other sections, and the parts that these become.

    Raises:
        ModellingError: A row with two limits has quadratic terms or a condition.
    """
    by_name = {row.name: row for row in rows}
    quadratic, indicators = [], []
    for name, terms in (sections.matrices or {}).items():
        row = _taken_row(by_name, name)
        quadratic.append(QuadraticRow(name, row.terms, terms, row.relation, row.rhs))
    for name, (binary, active) in (sections.conditions or {}).items():
        row = _taken_row(by_name, name)
        indicators.append(Indicator(name, binary, active, row.terms, row.relation, row.rhs))
    features = replace(
        sections.general,
        quadratic_rows=tuple(quadratic),
        indicators=tuple(indicators),
        ordered_sets=sections.sets,
    )
    return tuple(by_name.values()), features


def _taken_row(rows: dict[str, Row], name: str) -> Row:
    row = rows.pop(name, None)
    if row is None:
        raise ModellingError(f"row {quoted(name)} has two limits: expected one for a quadratic row or an indicator")
    return row


@dataclass(frozen=True)
class FileObjective:
    """Objective of a file of several: its figures, and its words such as ``priority`` and ``weight``."""

    name: str
    terms: Mapping[str, float]
    constant: float
    words: Mapping[str, float]


def rank_objectives(
    objectives: Sequence[FileObjective], sense: Sense
) -> tuple[FileObjective, Sense, tuple[FurtherObjective[str], ...]]:
    """Return the objective of the lowest priority with its sense, and all others as further ones.

    A negative weight, also -0, reverses the sense of the file. Objectives with weight 0 are only computed.
    """
    weighted = [objective for objective in objectives if objective.words.get("weight", 1.0)]
    base = min(weighted or objectives, key=lambda objective: objective.words.get("priority", 0.0))
    lowest = base.words.get("priority", 0.0)
    opposite = Sense.MINIMIZE if sense is Sense.MAXIMIZE else Sense.MAXIMIZE

    def sense_of(goal: FileObjective) -> Sense:
        return sense if math.copysign(1.0, goal.words.get("weight", 1.0)) > 0 else opposite

    goals = tuple(
        FurtherObjective(
            goal.name,
            {name: value for name, value in goal.terms.items() if value},
            sense_of(goal),
            goal.constant,
            abs(goal.words.get("weight", 1.0) / (base.words.get("weight", 1.0) or 1.0)),
            max(0, round(goal.words.get("priority", 0.0) - lowest)),
            goal.words.get("reltol", 0.0),
            goal.words.get("abstol", 0.0),
        )
        for goal in objectives
        if goal is not base
    )
    return base, sense_of(base), goals


def read_goal_notes(text: str, goals: Iterable[FurtherObjective[str]]) -> tuple[FurtherObjective[str], ...]:
    """Return further objectives with the weights and priorities in the comments."""
    notes: dict[str, dict[str, object]] = {}
    for name, facts in GOAL_NOTE.findall(text):
        try:
            notes[name] = dict(json.loads(facts))
        except ValueError:
            raise ModellingError(
                "a comment gives an objective in a form that is not JSON: correct or remove the comment"
            ) from None
        if notes[name].keys() != GOAL_KEYS:
            raise ModellingError(f"the comment of objective {quoted(name)}: expected {', '.join(sorted(GOAL_KEYS))}")
    return tuple(replace(goal, **notes[goal.name]) if goal.name in notes else goal for goal in goals)  # type: ignore[arg-type]


def lp_with_features(body: str, model: IndexedModel) -> str:
    """Add the parts to an LP file that HiGHS wrote. The model's names are those of the file."""
    features = model.named_features
    rows = [_lp_row(part) for part in features.quadratic_rows] + [_lp_indicator(part) for part in features.indicators]
    if rows:
        body = LP_ROWS.sub(lambda match: match[0] + "\n" + "\n".join(rows), body, count=1)
    ends = []
    if features.ordered_sets:
        ends += ["SOS", *map(_lp_set, features.ordered_sets)]
    general = list(_lp_general(features))
    if general:
        ends += ["General Constraints", *general]
    if ends:
        body = LP_END.sub("\n".join([*ends, "end"]), body, count=1)
    section = _lp_objectives(model) if features.goals else _lp_objective(model)
    return section + body[body.index("\nst\n") + 1 :]


def _lp_terms(terms: Mapping[str, float]) -> str:
    return " ".join(f"{'-' if value < 0 else '+'} {_number(abs(value))} {name}" for name, value in terms.items())


def _lp_products(terms: Iterable[QuadraticTerm[str]]) -> str:
    parts = []
    for term in terms:
        product = f"{term.first} ^ 2" if term.first == term.second else f"{term.first} * {term.second}"
        parts.append(f"{'-' if term.value < 0 else '+'} {_number(abs(term.value))} {product}")
    return f"[ {' '.join(parts)} ]"


def _lp_row(row: QuadraticRow[str]) -> str:
    expression = " ".join(part for part in (_lp_terms(row.terms), "+ " + _lp_products(row.quadratic)) if part)
    return f" {_word(row.name)}: {expression} {row.relation} {_number(row.rhs)}"


def _lp_indicator(part: Indicator[str]) -> str:
    expression = _lp_terms(part.terms) or f"0 {part.binary}"
    return (
        f" {_word(part.name)}: {part.binary} = {int(part.active)} -> {expression} {part.relation} {_number(part.rhs)}"
    )


def _lp_set(ordered: OrderedSet[str]) -> str:
    members = " ".join(f"{name} : {_number(ordered.members[name])}" for name in ordered.order)
    return f" {_word(ordered.name)}: S{ordered.kind} :: {members}"


def _lp_general(features: ModelFeatures[str]) -> Iterator[str]:
    for absolute in features.absolutes:
        yield f" {_word(absolute.name)}: {absolute.output} = ABS ( {absolute.input} )"
    for extreme in features.extremes:
        constant = [] if extreme.constant is None else [_number(extreme.constant)]
        inputs = " , ".join([*extreme.inputs, *constant])
        yield f" {_word(extreme.name)}: {extreme.output} = {'MAX' if extreme.largest else 'MIN'} ( {inputs} )"
    for product in features.products:
        yield f" {_word(product.name)}: {product.output} = AND ( {' , '.join(product.inputs)} )"
    for curve in features.piecewise:
        points = " ".join(f"({_number(x)}, {_number(y)})" for x, y in curve.points)
        yield f" {_word(curve.name)}: {curve.output} = PWL ( {curve.input} ) : {points}"


def _lp_objective(model: IndexedModel) -> str:
    """Return the section of one objective."""
    objective = model.objective_record
    square = [replace(term, value=2 * term.value) for term in model.named_features.quadratic]
    # Some readers take a constant after the bracket for a variable.
    parts = [
        _lp_terms(_lp_costs(model)),
        _lp_constant(objective.constant),
        f"+ {_lp_products(square)} / 2" if square else "",
    ]
    word = "max" if model.sense is Sense.MAXIMIZE else "min"
    return f"{word}\n {_word(objective.name) if objective.name else 'obj'}: {' '.join(filter(None, parts))}\n"


def _lp_costs(model: IndexedModel) -> dict[str, float]:
    """Return the coefficients of the objective, with 0 for variables without a row.

    Readers would ignore the bounds of a variable without terms.
    """
    used = {name for row in model.row_records for name in row.terms}
    costs = {name: 0.0 for name in model.flat_variable_names if name not in used}
    return costs | dict(model.objective_record.terms)


def _lp_constant(value: float) -> str:
    if value:
        return f"{'-' if value < 0 else '+'} {_number(abs(value))}"
    return ""


def _lp_objectives(model: IndexedModel) -> str:
    """Return the section of several objectives. The model's own one comes first, with priority 0 and weight 1."""
    if model.named_features.quadratic:
        raise ModellingError("an LP file can contain a quadratic objective or several objectives, but not both")
    lines = ["Maximize multi-objectives" if model.sense is Sense.MAXIMIZE else "Minimize multi-objectives"]
    objective = model.objective_record
    first = FurtherObjective(objective.name or "obj", _lp_costs(model), model.sense, objective.constant)
    taken: set[str] = set()
    for goal in (first, *model.named_features.goals):
        weight = goal.weight if goal.sense is model.sense else -goal.weight
        name = free_name(_word(goal.name), taken)
        terms = _lp_terms(goal.terms) or f"0 {model.flat_variable_names[0]}"
        slack = f"AbsTol={_number(goal.slack_amount)} RelTol={_number(goal.slack)}"
        lines.append(f" {name}: Priority={goal.priority} Weight={_number(weight)} {slack}")
        lines.append(f"  {terms} {_lp_constant(goal.constant)}".rstrip())
    return "\n".join(lines) + "\n"

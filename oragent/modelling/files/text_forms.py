"""Models as MPS or LP files, written and read by HiGHS.

Comments contain names that these formats do not allow. The comment of PuLP that states the sense is read; a constant
that PuLP omitted is lost. HiGHS's reader skips lines that it does not understand, so the structure of an MPS file is
checked line by line first.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import highspy
import numpy as np

from oragent._base.errors import ModellingError
from oragent._base.text_decoding import find_encoding
from oragent.modelling.data.arrays import Sparse
from oragent.modelling.data.display import quoted
from oragent.modelling.data.features import (
    FurtherObjective,
    Indicator,
    ModelFeatures,
    QuadraticRow,
    QuadraticTerm,
    SemiContinuous,
)
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.model_records import Objective, Row, Variable
from oragent.modelling.data.model_values import Relation, Sense, VariableKind, free_name
from oragent.modelling.files.feature_text import (
    ROW_SECTIONS,
    SECTIONS,
    ExtraRows,
    FileObjective,
    MpsSections,
    add_extra_rows,
    lp_with_features,
    mps_with_features,
    rank_objectives,
    read_goal_notes,
    split_features,
    take_sections,
    with_sections,
)
from oragent.modelling.files.lp_reader import UNNAMED, needs_own_reader, read_lp
from oragent.modelling.files.model_json import to_json
from oragent.modelling.files.safe_names import SafeNaming
from oragent.modelling.solving.highs import as_highs_model, quiet_engine

# Characters that begin a comment.
FORMS = {"mps": "*", "lp": "\\"}
# Names of the rows without limits that ``to_text`` adds.
IDLE = ("idle_row",)
NOTE = re.compile(r"^[*\\] oragent (variable|row|model|objective) (?:(\S+) )?(\".*\")$", re.MULTILINE)
OBJECTIVE_NAMES = {
    "lp": re.compile(
        r"^[ \t]*(?:maximi[sz]e|maximum|max|minimi[sz]e|minimum|min)\b(?:\s|\\[^\n]*\n)*([^\s:\\]+)[ \t]*:",
        re.MULTILINE | re.IGNORECASE,
    ),
    "mps": re.compile(r"^[ \t]+N[ \t]+(\S+)[ \t]*$", re.MULTILINE),
}
PULP_SENSE = re.compile(r"^\*SENSE:Maximize\s*$", re.MULTILINE | re.IGNORECASE)
LP_ROWS = re.compile(r"^\s*(?:st|s\.t\.|subject\s+to|such\s+that)\s*$", re.MULTILINE | re.IGNORECASE)
LP_REST = re.compile(r"^\s*(?:bounds?|gen\w*|int\w*|bin\w*|semi\w*|sos\d?|end)\s*$", re.MULTILINE | re.IGNORECASE)
NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
LP_RANGE = re.compile(
    rf"^[ \t]*(?:(?P<name>[^\s:<>=]+)[ \t]*:)?[ \t]*(?P<low>{NUMBER})[ \t]*<=?"
    rf"(?P<terms>[^<>=:\n]+)<=?[ \t]*(?P<high>{NUMBER})[ \t]*$",
    re.MULTILINE,
)
# Indentation of the lines that are added when a row is split.
SECOND = "  \t"
MPS_SENSE = re.compile(r"^OBJSENSE", re.MULTILINE)
COMPLAINT = re.compile(r"^ERROR:\s*(?P<what>.*)\n\s*--> .*:(?P<line>\d+):\d+\s*$", re.MULTILINE)
_KINDS = highspy.HighsVarType
NamedPart = TypeVar("NamedPart", QuadraticRow[str], Indicator[str], FurtherObjective[str])
ORDER = ("NAME", "OBJSENSE", "OBJSENSEMAX", "OBJSENSEMIN", "ROWS", "COLUMNS", "RHS", "RANGES", "BOUNDS", "ENDATA")
# Figures after the name of an N row.
RANKS = ("priority", "weight", "abstol", "reltol")
NO_VALUE, WITH_VALUE = {"FR", "MI", "PL", "BV"}, {"UP", "LO", "FX", "LI", "UI", "SC"}
# First and last columns of the fields in fixed form.
FIXED = ((1, 3), (4, 12), (14, 22), (24, 36), (39, 47), (49, 61))
MPS_NUMBER = re.compile(r"[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:[eEdD][+-]?\d+)?|inf(?:inity)?)", re.IGNORECASE)


def to_text(model: IndexedModel, form: str) -> str:
    """Write a model in the form ``mps`` or ``lp``. Meanings and units are lost.

    Nonlinear parts are written as described in ``feature_text``, or else as linear rows.

    Raises:
        ModellingError: A part cannot be written in either way.
    """
    extra = None
    if model.staged_features:
        try:
            model = split_features(model, form)
        except ModellingError as problem:
            raise ModellingError(
                f"a file of form {form} cannot contain this model, but a .json file can: {problem}"
            ) from None
        if form == "mps":
            model, extra = add_extra_rows(model)
    naming = SafeNaming.for_model(model)
    safe = model.rename(naming.variables, naming.rows)
    features = safe.named_features
    body = _body_of_highs(safe, form)
    if features and form == "lp":
        body = lp_with_features(body, safe)
    if extra is not None:
        rows = _safe_extra(extra, safe, naming)
        body = mps_with_features(body, rows, features.ordered_sets, safe.objective_record.terms)
    return "".join(f"{FORMS[form]} oragent {note}\n" for note in _write_notes(model, naming, form)) + body


def _body_of_highs(safe: IndexedModel, form: str) -> str:
    arrays = safe.to_staged_arrays()
    features = arrays.features
    written = ModelFeatures[int](quadratic=features.quadratic, semi_continuous=features.semi_continuous)
    arrays = replace(arrays, features=written)
    # HiGHS writes columns without coefficients incorrectly or omits them.
    idle = np.flatnonzero(np.ones(len(arrays.row_low)) @ abs(arrays.matrix) == 0)
    model = as_highs_model(arrays.with_idle_row(idle) if len(idle) else arrays)
    lp = model.lp_
    lp.col_names_ = safe.flat_variable_names
    # Rows without limits, which the reader drops.
    idle_names = ["idle_row"] * (lp.num_row_ - safe.shape[0])
    lp.row_names_ = safe.flat_row_names + idle_names
    engine = quiet_engine()
    engine.passModel(model)
    with TemporaryDirectory() as folder:
        path = Path(folder) / f"model.{form}"
        engine.writeModel(str(path))
        return path.read_text()


def _safe_extra(extra: ExtraRows, safe: IndexedModel, naming: SafeNaming) -> ExtraRows:
    """Return the rows with the names of the file; parts keep their order in the features."""

    def named(names: Iterable[str], parts: Iterable[NamedPart]) -> dict[str, NamedPart]:
        return {naming.rows.get(name, name): part for name, part in zip(names, parts, strict=True)}

    features = safe.named_features
    return ExtraRows(
        named(extra.quadratic, features.quadratic_rows),
        named(extra.indicators, features.indicators),
        named(extra.goals, features.goals),
    )


def text_as_json(content: bytes, form: str) -> str:
    """Read a model as `from_text` does, and return it as JSON."""
    encoding = find_encoding(content)
    if not encoding:
        raise ModellingError("not a text in UTF-8, UTF-16 or Windows-1252: expected a model")
    return to_json(from_text(content.decode(encoding), form))


def from_text(text: str, form: str) -> IndexedModel:
    """Read a model. A row with two limits becomes two rows.

    An invalid file may crash HiGHS's reader or make it run without end. For files from other sources, use
    ``oragent.modelling.files.model_files``, which reads them in a separate process.

    Raises:
        ModellingError: HiGHS cannot read the text, or the text is not a linear model.
    """
    goals: tuple[FurtherObjective[str], ...] = ()
    ranked: tuple[FileObjective, ...] = ()
    constant: float | None = None
    notes, sections = text, MpsSections()
    if form == "mps":
        check = check_mps(text)
        ranked, constant = check.ranked, check.constant
        goals = read_goal_notes(text, check.goals)
        text, sections = take_sections(text, check.columns, check.rows)
    elif needs_own_reader(text):
        return _with_own_names(read_lp(text), _read_notes(text))
    engine = quiet_engine()
    with TemporaryDirectory() as folder:
        path = Path(folder) / f"model.{form}"
        sent = _split_ranges(text) if form == "lp" else text
        path.write_text(sent, encoding="utf-8")
        engine.setOptionValue("log_file", f"{folder}/log")
        engine.setOptionValue("log_to_console", False)
        engine.setOptionValue("output_flag", True)
        status = engine.readModel(str(path))
        log = (Path(folder) / "log").read_text(errors="replace") if (Path(folder) / "log").exists() else ""
    if status == highspy.HighsStatus.kError:
        raise ModellingError(
            f"{_describe_failure(log, sent)}not a model in {form.upper()} form: expected linear rows, a linear or "
            "quadratic objective, continuous, integer and semi-continuous variables"
        )
    names, lp = _read_notes(notes), engine.getLp()
    variables, semi_continuous = _read_variables(lp, names["variable"], form)
    # Columns that only comments name come last.
    columns = [variable.name for variable in variables[: lp.num_col_]]
    rows, features = with_sections(_read_rows(lp, columns), sections)
    features = replace(
        features,
        semi_continuous=semi_continuous,
        quadratic=_read_hessian(engine.getModel().hessian_, columns),
        goals=goals,
    )
    is_pulp_maximum = form == "mps" and PULP_SENSE.search(text) and not MPS_SENSE.search(text)
    is_maximum = is_pulp_maximum or lp.sense_ == highspy.ObjSense.kMaximize
    # HiGHS does not return the name of the objective.
    match = OBJECTIVE_NAMES[form].search(text)
    stated = match[1] if match and not UNNAMED.fullmatch(match[1]) else ""
    costs = {name: cost for name, cost in zip(columns, lp.col_cost_, strict=True) if cost}
    sense = Sense.MAXIMIZE if is_maximum else Sense.MINIMIZE
    objective = Objective(costs, lp.offset_ if constant is None else constant, name=stated)
    if ranked:
        first = replace(ranked[0], terms=costs)
        base, sense, goals = rank_objectives([first, *ranked[1:]], sense)
        objective = Objective({name: cost for name, cost in base.terms.items() if cost}, base.constant, name=base.name)
        features = replace(features, goals=goals)
    model = IndexedModel.from_records(variables, rows, objective, sense, features=_own_names(features, names))
    return _with_own_names(model, names)


def _own_names(features: ModelFeatures[str], names: Mapping[str, Mapping[str, str]]) -> ModelFeatures[str]:
    """Return features whose parts have the names of the comments for their rows."""
    rows = names["row"]

    def named(parts: tuple[NamedPart, ...]) -> tuple[NamedPart, ...]:
        return tuple(replace(part, name=rows.get(part.name, part.name)) for part in parts)

    return replace(
        features,
        quadratic_rows=named(features.quadratic_rows),
        indicators=named(features.indicators),
        goals=named(features.goals),
    )


def _describe_failure(log: str, sent: str) -> str:
    """Return HiGHS's message about a file, with the line; empty without a message, as in versions before 1.16."""
    match = COMPLAINT.search(log)
    if match is None:
        return ""
    added = sum(text.startswith(SECOND) for text in sent.split("\n")[: int(match["line"]) - 1])
    return f"line {int(match['line']) - added}: {match['what'].strip()}; "


def _split_ranges(text: str) -> str:
    """Return an LP file with split rows, because HiGHS rejects two limits on lines of their own."""
    start = LP_ROWS.search(text)
    end = LP_REST.search(text, start.end()) if start else None
    if start is None or end is None:
        return text

    def split_row(row: re.Match[str]) -> str:
        label = [f"{row['name']}_{side}: " if row["name"] else "" for side in ("least", "most")]
        return f" {label[0]}{row['terms']} >= {row['low']}\n{SECOND}{label[1]}{row['terms']} <= {row['high']}"

    return text[: start.end()] + LP_RANGE.sub(split_row, text[start.end() : end.start()]) + text[end.start() :]


def _write_notes(model: IndexedModel, naming: SafeNaming, form: str) -> Iterator[str]:
    if model.name:
        yield f"model {json.dumps(model.name)}"
    if model.objective_record.name:
        yield f"objective {json.dumps(model.objective_record.name)}"
    arrays = model.to_staged_arrays()
    is_used = arrays.cost != 0
    is_used[arrays.matrix.columns[arrays.matrix.values != 0]] = True
    for column, name in enumerate(model.flat_variable_names):
        # The LP format cannot state a variable without terms.
        is_lost = form == "lp" and not is_used[column]
        if name in naming.variables or is_lost:
            yield f"variable {naming.variables.get(name, name)} {json.dumps(name)}"
    for name, stand_in in naming.rows.items():
        yield f"row {stand_in} {json.dumps(name)}"


def _read_notes(text: str) -> dict[str, dict[str, str]]:
    """Read the own names of variables, rows and the model from the comments, by substitute.

    The substitute of the model is empty.
    """
    names: dict[str, dict[str, str]] = {"variable": {}, "row": {}, "model": {}, "objective": {}}
    for what, stand_in, name in NOTE.findall(text):
        try:
            names[what][stand_in] = str(json.loads(name))
        except ValueError:
            raise ModellingError(
                f"a comment gives a {what}'s name in a form that is not JSON: correct or remove the comment"
            ) from None
    return names


def _read_variables(
    lp: Any, noted: Iterable[str], form: str
) -> tuple[tuple[Variable, ...], tuple[SemiContinuous[str], ...]]:
    """Return the variables that HiGHS read, then those without terms that only comments name."""
    try:
        columns = list(lp.col_names_)
    except UnicodeDecodeError:
        raise _unreadable_name() from None
    kinds = list(lp.integrality_) or [_KINDS.kContinuous] * lp.num_col_
    semi = tuple(
        SemiContinuous(name)
        for name, kind in zip(columns, kinds, strict=True)
        if kind in (_KINDS.kSemiContinuous, _KINDS.kSemiInteger)
    )
    whole = (_KINDS.kInteger, _KINDS.kSemiInteger)
    variables = tuple(
        Variable(name, low, high, VariableKind.INTEGER if kind in whole else VariableKind.CONTINUOUS)
        for name, low, high, kind in zip(columns, lp.col_lower_, lp.col_upper_, kinds, strict=True)
    )
    present = set(columns)
    variables += tuple(Variable(name) for name in noted if name not in present)
    if not variables:
        raise ModellingError(f"not a model in {form.upper()} form: no variable was found in it")
    return variables, semi


def _unreadable_name() -> ModellingError:
    return ModellingError("a name is not a text in UTF-8: rename it")


def _read_hessian(hessian: Any, names: Sequence[str]) -> tuple[QuadraticTerm[str], ...]:
    """Return the quadratic terms of the objective. HiGHS holds the lower triangle of Q in x'Qx / 2."""
    if not hessian.dim_:
        return ()
    starts, rows, values = list(hessian.start_), list(hessian.index_), list(hessian.value_)
    is_triangle = hessian.format_ == highspy.HessianFormat.kTriangular
    terms = []
    for column in range(hessian.dim_):
        for entry in range(starts[column], starts[column + 1]):
            row = rows[entry]
            factor = 0.5 if row == column or not is_triangle else 1.0
            if values[entry]:
                terms.append(QuadraticTerm(names[column], names[row], factor * values[entry]))
    return tuple(terms)


def _with_own_names(model: IndexedModel, names: Mapping[str, Mapping[str, str]]) -> IndexedModel:
    """Return the model with the names of the comments, and with variables that only comments name."""
    present = set(model.flat_variable_names)
    lost = [Variable(name) for name in names["variable"] if name not in present]
    objective = names["objective"].get("", "")
    if lost or objective:
        model = model.with_records(
            variables=(*model.variable_records, *lost),
            objective=replace(model.objective_record, name=objective or model.objective_record.name),
        )
    if names["variable"] or names["row"]:
        model = model.rename(names["variable"], names["row"]).with_records()
    return replace(model, name=names["model"].get("", ""))


def _read_rows(lp: Any, columns: Sequence[str]) -> Iterator[Row]:
    """Yield the rows that HiGHS read. A row with two limits becomes two rows."""
    try:
        names = list(lp.row_names_)
    except UnicodeDecodeError:
        raise _unreadable_name() from None
    matrix = lp.a_matrix_
    rowwise = matrix.format_ == highspy.MatrixFormat.kRowwise
    width = lp.num_col_ if rowwise else lp.num_row_
    lines = Sparse(np.array(matrix.start_), np.array(matrix.index_), np.array(matrix.value_), width)
    if not rowwise:
        lines = lines.transpose()
    taken = set(names)
    for index, (name, low, high) in enumerate(zip(names, lp.row_lower_, lp.row_upper_, strict=True)):
        ends = slice(lines.starts[index], lines.starts[index + 1])
        terms = {columns[i]: float(v) for i, v in zip(lines.columns[ends], lines.values[ends], strict=True)}
        if low == high:
            yield Row(name, terms, Relation.EQUAL, low)
            continue
        both = np.isfinite(low) and np.isfinite(high)
        for limit, relation, suffix in ((low, Relation.AT_LEAST, "least"), (high, Relation.AT_MOST, "most")):
            if np.isfinite(limit):
                yield Row(free_name(f"{name} {suffix}", taken) if both else name, terms, relation, limit)


@dataclass(frozen=True)
class CheckedMps:
    """Names of an MPS file, and the objectives after its first one."""

    rows: set[str]
    columns: set[str]
    goals: tuple[FurtherObjective[str], ...]
    # All objectives by name in their order, if the file has priorities; the terms of the first one are empty.
    ranked: tuple[FileObjective, ...] = ()
    # Constant of the first objective, if there are others: HiGHS takes that of the last one.
    constant: float | None = None


def check_mps(text: str) -> CheckedMps:
    """Check an MPS file and return its names and objectives. An error names the number and the content of the line.

    An N row after the first one is an objective with weight 0, which is computed but not optimised.

    Unknown sections, such as those of quadratic terms, are not checked.
    """
    check = _MpsCheck()
    for number, line in enumerate(text.splitlines(), 1):
        if check.section == "ENDATA" or not line.strip() or line.startswith("*"):
            continue
        complaint = check.read_header(line) if not line[0].isspace() else check.read_line(line)
        if complaint:
            raise ModellingError(f"line {number}: {complaint}: {quoted(line.strip())}; not a model in MPS form")
    if check.section != "ENDATA":
        raise ModellingError("not a model in MPS form: the file ends before ENDATA, it is damaged or cut off")
    for section in ("ROWS", "COLUMNS"):
        if section not in check.sections:
            raise ModellingError(f"not a model in MPS form: the section {section} is missing")
    unranked = [name for name in (check.first, *check.further) if name not in {*check.ranks, *IDLE}]
    if check.ranks and unranked:
        raise ModellingError(
            f"objective {quoted(unranked[0])} lacks a priority, a weight and two tolerances, which another one has: "
            "expected these four numbers after each N row, or after none"
        )
    goals = tuple(
        FurtherObjective(name, terms, constant=-check.sides.get(name, 0.0), weight=0.0)
        for name, terms in check.further.items()
        if name not in IDLE
    )
    ranked = tuple(
        FileObjective(name, check.further.get(name, {}), -check.sides.get(name, 0.0), words)
        for name, words in check.ranks.items()
    )
    constant = -check.sides.get(check.first, 0.0) if check.further else None
    return CheckedMps(check.rows, check.columns, goals, ranked, constant)


def _float(word: str) -> float:
    return float(word.upper().replace("D", "E"))


class _MpsCheck:
    """Sections, rows and columns read so far."""

    def __init__(self) -> None:
        self.section, self.sections = "", set[str]()
        self.rows, self.columns = set[str](), set[str]()
        # Coefficients by column of the objectives after the first one.
        self.further: dict[str, dict[str, float]] = {}
        # Name of the first objective.
        self.first = ""
        # Priority, weight and tolerances of objectives, and their right-hand sides.
        self.ranks: dict[str, dict[str, float]] = {}
        self.sides: dict[str, float] = {}

    def read_header(self, line: str) -> str:
        """Read the first line of a section. Return an error message, or an empty text."""
        word = line.split()[0].upper()
        if word not in ORDER and not word.isalpha():
            return "not a section"
        if word in ("ROWS", "COLUMNS", "RHS", "RANGES", "BOUNDS") and word in self.sections:
            return f"the section {word} begins twice"
        if word not in (*ORDER, *SECTIONS, *ROW_SECTIONS, "QUADOBJ", "QSECTION", "QMATRIX"):
            return "not a section"
        self.section = "ROWS" if word in ROW_SECTIONS else word
        self.sections.add(word)
        return ""

    def read_line(self, line: str) -> str:
        """Read a line of the current section. Errors in its words count only if its fixed fields are wrong too."""
        check = {
            "ROWS": self._row,
            "COLUMNS": self._column,
            "RHS": self._side,
            "RANGES": self._side,
            "BOUNDS": self._bound,
        }.get(self.section)
        if not self.section:
            return "expected a section such as ROWS"
        if check is None:
            return ""
        complaint = check(line.split())
        between = "".join(line[end:start] for (_, end), (start, _) in pairwise(FIXED))
        # Files with fixed columns allow names with spaces.
        if complaint and not between.strip():
            fields = [line[start:end].strip() for start, end in FIXED]
            if not check([field for field in fields if field]):
                return ""
        return complaint

    def _row(self, words: list[str]) -> str:
        is_ranked = len(words) == 2 + len(RANKS) and all(map(MPS_NUMBER.fullmatch, words[2:]))
        if is_ranked and words[0].upper() == "N":
            self.ranks[words[1]] = dict(zip(RANKS, map(_float, words[2:]), strict=True))
            words = words[:2]
        if len(words) != 2 or words[0].upper() not in ("N", "L", "G", "E"):
            return "expected N, L, G or E and the name of a row"
        if words[1] in self.rows:
            return "a second row of this name"
        self.rows.add(words[1])
        if words[0].upper() == "N":
            if self.first:
                self.further[words[1]] = {}
            self.first = self.first or words[1]
        return ""

    def _column(self, words: list[str]) -> str:
        if len(words) >= 3 and words[1].strip("'\"").upper() == "MARKER":
            is_marker = words[2].strip("'\"").upper() in ("INTORG", "INTEND", "SOSORG", "SOSEND")
            if is_marker:
                return ""
            return "expected INTORG or INTEND"
        if len(words) not in (3, 5):
            return "expected a column, and one or two rows with a number each"
        self.columns.add(words[0])
        complaint = self._pairs(words[1:])
        if self.further and not complaint:
            for name, value in zip(words[1::2], words[2::2], strict=True):
                if name in self.further:
                    self.further[name][words[0]] = _float(value)
        return complaint

    def _side(self, words: list[str]) -> str:
        if not 2 <= len(words) <= 5:
            return "expected one or two rows with a number each"
        words = words[len(words) % 2 :]
        complaint = self._pairs(words)
        if not complaint and self.section == "RHS":
            self.sides |= {name: _float(value) for name, value in zip(words[::2], words[1::2], strict=True)}
        return complaint

    def _pairs(self, words: list[str]) -> str:
        for name, value in zip(words[::2], words[1::2], strict=True):
            if name not in self.rows:
                return f"{quoted(name)} is not a row of this model"
            if not MPS_NUMBER.fullmatch(value):
                return f"{quoted(value)} is not a number"
        return ""

    def _bound(self, words: list[str]) -> str:
        kind, rest = words[0].upper(), words[1:]
        if kind not in NO_VALUE | WITH_VALUE:
            return "expected a kind of bound such as UP, LO, FX, FR, MI, PL or BV"
        has_value = bool(rest) and MPS_NUMBER.fullmatch(rest[-1]) is not None and len(rest) > 1
        names = [rest[-2] if has_value else "", rest[-1] if rest else ""]
        if kind in NO_VALUE:
            if any(name in self.columns for name in names):
                return ""
            return "not a column of this model"
        if not has_value:
            return "expected a column and a number"
        if names[0] in self.columns:
            return ""
        return f"{quoted(names[0])} is not a column of this model"

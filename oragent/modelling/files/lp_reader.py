"""Reader of LP files of Gurobi and CPLEX with parts that HiGHS's reader rejects.

These parts are names with brackets, ranges, semi-continuous variables, special ordered sets, quadratic terms,
indicators, several objectives, and general constraints (MIN, MAX, ABS, AND, OR, PWL). The reference manuals of CPLEX
and Gurobi define the format.
"""

import itertools
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from oragent._base.errors import ModellingError
from oragent.modelling.data.display import quoted
from oragent.modelling.data.features import (
    Absolute,
    BinaryProduct,
    Extreme,
    Indicator,
    ModelFeatures,
    OrderedSet,
    PiecewiseLinear,
    QuadraticRow,
    QuadraticTerm,
    SemiContinuous,
)
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.model_records import Objective, Row, Variable
from oragent.modelling.data.model_values import Relation, Sense, VariableKind, check_bound, free_name
from oragent.modelling.files.feature_text import FileObjective, rank_objectives

BODY = r"[\w.!\"#$%&;?@'`{}~|(),]"
# The first character is no digit. Letters of all languages are allowed, as solvers write them.
NAME = rf"(?:[^\W\d]|[!\"#$%&;?@'`{{}}~|]){BODY}*(?:\[[^\[\]\s]*\]{BODY}*)*"
NUMBER = r"(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
TOKEN = re.compile(
    rf"\s*(?:(?P<operator>->|::|<=|>=|=<|=>|[-+*/^:<>=\[\](),])|(?P<number>{NUMBER})|(?P<name>{NAME})|(?P<bad>\S))"
)
SECTION = re.compile(
    r"^\s*(?P<word>maximi[sz]e|maximum|max|minimi[sz]e|minimum|min|subject\s+to|such\s+that|st|s\.t\.|st\.|"
    r"(?:lazy\s+constraints|user\s+cuts)|bounds?|general\s+constraints?|gen(?:eral)?s?|int(?:eger)?s?|bin(?:ary|aries)?|"
    r"semi-?continuous|semi-?integer|semis?|sos[12]?|pwl|pwlobj|end)(?P<multi>\s+multi-objectives)?\s*$",
    re.IGNORECASE,
)
INLINE = re.compile(
    r"^\s*(?:maximi[sz]e|maximum|max|minimi[sz]e|minimum|min)\s+(?!multi-objectives)(?=\S)", re.IGNORECASE
)
# A bound or right-hand side of this size is infinite for Gurobi, CPLEX and HiGHS.
MIN_INFINITE = 1e20
RELATIONS = {
    "<": Relation.AT_MOST,
    "<=": Relation.AT_MOST,
    "=<": Relation.AT_MOST,
    ">": Relation.AT_LEAST,
    ">=": Relation.AT_LEAST,
    "=>": Relation.AT_LEAST,
    "=": Relation.EQUAL,
}
MIRRORED = {Relation.AT_MOST: Relation.AT_LEAST, Relation.AT_LEAST: Relation.AT_MOST, Relation.EQUAL: Relation.EQUAL}
INFINITE = re.compile(r"inf(?:inity)?", re.IGNORECASE)
# Default names of objectives.
UNNAMED = re.compile(r"obj(?:ective)?|of|r0|z|_*", re.IGNORECASE)
FUNCTIONS = {"MIN", "MAX", "ABS", "AND", "OR", "PWL"}
OBJECTIVE_WORDS = re.compile(r"(priority|weight|abstol|reltol)\s*=\s*(-?[0-9.eE+-]+)", re.IGNORECASE)
# Parts that HiGHS's reader rejects.
OWN = re.compile(
    r"\[|->|^\s*(?:semi[\w-]*\s*\n(?!\s*end)|sos|general\s+constraint)|multi-objectives|"
    r"^\s*(?:lazy\s+constraints|user\s+cuts)\s*$|^\s*pwl\s*\n[^\n]*[=(]",
    re.IGNORECASE | re.MULTILINE,
)


def needs_own_reader(text: str) -> bool:
    """Return True if a file has parts that HiGHS's reader rejects."""
    return OWN.search(re.sub(r"\\.*", "", text)) is not None


def read_lp(text: str) -> IndexedModel:
    """Read a model. A row with two limits becomes two rows.

    Raises:
        ModellingError: The text is not a model in LP form; the message names the line.
    """
    return _LpReader(text).read()


@dataclass
class _Token:
    kind: str
    text: str
    line: int


@dataclass
class _Expression:
    terms: dict[str, float] = field(default_factory=dict)
    quadratic: list[QuadraticTerm[str]] = field(default_factory=list)
    constant: float = 0.0


class _LpReader:
    """State of reading one file."""

    def __init__(self, text: str) -> None:
        self.lines = text.splitlines()
        self.tokens: list[_Token] = []
        self.at = 0
        self.low: dict[str, float] = {}
        self.high: dict[str, float] = {}
        self.integer: set[str] = set()
        self.rows: list[Row] = []
        self.row_names: set[str] = set()
        self.sense = Sense.MINIMIZE
        self.objectives: list[tuple[str, _Expression, dict[str, float]]] = []
        self.quadratic_rows: list[QuadraticRow[str]] = []
        self.indicators: list[Indicator[str]] = []
        self.sets: list[OrderedSet[str]] = []
        self.semi: list[str] = []
        self.piecewise: list[PiecewiseLinear[str]] = []
        # Name, input, output, slopes before and after, and points of each function of CPLEX.
        self.sloped: list[tuple[str, str, str, tuple[float, float], tuple[tuple[float, float], ...]]] = []
        self.absolutes: list[Absolute[str]] = []
        self.extremes: list[Extreme[str]] = []
        self.products: list[BinaryProduct[str]] = []

    def read(self) -> IndexedModel:
        sections = list(self._sections())
        if not sections or not sections[0][0].startswith(("max", "min")):
            raise ModellingError("not a model in LP form: expected Minimize or Maximize first")
        for word, multi, lines in sections:
            self._read_section(word, multi, lines)
        if not self.low:
            raise ModellingError("not a model in LP form: no variable was found in it")
        return self._build()

    def _sections(self) -> Iterator[tuple[str, bool, list[tuple[int, str]]]]:
        word, multi, lines = "", False, list[tuple[int, str]]()
        for number, raw in enumerate(self.lines, 1):
            line = raw.split("\\", 1)[0]
            if not line.strip():
                continue
            match = SECTION.match(line)
            if match is None and not word and (inline := INLINE.match(line)):
                word, line = inline[0].strip().lower(), line[inline.end() :]
            if match:
                if word:
                    yield word, multi, lines
                word, multi, lines = " ".join(match["word"].lower().split()), bool(match["multi"]), []
                if word == "end":
                    return
            elif not word:
                raise ModellingError(f"line {number}: expected Minimize or Maximize: {quoted(line.strip())}")
            else:
                lines.append((number, line))
        if word:
            yield word, multi, lines

    def _read_section(self, word: str, multi: bool, lines: list[tuple[int, str]]) -> None:
        if word.startswith(("max", "min")):
            self.sense = Sense.MAXIMIZE if word.startswith("max") else Sense.MINIMIZE
            self._read_objectives(lines, multi)
            return
        if word == "pwlobj":
            raise ModellingError("a piecewise linear objective (PWLObj): expected a PWL constraint instead")
        self._tokenise(lines)
        if word.startswith(("subject", "such", "st", "s.t", "lazy", "user")):
            while self._more():
                self._read_row()
        elif word.startswith("bound"):
            while self._more():
                self._read_bound()
        elif word.startswith("general con"):
            while self._more():
                self._read_general()
        elif word.startswith("sos"):
            while self._more():
                self._read_set(word)
        elif word == "pwl":
            while self._more():
                self._read_slopes()
        else:
            self._read_names(word)

    def _tokenise(self, lines: list[tuple[int, str]]) -> None:
        self.tokens, self.at = [], 0
        for number, line in lines:
            for match in TOKEN.finditer(line):
                kind = str(match.lastgroup)
                if kind == "bad":
                    raise ModellingError(
                        f"line {number}: {quoted(match[kind])} is not expected: {quoted(line.strip())}"
                    )
                self.tokens.append(_Token(kind, match[kind], number))

    def _more(self) -> bool:
        return self.at < len(self.tokens)

    def _peek(self, ahead: int = 0) -> _Token:
        if self.at + ahead < len(self.tokens):
            return self.tokens[self.at + ahead]
        return _Token("end", "", self.tokens[-1].line if self.tokens else 0)

    def _take(self) -> _Token:
        token = self._peek()
        self.at += 1
        return token

    def _expect(self, text: str) -> None:
        token = self._take()
        if token.text != text:
            raise self._error(token, quoted(text))

    def _error(self, token: _Token, expected: str) -> ModellingError:
        seen = quoted(token.text) if token.text else "the end of the section"
        return ModellingError(f"line {token.line}: {seen}, expected {expected}; not a model in LP form")

    def _variable(self, token: _Token) -> str:
        if token.kind != "name":
            raise self._error(token, "a variable")
        self.low.setdefault(token.text, 0.0)
        self.high.setdefault(token.text, math.inf)
        return token.text

    def _number(self) -> float:
        sign = 1.0
        token = self._take()
        while token.text in ("+", "-"):
            sign = -sign if token.text == "-" else sign
            token = self._take()
        if token.kind == "number":
            value = float(token.text)
            return sign * (math.inf if value >= MIN_INFINITE else value)
        if token.kind == "name" and INFINITE.fullmatch(token.text):
            return sign * math.inf
        raise self._error(token, "a number")

    def _label(self) -> str:
        """Read a name and a colon, if they are next."""
        if self._peek().kind == "name" and self._peek(1).text == ":":
            name = self._take().text
            self.at += 1
            return name
        return ""

    def _expression(self) -> _Expression:
        expression = _Expression()
        while self._more():
            token = self._peek()
            sign, saw_sign = 1.0, False
            while self._peek().text in ("+", "-"):
                sign = -sign if self._take().text == "-" else sign
                saw_sign = True
            token = self._peek()
            if token.text == "[":
                self.at += 1
                self._quadratic(expression, sign)
                continue
            value = 1.0
            if token.kind == "number":
                value, token = float(self._take().text), self._peek()
                if token.text == "*":
                    self.at += 1
                    token = self._peek()
                if token.kind != "name" or self._peek(1).text == ":":
                    expression.constant += sign * value
                    continue
            if token.kind != "name" or (self._peek(1).text == ":" and not saw_sign):
                if saw_sign:
                    raise self._error(token, "a term")
                return expression
            name = self._variable(self._take())
            expression.terms[name] = expression.terms.get(name, 0.0) + sign * value
        return expression

    def _quadratic(self, expression: _Expression, sign: float) -> None:
        products = []
        while self._peek().text != "]":
            factor = sign
            while self._peek().text in ("+", "-"):
                factor = -factor if self._take().text == "-" else factor
            if self._peek().kind == "number":
                factor *= float(self._take().text)
            first = self._variable(self._take())
            operator = self._take()
            if operator.text == "^":
                if self._number() != 2.0:
                    raise self._error(operator, "the power 2")
                second = first
            elif operator.text == "*":
                second = self._variable(self._take())
            else:
                raise self._error(operator, "^2 or *")
            products.append(QuadraticTerm(first, second, factor))
        self.at += 1
        half = 1.0
        if self._peek().text == "/":
            self.at += 1
            divisor = self._peek()
            half = 1.0 / (self._number() or math.inf)
            if half == 0.0:
                raise self._error(divisor, "a divisor other than 0, mostly 2")
        expression.quadratic += [QuadraticTerm(term.first, term.second, half * term.value) for term in products]

    def _read_objectives(self, lines: list[tuple[int, str]], multi: bool) -> None:
        if not multi:
            self._tokenise(lines)
            name = self._label()
            self.objectives.append((name, self._expression(), {}))
            if self._more():
                raise self._error(self._peek(), "a term of the objective")
            return
        blocks: list[tuple[str, dict[str, float], list[tuple[int, str]]]] = []
        for number, line in lines:
            words = {key.lower(): float(value) for key, value in OBJECTIVE_WORDS.findall(line)}
            if words:
                blocks.append((line.split(":", 1)[0].strip(), words, []))
            elif blocks:
                blocks[-1][2].append((number, line))
            else:
                raise ModellingError(f"line {number}: expected NAME: Priority=... Weight=...")
        for name, words, block in blocks:
            self._tokenise(block)
            self.objectives.append((name, self._expression(), words))

    def _read_row(self) -> None:
        name = self._label() or f"R{len(self.rows)}"
        if self._peek().kind == "name" and self._peek(1).text == "=" and self._peek(3).text == "->":
            binary, _, value, _ = self._variable(self._take()), self._take(), self._number(), self._take()
            self.low[binary], self.high[binary] = max(self.low[binary], 0.0), min(self.high[binary], 1.0)
            self.integer.add(binary)
            expression = self._expression()
            relation, rhs = RELATIONS.get(self._peek().text), 0.0
            if relation is None:
                raise self._error(self._peek(), "<=, >= or =")
            self.at += 1
            rhs = self._number() - expression.constant
            self.indicators.append(Indicator(name, binary, value > 0.5, expression.terms, relation, rhs))
            return
        expression = self._expression()
        first = RELATIONS.get(self._peek().text)
        if first is None:
            raise self._error(self._peek(), "<=, >= or =")
        self.at += 1
        if not expression.terms and not expression.quadratic:
            # Number, relation, terms, and optionally a second relation.
            middle = self._expression()
            self._add_row(name, middle, MIRRORED[first], expression.constant, two=self._peek().text in RELATIONS)
            if self._peek().text in RELATIONS:
                second = RELATIONS[self._take().text]
                self._add_row(name, middle, second, self._number(), two=True)
            return
        self._add_row(name, expression, first, self._number())

    def _add_row(
        self, name: str, expression: _Expression, relation: Relation, rhs: float, *, two: bool = False
    ) -> None:
        if two:
            name = f"{name} {'least' if relation is Relation.AT_LEAST else 'most'}"
        if math.isinf(rhs):
            if relation is Relation.EQUAL or (rhs > 0) is (relation is Relation.AT_LEAST):
                raise ModellingError(f"row {quoted(name)}: no point reaches an infinite right-hand side")
            return
        unique = free_name(name, self.row_names)
        if expression.quadratic:
            quadratic = tuple(expression.quadratic)
            self.quadratic_rows.append(
                QuadraticRow(unique, expression.terms, quadratic, relation, rhs - expression.constant)
            )
        else:
            self.rows.append(Row(unique, expression.terms, relation, rhs - expression.constant))

    def _read_bound(self) -> None:
        token = self._peek()
        if token.kind == "name" and not INFINITE.fullmatch(token.text):
            name = self._variable(self._take())
            following = self._take()
            if following.text.lower() == "free":
                self.low[name], self.high[name] = -math.inf, math.inf
                return
            relation = RELATIONS.get(following.text)
            if relation is None:
                raise self._error(following, "<=, >=, = or free")
            self._set_bound(name, relation, self._number())
            return
        value = self._number()
        operator = self._take()
        if operator.text not in RELATIONS:
            raise self._error(operator, "<= or >=")
        name = self._variable(self._take())
        self._set_bound(name, MIRRORED[RELATIONS[operator.text]], value)
        if self._peek().text in RELATIONS:
            self._set_bound(name, RELATIONS[self._take().text], self._number())

    def _set_bound(self, name: str, relation: Relation, value: float) -> None:
        bound = check_bound(value, f"a bound of {quoted(name)}")
        if relation is not Relation.AT_MOST:
            self.low[name] = bound
        if relation is not Relation.AT_LEAST:
            self.high[name] = bound

    def _read_names(self, word: str) -> None:
        while self._more():
            name = self._variable(self._take())
            if word.startswith("semi"):
                self.semi.append(name)
                if word.endswith("integer"):
                    self.integer.add(name)
                continue
            self.integer.add(name)
            if word.startswith("bin"):
                self.low[name], self.high[name] = max(self.low[name], 0.0), min(self.high[name], 1.0)

    def _read_set(self, word: str) -> None:
        name = self._label() or f"SOS{len(self.sets)}"
        kind = 2 if word == "sos2" else 1
        if re.fullmatch(r"[sS][12]", self._peek().text) and self._peek(1).text == "::":
            kind = int(self._take().text[1])
            self.at += 1
        members = {}
        while (
            self._peek().kind == "name" and self._peek(1).text == ":" and self._peek(2).kind in ("number", "operator")
        ):
            member = self._variable(self._take())
            self.at += 1
            members[member] = self._number()
        if not members:
            raise self._error(self._peek(), "a variable, a colon and a weight")
        self.sets.append(OrderedSet(name, kind, members))

    def _read_general(self) -> None:
        name = self._label() or f"GC{self.at}"
        output = self._variable(self._take())
        self._expect("=")
        token = self._take()
        # A function may be written without a space before its bracket.
        word, rest = re.match(r"(\w*)(.*)", token.text).groups()  # type: ignore[union-attr]
        if word.upper() not in FUNCTIONS or token.kind != "name":
            raise self._error(token, ", ".join(sorted(FUNCTIONS)))
        arguments, constants = self._arguments(rest)
        self._add_general(name, word.upper(), output, arguments, constants)

    def _arguments(self, rest: str) -> tuple[list[str], list[float]]:
        """Read variables and numbers up to the closing bracket. A bracket or comma may directly follow a name."""
        names: list[str] = []
        constants: list[float] = []
        words, sign = [rest] if rest else [], 1.0
        while not (words and words[-1].endswith(")") and "(" not in words[-1].lstrip("(")):
            if not self._more():
                raise self._error(self._peek(), "a closing bracket")
            words.append(self._take().text)
        line = self._peek(-1).line
        for word in (word.strip("(),") for word in words):
            if word in ("-", "+"):
                sign = -1.0 if word == "-" else 1.0
            elif re.fullmatch(NUMBER, word):
                constants.append(sign * float(word))
                sign = 1.0
            elif word:
                names.append(self._variable(_Token("name", word, line)))
        return names, constants

    def _add_general(self, name: str, word: str, output: str, inputs: list[str], constants: list[float]) -> None:
        if word in ("MIN", "MAX"):
            pick = max if word == "MAX" else min
            constant = pick(constants) if constants else None
            self.extremes.append(Extreme(name, output, tuple(inputs), word == "MAX", constant))
        elif word == "OR":
            self.extremes.append(Extreme(name, output, tuple(inputs), True))
        elif word == "AND":
            self.products.append(BinaryProduct(name, output, tuple(inputs)))
        elif word == "ABS" and len(inputs) == 1:
            self.absolutes.append(Absolute(name, inputs[0], output))
        elif word == "PWL" and len(inputs) == 1:
            self._expect(":")
            self.piecewise.append(PiecewiseLinear(name, inputs[0], output, tuple(self._points())))
        else:
            raise ModellingError(f"general constraint {quoted(name)}: expected {word} of one variable")

    def _read_slopes(self) -> None:
        """Read a function of CPLEX: the slope before its points, the points, and the slope after them."""
        name = self._label() or f"PWL{self.at}"
        output = self._variable(self._take())
        self._expect("=")
        column, before = self._variable(self._take()), self._number()
        points = tuple(self._points())
        self.sloped.append((name, column, output, (before, self._number()), points))

    def _list_sloped(self) -> Iterator[PiecewiseLinear[str]]:
        """Return functions with slopes beyond their points, as far as the bounds of their inputs reach."""
        for name, column, output, (before, after), points in self.sloped:
            low, high = self.low[column], self.high[column]
            if points and low < points[0][0]:
                points = ((low, points[0][1] - before * (points[0][0] - low)), *points)
            if points and high > points[-1][0]:
                points = (*points, (high, points[-1][1] + after * (high - points[-1][0])))
            if not all(map(math.isfinite, itertools.chain(*points))):
                raise ModellingError(f"piecewise {quoted(name)}: {quoted(column)} needs bounds, or points up to them")
            yield PiecewiseLinear(name, column, output, points)

    def _points(self) -> Iterator[tuple[float, float]]:
        while self._peek().text == "(":
            words = ""
            while ")" not in words:
                words += self._take().text + " "
                if not self._more() and ")" not in words:
                    raise ModellingError("a point of PWL is not closed; not a model in LP form")
            figures = words.replace("(", " ").replace(")", " ").replace("- ", "-").replace(",", " ").split()
            try:
                x, y = map(float, figures)
            except ValueError:
                raise ModellingError(f"{quoted(words)} is not a point of PWL: expected two numbers") from None
            yield x, y

    def _build(self) -> IndexedModel:
        variables = tuple(
            Variable(
                name, low, self.high[name], VariableKind.INTEGER if name in self.integer else VariableKind.CONTINUOUS
            )
            for name, low in self.low.items()
        )
        parts = [FileObjective(name, part.terms, part.constant, words) for name, part, words in self.objectives]
        base, sense, goals = rank_objectives(parts, self.sense)
        quadratic = next(
            part.quadratic for (_, part, _), each in zip(self.objectives, parts, strict=True) if each is base
        )
        if any(part.quadratic for _, part, _ in self.objectives if part.quadratic is not quadratic):
            raise ModellingError("an objective other than the last one is quadratic: expected linear ones")
        features = ModelFeatures(
            quadratic=tuple(quadratic),
            quadratic_rows=tuple(self.quadratic_rows),
            indicators=tuple(self.indicators),
            ordered_sets=tuple(self.sets),
            semi_continuous=tuple(SemiContinuous(name) for name in self.semi),
            piecewise=(*self.piecewise, *self._list_sloped()),
            absolutes=tuple(self.absolutes),
            extremes=tuple(self.extremes),
            products=tuple(self.products),
            goals=goals,
        )
        name = "" if UNNAMED.fullmatch(base.name) else base.name
        terms = {column: value for column, value in base.terms.items() if value}
        objective = Objective(terms, base.constant, name=name)
        return IndexedModel.from_records(variables, self.rows, objective, sense, features=features)

"""Reader of LP files of Gurobi, CPLEX, HiGHS and others.

Read are names with brackets, ranges, semi-continuous variables, special ordered sets, quadratic terms, indicators,
several objectives, and general constraints (MIN, MAX, ABS, AND, OR, PWL). The reference manuals of CPLEX and Gurobi
define the format.
"""

import itertools
import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

import numpy as np

from oragent._base.errors import ModellingError
from oragent.modelling.data.arrays import Arrays, Sparse
from oragent.modelling.data.display import quoted
from oragent.modelling.data.features import (
    Indicator,
    OrderedSet,
    PiecewiseLinear,
    QuadraticRow,
    QuadraticTerm,
    SemiContinuous,
)
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.model_values import NO_BOUND, Relation, Sense, check_bound, free_name
from oragent.modelling.files.parsed_model import FileObjective, Parts, add_general, build_model

BODY = r"[\w.!\"#$%&;?@'`{}~|(),/]"
# The first character is no digit. Letters of all languages are allowed, as solvers write them.
NAME = rf"(?:[^\W\d]|[!\"#$%&;?@'`{{}}~|]){BODY}*(?:\[[^\[\]\s]*\]{BODY}*)*"
NUMBER = r"(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
TOKEN = re.compile(
    rf"\s*(?:(?P<operator>->|::|<=|>=|=<|=>|==|[-+*/^:<>=\[\](),])|(?P<number>{NUMBER})|(?P<name>{NAME})|(?P<bad>\S))"
)
WORDS = (
    r"maximi[sz]e|maximum|max|minimi[sz]e|minimum|min|subject\s+to|such\s+that|st|s\.t\.|st\.|lazy\s+constraints|"
    r"user\s+cuts|bounds?|general\s+constraints?|gen(?:eral)?s?|int(?:eger)?s?|bin(?:ary|aries)?"
)
SECTION = re.compile(
    rf"^\s*(?P<word>{WORDS}|semi-?continuous|semi-?integer|semis?|sos[12]?|pwl|pwlobj|end)"
    r"(?P<multi>\s+multi-objectives)?\s*$",
    re.IGNORECASE,
)
# A section whose first line goes on after its word. No expression has two names side by side.
INLINE = re.compile(rf"^\s*(?P<word>{WORDS})\s+(?=[^\s:<>=+*/^\]-])", re.IGNORECASE)
# First line of a section PWL, in difference to a variable of this name.
FUNCTION = re.compile(r"[=(]")
LABEL = re.compile(r"\s*((?:\[[^\[\]\s]*\]|[^\s:<>=\[])+)\s*:(?!:)")
RELATIONS = {
    "<": Relation.AT_MOST,
    "<=": Relation.AT_MOST,
    "=<": Relation.AT_MOST,
    ">": Relation.AT_LEAST,
    ">=": Relation.AT_LEAST,
    "=>": Relation.AT_LEAST,
    "=": Relation.EQUAL,
    "==": Relation.EQUAL,
}
MIRRORED = {Relation.AT_MOST: Relation.AT_LEAST, Relation.AT_LEAST: Relation.AT_MOST, Relation.EQUAL: Relation.EQUAL}
INFINITE = re.compile(r"inf(?:inity)?", re.IGNORECASE)
FUNCTIONS = {"MIN", "MAX", "ABS", "AND", "OR", "PWL"}
OBJECTIVE_WORDS = re.compile(r"(priority|weight|abstol|reltol)\s*=\s*(\S+)", re.IGNORECASE)


def read_lp(text: str) -> IndexedModel:
    """Read a model. A row with two limits becomes two rows.

    Raises:
        ModellingError: The text is not a model in LP form; the message names the line.
    """
    return _LpReader(text).read()


class _Token(NamedTuple):
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
        self.low: dict[str, float] = {}
        self.high: dict[str, float] = {}
        self.integer, self.binary = set[str](), set[str]()
        self.row_names: set[str] = set()
        # Names of other parts than rows and objectives.
        self.part_names: set[str] = set()
        # Name, terms and limits of each linear row.
        self.rows: list[tuple[str, dict[str, float], float, float]] = []
        self.sense = Sense.MINIMIZE
        self.objectives: list[FileObjective] = []
        # Other parts by field of ``ModelFeatures``.
        self.parts: Parts = defaultdict(list)
        # Name, input, output, slopes before and after, and points of each function of CPLEX.
        self.sloped: list[tuple[str, str, str, tuple[float, float], tuple[tuple[float, float], ...]]] = []

    def read(self) -> IndexedModel:
        sections = self._sections()
        if not sections or not sections[0][0].startswith(("max", "min")):
            raise ModellingError("not a model in LP form: expected Minimize or Maximize first")
        if sections.pop()[0] != "end":
            raise ModellingError("not a model in LP form: the file ends before End, it is damaged or cut off")
        for word, multi, lines in sections:
            self._read_section(word, multi, lines)
        if not self.low:
            raise ModellingError("not a model in LP form: no variable was found in it")
        return self._build()

    def _sections(self) -> list[tuple[str, bool, list[tuple[int, str]]]]:
        """Return the word of each section, whether it has several objectives, and its lines with their numbers."""
        sections: list[tuple[str, bool, list[tuple[int, str]]]] = []
        for number, raw in enumerate(self.lines, 1):
            line = raw.partition("\\")[0]
            if not line.strip():
                continue
            match = SECTION.match(line)
            if (
                match
                and match["word"].lower() == "pwl"
                and not FUNCTION.search("".join(self.lines[number : number + 1]))
            ):
                match = None
            inline = None if match else INLINE.match(line)
            begin = match or inline
            if begin:
                word = " ".join(begin["word"].lower().split())
                sections.append((word, bool(match and match["multi"]), []))
                if word == "end":
                    break
            elif not sections:
                raise ModellingError(
                    f"line {number}: expected Minimize or Maximize: {quoted(line.strip())}; not a model in LP form"
                )
            if not match:
                sections[-1][2].append((number, line[inline.end() :] if inline else line))
        return sections

    def _read_section(self, word: str, multi: bool, lines: list[tuple[int, str]]) -> None:
        if word.startswith(("max", "min")):
            self.sense = Sense.MAXIMIZE if word.startswith("max") else Sense.MINIMIZE
            self._read_objectives(lines, multi)
            return
        if word == "pwlobj":
            raise ModellingError("a piecewise linear objective (PWLObj): expected a PWL constraint instead")
        read: Callable[[], None] = self._read_row
        if word.startswith("bound"):
            read = self._read_bound
        elif word.startswith("general con"):
            read = self._read_general
        elif word.startswith("sos"):
            read = partial(self._read_set, word)
        elif word == "pwl":
            read = self._read_slopes
        elif word.startswith(("gen", "int", "bin", "semi")):
            read = partial(self._read_name, word)
        self._tokenise(lines)
        while self._more():
            read()

    def _tokenise(self, lines: list[tuple[int, str]]) -> None:
        # Tokens of some lines of the present section, and its further lines.
        self.tokens: list[_Token] = []
        self.at, self.waiting = 0, iter(lines)

    def _fill(self, count: int) -> None:
        """Read lines until a number of tokens is ahead, or the section ends."""
        while len(self.tokens) - self.at < count:
            number, line = next(self.waiting, (0, ""))
            if not number:
                return
            self.tokens, self.at = self.tokens[max(0, self.at - 1) :], min(self.at, 1)
            label = LABEL.match(line)
            if label:
                self.tokens += (_Token("name", label[1], number), _Token("operator", ":", number))
            for match in TOKEN.finditer(line, label.end() if label else 0):
                kind = str(match.lastgroup)
                if kind == "bad":
                    raise ModellingError(
                        f"line {number}: {quoted(match[kind])} is not expected: {quoted(line.strip())}"
                    )
                self.tokens.append(_Token(kind, match[kind], number))

    def _more(self) -> bool:
        return self._peek().kind != "end"

    def _peek(self, ahead: int = 0) -> _Token:
        if self.at + ahead >= len(self.tokens):
            self._fill(ahead + 1)
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
        return self._declare(token.text)

    def _declare(self, name: str) -> str:
        self.low.setdefault(name, 0.0)
        self.high.setdefault(name, math.inf)
        return name

    def _number(self) -> float:
        sign = 1.0
        token = self._take()
        while token.text in ("+", "-"):
            sign = -sign if token.text == "-" else sign
            token = self._take()
        if token.kind == "number":
            value = float(token.text)
            return sign * (math.inf if value >= NO_BOUND else value)
        if token.kind == "name" and INFINITE.fullmatch(token.text):
            return sign * math.inf
        raise self._error(token, "a number")

    def _part_name(self, default: str) -> str:
        """Read the name of a part, or return an unused name for one without."""
        return free_name(self._label() or default, self.part_names)

    def _label(self) -> str:
        """Read a name and a colon, if they are next."""
        if self._peek().kind == "name" and self._peek(1).text == ":":
            name = self._take().text
            self.at += 1
            return name
        return ""

    def _expression(self) -> _Expression:
        expression, is_first = _Expression(), True
        while self._more():
            sign, saw_sign = 1.0, False
            while self._peek().text in ("+", "-"):
                sign = -sign if self._take().text == "-" else sign
                saw_sign = True
            token = self._peek()
            is_label = token.kind == "name" and self._peek(1).text == ":"
            if not (is_first or saw_sign or is_label) and (token.kind in ("number", "name") or token.text == "["):
                raise self._error(token, "+ or -")
            is_first = False
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
            if token.kind != "name" or self._peek(1).text == ":":
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
            self._add_objective(name, {})
            return
        blocks: list[tuple[str, dict[str, float], list[tuple[int, str]]]] = []
        for number, line in lines:
            try:
                words = {key.lower(): float(value) for key, value in OBJECTIVE_WORDS.findall(line)}
            except ValueError:
                raise ModellingError(f"line {number}: expected numbers after Priority= and the like") from None
            if words:
                name, _, rest = line.partition(":")
                blocks.append((name.strip(), words, [(number, OBJECTIVE_WORDS.sub("", rest))]))
            elif blocks:
                blocks[-1][2].append((number, line))
            else:
                raise ModellingError(f"line {number}: expected NAME: Priority=... Weight=...")
        if not blocks:
            raise ModellingError("expected NAME: Priority=... Weight=... below multi-objectives")
        for name, words, block in blocks:
            self._tokenise(block)
            self._add_objective(name, words)

    def _add_objective(self, name: str, words: dict[str, float]) -> None:
        part = self._expression()
        if self._more():
            raise self._error(self._peek(), "a term of the objective")
        self.objectives.append(FileObjective(name, part.terms, part.constant, words, tuple(part.quadratic)))

    def _read_row(self) -> None:
        if self._peek().text in RELATIONS:
            raise self._error(self._peek(), "a new row")
        label = self._label()
        condition = [self._peek(ahead).text for ahead in range(4)]
        if condition[1:] in (["=", "0", "->"], ["=", "1", "->"]):
            binary = self._variable(self._take())
            self.at += 3
            self.binary.add(binary)
            start = self._peek()
            expression, relation = self._expression(), self._relation()
            if expression.quadratic:
                raise self._error(start, "a linear row after a condition")
            rhs = self._number() - expression.constant
            active = condition[2] == "1"
            name = free_name(label or f"GC{len(self.part_names)}", self.part_names)
            self.parts["indicators"].append(Indicator(name, binary, active, expression.terms, relation, rhs))
            return
        name = label or f"R{len(self.row_names)}"
        expression, first = self._expression(), self._relation()
        if not expression.terms and not expression.quadratic:
            # Number, relation, terms, and optionally a second relation.
            middle, limits = self._expression(), [(MIRRORED[first], expression.constant)]
            if self._peek().text in RELATIONS:
                limits.append((RELATIONS[self._take().text], self._number()))
            self._add_row(name, middle, limits)
        else:
            self._add_row(name, expression, [(first, self._number())])

    def _relation(self) -> Relation:
        token = self._take()
        if token.text not in RELATIONS:
            raise self._error(token, "<=, >= or =")
        return RELATIONS[token.text]

    def _add_row(self, name: str, expression: _Expression, limits: list[tuple[Relation, float]]) -> None:
        low, high = -math.inf, math.inf
        for relation, rhs in limits:
            low = low if relation is Relation.AT_MOST else max(low, rhs - expression.constant)
            high = high if relation is Relation.AT_LEAST else min(high, rhs - expression.constant)
        if low == math.inf or high == -math.inf:
            raise ModellingError(f"row {quoted(name)}: no point reaches an infinite right-hand side")
        name = free_name(name, self.row_names)
        if not expression.quadratic:
            self.rows.append((name, expression.terms, low, high))
            return
        sides = [(Relation.AT_LEAST, low, " least"), (Relation.AT_MOST, high, " most")]
        if low == high:
            sides = [(Relation.EQUAL, low, "")]
        sides = [side for side in sides if math.isfinite(side[1])]
        for relation, rhs, side in sides:
            shown = f"{name}{side}" if len(sides) > 1 else name
            row = QuadraticRow(shown, expression.terms, tuple(expression.quadratic), relation, rhs)
            self.parts["quadratic_rows"].append(row)

    def _read_bound(self) -> None:
        token = self._peek()
        if token.kind == "name" and not INFINITE.fullmatch(token.text):
            name = self._variable(self._take())
            if self._peek().text.lower() == "free":
                self.at += 1
                self.low[name], self.high[name] = -math.inf, math.inf
                return
            self._set_bound(name, self._relation(), self._number())
            return
        value, relation = self._number(), self._relation()
        name = self._variable(self._take())
        self._set_bound(name, MIRRORED[relation], value)
        if self._peek().text in RELATIONS:
            self._set_bound(name, RELATIONS[self._take().text], self._number())

    def _set_bound(self, name: str, relation: Relation, value: float) -> None:
        bound = check_bound(value, f"a bound of {quoted(name)}")
        if relation is not Relation.AT_MOST:
            self.low[name] = bound
        if relation is not Relation.AT_LEAST:
            self.high[name] = bound

    def _read_name(self, word: str) -> None:
        name = self._variable(self._take())
        if word.startswith("semi"):
            self.parts["semi_continuous"].append(SemiContinuous(name))
        if word.startswith("bin"):
            self.binary.add(name)
        elif not word.startswith("semi") or word.endswith("integer"):
            self.integer.add(name)

    def _read_set(self, word: str) -> None:
        name = self._part_name(f"SOS{len(self.parts['ordered_sets'])}")
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
        self.parts["ordered_sets"].append(OrderedSet(name, kind, members))

    def _read_general(self) -> None:
        name = self._part_name(f"GC{len(self.part_names)}")
        output = self._variable(self._take())
        self._expect("=")
        token = self._take()
        # A function may be written without a space before its bracket.
        word, rest = re.match(r"(\w*)(.*)", token.text).groups()  # type: ignore[union-attr]
        if word.upper() not in FUNCTIONS:
            raise self._error(token, ", ".join(sorted(FUNCTIONS)))
        arguments, constants = self._arguments(rest)
        if word.upper() == "PWL" and len(arguments) == 1:
            self._expect(":")
            self.parts["piecewise"].append(PiecewiseLinear(name, arguments[0], output, tuple(self._points())))
        else:
            add_general(self.parts, word.upper(), name, output, arguments, constants)

    def _arguments(self, rest: str) -> tuple[list[str], list[float]]:
        """Read variables and numbers up to the closing bracket. A bracket or comma may directly follow a name."""
        names: list[str] = []
        constants: list[float] = []
        words, sign = [rest] if rest else [], 1.0
        while not (words and words[-1].endswith(")") and "(" not in words[-1].lstrip("(")):
            if not self._more():
                raise self._error(self._peek(), "a closing bracket")
            words.append(self._take().text)
        for word in (word.strip("(),") for word in words):
            if word in ("-", "+"):
                sign = -1.0 if word == "-" else 1.0
            elif re.fullmatch(NUMBER, word):
                constants.append(sign * float(word))
                sign = 1.0
            elif word:
                # A name may have commas, and arguments may be written without spaces.
                parts = [word] if word in self.low or re.search(r"[(\[]", word) else word.split(",")
                names += map(self._declare, parts)
        return names, constants

    def _read_slopes(self) -> None:
        """Read a function of CPLEX: the slope before its points, the points, and the slope after them."""
        name = self._part_name(f"PWL{len(self.part_names)}")
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
        for name in self.binary:
            self.low[name], self.high[name] = max(self.low[name], 0.0), min(self.high[name], 1.0)
        self.parts["piecewise"] += self._list_sloped()
        column_of = {name: column for column, name in enumerate(self.low)}
        entries = [
            (row, column_of[name], value)
            for row, (_, terms, _, _) in enumerate(self.rows)
            for name, value in terms.items()
            if value
        ]
        places, columns, values = np.array(entries).reshape(len(entries), 3).T
        whole = self.integer | self.binary
        arrays = Arrays(
            self.sense,
            np.zeros(0),
            0.0,
            np.array(list(self.low.values())),
            np.array(list(self.high.values())),
            np.array([name in whole for name in self.low]),
            Sparse.from_entries(places, columns, values, (len(self.rows), len(column_of))),
            np.array([low for _, _, low, _ in self.rows]),
            np.array([high for _, _, _, high in self.rows]),
        )
        return build_model(arrays, column_of, [name for name, *_ in self.rows], self.objectives, self.parts)

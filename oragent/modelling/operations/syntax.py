"""Parser of the text syntax of operations by recursive descent. A line is executed only if all of it can be parsed.

The grammar is in ``docs/modelling.md``.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NoReturn, TypeVar, cast, get_args

from pydantic import ValidationError

from oragent._base.errors import ModellingError
from oragent.modelling.data.display import plain, quoted, validation_line
from oragent.modelling.data.model_values import Relation, Sense
from oragent.modelling.operations import requests as ops
from oragent.modelling.references.reference_text import KEYWORDS, KINDS

MAX_LINE_CHARACTERS = 20_000
TOKEN = re.compile(
    r"""(?P<space>\s+)
    |(?P<string>"(?:[^"\\]|\\.)*")
    |(?P<number>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?(?!\w))
    |(?P<word>\w+)
    |(?P<sign>\.\.|\+=|-=|\*=|<=|>=|[=\[\](){},:;*%+.\-])""",
    re.VERBOSE,
)
ESCAPE = re.compile(r"\\(.)", re.DOTALL)
Item = TypeVar("Item")
FamilyKind = Literal["parameters", "variables", "rows"]
ASSIGNS = ("=", "+=", "-=", "*=")
COMPARISONS = ("<=", ">=")
LABELS = ("word", "number", "string")
# Requests by their first word.
REQUESTS: Mapping[str, type[ops.OperationRequest]] = {
    request.model_fields["operation"].default: request for request in get_args(ops.AnyRequest)
}
# First words of changes that are not assignments, and of questions.
CHANGES = ("forbid", "free", "drop", "relax", "row", "objective")
DIRECTIONS = ("most", "least")
QUERIES = [*DIRECTIONS, *(word for word, request in REQUESTS.items() if request in get_args(ops.AnyQuery))]
QUERIES.remove("extreme")


@dataclass(frozen=True)
class Token:
    """Token of a line."""

    # ``string``, ``number``, ``word``, ``sign`` or ``end``.
    kind: str
    # Text without quotes.
    text: str
    # Position in the line, from 0.
    start: int

    def is_word(self, *words: str) -> bool:
        """Return True if it is one of these words without quotes, in any case."""
        return self.kind == "word" and self.text.casefold() in words

    def is_sign(self, *signs: str) -> bool:
        """Return True if it is one of these signs."""
        return self.kind == "sign" and self.text in signs


def split_tokens(line: str) -> Sequence[Token]:
    """Return the tokens of a line, with an end token.

    Raises:
        ModellingError: The line is too long, or a character does not belong to any token.
    """
    if len(line) > MAX_LINE_CHARACTERS:
        raise ModellingError(f"the line has {len(line):,} characters; expected at most {MAX_LINE_CHARACTERS:,}")
    tokens, position = [], 0
    while position < len(line):
        match = TOKEN.match(line, position)
        if match is None:
            raise ModellingError(
                f"character {position + 1} of '{plain(line, 200)}' cannot be read: put names with spaces or signs in "
                'double quotes, as in "Saint-Denis"'
            )
        if match.lastgroup and match.lastgroup != "space":
            text = match.group()
            if match.lastgroup == "string":
                text = ESCAPE.sub(r"\1", text[1:-1])
            tokens.append(Token(match.lastgroup, text, position))
        position = match.end()
    return [*tokens, Token("end", "", len(line))]


def parse_line(line: str) -> ops.AnyRequest:
    """Parse one line into a request.

    Raises:
        ModellingError: The line is malformed. The message names the position and the expected token.
    """
    parser = _Parser(line)
    try:
        request = parser.line()
    except ValidationError as problem:
        raise ModellingError(f"{validation_line(problem, parser.first_word)}; nothing was changed") from None
    parser.expect_end()
    return request


def is_comment(line: str) -> bool:
    """Return True if a line of a file is empty or begins with ``#``."""
    return not line.strip() or line.lstrip().startswith("#")


class _Parser:
    """The tokens of a line and the current position."""

    def __init__(self, line: str) -> None:
        self._line = line
        self._tokens = split_tokens(line)
        self._at = 0
        # Functions that read the fields of requests.
        self._readers: dict[str, Callable[[], object]] = {
            "reference": self.reference,
            "references": self._references,
            "by": lambda: self._name("a name after by"),
            "step": self.number,
            "number": self.number,
            "percent": lambda: self._accept("%"),
            "count": self._count,
            "trials": self._count,
            "first": lambda: self._name("a scenario or an objective"),
            "second": lambda: self._name("a scenario or an objective"),
            "name": lambda: self._name("a name"),
            "file": self._file,
            "change": self.change,
            "changes": lambda: self._list(self.change, ";"),
            "target": self.target,
            "numbers": self._numbers,
        }

    def line(self) -> ops.AnyRequest:
        """Parse a question or a change."""
        word = self.first_word
        if self._peek().kind == "word" and not self._names_target():
            if word in QUERIES:
                self._at += 1
                return self._extreme(word) if word in DIRECTIONS else self._fields(REQUESTS[word])
            if word not in CHANGES:
                raise ModellingError(
                    f"unknown operation {quoted(word)}: expected one of {', '.join([*QUERIES, *CHANGES])}, "
                    "or a change such as demand *= 1.1"
                )
        return self.change()

    @property
    def first_word(self) -> str:
        """Return the first word of the line, in lower case."""
        return self._tokens[0].text.casefold()

    def _names_target(self) -> bool:
        """Return True if the word here is the name of what an assignment changes."""
        return self._peek(1).is_sign("[", "(", ".", *ASSIGNS, *COMPARISONS)

    def change(self) -> ops.AnyChange:
        """Parse a change of the model."""
        word = self._peek().text.casefold()
        if self._peek().kind != "word" or word not in CHANGES or self._names_target():
            return self._assignment()
        self._at += 1
        if word == "row":
            return self._new_row()
        if word == "objective":
            return self._objective()
        return cast(ops.AnyChange, self._fields(REQUESTS[word]))

    def _fields(self, kind: type[ops.OperationRequest]) -> ops.AnyRequest:
        """Parse the fields of a request in order. Those with a default may be left out."""
        values = {}
        for name, field in kind.model_fields.items():
            word = ops.WORDS_BEFORE.get(name)
            if name == "operation" or (not field.is_required() and self._is_end()):
                continue
            if word is not None and not self._accept(word):
                if field.is_required():
                    self._fail(word)
                continue
            values[name] = self._readers[name]()
        return cast(ops.AnyRequest, kind(**values))

    def _assignment(self) -> ops.AnyChange:
        target = self.target()
        sign = self._take_sign(*ASSIGNS, *COMPARISONS, expected="one of = += -= *= <= >=")
        if sign in COMPARISONS:
            if target.part != "value":
                self._fail("'=' after a bound or coefficient")
            return ops.LimitChange(
                reference=target.reference, relation=cast(Literal["<=", ">="], sign), number=self.number()
            )
        operator = cast(Literal["=", "+=", "-=", "*="], sign)
        return ops.AssignChange(target=target, operator=operator, number=self.number(), percent=self._accept("%"))

    def _new_row(self) -> ops.NewRow:
        name = self._name("a name for the row")
        self._take_sign(":", expected="':' after the name of the row")
        left = self.expression()
        relation = self._take_sign("<=", ">=", "=", expected="one of <= >= =")
        return ops.NewRow(name=name, left=left, relation=Relation(relation), right=self.expression())

    def _objective(self) -> ops.NewObjective | ops.UseObjectives:
        name = "objective"
        if not self._peek().is_word("minimize", "maximize"):
            if not self._peek(1).is_sign(":"):
                return self._use_objectives()
            name = self._name("a name, minimize or maximize")
            self._take_sign(":", expected="':' after the name of the objective")
        if not self._peek().is_word("minimize", "maximize"):
            self._fail("minimize or maximize")
        sense = Sense(self._next().text.casefold())
        return ops.NewObjective(name=name, sense=sense, expression=self.expression())

    def _use_objectives(self) -> ops.UseObjectives:
        stages = [self._objective_stage()]
        while self._accept("then"):
            stages.append(self._objective_stage())
        return ops.UseObjectives(stages=tuple(stages))

    def _objective_stage(self) -> ops.ObjectiveStage:
        parts = self._list(self._weighted_objective, "+")
        if not self._accept("within"):
            return ops.ObjectiveStage(parts=parts)
        within = self.number()
        if not 0 <= within < float("inf"):
            raise ModellingError(f"within {within:g}: expected a number from 0 on; nothing was changed")
        return ops.ObjectiveStage(parts=parts, within=within, percent=self._accept("%"))

    def _weighted_objective(self) -> ops.WeightedObjective:
        weight = 1.0
        if self._peek().kind == "number":
            weight = float(self._next().text)
            self._accept("*")
        name = self._name("the name of an objective")
        if not 0 < weight < float("inf"):
            raise ModellingError(f"weight {weight:g}: expected a number above 0; nothing was changed")
        return ops.WeightedObjective(name=name, weight=weight)

    def target(self) -> ops.ChangeTarget:
        """Parse the target of a change: a value, a bound or a coefficient."""
        token = self._peek()
        if not self._peek(1).is_sign("("):
            return ops.ChangeTarget(reference=self.reference())
        name = self._name("a name")
        self._take_sign("(", expected="'('")
        reference = self.reference()
        self._take_sign(")", expected="')'")
        if token.is_word("upper", "lower"):
            return ops.ChangeTarget(part=cast(Literal["upper", "lower"], name.casefold()), reference=reference)
        return ops.ChangeTarget(part="coefficient", reference=reference, of=name)

    def reference(self) -> ops.MemberReference:
        """Parse a family or a slice of one."""
        kind = None
        if self._peek().is_word(*KINDS):
            kind = cast(FamilyKind, self._next().text.casefold())
            if not self._accept("."):
                return ops.MemberReference(name="*", kind=kind)
        name = self._name("a name of variables, rows or data")
        if not self._accept("["):
            return ops.MemberReference(name=name, kind=kind)
        indices = self._list(self._index, ",")
        self._take_sign("]", expected="',' or ']'")
        return ops.MemberReference(name=name, indices=indices, kind=kind)

    def _index(self) -> ops.Index:
        if self._accept("*"):
            if not self._accept("except"):
                return ops.Index()
            return ops.Index(kind="except", labels=self._labels_in_braces() or self._plain_labels())
        if labels := self._labels_in_braces():
            return ops.Index(kind="labels", labels=labels)
        label = self._label()
        if self._accept(".."):
            return ops.Index(kind="range", labels=(label, self._label()))
        return ops.Index(kind="labels", labels=(label,))

    def _labels_in_braces(self) -> tuple[str, ...]:
        if not self._accept("{"):
            return ()
        labels = self._list(self._label, ",")
        self._take_sign("}", expected="',' or '}'")
        return labels

    def _plain_labels(self) -> tuple[str, ...]:
        """Parse all plain labels up to the next index."""
        labels = [self._label()]
        # A comma may also begin the next index. The labels of the set decide this when the reference is resolved.
        while self._peek().is_sign(",") and self._is_plain_label(self._at + 1):
            self._at += 1
            labels.append(self._label())
        return tuple(labels)

    def _is_plain_label(self, at: int) -> bool:
        return self._tokens[at].kind in LABELS and not self._tokens[at + 1].is_sign("..")

    def _label(self) -> str:
        if self._peek().kind not in LABELS or self._peek().is_word("except"):
            self._fail("a label (in double quotes if it has spaces or signs), '*', or '{'")
        return self._next().text

    def expression(self) -> ops.Expression:
        """Parse a sum of terms."""
        terms = [self._term(self._leading_sign())]
        while self._peek().is_sign("+", "-"):
            terms.append(self._term(self._leading_sign()))
        return ops.Expression(terms=tuple(terms))

    def _leading_sign(self) -> float:
        sign = 1.0
        while self._peek().is_sign("+", "-"):
            if self._next().text == "-":
                sign = -sign
        return sign

    def _term(self, sign: float) -> ops.ExpressionTerm:
        coefficient = sign
        if self._peek().kind == "number":
            coefficient *= float(self._next().text)
            if not self._accept("*") and not self._begins_reference():
                return ops.ExpressionTerm(coefficient=coefficient)
        is_sum = self._accept("sum")
        reference, data = self.reference(), None
        if self._accept("*"):
            data, reference = reference, self.reference()
        by: list[str] = []
        while is_sum and self._accept("by"):
            by.append(self._name("an index set"))
        return ops.ExpressionTerm(coefficient=coefficient, reference=reference, data=data, is_sum=is_sum, by=tuple(by))

    def _begins_reference(self) -> bool:
        """Return True if a reference or a sum follows a coefficient, as in ``2 x[a]``."""
        return self._peek().kind in ("word", "string") and not self._peek().is_word("within", "by")

    def number(self) -> float:
        """Parse a number with its sign, or ``inf``."""
        sign = self._leading_sign()
        if self._accept("inf"):
            return sign * float("inf")
        if self._peek().kind != "number":
            self._fail("a number")
        return sign * float(self._next().text)

    def _numbers(self) -> tuple[float, ...]:
        self._take_sign("=", expected="'='")
        return self._list(self.number, ",")

    def _references(self) -> tuple[ops.MemberReference, ...]:
        references = []
        while not self._is_end():
            references.append(self.reference())
            self._accept(",")
        return tuple(references)

    def _extreme(self, direction: str) -> ops.ExtremeRequest:
        expression = self.expression()
        within, percent = None, False
        if self._accept("within"):
            within = self.number()
            percent = self._accept("%")
        return ops.ExtremeRequest(
            direction=cast(Literal["most", "least"], direction), expression=expression, within=within, percent=percent
        )

    def _count(self) -> int:
        sign = -1 if self._accept("-") else 1
        token = self._peek()
        if token.kind != "number" or not token.text.isdigit() or len(token.text) > 9:
            self._fail("a whole number")
        return sign * int(self._next().text)

    def _name(self, what: str) -> str:
        token = self._peek()
        if token.is_word(*KEYWORDS):
            what += f" ('{token.text}' is a word of the syntax: write a name \"{token.text}\" in double quotes)"
        if token.kind not in ("word", "string") or not token.text or token.is_word(*KEYWORDS):
            self._fail(what)
        return self._next().text

    def _file(self) -> str:
        if self._peek().kind != "string":
            self._fail("a file in double quotes")
        return self._next().text

    def _list(self, item: Callable[[], Item], separator: str) -> tuple[Item, ...]:
        items = [item()]
        while self._accept(separator):
            items.append(item())
        return tuple(items)

    def _accept(self, text: str) -> bool:
        """Step over a sign or word if it comes next, and return whether it does."""
        is_next = self._peek().is_word(text) or self._peek().is_sign(text)
        self._at += is_next
        return is_next

    def _take_sign(self, *signs: str, expected: str) -> str:
        if not self._peek().is_sign(*signs):
            self._fail(expected)
        return self._next().text

    def _peek(self, ahead: int = 0) -> Token:
        return self._tokens[min(self._at + ahead, len(self._tokens) - 1)]

    def _next(self) -> Token:
        self._at += 1
        return self._tokens[self._at - 1]

    def _is_end(self) -> bool:
        return self._peek().kind == "end"

    def expect_end(self) -> None:
        """Raise an error unless the line is used up."""
        if not self._is_end():
            self._fail("the end of the line")

    def _fail(self, expected: str) -> NoReturn:
        token = self._peek()
        if token.kind == "end":
            where = f"the line '{plain(self._line, 80)}' ends too early"
        else:
            where = f"'{plain(self._line[token.start :], 40)}' (character {token.start + 1}) cannot be read there"
        raise ModellingError(f"{where}: expected {expected}; nothing was changed")
